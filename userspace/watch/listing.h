// SPDX-License-Identifier: Apache-2.0
// What may be longer than the screen: only the lines that are seen are made.
#pragma once

#include <cstddef>
#include <functional>

#include "watch/frame.h"

namespace xr::watch {

struct Listing {
  Line head;
  size_t rows = 0;
  std::function<Line(size_t row)> row;
};

} // namespace xr::watch
