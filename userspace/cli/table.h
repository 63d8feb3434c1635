// SPDX-License-Identifier: Apache-2.0
// Reads the table of commands, for the manual and the completion.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace xr::cli {

inline std::vector<CLI::App *> visible_commands(CLI::App &app) {
  return app.get_subcommands([](const CLI::App *one) { return !one->get_group().empty(); });
}

// flags_of() and positionals_of() leave out options that are hidden from the help.
inline std::vector<CLI::Option *> flags_of(CLI::App &app) {
  return app.get_options(
      [](const CLI::Option *one) { return one->nonpositional() && !one->get_group().empty(); });
}

inline std::vector<CLI::Option *> positionals_of(CLI::App &app) {
  return app.get_options(
      [](const CLI::Option *one) { return one->get_positional() && !one->get_group().empty(); });
}

// False for a flag.
inline bool takes_value(const CLI::Option &option) { return option.get_items_expected_max() > 0; }

} // namespace xr::cli
