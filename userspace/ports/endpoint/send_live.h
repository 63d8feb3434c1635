// SPDX-License-Identifier: Apache-2.0
// Whether and how a run sends live frames instead of AF_XDP's.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "endpoint/live_engine.h"
#include "endpoint/port_facts.h"
#include "endpoint/send.h"

namespace xr::endpoint {

// Engines for the flows, which are complete. Error: why there are none: live frames cannot do it,
// or, with SendEngine::Auto, AF_XDP does it better.
Result<std::vector<std::unique_ptr<LiveEngine>>> open_live(const SendRequest &request,
                                                           const PortFacts &port);

// Error: live frames cannot send what is requested, whatever the flows are.
Status check_live(const SendRequest &request);

} // namespace xr::endpoint
