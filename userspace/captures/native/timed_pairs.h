// SPDX-License-Identifier: Apache-2.0
// The memory in which the native datapath times QP pairs (include/roce/timing.h), and their times.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/histogram.h"
#include "model/passive_latency.h"
#include "roce/stream.h"
#include "roce/timed.h"

namespace xr {

class TimedPairs {
public:
  static constexpr size_t kPairs = 1 << 18; // 3.7 KiB each, and their histograms

  void resize(size_t streams) { places_.resize(streams); }
  // The record of a stream of requests. Null: there is no room for it.
  roce_timing *record(uint32_t stream);
  // A time that roce_emit_latency gives.
  void add(const roce_timing *record, unsigned kind, bool bound, uint64_t ns);
  // The record is of another stream now.
  void forget(const roce_timing *record) { pairs_[places_[record->request] - 1].times.clear(); }
  void unpaired() { unpaired_++; }

  size_t pairs() const { return pairs_.size(); }

  // What was timed of some of the QP pairs, and the streams that it names.
  struct Part {
    const TimedPairs *timed;
    const std::vector<roce_stream> *streams;
  };
  static void fill(PassiveLatency &into, const std::vector<Part> &parts);

private:
  static constexpr size_t kSeries = 2 * size_t{ROCE_LATENCIES}; // exact, upper bounds
  static size_t series(unsigned kind, bool bound) { return 2 * size_t{kind} + bound; }

  struct Pair {
    roce_timing timing{};
    std::vector<std::pair<size_t, NarrowHistogram>> times; // by series
  };
  struct PortTimes {
    Histogram exact_buckets;
    ShortHistogram shown; // fewer rows

    void merge(const PortTimes &other) {
      exact_buckets.merge(other.exact_buckets);
      shown.merge(other.shown);
    }
  };

  void fill_rows(std::vector<PassiveRow> &rows, const std::vector<roce_stream> &streams) const;
  void fill_counts(PassiveLatency &into) const;

  std::vector<uint32_t> places_; // of each stream: its pair + 1
  std::deque<Pair> pairs_;
  std::array<std::unique_ptr<PortTimes>, kSeries> port_; // of those that have times
  uint64_t pairs_full_ = 0, unpaired_ = 0;
};

} // namespace xr
