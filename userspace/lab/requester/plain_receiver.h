// SPDX-License-Identifier: Apache-2.0
// Counts the frames of plain flows where they arrive, by their stamps (packet/trailer.h), or those
// that have no room for one by their headers. Bytes are with FCS. Times are in ns of the clock that
// the sender stamps with, like CLOCK_TAI.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "packet/frame_tags.h"
#include "packet/header_match.h"

namespace xr::requester {

struct PlainReceived {
  uint64_t frames = 0, bytes = 0; // with duplicates
  uint64_t unstamped = 0;         // of the frames: known by their headers alone
  uint64_t duplicates = 0;        // this and what follows: of frames with stamps
  uint64_t late = 0;              // arrived after a frame that was sent later
  // Frames that were sent before the latest one that arrived, and are missing so far.
  uint64_t missing = 0;
  uint64_t first_ns = 0, last_ns = 0; // of arrival
  // `timed`: frames whose time is not after their arrival; the others are `before`: the clocks
  // differ. Latencies are those of `timed`.
  uint64_t timed = 0, before = 0;
  uint64_t latency_sum_ns = 0, latency_min_ns = 0, latency_max_ns = 0;

  uint64_t latency_average_ns() const { return timed ? latency_sum_ns / timed : 0; }
  // `sent`: as the sender counts them.
  uint64_t lost(uint64_t sent) const {
    const uint64_t different = frames - duplicates;
    return sent > different ? sent - different : 0;
  }
};

// Frames with some values of a flow's tags.
struct TaggedReceived {
  uint64_t frames = 0, bytes = 0;
  uint64_t first_ns = 0, last_ns = 0;
  uint64_t timed = 0, latency_sum_ns = 0, latency_min_ns = 0, latency_max_ns = 0;
};

// How a flow's frames are timed and counted beside PlainReceived.
struct PlainMeasure {
  // Bits a second of the lines that the flow leaves and arrives by: the time that a frame takes on
  // them is none of its latency. 0: none.
  uint64_t tx_bits = 0, rx_bits = 0;
  packet::FrameTags sent;                      // by what they were sent with
  std::vector<packet::BitRange> sent_ranges;   // of these; of frames without a stamp as they come
  std::vector<packet::BitRange> received = {}; // and by what they come with
  bool tagged = false;                         // there is at least one of both
};

class PlainReceiver {
public:
  static constexpr size_t kMostTagged = 4096; // values of a flow that are counted
  // A frame that is late by at least this many frames is counted late, be it a duplicate or not.
  static constexpr uint64_t kWindow = 4096;

  // A flow that has frames without a stamp. A frame is of the first that has its headers.
  struct Unstamped {
    size_t flow = 0;
    packet::HeaderMatch headers;
  };

  // Flows have the numbers 0 to flows - 1 in their stamps.
  explicit PlainReceiver(size_t flows, std::vector<Unstamped> unstamped = {});

  // More flows, from now on; the counts of those before stay.
  void expect(size_t flows, std::vector<Unstamped> unstamped);
  // From now on.
  void measure(size_t flow, PlainMeasure how) { flows_[flow].how = std::move(how); }
  // By the values of the tags as sent, then as received.
  using Tagged = std::map<packet::TagValues, TaggedReceived>;
  const Tagged &tagged(size_t flow) const { return flows_[flow].tagged; }
  // Frames whose values were more than kMostTagged.
  uint64_t untagged(size_t flow) const { return flows_[flow].untagged; }
  // False: it is of none of these flows.
  bool receive(uint64_t now, std::span<const uint8_t> frame);
  const PlainReceived &counts(size_t flow) const { return flows_[flow].counts; }
  // Before the flow starts once more, from sequence 0.
  void clear(size_t flow);

private:
  struct Flow {
    PlainReceived counts;
    uint64_t next = 0;                          // after the highest sequence that arrived
    std::unique_ptr<std::bitset<kWindow>> seen; // of sequence modulo kWindow, below `next`
    PlainMeasure how;
    Tagged tagged;
    uint64_t untagged = 0;
  };
  PlainReceived &count(size_t flow, uint64_t now, size_t bytes);
  bool receive_unstamped(uint64_t now, std::span<const uint8_t> frame);
  uint64_t place(Flow &flow, uint32_t sequence);
  // `number`: none: the frame has no stamp. nullptr: it has no tags.
  TaggedReceived *tag(Flow &flow, uint64_t now, std::span<const uint8_t> frame,
                      std::optional<uint64_t> number);
  std::vector<Flow> flows_;
  std::vector<Unstamped> unstamped_;
};

} // namespace xr::requester
