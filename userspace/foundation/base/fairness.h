// SPDX-License-Identifier: Apache-2.0
// Jain's index of fairness (Jain, Chiu and Hawe, DEC TR-301): (sum x)^2 / (n sum x^2). 1 if all
// values are the same, 1/n if all but one are 0; nothing if there is no value except 0: nobody got
// a share.
#pragma once

#include <optional>
#include <span>

namespace xr {

inline std::optional<double> jain_index(std::span<const double> values) {
  double sum = 0, squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  if (!(squares > 0))
    return {};
  return sum * sum / (static_cast<double>(values.size()) * squares);
}

} // namespace xr
