// SPDX-License-Identifier: Apache-2.0
// Axis of a plot: round values between two limits, and numbers with SI prefixes.
#pragma once

#include <string>
#include <vector>

namespace xr::plot {

// At most about `count` multiples of 1, 2 or 5 x 10^n in [from, to]. Empty if to <= from.
std::vector<double> ticks(double from, double to, int count);
// "12.5M", "0.25"; prefixes below 1 for seconds only: "3u".
std::string si(double value, const std::string &unit);
// With its unit, as one writes it: "117.7 ms", "20 Gbit/s", "18.51 kB" (of "bytes"), "0.25".
std::string quantity(double value, const std::string &unit);

} // namespace xr::plot
