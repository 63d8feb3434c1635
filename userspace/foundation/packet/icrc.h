// SPDX-License-Identifier: Apache-2.0
// The iCRC of a RoCE packet. It covers the fields that no hop changes, from the IP header or GRH to
// the last pad byte (IBA vol. 1, 7.8; annex A17.3).
#pragma once

#include <cstdint>

#include "roce/parse.h"

namespace xr {

// Result of a check. Zero: the sender computes no iCRC. Absent: truncated by the snap length.
enum class Icrc : uint8_t { Good, Bad, Zero, Absent };

// The iCRC as a number; the wire has its least significant byte first. `frame` holds at least end -
// 4 bytes; l3, bth and end are offsets as in roce_packet, of class V2 or V1.
uint32_t icrc_value(const uint8_t *frame, uint32_t l3, uint32_t bth, uint32_t end);

// Checks the iCRC in a frame of which `captured` bytes are available.
Icrc icrc_check(const uint8_t *frame, uint32_t captured, const roce_packet &packet);

// Writes the correct iCRC into a complete frame.
void icrc_write(uint8_t *frame, const roce_packet &packet);

} // namespace xr
