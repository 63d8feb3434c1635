// SPDX-License-Identifier: Apache-2.0
// Random numbers as a function of a seed and an index only: one flow is always the same packets.
#pragma once

#include <cstdint>

namespace xr {

// SplitMix64's finalizer (Steele, Lea and Flood, OOPSLA 2014).
constexpr uint64_t mix(uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
  return z ^ z >> 31;
}

constexpr uint64_t draw(uint64_t seed, uint64_t number) {
  return mix(mix(seed + 0x9e3779b97f4a7c15ULL) + number * 0x9e3779b97f4a7c15ULL);
}

// A value in [0, 1).
constexpr double draw_real(uint64_t seed, uint64_t number) {
  return static_cast<double>(draw(seed, number) >> 11) * 0x1p-53;
}

// A value in [0, end). If `end` is 0: any 64-bit value.
constexpr uint64_t draw_below(uint64_t seed, uint64_t number, uint64_t end) {
  const uint64_t any = draw(seed, number);
  return end ? static_cast<uint64_t>(static_cast<unsigned __int128>(any) * end >> 64) : any;
}

// Derives an independent seed for another random quantity of the same flow.
enum class Draws : uint8_t { Sizes, Psn, Pacing, Faults };
constexpr uint64_t seed_for(uint64_t seed, Draws what, uint64_t which = 0) {
  return draw(seed ^ (static_cast<uint64_t>(what) + 1) << 56, which);
}

} // namespace xr
