// SPDX-License-Identifier: Apache-2.0
// Threads that do the same to each of many items, again and again.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace xr {

class Crew {
public:
  Crew() = default; // of the caller alone
  ~Crew() { dismiss(); }
  Crew(const Crew &) = delete;
  Crew &operator=(const Crew &) = delete;

  // The caller is one of `threads`. Before the first each().
  void enlist(unsigned threads);
  unsigned threads() const { return static_cast<unsigned>(others_.size()) + 1; }

  // Calls `run` once for each number below `count`, in any order and at the same time, and returns
  // when all calls have. An item is done by the same thread each time unless another one has
  // nothing left to do.
  void each(uint32_t count, const std::function<void(uint32_t)> &run);

private:
  struct alignas(64) Lane {
    std::atomic<uint32_t> next{0};
  };

  void dismiss();
  void serve(unsigned me);
  void work(unsigned me);

  std::vector<std::thread> others_;
  std::unique_ptr<Lane[]> lanes_;
  uint32_t count_ = 0;
  const std::function<void(uint32_t)> *run_ = nullptr; // nullptr: the threads end
  unsigned spins_ = 0;
  alignas(64) std::atomic<uint32_t> round_{0};
  alignas(64) std::atomic<uint32_t> busy_{0};
};

} // namespace xr
