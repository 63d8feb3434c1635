// SPDX-License-Identifier: Apache-2.0
// Numbers of the streams that the places have seen, from 0 in the order of their appearance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "roce/parse.h"

namespace xr::compare {

// Both ends of packets, without QPN and kind.
struct Ends {
  __u32 src[4], dst[4];
  bool operator==(const Ends &other) const;
};
Ends ends_of(const roce_key &key);
Ends reversed(const Ends &ends);
struct EndsHash {
  size_t operator()(const Ends &ends) const;
};

// `key` must be filled (roce_key_fill).
uint64_t key_hash(const roce_key &key);

class StreamNumbers {
public:
  static constexpr uint32_t kNone = 0xffffffff; // too many streams

  explicit StreamNumbers(size_t most) : most_(most) {}
  uint32_t of(const roce_key &key, uint8_t opcode);

  struct Stream {
    roce_key key;
    uint8_t opcode; // of its first packet
  };
  const Stream &operator[](size_t number) const { return streams_[number]; }
  size_t size() const { return streams_.size(); }

private:
  struct Hash {
    size_t operator()(const roce_key &key) const { return key_hash(key); }
  };
  struct Equal {
    bool operator()(const roce_key &a, const roce_key &b) const;
  };

  size_t most_;
  std::unordered_map<roce_key, uint32_t, Hash, Equal> index_;
  std::vector<Stream> streams_;
};

} // namespace xr::compare
