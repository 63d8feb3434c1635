// SPDX-License-Identifier: Apache-2.0
// Which faults a flow's packets have.
#pragma once

#include <cstdint>
#include <vector>

#include "traffic/flow.h"

namespace xr::traffic {

// Kinds of faults, a bit each.
class FaultSet {
public:
  bool has(Fault::Kind kind) const { return bits_ >> static_cast<unsigned>(kind) & 1; }
  bool none() const { return !bits_; }
  void add(Fault::Kind kind) { bits_ |= 1U << static_cast<unsigned>(kind); }

private:
  uint32_t bits_ = 0;
};

class Faults {
public:
  Faults(std::vector<Fault> faults, uint64_t seed) : faults_(std::move(faults)), seed_(seed) {}
  bool any() const { return !faults_.empty(); }
  // Of the flow's packet `number`, from 1. Nothing is remembered: the same number, the same fate.
  FaultSet of(uint64_t number) const;

private:
  std::vector<Fault> faults_;
  uint64_t seed_;
};

} // namespace xr::traffic
