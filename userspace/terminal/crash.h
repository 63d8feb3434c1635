// SPDX-License-Identifier: Apache-2.0
// A process that dies of a fault (SIGSEGV, SIGABRT and the like) leaves its terminal as it was:
// while this lives such a signal first gives it back, and then does what it would have done.
#pragma once

namespace xr::terminal {

class CrashGuard {
public:
  // Before ncurses changes the terminal, which check() has found usable. One at a time.
  CrashGuard();
  ~CrashGuard();
  CrashGuard(const CrashGuard &) = delete;
  CrashGuard &operator=(const CrashGuard &) = delete;
};

} // namespace xr::terminal
