// SPDX-License-Identifier: Apache-2.0
// The parts of the first page above its streams, each some lines of the screen's width.
#pragma once

#include <optional>
#include <vector>

#include "watch/model.h"

namespace xr::watch {

// Port, what it is, streams that are seen, time.
Line title_line(const State &state, const StreamList::Window *window, size_t width);
// Several ports: one beside the other, the one that is watched selected.
Line ports_line(const State &state, size_t width);
Line summary_line(const State &state, size_t width);
// Rates by class beside ECN and CNPs; only lines of something that was seen if `short_of_rows`.
std::vector<Line> meter_lines(const State &state, size_t width, bool short_of_rows);
// Red, and there only if something was lost.
std::optional<Line> overflow_line(const State &state, size_t width);
// A heading and the first rules; none without rules or with fewer than two rows.
std::vector<Line> rule_lines(const State &state, size_t width, size_t rows);
Line rule_heading(const State &state, size_t width, size_t more = 0);
Line rule_line(const State &state, const RuleRow &rule, size_t width);
// What the keys do, or the filter as it is typed.
Line key_line(const State &state, size_t width);

} // namespace xr::watch
