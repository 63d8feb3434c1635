// SPDX-License-Identifier: Apache-2.0
// Counters of fewer than 64 bits begin again at 0. Between two readings once is undone; for 32 bits
// that is 4 billion packets.
#pragma once

#include <cstdint>

namespace xr::doctor {

struct Step {
  uint64_t counted = 0; // since the reading before
  bool wrapped = false;
  bool restarted = false; // went back by other than wrapping: the driver came anew
};

// From one reading of a counter of so many bits to the next.
inline Step step(uint64_t before, uint64_t now, unsigned bits) {
  if (now >= before)
    return {now - before};
  const uint64_t around = bits < 64 ? (uint64_t{1} << bits) - before + now : 0;
  // Half the range in one interval is no traffic.
  if (bits < 64 && before < uint64_t{1} << bits && around < uint64_t{1} << (bits - 1))
    return {around, true};
  return {now, false, true};
}

} // namespace xr::doctor
