// SPDX-License-Identifier: Apache-2.0
// A gnuplot script that draws the figures over time from series.csv beside it.
#pragma once

#include <string>
#include <vector>

#include "plot/figure.h"

namespace xr::plot {

std::string gnuplot(const std::vector<Figure> &figures);

} // namespace xr::plot
