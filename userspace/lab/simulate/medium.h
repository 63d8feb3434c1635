// SPDX-License-Identifier: Apache-2.0
// What carries frames from one end of a link to the other, beside the link's own rate and delay:
// ports of a kernel. Without one they are there when their time has come.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/histogram.h"

namespace xr::simulate {

class Medium {
public:
  virtual ~Medium() = default;
  // A frame without FCS that has passed the wire `number` of the network. It arrives when
  // Simulation::arrived() says so.
  virtual void carry(uint32_t number, std::span<const uint8_t> frame) = 0;
  // What a frame may take in it before that is a stall, ns.
  virtual uint64_t stall_ns() const = 0;
};

// Frames that a medium carried.
struct Carried {
  uint64_t frames = 0;  // that arrived, PFC included
  uint64_t lost = 0;    // of which a later one on the same wire arrived
  uint64_t foreign = 0; // that nobody sent: not in `frames`
  uint64_t link_ns = 0; // that the links' serialization and delay took, in sum
  uint64_t more_ns = 0; // that the medium took beside that, in sum
  Histogram more;       // ns of each frame
  // From when to when frames were in the medium for longer than a stall; ascending, apart.
  std::vector<std::pair<uint64_t, uint64_t>> stalls;
};

} // namespace xr::simulate
