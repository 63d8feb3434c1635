// SPDX-License-Identifier: Apache-2.0
// When each of many entities must be woken next: a tournament tree with one leaf an entity. The
// earliest is first; of equal times the one that was set first.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace xr::simulate {

class EventQueue {
public:
  // At most 2^24 entities.
  explicit EventQueue(size_t entities)
      : leaves_(std::bit_ceil(std::max<size_t>(entities, 2))), keys_(2 * leaves_, kEmpty) {}

  uint64_t time() const { return static_cast<uint64_t>(keys_[1] >> 64); }
  uint32_t entity() const { return static_cast<uint32_t>(keys_[1]) & 0xffffff; }

  // An unchanged time keeps its place among equal ones. kNever: not until it is set again.
  void set(uint32_t entity, uint64_t time) {
    size_t at = leaves_ + entity;
    if (static_cast<uint64_t>(keys_[at] >> 64) == time)
      return;
    set_key(at, static_cast<Key>(time) << 64 | sequence_++ << 24 | entity);
  }
  // Before all others of the same time, in the order of the entities.
  void set_first(uint32_t entity, uint64_t time) {
    set_key(leaves_ + entity, static_cast<Key>(time) << 64 | entity);
  }

private:
  using Key = unsigned __int128; // time, sequence, entity
  static constexpr Key kEmpty = ~Key{0};

  void set_key(size_t at, Key key) {
    keys_[at] = key;
    while (at > 1) {
      key = std::min(key, keys_[at ^ 1]);
      at /= 2;
      keys_[at] = key; // also where it is the same: a branch would cost more
    }
  }

  size_t leaves_;
  std::vector<Key> keys_; // 1: the root
  uint64_t sequence_ = 1;
};

} // namespace xr::simulate
