// SPDX-License-Identifier: Apache-2.0
// MAC addresses in conditions: a value and the bits that count.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "impair/spec.h"

namespace xr::impair {

inline constexpr unsigned kMacBytes = 6, kMacBits = 48;

// The first `length` bits.
constexpr uint64_t mac_mask(uint64_t length) {
  constexpr uint64_t kAll = (1ULL << kMacBits) - 1;
  return kAll & ~(kAll >> length);
}

inline std::string mac_text(uint64_t value) {
  std::string text;
  for (unsigned i = 0; i < kMacBytes; i++)
    text += fmt::format("{}{:02x}", i ? ":" : "", value >> (kMacBits - 8 - 8 * i) & 0xff);
  return text;
}

// With the mask after a slash, if it leaves bits out.
inline std::string mac_text(const Mac &mac) {
  const auto length = static_cast<uint64_t>(std::popcount(mac.mask));
  std::string text = mac_text(mac.value);
  if (length == kMacBits)
    return text;
  return mac.mask == mac_mask(length) ? fmt::format("{}/{}", text, length)
                                      : text + "/" + mac_text(mac.mask);
}

} // namespace xr::impair
