// SPDX-License-Identifier: Apache-2.0
// The workload of SimAI (github.com/aliyun/SimAI, made by AICB): the layers of a model, with
// compute and a collective for each of their three parts.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "job/files.h"
#include "job/job.h"

namespace xr::job {

// One pass, which is one step: fp of all layers, each waiting for the one before; then, of the last
// layer first, ig and wg, where nothing waits for wg's collective but that of the same groups, and
// the end. Collectives are rings among the ranks of a tensor (TP), data (DP) or expert (EP)
// parallel group; BROADCAST is from the first of a group. With pp stages, each does all layers of
// the file: in ga x vpp parts, after each of which a rank sends pp_comm bytes to the rank at its
// place in the next stage (of the gradients: in the one before), which waits for them. Before the
// ig of a layer of checkpoint_initiates, fp of the layers from the checkpoint before it is done
// again. Hosts are host-1 ... by rank. `name` is of the file, and of the job; an error has its
// line.
Result<Job> read_simai(std::string_view text, const std::string &name,
                       const JobFileOptions &options = {});

// What read_simai would make, and which layers of it are few enough.
Result<JobSize> measure_simai(std::string_view text, const std::string &name,
                              const JobFileOptions &options = {});

} // namespace xr::job
