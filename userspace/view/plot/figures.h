// SPDX-License-Identifier: Apache-2.0
// The plots of an experiment: rate of each flow, backlog, marks, pauses and drops of each queue,
// Jain's index, distributions of completion time, slowdown and backlog. A plot without data is left
// out.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/experiment_result.h"
#include "plot/figure.h"
#include "plot/recorder.h"

namespace xr::plot {

// Thresholds of a queue's AQM, drawn beside its backlog.
struct QueueLevels {
  std::string queue;
  std::vector<Level> levels; // bytes
};

// Whether a flow or queue has a curve of its own; empty: all have.
using HasCurve = std::function<bool(ExperimentSample::Kind, uint32_t row)>;

std::vector<Figure> figures(const ExperimentResult &result, const Recorder &recorder,
                            const std::vector<QueueLevels> &levels, const HasCurve &has = {});

// Whether a figure is made of the column.
bool is_drawn(ExperimentSample::Kind kind, std::string_view column);

} // namespace xr::plot
