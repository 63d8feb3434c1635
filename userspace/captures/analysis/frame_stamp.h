// SPDX-License-Identifier: Apache-2.0
// The time that a switch or packet broker has written into a frame (include/roce/README.md 10).
#pragma once

#include <cstdint>
#include <optional>

#include "capture/reader.h"
#include "model/frame_times.h"
#include "roce/tunnel.h"

namespace xr {

struct FrameStamp {
  StampUnit unit{};
  bool whole = false;   // see StampSource; of IEEE 1588 and trailers: since 1970
  bool valid = true;    // false: nanoseconds beyond a second
  uint64_t value = 0;   // in units; in ns of IEEE 1588 and trailers
  uint64_t modulus = 0; // at which `value` wraps; 0: 2^64
  Address src{}, dst{}; // of the tunnel
  uint32_t session = 0;
  uint8_t device = 0, port = 0; // of a packet broker
};

// The stamp of a captured frame, whose tunnels `from` describes. None: its mirror does not stamp.
std::optional<FrameStamp> erspan_stamp(const CapturedFrame &outer, const roce_origin &from);

// Takes the trailer of a Cisco Nexus 3550-T or Exablaze ExaLINK Fusion HPT off the frame, and the
// FCS after it. None: the frame, which must be whole, has none.
std::optional<FrameStamp> take_trailer(CapturedFrame &frame);

} // namespace xr
