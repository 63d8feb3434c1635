// SPDX-License-Identifier: Apache-2.0
// A thread that forwards without a pause, on a processor of its own as far as the machine has one,
// and when it was kept from running.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "wires.h"

namespace xr::bench {

struct Stall {
  uint64_t from, to; // ns
};

class Turning {
public:
  explicit Turning(std::function<void()> turn, long cpu = 1)
      : thread_([this, turn = std::move(turn), cpu] { run(turn, cpu); }) {}
  ~Turning() { end(); }
  Turning(const Turning &) = delete;
  Turning &operator=(const Turning &) = delete;

  // Ends the thread. The times in which another one had the processor.
  const std::vector<Stall> &end() {
    stop_ = true;
    if (thread_.joinable())
      thread_.join();
    return stalls_;
  }

private:
  static constexpr uint64_t kStall = 5'000; // ns

  // Its own slowness is no stall: then the thread's processor time goes on too.
  void run(const std::function<void()> &turn, long cpu) {
    pin_to(cpu);
    uint64_t wall = monotonic_ns(), own = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    while (!stop_) {
      turn();
      const uint64_t now = monotonic_ns(), used = clock_ns(CLOCK_THREAD_CPUTIME_ID);
      if (now - wall > used - own + kStall)
        stalls_.push_back({wall, now});
      wall = now;
      own = used;
    }
  }

  std::atomic<bool> stop_ = false;
  std::vector<Stall> stalls_;
  std::thread thread_;
};

} // namespace xr::bench
