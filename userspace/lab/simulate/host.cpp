// SPDX-License-Identifier: Apache-2.0
// A host: its requesters and its responder share one link. A requester is asked for a packet only
// when the link can send it, so that pacing and PFC act on the requester and not on a queue.
#include <algorithm>
#include <bit>

#include "base/prefetch.h"
#include "simulate/world.h"

namespace xr::simulate {

namespace {

// Distance of frames that a host sends to a link that is down. ns
constexpr uint64_t kLostFrame = 1000;

} // namespace

void Part::run_host(uint32_t number) {
  Host &host = hosts_[number];
  bool sent = true;
  while (sent && free_at(host) <= now_)
    sent = host.responder_turn ? send_response(host) || send_flow(host)
                               : send_flow(host) || send_response(host);
  if (!host.router) [[likely]]
    schedule_wire(host.wire);
  else
    for (const uint32_t wire : host.router->ports)
      schedule_wire(wire);
  schedule_host(number, !sent);
}

// When the link is free and there is something that may be sent. `sent_nothing`: a host with
// several links waits until one of them changes.
void Part::schedule_host(uint32_t number, bool sent_nothing) {
  Host &host = hosts_[number];
  const uint32_t paused = paused_at(host);
  uint64_t at = kNever;
  for (uint32_t left = host.classes; left; left &= left - 1) {
    const auto priority = static_cast<unsigned>(std::countr_zero(left));
    uint64_t earliest = host.sending[priority].earliest();
    if (paused >> priority & 1 && earliest != kNever)
      earliest = std::max(earliest, paused_until(host, priority));
    at = std::min(at, earliest);
  }
  host.waits = false;
  const bool room = has_room(host);
  if (host.responder) {
    host.responder_wake = host.responder->wake_at();
    if (room)
      at = std::min(at, host.responder_wake);
    else
      host.waits = host.responder_wake != kNever;
  }
  if (host.router && !room) {
    host.waits = true;
    at = kNever;
  } else if (host.router && sent_nothing && at <= now_) {
    at = next_change(host);
  }
  if (at != kNever)
    at = std::max({at, free_at(host), now_});
  queue_.set(host.entity, at);
}

bool Part::send_response(Host &host) {
  if (!host.responder || host.responder->wake_at() > now_ || !has_room(host))
    return false;
  packet::Outgoing packet;
  if (!host.responder->next(now_, {&packet, 1}))
    return false;
  host.responder_turn = false;
  enqueue(host, packet, kNone);
  return true;
}

bool Part::send_flow(Host &host) {
  if (host.router && !has_room(host))
    return false;
  const uint32_t paused = paused_at(host);
  // the highest class first
  for (uint32_t left = host.classes & ~paused; left;) {
    const auto priority = static_cast<unsigned>(std::bit_width(left)) - 1;
    left &= ~(1U << priority);
    if (send_class(host, host.sending[priority])) {
      host.responder_turn = true;
      return true;
    }
  }
  return false;
}

// What the flows whose turns come next need, each of them a step at each turn: with many flows a
// host, none of it is in the cache any more when its turn comes.
void Part::prefetch_turns(const Sending &sending) const {
  constexpr size_t kSteps = requester::Requester::kPrefetchSteps + 2;
  if (sending.ready.size() < 2 * kSteps)
    return;
  const FlowRun &far = flows_[sending.ready[kSteps - 1]];
  prefetch_members(far.setup, far.counts.packets);
  __builtin_prefetch(flows_[sending.ready[kSteps - 2]].source.get());
  for (unsigned step = 0; step + 2 < kSteps; step++)
    if (const auto &source = flows_[sending.ready[kSteps - 3 - step]].source)
      source->prefetch(step);
}

// Flows of a class take turns by packet.
bool Part::send_class(Host &host, Sending &sending) {
  while (!sending.waiting.empty() && sending.waiting.top().time <= now_) {
    const Sending::Due due = sending.waiting.top();
    sending.waiting.pop();
    FlowRun &run = flows_[due.flow];
    if (run.ready || run.listed != due.time || !run.source)
      continue; // it was listed again for an earlier time
    run.listed = kNever;
    run.ready = true;
    sending.ready.push(due.flow);
  }
  for (size_t skipped = 0; sending.ready.size() > skipped;) {
    const uint32_t number = sending.ready.front();
    FlowRun &run = flows_[number];
    sending.ready.pop();
    if (host.router && !can_send(run)) {
      sending.ready.push(number);
      skipped++;
      continue;
    }
    run.ready = false;
    if (!run.source)
      continue;
    prefetch_turns(sending);
    packet::Outgoing packet;
    const bool made = run.source->next(now_, {&packet, 1});
    if (made) {
      run.counts.packets++;
      enqueue(host, packet, number);
    }
    const uint64_t wake = run.source->wake_at();
    // timers ran without a packet: not again at this time
    list(sending, number, made ? wake : std::max(wake, now_ + 1));
    if (wake == kNever && run.source->done()) {
      if (run.reliable || (!world_.divided() && all_arrived(run)))
        finish_flow(number);
      else if (world_.divided())
        ending_.push_back({number, now_});
    }
    if (made)
      return true;
  }
  return false;
}

// A flow has begun, or has further messages.
void Part::go_on_sending(uint32_t number) {
  const FlowRun &run = flows_[number];
  Host &host = hosts_[run.src];
  host.classes |= 1U << run.priority;
  list(host.sending[run.priority], number, run.source->wake_at());
  schedule_host(run.src);
}

// Puts a flow where it will be asked for its next packet.
void Part::list(Sending &sending, uint32_t number, uint64_t wake) {
  FlowRun &run = flows_[number];
  if (run.ready)
    return;
  if (wake <= now_) {
    run.ready = true;
    run.listed = kNever;
    sending.ready.push(number);
  } else if (wake < run.listed) {
    run.listed = wake;
    sending.waiting.push({wake, number});
  }
}

// `flow`: whose requester sends the packet; kNone: it is of the host's responder.
void Part::enqueue(Host &host, const packet::Outgoing &packet, uint32_t flow) {
  const uint32_t handle = pool_.take();
  wire::Frame frame = hold(pool_, handle, packet);
  HeldFrame &held = pool_[handle];
  held.request = flow != kNone;
  if (held.request) {
    held.flow = flow;
    held.destination = flows_[flow].dst;
    flows_[flow].in_flight++;
    if (world_.needs_ & XDP_ROCE_NEEDS_HOPS) [[unlikely]]
      pool_.hops(handle).count = 0;
    if (!world_.first_psns_.empty()) [[unlikely]]
      note_first_psn(held);
  } else {
    held.flow = held.shape ? flow_of_qp(held.fields.dest_qp) : flow_of_raw(held);
    held.destination =
        held.flow != kNone ? flows_[held.flow].src : destination_of(headers_of(held).data());
    if (world_.needs_ & XDP_ROCE_NEEDS_HOPS && held.flow != kNone) [[unlikely]]
      answer_hops(held.flow, handle);
  }
  frame.arrived = now_;
  totals_.sent++;
  uint32_t wire = host.wire;
  if (host.router) [[unlikely]] {
    wire = route(*host.router, held);
    if (held.request)
      flows_[flow].wire = wire;
    if (wire == kNone) {
      totals_.sent++;
      host.lost_until = now_ + kLostFrame;
      return lose(frame);
    }
  }
  const LinkDrop drop = ports_[wire]->link.enqueue(now_, frame);
  if (drop == LinkDrop::Down)
    host.lost_until = now_ + kLostFrame;
  if (drop != LinkDrop::None)
    lose(frame);
}

void Part::note_first_psn(const HeldFrame &held) {
  const uint32_t index = held.fields.dest_qp - kFirstQp;
  if (held.shape && index < world_.first_psns_.size() && world_.first_psns_[index] == kNone)
    world_.first_psns_[index] = held.fields.psn;
}

uint32_t Part::flow_of_qp(uint32_t qp) const {
  const uint32_t index = qp - kFirstQp;
  return index < world_.flow_of_qp_.size() ? world_.flow_of_qp_[index] : kNone;
}

uint32_t Part::flow_of_raw(const HeldFrame &frame) {
  roce_packet packet;
  return roce_is_roce(parse_held(frame, false, packet)) ? flow_of_qp(roce_key_qp(&packet.key))
                                                        : kNone;
}

// A template belongs to its requester, which therefore remains until its last frame is gone.
void Part::release(uint32_t handle) {
  if (const HeldFrame &held = pool_[handle]; held.request) {
    FlowRun &run = flows_[held.flow];
    if (hosts_[run.src].part != number_)
      notes_.push_back({held.flow, false, now_});
    else if (!--run.in_flight && run.ended)
      run.ended.reset();
  }
  pool_.give_back(handle);
}

// `overhead`: what the rate of the frame's last link includes beside its bytes.
void Part::receive(uint32_t host, const wire::Frame &frame, uint32_t overhead) {
  totals_.received++;
  if (world_.passes_ && !world_.host_captures_.empty()) [[unlikely]]
    capture_arrival(host, frame);
  const HeldFrame &held = pool_[frame.handle];
  roce_packet packet;
  const roce_class class_ = parse_held(held, frame.marked, packet);
  const uint32_t number = roce_is_roce(class_) ? held.flow : kNone;
  if (number != kNone) {
    FlowRun &run = flows_[number];
    const bool response = packet.info & ROCE_OP_RESPONSE;
    if (world_.needs_ & XDP_ROCE_NEEDS_HOPS) [[unlikely]] {
      if (!response)
        keep_hops(number, frame.handle);
      else if (run.source)
        run.source->echo(hops_of(frame.handle));
    }
    if (!response) {
      run.counts.arrived++;
      run.counts.marked += packet.ecn == ROCE_ECN_CE;
    }
    constexpr uint64_t kAnswers = ROCE_OP_READ_RESPONSE | ROCE_OP_ATOMIC;
    if (run.reads ? response && packet.info & kAnswers : !response) {
      run.counts.wire_bytes += frame.length + overhead;
      run.arrived_ns = now_;
    }
    if (!held.bad_icrc) {
      const std::span<const uint8_t> bytes = headers_of(held);
      if (response)
        receive_response(number, bytes, class_, packet);
      else
        receive_request(host, run, bytes, class_, packet);
    }
    if (!response && !run.reliable && !world_.divided() && run.source && all_arrived(run) &&
        run.source->done())
      finish_flow(number);
  } else if (held.request) { // a rule has harmed its headers
    flows_[held.flow].counts.drops++;
  }
  release(frame.handle);
}

void Part::receive_request(uint32_t host, FlowRun &run, std::span<const uint8_t> frame,
                           roce_class class_, const roce_packet &packet) {
  responder::Responder &responder = responder_of(host, run);
  const auto taken = [](const RespondCounts &counts) {
    return counts.in_order + counts.unreliable + counts.datagrams + counts.kept;
  };
  const RespondCounts &had = responder.counts();
  const uint64_t before = taken(had), no_room = had.kept_no_room, messages = had.messages;
  responder.receive(now_, frame, class_, packet);
  const RespondCounts &has = responder.counts();
  if (taken(has) != before)
    run.counts.bytes += packet.payload;
  run.counts.kept_no_room += has.kept_no_room - no_room;
  if (has.messages != messages && (run.posted || run.job != kNone)) [[unlikely]]
    world_.messages_arrived(run, has.messages - messages);
  if (responder.wake_at() != hosts_[host].responder_wake)
    schedule_host(host);
}

void Part::receive_response(uint32_t number, std::span<const uint8_t> frame, roce_class class_,
                            const roce_packet &packet) {
  FlowRun &run = flows_[number];
  if (!run.source) // it has ended, or was stopped
    return;
  run.source->receive(now_, frame, class_, packet);
  list(hosts_[run.src].sending[run.priority], number, run.source->wake_at());
  schedule_host(run.src);
  if (run.posted)
    return world_.messages_sent(number);
  if (run.reliable && run.source->done())
    finish_flow(number);
}

} // namespace xr::simulate
