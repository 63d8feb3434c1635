// SPDX-License-Identifier: Apache-2.0
// The plots of an experiment: rate of each flow, backlog, marks, pauses and drops of each queue,
// Jain's index, distributions of completion time, slowdown and backlog. A plot without data is left
// out.
#pragma once

#include <string>
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

std::vector<Figure> figures(const ExperimentResult &result, const Recorder &recorder,
                            const std::vector<QueueLevels> &levels);

} // namespace xr::plot
