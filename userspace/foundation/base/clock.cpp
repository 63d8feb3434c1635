// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <sys/timex.h>

namespace xr {

int kernel_tai_offset() {
  timex clock{};
  return adjtimex(&clock) < 0 ? 0 : clock.tai;
}

std::string local_date_time(uint64_t realtime_ns) {
  time_t seconds = static_cast<time_t>(realtime_ns / 1'000'000'000);
  struct tm parts {};
  char text[32];
  localtime_r(&seconds, &parts);
  return {text, strftime(text, sizeof(text), "%F %T", &parts)};
}

} // namespace xr
