// SPDX-License-Identifier: Apache-2.0
// Command lines to begin with: the table of which help and the manual pages show each command its
// own.
#pragma once

#include <string>
#include <vector>

#include "cli/command_line.h"

namespace xr::cli {

// The examples of a command, the simplest first.
std::vector<Example> examples_of(const std::string &command);
std::vector<Example> all_examples();

} // namespace xr::cli
