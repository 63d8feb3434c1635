// SPDX-License-Identifier: Apache-2.0
// How a run is followed while it lasts; a run in virtual time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "experiment/experiment.h"
#include "experiment/verdict.h"

namespace xr::places {

struct RunProgress {
  uint64_t now_ns = 0, duration_ns = 0; // simulated
  uint64_t packet_hops = 0;
};

// Called during the run; any may be empty.
struct RunHooks {
  std::function<bool(const RunProgress &)> progress = {}; // false ends the run
  // Samples with the names of their rows.
  std::function<Status(const std::vector<ExperimentSample> &, const experiment::Subject &)>
      samples = {};
  // What was measured so far, with verdict void, each `partial_s` seconds of real time.
  std::function<Status(const ExperimentResult &)> partial = {};
  double partial_s = 5;
  experiment::AnswersOf answers = {}; // at the end
  // In virtual time: simulate::Scenario::threads, which change no result. Why there is one, where
  // more were asked for.
  unsigned threads = 0;
  std::function<void(const std::string &)> note = {};
};

// A run that was ended before its time is void. `out`: an existing directory for captures; "":
// none.
Result<ExperimentResult> run_virtual(const experiment::Experiment &experiment,
                                     const RunHooks &hooks, const std::string &out);

} // namespace xr::places
