// SPDX-License-Identifier: Apache-2.0
// Counts with their noun, for everything that people read: "1 packet", "1,234 packets".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace xr {

std::string grouped(uint64_t number); // 1,234,567
// `plural`: "" adds an s to the noun.
std::string counted(uint64_t number, std::string_view noun, std::string_view plural = "");
// The form of a verb that fits the count: verb(1, "is", "are").
constexpr std::string_view verb(uint64_t number, std::string_view one, std::string_view many) {
  return number == 1 ? one : many;
}

} // namespace xr
