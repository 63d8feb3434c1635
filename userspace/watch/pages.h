// SPDX-License-Identifier: Apache-2.0
// The pages that are lists: all rules, the port's events, the sort menu, help.
#pragma once

#include <span>

#include "watch/listing.h"
#include "watch/model.h"

namespace xr::watch {

// Keys, separated by spaces, and what they do.
struct KeyHelp {
  const char *keys;
  const char *what;
};
std::span<const KeyHelp> key_help();

Listing rules_page(const State &state);
Listing events_page(const State &state);
Listing sort_menu(const State &state); // state.menu is within it
Listing help_page();

} // namespace xr::watch
