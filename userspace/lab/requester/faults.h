// SPDX-License-Identifier: Apache-2.0
// Selects the faults of each packet of a flow.
#pragma once

#include <cstdint>
#include <vector>

#include "flow/flow.h"

namespace xr::requester {

// A set of fault kinds, one bit each.
class FaultSet {
public:
  bool has(flow::Fault::Kind kind) const { return bits_ >> static_cast<unsigned>(kind) & 1; }
  bool none() const { return !bits_; }
  void add(flow::Fault::Kind kind) { bits_ |= 1U << static_cast<unsigned>(kind); }

private:
  uint32_t bits_ = 0;
};

class Faults {
public:
  Faults(std::vector<flow::Fault> faults, uint64_t seed)
      : faults_(std::move(faults)), seed_(seed) {}
  bool any() const { return !faults_.empty(); }
  // The faults of packet `number` of the flow, from 1. The result depends only on the number.
  FaultSet of(uint64_t number) const;

private:
  std::vector<flow::Fault> faults_;
  uint64_t seed_;
};

} // namespace xr::requester
