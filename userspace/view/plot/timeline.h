// SPDX-License-Identifier: Apache-2.0
// What the ranks of a job did when, as SVG: compute and exchange, in rows of ranks.
#pragma once

#include <string>

#include "model/experiment.h"

namespace xr::plot {

// The first steps that have spans; the title says how many. Above 64 ranks a row is several, with
// their share as opacity, and the ranks that most steps waited for have rows of their own. "": the
// job has no spans.
std::string timeline(const ExperimentJob &job);

} // namespace xr::plot
