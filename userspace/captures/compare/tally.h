// SPDX-License-Identifier: Apache-2.0
// Counts what the window decided, by stream, by direction and over time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/histogram.h"
#include "compare/alignment.h"
#include "compare/stream_numbers.h"
#include "compare/survey.h"
#include "compare/window.h"
#include "model/comparison.h"

namespace xr::compare {

class Tally final : public Window::Judge {
public:
  static constexpr size_t kMoments = 100; // over time
  static constexpr size_t kStreamHistograms = 4096;

  // All three must outlive the tally.
  Tally(const Alignment &alignment, const StreamNumbers &numbers, const Span &first,
        const Span &second);

  // Before the first packet of a stream.
  Path begin(uint32_t stream);
  void seen(unsigned place, const Sight &sight);

  void matched(const Sight &to, const Mark &from) override;
  void lost(const Sight &from) override;
  void extra(const Sight &to, bool copy) override;

  // Fills ways, over_time, clock and span.
  void report(ComparedLeg &leg) const;
  size_t streams() const { return streams_.size(); }
  // Without what concerns the whole row of places; nothing if the stream passed none of the two.
  std::optional<ComparedStream> stream(uint32_t number) const;
  // Times that the sender went back to a PSN that the last of both places had seen.
  uint64_t resent_seen(uint32_t number) const;
  uint64_t histograms_full() const { return histograms_full_; }

private:
  template <typename Values> struct Times { // relative to the base of the direction
    Values values;
    int64_t min = INT64_MAX, max = INT64_MIN;
    void add(int64_t relative) {
      values.add(static_cast<uint64_t>(std::max<int64_t>(relative, 0)));
      min = std::min(min, relative);
      max = std::max(max, relative);
    }
  };
  using StreamTimes = Times<ShortHistogram>;
  struct Stream {
    bool known = false;
    Path path;
    ComparedCounts counts;
    uint64_t resent_seen = 0;
    bool any_arrived = false;
    uint32_t highest = 0; // of the orders that arrived
    std::unique_ptr<StreamTimes> times;
  };
  struct Moment {
    uint64_t matched = 0, lost = 0, ce = 0;
    std::unique_ptr<StreamTimes> times;
  };

  template <typename T> LatencySummary summary(const T &times, bool backward) const;
  bool outside(const Path &path, uint64_t time_ns, bool at_arrival) const;
  void compare_marks(const Mark &from, const Mark &to, ComparedCounts &counts);
  Moment &moment(const Path &path, uint64_t time_ns, bool at_arrival);

  const Alignment &alignment_;
  const StreamNumbers &numbers_;
  Span first_, second_;
  uint64_t moment_ns_ = 1;
  std::vector<Stream> streams_;
  std::array<std::unique_ptr<Times<Histogram>>, 2> all_;
  std::array<std::array<Moment, kMoments>, 2> moments_;
  size_t histograms_ = 0;
  uint64_t histograms_full_ = 0;
};

} // namespace xr::compare
