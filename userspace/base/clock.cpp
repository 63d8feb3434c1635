// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

namespace xr {

std::string local_date_time(uint64_t realtime_ns) {
  time_t seconds = static_cast<time_t>(realtime_ns / 1'000'000'000);
  struct tm parts {};
  char text[32];
  localtime_r(&seconds, &parts);
  return {text, strftime(text, sizeof(text), "%F %T", &parts)};
}

} // namespace xr
