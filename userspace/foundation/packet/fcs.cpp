// SPDX-License-Identifier: Apache-2.0
#include "packet/fcs.h"

#include <isa-l/crc.h>

namespace xr::packet {

std::array<uint8_t, kFcsBytes> fcs_of(std::span<const uint8_t> frame) {
  const uint32_t crc = crc32_gzip_refl(0, frame.data(), frame.size());
  std::array<uint8_t, kFcsBytes> bytes{};
  for (size_t i = 0; i < bytes.size(); i++)
    bytes[i] = static_cast<uint8_t>(crc >> 8 * i);
  return bytes;
}

} // namespace xr::packet
