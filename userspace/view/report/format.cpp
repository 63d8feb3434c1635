// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <type_traits>

#include <fmt/format.h>

#include "base/counted.h"
#include "report/text.h"

namespace xr::report {

namespace {

std::string rate(double number) {
  if (number > 0 && number < 9.95)
    return fmt::format("{:.1f}", number);
  return grouped(static_cast<uint64_t>(std::llround(std::fabs(number))));
}

// Three digits and the SI prefix.
std::string scaled(double number) {
  constexpr std::array<const char *, 6> kPrefixes = {"", " k", " M", " G", " T", " P"};
  size_t prefix = 0;
  while (number >= 999.5 && prefix + 1 < kPrefixes.size()) {
    number /= 1000;
    prefix++;
  }
  const int decimals = prefix == 0 || number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}{}", number, decimals, kPrefixes[prefix]);
}

std::string format_integer(uint64_t number, Format format) {
  switch (format) {
  case Format::Count:
  case Format::Rate:
    return grouped(number);
  case Format::Qpn:
    return fmt::format("0x{:06x}", number);
  case Format::Opcode:
    return fmt::format("0x{:02x}", number);
  case Format::Scaled:
    return scaled(static_cast<double>(number));
  default:
    return std::to_string(number);
  }
}

} // namespace

std::string format_value(const Value &value, Format format) {
  return std::visit(
      [format](const auto &v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate> || std::is_same_v<T, NotApplicable>)
          return "-";
        else if constexpr (std::is_same_v<T, bool>)
          return v ? "yes" : "no";
        else if constexpr (std::is_same_v<T, uint64_t>)
          return format_integer(v, format);
        else if constexpr (std::is_same_v<T, double>)
          return format == Format::Scaled ? scaled(v)
                 : format == Format::Rate ? rate(v)
                                          : fmt::format("{:.3f}", v);
        else if constexpr (std::is_same_v<T, StringList> || std::is_same_v<T, NumberList>)
          return fmt::format("{}", fmt::join(v, ", "));
        else
          return v;
      },
      value);
}

std::string scaled_words(double number, std::string_view unit) {
  std::string text = scaled(number);
  if (text.find(' ') == std::string::npos) // no prefix
    text += ' ';
  return text.append(unit);
}

} // namespace xr::report
