// SPDX-License-Identifier: Apache-2.0
// Which of a driver's hw_counters speaks of what a wire shows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "model/snapshot.h"

namespace xr::doctor {

// What entered the port, as far as it concerns a NIC.
enum class Wire {
  PsnNaks,
  RnrNaks,
  AccessNaks,
  InvalidNaks,
  Packets,
  RequestGaps,
  RequestJumps, // no equation's: how far gaps may be from a NIC's, which sees retransmissions too
  ResponseGaps,
  ResponseJumps,
  Duplicates, // of requests
  Rewinds,    // of requests
  Ce,
  Cnps,
  BadIcrcs,
  Count,
};

// Whether it entered on the way to the NIC, or came from it.
enum class Side { ToNic, FromNic };

struct Equation {
  Side side;
  Wire wire;
  const char *words;
  std::vector<const char *> counters; // their sum
  unsigned bits;                      // of each
};

// Of a driver; none for one that is not known.
std::span<const Equation> equations_of(std::string_view driver);

// The wire's side of the equations, in one direction. NAKs are the port's, whichever way they went;
// they went where responses go.
struct WireCounts {
  std::array<std::optional<uint64_t>, static_cast<size_t>(Wire::Count)> of{};
  uint64_t packets = 0;   // 0: nothing went that way
  uint64_t responses = 0; // among them
  uint64_t other_responses = 0;

  std::optional<uint64_t> &operator[](Wire wire) { return of[static_cast<size_t>(wire)]; }
  const std::optional<uint64_t> &operator[](Wire wire) const {
    return of[static_cast<size_t>(wire)];
  }
};

// Without addresses of the NIC everything is on its way to it.
WireCounts count_wire(const Snapshot &snapshot, Side side, const std::vector<Address> &nic);

// Since `before`.
WireCounts difference(const WireCounts &now, const WireCounts &before);

} // namespace xr::doctor
