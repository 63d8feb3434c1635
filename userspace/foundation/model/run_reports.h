// SPDX-License-Identifier: Apache-2.0
// The counters and reports of `send` and `respond`, during a run or at its end.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/histogram.h"
#include "base/processors.h"
#include "model/latency_report.h"

namespace xr {

// The first few unknown QPNs to which replies were sent.
class StrayQps {
public:
  static constexpr size_t kMost = 4;

  void add(uint32_t qp) {
    if (std::find(qps_.begin(), qps_.end(), qp) != qps_.end())
      return;
    if (qps_.size() == kMost)
      more_ = true;
    else
      qps_.push_back(qp);
  }
  void add(const StrayQps &other) {
    for (const uint32_t qp : other.qps_)
      add(qp);
    more_ = more_ || other.more_;
  }
  const std::vector<uint32_t> &qps() const { return qps_; }
  bool more() const { return more_; }

private:
  std::vector<uint32_t> qps_;
  bool more_ = false;
};

// The counters of a requester. `packets` and `bytes` (frames without FCS) count all that was queued
// for sending, including faults and retransmissions.
struct SendCounts {
  uint64_t packets = 0, bytes = 0;
  uint64_t messages = 0;      // open loop: queued completely; reliable: completed
  uint64_t message_bytes = 0; // payload of those
  // injected faults
  uint64_t skipped = 0, repeated = 0, reordered = 0, bad_icrc = 0, bad_pad = 0, ghost_acks = 0;
  // counts of reliable flows
  uint64_t retransmitted = 0, timeouts = 0, acks = 0, naks = 0, rnr_naks = 0, read_responses = 0,
           duplicate_acks = 0, stray = 0, failed_qps = 0, failed_messages = 0,
           bad_icrc_received = 0;
  // selective repeat: answers kept because an earlier one is missing; those for which there was no
  // room
  uint64_t kept = 0, kept_no_room = 0;
  uint64_t answer_bytes = 0; // payload of READ responses and atomics' answers that were taken, once
  // NAKs by code (IBA vol. 1, 9.7.5.2.8). `naks` are PSN sequence errors; the others end the QP.
  uint64_t invalid_naks = 0, access_naks = 0, operational_naks = 0;
  uint64_t cnps = 0; // received
  // The notification point of READ responses: those marked CE, and the CNPs for them.
  uint64_t ce = 0, cnps_sent = 0, cnps_paced = 0, cnps_no_room = 0;
  StrayQps stray_qps;      // part of `stray`: QPNs that do not exist here
  uint64_t slipped_ns = 0; // schedule time given up, summed over flows
  Histogram rtt_ns;        // from a packet with AckReq that was sent once, to its ACK
  Histogram completion_ns; // of messages: from the first packet to the last acknowledgement
};

// What a flow sent, and the answers that made it send again.
struct FlowLosses {
  uint32_t qp = 0;   // the first destination QPN
  uint64_t sent = 0; // packets, retransmissions too
  uint64_t naks = 0, timeouts = 0, failed_messages = 0;
};

// What was read back of what was written, with `send --verify`.
struct VerifyCounts {
  static constexpr size_t kMost = 16;
  // The first byte of a packet that differs.
  struct Difference {
    uint32_t qp = 0;                  // the destination's QPN
    uint64_t message = 0, offset = 0; // number in the QP, from 0; in the message
    uint64_t va = 0;
    uint8_t written = 0, read = 0;
  };

  uint64_t messages = 0, bytes = 0; // compared
  uint64_t different_packets = 0, different_bytes = 0;
  std::vector<Difference> differences; // the first ones

  void add(const Difference &difference) {
    if (differences.size() < kMost)
      differences.push_back(difference);
  }
  void add(const VerifyCounts &other) {
    messages += other.messages;
    bytes += other.bytes;
    different_packets += other.different_packets;
    different_bytes += other.different_bytes;
    for (const Difference &item : other.differences)
      add(item);
  }
};

// RDMA CM of a requester: connections, and their MADs.
struct CmCounts {
  uint64_t requested = 0, established = 0, rejected = 0;
  uint64_t timed_out = 0; // REQs without an answer
  uint64_t ended = 0;     // by our DREQ and the peer's DREP
  uint64_t ended_by_peer = 0;
  uint64_t not_ended = 0; // our DREQ had no answer
  uint64_t mads_sent = 0, mads_resent = 0, mads_received = 0;
  uint64_t mras = 0;
  uint64_t strays = 0; // received MADs for no connection of ours
  uint16_t reason = 0; // of the first REJ
};

// A QP whose rate is controlled, or the sum of several. Rates in bit/s.
struct QpRate {
  uint32_t qp = 0;  // the destination's QPN
  uint64_t qps = 1; // 1, or how many are summed
  double rate = 0, target = 0, mean = 0;
  double alpha = 0; // of DCQCN; of several QPs: their mean
  uint64_t cnps = 0, cnps_unused = 0, cuts = 0;
  uint64_t fast = 0, additive = 0, hyper = 0; // increases by stage

  void add(const QpRate &other); // sums; alpha becomes the mean of all
};

// QPs with congestion control.
struct QpRates {
  std::vector<QpRate> qps; // those with the most CNPs
  QpRate other_qps;        // the sum of the others; its qps 0: none
  double jain = 0;         // Jain's index of fairness of all QPs' mean rates; 0: no QPs

  QpRate total() const; // of all QPs
};

// The rates of a `send` or `respond` that runs.
struct EndpointRates : QpRates {
  bool responder = false; // rates of READ responses
  uint64_t time_ns = 0;   // CLOCK_MONOTONIC
};

struct RespondCounts {
  uint64_t frames = 0, bytes = 0; // received
  uint64_t requests = 0;          // RoCE requests for local QPs
  uint64_t in_order = 0, duplicates = 0, out_of_order = 0;
  // selective repeat: requests kept because an earlier one is missing; those for which there was no
  // room
  uint64_t kept = 0, kept_no_room = 0;
  uint64_t messages = 0, message_bytes = 0; // SENDs and WRITEs completed, and their payload
  uint64_t datagrams = 0;                   // UD
  uint64_t unreliable = 0; // UC packets; uc_dropped: packets of incomplete messages
  uint64_t uc_dropped = 0;
  uint64_t ce = 0; // received with ECN CE
  uint64_t bad_icrc = 0, malformed = 0;
  uint64_t no_qp = 0;    // for a QPN outside the range, or GSI
  uint64_t not_mine = 0; // for another address
  uint64_t invalid = 0;  // wrong opcode sequence, too long, ...: answered by NAK invalid request
  // Requests for memory that were refused, by reason: the QP is in error then, and drops the rest.
  uint64_t bad_rkey = 0, out_of_bounds = 0, no_access = 0;
  uint64_t qps_in_error = 0, dropped_in_error = 0;
  uint64_t responses_seen = 0;    // ACKs, READ responses and CNPs received
  uint64_t qps = 0, qps_full = 0; // connections; requests dropped because no connection was free
  // sent
  uint64_t acks = 0, naks = 0, rnr_naks = 0, read_responses = 0, atomic_acks = 0;
  // cnps_no_room: too many streams at the same time.
  uint64_t cnps = 0, cnps_paced = 0, cnps_no_room = 0;
  // received, with rates of READ responses: for QPs that have one; for others
  uint64_t cnps_received = 0, cnps_stray = 0;
  uint64_t slipped_ns = 0;  // schedule time of READ responses given up, summed over QPs
  uint64_t arp = 0, nd = 0; // replies
  uint64_t cm_connections = 0, cm_messages = 0, cm_rejected = 0;
  uint64_t cm_other_version = 0; // REQs of the RoCE version that is not answered
  uint64_t answers_dropped = 0;  // requests dropped because the reply queue was full
  // Frames on another queue than that of their connection; those of them that were dropped because
  // too many waited for it.
  uint64_t other_queue = 0, other_queue_full = 0;
};

// RespondCounts consists of 64-bit counters only.
template <typename Change>
RespondCounts counters_of(const RespondCounts &one, const RespondCounts &other, Change change) {
  using Counters = std::array<uint64_t, sizeof(RespondCounts) / sizeof(uint64_t)>;
  auto all = std::bit_cast<Counters>(one);
  const auto each = std::bit_cast<Counters>(other);
  for (size_t i = 0; i < all.size(); i++)
    all[i] = change(all[i], each[i]);
  return std::bit_cast<RespondCounts>(all);
}
inline void add(RespondCounts &all, const RespondCounts &more) {
  all = counters_of(all, more, std::plus());
}
// What was counted since.
inline RespondCounts since(const RespondCounts &now, const RespondCounts &before) {
  return counters_of(now, before, std::minus());
}

// Counters of the AF_XDP sockets in frames: from the kernel (XDP_STATISTICS), and our own.
struct SocketCounts {
  uint64_t rx_dropped = 0;   // too long for a chunk, or another error
  uint64_t rx_ring_full = 0; // this process was too slow
  uint64_t rx_no_chunk = 0;  // too slow: no free chunk in the fill ring; copy mode only
  uint64_t tx_invalid = 0;
  uint64_t tx_dropped = 0; // the driver could not accept them
  uint64_t link_down = 0;  // the driver reported that the port is down
  // Not frames: how often the driver found the fill ring empty. In zero-copy mode a driver refills
  // its ring ahead of the frames, so an empty fill ring loses nothing while the driver's ring has
  // buffers.
  uint64_t fill_ring_empty = 0;
};

struct EngineCounts {
  uint64_t sent = 0, sent_bytes = 0; // given to the kernel; frames without FCS
  uint64_t received = 0, received_bytes = 0;
  // Given to the kernel but never transmitted: known only at the end; not in `sent`.
  uint64_t not_sent = 0;
  uint64_t too_long = 0; // longer than the socket allows
  // Counted by the port since the start, for frames of all processes and all engines.
  uint64_t port_drops = 0, port_missed = 0, port_sent = 0;
  uint64_t begun_ns = 0, now_ns = 0; // CLOCK_MONOTONIC
  // For packets with a schedule: the delay of their departure, and the difference between the
  // actual and the scheduled time since the packet before.
  Histogram late_ns, jitter_ns;
  uint64_t last_late_ns = 0; // of the last packet
  SocketCounts socket;
};

// The PFC and PAUSE frames that a run received, and how long each priority was paused.
struct PauseReport {
  uint64_t pfc = 0, pause = 0;
  uint64_t refused = 0; // of both: the line's rate is unknown
  std::array<uint64_t, 8> paused_ns{};
};

// The report of a run, during it or at its end.
struct RunReport : QpRates {
  std::string ifname;
  uint32_t zero_copy_queues = 0;
  std::string xdp_mode; // "" if the run receives nothing
  uint32_t queues = 1;
  std::vector<PlacedThread> processors; // of the threads that send and receive
  double seconds = 0;
  EngineCounts engine;
  PauseReport pauses;
};

// The frames of `send ... pfc`. Times in nanoseconds.
struct PfcReport {
  bool global = false, storm = false;
  std::vector<unsigned> priorities;
  std::vector<uint16_t> quanta;
  uint16_t enable = 0; // class-enable vector
  uint64_t interval_ns = 0;
  uint64_t pause_ns = 0; // how long the least quanta last; 0: the line rate is unknown
  Histogram gap_ns;      // between frames, when they were given to the driver
  uint64_t late = 0;     // gaps above half of pause_ns
  uint64_t lapsed = 0;   // gaps above pause_ns: the peer may have sent meanwhile
  uint64_t xons = 0;
};

struct SendReport : RunReport {
  enum class Kind : uint8_t { Open, Reliable, Replay, Pfc };
  Kind kind = Kind::Open;
  bool live = false;       // sent as live frames, not by AF_XDP
  uint32_t live_batch = 0; // live: frames that are sent together
  uint64_t not_taken = 0;  // live: sent, but not counted as sent by the port; known at the end
  std::string engine_why;  // why live frames, or why not; "": they were not asked for
  uint64_t line_bits = 0;  // line rate in bit/s
  // Seed of all random numbers; shown even if the user gave none, so that the run can be repeated.
  uint64_t seed = 0;
  double asked_pps = 0;            // 0: as fast as possible
  uint64_t expected = 0, done = 0; // packets, or messages if reliable; expected 0: unlimited
  bool finished = false;           // false: interrupted
  std::optional<PfcReport> pfc;
  std::optional<VerifyCounts> verified;
  std::optional<CmCounts> cm;
  SendCounts counts;
  std::vector<FlowLosses> losses;   // of each flow that sent
  uint64_t series_rows_dropped = 0; // rows of --series that found no room
};

// The memory of a responder.
struct MemoryReport {
  uint64_t bytes = 0, va = 0;
  uint32_t rkey = 0;
  std::string access;
};

struct RespondReport : RunReport {
  std::vector<std::string> addresses;
  std::optional<MemoryReport> memory;
  RespondCounts counts;
  std::optional<LatencyReport> latency; // set: a sink, which does not answer RoCE
};

} // namespace xr
