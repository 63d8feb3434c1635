// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <cerrno>
#include <csignal>
#include <ctime>

namespace xr::cli {

namespace {

std::atomic<bool> asked_to_end = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

void on_signal(int) { asked_to_end = true; }

sigset_t signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

void handle(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  // No SA_RESTART: a wait ends. SA_RESETHAND: who asks twice is not kept waiting.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

timespec timespec_of(std::chrono::nanoseconds left) {
  return {static_cast<time_t>(left.count() / 1'000'000'000),
          static_cast<long>(left.count() % 1'000'000'000)};
}

} // namespace

Interrupt::Interrupt() {
  asked_to_end = false;
  handle(on_signal);
}

Interrupt::~Interrupt() { handle(SIG_DFL); }

const std::atomic<bool> &Interrupt::flag() const { return asked_to_end; }

bool Interrupt::sleep_until(Clock::time_point when) const {
  // Blocked from the look at the flag to the wait, which lets them in: none comes between unseen.
  const sigset_t both = signals();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &both, &before);
  while (!asked_to_end) {
    const auto left = when - Clock::now();
    if (left <= Clock::duration::zero())
      break;
    const timespec wait = timespec_of(left);
    sigset_t during = before;
    sigdelset(&during, SIGINT);
    sigdelset(&during, SIGTERM);
    if (pselect(0, nullptr, nullptr, nullptr, &wait, &during) == 0)
      break;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return !asked_to_end;
}

} // namespace xr::cli
