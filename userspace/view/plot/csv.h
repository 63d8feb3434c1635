// SPDX-License-Identifier: Apache-2.0
// The data of a figure as CSV: its x and a column of each curve, and marks as rows of their own; of
// figures with a curve at a time, and of heat maps, a row a point.
#pragma once

#include <string>

#include "plot/figure.h"

namespace xr::plot {

std::string csv(const Figure &figure);

} // namespace xr::plot
