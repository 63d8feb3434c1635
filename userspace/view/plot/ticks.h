// SPDX-License-Identifier: Apache-2.0
// Axis of a plot: round values between two limits.
#pragma once

#include <string>
#include <vector>

namespace xr::plot {

// At most about `count` multiples of 1, 2 or 5 x 10^n in [from, to]. Empty if to <= from.
std::vector<double> ticks(double from, double to, int count);

// The SI unit of an axis with values up to `most`, in which its numbers are plain: "ms", 1e-3.
struct AxisUnit {
  std::string name;
  double scale = 1;
};
AxisUnit axis_unit(double most, const std::string &unit);

} // namespace xr::plot
