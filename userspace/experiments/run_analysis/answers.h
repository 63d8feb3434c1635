// SPDX-License-Identifier: Apache-2.0
// The answers of a run's captures, from what was followed in them and what the run counted.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/experiment.h"
#include "model/run_answers.h"
#include "run_analysis/trace.h"

namespace xr::run_analysis {

struct Question {
  const Trace &trace;
  const Episodes &episodes; // of the same captures, as the rules let the frames pass
  const ExperimentMeasurement &measured;
  struct Flow {
    std::string name;
    uint32_t qp = 0, qps = 1; // destination QPNs
  };
  std::vector<Flow> flows;
  // Names of the rules of each port, by id - 1.
  std::array<std::vector<std::string>, kPorts> rules;
  double scale = 1;                // of the run's rates: its times are multiplied by it
  bool counts_before_rules = true; // `packets` has the frames that rules dropped
  uint64_t begun_ns = 0;           // when the run began, by the captures' clock
};

RunAnswers answer(const Question &question);

// counts.cpp: what the rows do not have; `dropped`: retransmissions.
void note_losses(const Trace &trace, const Episodes &episodes, uint64_t dropped, RunAnswers &into);
std::vector<CountCheck> check_counts(const Question &question);

} // namespace xr::run_analysis
