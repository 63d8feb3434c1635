// SPDX-License-Identifier: Apache-2.0
// What may be longer and wider than the screen: only the lines that are seen are made, and each in
// full.
#pragma once

#include <cstddef>
#include <functional>

#include "watch/frame.h"

namespace xr::watch {

constexpr size_t kFullWidth = 4096; // columns of a line of which the screen shows a part

struct Listing {
  Line head;
  size_t rows = 0;
  std::function<Line(size_t row)> row;
};

} // namespace xr::watch
