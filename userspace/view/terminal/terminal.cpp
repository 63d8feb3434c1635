// SPDX-License-Identifier: Apache-2.0
#include "terminal/terminal.h"

#include <cerrno>
#include <climits>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <utility>

#define NCURSES_NOMACROS // otherwise `move` and `erase` would be macros
#include <curses.h>
#include <langinfo.h>
#include <poll.h>
#include <unistd.h>

namespace xr::terminal {

namespace {

using watch::Key;
using watch::Style;

constexpr int kEscapeDelayMs = 25; // an Escape without a sequence after this time is the Escape key

enum Pair : short { kAlarm = 1, kHeading, kBar, kSelected };

attr_t attributes(Style style, bool colour) {
  const auto pair = [colour](Pair number, attr_t without) {
    return colour ? static_cast<attr_t>(COLOR_PAIR(number)) : without;
  };
  switch (style) {
  case Style::Bold:
    return A_BOLD;
  case Style::Dim:
    return A_DIM;
  case Style::Alarm:
    return A_BOLD | pair(kAlarm, 0);
  case Style::Heading:
    return pair(kHeading, A_REVERSE);
  case Style::Bar:
    return pair(kBar, A_REVERSE);
  case Style::Selected:
    return pair(kSelected, A_REVERSE | A_BOLD);
  default:
    return A_NORMAL;
  }
}

void set_up_colours() {
  start_color();
  use_default_colors();
  init_pair(kAlarm, COLOR_RED, -1);
  init_pair(kHeading, COLOR_BLACK, COLOR_GREEN);
  init_pair(kBar, COLOR_BLACK, COLOR_CYAN);
  init_pair(kSelected, COLOR_BLACK, COLOR_YELLOW);
}

std::optional<Key> function_key(wint_t code) {
  switch (code) {
  case KEY_UP:
    return Key::Up;
  case KEY_DOWN:
    return Key::Down;
  case KEY_LEFT:
    return Key::Left;
  case KEY_RIGHT:
    return Key::Right;
  case KEY_PPAGE:
    return Key::PageUp;
  case KEY_NPAGE:
    return Key::PageDown;
  case KEY_HOME:
    return Key::Home;
  case KEY_END:
    return Key::End;
  case KEY_ENTER:
    return Key::Enter;
  case KEY_BACKSPACE:
    return Key::Backspace;
  case KEY_BTAB:
    return Key::BackTab;
  case KEY_F(1):
    return Key::F1;
  case KEY_F(3):
    return Key::F3;
  case KEY_F(4):
    return Key::F4;
  case KEY_F(6):
    return Key::F6;
  case KEY_F(10):
    return Key::F10;
  default:
    return std::nullopt;
  }
}

std::optional<watch::KeyPress> press_of(wint_t character) {
  switch (character) {
  case '\r':
  case '\n':
    return watch::KeyPress{Key::Enter};
  case '\t':
    return watch::KeyPress{Key::Tab};
  case 27:
    return watch::KeyPress{Key::Escape};
  case 8:
  case 127:
    return watch::KeyPress{Key::Backspace};
  default:
    break;
  }
  char text[MB_LEN_MAX];
  mbstate_t state{};
  const size_t length = wcrtomb(text, static_cast<wchar_t>(character), &state);
  if (character < 0x20 || length == static_cast<size_t>(-1))
    return std::nullopt;
  return watch::KeyPress{Key::Text, {text, length}};
}

} // namespace

void Terminal::Restore::operator()(void *screen) const {
  endwin();
  delscreen(static_cast<SCREEN *>(screen));
}

Result<Terminal> Terminal::open(bool colour) {
  XR_TRY(check());
  auto guard = std::make_unique<CrashGuard>();
  SCREEN *screen = newterm(nullptr, stdout, stdin);
  if (!screen)
    return Error{"ncurses cannot set up the terminal", "--once prints one screen as text"};
  Terminal terminal(std::move(guard), screen);
  terminal.colour_ = colour && has_colors();
  if (terminal.colour_)
    set_up_colours();
  cbreak();
  noecho();
  nonl();
  curs_set(0);
  keypad(stdscr, TRUE);
  nodelay(stdscr, TRUE);
  set_escdelay(kEscapeDelayMs);
  return terminal;
}

watch::Size Terminal::size() const {
  return {static_cast<size_t>(COLS), static_cast<size_t>(LINES)};
}

void Terminal::draw(const watch::Screen &screen) {
  erase();
  int row = 0;
  for (const watch::Line &line : screen.lines) {
    move(row++, 0);
    for (const watch::Span &span : line.spans()) {
      attrset(static_cast<int>(attributes(span.style, colour_)));
      addnstr(span.text.data(), static_cast<int>(span.text.size()));
    }
  }
  attrset(A_NORMAL);
  refresh();
}

std::optional<watch::KeyPress> Terminal::key() {
  for (wint_t code = 0;;) {
    errno = 0;
    const int got = get_wch(&code);
    if (got == ERR) {
      pollfd in{STDIN_FILENO, 0, 0};
      gone_ = errno == EIO || (poll(&in, 1, 0) == 1 && in.revents & (POLLHUP | POLLERR | POLLNVAL));
      return std::nullopt;
    }
    if (got == KEY_CODE_YES) {
      if (const auto key = function_key(code))
        return watch::KeyPress{*key};
    } else if (auto press = press_of(code)) {
      return press;
    }
  }
}

bool utf8_locale() {
  setlocale(LC_CTYPE, "");
  return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

} // namespace xr::terminal
