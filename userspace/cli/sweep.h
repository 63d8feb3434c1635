// SPDX-License-Identifier: Apache-2.0
// Runs the points of a sweep, each in a process of its own.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "experiment/experiment.h"
#include "report/experiment.h"

namespace xr::cli {

struct SweepOptions {
  std::string out; // a directory for each point below it; "": no files
  unsigned jobs = 1;
};

experiment::Settings joined(const experiment::Settings &first, const experiment::Settings &second);

// In the order of `points`. A signal ends the processes; points that did not run have a failure.
Result<std::vector<report::SweepPoint>> sweep(const experiment::ExperimentFile &file,
                                              const experiment::Settings &settings,
                                              const std::vector<experiment::Settings> &points,
                                              const SweepOptions &options);

} // namespace xr::cli
