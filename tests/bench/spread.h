// SPDX-License-Identifier: Apache-2.0
// Figures of a machine that others use too. What is compared is measured in turn, in pieces so
// small that a busy neighbour slows both sides of a piece; the figure is the median of the pieces,
// its spread their quartiles: half of the pieces lie between. A target is missed only if it is
// outside the spread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace xr::bench {

struct Spread {
  double low = 0, median = 0, high = 0;
};

inline Spread spread(std::vector<double> pieces) {
  std::sort(pieces.begin(), pieces.end());
  const auto at = [&](double part) {
    return pieces[static_cast<size_t>(part * static_cast<double>(pieces.size() - 1) + 0.5)];
  };
  return {at(0.25), at(0.5), at(0.75)};
}

// Piece by piece: what was measured together is compared.
template <typename Operation>
std::vector<double> each(const std::vector<double> &a, const std::vector<double> &b,
                         Operation operation) {
  std::vector<double> all(a.size());
  std::transform(a.begin(), a.end(), b.begin(), all.begin(), operation);
  return all;
}
inline std::vector<double> ratios(const std::vector<double> &a, const std::vector<double> &b) {
  return each(a, b, [](double x, double y) { return x / y; });
}

struct Target {
  enum class Is { None, AtMost, AtLeast } is = Is::None;
  double value = 0;
};
inline Target at_most(double value) { return {Target::Is::AtMost, value}; }
inline Target at_least(double value) { return {Target::Is::AtLeast, value}; }

// "": met; MISSED: not met by any of the spread; "not clear": the target is within the spread.
inline const char *verdict(const Spread &got, const Target &target) {
  if (target.is == Target::Is::None)
    return "";
  const bool most = target.is == Target::Is::AtMost;
  const double best = most ? got.low : got.high, worst = most ? got.high : got.low;
  const auto meets = [&](double value) {
    return most ? value <= target.value : value >= target.value;
  };
  return meets(worst) ? "" : meets(best) ? "  not clear" : "  MISSED";
}

// One line: what, the median, its spread, the target.
inline void print(const char *what, const Spread &got, const Target &target = {},
                  const char *unit = "") {
  std::printf("  %-44s %7.2f%s  %.2f to %.2f", what, got.median, unit, got.low, got.high);
  if (target.is != Target::Is::None)
    std::printf("  (must be %s %.2f)%s",
                target.is == Target::Is::AtMost ? "<=" : ">=", target.value, verdict(got, target));
  std::printf("\n");
}

} // namespace xr::bench
