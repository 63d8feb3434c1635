// SPDX-License-Identifier: Apache-2.0
#include "plot/ticks.h"

#include <cmath>

namespace xr::plot {

std::vector<double> ticks(double from, double to, int count) {
  std::vector<double> all;
  if (!(to > from) || !std::isfinite(to - from))
    return all;
  const double raw = (to - from) / count, power = std::pow(10, std::floor(std::log10(raw)));
  const double part = raw / power, step = (part <= 1   ? 1
                                           : part <= 2 ? 2
                                           : part <= 5 ? 5
                                                       : 10) *
                                          power;
  for (auto n = std::llround(std::ceil(from / step - 1e-9));
       static_cast<double>(n) * step <= to + step * 1e-9; n++)
    all.push_back(static_cast<double>(n) * step + 0.0); // not -0
  return all;
}

AxisUnit axis_unit(double most, const std::string &unit) {
  constexpr struct {
    double scale;
    const char *prefix;
  } kPrefixes[] = {{1e12, "T"}, {1e9, "G"},  {1e6, "M"},  {1e3, "k"},
                   {1, ""},     {1e-3, "m"}, {1e-6, "u"}, {1e-9, "n"}};
  const bool time = unit == "s";
  if (!time && unit != "bit/s" && unit != "bytes")
    return {unit, 1};
  const std::string name = unit == "bytes" ? "B" : unit;
  for (const auto &[scale, prefix] : kPrefixes)
    if (most >= scale * 0.9999999 && (time ? scale <= 1 : scale >= 1))
      return {prefix + name, scale};
  return {name, 1};
}

} // namespace xr::plot
