// SPDX-License-Identifier: Apache-2.0
#include "plot/ticks.h"

#include <cctype>
#include <cmath>

#include <fmt/format.h>

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
  for (double n = std::ceil(from / step - 1e-9); n * step <= to + step * 1e-9; n++)
    all.push_back(n * step);
  return all;
}

std::string si(double value, const std::string &unit) {
  constexpr struct {
    double scale;
    const char *prefix;
  } kPrefixes[] = {{1e12, "T"}, {1e9, "G"},  {1e6, "M"},  {1e3, "k"},
                   {1, ""},     {1e-3, "m"}, {1e-6, "u"}, {1e-9, "n"}};
  const double size = std::fabs(value);
  if (size == 0)
    return "0";
  if (size < 1 && unit != "s")
    return fmt::format("{:.4g}", value);
  for (const auto &[scale, prefix] : kPrefixes)
    if (size >= scale * 0.9999999)
      return fmt::format("{:.4g}{}", value / scale, prefix);
  return fmt::format("{:.3g}", value);
}

std::string quantity(double value, const std::string &unit) {
  std::string number = si(value, unit);
  if (unit.empty())
    return number;
  const bool prefixed = !number.empty() && std::isalpha(static_cast<unsigned char>(number.back()));
  number.insert(number.size() - (prefixed ? 1 : 0), " ");
  return number + (unit == "bytes" ? "B" : unit);
}

} // namespace xr::plot
