// SPDX-License-Identifier: Apache-2.0
// A frame as the stages of a wire see it: what is needed to hold, order, class and mark it. The
// bytes belong to the driver, which knows them by `handle`.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace xr::wire {

inline constexpr uint8_t kNoPcp = 0xff;  // the frame has no VLAN tag
inline constexpr uint8_t kNoDscp = 0xff; // the frame is not an IP packet
inline constexpr uint8_t kCe = 3;        // ECN field: congestion experienced

// All times are in ns of the driver's clock.
struct Frame {
  uint64_t arrived = 0; // at the port by which it entered
  // When it was due to leave the last stage that held it. Each stage writes it in take().
  uint64_t due = 0;
  uint64_t stream = 0; // hash of what must keep its order: addresses and DestQP
  uint32_t handle = 0; // of the driver
  uint32_t length = 0; // bytes, without the FCS
  uint8_t ecn = 0;     // ECN field of the IP header; 0 if it is not an IP packet
  uint8_t dscp = kNoDscp;
  uint8_t pcp = kNoPcp;
  uint8_t ingress = 0; // number of the port by which it entered, for PFC
  bool marked = false; // a link set `ecn` to CE: the driver writes it into the bytes
};
static_assert(sizeof(Frame) == 40);

// Without the Ethernet header and a VLAN tag.
inline uint32_t ip_bytes(const Frame &frame) {
  constexpr uint32_t kEthernet = 14, kTag = 4;
  const uint32_t header = kEthernet + (frame.pcp != kNoPcp ? kTag : 0);
  return frame.length > header ? frame.length - header : 0;
}

} // namespace xr::wire
