// SPDX-License-Identifier: Apache-2.0
// The terminal that the process stands on, while this lives a screen: frames drawn, keys read. When
// it is gone the terminal is as it was, and also when the process dies of a fault. SIGTSTP gives it
// back until SIGCONT; who sends SIGKILL has to reset(1) it.
#pragma once

#include <memory>
#include <optional>

#include "base/result.h"
#include "terminal/crash.h"
#include "watch/frame.h"
#include "watch/model.h"

namespace xr::terminal {

class Terminal {
public:
  // Standard input and output must be a terminal that can place its cursor.
  static Status check();
  // One at a time.
  static Result<Terminal> open(bool colour);

  watch::Size size() const;
  void draw(const watch::Frame &frame);
  // One that was pressed; none now. After a resize size() is the new one.
  std::optional<watch::Press> key();
  bool gone() const { return gone_; } // nobody is there any more

private:
  struct Restore {
    void operator()(void *screen) const;
  };
  Terminal(std::unique_ptr<CrashGuard> guard, void *screen)
      : guard_(std::move(guard)), screen_(screen) {}

  std::unique_ptr<CrashGuard> guard_; // goes last
  std::unique_ptr<void, Restore> screen_;
  bool colour_ = false;
  bool gone_ = false;
};

// Is the locale's encoding UTF-8? Sets the process's LC_CTYPE from the environment.
bool utf8_locale();

} // namespace xr::terminal
