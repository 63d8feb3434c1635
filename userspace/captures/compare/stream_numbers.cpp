// SPDX-License-Identifier: Apache-2.0
#include "compare/stream_numbers.h"

#include <cstring>

namespace xr::compare {

namespace {

uint64_t mixed_with(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

uint64_t words(uint64_t hash, const __u32 (&four)[4]) {
  hash = mixed_with(hash, four[0] | uint64_t{four[1]} << 32);
  return mixed_with(hash, four[2] | uint64_t{four[3]} << 32);
}

} // namespace

bool Ends::operator==(const Ends &other) const { return !std::memcmp(this, &other, sizeof(other)); }

Ends ends_of(const roce_key &key) {
  Ends ends;
  std::memcpy(ends.src, key.src, sizeof(ends.src));
  std::memcpy(ends.dst, key.dst, sizeof(ends.dst));
  return ends;
}

Ends reversed(const Ends &ends) {
  Ends other;
  std::memcpy(other.src, ends.dst, sizeof(other.src));
  std::memcpy(other.dst, ends.src, sizeof(other.dst));
  return other;
}

size_t EndsHash::operator()(const Ends &ends) const { return words(words(1, ends.src), ends.dst); }

uint64_t key_hash(const roce_key &key) {
  return mixed_with(words(words(2, key.src), key.dst), key.qp_kind);
}

bool StreamNumbers::Equal::operator()(const roce_key &a, const roce_key &b) const {
  return !std::memcmp(&a, &b, sizeof(a));
}

uint32_t StreamNumbers::of(const roce_key &key, uint8_t opcode) {
  const auto found = index_.find(key);
  if (found != index_.end())
    return found->second;
  if (streams_.size() >= most_)
    return kNone;
  const auto number = static_cast<uint32_t>(streams_.size());
  index_.emplace(key, number);
  streams_.push_back({key, opcode});
  return number;
}

} // namespace xr::compare
