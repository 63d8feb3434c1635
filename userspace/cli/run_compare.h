// SPDX-License-Identifier: Apache-2.0
// `run compare A B...`: stored runs over one another.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.h"

namespace xr::cli {

// `directories`: two or more of `run FILE --out DIR`. `out` gets compare.json and report.html,
// `plots` the plots as SVG; "": none. Returns the exit status.
int compare_stored_runs(const std::vector<std::string> &directories, const std::string &out,
                        const std::string &plots, const Globals &globals);

} // namespace xr::cli
