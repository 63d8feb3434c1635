// SPDX-License-Identifier: Apache-2.0
// The topology of an experiment as the drawing of its page.
#pragma once

#include "experiment/experiment.h"
#include "model/experiment_result.h"
#include "plot/page.h"

namespace xr::record {

plot::PageNetwork page_network(const experiment::Experiment &experiment,
                               const ExperimentResult &result);

} // namespace xr::record
