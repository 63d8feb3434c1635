// SPDX-License-Identifier: Apache-2.0
#include "metrics/episode_metrics.h"

#include <optional>

#include "model/episode_times.h"

namespace xr::metrics {

namespace {

constexpr uint32_t bit(roce_cause cause) { return 1U << cause; }

struct StepRow {
  const char *name;
  uint32_t causes; // that have this step: their series are there before the first episode
  std::optional<uint64_t> EpisodeTimes::*time;
};
// In the order of EpisodeTotals::Step.
constexpr StepRow kRows[] = {
    {"recovery", (1U << ROCE_CAUSES) - 1, &EpisodeTimes::recovery},
    {"nak_generation", bit(ROCE_CAUSE_NAK), &EpisodeTimes::nak_generation},
    {"nak_reaction", bit(ROCE_CAUSE_NAK) | bit(ROCE_CAUSE_READ) | bit(ROCE_CAUSE_RNR),
     &EpisodeTimes::nak_reaction},
    {"timeout",
     bit(ROCE_CAUSE_TIMEOUT) | bit(ROCE_CAUSE_NAK) | bit(ROCE_CAUSE_READ) | bit(ROCE_CAUSE_RNR),
     &EpisodeTimes::timeout},
};

constexpr uint64_t bound_ns(unsigned i) { return uint64_t{1} << (2 * (EpisodeTotals::kFirst + i)); }

} // namespace

void EpisodeTotals::update(const std::vector<EpisodeRow> &ended, uint64_t attached_since_ns) {
  if (attached_since_ns != since_ns_)
    histograms_ = {};
  since_ns_ = attached_since_ns;
  for (const EpisodeRow &row : ended) {
    const EpisodeTimes times = episode_times(row.episode, row.by_timer);
    const unsigned cause = row.episode.cause % ROCE_CAUSES;
    for (size_t step = 0; step < kSteps; step++) {
      const std::optional<uint64_t> &ns = times.*kRows[step].time;
      if (!ns || !(kRows[step].causes & 1U << cause))
        continue;
      Histogram &histogram = histograms_[step][cause];
      unsigned at = 0;
      while (at<kBounds && * ns> bound_ns(at))
        at++;
      histogram.counts[at]++;
      histogram.sum_ns += *ns;
    }
  }
}

void EpisodeTotals::add_to(Families &families, const std::string &port) const {
  static_assert(std::size(kRows) == kSteps);
  for (size_t step = 0; step < kSteps; step++)
    for (unsigned cause = 0; cause < ROCE_CAUSES; cause++) {
      if (!(kRows[step].causes & 1U << cause))
        continue;
      const Histogram &histogram = histograms_[step][cause];
      std::vector<Families::Bucket> buckets;
      uint64_t count = 0;
      for (unsigned i = 0; i < kBounds; i++)
        buckets.push_back({static_cast<double>(bound_ns(i)) / 1e9, count += histogram.counts[i]});
      families.histogram(
          "xdp_roce_episode_seconds",
          "How long the steps of episodes that have ended took (--follow), by "
          "cause; of those that the port still kept when it was read.",
          {{"port", port}, {"step", kRows[step].name}, {"cause", kCauseNames[cause]}}, buckets,
          static_cast<double>(histogram.sum_ns) / 1e9, histogram.counts[kBounds]);
    }
}

} // namespace xr::metrics
