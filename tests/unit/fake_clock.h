// SPDX-License-Identifier: Apache-2.0
// The clock of a loop in virtual time. Each look at it takes a moment, so that a loop that only
// looks continues.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <functional>
#include <span>

#include <poll.h>

namespace xr::test {

struct FakeTime {
  uint64_t now = 1'000'000'000;
  uint64_t look = 100; // ns that a look at the clock takes
  std::function<uint64_t()> next_event = [] { return UINT64_MAX; }; // which ends a poll()
};

class FakeClock {
public:
  explicit FakeClock(FakeTime &time) : time_(&time) {}

  // How far a clock is ahead of CLOCK_MONOTONIC.
  static uint64_t ahead(clockid_t clock) { return static_cast<uint64_t>(clock) << 50; }

  uint64_t now() { return time_->now += time_->look; }
  uint64_t read(clockid_t clock) { return now() + ahead(clock); }
  void sleep(uint64_t ns) { time_->now += ns; }
  void poll(std::span<pollfd>, uint64_t ns) {
    time_->now = std::max(time_->now, std::min(time_->now + ns, time_->next_event()));
  }

private:
  FakeTime *time_;
};

} // namespace xr::test
