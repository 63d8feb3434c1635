// SPDX-License-Identifier: Apache-2.0
// Flows divided among the queues or processors of a run.
#pragma once

#include <cstdint>
#include <vector>

#include "flow/flow.h"

namespace xr::endpoint {

void scale(congestion::Rate &rate, double part);

// The parts of a flow: each has some of its QPs and the same share of its rate. At most one part
// per QP; a flow whose packets are counted over all its QPs has one.
std::vector<flow::Flow> parts_of(const flow::Flow &flow, uint32_t most);

// Distributes flows over queues; none is empty.
std::vector<std::vector<flow::Flow>> divide(const std::vector<flow::Flow> &flows, uint32_t queues);

} // namespace xr::endpoint
