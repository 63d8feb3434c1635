// SPDX-License-Identifier: Apache-2.0
// The start of a run that several processes agree on.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace xr::cli {

// "2026-11-23T12:00:30Z", with a fraction of a second or without, or "+20s" from now:
// CLOCK_REALTIME in ns. Error: it has passed.
Result<uint64_t> parse_start(const std::string &text, uint64_t now_ns);
// In whole seconds.
std::string start_text(uint64_t realtime_ns);

} // namespace xr::cli
