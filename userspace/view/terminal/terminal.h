// SPDX-License-Identifier: Apache-2.0
// The terminal of the process as a full screen: draws screens, reads keys. The destructor restores
// the terminal, and so does a fault of the process. SIGTSTP restores it until SIGCONT; after
// SIGKILL, run reset(1).
#pragma once

#include <memory>
#include <optional>

#include "base/result.h"
#include "terminal/crash.h"
#include "watch/model.h"
#include "watch/screen.h"

namespace xr::terminal {

class Terminal {
public:
  // Error unless standard input and output are a terminal with cursor addressing.
  static Status check();
  // Only one may exist.
  static Result<Terminal> open(bool colour);

  watch::Size size() const;
  void draw(const watch::Screen &screen);
  // The next key press; empty if there is none. After a resize, size() returns the new size.
  std::optional<watch::KeyPress> key();
  bool gone() const { return gone_; } // the terminal was closed

private:
  struct Restore {
    void operator()(void *screen) const;
  };
  Terminal(std::unique_ptr<CrashGuard> guard, void *screen)
      : guard_(std::move(guard)), screen_(screen) {}

  std::unique_ptr<CrashGuard> guard_; // destroyed last
  std::unique_ptr<void, Restore> screen_;
  bool colour_ = false;
  bool gone_ = false;
};

// True if the locale's encoding is UTF-8. Sets LC_CTYPE of the process from the environment.
bool utf8_locale();

} // namespace xr::terminal
