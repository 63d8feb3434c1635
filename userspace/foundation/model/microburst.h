// SPDX-License-Identifier: Apache-2.0
// The largest number of bytes that passed in any time of a given length.
#pragma once

#include <cstdint>
#include <vector>

namespace xr {

struct Microburst {
  uint64_t window_ns = 0;
  uint64_t bytes = 0; // frames without FCS
  uint64_t frames = 0;
  uint64_t first_ns = 0; // the first of these frames
};

struct Microbursts {
  uint64_t first_ns = 0; // the capture's first frame: times are since then
  std::vector<Microburst> windows;
  uint64_t untimed = 0; // frames without a time: not in these
  uint64_t late = 0;    // frames before an earlier one's time: taken as of that time
};

} // namespace xr
