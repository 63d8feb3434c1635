// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>
#include <string>

namespace xr {

// Reads a clock of clock_gettime(2), in nanoseconds.
inline uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

inline uint64_t monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }
inline uint64_t realtime_ns() { return clock_ns(CLOCK_REALTIME); }

// CLOCK_TAI minus CLOCK_REALTIME in seconds, as the kernel has it: 37 where NTP or PTP set it, else
// 0.
int kernel_tai_offset();

// Formats nanoseconds since 1970 in local time: "2024-05-01 12:00:00".
std::string local_date_time(uint64_t realtime_ns);

} // namespace xr
