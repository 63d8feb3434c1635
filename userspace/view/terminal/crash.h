// SPDX-License-Identifier: Apache-2.0
// Restores the terminal when the process dies of a fault (SIGSEGV, SIGABRT, ...): its handlers
// restore the terminal, then raise the signal again with the previous handler.
#pragma once

namespace xr::terminal {

class CrashGuard {
public:
  // Construct after check() and before ncurses changes the terminal. Only one may exist.
  CrashGuard();
  ~CrashGuard();
  CrashGuard(const CrashGuard &) = delete;
  CrashGuard &operator=(const CrashGuard &) = delete;
};

} // namespace xr::terminal
