// SPDX-License-Identifier: Apache-2.0
// What the ranks of a job did when, as SVG: compute and exchange, a row a rank.
#pragma once

#include <string>

#include "model/experiment.h"

namespace xr::plot {

// The first steps that have spans, and the first 64 ranks; what is left out is said in it. "": the
// job has no spans.
std::string timeline(const ExperimentJob &job);

} // namespace xr::plot
