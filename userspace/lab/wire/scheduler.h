// SPDX-License-Identifier: Apache-2.0
// Which queue of a link may send: strict ones first (the higher number first), then deficit round
// robin by weight (Shreedhar and Varghese 1995).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "model/link.h"

namespace xr::wire {

// To share a link in another way: pick and sent, LinkClass in model/link.h, its word in
// link_words.cpp; wire_queue_test, wire_words_test, wire_random_test.
class Scheduler {
public:
  static constexpr unsigned kRest = kLinkClasses; // the queue of the classes that no word names
  static constexpr unsigned kQueues = kLinkClasses + 1;

  // `frame`: bytes of a full frame. The least declared weight can send one in each round.
  void configure(const std::array<LinkClass, kLinkClasses> &classes, uint32_t frame) {
    strict_ = 0;
    uint32_t least = UINT32_MAX;
    for (unsigned i = 0; i < kLinkClasses; i++) {
      strict_ |= classes[i].declared && classes[i].strict ? 1U << i : 0;
      if (classes[i].declared && !classes[i].strict)
        least = std::min(least, classes[i].weight);
    }
    least = least == UINT32_MAX ? 1 : least;
    quantum_[kRest] = std::max<uint64_t>(1, frame / least);
    for (unsigned i = 0; i < kLinkClasses; i++)
      quantum_[i] = std::max<uint64_t>(1, uint64_t{frame} * classes[i].weight / least);
  }

  // The queue to send from. `ready`: those that have a frame and may send, not 0;
  // `length(queue)`: bytes of its first frame.
  template <typename Length> unsigned pick(uint32_t ready, Length length) {
    if (const uint32_t strict = ready & strict_)
      return static_cast<unsigned>(std::bit_width(strict)) - 1;
    for (;;) {
      if (ready >> turn_ & 1) {
        const uint64_t bytes = length(turn_);
        if (!granted_)
          deficit_[turn_] += quantum_[turn_];
        granted_ = true;
        if (deficit_[turn_] < bytes && std::has_single_bit(ready)) // all its rounds at once
          deficit_[turn_] = bytes;
        if (bytes <= deficit_[turn_])
          return turn_;
      }
      advance();
    }
  }

  // A frame of `bytes` leaves `queue`, which was picked. `empty`: it was the last one.
  void sent(unsigned queue, uint64_t bytes, bool empty) {
    if (strict_ >> queue & 1)
      return;
    deficit_[queue] -= std::min(deficit_[queue], bytes);
    if (empty)
      emptied(queue);
  }
  // `queue` has no frame any more: what it did not use is not saved.
  void emptied(unsigned queue) {
    deficit_[queue] = 0;
    if (turn_ == queue)
      advance();
  }

private:
  void advance() {
    turn_ = turn_ + 1 == kQueues ? 0 : turn_ + 1;
    granted_ = false;
  }

  std::array<uint64_t, kQueues> quantum_{}, deficit_{};
  uint32_t strict_ = 0;
  unsigned turn_ = 0;
  bool granted_ = false; // `turn_` has received its quantum in this round
};

} // namespace xr::wire
