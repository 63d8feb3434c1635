// SPDX-License-Identifier: Apache-2.0
// The clock of the loops, which tests replace by one in virtual time.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <span>
#include <thread>

#include <poll.h>

#include "base/clock.h"

namespace xr::endpoint {

struct SystemClock {
  uint64_t now() const { return monotonic_ns(); }
  uint64_t read(clockid_t clock) const { return clock_ns(clock); }
  void sleep(uint64_t ns) const { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); }
  // Until something can be read, a signal, or `ns` have passed.
  void poll(std::span<pollfd> polled, uint64_t ns) const {
    const timespec time{static_cast<time_t>(ns / 1'000'000'000),
                        static_cast<long>(ns % 1'000'000'000)};
    (void)ppoll(polled.data(), polled.size(), &time, nullptr);
  }
};

} // namespace xr::endpoint
