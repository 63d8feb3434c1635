// SPDX-License-Identifier: Apache-2.0
// A rule of a port as reports show it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace xr {

struct RuleRow {
  uint32_t id = 0; // from 1, in the order of their coming
  std::string text;
  std::string name;
  uint64_t matched = 0;
  uint64_t acted = 0;
};

// Acted upon, of a million matched; none without a match.
inline std::optional<double> parts_per_million(const RuleRow &rule) {
  if (!rule.matched)
    return std::nullopt;
  return 1e6 * static_cast<double>(rule.acted) / static_cast<double>(rule.matched);
}

} // namespace xr
