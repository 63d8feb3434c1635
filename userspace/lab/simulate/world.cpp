// SPDX-License-Identifier: Apache-2.0
// The loop over events, and the way of frames from port to port.
#include "simulate/world.h"

#include <algorithm>

#include "base/prefetch.h"

namespace xr::simulate {

namespace {

constexpr uint32_t kPfcBytes = 60; // a MAC control frame without FCS (802.3, 31A)
constexpr uint64_t kQuantumBits = 512;

} // namespace

const FrameTotals &World::totals() {
  totals_.in_flight = pool_.in_use();
  return totals_;
}

inline void World::run_packet_event() {
  const uint32_t entity = queue_.entity();
  const auto wires = static_cast<uint32_t>(ports_.size());
  if (entity < wires)
    run_wire(entity);
  else if (entity < wires + network_.hosts) [[likely]]
    run_host(entity - wires);
  else
    run_point(entity - wires - network_.hosts);
}

// Actions come before events of the same time. `next_event`: its time.
template <typename Next, typename Run>
inline void World::run_events(uint64_t ns, Next next_event, Run run_event) {
  ns = std::min(ns, scenario_.duration_ns);
  for (;;) {
    if (scenario_.until_done) [[unlikely]]
      ns = std::min(ns, scenario_.duration_ns); // which a job may end
    const uint64_t event = next_event(), action = actions_.empty() ? kNever : actions_.top().at;
    const uint64_t at = std::min(event, action);
    if (at > ns)
      break;
    now_ = at;
    if (action <= event) {
      const Action next = actions_.top();
      actions_.pop();
      act(next);
      continue;
    }
    totals_.events++;
    run_event();
  }
  now_ = std::max(now_, ns);
}

void World::run_until(uint64_t ns) {
  if (fluid_)
    run_events(
        ns, [this] { return fluid_->next(); }, [this] { run_fluid_event(); });
  else
    run_events(
        ns, [this] { return queue_.time(); }, [this] { run_packet_event(); });
}

void World::act(const Action &action) {
  switch (action.kind) {
  case Action::Kind::Measure:
    return begin_measure();
  case Action::Kind::Start:
    return start_flow(action.number);
  case Action::Kind::Stop:
    flows_[action.number].stopped = flows_[action.number].source != nullptr;
    return stop_flow(action.number);
  case Action::Kind::Change:
    return change(action.number);
  case Action::Kind::Pause:
    return pause(action.number);
  case Action::Kind::Job:
    return run_job(action.number);
  case Action::Kind::Reroute:
    return reroute();
  case Action::Kind::Rules:
    return change_rules(action.number);
  case Action::Kind::Sample:
    sample();
    return at(now_ + scenario_.sample_ns, Action::Kind::Sample, 0);
  }
}

void World::change(uint32_t number) {
  const Event &event = scenario_.schedule[number];
  const uint32_t wire = event_targets_[number];
  if (event.kind == Event::Kind::Down || event.kind == Event::Kind::Up)
    return set_link(wire, event.kind == Event::Kind::Down);
  const bool down = !down_.empty() && down_[wire];
  if (event.kind == Event::Kind::Flap && down)
    return;
  wire::Link &link = ports_[wire]->link;
  LinkSpec spec = event.kind == Event::Kind::Link ? spec_of(wire, event.link) : link.spec();
  if (down)
    spec.flap = link.spec().flap;
  if (event.kind == Event::Kind::Flap) // a flap is at the end of its period: at once
    spec.flap = {.down = event.duration_ns, .period = event.duration_ns, .count = 1};
  link.change(now_, spec, event.kind == Event::Kind::Link ? trace_of(spec) : nullptr);
  ports_[wire]->most_rate = std::max(ports_[wire]->most_rate, spec.rate);
  schedule_wire(wire);
}

// Acts like a neighbour that sends PFC: repeats the frame when its quanta expire.
void World::pause(uint32_t number) {
  const Event &event = scenario_.schedule[number];
  const uint32_t wire = event_targets_[number];
  wire::Link &link = ports_[wire]->link;
  const uint64_t left = event.at_ns + event.duration_ns - now_;
  const auto wanted = static_cast<uint64_t>(static_cast<unsigned __int128>(left) *
                                            link.quanta_rate() / 1'000'000'000 / kQuantumBits);
  const uint64_t quanta = std::min<uint64_t>(wanted, UINT16_MAX);
  std::array<uint16_t, kLinkClasses> all;
  all.fill(static_cast<uint16_t>(quanta));
  link.pause(now_, event.priorities, all);
  if (quanta < wanted)
    at(now_ + quanta * kQuantumBits * 1'000'000'000 / link.quanta_rate(), Action::Kind::Pause,
       number);
  schedule_wire(wire);
  if (ports_[wire]->from < network_.hosts)
    schedule_host(ports_[wire]->from);
}

uint64_t World::next_of(const Port &port) const {
  const uint64_t next = port.link.next();
  return port.pauses.empty() ? next : std::min(next, port.pauses.front().at);
}

void World::schedule_wire(uint32_t wire) { queue_.set(wire, next_of(*ports_[wire])); }

// The link is served when its next frame has arrived, or when the next one may leave its queue.
void World::run_wire(uint32_t wire) {
  Port &port = *ports_[wire];
  if (!port.pauses.empty())
    run_pauses(wire);
  wire::Frame frame;
  uint64_t next;
  do {
    if (port.link.take(now_, frame)) {
      totals_.hops++;
      if (now_ > port.cut_until) [[likely]]
        arrive(wire, frame);
      else
        lose(frame);
    }
    LinkDrop cause;
    while (port.link.has_dropped() && port.link.take_dropped(now_, frame, cause))
      lose(frame);
    if (port.link.buffer().next() <= now_)
      send_pauses(wire);
    next = next_of(port);
  } while (next <= now_);
  queue_.set(wire, next);
  if (crowded_) [[unlikely]]
    prefetch_coming(port);
  if (port.from < network_.hosts && hosts_[port.from].waits)
    schedule_host(port.from);
}

// Asks for the memory of the frames that come next from the port, and for what the receiver of the
// first reads.
void World::prefetch_coming(const Port &port) const {
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

// PFC frames reach the other end, whose frames in the opposite direction they hold.
void World::run_pauses(uint32_t wire) {
  Port &port = *ports_[wire];
  while (!port.pauses.empty() && port.pauses.front().at <= now_) {
    const wire::PfcOut frame = port.pauses.front().frame;
    port.pauses.pop();
    totals_.hops++;
    totals_.pauses++;
    Port &back = *ports_[wire ^ 1];
    back.link.pause(now_, frame.priorities, frame.quanta);
    schedule_wire(wire ^ 1);
    if (back.from < network_.hosts) {
      schedule_host(back.from);
      if (!host_captures_.empty())
        capture_pause(back.from, frame);
    }
  }
}

// Sends the PFC frames that the buffer of a switch asks for, by any of its ports.
void World::send_pauses(uint32_t wire) {
  Port &port = *ports_[wire];
  wire::PfcOut frame;
  while (port.link.take_pfc(now_, frame)) {
    if (port.from < network_.hosts)
      continue;
    const uint32_t out = switches_[port.from - network_.hosts].ports[frame.ingress];
    Port &sender = *ports_[out];
    const uint64_t left = sender.link.send_control(now_, kPfcBytes);
    sender.pauses.push({left + sender.link.spec().delay, frame});
    schedule_wire(out);
  }
}

void World::arrive(uint32_t wire, wire::Frame &frame) {
  const Port &port = *ports_[wire];
  if (port.to < network_.hosts)
    return receive(port.to, frame, port.link.overhead());
  frame.ingress = port.ingress;
  if (passes_ && port.point != kNone && port.from < network_.hosts) [[unlikely]]
    return pass(wire, frame);
  forward(switches_[port.to - network_.hosts], frame);
}

void World::forward(Switch &at, wire::Frame &frame) {
  const uint32_t out = route(at, pool_[frame.handle]);
  if (out == kNone) [[unlikely]]
    return lose(frame);
  if (passes_ && ports_[out]->point != kNone) [[unlikely]]
    return pass(out, frame);
  put(out, frame);
}

// kNone: no path.
uint32_t World::route(Router &at, const HeldFrame &held) {
  const uint32_t out = at.routes[held.destination];
  return out & Router::kGroup ? choose(at, out, held) : out;
}

void World::put(uint32_t out, wire::Frame &frame) {
  frame.arrived = now_;
  // A frame that queues after others does not change when the link must be served.
  wire::Link &link = ports_[out]->link;
  const bool waits = link.backlog_bytes() && !link.paused_at(now_);
  if (link.enqueue(now_, frame) != LinkDrop::None)
    lose(frame);
  if (!waits || link.buffer().next() != kNever)
    schedule_wire(out);
}

void World::lose(const wire::Frame &frame) {
  totals_.dropped++;
  if (const uint32_t flow = pool_[frame.handle].flow; flow != kNone)
    flows_[flow].counts.drops++;
  release(frame.handle);
}

} // namespace xr::simulate
