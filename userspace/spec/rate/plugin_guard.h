// SPDX-License-Identifier: Apache-2.0
// Says which plug-in was running when the process crashed, or when a call of one does not return.
#pragma once

#include <atomic>
#include <cstdint>

namespace xr::congestion {

// A call that lasts longer is a hang. s
inline constexpr unsigned kHang = 10;

class PluginGuard {
public:
  // Handlers and a thread that watches, once. A process without plug-ins has neither.
  static void install();

  // While one is alive, this thread runs the plug-in whose file that is.
  explicit PluginGuard(const char *path) : running_(here()) {
    running_.path.store(path, std::memory_order_relaxed);
    running_.calls.store(running_.calls.load(std::memory_order_relaxed) + 1,
                         std::memory_order_relaxed);
  }
  ~PluginGuard() { running_.path.store(nullptr, std::memory_order_relaxed); }
  PluginGuard(const PluginGuard &) = delete;
  PluginGuard &operator=(const PluginGuard &) = delete;

  struct Running {
    Running();
    ~Running();
    std::atomic<const char *> path = nullptr;
    std::atomic<uint64_t> calls = 0;
  };

private:
  static Running &here() {
    thread_local Running running;
    return running;
  }

  Running &running_;
  friend void say_crash(int);
};

} // namespace xr::congestion
