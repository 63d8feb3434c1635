// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <ctime>

namespace xr {

// Real time and processor time of the process since the constructor, in seconds.
class Stopwatch {
public:
  double wall_s() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  double cpu_s() const { return cpu_now() - cpu_; }

private:
  static double cpu_now() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
  }
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double cpu_ = cpu_now();
};

} // namespace xr
