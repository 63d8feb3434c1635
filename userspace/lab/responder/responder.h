// SPDX-License-Identifier: Apache-2.0
// The responder: acknowledges requests, sends NAKs, answers READs with generated data, executes
// atomics, and is the notification point of DCQCN (IBA vol. 1, 9.7; annex A17.9.3). Also answers
// ARP, neighbour discovery and RDMA CM for its addresses.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "congestion/notification_point.h"
#include "model/run_reports.h"
#include "packet/frame.h"
#include "packet/pauses.h"
#include "packet/source.h"
#include "rate/control.h"
#include "responder/memory.h"
#include "responder/receiver.h"
#include "responder/siblings.h"
#include "stamps/one_way.h"

namespace xr::responder {

struct ResponderOptions {                 // NOLINT(clang-analyzer-optin.performance.Padding)
  std::vector<packet::Address> addresses; // local addresses; empty: accepts packets to any address
  packet::Mac mac{};                      // local MAC
  // For ARP and ND, where local addresses have different MACs.
  std::function<packet::Mac(const packet::Address &)> mac_of = {};
  uint32_t first_qp = 2, last_qp = 0xffffff; // QPNs that exist
  // The destination QPN of RC and XRC responses, which requests do not contain: the local QPN plus
  // `peer_offset` (mod 2^24), or `peer_qp` if it is not negative. RDMA CM overrides both.
  int32_t peer_offset = 0;
  int64_t peer_qp = -1;
  // Where it is known: the peer's QPN of a local one. Before the two above.
  std::function<std::optional<uint32_t>(uint32_t qp)> peer_of = {};
  uint32_t pmtu = 1024;    // of READ responses, until a FIRST or MIDDLE packet or RDMA CM gives it
  uint32_t ack_every = 0;  // an ACK after every N packets; 0: only for AckReq
  bool echo_ce = false;    // ACKs have BECN where a request before them had CE: for DCTCP
  bool merge_acks = false; // send only the newest of several queued ACKs
  bool selective = false;  // selective repeat: keeps requests after a missing one
  // With `selective`: no NAK for missing requests, which a timeout of the peer sends again. For
  // networks that reorder.
  bool reorder = false;
  // With `reorder`: the PSN with which the peer of a QP begins, if it is known.
  std::function<std::optional<uint32_t>(uint32_t qp)> first_psn = {};
  uint32_t most_kept = 1024; // selective: requests that each QP keeps; its peer's window
  uint64_t cnp_every = 0;    // a CNP for every N-th request, marked or not; 0: only for marks
  uint64_t rnr_every = 0;    // an RNR NAK for every N-th message, once; 0: none
  uint8_t rnr_timer = 12;    // RNR timer code (IBA vol. 1, 9.7.5.2.8): 12 is 0.64 ms
  bool cnp = true;           // send CNPs for CE-marked packets
  congestion::CnpPacing cnp_pacing;
  uint8_t cnp_dscp = 48, cnp_ecn = 0;
  // How each QP's READ responses are paced: CNPs for the QP reach it. Kind::None or Fixed or Dcqcn.
  congestion::Control control = {};
  double line_bits =
      0; // a second: the base of Percent, and the line's rate where `control` has none
  uint8_t ack_tos = ROCE_ECN_ECT0; // of all responses except CNPs
  std::optional<uint8_t> nak_tos;  // of NAKs and RNR NAKs; none: as of the others
  bool check_icrc = true;          // count and drop frames with a wrong iCRC, as RNICs do
  // Received frames end after their headers, as in a simulation, which has no payload: for a
  // responder that does not read it (no check_icrc, no sink). RDMA CM gets no answer. What differs
  // from packet to packet (packet::Fields) is read from the parsed packet alone. Templates are
  // those of make_headers().
  bool headers_only = false;
  bool cm_v1 = true, cm_v2 = true;   // RoCE versions whose RDMA CM is answered
  std::optional<uint16_t> cm_reject; // the reason with which every REQ is rejected
  bool connection_counts = false;    // each_connection()
  uint32_t qps = 65536; // maximum number of connections (source address, destination QPN)
  // What WRITEs, READs and atomics access. nullptr: WRITEs are dropped after their ACK, READ data
  // is generated, atomics operate on one word per QP.
  Memory *memory = nullptr;
  Receiver *receiver = nullptr;           // nullptr: every SEND has a receive, and every REQ a REP
  bool open_only = false;                 // QPs exist if RDMA CM or open() made them
  const packet::Pauses *pauses = nullptr; // answers of a paused priority wait
  Siblings *siblings = nullptr;           // nullptr: it has all connections
  uint32_t number = 0;                    // its own among the siblings
  uint64_t seed = 0;
  // Counts RoCE frames and the stamps in them, and never answers them. `now` of receive() must be
  // CLOCK_TAI then.
  bool sink = false;
  // With connection_counts: CLOCK_TAI is the `now` of receive() and this.
  std::optional<int64_t> tai_offset_ns;
  stamps::OneWayOptions latency = {};
};

// What came for one connected QP, and what was answered.
struct ConnectionCounts {
  packet::Address peer{};
  uint32_t own_qp = 0, peer_qp = 0;
  RespondCounts counts;               // what one connection counts: no frames of other kinds
  uint64_t first_ns = 0, last_ns = 0; // arrival of requests; 0: none
  // One-way latency of stamped requests, where the clock of the stamps is known.
  uint64_t stamped = 0, latency_min_ns = 0, latency_max_ns = 0;
  double latency_sum_ns = 0;
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

  // A QP that others connected, in place of one with the same ends. False: there is no room.
  bool open(const Connected &connected);
  void close(const Connected &connected);

  const RespondCounts &counts() const; // of all
  // With ResponderOptions::connection_counts: of each connection, since it was cleared.
  void each_connection(const std::function<void(const ConnectionCounts &)> &use) const;
  void clear_connections(const std::function<bool(const ConnectionCounts &)> &which);
  const stamps::OneWay &latency() const; // of a sink
  // Appends a row for each QP that sent READ responses, if their rates change.
  void qp_rates(uint64_t now, std::vector<QpRate> &rows);

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace xr::responder
