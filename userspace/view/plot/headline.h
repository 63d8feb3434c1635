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
// Columns of a grid of `count` tiles, at most `most` beside one another: as few rows as possible,
// and the last one as full as possible: 8 as 4 and 4.
size_t tile_columns(size_t count, size_t most);

// The queue with the alias "bottleneck", or else that with the largest mean backlog; nullptr: all
// were empty.
const ExperimentQueue *bottleneck(const ExperimentMeasurement &measured);

} // namespace xr::plot
