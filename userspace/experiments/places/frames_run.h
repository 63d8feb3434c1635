// SPDX-License-Identifier: Apache-2.0
// A run with frames: applies the schedule, reads counters, samples, and makes the
// result. Ports are attached, and senders have begun.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/stopwatch.h"
#include "places/counts.h"
#include "places/endpoints.h"
#include "places/measure.h"
#include "places/rules.h"
#include "places/run.h"

namespace xr::places {

constexpr uint64_t kLeastSample = 10'000'000; // ns of the run

struct FramesRunSetup {
  const experiment::Experiment &experiment;
  const simulate::Scenario &scenario; // scaled
  const Plan &plan;
  experiment::Subject subject;
  double scale = 1;
  const char *place = ""; // in the result
  const RunHooks &hooks;
  const Stopwatch &watch;
  RunPorts ports;
  bool senders_elsewhere = false; // our senders in another process, whose end is not seen
};

class FramesRun {
public:
  FramesRun(FramesRunSetup setup, Endpoints &endpoints, Counter &counter, RuleRun &rules);

  Status run();
  void add_reasons(const std::vector<std::string> &reasons);
  // `answers_of`: at the end.
  ExperimentResult result(const experiment::AnswersOf &answers_of = {}) const;

private:
  bool go_on() const;
  Result<Reading> reading();
  Status read();
  Status partial();
  void note_change(uint64_t due_ns); // of the schedule, which has taken effect
  Status finish();
  Status settle();
  void find_reasons();

  FramesRunSetup at_;
  Endpoints &endpoints_;
  Counter &counter_;
  RuleRun &rules_;
  std::vector<ExperimentRule> rule_rows_;
  Measurement measurement_;
  experiment::SampleStore store_;
  Reading last_;
  std::vector<std::string> why_;
  bool complete_ = false;
  int64_t suspended_ = 0;
  double next_partial_ = 5;
  size_t changed_ = 0, rules_changed_ = 0;
  // times of CLOCK_MONOTONIC
  uint64_t begun_ = 0, end_ = 0, measure_at_ = 0, sample_at_ = 0, look_at_ = 0, progress_at_ = 0;
  uint64_t sample_every_ = 0;
};

} // namespace xr::places
