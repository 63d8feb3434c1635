// SPDX-License-Identifier: Apache-2.0
// Which sight of a packet at one place belongs to which at the other, when a PSN was sent several
// times. A function without state.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace xr::compare {

// The most sights of one packet that are decided together, on each side.
constexpr size_t kMostTogether = 16;

struct Candidate {
  int64_t time_ns = 0; // by a common clock, without the usual delay
  uint32_t print = 0;
  int64_t earliest_ns = 0; // of an arrival: below 0, how much quicker than usual is credible
  int64_t impossible_ns = INT64_MIN; // of an arrival: no match is quicker than usual by more
  bool copy = false; // a sight with the same content at the same place was matched before
  bool bad = false;  // its iCRC is wrong
};

struct Candidates {
  std::array<Candidate, kMostTogether> at;
  size_t count = 0;
  bool complete = true; // there are no later ones
};

struct Assignment {
  static constexpr int16_t kNone = -1;
  std::array<int16_t, kMostTogether> of_first{};  // index of the second place's sight
  std::array<int16_t, kMostTogether> of_second{}; // index of the first place's sight
};

// Both in order of time. Sights with the same iCRC belong together; those whose iCRC the other
// place has not seen (corrupted, rewritten, not captured) are taken as one class. An arrival with a
// wrong iCRC or none may also be a transmission whose own iCRC arrived with another one of the same
// bytes. Within a class
// (copies are not) the order is kept, and as many as possible are matched, with the least
// differences from the usual delay: with equal numbers, the n-th belongs to the n-th. Except:
// - if a shift by one transmission makes the others fit: a loss and a copy. Their distance must be
//   more than `variation_ns`, the usual variation of the delay.
// - where more follow than are decided together, a shift is no match.
Assignment assign(const Candidates &first, const Candidates &second, int64_t variation_ns);

} // namespace xr::compare
