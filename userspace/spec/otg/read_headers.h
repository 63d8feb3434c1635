// SPDX-License-Identifier: Apache-2.0
// Reads packet[] of a flow: the headers of its frames, one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "otg/object.h"
#include "otg/read_patterns.h"
#include "packet/frame_shape.h"

namespace xr::otg {

struct ReadHeaders {
  packet::FrameShape shape; // without payload
  // Fields that change places on the way back: sources and destinations.
  struct Swap {
    uint32_t a = 0, b = 0, bits = 0;
  };
  std::vector<Swap> swaps;
  std::vector<MetricTag> tags;
  bool resolve_dst_mac = false; // ethernet.dst of the first header is automatic, and 0 for now
  bool pauses = false;          // the first header is pfcpause or ethernetpause
};

ReadHeaders read_headers(Object &flow);

// The metric tags of egress_packet[]: the headers of frames as they arrive.
std::vector<MetricTag> read_egress(Object &flow);

// The frames of the way back.
packet::FrameShape swapped(packet::FrameShape shape, const std::vector<ReadHeaders::Swap> &swaps);

} // namespace xr::otg
