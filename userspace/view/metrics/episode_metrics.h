// SPDX-License-Identifier: Apache-2.0
// How long the steps of episodes took on a port, as histograms.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "metrics/families.h"
#include "model/episodes.h"

namespace xr::metrics {

// A port keeps the newest episodes only: this sums what each reading has, once.
class EpisodeTotals {
public:
  // Upper bounds are 4^5 to 4^18 ns: 1 us to 69 s.
  static constexpr unsigned kFirst = 5, kBounds = 14;

  // Adds episodes that ended since the last call. The sums restart when `attached_since_ns`
  // changes.
  void update(const std::vector<EpisodeRow> &ended, uint64_t attached_since_ns);
  void add_to(Families &families, const std::string &port) const;

private:
  enum Step { kRecovery, kNakGeneration, kNakReaction, kTimeout, kSteps };
  struct Histogram {
    std::array<uint64_t, kBounds + 1> counts{}; // by bound, not cumulative; the last is above all
    uint64_t sum_ns = 0;
  };

  std::array<std::array<Histogram, ROCE_CAUSES>, kSteps> histograms_{};
  uint64_t since_ns_ = 0;
};

} // namespace xr::metrics
