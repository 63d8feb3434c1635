// SPDX-License-Identifier: Apache-2.0
// SIGINT, SIGTERM and SIGHUP (unless ignored: nohup) ask a running command to end; it does so at
// its own pace. A second one kills, but for a command that has a terminal to restore.
#pragma once

#include <atomic>
#include <chrono>

namespace xr::cli {

class Interrupt {
public:
  using Clock = std::chrono::steady_clock;

  enum class For {
    Command,
    // All that would end it without a fault of its own, unless ignored (nohup); a second one
    // changes nothing. Faults are terminal::Terminal's.
    Screen,
  };

  // From now on they are caught. One at a time.
  explicit Interrupt(For whom = For::Command);
  ~Interrupt();
  Interrupt(const Interrupt &) = delete;
  Interrupt &operator=(const Interrupt &) = delete;

  bool asked() const { return flag().load(); }
  const std::atomic<bool> &flag() const;
  // Sleeps; false when it was asked to end meanwhile.
  bool sleep_until(Clock::time_point when) const;
  // The same, and awake too when there is something to read, or after any signal.
  bool sleep_until(Clock::time_point when, int fd) const;

private:
  For whom_;
};

} // namespace xr::cli
