// SPDX-License-Identifier: Apache-2.0
// `run --import`: descriptions of other tools, in our words.
#pragma once

#include <string>

#include "cli/commands.h"

namespace xr::cli {

// `kind`: netem, mahimahi. `from`: options of netem, or a file. Returns the exit status.
int import_words(const std::string &kind, const std::string &from, const Globals &globals);

} // namespace xr::cli
