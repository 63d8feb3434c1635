// SPDX-License-Identifier: Apache-2.0
// The memory of held frames: a table that grows to the largest number held at once, and lists in
// it. One cache line a frame.
#pragma once

#include <cstdint>
#include <vector>

#include "wire/frame.h"

namespace xr::wire {

inline constexpr uint32_t kNone = UINT32_MAX;

struct Held {
  Frame frame;           // `due`: when it leaves its rule; until that is known, its timeout
  uint64_t asked = 0;    // when its rule alone would let it go; reorder: the count at which it may
  uint32_t next = kNone; // in a list
  uint32_t path = kNone; // the rules it has still to pass
  uint32_t sequence = 0; // of its entry
  uint32_t rule = kNone; // that holds it, or did last
};
static_assert(sizeof(Held) == 64);

// Events at the same time are in the order in which their frames entered.
struct Due {
  uint64_t time = kNever;
  uint32_t sequence = 0;

  // Sequence numbers wrap; fewer than 2^31 frames are held.
  bool operator<(const Due &other) const {
    return time != other.time ? time < other.time
                              : static_cast<int32_t>(sequence - other.sequence) < 0;
  }
};

class HeldFrames {
public:
  explicit HeldFrames(size_t expected) { frames_.reserve(expected); }

  Held &operator[](uint32_t index) { return frames_[index]; }
  const Held &operator[](uint32_t index) const { return frames_[index]; }
  Due due(uint32_t index) const { return {frames_[index].frame.due, frames_[index].sequence}; }

  uint32_t take() {
    if (free_ == kNone) {
      frames_.emplace_back();
      return static_cast<uint32_t>(frames_.size() - 1);
    }
    const uint32_t index = free_;
    free_ = frames_[index].next;
    return index;
  }
  void give_back(uint32_t index) {
    frames_[index].next = free_;
    free_ = index;
  }

private:
  std::vector<Held> frames_;
  uint32_t free_ = kNone;
};

// First in, first out. A frame is in one list at a time.
class HeldList {
public:
  bool empty() const { return first_ == kNone; }
  uint32_t first() const { return first_; }
  uint32_t last() const { return last_; }

  void push(HeldFrames &frames, uint32_t index) {
    frames[index].next = kNone;
    if (empty())
      first_ = index;
    else
      frames[last_].next = index;
    last_ = index;
  }
  uint32_t pop(const HeldFrames &frames) {
    const uint32_t index = first_;
    first_ = frames[index].next;
    return index;
  }

private:
  uint32_t first_ = kNone, last_ = kNone;
};

} // namespace xr::wire
