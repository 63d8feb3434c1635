// SPDX-License-Identifier: Apache-2.0
// `run --on ports`: its words, and the commands of the roles.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/run_options.h"
#include "record/run_files.h"

namespace xr::cli {

// --on ports WORDS, --role and --at. Sets args.at_ns.
Status read_ports(RunArgs &args);
bool on_ports(const RunArgs &args);
// After read_ports().
record::RunPlace ports_place(const RunArgs &args);
} // namespace xr::cli
