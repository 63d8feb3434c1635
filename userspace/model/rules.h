// SPDX-License-Identifier: Apache-2.0
// A rule of a port with its counters, for reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace xr {

struct RuleRow {
  uint32_t id = 0; // from 1, in the order in which rules were added
  std::string text;
  std::string name;
  uint64_t matched = 0;
  uint64_t acted = 0;
  bool enabled = true;
};

// Packets acted on per million matched; nothing if none matched.
inline std::optional<double> parts_per_million(const RuleRow &rule) {
  if (!rule.matched)
    return std::nullopt;
  return 1e6 * static_cast<double>(rule.acted) / static_cast<double>(rule.matched);
}

} // namespace xr
