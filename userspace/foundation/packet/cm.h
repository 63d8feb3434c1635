// SPDX-License-Identifier: Apache-2.0
// RDMA CM datagrams on QP1, which open and close connections (IBA vol. 1, 12.6 and 13.4; IP CM
// service: annex A11). Numbers in host order, GIDs in network order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "packet/frame.h"

namespace xr::packet {

enum class CmKind : uint16_t {
  Req = 0x10,
  Mra = 0x11,
  Rej = 0x12,
  Rep = 0x13,
  Rtu = 0x14,
  Dreq = 0x15,
  Drep = 0x16,
  SidrReq = 0x17,
  SidrRep = 0x18,
  Lap = 0x19,
  Apr = 0x1a,
};

// Which message an MRA or REJ is about.
enum class CmAbout : uint8_t { Req, Rep, Other };

struct CmMessage {
  // The defaults are what Linux hosts send.
  static constexpr uint8_t kTimeout = 20; // 4 s

  CmKind kind = CmKind::Req;
  uint64_t transaction = 0;
  uint32_t local_id = 0;   // SIDR: the request ID
  uint32_t remote_id = 0;  // not in REQ and SIDR
  uint64_t service_id = 0; // REQ, SIDR
  uint32_t qpn = 0;        // REQ, REP, SIDR_REP: the sender's QPN; DREQ, LAP: the receiver's
  uint32_t psn = 0;        // REQ, REP: first PSN of packets to `qpn`
  uint8_t transport = 0;   // REQ: 0 RC, 1 UC
  uint8_t pmtu_code = 3;   // REQ: 1 to 5
  uint8_t responder_resources = 16, initiator_depth = 16; // REQ, REP
  uint16_t pkey = 0xffff;                                 // REQ, SIDR_REQ
  // Times are 4.096 us * 2^code. How long the sender of a REQ waits for the answer to a message
  // (remote), and what it needs for its own (local); MRA (remote): the service time.
  uint8_t remote_timeout = kTimeout, local_timeout = kTimeout;
  uint8_t cm_retries = 15;                  // REQ
  uint8_t retries = 7, rnr_retries = 7;     // REQ, REP (RNR); 7: for RNR NAKs, unlimited
  uint8_t ack_timeout = 19, ack_delay = 15; // REQ; REP
  CmAbout about = CmAbout::Req;             // MRA, REJ
  uint8_t status = 0;                       // SIDR_REP, APR
  uint32_t qkey = 0;                        // SIDR_REP
  Address local_gid{}, remote_gid{};        // REQ
  uint16_t reject_reason = 0;               // REJ
  std::vector<uint8_t> private_data{};      // truncated to the room of the message
};

// Service ID of a TCP port in the IP port space of RDMA CM (annex A11).
constexpr uint64_t cm_service(uint16_t port) { return 0x0000000001060000ULL | port; }

// The 36 bytes at the start of the private data of a REQ for the IP port spaces (annex A11).
std::vector<uint8_t> cma_header(const Address &src, const Address &dst, uint16_t src_port);

// A memory region, as `respond --memory` announces it in the private data of its REPs: "xrmr", the
// R_Key, the address and the length, in network order.
struct CmMemory {
  uint32_t rkey = 0;
  uint64_t va = 0, length = 0;
};
std::vector<uint8_t> cm_memory(const CmMemory &memory);
std::optional<CmMemory> parse_cm_memory(std::span<const uint8_t> private_data);

// A code of a time of at least `ns`: 4.096 us * 2^code; 31 at most. And its time.
uint8_t cm_time_code(uint64_t ns);
constexpr uint64_t cm_time_ns(uint8_t code) { return uint64_t{4096} << (code & 31); }

// The MAD of 256 bytes: payload of a UD SEND ONLY from QP1 to QP1 with Q_Key 0x80010000.
std::array<uint8_t, ROCE_MAD_LEN> cm_mad(const CmMessage &message);
// A complete frame with the MAD; `psn` is the PSN of QP1.
Result<Frame> cm_frame(const Path &path, const CmMessage &message, uint32_t psn);

// Parses the payload of a UD SEND ONLY to QP1; nullopt if it is not a CM message of a CmKind.
std::optional<CmMessage> parse_cm_mad(std::span<const uint8_t> mad);

} // namespace xr::packet
