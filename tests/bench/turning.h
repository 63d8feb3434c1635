// SPDX-License-Identifier: Apache-2.0
// A thread that forwards without a pause, on a processor of its own as far as the machine has one.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "wires.h"

namespace xr::bench {

class Turning {
public:
  explicit Turning(std::function<void()> turn, long cpu = 1)
      : thread_([this, turn = std::move(turn), cpu] {
          pin_to(cpu);
          while (!stop_)
            turn();
        }) {}
  ~Turning() {
    stop_ = true;
    thread_.join();
  }
  Turning(const Turning &) = delete;
  Turning &operator=(const Turning &) = delete;

private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

} // namespace xr::bench
