// SPDX-License-Identifier: Apache-2.0
// Times that frames carry: of the switch that mirrored them (ERSPAN III), or of a packet broker in
// a trailer; against the capture's own clock.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/address.h"

namespace xr {

// Whose times the report has.
enum class FrameClock : uint8_t { Capture, Mirror, Trailer };

enum class StampUnit : uint8_t { Us100, Ns100, Ieee1588, User, Trailer };

// The frames that one mirror session, or one port of a packet broker, has stamped.
struct StampSource {
  StampUnit unit{};
  bool whole = false; // stamps have their upper 32 bits or seconds, so they do not wrap
  Address src{}, dst{};
  uint32_t session = 0;
  uint8_t device = 0, port = 0; // of a packet broker

  uint64_t frames = 0;
  uint64_t unusable = 0; // of these, without a known unit, or no valid time
  uint64_t backward = 0; // of these, before a stamp that came earlier
  uint64_t backward_max_ns = 0;
  std::optional<int64_t> offset_ns; // the first frame's capture time minus its stamp, if absolute
  int64_t delay_min_ns = 0, delay_max_ns = 0; // capture time minus stamp, 0 for the first frame
  std::optional<double> drift_ppm; // by which the stamps' clock is faster than the capture's
  std::optional<double> tick_ns;   // of a unit by the user: as the capture's clock measures it
};

struct FrameTimes {
  FrameClock clock = FrameClock::Capture;
  uint64_t stamped = 0;   // frames whose time is that of their stamp
  uint64_t unstamped = 0; // frames whose time is the capture's, moved by the newest stamp's delay
  uint64_t sources_full = 0; // frames with stamps of sources that had no room
  std::vector<StampSource> sources;
};

} // namespace xr
