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

// What a packet is to someone who looks at loss and congestion.
enum class PacketKind {
  Data,     // model/data_packet.h
  Datagram, // UD and RD
  Ack,      // ACKNOWLEDGE
  Cnp,
  Other, // reserved opcodes
};
inline constexpr std::array<const char *, 5> kPacketKinds = {"data", "datagram", "ack", "cnp",
                                                             "other"};
PacketKind packet_kind(unsigned opcode);

// Packets by ECN codepoint: by the bits of the IP header.
using EcnCounts = std::array<uint64_t, 4>;

struct Sums {
  std::array<Tally, 256> opcodes{}, opcodes_v1{}; // all; of these RoCEv1
  Tally v2, v1;
  EcnCounts ecn{};                                        // RoCEv2
  std::array<EcnCounts, kPacketKinds.size()> kinds_ecn{}; // the same, by kind
  std::array<uint64_t, kPacketKinds.size()> kinds{};      // packets, with RoCEv1
  uint64_t frames = 0;
  uint64_t bytes = 0;

  explicit Sums(const Snapshot &s);
};

} // namespace xr::report
