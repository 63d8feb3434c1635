// SPDX-License-Identifier: Apache-2.0
// What the headers of a stream's packets say about the set-up of hosts and switches: ECN, classes,
// UDP source ports, sizes. Packets with a wrong iCRC are only counted as such.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace xr {

// Data: data packets (model/data_packet.h), and datagrams that are not of RDMA CM. Control: ACKs,
// NAKs, RDMA CM.
enum class TrafficPart : uint8_t { Data, Control, Cnp };
inline constexpr size_t kTrafficParts = 3;

struct PartTraffic {
  static constexpr unsigned kUntagged = 8; // bit of `pcps`

  std::array<uint64_t, 4> ecn{}; // packets by codepoint; of RoCEv1, which has none, in [0]
  uint64_t dscps = 0;            // a bit for each DSCP
  uint16_t pcps = 0;             // a bit for each PCP of the outer tag
  // Frames as evidence, numbered as those of findings (kFileShift). 0: there is none.
  uint64_t first_frame = 0;
  uint64_t other_frame = 0; // the first on another DSCP or PCP than the first frame

  uint64_t packets() const { return ecn[0] + ecn[1] + ecn[2] + ecn[3]; }
  uint64_t ect() const { return packets() - ecn[0]; } // or CE
};

struct StreamTraffic {
  static constexpr size_t kPorts = 8;

  std::array<PartTraffic, kTrafficParts> parts{};
  std::array<uint16_t, kPorts> ports{}; // UDP source ports of data and control, as they came
  uint32_t ports_used = 0;              // of `ports`
  uint64_t ports_more = 0;              // packets of further ports
  uint64_t not_ect_frame = 0;           // the first data packet that is not ECT
  uint64_t ce_frame = 0;                // the first packet marked CE
  uint64_t bad_icrcs = 0, bad_icrc_frame = 0;
  uint32_t largest_payload = 0, largest_frame = 0; // bytes; frames without FCS

  const PartTraffic &of(TrafficPart part) const { return parts[static_cast<size_t>(part)]; }
  PartTraffic &of(TrafficPart part) { return parts[static_cast<size_t>(part)]; }
};

// Frames that belong to no stream.
struct StraysTraffic {
  uint64_t fragment_frame = 0;  // the first IP fragment
  uint64_t malformed_frame = 0; // the first of RoCE's port or EtherType without a sound BTH
};

} // namespace xr
