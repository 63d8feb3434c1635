// SPDX-License-Identifier: Apache-2.0
// One flow of the stateless requester: its QPs take turns, and each step makes one packet.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/ring.h"
#include "congestion/pacer.h"
#include "congestion/qp_pacing.h"
#include "congestion/qp_rates.h"
#include "packet/pauses.h"
#include "packet/source.h"
#include "requester/faults.h"
#include "requester/frames.h"
#include "requester/send_counts.h"

namespace xr::requester {

class OpenFlow {
public:
  // Limit of steps without a packet in one call, for faults that skip every packet.
  static constexpr unsigned kMostIdle = 4096;

  OpenFlow(flow::Flow flow, double line_bits, bool headers_only);
  OpenFlow(const OpenFlow &) = delete;
  OpenFlow &operator=(const OpenFlow &) = delete;

  void obey(const packet::Pauses &pauses) { pauses_ = &pauses; }
  void start(uint64_t now);
  // Time of the next step(); kNever: the flow has ended.
  uint64_t due() const;
  // Unpaced: neither the flow nor its QPs have a rate.
  bool top() const { return pacer_.top() && !qp_pacing_; }
  // Handles a CNP about the flow's destination QPN `qp`.
  void cnp(uint64_t now, uint32_t qp);
  bool controlled() const { return qp_pacing_.has_value(); }
  void qp_rates(uint64_t now, std::vector<QpRate> &rows);
  void control_values(uint64_t now, congestion::ControlValues &values);
  const flow::Flow &flow() const { return flow_; }
  // Writes the due packets to `out`, as many as fit; returns their number.
  size_t run(uint64_t now, std::span<packet::Outgoing> out, SendCounts &counts);
  // Makes the next packet and returns its length in bytes; 0: skipped, held back or ended.
  uint32_t step(uint64_t now, packet::Outgoing &out, SendCounts &counts);

  uint64_t slipped_ns() const {
    return pacer_.slipped_ns() + (qp_pacing_ ? qp_pacing_->slipped_ns() : 0);
  }
  double asked_pps() const;
  uint64_t packets_to_come() const;       // without faults; 0: unlimited or unknown
  double frame_bytes() const;             // average
  uint64_t sent() const { return sent_; } // packets

private:
  // Compact: a flow may have 100,000 QPs.
  struct Qp {
    uint64_t message = 0;
    uint64_t sequence = 0; // of the next stamp
    uint32_t number = 0;
    uint32_t psn = 0;
    uint32_t size = 0;
    uint32_t index = 0, packets = 0; // in the message; packets == 0: nothing left to send
    uint32_t since_ack = 0;
    uint16_t port = 0;
  };
  struct Shape {
    const packet::Template *frame = nullptr;
    uint32_t bytes = 0;
  };
  // Segmentation of messages of one size.
  struct Plan {
    uint64_t size = UINT64_MAX;
    uint32_t packets = 0;
    uint32_t last_psns = 1; // PSNs of the last packet
    uint32_t dma_len = 0;
    Shape first, middle, last; // last: also ONLY
  };
  struct Waiting {
    packet::Outgoing packet;
    uint32_t bytes = 0;
  };
  using Queue = std::deque<Waiting>;
  // What every packet needs of `flow_`, side by side.
  struct Each {
    explicit Each(const flow::Flow &flow);
    uint64_t va, messages;
    uint32_t dest_qp, own_qp, immediate, ack_every;
    std::optional<bool> ack_req;
    bool solicited, interleave, listed;
  };

  // The QP of the packet just made. qps_[at_] may already be the next QP.
  struct From {
    uint32_t qp = 0;
    bool last = false; // the QP's last packet
  };

  uint64_t scheduled() const;
  const Plan &plan(uint32_t size);
  void make_plan(Plan &plan, uint32_t size);
  Shape shape(uint64_t size, uint32_t index);
  void begin_message(Qp &qp);
  void end_message(Qp &qp, SendCounts &counts);
  void next_turn();
  bool choose_qp(uint64_t now);
  void qp_sent(uint64_t now, uint32_t bytes, From from);

  size_t streak(const packet::Outgoing &like, std::span<packet::Outgoing> out, SendCounts &counts);
  // Makes the next packet in sequence, before faults.
  uint32_t make(packet::Outgoing &out, From &from, SendCounts &counts);
  void fill(packet::Outgoing &out, const Qp &qp);
  bool asks(Qp &qp, bool last) const;
  // The flow lists its opcodes.
  bool listed() const { return each_.listed; }
  uint32_t make_listed(packet::Outgoing &out, From &from, SendCounts &counts);
  uint32_t make_faulty(uint64_t now, packet::Outgoing &out, SendCounts &counts);
  void add_faults(const Waiting &made, From from, SendCounts &counts);
  void release(uint32_t qp);
  Waiting ghost_of(const packet::Outgoing &packet);
  bool ends(uint64_t now) const;
  void end(); // sends the held packets

  double bytes_of(uint64_t size, double &packets) const;

  // First what each packet needs, so that it is in few cache lines.
  uint64_t sent_ = 0;
  bool over_ = false;     // only waiting_ remains to be sent
  bool finished_ = false; // qps_ contains QPs without packets
  uint32_t varied_ = 0;
  size_t at_ = 0; // index of the current QP
  uint64_t end_ = kNever;
  Ring<uint32_t> due_qps_; // with qp_pacing_: QPs that may send now
  std::vector<Qp> qps_;
  std::vector<Plan> plans_; // indexed by a hash of the size
  flow::Flow flow_;
  const Each each_;
  FlowFrames frames_;
  const packet::Pauses *pauses_ = nullptr; // nullptr: PFC frames are not obeyed
  unsigned priority_;
  congestion::Pacer pacer_;
  std::optional<congestion::QpPacing> qp_pacing_; // set if each QP has its own rate
  uint32_t live_qps_;                             // QPs with packets to send
  Faults faults_;
  bool reliable_, vary_, faulty_;
  uint64_t sequence_ = 0;          // packet number, for faults
  Queue waiting_;                  // sent before new packets
  std::map<uint32_t, Queue> held_; // by QP, until its next packet is sent
};

} // namespace xr::requester
