// SPDX-License-Identifier: Apache-2.0
// What a rule did to a frame, for captures and from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "roce/stream.h"

namespace xr::impair {

// "rule 3: dropped". `trace.rule` is not 0.
std::string trace_words(const roce_trace &trace);

// The rule and its actions, of the comment of a captured frame; none: no rule matched it.
struct TracedRule {
  uint32_t rule = 0; // id
  uint32_t act = 0;  // enum roce_action_bits; 0: no action
  std::string did = {};
};
std::optional<TracedRule> traced_rule(std::string_view comment);

// What became of a captured frame after its rules, from its comment.
struct Passage {
  bool lost = false;    // it was not forwarded
  bool damaged = false; // it was forwarded, and its receiver drops it
  bool marked = false;  // it was forwarded marked CE
  bool unknown = false; // its outcome was lost
};
Passage passage_of(std::string_view comment);

} // namespace xr::impair
