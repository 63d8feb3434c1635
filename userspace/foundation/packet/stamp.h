// SPDX-License-Identifier: Apache-2.0
// The stamp in the first payload bytes of a packet, from which a receiver computes one-way latency,
// loss and reordering. Four 64-bit numbers in network order: magic, run, sequence, time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "roce/parse.h"

namespace xr::packet {

inline constexpr uint32_t kStampBytes = 32;
inline constexpr uint32_t kStampSequence = 16, kStampTime = 24; // offsets
inline constexpr uint64_t kStampMagic = 0x78722d7374616d70;     // "xr-stamp"

struct Stamp {
  uint64_t run = 0;      // CLOCK_TAI at the start of the sender's run: identifies the run
  uint64_t sequence = 0; // of the QP, from 0
  uint64_t time_ns = 0; // CLOCK_TAI of the sender, just before the packet was queued for the driver
};

// Writes kStampBytes.
void write_stamp(uint8_t *payload, const Stamp &stamp);

// The stamp of a RoCE packet parsed by roce_parse. `frame` has the available bytes. nullopt: there
// is none, or it is cut.
std::optional<Stamp> read_stamp(std::span<const uint8_t> frame, const roce_packet &packet);

} // namespace xr::packet
