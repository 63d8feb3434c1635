// SPDX-License-Identifier: Apache-2.0
// How a switch would spread the flows of a capture over its equal-cost uplinks, by a hash of the
// addresses, protocol and ports. Vendors' functions and seeds differ: this says what to expect, not
// what a certain switch does.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/snapshot.h"

namespace xr::checks {

struct PathHash {
  const char *name;
  uint32_t (*of)(std::span<const uint8_t> bytes);
};

// crc16, crc32, murmur, fnv, xor.
std::span<const PathHash> path_hashes();
std::vector<std::string> path_hash_names();

struct UplinkSpread {
  uint64_t flows = 0; // of data, by 5-tuple
  uint64_t busiest_flows = 0;
  double busiest_bytes = 0; // share; the bytes of a stream are taken as evenly over its ports
  double expected = 0;      // share of the flows on the busiest of as many random ones
  double chance = 1;        // that random flows give the busiest as many or more
};

// Flows of data of RC, UC and XRC over RoCEv2; `paths` is at least 1, `hash` an index.
UplinkSpread spread_over(const Snapshot &snapshot, uint32_t paths, size_t hash);

// How many of so many flows, each on one of `paths` by chance, the busiest has: the mean, and the
// chance of `least` or more. Exact up to kExactFlows; above, by the square root of their number.
inline constexpr uint64_t kExactFlows = 512;
struct Busiest {
  double mean = 0, chance = 1;
};
Busiest busiest_by_chance(uint64_t flows, uint32_t paths, uint64_t least);

} // namespace xr::checks
