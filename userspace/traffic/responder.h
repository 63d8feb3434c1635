// SPDX-License-Identifier: Apache-2.0
// The responder: acknowledges requests, asks for what is missing, answers READs with made-up data
// and atomics, and is the notification point of DCQCN (IBA vol. 1, 9.7; annex A17.9.3). Also
// answers ARP, neighbour discovery and RDMA CM for its addresses.
#pragma once

#include <memory>
#include <vector>

#include "packet/frame.h"
#include "traffic/source.h"

namespace xr::traffic {

struct ResponderOptions {
  std::vector<packet::Address> addresses;    // its own; empty: whatever a RoCE packet is sent to
  packet::Mac mac{};                         // its own
  uint32_t first_qp = 2, last_qp = 0xffffff; // QPNs that exist
  // Whom an RC or XRC QP answers, which no request tells: the peer's QPN is the own one plus
  // `peer_offset` (mod 2^24), or `peer_qp` for all. RDMA CM, where it is used, tells better.
  int32_t peer_offset = 0;
  int64_t peer_qp = -1;
  uint32_t pmtu = 1024;    // of READ responses, until a FIRST, a MIDDLE or RDMA CM tells
  uint32_t ack_every = 0;  // an ACK after every N packets; 0: only where AckReq asks for it
  bool merge_acks = false; // of several that wait to leave only the newest does
  uint64_t rnr_every = 0;  // every N-th message is refused once with an RNR NAK; 0: none
  uint8_t rnr_timer = 12;  // its timer code: 0.64 ms
  bool cnp = true;         // answer CE marks
  uint64_t cnp_interval_ns = 50'000;
  enum class Scope : uint8_t { Stream, Pair, Port } cnp_scope = Scope::Stream;
  uint8_t cnp_dscp = 48;
  uint8_t ack_tos = ROCE_ECN_ECT0; // of all other answers
  bool check_icrc = true;          // frames with a wrong one are counted and dropped, as RNICs do
  uint32_t qps = 65536;            // room for connections (source, destination QPN)
  uint64_t seed = 0;
};

struct RespondCounts {
  uint64_t frames = 0, bytes = 0; // that came in
  uint64_t requests = 0;          // RoCE requests for its QPs
  uint64_t in_order = 0, duplicates = 0, out_of_order = 0;
  uint64_t messages = 0, message_bytes = 0; // SENDs, WRITEs completed, and their payload
  uint64_t datagrams = 0;                   // UD
  uint64_t unreliable = 0;                  // UC packets; uc_dropped: of broken messages
  uint64_t uc_dropped = 0;
  uint64_t ce = 0; // marked
  uint64_t bad_icrc = 0, malformed = 0;
  uint64_t no_qp = 0;             // for a QPN out of the range, or GSI
  uint64_t not_mine = 0;          // another address
  uint64_t invalid = 0;           // opcodes out of sequence, too long, ... answered by NAK 0x61
  uint64_t responses_seen = 0;    // ACKs, READ responses, CNPs sent to it
  uint64_t qps = 0, qps_full = 0; // connections; requests of those that found no room
  // what it sent
  uint64_t acks = 0, naks = 0, rnr_naks = 0, read_responses = 0, atomic_acks = 0;
  uint64_t cnps = 0, cnps_paced = 0, cnps_no_room = 0; // the last: too many streams at once
  uint64_t arp = 0, nd = 0;                            // answers
  uint64_t cm_connections = 0, cm_messages = 0, cm_rejected = 0;
  uint64_t answers_dropped = 0; // no room to remember what is to be answered
};

class Responder : public Source {
public:
  explicit Responder(const ResponderOptions &options);
  ~Responder() override;

  void receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
               const roce_packet &packet) override;
  size_t next(uint64_t now, std::span<Outgoing> out) override;
  uint64_t wake_at() const override;
  bool done() const override { return false; }

  const RespondCounts &counts() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace xr::traffic
