// SPDX-License-Identifier: Apache-2.0
// `analyze`, for commands that capture first.
#pragma once

#include <string>

#include "cli/commands.h"

namespace xr::cli {

// Does what `analyze CAPTURE --out OUT` does. Returns the exit status.
int analyze_into(const std::string &capture, const std::string &out, const Globals &globals);

} // namespace xr::cli
