// SPDX-License-Identifier: Apache-2.0
// The amount of packets that a flow sends.
#include <algorithm>

#include "requester/open_flow.h"

namespace xr::requester {

namespace {

double segment_bytes(const flow::Flow &flow, uint64_t size, uint32_t index, uint64_t number = 0) {
  const auto segment = flow.segment(size, index, number);
  return packet::overhead(flow.path, segment.opcode) + segment.payload +
         flow.pad_of(segment.payload);
}

// Average packet length in bytes of a flow with listed opcodes.
double listed_bytes(const flow::Flow &flow, uint64_t size) {
  double bytes = 0;
  for (size_t number = 0; number < flow.opcodes.size(); number++)
    bytes += segment_bytes(flow, size, 0, number);
  return bytes / static_cast<double>(flow.opcodes.size());
}

// Packets of the first `messages` of a list; 0: random sizes that differ in packets.
uint64_t packets_of_messages(const flow::Flow &flow, uint64_t messages) {
  std::vector<uint64_t> packets;
  uint64_t round = 0, rest = 0;
  for (const flow::Sizes::Part &part : flow.size.parts)
    round += packets.emplace_back(flow.packets_of(part.bytes));
  const bool same =
      std::all_of(packets.begin(), packets.end(), [&](uint64_t p) { return p == packets.front(); });
  if (flow.size.kind != flow::Sizes::Kind::List)
    return same ? messages * packets.front() : 0;
  for (size_t i = 0; i < messages % packets.size(); i++)
    rest += packets[i];
  return messages / packets.size() * round + rest;
}

} // namespace

double OpenFlow::bytes_of(uint64_t size, double &packets) const {
  const uint32_t count = flow_.packets_of(size);
  packets = count;
  if (!flow_.opcodes.empty())
    return listed_bytes(flow_, size);
  double bytes = segment_bytes(flow_, size, count - 1);
  if (count > 1)
    bytes += segment_bytes(flow_, size, 0);
  if (count > 2)
    bytes += (packets - 2) * segment_bytes(flow_, size, 1);
  return bytes;
}

// For random sizes in a range: the mean of both ends and the middle.
double OpenFlow::frame_bytes() const {
  std::vector<flow::Sizes::Part> parts = flow_.size.parts;
  if (flow_.size.kind == flow::Sizes::Kind::Uniform)
    parts.push_back({(parts.front().bytes + parts.back().bytes) / 2, 1});
  double bytes = 0, packets = 0;
  for (const flow::Sizes::Part &part : parts) {
    double some = 0;
    bytes += part.weight * bytes_of(part.bytes, some);
    packets += part.weight * some;
  }
  return bytes / packets;
}

double OpenFlow::asked_pps() const {
  const double frame = frame_bytes(), flow = pacer_.asked_pps(frame);
  return qp_pacing_ ? qp_pacing_->asked_pps(frame, flow) : flow;
}

uint64_t OpenFlow::packets_to_come() const {
  if (flow_.duration_ns)
    return 0;
  const congestion::Pacing &pacing = flow_.pacing;
  const bool bursts = pacing.shape == congestion::Pacing::Shape::Burst && pacing.bursts;
  const uint64_t by_bursts = bursts ? pacing.burst_packets * pacing.bursts : 0;
  const uint64_t by_messages =
      flow_.messages ? packets_of_messages(flow_, flow_.messages) * flow_.qps : 0;
  if (!flow_.messages)
    return by_bursts;
  return by_bursts ? std::min(by_bursts, by_messages) : by_messages;
}

} // namespace xr::requester
