// SPDX-License-Identifier: Apache-2.0
// What the wire process reads from a frame and writes into it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "roce/hold.h"
#include "roce/parse.h"
#include "wire/frame.h"

namespace xr::endpoint {

// The fields of the frame that a wire's stages need; `handle` and `length` are not set. `first`:
// the bytes that are at hand, with all headers. `port_be`: of RoCEv2, in network order.
wire::Frame read_wire_frame(std::span<const uint8_t> first, uint16_t port_be);

// Sets CE in the IP header, and mends the IPv4 checksum. The iCRC does not cover the ECN field.
void write_ce(std::span<uint8_t> first);

// A MAC control frame (IEEE 802.3, clause 31), of which PAUSE and PFC are two.
inline bool is_mac_control(std::span<const uint8_t> first) {
  return first.size() >= ROCE_ETH_LEN &&
         roce_be16(&first[ROCE_ETH_LEN - 2]) == ROCE_ETHERTYPE_MAC_CONTROL;
}

// The CNP that answers the frame, for the QP and the DSCP in `copies` (roce_held.copies). Empty:
// the frame is not RoCEv2.
std::vector<uint8_t> make_cnp(std::span<const uint8_t> first, uint32_t copies, uint16_t port_be);

} // namespace xr::endpoint
