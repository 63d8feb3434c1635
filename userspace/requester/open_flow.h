// SPDX-License-Identifier: Apache-2.0
// One flow of the stateless requester: its QPs in turn, a packet each time it is asked.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/ring.h"
#include "congestion/pacer.h"
#include "congestion/qp_pacing.h"
#include "packet/source.h"
#include "requester/faults.h"
#include "requester/frames.h"
#include "requester/send_counts.h"

namespace xr::requester {

class OpenFlow {
public:
  // Steps without a packet, where faults leave out everything: then it is asked again later.
  static constexpr unsigned kMostIdle = 4096;

  OpenFlow(flow::Flow flow, double line_bits);
  OpenFlow(const OpenFlow &) = delete;
  OpenFlow &operator=(const OpenFlow &) = delete;

  void start(uint64_t now);
  // When step() has something to do; kNever: it has ended.
  uint64_t due() const;
  // As fast as it goes: neither the flow nor its QPs have a rate.
  bool top() const { return pacer_.top() && !qp_pacing_; }
  // A CNP for this destination QPN of it arrived.
  void cnp(uint64_t now, uint32_t qp);
  bool controlled() const { return qp_pacing_.has_value(); }
  const flow::Flow &flow() const { return flow_; }
  // Packets that are due, as many as there is room for.
  size_t run(uint64_t now, std::span<packet::Outgoing> out, SendCounts &counts);
  // The next packet; its bytes, 0 when none came of it this time (left out, held back, ended).
  uint32_t step(uint64_t now, packet::Outgoing &out, SendCounts &counts);

  uint64_t slipped_ns() const {
    return pacer_.slipped_ns() + (qp_pacing_ ? qp_pacing_->slipped_ns() : 0);
  }
  double asked_pps() const;
  uint64_t packets_to_come() const; // without faults; 0: no end, or not known
  double frame_bytes() const;       // on the average

private:
  // Compact: there may be 100,000.
  struct Qp {
    uint64_t message = 0;
    uint32_t number = 0;
    uint32_t psn = 0;
    uint32_t size = 0;
    uint32_t index = 0, packets = 0; // of the message; 0 packets: there are no more
    uint32_t since_ack = 0;
    uint16_t port = 0;
  };
  struct Shape {
    const packet::Template *frame = nullptr;
    uint32_t bytes = 0;
  };
  // How messages of one size are cut.
  struct Plan {
    uint64_t size = UINT64_MAX;
    uint32_t packets = 0;
    uint32_t last_psns = 1; // that the last packet takes
    uint32_t dma_len = 0;
    Shape first, middle, last; // last: the only one too
  };
  struct Waiting {
    packet::Outgoing packet;
    uint32_t bytes = 0;
  };
  using Queue = std::deque<Waiting>;

  // Whose packet was made: its place among qps_ may be another's already.
  struct From {
    uint32_t qp = 0;
    bool last = false; // there will be no more of it
  };

  const Plan &plan(uint32_t size);
  void make_plan(Plan &plan, uint32_t size);
  Shape shape(uint64_t size, uint32_t index);
  void begin_message(Qp &qp);
  void end_message(Qp &qp, SendCounts &counts);
  void next_turn();
  bool choose_qp(uint64_t now);
  void qp_sent(uint64_t now, uint32_t bytes, From from);

  size_t streak(const packet::Outgoing &like, std::span<packet::Outgoing> out, SendCounts &counts);
  // The next packet in sequence.
  uint32_t make(packet::Outgoing &out, From &from, SendCounts &counts);
  void fill(packet::Outgoing &out, const Qp &qp);
  bool asks(Qp &qp, bool last) const;
  // Of a flow that says the opcodes.
  bool listed() const { return !flow_.opcodes.empty(); }
  uint32_t make_listed(packet::Outgoing &out, From &from, SendCounts &counts);
  uint32_t make_faulty(uint64_t now, packet::Outgoing &out, SendCounts &counts);
  void add_faults(const Waiting &made, From from, SendCounts &counts);
  void release(uint32_t qp);
  Waiting ghost_of(const packet::Outgoing &packet);
  bool ends(uint64_t now) const;
  void end(); // what is held back goes out

  double bytes_of(uint64_t size, double &packets) const;

  flow::Flow flow_;
  FlowFrames frames_;
  congestion::Pacer pacer_;
  std::optional<congestion::QpPacing> qp_pacing_; // where QPs have rates of their own
  Ring<uint32_t> due_qps_;                        // of those: QPs that may send now
  uint32_t live_qps_;                             // with packets to send
  Faults faults_;
  std::vector<Qp> qps_;
  std::vector<Plan> plans_; // by a hash of the size
  bool reliable_, vary_, faulty_;
  bool finished_ = false; // QPs without packets are among qps_
  bool over_ = false;     // only what waits is still to come
  size_t at_ = 0;         // whose turn it is
  uint32_t varied_ = 0;
  uint64_t end_ = packet::kNever;
  uint64_t sequence_ = 0;          // packets, for faults
  Queue waiting_;                  // goes out before anything else
  std::map<uint32_t, Queue> held_; // by QP, until its next packet has gone out
};

} // namespace xr::requester
