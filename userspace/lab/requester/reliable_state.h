// SPDX-License-Identifier: Apache-2.0
// Internal state of the reliable requester. reliable.cpp handles received packets and timers;
// reliable_send.cpp schedules the flows and QPs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <queue>
#include <vector>

#include "base/prefetch.h"
#include "congestion/notification_point.h"
#include "congestion/pacer.h"
#include "congestion/qp_pacing.h"
#include "packet/pauses.h"
#include "packet/peer_map.h"
#include "requester/faults.h"
#include "requester/frames.h"
#include "requester/reliable.h"
#include "requester/reliable_qp.h"

namespace xr::requester {

struct ReliableFlow {
  // `all`: counts of all flows. `others`: templates that others made; nullptr: none.
  ReliableFlow(const flow::Flow &given, double line_bits, const Reliability &reliability,
               SendCounts &all, FlowFrames *others);

  // First what each packet needs.
  const flow::Flow &flow;
  const packet::Pauses *pauses = nullptr; // nullptr: PFC frames are not obeyed
  unsigned priority;
  bool listed = false; // is in active_, or in waiting_ until listed_until
  bool active = false;
  uint8_t last_shape = 0; // that was used last
  uint64_t listed_until = 0;
  uint32_t first_qp = 0;
  uint32_t busy = 0;                                      // QPs with messages outstanding
  uint64_t first_sent = 0, last_sent = 0, last_acked = 0; // ns; 0: none
  Ring<uint32_t> ready;                                   // QPs that may have packets to send
  Ring<packet::Outgoing> extra;                           // made by faults; sent before new packets
  std::unique_ptr<SendCounts> own_counts;                 // with Reliability::flow_counts
  ReliableContext context;
  std::optional<congestion::QpPacing> qp_pacing; // set if each QP has its own rate
  // A cache of the last template of each operation, to save the lookup in the map of templates.
  // Those of a verb differ in the lowest bits.
  struct Shape {
    uint32_t payload = UINT32_MAX;
    uint8_t opcode = 0;
    const packet::Template *shape = nullptr;
  };
  std::array<Shape, 8> shapes;
  congestion::Pacer pacer;

  struct Faulty {
    Faults faults;
    packet::Outgoing held; // Reorder: sent after the next packet of its QP
    uint32_t held_qp = UINT32_MAX;
    uint64_t numbered = 0; // packets sent for the first time
  };
  std::unique_ptr<Faulty> faulty; // of a flow with faults
  std::optional<FlowFrames> own_frames;
  FlowFrames *frames;
  FlowLosses losses;
  uint32_t unbegun = 0; // QPs with messages not begun
  uint64_t end_at = kNever;
  PostedMessages posted;
  bool drained = false;   // drain_ns has expired
  uint16_t next_port = 0; // PortChoice::Vary

  const packet::Template *shape(const packet::Segment &segment) {
    last_shape = segment.opcode & 7;
    Shape &last = shapes[last_shape];
    if (last.payload != segment.payload || last.opcode != segment.opcode)
      last = {segment.payload, segment.opcode, frames->of(segment.opcode, segment.payload)};
    return last.shape;
  }
  // The template of a posted message.
  const packet::Template *shape(const RequestPacket &packet) {
    if (!packet.post || packet.post->rkey == flow.rkey)
      return shape(packet.segment);
    return frames->of(packet.segment.opcode, packet.segment.payload, packet.post->rkey);
  }
  // Packets that remain after the pacer's last burst are not paced.
  uint64_t due() const {
    const uint64_t flow_due = std::max(pacer.due() == kNever ? 0 : pacer.due(), resumed());
    if (!qp_pacing || !ready.empty() || !extra.empty())
      return flow_due;
    return std::max(flow_due, qp_pacing->next_due());
  }
  SendCounts &counts() { return context.counts; }
  // The end of the last pause; later than now: it is paused.
  uint64_t resumed() const { return pauses ? pauses->until(priority) : 0; }
  bool has_ready() const {
    return !ready.empty() || !extra.empty() || (qp_pacing && qp_pacing->any_waits());
  }
};

struct ReliableSource::State {
  State(std::vector<flow::Flow> given, const congestion::Rate &total, double line_bits,
        const Reliability &reliability, const std::vector<FlowFrames *> &frames);

  void receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
               const roce_packet &packet);
  size_t next(uint64_t now, std::span<packet::Outgoing> out);
  uint64_t wake_at() const;
  bool done() const { return live_flows_ == 0 && busy_qps_ == 0; }
  double asked_pps() const;
  void qp_rates(uint64_t now, std::vector<QpRate> &rows);
  void control_values(uint64_t now, congestion::ControlValues &values);
  void flow_losses(std::vector<FlowLosses> &rows) const;
  void obey(const packet::Pauses &pauses);
  void echo(std::span<const xdp_roce_hop> hops) { hops_ = hops; }
  void prefetch_own() const {
    prefetch_members(counts, counts.bytes);
    prefetch_members(reliability_, patterns_used_);
  }
  void prefetch(unsigned step) const;
  std::optional<flow::Flow::Begin> end_of(size_t flow, uint32_t qp_index) const;
  flow::Flow::Begin begin_again(size_t flow, uint32_t qp_index) const;
  void hold(size_t flow, bool held);
  void close(size_t flow);
  void abandon(size_t flow);
  void post(uint64_t now, size_t flow, const Post &post);
  FlowProgress progress(size_t flow) const;
  bool owns(const roce_packet &packet) const;
  const SendCounts &sum();

  std::vector<flow::Flow> flows;

private:
  struct Due {
    uint64_t time;
    uint32_t index;
    bool operator>(const Due &other) const { return time > other.time; }
  };
  using Timers = std::priority_queue<Due, std::vector<Due>, std::greater<>>;

  void start(uint64_t now);
  void run_timers(uint64_t now);
  void expire(uint64_t now, uint32_t qp);
  void tell_control(uint64_t now, uint32_t qp, uint64_t before, std::span<const uint8_t> frame,
                    const roce_packet &packet);
  void take_orders(uint32_t qp);
  void notify(uint64_t now, uint32_t qp, const roce_packet &packet);
  void list_anew();
  uint64_t cnps_due() const;
  size_t send_cnps(uint64_t now, std::span<packet::Outgoing> out);
  void run_ends(uint64_t now);
  void close(ReliableFlow &flow);
  void settle(uint32_t qp);
  void list(ReliableFlow &flow);

  bool send_one(uint64_t now, ReliableFlow &flow, packet::Outgoing &out);
  bool send_of(uint64_t now, ReliableFlow &flow, uint32_t qp, packet::Outgoing &out);
  static void fill(const RequestPacket &packet, const flow::Flow &flow, uint32_t qp,
                   packet::Outgoing &out);
  std::span<const uint8_t> pattern(const flow::Flow &flow, uint32_t qp,
                                   const RequestPacket &packet);
  void answer(uint64_t now, uint32_t index, std::span<const uint8_t> frame,
              const roce_packet &packet);
  bool with_faults(ReliableFlow &flow, uint32_t qp, packet::Outgoing &out);
  void release_held(ReliableFlow &flow, uint32_t qp);
  void next_turn(uint64_t now, ReliableFlow &flow, uint32_t qp);
  void handed_out(uint64_t now, ReliableFlow &flow, const packet::Outgoing &out);
  uint64_t slipped() const;

  SendCounts counts;                // of flows without counts of their own, and of no flow
  std::unique_ptr<SendCounts> sum_; // with Reliability::flow_counts
  Reliability reliability_;
  std::deque<ReliableFlow> states_;
  std::vector<ReliableQp> qps_;
  std::vector<uint32_t> flow_of_;
  packet::PeerMap<uint32_t> index_; // (peer, own QPN) to the index in qps_
  congestion::Pacer total_;
  congestion::BasicNotificationPoint<uint32_t> notification_point_; // of QPs by their index
  Ring<uint32_t> cnps_;                                             // QPs whose CNP goes next
  Timers timers_;
  Timers waiting_;        // flows not due yet
  Ring<uint32_t> active_; // flows that are due
  uint32_t live_flows_ = 0, busy_qps_ = 0;
  uint64_t next_end_ = kNever;         // earliest end of a flow or of its drain time
  uint64_t now_ = 0;                   // of the last call
  std::span<const xdp_roce_hop> hops_; // of the next received frame
  const packet::Pauses *pauses_ = nullptr;
  uint64_t pauses_seen_ = 0; // changes of them that waiting_ knows
  bool started_ = false;
  // The payload of the packets of the last next(), of flows with a pattern.
  std::vector<std::unique_ptr<std::array<uint8_t, 4096>>> patterns_;
  size_t patterns_used_ = 0;
};

} // namespace xr::requester
