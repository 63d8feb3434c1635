// SPDX-License-Identifier: Apache-2.0
// Accounting of stamped frames: one-way latency, jitter, loss, duplicates and reordering, by stream
// and in total. Virtual time: the caller says when a frame arrived.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "model/latency_report.h"
#include "packet/stamp.h"
#include "roce/parse.h"
#include "stamps/sequence_window.h"
#include "stamps/signed_histogram.h"

namespace xr::stamps {

struct OneWayOptions {
  // By how much the clock of the arrivals is ahead of the senders' CLOCK_TAI; unset: unknown.
  std::optional<int64_t> clock_offset_ns = {};
  size_t streams = 65536;  // more are only counted, in LatencyReport::streams_full
  size_t histograms = 256; // streams with quantiles; a histogram has 58 KB
};

class OneWay {
public:
  explicit OneWay(const OneWayOptions &options = {});
  ~OneWay();
  OneWay(OneWay &&) noexcept;
  OneWay &operator=(OneWay &&) noexcept;

  // A frame with this stamp arrived at `arrived`, in ns of CLOCK_TAI (unset: unknown).
  void add(const roce_packet &packet, const packet::Stamp &stamp, std::optional<uint64_t> arrived);

  // Adds the counts of another queue, for report(); add() must not be called afterwards. A stream
  // that came over several queues: frames are in order if they are within their queue, and the
  // copies of a duplicate must have come over the same queue to be noticed.
  void merge(const OneWay &other);

  LatencyReport report() const; // streams in the order of their first frames

private:
  struct Key {
    Address src{}, dst{};
    uint32_t qp = 0;
    uint64_t run = 0;
    bool operator==(const Key &) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key &key) const;
  };
  struct Stream;

  Stream *stream_of(const Key &key);

  OneWayOptions options_;
  std::unordered_map<Key, std::unique_ptr<Stream>, KeyHash> index_;
  std::vector<Stream *> order_;
  Stream *last_ = nullptr;
  size_t histograms_ = 0;
  uint64_t untimed_ = 0, full_ = 0;
  SignedHistogram all_;
};

} // namespace xr::stamps
