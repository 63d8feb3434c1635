// SPDX-License-Identifier: Apache-2.0
// Sums over all opcodes of a snapshot.
#pragma once

#include <array>
#include <cstdint>

#include "model/snapshot.h"

namespace xr::report {

// Packets and bytes of an opcode or a transport, RoCEv2 and RoCEv1 together.
struct Tally {
  uint64_t packets = 0;
  uint64_t bytes = 0;

  Tally &operator+=(const Tally &other);
};

struct Sums {
  std::array<Tally, 256> opcodes{}, opcodes_v1{}; // all; of these RoCEv1
  Tally v2, v1;
  std::array<uint64_t, 4> ecn{}; // by codepoint
  uint64_t frames = 0;
  uint64_t bytes = 0;

  explicit Sums(const Snapshot &s);
};

} // namespace xr::report
