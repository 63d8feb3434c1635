// SPDX-License-Identifier: Apache-2.0
// Answers from the files that a run captured: left.pcapng and right.pcapng in its directory.
#pragma once

#include <string>

#include "analysis/analyzer.h"
#include "base/result.h"
#include "experiment/experiment.h"
#include "model/experiment_result.h"
#include "model/run_answers.h"
#include "run_analysis/trace.h"

namespace xr::run_analysis {

// Follows the two captures as the rules let their frames pass.
Result<Analysis> follow(const std::string &directory, Trace &trace);

// `experiment` has `analyze:`. `flows` of `result` are in the order of the experiment's.
Result<RunAnswers> from_captures(const experiment::Experiment &experiment,
                                 const ExperimentResult &result, const std::string &directory);

} // namespace xr::run_analysis
