// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace xr::wire {

// When the last bit of each frame has left at a constant rate. Fractions of a ns are carried from
// frame to frame while there is always one to send, so that the rate is exact.
class BitClock {
public:
  // Bits per second, not 0. What is being sent keeps the rate with which it began.
  void set_rate(uint64_t rate) {
    if (rate != rate_)
      carry_ = 0;
    rate_ = rate;
  }
  // When the next frame can begin.
  uint64_t free_at() const { return free_at_; }

  // Sends `bytes` from `start`, which is not before free_at(), and returns when the last bit has
  // left. At most 2^31 bytes.
  uint64_t send(uint64_t start, uint64_t bytes) {
    if (start > free_at_) {
      free_at_ = start;
      carry_ = 0;
    }
    const uint64_t work = bytes * 8 * 1'000'000'000 + carry_;
    free_at_ += work / rate_;
    carry_ = work % rate_;
    return free_at_;
  }

private:
  uint64_t rate_ = 1, free_at_ = 0;
  uint64_t carry_ = 0; // of the next ns, in units of 1 / rate ns
};

} // namespace xr::wire
