// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <cmath>

namespace xr {

int kernel_tai_offset() {
  // Not adjtimex(2), which systemd's ProtectClock= and SystemCallFilter=@system-service forbid.
  const auto difference = static_cast<int64_t>(clock_ns(CLOCK_TAI) - clock_ns(CLOCK_REALTIME));
  return static_cast<int>(std::lround(static_cast<double>(difference) / 1e9));
}

std::string local_date_time(uint64_t realtime_ns) {
  time_t seconds = static_cast<time_t>(realtime_ns / 1'000'000'000);
  struct tm parts {};
  char text[32];
  localtime_r(&seconds, &parts);
  return {text, strftime(text, sizeof(text), "%F %T", &parts)};
}

} // namespace xr
