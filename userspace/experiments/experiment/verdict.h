// SPDX-License-Identifier: Apache-2.0
// The verdict of a run, wherever it ran.
#pragma once

#include <functional>
#include <vector>

#include "experiment/experiment.h"

namespace xr::experiment {

// Keeps the samples that expectations need.
void keep_samples(SampleStore &store, const std::vector<ExperimentSample> &samples);

// The answers from the captures of a run, whose files are complete.
using AnswersOf = std::function<Result<RunAnswers>(const ExperimentResult &)>;
// Puts them into the result, if the experiment asks for them and the subject has them. Without
// them the run is void: it has not measured all that it was to measure.
void add_answers(ExperimentResult &result, const Experiment &experiment, const Subject &subject,
                 const AnswersOf &answers_of);

// Evaluates the expectations that the subject has the columns for if the run was `complete`, and
// sets the verdict: void if there is a reason in why_void, to which it adds what was not measured.
void judge(ExperimentResult &result, const Experiment &experiment, const Subject &subject,
           const SampleStore &samples, bool complete);

} // namespace xr::experiment
