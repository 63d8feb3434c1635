// SPDX-License-Identifier: Apache-2.0
// The responder: acknowledges requests, asks for what is missing, answers READs with made-up data
// and atomics, and is the notification point of DCQCN (IBA vol. 1, 9.7; annex A17.9.3). Also
// answers ARP, neighbour discovery and RDMA CM for its addresses.
#pragma once

#include <memory>
#include <vector>

#include "congestion/notification_point.h"
#include "model/run_reports.h"
#include "packet/frame.h"
#include "packet/source.h"

namespace xr::responder {

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
  congestion::CnpPacing cnp_pacing;
  uint8_t cnp_dscp = 48;
  uint8_t ack_tos = ROCE_ECN_ECT0; // of all other answers
  bool check_icrc = true;          // frames with a wrong one are counted and dropped, as RNICs do
  uint32_t qps = 65536;            // room for connections (source, destination QPN)
  uint64_t seed = 0;
};

class Responder : public packet::Source {
public:
  explicit Responder(const ResponderOptions &options);
  ~Responder() override;

  void receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
               const roce_packet &packet) override;
  size_t next(uint64_t now, std::span<packet::Outgoing> out) override;
  uint64_t wake_at() const override;
  bool done() const override { return false; }

  const RespondCounts &counts() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace xr::responder
