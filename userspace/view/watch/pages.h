// SPDX-License-Identifier: Apache-2.0
// The pages that are lists: rules, events, sort menu, help.
#pragma once

#include <span>

#include "watch/listing.h"
#include "watch/model.h"

namespace xr::watch {

// Keys, separated by spaces, and their effect.
struct KeyHelp {
  const char *keys;
  const char *what;
};
std::span<const KeyHelp> key_help();

Listing rules_page(const State &state);
Listing events_page(const State &state);
Listing job_page(const State &state, size_t width);
Listing sort_menu(const State &state); // state.menu must be less than the number of entries
Listing help_page();

} // namespace xr::watch
