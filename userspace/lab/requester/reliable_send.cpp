// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/draw.h"
#include "base/prefetch.h"
#include "requester/pattern.h"
#include "requester/reliable_state.h"

namespace xr::requester {

size_t ReliableSource::State::next(uint64_t now, std::span<packet::Outgoing> out) {
  now_ = now;
  patterns_used_ = 0;
  if (!started_)
    start(now);
  run_ends(now);
  run_timers(now);
  if (pauses_ && pauses_->changes() != pauses_seen_)
    list_anew();
  size_t count = send_cnps(now, out);
  while (count < out.size() && total_.due() <= now) {
    while (!waiting_.empty() && waiting_.top().time <= now) {
      const Due entry = waiting_.top();
      waiting_.pop();
      ReliableFlow &flow = states_[entry.index];
      if (flow.active || !flow.listed || flow.listed_until != entry.time)
        continue; // it was listed again for an earlier time
      flow.active = true;
      active_.push(entry.index);
    }
    if (active_.empty())
      break;
    const uint32_t index = active_.front();
    active_.pop();
    ReliableFlow &state = states_[index];
    if (state.resumed() <= now && send_one(now, state, out[count])) {
      handed_out(now, state, out[count]);
      count++;
    }
    state.listed = state.has_ready();
    state.listed_until = state.due();
    state.active = state.listed && state.listed_until <= now;
    if (state.active)
      active_.push(index);
    else if (state.listed)
      waiting_.push({state.listed_until, index});
  }
  return count;
}

// What the first flow and its first QP need: who has many flows has a source for each.
void ReliableSource::State::prefetch(unsigned step) const {
  const ReliableFlow &state = states_.front();
  const ReliableQp &qp = qps_.front();
  switch (step) {
  case 1:
    prefetch_members(state.flow, state.qp_pacing);
    prefetch_members(state.pacer, state.faulty);
    xr::prefetch(qp);
    prefetch_members(state.flow.transport, state.flow.port);
    prefetch_members(state.flow.qkey, state.flow.posted);
    xr::prefetch(active_.place(), sizeof(uint32_t));
    return;
  case 2:
    if (state.qp_pacing)
      state.qp_pacing->prefetch(0);
    xr::prefetch(state.ready.place(), sizeof(uint32_t));
    xr::prefetch(state.flow.size.parts.data(), sizeof(flow::Sizes::Part));
    qp.prefetch();
    prefetch_members(state.shapes[state.last_shape], state.shapes[state.last_shape]);
    return;
  case 3:
    if (state.qp_pacing)
      state.qp_pacing->prefetch(1);
    if (const packet::Template *shape = state.shapes[state.last_shape].shape)
      xr::prefetch(*shape);
    return;
  default:
    return;
  }
}

// When the next CNP may go: at once, unless its priority is paused.
uint64_t ReliableSource::State::cnps_due() const {
  const flow::Flow &flow = states_[flow_of_[cnps_.front()]].flow;
  const unsigned priority =
      flow.path.tags.empty() ? reliability_.cnp_dscp >> 3 : packet::priority_of(flow.path);
  return pauses_ ? pauses_->until(priority) : 0;
}

// CNPs have no part in the rates.
size_t ReliableSource::State::send_cnps(uint64_t now, std::span<packet::Outgoing> out) {
  for (uint32_t qp = 0; notification_point_.take_due(now, qp);)
    cnps_.push(qp);
  size_t count = 0;
  for (; count < out.size() && !cnps_.empty() && cnps_due() <= now; count++) {
    const ReliableQp &qp = qps_[cnps_.front()];
    ReliableFlow &state = states_[flow_of_[cnps_.front()]];
    cnps_.pop();
    out[count] = {.shape = state.frames->cnp(reliability_.cnp_dscp), .fields = {}};
    out[count].fields.dest_qp = state.flow.dest_qp(qp.index());
    out[count].fields.src_port = qp.source_port();
    SendCounts &own = state.counts();
    own.cnps_sent++;
    own.packets++;
    own.bytes += out[count].shape->size();
  }
  return count;
}

bool ReliableSource::State::send_one(uint64_t now, ReliableFlow &state, packet::Outgoing &out) {
  if (!state.extra.empty()) {
    out = state.extra.front();
    state.extra.pop();
    return true;
  }
  for (uint32_t qp = 0; state.qp_pacing && state.qp_pacing->take_due(now, qp);)
    state.ready.push(state.first_qp + qp);
  while (!state.ready.empty()) {
    const uint32_t qp = state.ready.front();
    if (!qps_[qp].may_send(state.context)) {
      state.ready.pop();
      qps_[qp].ready = false;
      continue;
    }
    if (state.qp_pacing && state.qp_pacing->due(qp - state.first_qp) > now) {
      state.ready.pop();
      state.qp_pacing->wait(qp - state.first_qp);
      continue;
    }
    const bool sent = send_of(now, state, qp, out);
    next_turn(now, state, qp);
    settle(qp);
    if (sent)
      return true;
  }
  return false;
}

// QPs take turns by packet or by message. One that may not send yet waits for its time at once, so
// that nobody asks for its packet before.
void ReliableSource::State::next_turn(uint64_t now, ReliableFlow &state, uint32_t qp) {
  const bool more = qps_[qp].may_send(state.context);
  const bool early = more && state.qp_pacing && state.qp_pacing->due(qp - state.first_qp) > now;
  if (more && !early && !state.flow.interleave && !qps_[qp].at_message_start())
    return;
  state.ready.pop();
  qps_[qp].ready = more;
  if (early)
    state.qp_pacing->wait(qp - state.first_qp);
  else if (more)
    state.ready.push(qp);
}

// false: a fault holds the packet back.
bool ReliableSource::State::send_of(uint64_t now, ReliableFlow &state, uint32_t index,
                                    packet::Outgoing &out) {
  ReliableQp &qp = qps_[index];
  const flow::Flow &flow = state.flow;
  const RequestPacket packet = qp.send(now, state.context);
  out = {.shape = state.shape(packet), .fields = {}};
  out.fields.dest_qp = flow.dest_qp(qp.index());
  out.fields.psn = packet.psn;
  out.fields.src_port = flow.port == flow::PortChoice::Vary
                            ? static_cast<uint16_t>(0xc000 | (state.next_port++ & 0x3fff))
                            : qp.source_port();
  out.fields.ack_req = flow.bth.ack_req.value_or(packet.ack_req);
  out.fields.solicited = flow.bth.solicited;
  out.fields.immediate = flow.immediate + static_cast<uint32_t>(packet.message);
  out.fields.dma_len = packet.dma_len;
  out.fields.va = packet.va;
  out.fields.sequence = packet.place; // of SENDs and WRITEs: one PSN a packet
  if (packet.post) [[unlikely]]
    fill(packet, flow, qp.index(), out);
  else if (flow.pattern && packet.segment.payload)
    out.payload = pattern(flow, qp.index(), packet);
  if (state.qp_pacing) { // the time of a pause is not made up for
    state.qp_pacing->not_before(index - state.first_qp, state.resumed());
    state.qp_pacing->sent(index - state.first_qp, now, out.shape->size());
  }
  if (packet.again) {
    state.counts().retransmitted++;
    release_held(state, index);
    return true;
  }
  if (!state.context.acked)
    qp.complete_sent(now, state.context);
  return !state.faulty || with_faults(state, index, out);
}

void ReliableSource::State::fill(const RequestPacket &packet, const flow::Flow &flow, uint32_t qp,
                                 packet::Outgoing &out) {
  out.fields.immediate = packet.post->immediate;
  if (flow.transport == ROCE_UD)
    out.fields.src_qp = flow.own_qp(qp);
  if (packet.post->data)
    out.payload = {packet.post->data + packet.offset, packet.segment.payload};
}

std::span<const uint8_t> ReliableSource::State::pattern(const flow::Flow &flow, uint32_t qp,
                                                        const RequestPacket &packet) {
  if (patterns_used_ == patterns_.size())
    patterns_.push_back(std::make_unique<std::array<uint8_t, 4096>>());
  const std::span<uint8_t> bytes(patterns_[patterns_used_++]->data(), packet.segment.payload);
  Pattern(flow.seed, flow.dest_qp(qp), packet.message).write(packet.offset, bytes);
  return bytes;
}

bool ReliableSource::State::with_faults(ReliableFlow &state, uint32_t qp, packet::Outgoing &out) {
  const FaultSet fate = state.faulty->faults.of(++state.faulty->numbered);
  release_held(state, qp);
  if (fate.has(flow::Fault::Kind::Skip)) {
    state.counts().skipped++;
    return false;
  }
  if (fate.has(flow::Fault::Kind::Icrc)) {
    state.counts().bad_icrc++;
    out.damage = packet::Damage::Icrc;
  } else if (fate.has(flow::Fault::Kind::Pad)) {
    state.counts().bad_pad++;
    out.damage = packet::Damage::Pad;
  }
  if (fate.has(flow::Fault::Kind::Repeat)) {
    state.counts().repeated++;
    state.extra.push(out);
  }
  if (fate.has(flow::Fault::Kind::GhostAck)) {
    state.counts().ghost_acks++;
    packet::Outgoing ghost{.shape = state.frames->ack(), .fields = out.fields};
    ghost.fields.aeth = 0x1fU << 24;
    state.extra.push(ghost);
  }
  if (!fate.has(flow::Fault::Kind::Reorder) || state.faulty->held_qp != UINT32_MAX)
    return true;
  state.counts().reordered++;
  state.faulty->held = out;
  state.faulty->held_qp = qp;
  return false;
}

void ReliableSource::State::release_held(ReliableFlow &state, uint32_t qp) {
  if (!state.faulty || state.faulty->held_qp != qp)
    return;
  state.extra.push(state.faulty->held);
  state.faulty->held_qp = UINT32_MAX;
}

void ReliableSource::State::handed_out(uint64_t now, ReliableFlow &state,
                                       const packet::Outgoing &out) {
  const auto bytes = out.shape->size();
  state.counts().packets++;
  state.losses.sent++;
  state.counts().bytes += bytes;
  state.first_sent = state.first_sent ? state.first_sent : now;
  state.last_sent = now;
  if (!state.pacer.top())
    total_.not_before(std::min(now, state.pacer.due()));
  total_.sent(now, bytes);
  if (state.pacer.due() == kNever)
    return;
  state.pacer.not_before(state.resumed());
  state.pacer.sent(now, bytes);
  if (state.pacer.due() == kNever)
    close(state);
}

uint64_t ReliableSource::State::slipped() const {
  uint64_t all = 0;
  for (const ReliableFlow &state : states_)
    all += state.pacer.slipped_ns() + (state.qp_pacing ? state.qp_pacing->slipped_ns() : 0);
  return all;
}

double ReliableSource::State::asked_pps() const {
  double all = 0, bytes = 0;
  bool top = states_.empty();
  for (const ReliableFlow &state : states_) {
    const double frame = average_frame(state.flow);
    double asked = state.pacer.asked_pps(frame);
    if (state.qp_pacing)
      asked = state.qp_pacing->asked_pps(frame, asked);
    top = top || asked == 0;
    all += asked;
    bytes += frame / static_cast<double>(states_.size());
  }
  const double total = total_.asked_pps(bytes);
  if (top || (total > 0 && total < all))
    return total;
  return all;
}

} // namespace xr::requester
