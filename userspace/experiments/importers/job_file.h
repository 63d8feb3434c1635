// SPDX-License-Identifier: Apache-2.0
// A job in a file of others (job/files.h) as an experiment: its ranks in a topology of HPCC or
// SimAI, else at one switch, or more than 256 in a fat tree.
#pragma once

#include <string>

#include "base/result.h"
#include "importers/lumina.h"

namespace xr::importers {

bool is_job_file(const std::string &format);

// The experiment names the file, which is read when it runs. `topology`: of that file; "": none.
Result<ImportedExperiment> job_file(const std::string &format, const std::string &path,
                                    const std::string &topology = "");

} // namespace xr::importers
