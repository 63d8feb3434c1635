// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "packet/frame.h"
#include "roce/parse.h"

namespace xr::packet {

// An address and a number at that address: QPN, communication ID, ...
struct PeerKey {
  packet::Address address{};
  uint32_t number = 0;
  bool operator==(const PeerKey &other) const { // of std::array it would call memcmp()
    uint32_t change = number ^ other.number;
    for (unsigned i = 0; i < 4; i++)
      change |= address[i] ^ other.address[i];
    return !change;
  }
};

inline packet::Address peer_address(const uint32_t *words, uint32_t qp_kind) {
  if (qp_kind & ROCE_KEY_IPV4)
    return {0, 0, ROCE_MAPPED_PREFIX, words[3]};
  return {words[0], words[1], words[2], words[3]};
}
inline packet::Address source_of(const roce_packet &packet) {
  return peer_address(packet.key.src, packet.key.qp_kind);
}
inline packet::Address destination_of(const roce_packet &packet) {
  return peer_address(packet.key.dst, packet.key.qp_kind);
}

// A hash map of at most `room` entries with open addressing, fast enough for one lookup per packet.
// Empty it has no memory: there are some for each flow of a simulation.
template <typename Value> class PeerMap {
public:
  explicit PeerMap(size_t room) : room_(room) {}

  size_t size() const { return size_; }
  bool full() const { return size_ >= room_; }

  const Value *find(const PeerKey &key) const {
    if (!size_)
      return nullptr;
    for (size_t i = home(key);; i = after(i)) {
      if (!slots_[i].used)
        return nullptr;
      if (slots_[i].key == key)
        return &slots_[i].value;
    }
  }
  Value *find(const PeerKey &key) { return const_cast<Value *>(std::as_const(*this).find(key)); }
  // `key` must not be in the map. nullptr: no room. Invalidates pointers to values.
  Value *insert(const PeerKey &key, const Value &value) {
    if (full())
      return nullptr;
    if (2 * (size_ + 1) > slots_.size())
      grow();
    size_++;
    return place({key, value, true});
  }
  void erase(const PeerKey &key) {
    if (!size_)
      return;
    size_t hole = home(key);
    while (slots_[hole].used && !(slots_[hole].key == key))
      hole = after(hole);
    if (!slots_[hole].used)
      return;
    size_--;
    close(hole);
  }
  template <typename Predicate> void erase_if(Predicate predicate) {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(old.size(), {});
    size_ = 0;
    for (const Slot &slot : old)
      if (slot.used && !predicate(slot.key, slot.value)) {
        place(slot);
        size_++;
      }
  }

private:
  struct Slot {
    PeerKey key;
    Value value{};
    bool used = false;
  };

  size_t after(size_t index) const { return (index + 1) & mask_; }
  size_t home(const PeerKey &key) const {
    const auto pair = [&](unsigned i) {
      return static_cast<uint64_t>(key.address[i]) << 32 | key.address[i + 1];
    };
    uint64_t hash = (pair(0) ^ key.number) * 0x9e3779b97f4a7c15ULL;
    hash = (hash ^ hash >> 29 ^ pair(2)) * 0xbf58476d1ce4e5b9ULL;
    return (hash ^ hash >> 32) & mask_;
  }
  Value *place(const Slot &slot) {
    size_t index = home(slot.key);
    while (slots_[index].used)
      index = after(index);
    slots_[index] = slot;
    return &slots_[index].value;
  }
  void grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(old.empty() ? 2 : 2 * old.size(), {});
    mask_ = slots_.size() - 1;
    for (const Slot &slot : old)
      if (slot.used)
        place(slot);
  }
  // Moves later entries into the hole, unless their home slot is after it.
  void close(size_t hole) {
    for (size_t i = after(hole); slots_[i].used; i = after(i)) {
      const size_t from_home = (i - home(slots_[i].key)) & mask_;
      const size_t from_hole = (i - hole) & mask_;
      if (from_home < from_hole)
        continue;
      slots_[hole] = slots_[i];
      hole = i;
    }
    slots_[hole] = {};
  }

  size_t room_, size_ = 0, mask_ = 0;
  std::vector<Slot> slots_; // size is 0 or a power of two, at most half of it used
};

} // namespace xr::packet
