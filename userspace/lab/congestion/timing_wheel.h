// SPDX-License-Identifier: Apache-2.0
// Times of many QPs, at most one each: adding one and taking one that is due cost the same however
// many there are (Varghese and Lauck, SOSP 1987: hashed and hierarchical timing wheels).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace xr::congestion {

class TimingWheel {
public:
  // For the numbers 0 to `entries` - 1. Times before `now` count as `now`.
  explicit TimingWheel(size_t entries, uint64_t now = 0);

  void grow(size_t entries) { entries_.resize(entries); }

  bool empty() const { return size_ == 0; }
  // `number` is not in the wheel. Times are in nanoseconds.
  void add(uint32_t number, uint64_t time);
  // A time not after the earliest in the wheel, and that time itself where it is within about 1 ms
  // of the last take(); UINT64_MAX when the wheel is empty.
  uint64_t next() const;
  // Takes out one entry whose time is `now` or before; false: there is none. `now` does not go
  // back. Entries come in the order of their times, but within kSlotNs in any order.
  bool take(uint64_t now, uint32_t &number);

  static constexpr uint64_t kSlotNs = 1024;

private:
  static constexpr unsigned kSlotBits = 10, kIndexBits = 10, kLevels = 4; // horizon: 2^50 ns
  static constexpr size_t kSlots = size_t{1} << kIndexBits;
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Entry {
    uint64_t time = 0;
    uint32_t next = kNone;
  };
  struct Level {
    std::array<uint32_t, kSlots> heads;
    std::array<uint64_t, kSlots / 64> used{};
    size_t size = 0;
    Level() { heads.fill(kNone); }
  };

  static unsigned shift(unsigned level) { return kSlotBits + level * kIndexBits; }
  void place(uint32_t number);
  // The first used slot from that of `now_` on, as the number of slots after it; kSlots: none.
  size_t distance(unsigned level) const;
  size_t slot(unsigned level, size_t distance) const;
  uint64_t begin_of(unsigned level, size_t distance) const; // of that slot; not before now_
  void unlink_all(unsigned level, size_t slot, uint32_t &list);
  void advance(uint64_t now);

  uint64_t now_;
  size_t size_ = 0;
  std::vector<Entry> entries_;
  std::array<Level, kLevels> levels_;
};

} // namespace xr::congestion
