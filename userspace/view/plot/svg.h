// SPDX-License-Identifier: Apache-2.0
// A figure as SVG 1.1: the curves that are shown at first, levels, axes and a legend.
#pragma once

#include <string>

#include "plot/figure.h"

namespace xr::plot {

std::string svg(const Figure &figure);

} // namespace xr::plot
