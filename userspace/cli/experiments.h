// SPDX-License-Identifier: Apache-2.0
// The experiments that come with the program: share/xdp-roce/experiments beside its prefix.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "report/experiment.h"

namespace xr::cli {

// By name, with the first comment of their files.
Result<std::vector<report::ExperimentEntry>> installed_experiments();
// A file that exists, or the file of an installed experiment.
Result<std::string> find_experiment(const std::string &name);

} // namespace xr::cli
