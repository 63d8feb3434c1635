// SPDX-License-Identifier: Apache-2.0
// The byte values that a rule accepts, for each table of struct roce_ruleset.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>

#include "roce/rule.h"

namespace xr::impair {

using What = std::bitset<ROCE_WHATS>;
using Bytes = std::bitset<256>;

// The entries of frames that are not RoCE.
inline What not_roce() { return What().set(ROCE_WHAT_OTHER).set(ROCE_WHAT_VERSION); }

// Tables indexed by a byte. A name is the first table of a field with several bytes or cases.
enum Table {
  kTos,
  kSrc,
  kDst = kSrc + 4,
  kQp = kDst + 4,
  kPsn = kQp + 3,
  kSize = kPsn + 2,
  kVlan,
  kPacket = kVlan + 2,
  kBthFlags,
  kBthMarks,
  kBthAck,
  kPkey,
  kTables = kPkey + 2
};

struct Tables {
  What what = ~What();
  std::bitset<2> family = 3;
  std::array<Bytes, kTables> bytes = all();

  static std::array<Bytes, kTables> all() {
    std::array<Bytes, kTables> full;
    full.fill(~Bytes());
    return full;
  }

  bool operator==(const Tables &) const = default;

  // No frame matches.
  bool empty() const {
    const auto none = [this](int t) { return bytes[static_cast<size_t>(t)].none(); };
    if (what.none() || family.none() || (none(kVlan) && none(kVlan + 1)))
      return true;
    for (int t = 0; t < kTables; t++)
      if (t != kVlan && t != kVlan + 1 && none(t))
        return true;
    return false;
  }
};

// The values of `x >> shift & 255` for x from `from` to `to`.
inline Bytes cover(uint64_t from, uint64_t to, unsigned shift) {
  const uint64_t first = from >> shift, last = std::min(to >> shift, first + 255);
  Bytes bytes;
  for (uint64_t x = first; x <= last; x++)
    bytes.set(x & 255);
  return bytes;
}

} // namespace xr::impair
