// SPDX-License-Identifier: Apache-2.0
#include "packet/icrc_changes.h"

namespace xr {

std::array<uint32_t, 256> icrc_changes(uint32_t after) {
  const auto step = [](uint32_t crc) {
    for (int bit = 0; bit < 8; bit++)
      crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
    return crc;
  };
  std::array<uint32_t, 256> changes{};
  for (uint32_t top = 1; top < 256; top <<= 1) {
    uint32_t crc = top;
    for (uint32_t i = 0; i <= after; i++)
      crc = step(crc & 0xff) ^ crc >> 8;
    for (uint32_t below = 0; below < top; below++)
      changes[top | below] = changes[below] ^ crc;
  }
  return changes;
}

} // namespace xr
