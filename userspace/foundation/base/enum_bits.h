// SPDX-License-Identifier: Apache-2.0
// Which bits of an enum of bits have a name: for tables that must have a row for each.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <utility>

namespace xr {

// The compiler prints an enumerator by its name, any other value as a cast: `(roce_feature)65536`.
template <typename Enum, Enum kValue> constexpr bool is_enumerator() {
  constexpr std::string_view kText = __PRETTY_FUNCTION__;
  constexpr std::string_view kBefore = "kValue = ";
  return kText[kText.find(kBefore) + kBefore.size()] != '(';
}

// A new bit without a row is found wherever in the enum it is: no constant says which is the last.
template <typename Enum> constexpr uint32_t named_bits() {
  return []<unsigned... bit>(std::integer_sequence<unsigned, bit...>) {
    return ((is_enumerator<Enum, std::bit_cast<Enum>(1U << bit)>() ? 1U << bit : 0U) | ...);
  }
  (std::make_integer_sequence<unsigned, 32>());
}

} // namespace xr
