// SPDX-License-Identifier: Apache-2.0
// What congestion controls may ask of the network: what each hop says of itself (INT), and what is
// known of a path. Telemetry is plain numbers: it takes no bytes of a frame.
#include <algorithm>

#include "base/layer1.h"
#include "simulate/world.h"

namespace xr::simulate {

void Part::left(const wire::Link &link, const wire::Frame &frame, uint64_t now, uint64_t before) {
  if (!pool_[frame.handle].request)
    return;
  HopStack &stack = pool_.hops(frame.handle);
  if (stack.count < stack.hops.size())
    stack.hops[stack.count++] = {.time_ns = now,
                                 .tx_bytes = before,
                                 .queue_bytes = link.backlog_bytes(),
                                 .rate = static_cast<double>(link.spec().rate)};
}

void Part::keep_hops(uint32_t flow, uint32_t handle) {
  world_.flow_hops_[flow].take(pool_.hops(handle));
}

// A response echoes the newest request that its flow's receiver has seen.
void Part::answer_hops(uint32_t flow, uint32_t handle) {
  pool_.hops(handle).take(world_.flow_hops_[flow]);
}

std::span<const xdp_roce_hop> Part::hops_of(uint32_t handle) const {
  const HopStack &stack = pool_.hops(handle);
  return {stack.hops.data(), stack.count};
}

// The RTT of a full packet and its ACK without queues.
congestion::PathFacts World::facts_of(const FlowRun &run, const flow::Flow &flow) const {
  const packet::Segment first = flow.segment(flow.size.of(0, flow.size_seed(0)), 0);
  const uint32_t data =
      packet::overhead(flow.path, first.opcode) + first.payload + flow.pad_of(first.payload);
  const uint32_t ack = packet::overhead(
      flow.path, static_cast<uint8_t>(flow.transport | unsigned{ROCE_RC_ACKNOWLEDGE}));
  const auto crossing = [](const LinkSpec &spec, uint32_t bytes) {
    const uint64_t bits = 8 * uint64_t{bytes + (spec.layer1 ? kLayer1Bytes : 0)};
    return spec.delay + (spec.rate ? bits * 1'000'000'000 / spec.rate : 0);
  };
  const std::vector<uint32_t> wires = path_of(run, flow);
  congestion::PathFacts facts;
  facts.switches = static_cast<uint32_t>(wires.size() - 1);
  for (const uint32_t wire : wires)
    facts.base_rtt_ns +=
        crossing(ports_[wire]->link.spec(), data) + crossing(ports_[wire ^ 1]->link.spec(), ack);
  return facts;
}

} // namespace xr::simulate
