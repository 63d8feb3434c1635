// SPDX-License-Identifier: Apache-2.0
// The loop over events and actions. A network of several parts is run in windows: all parts do
// their events of some time, which is not longer than the least delay between two of them, so that
// none of these can matter to another part before the window's end.
#include <algorithm>

#include "simulate/world.h"

namespace xr::simulate {

namespace {

constexpr uint64_t kQuantumBits = 512;

} // namespace

const FrameTotals &World::totals() {
  const uint64_t events = totals_.events; // of a fluid
  totals_ = {};
  int64_t in_use = 0;
  totals_.events = fluid_ ? events : 0;
  for (const auto &part : parts_) {
    const FrameTotals &own = part->totals_;
    totals_.sent += own.sent;
    totals_.made += own.made;
    totals_.received += own.received;
    totals_.dropped += own.dropped;
    in_use += part->pool_.in_use();
    totals_.pauses += own.pauses;
    totals_.hops += own.hops;
    totals_.events += own.events;
  }
  totals_.in_flight = static_cast<uint64_t>(in_use);
  return totals_;
}

uint64_t World::next_event() const {
  uint64_t next = kNever;
  for (const auto &part : parts_)
    next = std::min({next, part->next(), part->soonest_});
  return next;
}

// Actions come before events of the same time. `next_event`: its time; `run_event(end)`: runs that
// event, and may run all before `end`.
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
    if (at >= window_ends_) [[unlikely]] {
      end_flows(); // which may end the run
      continue;
    }
    now_ = at;
    if (action <= event) {
      const Action next = actions_.top();
      actions_.pop();
      act(next);
      continue;
    }
    run_event(std::min(action, ns + 1));
  }
  if (window_ends_ != kNever && (window_ends_ <= ns || ns == scenario_.duration_ns))
    end_flows();
  now_ = std::max(now_, std::min(ns, scenario_.duration_ns));
}

void World::run_until(uint64_t ns) {
  if (fluid_)
    return run_events(
        ns, [this] { return fluid_->next(); },
        [this](uint64_t) {
          totals_.events++;
          run_fluid_event();
        });
  if (divided())
    return run_events(
        ns, [this] { return next_event(); },
        [&](uint64_t end) {
          // Edges at multiples of the lookahead: who runs in other steps has the same.
          const uint64_t edge = (now_ / lookahead_ + 1) * lookahead_;
          run_window(std::min(end, edge));
          if (end == ns + 1 && end < edge && ns < scenario_.duration_ns)
            window_ends_ = edge;
          else
            end_flows();
        });
  Part &all = *parts_.front();
  run_events(
      ns, [&] { return all.next(); }, [&](uint64_t) { all.run_event(); });
}

void Part::run_event() {
  now_ = queue_.time();
  totals_.events++;
  const Entity entity = entities_[queue_.entity()];
  switch (entity.kind) {
  case EntityKind::Wire:
    return run_wire(entity.number);
  case EntityKind::Host:
    return run_host(entity.number);
  case EntityKind::Crossing:
    return run_crossing(entity.number);
  case EntityKind::Point:
    return run_point(entity.number);
  }
}

void Part::run_before(uint64_t end) {
  soonest_ = kNever;
  take_boxes();
  while (queue_.time() < end)
    run_event();
}

void World::run_window(uint64_t end) {
  filling_ ^= 1;
  crew_.each(static_cast<uint32_t>(parts_.size()),
             [&](uint32_t number) { parts_[number]->run_before(end); });
  now_ = end - 1;
  for (const auto &part : parts_) {
    for (const Part::Note &note : part->notes_) {
      FlowRun &run = flows_[note.flow];
      if (note.dropped) {
        run.counts.drops++;
        run.dropped_ns = std::max(run.dropped_ns, note.at);
      } else if (!--run.in_flight && run.ended) {
        run.ended.reset();
      }
    }
    part->notes_.clear();
  }
}

// Whether all frames of a flow without ACKs have arrived is known at the end of a window.
void World::end_flows() {
  if (window_ends_ != kNever)
    now_ = std::max(now_, std::min(window_ends_ - 1, scenario_.duration_ns));
  window_ends_ = kNever;
  for (const auto &part : parts_)
    std::erase_if(part->ending_, [&](const Part::Ending &ending) {
      FlowRun &run = flows_[ending.flow];
      if (run.source && !part->all_arrived(run))
        return false;
      part->now_ = std::max({ending.at, run.arrived_ns, run.dropped_ns});
      if (run.source)
        part->finish_flow(ending.flow);
      return true;
    });
  count_finished();
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

} // namespace xr::simulate
