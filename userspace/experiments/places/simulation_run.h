// SPDX-License-Identifier: Apache-2.0
// A run of a simulation, in virtual time or with frames: what happens until its end, and its
// result.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/stopwatch.h"
#include "places/run.h"
#include "simulate/simulation.h"

namespace xr::places {

// The scenario with the experiment's rules and captures. `out` as of run_virtual().
Result<simulate::Scenario> with_rules(const experiment::Experiment &experiment,
                                      const std::string &out);

// `place`, `scale`: in the result.
class SimulationRun {
public:
  SimulationRun(const experiment::Experiment &experiment, const RunHooks &hooks,
                simulate::Simulation &simulation, const char *place, double scale = 1);

  // Until its end, or until it is ended. `advance(ns)` brings the simulation to that time.
  Status run(const std::function<void(uint64_t ns)> &advance);
  // What was measured so far; `answers_of`: at the end. `add`: what the place measured.
  ExperimentResult result(const experiment::AnswersOf &answers_of = {},
                          const std::function<void(ExperimentMeasurement &)> &add = {});

private:
  Status take_samples();

  const experiment::Experiment &experiment_;
  const RunHooks &hooks_;
  simulate::Simulation &simulation_;
  const char *place_;
  double scale_;
  experiment::Subject subject_;
  experiment::SampleStore store_;
  Stopwatch watch_;
};

// Of times that two runs of a scenario have, FCTs of flows and times of steps.
struct Differences {
  uint64_t compared = 0; // times
  double median = 0;     // of other / first - 1
  double farthest = 0;   // from 0
};
Differences differences(const ExperimentMeasurement &first, const ExperimentMeasurement &other);

} // namespace xr::places
