// SPDX-License-Identifier: Apache-2.0
// The counters and reports of `send` and `respond`, so far or at their end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/histogram.h"

namespace xr {

// The first few QPNs that answers carried for which there is no QP here.
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

// What a requester did and saw. `packets` and `bytes` (frames without FCS) are all that was handed
// out, faults and retransmissions included.
struct SendCounts {
  uint64_t packets = 0, bytes = 0;
  uint64_t messages = 0;      // open: handed out whole; reliable: completed
  uint64_t message_bytes = 0; // of those
  // faults on purpose
  uint64_t skipped = 0, repeated = 0, reordered = 0, bad_icrc = 0, bad_pad = 0, ghost_acks = 0;
  // reliable
  uint64_t retransmitted = 0, timeouts = 0, acks = 0, naks = 0, rnr_naks = 0, read_responses = 0,
           duplicate_acks = 0, stray = 0, failed_qps = 0, failed_messages = 0,
           bad_icrc_received = 0;
  // NAKs by their code (IBA vol. 1, 9.7.5.2.8); `naks` are PSN sequence errors, the others end a
  // QP.
  uint64_t invalid_naks = 0, access_naks = 0, operational_naks = 0;
  uint64_t cnps = 0;
  StrayQps stray_qps;      // of `stray`, those for which there is no QP
  uint64_t slipped_ns = 0; // schedule given up, summed over flows
  Histogram rtt_ns;        // from a packet with AckReq, sent once, to its ACK
  Histogram completion_ns; // of messages, first packet to last acknowledgement
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

// Frames, by what the kernel counts (XDP_STATISTICS), and what we did.
struct SocketCounts {
  uint64_t rx_dropped = 0;   // too long for a chunk, or otherwise not to be had
  uint64_t rx_ring_full = 0; // we were too slow
  uint64_t rx_no_chunk = 0;  // likewise: no free memory; in copy mode only
  uint64_t tx_invalid = 0;
  uint64_t tx_dropped = 0; // by the driver, which could not take them
  uint64_t link_down = 0;  // it said that the port is down
  // Not frames: times that a buffer was asked for, and the fill ring was empty. In zero-copy a
  // driver asks ahead of the frames, and what it lacks then costs none as long as its ring has
  // some.
  uint64_t fill_ring_empty = 0;
};

struct EngineCounts {
  uint64_t sent = 0, sent_bytes = 0; // handed to the kernel; frames without FCS
  uint64_t received = 0, received_bytes = 0;
  uint64_t not_sent = 0; // handed over, but never sent: in the end only; not in `sent`
  uint64_t too_long = 0; // frames that the socket has no room for
  // By the port since the beginning, frames of any sender and receiver; of all engines.
  uint64_t port_drops = 0, port_missed = 0;
  uint64_t begun_ns = 0, now_ns = 0; // monotonic
  // Of packets with a schedule: how late they left, and by how much the time between two differs
  // from what was asked.
  Histogram late_ns, jitter_ns;
  uint64_t last_late_ns = 0; // of the last one
  SocketCounts socket;
};

// So far, or in the end.
struct RunReport {
  std::string ifname;
  uint32_t zero_copy_queues = 0;
  std::string xdp_mode; // "" where nothing is received
  uint32_t queues = 1;
  double seconds = 0;
  EngineCounts engine;
};

struct SendReport : RunReport {
  std::string kind;                // "open", "reliable", "replay"
  uint64_t line_bits = 0;          // a second
  uint64_t seed = 0;               // of what is drawn; given or not, it can be given again
  double asked_pps = 0;            // 0: as fast as it goes
  uint64_t expected = 0, done = 0; // packets, or messages when reliable; expected 0: no end
  bool finished = false;           // it was not interrupted
  SendCounts counts;
};

struct RespondReport : RunReport {
  std::vector<std::string> addresses;
  RespondCounts counts;
};

} // namespace xr
