// SPDX-License-Identifier: Apache-2.0
// The way of frames from port to port.
#include "simulate/part.h"

#include <algorithm>

#include "base/prefetch.h"
#include "simulate/world.h"

namespace xr::simulate {

namespace {

constexpr uint32_t kPfcBytes = 60; // a MAC control frame without FCS (802.3, 31A)

} // namespace

uint64_t Part::next_of(const Port &port) const {
  const uint64_t next = port.link.next();
  return port.pauses.empty() ? next : std::min(next, port.pauses.front().at);
}

void Part::schedule_wire(uint32_t wire) {
  Port &port = *ports_[wire];
  if (port.crossing != kNone)
    hand_over(wire);
  queue_.set(port.entity, next_of(port));
}

// The link is served when its next frame has arrived, or when the next one may leave its queue.
void Part::run_wire(uint32_t wire) {
  Port &port = *ports_[wire];
  if (!port.pauses.empty())
    run_pauses(wire);
  wire::Frame frame;
  uint64_t next;
  do {
    if (port.crossing != kNone)
      hand_over(wire);
    else if (port.link.take(now_, frame))
      frame_arrived(port, wire, frame);
    LinkDrop cause;
    while (port.link.has_dropped() && port.link.take_dropped(now_, frame, cause))
      lose(frame);
    if (port.link.buffer().next() <= now_)
      send_pauses(wire);
    next = next_of(port);
  } while (next <= now_);
  queue_.set(port.entity, next);
  if (world_.crowded_) [[unlikely]]
    prefetch_coming(port);
  if (port.from < network_.hosts && hosts_[port.from].waits)
    schedule_host(port.from);
}

// Asks for the memory of the frames that come next from the port, and for what the receiver of the
// first reads.
void Part::prefetch_coming(const Port &port) const {
  unsigned number = 0;
  port.link.each_coming(2, [&](uint32_t handle) {
    const HeldFrame &held = pool_[handle];
    if (number++) {
      prefetch(held);
    } else if (port.to < network_.hosts && held.flow != kNone) {
      prefetch(held.shape, sizeof(packet::Template));
      prefetch(flows_[held.flow]);
    }
  });
}

void Part::frame_arrived(const Port &port, uint32_t wire, wire::Frame &frame) {
  totals_.hops++;
  if (now_ <= port.cut_until) [[unlikely]]
    lose(frame);
  else if (world_.medium_) [[unlikely]]
    carry(wire, frame);
  else
    arrive(wire, frame);
}

// PFC frames reach the other end, whose frames in the opposite direction they hold.
void Part::run_pauses(uint32_t wire) {
  Port &port = *ports_[wire];
  for (; !port.pauses.empty() && port.pauses.front().at <= now_; port.pauses.pop())
    if (world_.medium_)
      carry_pause(wire, port.pauses.front().frame);
    else
      pause_arrived(wire, port.pauses.front().frame);
}

void Part::pause_arrived(uint32_t wire, const wire::PfcOut &frame) {
  totals_.hops++;
  totals_.pauses++;
  Port &back = *ports_[wire ^ 1];
  back.link.pause(now_, frame.priorities, frame.quanta);
  schedule_wire(wire ^ 1);
  if (back.from < network_.hosts) {
    schedule_host(back.from);
    if (!world_.host_captures_.empty())
      capture_pause(back.from, frame);
  }
}

// Sends the PFC frames that the buffer of a switch asks for, by any of its ports.
void Part::send_pauses(uint32_t wire) {
  Port &port = *ports_[wire];
  wire::PfcOut frame;
  while (port.link.take_pfc(now_, frame)) {
    if (port.from < network_.hosts)
      continue;
    const uint32_t out = switches_[port.from - network_.hosts].ports[frame.ingress];
    Port &sender = *ports_[out];
    const uint64_t left = sender.link.send_control(now_, kPfcBytes);
    const Port::Pause pause{left + sender.link.spec().delay, frame};
    if (sender.crossing != kNone)
      hand_over_pause(out, pause);
    else
      sender.pauses.push(pause);
    schedule_wire(out);
  }
}

void Part::arrive(uint32_t wire, wire::Frame &frame) {
  const Port &port = *ports_[wire];
  if (port.to < network_.hosts)
    return receive(port.to, frame, port.link.overhead());
  frame.ingress = port.ingress;
  if (world_.passes_ && port.point != kNone && port.from < network_.hosts) [[unlikely]]
    return pass(wire, frame);
  forward(switches_[port.to - network_.hosts], frame);
}

void Part::forward(Switch &at, wire::Frame &frame) {
  const uint32_t out = route(at, pool_[frame.handle]);
  if (out == kNone) [[unlikely]]
    return lose(frame);
  if (world_.passes_ && ports_[out]->point != kNone) [[unlikely]]
    return pass(out, frame);
  put(out, frame);
}

// kNone: no path.
uint32_t Part::route(Router &at, const HeldFrame &held) {
  const uint32_t out = at.routes[held.destination];
  return out & Router::kGroup ? choose(at, out, held) : out;
}

void Part::put(uint32_t out, wire::Frame &frame) {
  frame.arrived = now_;
  // A frame that queues after others does not change when the link must be served.
  wire::Link &link = ports_[out]->link;
  const bool waits = link.backlog_bytes() && !link.paused_at(now_);
  if (link.enqueue(now_, frame) != LinkDrop::None)
    lose(frame);
  if (!waits || link.buffer().next() != kNever)
    schedule_wire(out);
}

void Part::lose(const wire::Frame &frame) {
  totals_.dropped++;
  if (const uint32_t flow = pool_[frame.handle].flow; flow != kNone) {
    if (hosts_[flows_[flow].src].part == number_)
      flows_[flow].counts.drops++;
    else
      notes_.push_back({flow, true, now_});
  }
  release(frame.handle);
}

} // namespace xr::simulate
