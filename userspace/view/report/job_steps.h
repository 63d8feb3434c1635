// SPDX-License-Identifier: Apache-2.0
// The jobs of an experiment, their steps and ranks.
#pragma once

#include <string>
#include <vector>

#include "model/experiment.h"
#include "report/document.h"

namespace xr::report {

// jobs, steps, ranks; none without jobs. `most`: rows in text.
std::vector<Section> job_sections(const std::vector<ExperimentJob> &jobs, size_t most);
// "train: 10 of 10 steps, 128 us each, ...; 3 of them waited for rank 3 (late sender)."
std::string job_sentence(const ExperimentJob &job);

} // namespace xr::report
