// SPDX-License-Identifier: Apache-2.0
// The iCRC of a RoCE packet: what every hop leaves alone, from the IP header or GRH to the last pad
// byte (IBA vol. 1, 7.8; annex A17.3).
#pragma once

#include <cstdint>

#include "roce/parse.h"

namespace xr {

// What is wrong with an iCRC, or not. Zero: the sender computes none. Absent: a snap length cut it.
enum class Icrc : uint8_t { Good, Bad, Zero, Absent };

// The value as a number; it stands on the wire least significant byte first. `frame` holds at least
// end - 4 bytes; l3, bth and end are offsets as in roce_packet, for which roce_parse found a class
// of V2 or V1.
uint32_t icrc_value(const uint8_t *frame, uint32_t l3, uint32_t bth, uint32_t end);

// Compares with the wire. `captured` bytes of the frame are at hand.
Icrc icrc_check(const uint8_t *frame, uint32_t captured, const roce_packet &packet);

// Writes the right iCRC into a frame that is whole.
void icrc_write(uint8_t *frame, const roce_packet &packet);

} // namespace xr
