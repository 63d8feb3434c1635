// SPDX-License-Identifier: Apache-2.0
// Differences of counters with fewer than 64 bits, which wrap to 0. One wrap between two readings
// is detected; a 32-bit counter wraps after 4 billion events.
#pragma once

#include <cstdint>

namespace xr::doctor {

struct Step {
  uint64_t counted = 0; // since the previous reading
  bool wrapped = false;
  bool restarted = false; // decreased without a wrap: the driver was reloaded
};

// `bits`: width of the counter.
inline Step step(uint64_t before, uint64_t now, unsigned bits) {
  if (now >= before)
    return {now - before};
  const uint64_t around = bits < 64 ? (uint64_t{1} << bits) - before + now : 0;
  // More than half the range in one interval: a restart, not a wrap.
  if (bits < 64 && before < uint64_t{1} << bits && around < uint64_t{1} << (bits - 1))
    return {around, true};
  return {now, false, true};
}

} // namespace xr::doctor
