// SPDX-License-Identifier: Apache-2.0
// A separate file, because terminfo's header defines `lines` and `columns` as macros.
#include "terminal/terminal.h"

#include <cstdlib>

#include <curses.h>
#include <term.h>
#include <unistd.h>

#include <fmt/format.h>

namespace xr::terminal {

Status Terminal::check() {
  if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
    return Error{"standard input and output are not a terminal",
                 "--once prints one screen as text"};
  const char *type = getenv("TERM");
  int error = 0;
  const char *place = setupterm(type, STDOUT_FILENO, &error) == OK ? tigetstr("cup") : nullptr;
  if (!place || place == reinterpret_cast<char *>(-1)) // -1: terminfo has no such string
    return Error{fmt::format("a terminal of type '{}' cannot place its cursor", type ? type : ""),
                 "set TERM to its type; --once prints one screen as text"};
  return {};
}

} // namespace xr::terminal
