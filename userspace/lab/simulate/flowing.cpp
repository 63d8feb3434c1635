// SPDX-License-Identifier: Apache-2.0
// Fidelity flow: the flows and jobs of a scenario as a fluid, without packets.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/layer1.h"
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
  fluid_paths_.resize(flows_.size());
  return {};
}

// Bytes of a message on the first link.
uint64_t World::wire_bytes_of(const flow::Flow &flow, uint64_t message, uint32_t extra) const {
  const uint32_t packets = flow.packets_of(message);
  const auto bytes = [&](uint32_t index) {
    const packet::Segment segment = flow.segment(message, index);
    return uint64_t{packet::overhead(flow.path, segment.opcode)} + segment.payload +
           flow.pad_of(segment.payload) + extra;
  };
  uint64_t sum = bytes(0);
  if (packets > 1)
    sum += bytes(packets - 1);
  if (packets > 2)
    sum += uint64_t{packets - 2} * bytes(1);
  return sum;
}

// One transfer: a message of a job, or all messages of a flow.
void World::begin_fluid(uint32_t number, std::optional<uint64_t> message) {
  FlowRun &run = flows_[number];
  const flow::Flow flow = flow_for(number);
  if (run.start_ns == kNever || !run.flowing) {
    run.start_ns = now_;
    run.flowing = true;
  }
  std::vector<uint32_t> &path = fluid_paths_[number];
  if (path.empty())
    path = path_of(run, flow);
  const uint32_t extra = ports_[path.front()]->link.overhead();
  double bytes = 0;
  if (message)
    bytes = static_cast<double>(wire_bytes_of(flow, *message, extra));
  else if (!flow.messages)
    bytes = std::numeric_limits<double>::infinity();
  else
    for (uint32_t qp = 0; qp < flow.qps; qp++)
      for (uint64_t i = 0; i < flow.messages; i++)
        bytes +=
            static_cast<double>(wire_bytes_of(flow, flow.size.of(i, flow.size_seed(qp)), extra));
  // Each further link sends the last packet once more.
  const uint64_t last = std::min<uint64_t>(wire_bytes_of(flow, flow.pmtu, extra),
                                           static_cast<uint64_t>(std::min(bytes, 1e9)));
  uint64_t latency = 0;
  for (size_t i = 0; i < path.size(); i++) {
    const LinkSpec &spec = ports_[path[i]]->link.spec();
    latency += spec.delay + (i ? last * 8'000'000'000 / spec.rate : 0);
  }
  fluid_->begin(now_, number, path, bytes * 8, latency);
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
    const flow::Flow &flow = run.setup->flow;
    const uint32_t extra = ports_[fluid_paths_[i].front()]->link.overhead();
    const double bytes = fluid_->sent_bits(now_, i) / 8;
    run.counts.wire_bytes = static_cast<uint64_t>(bytes);
    const uint64_t size = flow.size.largest();
    const double full =
        static_cast<double>(size) / static_cast<double>(wire_bytes_of(flow_for(i), size, extra));
    run.counts.bytes = static_cast<uint64_t>(bytes * full);
    if (!run.end_ns)
      run.arrived_ns = now_;
  }
  for (uint32_t i = 0; i < ports_.size(); i++)
    ports_[i]->counts->busy_ns = static_cast<uint64_t>(
        fluid_->link_bits(now_, i) / static_cast<double>(ports_[i]->link.spec().rate) * 1e9);
}

} // namespace xr::simulate
