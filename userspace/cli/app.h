// SPDX-License-Identifier: Apache-2.0
// The table of all subcommands and global options, and what is made from it.
#pragma once

#include <string>

#include "cli/commands.h"

namespace xr::cli {

// The command line with all commands and global options; parsing fills `globals` and `chosen`.
struct Program {
  Program();
  CommandLine line;
  Globals globals;
  Run chosen;
};

// Prints the fault of a line. Returns exit status 2.
int usage_error(const CommandLine &line, const Parsed &parsed);

// The hint for a word that is not a command: the command that it resembles, or all of them.
std::string command_hint(const Command &program, const std::string &word);

// Adds `help`, which also writes the manual pages and the completion.
void add_help(Command program, Run &chosen);

// Prints what --version asks for.
int print_version(bool json);

// Made from the table: the manual page of the program and of a command (roff), and the bash
// completion.
std::string man_page(const Command &program);
std::string man_page(const Command &program, const Command &command);
std::string bash_completion(const Command &program);

} // namespace xr::cli
