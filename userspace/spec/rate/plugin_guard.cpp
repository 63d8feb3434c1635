// SPDX-License-Identifier: Apache-2.0
#include "rate/plugin_guard.h"

#include <array>
#include <csignal>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include <unistd.h>

namespace xr::congestion {

namespace {

constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr int kFailed = 1;

std::mutex mutex;
// The running calls of all threads. Never destroyed: threads may end after main().
std::set<PluginGuard::Running *> &all() {
  static auto *const running = new std::set<PluginGuard::Running *>;
  return *running;
}

// From a signal handler: no memory, no locks.
void say(const char *path, const char *what) {
  for (const char *part : {"xdp-roce: plug-in ", path, what})
    if (write(STDERR_FILENO, part, strlen(part)) < 0)
      return;
}

void watch() {
  struct Seen {
    uint64_t calls = 0;
    unsigned seconds = 0;
  };
  std::map<PluginGuard::Running *, Seen> seen;
  for (;;) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    const std::lock_guard lock(mutex);
    for (PluginGuard::Running *one : all()) {
      Seen &before = seen[one];
      const char *const path = one->path.load(std::memory_order_relaxed);
      const uint64_t calls = one->calls.load(std::memory_order_relaxed);
      before.seconds = path && calls == before.calls ? before.seconds + 1 : 0;
      before.calls = calls;
      if (before.seconds < kHang)
        continue;
      say(path, " hangs: one call of it lasted 10 s\nhint: `gdb -p` shows where, before that\n");
      _exit(kFailed);
    }
  }
}

} // namespace

PluginGuard::Running::Running() {
  const std::lock_guard lock(mutex);
  all().insert(this);
}

PluginGuard::Running::~Running() {
  const std::lock_guard lock(mutex);
  all().erase(this);
}

void say_crash(int number) {
  if (const char *path = PluginGuard::here().path.load(std::memory_order_relaxed)) {
    const char *const name = sigabbrev_np(number);
    say(path, " crashed: SIG");
    if (write(STDERR_FILENO, name, strlen(name)) > 0 && write(STDERR_FILENO, "\n", 1) < 0)
      _exit(kFailed);
  }
  signal(number, SIG_DFL);
  raise(number);
}

void PluginGuard::install() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (const int number : kCrashes)
      signal(number, say_crash);
    std::thread(watch).detach();
  });
}

} // namespace xr::congestion
