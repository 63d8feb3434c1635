// SPDX-License-Identifier: Apache-2.0
// Jain's index of fairness (Jain, Chiu and Hawe, DEC TR-301): (sum x)^2 / (n sum x^2). 1 if all
// values are the same, 1/n if all but one are 0; `none` if there is no value except 0.
#pragma once

#include <span>

namespace xr {

inline double jain_index(std::span<const double> values, double none = 1) {
  double sum = 0, squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(values.size()) * squares) : none;
}

} // namespace xr
