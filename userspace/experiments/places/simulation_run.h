// SPDX-License-Identifier: Apache-2.0
// A run of a simulation, in virtual time or with frames, and its result.
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

// The scenario with the experiment's rules and captures. `out`: directory for captures, as for
// run_virtual().
Result<simulate::Scenario> with_rules(const experiment::Experiment &experiment,
                                      const std::string &out);

// `place` and `scale` are written to the result.
class SimulationRun {
public:
  SimulationRun(const experiment::Experiment &experiment, const RunHooks &hooks,
                simulate::Simulation &simulation, const char *place, double scale = 1);

  // Runs until the simulation is done or `hooks` end it. `advance(ns)` brings it to that time.
  Status run(const std::function<void(uint64_t ns)> &advance);
  // The measurements so far. `answers_of` is given at the end; `add` adds what the place measured.
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

// How the times of two runs of a scenario differ: FCTs of flows, or with jobs times of steps.
struct Differences {
  uint64_t compared = 0; // times that both runs have
  double median = 0;     // of other / first - 1
  double farthest = 0;   // the difference that is farthest from 0
};
Differences differences(const ExperimentMeasurement &first, const ExperimentMeasurement &other);

} // namespace xr::places
