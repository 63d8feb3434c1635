// SPDX-License-Identifier: Apache-2.0
// The figures of runs over one another.
#pragma once

#include <string>
#include <vector>

#include "plot/figure.h"

namespace xr::plot {

struct LabelledFigures {
  std::string label; // prefix of the names of its curves: "virtual: flow-1"
  std::vector<Figure> figures;
};

// All must have been made with the same intervals. A figure that a run lacks has the others'
// curves.
std::vector<Figure> overlay(std::vector<LabelledFigures> runs);

} // namespace xr::plot
