// SPDX-License-Identifier: Apache-2.0
// Numbers in network order among the bytes of an exchange.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace xr::peer {

using Bytes = std::vector<uint8_t>;

inline void put(Bytes &to, uint64_t value, size_t bytes) {
  for (size_t i = bytes; i-- > 0;)
    to.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

inline uint64_t get(std::span<const uint8_t> from, size_t at, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; i++)
    value = value << 8 | from[at + i];
  return value;
}

} // namespace xr::peer
