// SPDX-License-Identifier: Apache-2.0
// A token bucket, exact: tokens are counted in 10^-9 bits, and no time is lost to rounding.
#pragma once

#include <algorithm>
#include <cstdint>

namespace xr::wire {

class TokenBucket {
public:
  // Bits per second, and bytes; both not 0. Full at first.
  TokenBucket(uint64_t rate, uint64_t burst)
      : rate_(static_cast<Tokens>(rate)), full_(tokens(burst)), held_(full_) {}

  // When a frame of `bytes` can leave: at `time` or later, and after those before it. One that is
  // longer than the bucket leaves when that is full.
  uint64_t departure(uint64_t time, uint64_t bytes) const {
    time = std::max(time, at_);
    const Tokens lacking = std::min(tokens(bytes), full_) - held(time);
    return lacking <= 0 ? time : time + static_cast<uint64_t>((lacking + rate_ - 1) / rate_);
  }
  // The frame leaves at `time`, which departure() returned.
  void send(uint64_t time, uint64_t bytes) {
    held_ = held(time) - tokens(bytes);
    at_ = time;
  }

private:
  using Tokens = __int128;

  static Tokens tokens(uint64_t bytes) { return static_cast<Tokens>(bytes) * 8 * 1'000'000'000; }
  Tokens held(uint64_t time) const {
    return std::min(full_, held_ + static_cast<Tokens>(time - at_) * rate_);
  }

  Tokens rate_, full_, held_; // held_ is negative after a frame that was longer than the bucket
  uint64_t at_ = 0;
};

} // namespace xr::wire
