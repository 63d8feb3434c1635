// SPDX-License-Identifier: Apache-2.0
// The parts of the streams page above the table of streams; lines have the width of the screen.
#pragma once

#include <optional>
#include <vector>

#include "watch/model.h"

namespace xr::watch {

// Port, its description, number of streams, time.
Line title_line(const State &state, const StreamList::Window *window, size_t width);
// For several ports: all of them side by side, the current one selected.
Line ports_line(const State &state, size_t width);
Line summary_line(const State &state, size_t width);
// Rates by kind, and beside them ECN and CNPs. If `short_of_rows`, only kinds that were seen.
std::vector<Line> meter_lines(const State &state, size_t width, bool short_of_rows);
// Counters of losses, if any is not zero.
std::optional<Line> overflow_line(const State &state, size_t width);
// A heading and the first rules; empty without rules, or if rows < 2.
std::vector<Line> rule_lines(const State &state, size_t width, size_t rows);
Line rule_heading(const State &state, size_t width, size_t more = 0);
Line rule_line(const State &state, const RuleRow &rule, size_t width);
// The keys, or the filter while it is edited or set.
Line key_line(const State &state, size_t width);

// A line with the sum, the least and the largest rate; empty: no process controls rates there.
std::vector<Line> rates_lines(const State &state, size_t width);

// Rate, utilisation, backlog and sojourn time; then losses, marks and pauses, if there are any.
// Empty: the port has no link. Backlog and sojourn quantiles are since the link began.
std::vector<Line> link_lines(const State &state, size_t width);

} // namespace xr::watch
