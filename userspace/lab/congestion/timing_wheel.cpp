// SPDX-License-Identifier: Apache-2.0
#include "congestion/timing_wheel.h"

#include <algorithm>
#include <bit>

namespace xr::congestion {

TimingWheel::TimingWheel(size_t entries, uint64_t now) : now_(now), entries_(entries) {}

void TimingWheel::add(uint32_t number, uint64_t time) {
  entries_[number].time = time;
  size_++;
  place(number);
}

// Into the lowest level whose slots, counted from that of now_, reach the time.
void TimingWheel::place(uint32_t number) {
  Entry &entry = entries_[number];
  const uint64_t time = std::max(entry.time, now_);
  unsigned level = 0;
  while (level + 1 < kLevels && (time >> shift(level)) - (now_ >> shift(level)) >= kSlots)
    level++;
  const uint64_t ahead =
      std::min<uint64_t>((time >> shift(level)) - (now_ >> shift(level)), kSlots - 1);
  const size_t at = slot(level, static_cast<size_t>(ahead));
  Level &wheel = levels_[level];
  entry.next = wheel.heads[at];
  wheel.heads[at] = number;
  wheel.used[at / 64] |= uint64_t{1} << at % 64;
  wheel.size++;
}

size_t TimingWheel::slot(unsigned level, size_t distance) const {
  return ((now_ >> shift(level)) + distance) & (kSlots - 1);
}

uint64_t TimingWheel::begin_of(unsigned level, size_t distance) const {
  return std::max(now_, ((now_ >> shift(level)) + distance) << shift(level));
}

size_t TimingWheel::distance(unsigned level) const {
  const Level &wheel = levels_[level];
  if (!wheel.size)
    return kSlots;
  const size_t first = slot(level, 0);
  for (size_t done = 0; done < kSlots;) {
    const size_t at = (first + done) & (kSlots - 1);
    const uint64_t word = wheel.used[at / 64] >> at % 64;
    if (word)
      return done + static_cast<size_t>(std::countr_zero(word));
    done += 64 - at % 64;
  }
  return kSlots;
}

uint64_t TimingWheel::next() const {
  uint64_t earliest = UINT64_MAX;
  if (const size_t ahead = distance(0); ahead != kSlots)
    for (uint32_t i = levels_[0].heads[slot(0, ahead)]; i != kNone; i = entries_[i].next)
      earliest = std::min(earliest, entries_[i].time);
  // Slots of the other levels may hold every QP: their begin will do.
  for (unsigned level = 1; level < kLevels; level++)
    if (const size_t ahead = distance(level); ahead != kSlots)
      earliest = std::min(earliest, begin_of(level, ahead));
  return earliest;
}

void TimingWheel::unlink_all(unsigned level, size_t slot, uint32_t &list) {
  Level &wheel = levels_[level];
  list = wheel.heads[slot];
  wheel.heads[slot] = kNone;
  wheel.used[slot / 64] &= ~(uint64_t{1} << slot % 64);
  for (uint32_t i = list; i != kNone; i = entries_[i].next)
    wheel.size--;
}

// Moves now_ to the first used slot of any level, at most to `now`; entries of a higher level whose
// slot begins there move down.
void TimingWheel::advance(uint64_t now) {
  uint64_t to = now;
  for (unsigned level = 0; level < kLevels; level++)
    if (const size_t ahead = distance(level); ahead != kSlots)
      to = std::min(to, begin_of(level, ahead));
  now_ = to;
  for (unsigned level = 1; level < kLevels; level++) {
    if (distance(level) != 0)
      continue;
    uint32_t list = kNone;
    unlink_all(level, slot(level, 0), list);
    while (list != kNone) {
      const uint32_t number = list;
      list = entries_[number].next;
      place(number);
    }
  }
}

bool TimingWheel::take(uint64_t now, uint32_t &number) {
  while (size_) {
    // Within the present slot, any entry that is due.
    if (distance(0) == 0) {
      Level &wheel = levels_[0];
      const size_t at = slot(0, 0);
      uint32_t *link = &wheel.heads[at];
      while (*link != kNone && entries_[*link].time > now)
        link = &entries_[*link].next;
      if (*link == kNone)
        return false; // all of this slot, and so all others, are later
      number = *link;
      *link = entries_[number].next;
      if (wheel.heads[at] == kNone)
        wheel.used[at / 64] &= ~(uint64_t{1} << at % 64);
      wheel.size--;
      size_--;
      return true;
    }
    if (now_ >= now)
      return false;
    advance(now);
  }
  return false;
}

} // namespace xr::congestion
