// SPDX-License-Identifier: Apache-2.0
// A file of its own: terminfo's header defines `lines` and `columns` away.
#include "terminal/terminal.h"

#include <cstdlib>

#include <curses.h>
#include <term.h>
#include <unistd.h>

namespace xr::terminal {

Status Terminal::check() {
  if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
    return Error{"standard input and output are no terminal", "--once prints one frame as text"};
  const char *type = getenv("TERM");
  int error = 0;
  const char *place = setupterm(type, STDOUT_FILENO, &error) == OK ? tigetstr("cup") : nullptr;
  if (!place || place == reinterpret_cast<char *>(-1)) // terminfo's "no such string"
    return Error{fmt::format("a terminal of type '{}' is no screen", type ? type : ""),
                 "set TERM to what it is; --once prints one frame as text"};
  return {};
}

} // namespace xr::terminal
