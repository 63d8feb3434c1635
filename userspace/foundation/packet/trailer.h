// SPDX-License-Identifier: Apache-2.0
// The stamp in the last bytes of a frame of any headers, which stay as they are: 18 bytes, as a
// frame of 64 bytes with Ethernet, IPv4 and UDP has that many for it. In network order: magic (32
// bits), flow (16), sequence (32), time (64). An iCRC may follow. RoCE packets have the stamp of
// stamp.h, at the start of their payload.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace xr::packet {

inline constexpr uint32_t kTrailerBytes = 18;

struct Trailer {
  uint16_t flow = 0;
  uint32_t sequence = 0; // the low 32 bits of the number of frames before this one
  uint64_t time_ns = 0;  // of the sender, on a clock that the receiver has, too
};

// Writes kTrailerBytes.
void write_trailer(uint8_t *to, const Trailer &trailer);

// The trailer of a whole frame, which is without FCS. nullopt: it has none.
std::optional<Trailer> read_trailer(std::span<const uint8_t> frame);

} // namespace xr::packet
