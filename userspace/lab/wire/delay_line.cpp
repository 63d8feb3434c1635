// SPDX-License-Identifier: Apache-2.0
#include "wire/delay_line.h"

#include <algorithm>
#include <bit>

namespace xr::wire {

namespace {

constexpr auto kLater = [](const auto &a, const auto &b) { return b.due < a.due; };

} // namespace

void DelayWheel::push(uint32_t index) {
  heap_.push_back({frames_.due(index), index});
  std::push_heap(heap_.begin(), heap_.end(), kLater);
}

void DelayWheel::add(uint32_t index) {
  const uint64_t time = frames_[index].frame.due;
  if (heap_.empty())
    base_ = time >> kSlotBits << kSlotBits;
  place(index);
}

// Into the heap, or into the lowest level whose slots, counted from that of base_, reach the time.
// What is beyond the last level waits in its last slot, and is placed again from there.
void DelayWheel::place(uint32_t index) {
  const uint64_t time = frames_[index].frame.due;
  if (time >> kSlotBits <= base_ >> kSlotBits)
    return push(index);
  unsigned level = 0;
  while (level + 1 < kLevels && (time >> shift(level)) - (base_ >> shift(level)) >= kSlots)
    level++;
  const uint64_t slot =
      std::min(time >> shift(level), (base_ >> shift(level)) + kSlots - 1) & (kSlots - 1);
  Level &wheel = levels_[level];
  frames_[index].next = wheel.heads[slot];
  wheel.heads[slot] = index;
  wheel.used[slot / 64] |= uint64_t{1} << slot % 64;
  waiting_++;
}

size_t DelayWheel::distance(unsigned level) const {
  const Level &wheel = levels_[level];
  const size_t first = base_ >> shift(level) & (kSlots - 1);
  for (size_t done = 0; done < kSlots;) {
    const size_t at = (first + done) & (kSlots - 1);
    if (const uint64_t word = wheel.used[at / 64] >> at % 64)
      return std::min(done + static_cast<size_t>(std::countr_zero(word)), kSlots);
    done += 64 - at % 64;
  }
  return kSlots;
}

// Places again what is in the level's slot of base_.
void DelayWheel::empty_slot(unsigned level) {
  Level &wheel = levels_[level];
  const size_t slot = base_ >> shift(level) & (kSlots - 1);
  uint32_t index = wheel.heads[slot];
  wheel.heads[slot] = kNone;
  wheel.used[slot / 64] &= ~(uint64_t{1} << slot % 64);
  while (index != kNone) {
    const uint32_t next = frames_[index].next;
    waiting_--;
    place(index);
    index = next;
  }
}

// Moves base_ to the first used slot of any level, until the heap has frames.
void DelayWheel::refill() {
  while (heap_.empty() && waiting_) {
    uint64_t to = UINT64_MAX;
    for (unsigned level = 0; level < kLevels; level++)
      if (const size_t ahead = distance(level); ahead != kSlots)
        to = std::min(to, std::max(base_, ((base_ >> shift(level)) + ahead) << shift(level)));
    base_ = to;
    for (unsigned level = kLevels; level-- > 0;)
      empty_slot(level);
  }
}

uint32_t DelayWheel::pop() {
  const uint32_t index = heap_.front().index;
  std::pop_heap(heap_.begin(), heap_.end(), kLater);
  heap_.pop_back();
  if (heap_.empty())
    refill();
  return index;
}

void DelayLine::add(uint32_t index) {
  if (list_.empty() || frames_[index].frame.due >= frames_[list_.last()].frame.due)
    return list_.push(frames_, index);
  if (!wheel_)
    wheel_ = std::make_unique<DelayWheel>(frames_);
  wheel_->add(index);
}

Due DelayLine::next() const {
  Due due = list_.empty() ? Due{} : frames_.due(list_.first());
  if (wheel_ && wheel_->next() < due)
    due = wheel_->next();
  return due;
}

uint32_t DelayLine::pop() {
  const bool by_list = !list_.empty() && !(wheel_ && wheel_->next() < frames_.due(list_.first()));
  return by_list ? list_.pop(frames_) : wheel_->pop();
}

} // namespace xr::wire
