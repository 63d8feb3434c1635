// SPDX-License-Identifier: Apache-2.0
// Cells of tables, and values of fields, of what may be unknown.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "report/document.h"

namespace xr::report {

// Unknown: 0, or no text.
inline Value known(uint64_t number) { return number ? Value{number} : Value{}; }
inline Value known(const std::string &text) { return text.empty() ? Value{} : Value{text}; }

template <typename T> Value maybe(const std::optional<T> &value) {
  if (!value)
    return {};
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    return uint64_t{*value};
  else
    return *value;
}

// To a thousandth.
inline double rounded(double value) { return std::round(value * 1000) / 1000; }

// A time in ns as microseconds, rounded to a ns.
inline Value us(double ns) { return std::round(ns) / 1000; }

} // namespace xr::report
