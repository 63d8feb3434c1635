// SPDX-License-Identifier: Apache-2.0
// What the wire process reads from a frame and writes into it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "roce/hold.h"
#include "wire/frame.h"

namespace xr::endpoint {

// The fields of the frame that a wire's stages need; `handle` and `length` are not set. `first`:
// the bytes that are at hand, with all headers. `port_be`: of RoCEv2, in network order.
wire::Frame read_wire_frame(std::span<const uint8_t> first, uint16_t port_be);

// Sets CE in the IP header, and mends the IPv4 checksum. The iCRC does not cover the ECN field.
void write_ce(std::span<uint8_t> first);

// A PAUSE or PFC frame (IEEE 802.3 annex 31B, 802.1Qbb).
struct MacControl {
  bool pfc = false;       // otherwise PAUSE, with quanta[0]
  uint8_t priorities = 0; // bit n: quanta[n] is valid
  std::array<uint16_t, 8> quanta{};
};
// Nothing: another frame.
std::optional<MacControl> read_mac_control(std::span<const uint8_t> first);
std::vector<uint8_t> write_pfc(const MacControl &pfc, std::span<const uint8_t, 6> source);

// The CNP that answers the frame, for the QP and the DSCP in `copies` (roce_held.copies). Empty:
// the frame is not RoCEv2.
std::vector<uint8_t> make_cnp(std::span<const uint8_t> first, uint32_t copies, uint16_t port_be);

} // namespace xr::endpoint
