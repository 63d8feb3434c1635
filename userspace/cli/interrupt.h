// SPDX-License-Identifier: Apache-2.0
// Requests by signal to end a command. SIGINT, SIGTERM and SIGHUP (unless ignored: nohup) set a
// flag, and the command ends in order. A second signal kills it, except `watch`, which must restore
// the terminal.
#pragma once

#include <atomic>
#include <chrono>

namespace xr::cli {

class Interrupt {
public:
  using Clock = std::chrono::steady_clock;

  enum class For {
    Command,
    // All signals that end a process without a fault of it, unless ignored (nohup); a second one
    // has no effect. terminal::Terminal handles faults.
    Screen,
    Server, // SIGHUP sets a flag of its own, and does not end the command
  };

  // Catches the signals during the lifetime of this object. One object at a time.
  explicit Interrupt(For kind = For::Command);
  ~Interrupt();
  Interrupt(const Interrupt &) = delete;
  Interrupt &operator=(const Interrupt &) = delete;

  bool asked() const { return flag().load(); }
  const std::atomic<bool> &flag() const;
  bool hung_up() const; // whether SIGHUP came since the last call (For::Server)
  // Sleeps until `when`; false if a signal requested the end.
  bool sleep_until(Clock::time_point when) const;
  // Sleeps until `when`, until `fd` is readable or until any signal.
  bool sleep_until(Clock::time_point when, int fd) const;

private:
  For kind_;
};

} // namespace xr::cli
