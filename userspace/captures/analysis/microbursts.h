// SPDX-License-Identifier: Apache-2.0
// Exact sliding windows: the largest number of bytes in any 10, 100 and 1,000 us.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/microburst.h"

namespace xr {

class MicroburstMeter {
public:
  void frame(uint64_t time_ns, uint32_t bytes);
  Microbursts result() const;

private:
  // Frames of one time, with the sums of all before them.
  struct Moment {
    uint64_t ns = 0, bytes_before = 0, frames_before = 0;
  };
  struct Window {
    uint64_t ns;
    uint64_t tail = 0; // number of the oldest moment in it
    Microburst most = {};
  };

  Moment &moment(uint64_t number) { return ring_[number & mask_]; }
  void begin_moment(uint64_t time_ns);
  void slide(Window &window);
  void slide_all();
  void grow();

  std::vector<Moment> ring_ = std::vector<Moment>(1024); // a power of two
  uint64_t mask_ = ring_.size() - 1;
  uint64_t moments_ = 0; // ever; the last is not complete
  uint64_t slid_ = 0;    // the windows have slid over those before this number
  uint64_t last_ns_ = 0; // time of the last moment
  uint64_t bytes_ = 0, frames_ = 0;
  std::array<Window, 3> windows_{{{1'000'000}, {100'000}, {10'000}}}; // the longest first
  uint64_t untimed_ = 0, late_ = 0, first_ns_ = 0;
};

} // namespace xr
