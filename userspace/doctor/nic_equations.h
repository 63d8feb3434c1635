// SPDX-License-Identifier: Apache-2.0
// Maps the hw_counters of each driver to the events seen on the wire.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "model/snapshot.h"

namespace xr::doctor {

// Events at the port that a NIC counts too.
enum class Wire {
  PsnNaks,
  RnrNaks,
  AccessNaks,
  InvalidNaks,
  Packets,
  RequestGaps,
  RequestJumps, // used in no equation: bounds the difference of gaps, as a NIC also counts
                // retransmissions
  ResponseGaps,
  ResponseJumps,
  Duplicates, // of requests
  Rewinds,    // of requests
  Ce,
  Cnps,
  BadIcrcs,
  Count,
};

// Direction: towards the NIC or from it.
enum class Side { ToNic, FromNic };

struct Equation {
  Side side;
  Wire wire;
  const char *words;
  std::vector<const char *> counters; // added together
  unsigned bits;                      // width of each counter
};

// The equations of a driver; empty for an unknown one.
std::span<const Equation> equations_of(std::string_view driver);

// Counts of the wire in one direction. NAKs are counted per port, without a direction; they are
// assigned to the direction of the responses.
struct WireCounts {
  std::array<std::optional<uint64_t>, static_cast<size_t>(Wire::Count)> of{};
  uint64_t packets = 0;   // 0: none in this direction
  uint64_t responses = 0; // responses among `packets`
  uint64_t other_responses = 0;

  std::optional<uint64_t> &operator[](Wire wire) { return of[static_cast<size_t>(wire)]; }
  const std::optional<uint64_t> &operator[](Wire wire) const {
    return of[static_cast<size_t>(wire)];
  }
};

// `nic`: addresses of the NIC. If it is empty, all packets count as sent to the NIC.
WireCounts count_wire(const Snapshot &snapshot, Side side, const std::vector<Address> &nic);

// Counts since `before`.
WireCounts difference(const WireCounts &now, const WireCounts &before);

} // namespace xr::doctor
