// SPDX-License-Identifier: Apache-2.0
// Reads the capture of one place as sights, through the native datapath, which knows what each
// packet means for its stream.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/reader.h"
#include "compare/sight.h"
#include "compare/stream_numbers.h"
#include "model/comparison.h"
#include "native/native_datapath.h"

namespace xr::compare {

class Place {
public:
  struct Options {
    uint16_t udp_port = ROCE_UDP_PORT;
    size_t streams = 65536;
  };

  static Result<Place> open(const std::string &path, const Options &options,
                            const std::atomic<bool> *stop);
  explicit Place(Reader reader, const Options &options);

  // The next packet that is compared; false: the capture has ended.
  bool next(Sight &sight, StreamNumbers &numbers);

  // The counters so far, without name and times.
  const ComparedPlace &counts() const { return counts_; }
  // Set if the capture is truncated or damaged.
  const std::optional<Error> &trouble() const { return trouble_; }
  Reader::Progress progress() const { return reader_.progress(); }
  // PSNs of each stream, by its number, that were certainly lost before this place (lost_psns). For
  // after the end of the capture.
  std::vector<uint64_t> lost_before(StreamNumbers &numbers) const;

private:
  struct State { // of a stream at this place
    uint32_t number = StreamNumbers::kNone;
    uint32_t packets = 0;
    uint32_t last = 0; // PSN of the previous packet
    bool behind = false;
    // A receiver that takes packets in order only (go-back-N), after this place.
    bool begun = false;
    bool read_open = false; // responses: of a READ, and the last is still to come
    uint32_t expected = 0;  // PSN
    uint32_t read_psns = 0; // the packet before was a READ of at most so many PSNs
  };
  bool read(const CapturedFrame &frame, Sight &sight, StreamNumbers &numbers);
  uint8_t position(State &state, const roce_packet &packet, uint32_t found);
  bool was_accepted(State &state, const roce_packet &packet);
  void check(const CapturedFrame &frame, const roce_packet &packet, Sight &sight);

  Reader reader_;
  Options options_;
  std::unique_ptr<NativeDatapath> datapath_;
  std::vector<State> states_;  // by record of the datapath
  std::vector<roce_key> keys_; // of these records, which the datapath may use again
  ComparedPlace counts_;
  std::optional<Error> trouble_;
};

} // namespace xr::compare
