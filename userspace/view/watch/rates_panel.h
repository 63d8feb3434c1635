// SPDX-License-Identifier: Apache-2.0
// The rates of the port's `send` or `respond`.
#pragma once

#include <vector>

#include "watch/model.h"

namespace xr::watch {

// A line with the sum, the least and the largest rate; empty: no process controls rates there.
std::vector<Line> rates_lines(const State &state, size_t width);

} // namespace xr::watch
