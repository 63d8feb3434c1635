// SPDX-License-Identifier: Apache-2.0
// Begin and end of flows, and the time that one would need alone.
#include <algorithm>

#include "base/draw.h"
#include "base/layer1.h"
#include "requester/open.h"
#include "requester/reliable.h"
#include "simulate/world.h"
#include "wire/bit_clock.h"

namespace xr::simulate {

namespace {

constexpr uint64_t kFlowSeeds = 3ULL << 32;
// Frames that are followed one by one for the ideal time; what is left adds its bytes.
constexpr uint64_t kFollowed = 20'000;
// With more flows the RTTs of ACKs are not kept: two histograms of each would need 116 KiB.
constexpr uint32_t kSegment = 16; // packets
constexpr size_t kMostTimed = 64;

} // namespace

// The flow as its requester gets it.
flow::Flow World::flow_for(uint32_t number) const {
  const FlowRun &run = flows_[number];
  flow::Flow flow = run.setup->flow;
  flow.path.src = address_of(run.src, flow.path.network);
  flow.path.dst = address_of(run.dst, flow.path.network);
  flow.path.src_mac = mac_of(run.src);
  flow.path.dst_mac = mac_of(run.dst);
  flow.src_given = flow.dst_given = true;
  flow.src_mac = flow.path.src_mac;
  flow.dst_mac = flow.path.dst_mac;
  flow.qp = run.qp;
  flow.src_qp = run.qp;
  if (!flow.seed)
    flow.seed = draw(scenario_.seed, kFlowSeeds + number);
  const uint32_t needs = flow.control.needs();
  if (run.setup->reliable && !flow.ack_every) {
    flow.ack_every = std::max(1U, scenario_.reliability.window / 4);
    if (needs) // an RTT for each packet, or for each segment of TIMELY
      flow.ack_every = needs & XDP_ROCE_NEEDS_EVERY_ACK ? 1 : std::min(flow.ack_every, kSegment);
  }
  if (needs)
    flow.control.path = facts_of(run, flow);
  // A QP starts at the rate of its host's link, in the units of that link.
  using congestion::Rate;
  if (flow.control.rate.kind == Rate::Kind::Top && !scenario_.topology.layer1)
    flow.control.rate = {Rate::Kind::BitsL2,
                         static_cast<double>(network_.wires[first_wire(run, flow)].rate), ""};
  return flow;
}

void World::start_flow(uint32_t number) {
  FlowRun &run = flows_[number];
  if (fluid_)
    return begin_fluid(number, {});
  std::vector<flow::Flow> flows{flow_for(number)};
  const auto line = static_cast<double>(network_.wires[first_wire(run, flows.front())].rate);
  // it was checked with the same values
  if (const Status s = flow::fit_frame_size(flows.front()); !s)
    return;
  run.start_ns = now_ + flows.front().pacing.start_ns;
  if (run.setup->reliable) {
    requester::Reliability reliability = scenario_.reliability;
    reliability.check_icrc = false;
    reliability.headers_only = true;
    reliability.times = flows_.size() <= kMostTimed;
    run.source = std::make_unique<requester::ReliableSource>(std::move(flows), congestion::Rate{},
                                                             line, reliability);
  } else {
    run.source = std::make_unique<requester::OpenSource>(std::move(flows), congestion::Rate{}, line,
                                                         false, true);
  }
  part_at_now(hosts_[run.src].part).go_on_sending(number);
}

// From now on it sends nothing, and what arrives for it is ignored.
void World::stop_flow(uint32_t number) {
  FlowRun &run = flows_[number];
  if (fluid_ && run.flowing && !run.end_ns) {
    count_fluid();
    fluid_->stop(now_, number);
    run.ended_ns = now_;
  }
  part_at_now(hosts_[run.src].part).stop_flow(number);
}

void Part::stop_flow(uint32_t number) {
  FlowRun &run = flows_[number];
  if (!run.source)
    return;
  keep_counts(run);
  run.ended_ns = now_;
  run.rtt = rtt_of(*run.source);
  if (run.in_flight)
    run.ended = std::move(run.source);
  run.source.reset();
}

void Part::finish_flow(uint32_t number) {
  FlowRun &run = flows_[number];
  stop_flow(number);
  const bool lost = !run.setup->reliable && run.counts.drops;
  if (!run.counts.failed && !lost)
    run.end_ns = now_;
  if (run.job != kNone)
    world_.flow_ended(run);
  finished_ += run.setup->flow.messages > 0;
  if (!world_.divided())
    world_.count_finished();
}

// A run until all flows are done ends with the last of them.
void World::count_finished() {
  size_t finished = 0;
  for (const auto &part : parts_)
    finished += std::exchange(part->finished_, 0);
  if (!finished)
    return;
  unfinished_ -= std::min(unfinished_, finished);
  if (scenario_.until_done && jobs_.empty() && !unfinished_)
    scenario_.duration_ns = now_;
}

// For a flow that does not know what arrives.
bool Part::all_arrived(const FlowRun &run) const {
  return run.counts.arrived + run.counts.drops >= run.counts.packets + run.counts.copies;
}

void Part::keep_counts(FlowRun &run) {
  if (!run.source)
    return;
  const SendCounts &counts = run.source->counts();
  run.counts.cnps = counts.cnps;
  run.counts.retransmitted = counts.retransmitted;
  run.counts.timeouts = counts.timeouts;
  run.counts.naks = counts.naks;
  run.counts.failed = counts.failed_messages;
  run.counts.messages = counts.messages;
  run.counts.acks = counts.acks;
  if (run.reads) {
    run.counts.bytes = counts.answer_bytes;
    run.counts.kept_no_room = counts.kept_no_room;
  }
  rates_.clear();
  run.source->qp_rates(now_, rates_);
  run.counts.cuts = 0;
  for (const QpRate &rate : rates_)
    run.counts.cuts += rate.cuts;
}

responder::Responder &Part::responder_of(uint32_t number, const FlowRun &run) {
  Host &host = hosts_[number];
  if (!host.responder) {
    responder::ResponderOptions options;
    options.mac = mac_of(number);
    options.pmtu = run.setup->flow.pmtu;
    options.cnp_pacing = scenario_.cnp;
    options.check_icrc = false;
    options.headers_only = true;
    options.echo_ce = world_.needs_ & XDP_ROCE_NEEDS_ECHO;
    options.selective = scenario_.reliability.selective || scenario_.reorder;
    options.reorder = scenario_.reorder;
    if (scenario_.reorder)
      options.first_psn = [this](uint32_t qp) -> std::optional<uint32_t> {
        const uint32_t index = qp - kFirstQp;
        if (index >= world_.first_psns_.size() || world_.first_psns_[index] == kNone)
          return {};
        return world_.first_psns_[index];
      };
    options.most_kept = scenario_.reliability.window;
    options.qps = static_cast<uint32_t>(world_.flow_of_qp_.size());
    options.seed = scenario_.seed;
    host.responder = std::make_unique<responder::Responder>(options);
  }
  return *host.responder;
}

// The wires that the flow's frames take; with spray and flowlets, one of the paths.
std::vector<uint32_t> World::path_of(const FlowRun &run, const flow::Flow &flow) const {
  const packet::Segment first = flow.segment(flow.size.of(0, flow.size_seed(0)), 0);
  packet::Path path = flow.path;
  path.src_port = flow.source_port(0);
  packet::Headers headers = flow.headers(first.opcode);
  headers.dest_qp = run.qp;
  const auto frame = packet::build(path, headers, packet::counting_payload(first.payload));
  const Host &host = hosts_[run.src];
  std::vector<uint32_t> wires{host.wire};
  if (!frame)
    return wires;
  const packet::Frame &built = frame.get();
  const PathKey key = path_key(built.bytes.data(), built.layout.l3);
  const auto next = [&](const Router &at) {
    const uint32_t route = at.routes[run.dst];
    return route & Router::kGroup ? choose_by_hash(at, route, key, run.qp) : route;
  };
  if (host.router)
    wires.front() = next(*host.router);
  while (wires.back() != kNone && ports_[wires.back()]->to != run.dst)
    wires.push_back(next(switches_[ports_[wires.back()]->to - network_.hosts]));
  return wires.back() == kNone ? std::vector{host.wire} : wires;
}

// From the first bit sent until the last message is complete, with the path for itself: open loop
// when its last frame has arrived, reliable when the ACK of that is back.
std::optional<uint64_t> World::ideal_ns(uint32_t number) const {
  const FlowRun &run = flows_[number];
  return ideal_ns(run, flow_for(number), run.setup->reliable);
}

// What one message of a job's connection takes until the receiver has it.
std::optional<uint64_t> World::message_ns(uint32_t number, uint64_t bytes) const {
  flow::Flow flow = flow_for(number);
  flow.size.parts = {{.bytes = bytes, .weight = 1}};
  flow.messages = 1;
  return ideal_ns(flows_[number], std::move(flow), false);
}

// `back`: and until the ACK of that is back.
std::optional<uint64_t> World::ideal_ns(const FlowRun &run, flow::Flow flow, bool back) const {
  const bool writes =
      flow.opcodes.empty() && packet::verb_properties(flow.verb) & (ROCE_OP_SEND | ROCE_OP_WRITE);
  const bool paced = flow.pacing.rate.kind != congestion::Rate::Kind::Top ||
                     flow.control.kind == congestion::Control::Kind::Fixed;
  if (!writes || paced || !flow.messages || flow.qps != 1 || !flow::fit_frame_size(flow))
    return {};
  struct Hop {
    wire::BitClock clock;
    uint64_t rate = 0, delay = 0;
    uint32_t overhead = 0;
  };
  std::vector<Hop> hops;
  uint64_t slowest = UINT64_MAX, at = 0, followed = 0, left = 0;
  for (const uint32_t wire : path_of(run, flow)) {
    const LinkSpec &spec = ports_[wire]->link.spec();
    if (!spec.rate) // it follows a trace
      return {};
    Hop &hop = hops.emplace_back(Hop{{}, spec.rate, spec.delay, spec.layer1 ? kLayer1Bytes : 0});
    hop.clock.set_rate(spec.rate);
    slowest = std::min(slowest, spec.rate);
  }
  const auto cross = [&](Hop &hop, uint64_t arrived, uint32_t bytes) {
    return hop.clock.send(std::max(arrived, hop.clock.free_at()), bytes + hop.overhead) + hop.delay;
  };
  for (uint64_t message = 0; message < flow.messages; message++) {
    const uint64_t size = flow.size.of(message, flow.size_seed(0));
    const uint32_t packets = flow.packets_of(size);
    for (uint32_t i = 0; i < packets; i++) {
      const packet::Segment segment = flow.segment(size, i);
      const uint32_t bytes = packet::overhead(flow.path, segment.opcode) + segment.payload +
                             flow.pad_of(segment.payload);
      if (++followed > kFollowed) {
        left += bytes + hops.front().overhead;
        continue;
      }
      at = 0;
      for (Hop &hop : hops)
        at = cross(hop, at, bytes);
    }
  }
  at += static_cast<uint64_t>(static_cast<unsigned __int128>(left) * 8'000'000'000ULL / slowest);
  if (!back)
    return at;
  const uint32_t ack = packet::overhead(
      flow.path, static_cast<uint8_t>(flow.transport | unsigned{ROCE_RC_ACKNOWLEDGE}));
  for (const uint32_t wire : path_of(run, flow)) {
    const LinkSpec &spec = ports_[wire ^ 1]->link.spec();
    if (!spec.rate)
      return {};
    wire::BitClock clock;
    clock.set_rate(spec.rate);
    at += clock.send(0, ack + (spec.layer1 ? kLayer1Bytes : 0)) + spec.delay;
  }
  return at;
}

} // namespace xr::simulate
