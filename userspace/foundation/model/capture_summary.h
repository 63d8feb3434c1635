// SPDX-License-Identifier: Apache-2.0
// The counters and files of one `capture` run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace xr {

struct CaptureSummary {
  std::string ifname;
  std::string xdp_mode;
  double seconds = 0;
  uint64_t begun_ns = 0,
           ended_ns = 0; // every frame of this time was captured or is in `lost`; since 1970
  uint64_t seen = 0;     // frames that passed the port
  uint64_t taken = 0;    // of those, frames that match the filter
  uint64_t written = 0;  // frames written
  uint64_t bytes = 0;    // bytes of all files
  uint64_t cut = 0;      // written frames longer than the part that was captured
  bool around = false;
  uint64_t events = 0;     // events around which frames were captured
  uint64_t not_around = 0; // frames not captured: too far from any event
  uint64_t unwritten = 0;  // frames not written: after the --count limit, or after a write error
  std::vector<std::string> files; // existing files
  uint64_t files_removed = 0;
  // frames and events lost
  uint64_t lost = 0;          // frames dropped because the ring was full
  uint64_t outcomes_lost = 0; // frames whose outcome (forwarded, dropped, ...) was lost
  uint64_t unread = 0;        // frames on a CPU that has no ring
  uint64_t late = 0;          // frames read after a frame with a later timestamp
  // With the NIC's clock.
  struct NicTimes {
    std::string clock;    // "ptp0"; "": none that can be read
    uint64_t without = 0; // written frames without a time of it: they have the kernel's
    std::optional<int64_t> ahead_of_tai_ns; // of CLOCK_TAI, when the capture began
    uint64_t within_ns = 0;                 // as exact as that is
  };
  std::optional<NicTimes> nic;
};

} // namespace xr
