// SPDX-License-Identifier: Apache-2.0
// A sweep as a plot: a value over the first key that differs, a curve for each combination of the
// others, with the spread over the points that differ in their seed only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plot/figure.h"

namespace xr::plot {

struct SweepValue {
  std::vector<std::pair<std::string, std::string>> settings; // of the point
  double value = 0;
};

// x is the value of the key if all are numbers of one unit ("2", "10us"); otherwise 1, 2, ... in
// their order, with the texts in x_unit.
Figure sweep_figure(const std::string &id, const std::string &title, const std::string &y_unit,
                    const std::vector<SweepValue> &values);

} // namespace xr::plot
