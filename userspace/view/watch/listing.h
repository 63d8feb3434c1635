// SPDX-License-Identifier: Apache-2.0
// A page that may be larger than the screen: only visible lines are made, each in full width.
#pragma once

#include <cstddef>
#include <functional>

#include "watch/screen.h"

namespace xr::watch {

constexpr size_t kFullWidth = 4096; // columns of a line before it is scrolled and cut

struct Listing {
  Line head;
  size_t rows = 0;
  std::function<Line(size_t row)> row;
};

} // namespace xr::watch
