// SPDX-License-Identifier: Apache-2.0
// Frames in the order of (due, sequence), exactly. A frame that is due after all others, as with a
// constant delay, goes to the end of a list: O(1). The others go to a hierarchical timing wheel
// (Varghese and Lauck, SOSP 1987), whose earliest slot is a heap: O(log n) of that slot.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "wire/held_frames.h"

namespace xr::wire {

class DelayWheel {
public:
  explicit DelayWheel(HeldFrames &frames) : frames_(frames) {
    for (auto &level : levels_)
      level.heads.fill(kNone);
  }

  Due next() const { return heap_.empty() ? Due{} : heap_.front().due; }
  void add(uint32_t index);
  uint32_t pop(); // not empty

private:
  static constexpr unsigned kSlotBits = 10, kIndexBits = 10, kLevels = 3; // 1 us; 18 minutes
  static constexpr size_t kSlots = size_t{1} << kIndexBits;

  struct Entry {
    Due due;
    uint32_t index;
  };
  struct Level {
    std::array<uint32_t, kSlots> heads;
    std::array<uint64_t, kSlots / 64> used{};
  };

  static unsigned shift(unsigned level) { return kSlotBits + level * kIndexBits; }
  void push(uint32_t index);
  void place(uint32_t index);
  // The first used slot from that of base_ on, as the number of slots after it; kSlots: none.
  size_t distance(unsigned level) const;
  void empty_slot(unsigned level);
  void refill();

  HeldFrames &frames_;
  uint64_t base_ = 0;       // begin of the slot that the heap has; it also has all that is earlier
  size_t waiting_ = 0;      // frames that are not in the heap
  std::vector<Entry> heap_; // not empty while frames wait
  std::array<Level, kLevels> levels_;
};

class DelayLine {
public:
  explicit DelayLine(HeldFrames &frames) : frames_(frames) {}

  // By `frame.due` and `sequence`; a sequence is not before that of frames added earlier.
  void add(uint32_t index);
  Due next() const; // time kNever: it is empty
  uint32_t pop();   // the frame of next()

private:
  HeldFrames &frames_;
  HeldList list_;
  std::unique_ptr<DelayWheel> wheel_; // from the first frame on that needs it
};

} // namespace xr::wire
