// SPDX-License-Identifier: Apache-2.0
#include "base/crew.h"

#include "base/processors.h"

namespace xr {

namespace {

// Some 20 us: what a window of a simulation takes. Longer waits give the processor away.
constexpr unsigned kSpins = 2000;

// Until `value` is no longer `old`.
uint32_t changed(std::atomic<uint32_t> &value, uint32_t old, unsigned spins) {
  for (unsigned i = 0; i < spins; i++) {
    if (const uint32_t now = value.load(std::memory_order_acquire); now != old)
      return now;
    __builtin_ia32_pause();
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

} // namespace

void Crew::enlist(unsigned threads) {
  lanes_ = std::make_unique<Lane[]>(threads);
  spins_ = threads <= processor_count() ? kSpins : 0;
  for (unsigned me = 1; me < threads; me++)
    others_.emplace_back([this, me] { serve(me); });
}

void Crew::dismiss() {
  run_ = nullptr;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread &other : others_)
    other.join();
}

void Crew::serve(unsigned me) {
  for (uint32_t round = 0;;) {
    round = changed(round_, round, spins_);
    if (!run_)
      return;
    work(me);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      busy_.notify_one();
  }
}

// First the own items, then what is left of the others'.
void Crew::work(unsigned me) {
  const unsigned all = threads();
  for (unsigned i = 0; i < all; i++) {
    const unsigned lane = (me + i) % all;
    for (;;) {
      const uint32_t item = lanes_[lane].next.fetch_add(1, std::memory_order_relaxed) * all + lane;
      if (item >= count_)
        break;
      (*run_)(item);
    }
  }
}

void Crew::each(uint32_t count, const std::function<void(uint32_t)> &run) {
  if (others_.empty()) {
    for (uint32_t i = 0; i < count; i++)
      run(i);
    return;
  }
  count_ = count;
  run_ = &run;
  for (unsigned i = 0; i < threads(); i++)
    lanes_[i].next.store(0, std::memory_order_relaxed);
  busy_.store(threads() - 1, std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  work(0);
  for (uint32_t left; (left = busy_.load(std::memory_order_acquire));)
    changed(busy_, left, spins_);
}

} // namespace xr
