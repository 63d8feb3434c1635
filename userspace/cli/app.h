// SPDX-License-Identifier: Apache-2.0
// The table of all subcommands and global options, and what is made from it.
#pragma once

#include <string>

#include "cli/commands.h"

namespace xr::cli {

// Adds all subcommands and options to `app`; parsing then fills `globals` and `chosen`.
void describe_app(CLI::App &app, Globals &globals, Run &chosen);

// Prints an error for a command line that CLI11 refused. Returns exit status 2.
int usage_error(CLI::App &app, const CLI::ParseError &error);

// The hint for a word that is not a command: the command that it resembles, or all of them.
std::string command_hint(CLI::App &app, const std::string &word);

// Adds `help`, which also writes the manual pages and the completion.
void add_help(CLI::App &app, Run &chosen);

// --version.
int print_version(bool json);

// Made from the table: the manual page of the program and of a command (roff), and the bash
// completion. (Not const, because some of CLI11's getters are not.)
std::string man_page(CLI::App &app);
std::string man_page(CLI::App &app, CLI::App &command);
std::string bash_completion(CLI::App &app);

} // namespace xr::cli
