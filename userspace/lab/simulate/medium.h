// SPDX-License-Identifier: Apache-2.0
// Carries frames from one end of a link to the other, after the link's rate and delay: ports of a
// kernel. Without a medium a frame arrives as soon as the link's delay has passed.
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
  // Takes a frame, without FCS, at the end of the network's wire `number`. The frame arrives by
  // Simulation::arrived().
  virtual void carry(uint32_t number, std::span<const uint8_t> frame) = 0;
  // A frame that is in the medium for longer shows a stall, ns.
  virtual uint64_t stall_ns() const = 0;
};

// Frames that a medium carried.
struct Carried {
  uint64_t frames = 0;  // that arrived, PFC included
  uint64_t lost = 0;    // overtaken: a later one of the same wire arrived
  uint64_t foreign = 0; // not given to the medium; not in `frames`
  uint64_t link_ns = 0; // serialization and delay of the links, in sum
  uint64_t more_ns = 0; // time in the medium, in sum
  Histogram more;       // time of each frame in the medium, ns
  // Begin and end of the times in which frames were in the medium for too long; ascending,
  // disjoint.
  std::vector<std::pair<uint64_t, uint64_t>> stalls;
};

} // namespace xr::simulate
