// SPDX-License-Identifier: Apache-2.0
// Faults in the packets of a flow: skipped, repeated, delayed or damaged packets.
#include "requester/open_flow.h"

namespace xr::requester {

uint32_t OpenFlow::make_faulty(uint64_t now, packet::Outgoing &out, SendCounts &counts) {
  if (waiting_.empty() && !over_) {
    Waiting made;
    From from;
    made.bytes = make(made.packet, from, counts);
    qp_sent(now, made.bytes, from);
    add_faults(made, from, counts);
  }
  if (waiting_.empty())
    return 0;
  out = waiting_.front().packet;
  const uint32_t bytes = waiting_.front().bytes;
  waiting_.pop_front();
  return bytes;
}

// An ACK without credits; its MSN counts the messages before this one (IBA vol. 1, 9.7.5.2.1).
OpenFlow::Waiting OpenFlow::ghost_of(const packet::Outgoing &packet) {
  constexpr uint32_t kNoCredits = 0x1f;
  Waiting ghost;
  ghost.packet.shape = frames_.ack();
  ghost.packet.fields.dest_qp = packet.fields.dest_qp;
  ghost.packet.fields.psn = packet.fields.psn;
  ghost.packet.fields.src_port = packet.fields.src_port;
  ghost.packet.fields.solicited = packet.fields.solicited;
  ghost.packet.fields.aeth =
      kNoCredits << 24 | ((packet.fields.immediate - flow_.immediate) & ROCE_PSN_MASK);
  ghost.bytes = ghost.packet.shape->size();
  return ghost;
}

void OpenFlow::release(uint32_t qp) {
  const auto held = held_.find(qp);
  if (held == held_.end())
    return;
  waiting_.insert(waiting_.end(), held->second.begin(), held->second.end());
  held_.erase(held);
}

void OpenFlow::add_faults(const Waiting &made, From from, SendCounts &counts) {
  const FaultSet fate = faults_.of(++sequence_);
  if (fate.has(flow::Fault::Kind::Skip)) {
    counts.skipped++;
    if (from.last)
      release(from.qp);
    return;
  }
  const bool hold = fate.has(flow::Fault::Kind::Reorder) && !from.last && !held_.count(from.qp);
  Queue &queue = hold ? held_[from.qp] : waiting_;
  queue.push_back(made);
  packet::Outgoing &packet = queue.back().packet;
  if (fate.has(flow::Fault::Kind::Icrc)) {
    packet.damage = packet::Damage::Icrc;
    counts.bad_icrc++;
  } else if (fate.has(flow::Fault::Kind::Pad)) {
    packet.damage = packet::Damage::Pad;
    counts.bad_pad++;
  }
  if (fate.has(flow::Fault::Kind::Repeat)) {
    queue.push_back(queue.back());
    counts.repeated++;
  }
  if (fate.has(flow::Fault::Kind::GhostAck)) {
    queue.push_back(ghost_of(made.packet));
    counts.ghost_acks++;
  }
  if (hold)
    counts.reordered++;
  else
    release(from.qp);
}

} // namespace xr::requester
