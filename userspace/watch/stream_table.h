// SPDX-License-Identifier: Apache-2.0
// Streams, a row each: as many of their columns as the width has room for.
#pragma once

#include <string>
#include <vector>

#include "watch/model.h"

namespace xr::watch {

// A heading and the window's streams.
std::vector<Line> stream_lines(const State &state, const StreamList::Window &window, size_t width);

// Keys of the columns that < and > go through, from left to right.
std::vector<std::string> number_columns();

// A column's heading in one line.
std::string heading_of(const report::Column &column);

} // namespace xr::watch
