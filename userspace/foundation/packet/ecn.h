// SPDX-License-Identifier: Apache-2.0
// Marks of congestion in the bytes of a frame.
#pragma once

#include <cstdint>

#include "roce/checksum.h"
#include "roce/parse.h"

namespace xr::packet {

// Sets CE in the IP header, and mends the IPv4 checksum. The iCRC does not cover the ECN field.
inline void write_ce(uint8_t *ip, bool ipv4) {
  if (!ipv4) {
    ip[1] |= ROCE_ECN_CE << 4;
    return;
  }
  const auto tos = static_cast<uint8_t>(ip[1] | ROCE_ECN_CE);
  const uint16_t sum = roce_checksum_after(roce_be16(ip + 10), ip[1], tos);
  ip[1] = tos;
  ip[10] = static_cast<uint8_t>(sum >> 8);
  ip[11] = static_cast<uint8_t>(sum);
}

} // namespace xr::packet
