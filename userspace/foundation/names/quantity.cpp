// SPDX-License-Identifier: Apache-2.0
#include "names/quantity.h"

#include <cctype>
#include <cmath>

#include <fmt/format.h>

namespace xr::names {

std::string si(double value, const std::string &unit, int digits) {
  constexpr struct {
    double scale;
    const char *prefix;
  } kPrefixes[] = {{1e12, "T"}, {1e9, "G"},  {1e6, "M"},  {1e3, "k"},
                   {1, ""},     {1e-3, "m"}, {1e-6, "u"}, {1e-9, "n"}};
  const double size = std::fabs(value);
  if (size == 0)
    return "0";
  if (size < 1 && unit != "s")
    return fmt::format("{:.{}g}", value, digits);
  for (const auto &[scale, prefix] : kPrefixes)
    if (size >= scale * (1 - 0.5 * std::pow(10, -digits))) // it is not "1000k"
      return fmt::format("{:.{}g}{}", value / scale, digits, prefix);
  return fmt::format("{:.3g}", value);
}

std::string quantity(double value, const std::string &unit, int digits) {
  if (unit == "ns")
    return quantity(value * 1e-9, "s", digits);
  std::string number = si(value, unit, digits);
  if (unit.empty())
    return number;
  const bool prefixed = !number.empty() && std::isalpha(static_cast<unsigned char>(number.back()));
  number.insert(number.size() - (prefixed ? 1 : 0), " ");
  return number + (unit == "bytes" ? "B" : unit);
}

int digits_of(double value, double other, const std::string &unit) {
  const bool alike = value != other && quantity(value, unit) == quantity(other, unit);
  return alike ? 6 : 4;
}

} // namespace xr::names
