// SPDX-License-Identifier: Apache-2.0
// Divides the packets of a capture into shards that can be accounted for at the same time. What the
// datapath learns of a QP pair it learns from the packets between its two hosts, so a pair of hosts
// is in one shard. Where the first frames of the capture show all that pairs the QPs of two hosts,
// or that their packets go one way only, these QPs are divided too; a later packet that does not
// fit that is kElsewhere, and the capture must be read again, divided by hosts.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "model/snapshot.h"
#include "roce/parse.h"

namespace xr {

class Division {
public:
  static constexpr uint32_t kShards = 64;
  static constexpr uint8_t kElsewhere = UINT8_MAX;

  // One shard for all.
  Division() = default;
  static Division by_hosts();
  // `surveyed`: the streams of the first frames. The heaviest QP pairs come first to a shard.
  static Division by_qps(const Snapshot &surveyed);

  uint32_t shards() const { return shards_; }

  // The shard of a RoCE packet, whose key may be incomplete.
  uint8_t shard_of(const roce_packet &packet) const {
    if (shards_ == 1)
      return 0;
    const Way way = way_of(packet.key);
    const Known *known = find(way.hash());
    return known ? known->shard : shard_of_new(way);
  }
  // The shard of a frame that belongs to no QP: such frames are spread.
  uint8_t shard_of_bytes(uint64_t bytes) const;

private:
  // The packets of one host to a QP of another. Of IPv4 only the last words are set.
  struct Way {
    std::array<uint32_t, 4> src{}, dst{};
    uint32_t qp = 0;

    bool is_ipv4() const { return !(src[0] | src[1] | src[2] | dst[0] | dst[1] | dst[2]); }
    uint64_t hash() const;
  };
  using Hosts = std::pair<std::array<uint32_t, 4>, std::array<uint32_t, 4>>; // the lower one first
  enum class Kind : uint8_t { Whole, OneWay, TwoWay };
  struct Pair {
    Kind kind = Kind::Whole;
    bool upward = false; // OneWay: from the lower address
    uint8_t shard = 0;   // Whole
  };
  struct Known { // a way by its hash: of 64 bits, so that none is taken for another
    uint64_t hash = 0;
    uint8_t shard = kFree;
  };
  static constexpr uint8_t kFree = UINT8_MAX;
  class Survey;

  static Way way_of(const roce_key &key);
  static Hosts hosts_of(const Way &way);
  static bool is_upward(const Way &way) { return way.src <= way.dst; }
  const Known *find(uint64_t hash) const;
  Known &add(const Way &way);
  uint8_t shard_of_new(const Way &way) const;

  uint32_t shards_ = 1;
  std::map<Hosts, Pair> pairs_;
  std::vector<Known> ways_; // open addressing, half full at most
};

inline uint64_t Division::Way::hash() const {
  // The products do not wait for one another.
  uint64_t h = (uint64_t{src[3]} << 32 | dst[3]) * 0xff51afd7ed558ccd + qp * 0xd6e8feb86659fd93;
  if (!is_ipv4())
    h += (uint64_t{src[0]} << 32 | dst[0]) * 0xc4ceb9fe1a85ec53 +
         (uint64_t{src[1]} << 32 | dst[1]) * 0xbf58476d1ce4e5b9 +
         (uint64_t{src[2]} << 32 | dst[2]) * 0x94d049bb133111eb;
  h ^= h >> 32;
  h *= 0x9e3779b97f4a7c15;
  return h ^ h >> 32;
}

inline Division::Way Division::way_of(const roce_key &key) {
  Way way;
  if (!(key.qp_kind & ROCE_KEY_IPV4)) {
    std::copy_n(key.src, 4, way.src.begin());
    std::copy_n(key.dst, 4, way.dst.begin());
  }
  way.src[3] = key.src[3];
  way.dst[3] = key.dst[3];
  way.qp = roce_key_qp(&key);
  return way;
}

inline const Division::Known *Division::find(uint64_t hash) const {
  if (ways_.empty())
    return nullptr;
  const size_t mask = ways_.size() - 1;
  for (size_t i = hash & mask; ways_[i].shard != kFree; i = (i + 1) & mask)
    if (ways_[i].hash == hash)
      return &ways_[i];
  return nullptr;
}

} // namespace xr
