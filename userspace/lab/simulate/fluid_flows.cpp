// SPDX-License-Identifier: Apache-2.0
// Fidelity flow: the flows and jobs of a scenario as a fluid, without packets.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "simulate/world.h"

namespace xr::simulate {

namespace {

Error only_packets(const std::string &what) {
  return {fmt::format("fidelity: flow has no packets, and so no {}", what),
          "fidelity: packet, or leave it out"};
}

} // namespace

// What a fluid cannot show is refused, so that nothing is believed to be there.
Status World::check_fluid() const {
  if (!scenario_.rules.all.empty())
    return only_packets("rules");
  if (!scenario_.captures.empty())
    return only_packets("captures");
  if (scenario_.routing.kind != Routing::Kind::Ecmp)
    return only_packets("spray or flowlets");
  for (const Event &event : scenario_.schedule)
    if (event.kind != Event::Kind::Start && event.kind != Event::Kind::Stop)
      return only_packets("events of links and queues");
  for (const FlowSetup &setup : scenario_.flows) {
    const flow::Flow &flow = setup.flow;
    if (flow.pacing.rate.kind != congestion::Rate::Kind::Top ||
        flow.control.kind == congestion::Control::Kind::Fixed)
      return Error{fmt::format("flow {}: fidelity: flow has no rates but the links'", setup.name),
                   "fidelity: packet, or leave the rate out"};
    if (!flow.faults.empty())
      return only_packets("faults");
  }
  for (const auto &port : ports_)
    if (!port->link.spec().rate)
      return only_packets("traces");
  return {};
}

Status World::build_fluid() {
  XR_TRY(check_fluid());
  std::vector<double> rates;
  for (const auto &port : ports_)
    rates.push_back(static_cast<double>(port->link.spec().rate));
  fluid_ = std::make_unique<Fluid>(std::move(rates));
  fluid_ways_.resize(flows_.size());
  return {};
}

void World::run_fluid_event() {
  for (uint32_t flow; fluid_->take(now_, flow);)
    fluid_arrived(flow);
}

World::FluidWay World::way_of(const FlowRun &run, const flow::Flow &flow) const {
  FluidWay way;
  way.path = path_of(run, flow);
  way.pmtu = flow.pmtu;
  way.extra = ports_[way.path.front()]->link.overhead();
  const auto headers = [&](uint64_t size, uint32_t index) {
    return packet::overhead(flow.path, flow.segment(size, index).opcode) + way.extra;
  };
  const uint64_t two = 2 * uint64_t{flow.pmtu}, three = 3 * uint64_t{flow.pmtu};
  way.only = headers(flow.pmtu, 0);
  way.ends = headers(two, 0) + headers(two, 1);
  way.middle = headers(three, 1);
  // Each further link sends the last packet once more.
  for (size_t i = 0; i < way.path.size(); i++) {
    const LinkSpec &spec = ports_[way.path[i]]->link.spec();
    way.delay_ns += spec.delay;
    way.again_ns += i ? 8e9 / static_cast<double>(spec.rate) : 0; // a byte
  }
  return way;
}

// Bytes of a message on the first link. Pads are left out.
uint64_t World::FluidWay::wire_bytes(uint64_t message) const {
  const uint64_t packets = std::max<uint64_t>(1, (message + pmtu - 1) / pmtu);
  return message + (packets == 1 ? only : ends + (packets - 2) * middle);
}

// One transfer: a message of a job, or all messages of a flow.
void World::begin_fluid(uint32_t number, std::optional<uint64_t> message) {
  FlowRun &run = flows_[number];
  FluidWay &way = fluid_ways_[number];
  if (!run.flowing) {
    way = way_of(run, flow_for(number));
    run.start_ns = now_;
    run.flowing = true;
  }
  double bytes = 0;
  if (message) {
    bytes = static_cast<double>(way.wire_bytes(*message));
  } else if (!run.setup->flow.messages) {
    bytes = std::numeric_limits<double>::infinity();
  } else {
    const flow::Flow flow = flow_for(number);
    for (uint32_t qp = 0; qp < flow.qps; qp++)
      for (uint64_t i = 0; i < flow.messages; i++)
        bytes += static_cast<double>(way.wire_bytes(flow.size.of(i, flow.size_seed(qp))));
  }
  const double last = std::min(static_cast<double>(way.wire_bytes(way.pmtu)), bytes);
  fluid_->begin(now_, number, way.path, bytes * 8,
                way.delay_ns + static_cast<uint64_t>(last * way.again_ns));
}

// The payload of a transfer that has arrived.
void World::fluid_arrived(uint32_t number) {
  FlowRun &run = flows_[number];
  if (run.posted) {
    const uint32_t job = run.posted->job, operation = run.posted->unsent.front();
    run.counts.messages++;
    run.posted->unsent.pop();
    messages_arrived(run, 1);
    jobs_[job]->progress.sent(now_, operation);
    if (!run.posted->left && run.posted->unsent.empty())
      end_fluid(run);
    return go_on_with(job);
  }
  run.counts.messages = run.setup->flow.messages * run.setup->flow.qps;
  end_fluid(run);
  if (run.job != kNone) {
    jobs_[run.job]->progress.complete(now_, run.operation);
    flow_ended(run);
  }
}

void World::end_fluid(FlowRun &run) { run.end_ns = run.ended_ns = run.arrived_ns = now_; }

// Counts until now. The payload is the share of the wire's bytes that full packets carry.
void World::count_fluid() {
  for (uint32_t i = 0; i < flows_.size(); i++) {
    FlowRun &run = flows_[i];
    if (!run.flowing)
      continue;
    const double bytes = fluid_->sent_bits(now_, i) / 8;
    run.counts.wire_bytes = static_cast<uint64_t>(bytes);
    const uint64_t size = run.setup->flow.size.largest();
    const double full =
        static_cast<double>(size) / static_cast<double>(fluid_ways_[i].wire_bytes(size));
    run.counts.bytes = static_cast<uint64_t>(bytes * full);
    if (!run.end_ns)
      run.arrived_ns = now_;
  }
  for (uint32_t i = 0; i < ports_.size(); i++)
    ports_[i]->fluid_busy_ns = static_cast<uint64_t>(
        fluid_->link_bits(now_, i) / static_cast<double>(ports_[i]->link.spec().rate) * 1e9);
}

} // namespace xr::simulate
