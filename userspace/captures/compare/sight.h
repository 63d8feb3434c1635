// SPDX-License-Identifier: Apache-2.0
// A packet as one place saw it.
#pragma once

#include <cstdint>

namespace xr::compare {

// What may differ between two places.
struct Mark {
  enum Flag : uint8_t {
    kBadIcrc = 1,
    kBegins = 2,   // the first packet of a run before the expected PSN: the sender went back
    kAccepted = 4, // a receiver after this place that takes packets in order only had taken it
    kTagged = 16,  // `vlan` is known: an Ethernet frame
  };

  uint64_t time_ns = 0;
  uint32_t order = 0; // number of the packet in its stream at this place, modulo 2^32
  uint8_t tos = 0, flags = 0;
  uint16_t vlan = 0; // as roce_packet.vlan, without PCP
};

struct Sight {
  Mark mark;
  uint32_t stream = 0; // its number: StreamNumbers
  uint32_t token = 0;  // PSN, and the opcode in the upper byte
  uint32_t print = 0;  // the iCRC, which covers all that no hop changes; 0: not captured
};

} // namespace xr::compare
