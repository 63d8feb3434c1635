// SPDX-License-Identifier: Apache-2.0
// Colours and dashes of a figure's curves: no two curves have the same pair.
#pragma once

#include <string>
#include <vector>

#include "plot/figure.h"

namespace xr::plot {

struct Stroke {
  std::string colour;    // "#0072b2"
  std::vector<int> dash; // lengths of a line and a gap in turn; empty: a whole line
  bool operator==(const Stroke &) const = default;
};

// By curve. Of two runs over one another, curves at the same place have one colour, and those of
// the second run are dashed.
std::vector<Stroke> strokes(const Figure &figure);
// SVG's text of a dash pattern: "7 4".
std::string dash_text(const Stroke &stroke);

} // namespace xr::plot
