// SPDX-License-Identifier: Apache-2.0
#include "terminal/crash.h"

#include <array>
#include <csignal>
#include <string>

#include <curses.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

namespace xr::terminal {

namespace {

constexpr std::array kFaults = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

// Data for the signal handler, prepared in advance.
std::string restoring; // the escape sequences that endwin() would write
termios mode;
std::array<struct sigaction, kFaults.size()> before;

int append(int character) {
  restoring.push_back(static_cast<char>(character));
  return character;
}

// Default attributes, cursor and keypad mode; the previous screen.
void prepare_to_restore() {
  restoring.clear();
  for (const char *name : {"sgr0", "op", "rmkx", "cnorm", "rmcup"})
    if (const char *text = tigetstr(name); text && text != reinterpret_cast<char *>(-1))
      tputs(text, 1, append);
}

void put_back_handlers() {
  for (size_t i = 0; i < kFaults.size(); i++)
    sigaction(kFaults[i], &before[i], nullptr);
}

// False while the process is in the background: ncurses has restored the terminal then.
bool is_ours() {
  const pid_t holder = tcgetpgrp(STDOUT_FILENO);
  return holder < 0 || holder == getpgrp();
}

void restore() {
  const char *text = restoring.data();
  for (size_t left = restoring.size(); left;) {
    const ssize_t put = write(STDOUT_FILENO, text, left);
    if (put <= 0)
      break;
    text += put;
    left -= static_cast<size_t>(put);
  }
  tcsetattr(STDOUT_FILENO, TCSANOW, &mode);
}

// Uses only async-signal-safe functions. All signals are blocked here, so the raised signal is
// delivered after this returns, unless the faulting instruction runs first.
void on_fault(int number) {
  if (is_ours())
    restore();
  put_back_handlers();
  raise(number);
}

} // namespace

CrashGuard::CrashGuard() {
  prepare_to_restore();
  tcgetattr(STDOUT_FILENO, &mode);
  struct sigaction action {};
  action.sa_handler = on_fault;
  sigfillset(&action.sa_mask);
  for (size_t i = 0; i < kFaults.size(); i++) {
    sigaction(kFaults[i], &action, &before[i]);
    if (before[i].sa_handler == SIG_IGN)
      sigaction(kFaults[i], &before[i], nullptr);
  }
}

CrashGuard::~CrashGuard() { put_back_handlers(); }

} // namespace xr::terminal
