// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>
#include <string>

namespace xr {

// Nanoseconds of a clock of clock_gettime(2).
inline uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

inline uint64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC);
} // as the kernel's rules have it
inline uint64_t realtime_ns() { return clock_ns(CLOCK_REALTIME); }

// "2024-05-01 12:00:00" in local time, of nanoseconds since 1970.
std::string local_date_time(uint64_t realtime_ns);

} // namespace xr
