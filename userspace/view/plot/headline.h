// SPDX-License-Identifier: Apache-2.0
// What a reader wants to know first of a run: one sentence, and a few numbers.
#pragma once

#include <string>
#include <vector>

#include "model/experiment_result.h"

namespace xr::plot {

// "pass: 4 of 4 expectations hold; 37.6 Gbit/s goodput, 1,360 CNPs, nothing dropped".
std::string headline(const ExperimentResult &result);

struct Tile {
  std::string name, value, about; // about: of what, or when
  bool alarm = false;
};
std::vector<Tile> tiles(const ExperimentResult &result);

// The queue with the alias "bottleneck", or else that with the largest mean backlog; nullptr: all
// were empty.
const ExperimentQueue *bottleneck(const ExperimentMeasurement &measured);

} // namespace xr::plot
