// SPDX-License-Identifier: Apache-2.0
// Everything that is summed up from a snapshot's opcodes.
#pragma once

#include <array>
#include <cstdint>

#include "model/snapshot.h"

namespace xr::report {

// An opcode's or a transport's packets and bytes, RoCEv2 and RoCEv1 together.
struct Tally {
  uint64_t packets = 0;
  uint64_t bytes = 0;

  Tally &operator+=(const Tally &other);
};

struct Sums {
  std::array<Tally, 256> opcodes{};
  Tally v2, v1;
  std::array<uint64_t, 4> ecn{}; // by codepoint
  uint64_t frames = 0;
  uint64_t bytes = 0;

  explicit Sums(const Snapshot &s);
};

} // namespace xr::report
