// SPDX-License-Identifier: Apache-2.0
#include "endpoint/flow_parts.h"

#include <algorithm>
#include <utility>

namespace xr::endpoint {

using flow::Flow;

namespace {

// Faults are placed by packet number of the whole flow, and bursts count the packets of all its
// QPs.
bool is_indivisible(const Flow &flow) {
  return !flow.faults.empty() || flow.pacing.shape == congestion::Pacing::Shape::Burst;
}

} // namespace

void scale(congestion::Rate &rate, double part) { rate.value *= part; }

std::vector<Flow> parts_of(const Flow &flow, uint32_t most) {
  std::vector<Flow> all;
  const uint32_t parts = is_indivisible(flow) ? 1 : std::min(most, flow.qps);
  for (uint32_t part = 0, from = 0; part < parts; part++) {
    const auto to = static_cast<uint32_t>(uint64_t{flow.qps} * (part + 1) / parts);
    Flow item = flow;
    item.qp = flow.dest_qp(from);
    item.src_qp = flow.own_qp(from);
    item.qps = to - from;
    item.first_index = from;
    scale(item.pacing.rate, static_cast<double>(item.qps) / flow.qps);
    all.push_back(std::move(item));
    from = to;
  }
  return all;
}

std::vector<std::vector<Flow>> divide(const std::vector<Flow> &flows, uint32_t queues) {
  std::vector<std::vector<Flow>> by_queue(queues);
  uint32_t next = 0;
  for (const Flow &flow : flows)
    for (Flow &part : parts_of(flow, queues))
      by_queue[next++ % queues].push_back(std::move(part));
  std::erase_if(by_queue, [](const std::vector<Flow> &part) { return part.empty(); });
  return by_queue;
}

} // namespace xr::endpoint
