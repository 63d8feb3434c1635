// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <vector>

#include <poll.h>

namespace xr::cli {

namespace {

std::atomic<bool> asked_to_end = false, has_hung_up = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

void on_signal(int) { asked_to_end = true; }
void on_hangup(int) { has_hung_up = true; }

// All signals that end a process and are not caused by a fault of it, except SIGPIPE, which main()
// ignores.
std::vector<int> screen_signals() {
  std::vector<int> all = {SIGINT,    SIGTERM, SIGHUP, SIGQUIT,   SIGUSR1, SIGUSR2, SIGALRM,
                          SIGVTALRM, SIGPROF, SIGIO,  SIGSTKFLT, SIGPWR,  SIGXCPU, SIGXFSZ};
  for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
    all.push_back(number);
  return all;
}

const std::vector<int> &signals(Interrupt::For kind) {
  static const std::vector<int> kCommand = {SIGINT, SIGTERM, SIGHUP};
  static const std::vector<int> kScreen = screen_signals();
  return kind == Interrupt::For::Screen ? kScreen : kCommand;
}

void handle(Interrupt::For kind, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  // No SA_RESTART: a signal ends a wait. SA_RESETHAND: a second signal kills the process.
  action.sa_flags = kind == Interrupt::For::Screen ? 0 : static_cast<int>(SA_RESETHAND);
  struct sigaction hangup {};
  hangup.sa_handler = handler == on_signal ? on_hangup : handler;
  for (const int number : signals(kind)) {
    struct sigaction before {};
    const bool ignored = number != SIGINT && number != SIGTERM &&
                         sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN;
    if (!ignored)
      sigaction(number, number == SIGHUP && kind == Interrupt::For::Server ? &hangup : &action,
                nullptr);
  }
}

timespec timespec_of(std::chrono::nanoseconds left) {
  return {static_cast<time_t>(left.count() / 1'000'000'000),
          static_cast<long>(left.count() % 1'000'000'000)};
}

} // namespace

Interrupt::Interrupt(For kind) : kind_(kind) {
  asked_to_end = false;
  has_hung_up = false;
  handle(kind_, on_signal);
}

Interrupt::~Interrupt() { handle(kind_, SIG_DFL); }

const std::atomic<bool> &Interrupt::flag() const { return asked_to_end; }

bool Interrupt::hung_up() const { return has_hung_up.exchange(false); }

bool Interrupt::sleep_until(Clock::time_point when) const {
  while (sleep_until(when, -1))
    if (Clock::now() >= when)
      return true;
  return false;
}

bool Interrupt::sleep_until(Clock::time_point when, int fd) const {
  // Signals are blocked from the test of the flag to ppoll(), which unblocks them: a signal in
  // between is not missed.
  sigset_t ours, before;
  sigemptyset(&ours);
  for (const int number : signals(kind_))
    sigaddset(&ours, number);
  pthread_sigmask(SIG_BLOCK, &ours, &before);
  const auto left = when - Clock::now();
  if (!asked_to_end && left > Clock::duration::zero()) {
    const timespec wait = timespec_of(left);
    sigset_t during = before;
    for (const int number : signals(kind_))
      sigdelset(&during, number);
    pollfd in{fd, POLLIN, 0};
    ppoll(&in, 1, &wait, &during); // of a negative fd there is nothing to read
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return !asked_to_end;
}

} // namespace xr::cli
