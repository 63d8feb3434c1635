// SPDX-License-Identifier: Apache-2.0
// Which requester a queue of `send` runs.
#pragma once

#include <memory>
#include <vector>

#include "endpoint/port_facts.h"
#include "endpoint/send.h"

namespace xr::endpoint {

// `part`: of the total rate. `request` and `port` live as long as the source.
std::unique_ptr<requester::Requester> make_source(const SendRequest &request, const PortFacts &port,
                                                  std::vector<flow::Flow> flows, double part);

} // namespace xr::endpoint
