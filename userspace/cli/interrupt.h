// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM ask a running command to end; it does so at its own pace. A second one kills.
#pragma once

#include <atomic>
#include <chrono>

namespace xr::cli {

class Interrupt {
public:
  using Clock = std::chrono::steady_clock;

  // From now on they are caught. One at a time.
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt &) = delete;
  Interrupt &operator=(const Interrupt &) = delete;

  bool asked() const { return flag().load(); }
  const std::atomic<bool> &flag() const;
  // Sleeps; false when it was asked to end meanwhile.
  bool sleep_until(Clock::time_point when) const;
};

} // namespace xr::cli
