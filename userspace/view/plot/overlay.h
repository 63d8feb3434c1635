// SPDX-License-Identifier: Apache-2.0
// The figures of two runs over one another.
#pragma once

#include <string>
#include <vector>

#include "plot/figure.h"

namespace xr::plot {

struct LabelledFigures {
  std::string label; // prefix of the names of its curves: "virtual: flow-1"
  std::vector<Figure> figures;
};

// Both must have been made with the same intervals. A figure that one run lacks has the other's
// curves.
std::vector<Figure> overlay(LabelledFigures first, LabelledFigures second);

} // namespace xr::plot
