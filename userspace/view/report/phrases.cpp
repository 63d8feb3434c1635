// SPDX-License-Identifier: Apache-2.0
#include "report/phrases.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "names/quantity.h"
#include "report/text.h"

namespace xr::report {

std::string number_words(uint64_t number) { return grouped(number); }

std::string percent(uint64_t part, uint64_t whole) {
  constexpr double kLeast = 0.001;
  if (!whole)
    return "-";
  const double share = 100 * static_cast<double>(part) / static_cast<double>(whole);
  const double less = part <= whole ? std::min(share, 100 - share) : share; // it, or the rest
  if (part && part != whole && less < kLeast)
    return share < kLeast ? "below 0.001 %" : "above 99.999 %";
  int decimals = 1;
  while (decimals < 3 && less > 0 && less * std::pow(10, decimals) < 9.95)
    decimals++;
  return fmt::format("{:.{}f} %", share, decimals);
}

std::string time_words(uint64_t ns) {
  struct Unit {
    double ns;
    const char *name;
  };
  constexpr std::array<Unit, 3> kUnits = {{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}}};
  for (const auto &[size, name] : kUnits)
    if (const double value = static_cast<double>(ns) / size; value >= 1)
      return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : 1, name);
  return fmt::format("{} ns", ns);
}

std::string rate_words(double bits) { return scaled_words(bits, "bit/s"); }

std::string check_number(double value, const std::string &unit) {
  return unit.empty() ? fmt::format("{:.6g}", value) : names::quantity(value, unit, 6);
}

std::string listed(std::vector<std::string> all) {
  std::string text;
  for (size_t i = 0; i < all.size(); i++)
    text += (i == 0 ? "" : i + 1 == all.size() ? " and " : ", ") + all[i];
  return text;
}

std::string qp_words(uint64_t qpn) { return fmt::format("{:#x}", qpn); }

} // namespace xr::report
