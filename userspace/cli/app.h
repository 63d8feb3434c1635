// SPDX-License-Identifier: Apache-2.0
// The command line as a table: all subcommands, and what is common to them.
#pragma once

#include <string>

#include "cli/commands.h"

namespace xr::cli {

// Sets `app` up; parsing then fills `globals` and `chosen`.
void describe_app(CLI::App &app, Globals &globals, Run &chosen);

// A command line that CLI11 refused, in our words. Returns exit status 2.
int usage_error(CLI::App &app, const CLI::ParseError &error);

// `help`, which also writes manual and completion.
void add_help(CLI::App &app, Run &chosen);

// --version.
int print_version(bool json);

// From the same table: roff, of all and of one command, and a script for bash. (Not const: CLI11's
// getters are not all.)
std::string man_page(CLI::App &app);
std::string man_page(CLI::App &app, CLI::App &command);
std::string bash_completion(CLI::App &app);

} // namespace xr::cli
