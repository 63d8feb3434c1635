// SPDX-License-Identifier: Apache-2.0
// The result of a run, in whichever place: what was measured, why that says nothing, and the
// verdict.
#pragma once

#include <cstdint>

#include "base/stopwatch.h"
#include "experiment/experiment.h"
#include "experiment/verdict.h"

namespace xr::places {

struct RunSoFar {
  const experiment::Experiment &experiment;
  const experiment::Subject &subject;
  const experiment::SampleStore &samples;
  const Stopwatch &watch;
  const char *place = ""; // in the result
  double scale = 1;
  bool complete = false;
  bool sent = false;   // any frame
  uint64_t now_ns = 0; // since its start, in the experiment's time
};

// `measured.why_void` has the place's own reasons. `answers_of`: at the end.
ExperimentResult result_of(const RunSoFar &run, ExperimentMeasurement measured,
                           const experiment::AnswersOf &answers_of);

} // namespace xr::places
