// SPDX-License-Identifier: Apache-2.0
// The table of streams: one row each, with as many columns as the width allows.
#pragma once

#include <string>
#include <vector>

#include "watch/model.h"

namespace xr::watch {

// The heading and the streams of the window.
std::vector<Line> stream_lines(const State &state, const StreamList::Window &window, size_t width);

// Keys of the columns for < and >, from left to right.
std::vector<std::string> number_columns();

// The heading of a column as one line.
std::string heading_of(const report::Column &column);

} // namespace xr::watch
