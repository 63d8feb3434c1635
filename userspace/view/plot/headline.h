// SPDX-License-Identifier: Apache-2.0
// The few numbers of a run that a page shows first.
#pragma once

#include <string>
#include <vector>

#include "model/experiment_result.h"

namespace xr::plot {

struct Tile {
  std::string name, value, about; // about: of what, or when
  bool alarm = false;
};
std::vector<Tile> tiles(const ExperimentResult &result);

// The queue with the alias "bottleneck", or else that with the largest mean backlog; nullptr: all
// were empty.
const ExperimentQueue *bottleneck(const ExperimentMeasurement &measured);

} // namespace xr::plot
