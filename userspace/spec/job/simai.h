// SPDX-License-Identifier: Apache-2.0
// The workload of SimAI (github.com/aliyun/SimAI, made by AICB): the layers of a model, with
// compute and a collective for each of their three parts.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "job/job.h"

namespace xr::job {

// One pass, which is one step: fp of all layers, each waiting for the one before; then, of the last
// layer first, ig and wg, where nothing waits for wg's collective but that of the same groups, and
// the end. Collectives are rings among the ranks of a tensor (TP), data (DP) or expert (EP)
// parallel group. Hosts are host-1 ... by rank. `name` is of the file, and of the job; an error has
// its line: pipelines, recomputation and other policies are not here.
Result<Job> read_simai(std::string_view text, const std::string &name);

} // namespace xr::job
