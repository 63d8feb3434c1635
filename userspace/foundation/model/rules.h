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
  uint64_t matched_bytes = 0; // of the frames, without FCS
  uint64_t acted_bytes = 0;
  // Selected packets without an action; with `acted` they are all that were selected.
  uint64_t spared = 0;         // by RED, or within the policer's rate
  uint64_t limited = 0;        // the rule had reached its limit
  uint64_t not_applicable = 0; // no action of the rule changes such a packet
  uint64_t refused = 0;        // no CNP (paced, or its receiver unknown), or no copy was possible
  // To be held, but no process took them. Of `acted` too if the rule did something else to them.
  uint64_t not_held = 0;
};

// Packets acted on per million matched; nothing if none matched.
inline std::optional<double> parts_per_million(const RuleRow &rule) {
  if (!rule.matched)
    return std::nullopt;
  return 1e6 * static_cast<double>(rule.acted) / static_cast<double>(rule.matched);
}

} // namespace xr
