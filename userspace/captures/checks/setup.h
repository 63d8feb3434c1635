// SPDX-License-Identifier: Apache-2.0
// Whether hosts, NICs and switches are set up as RoCE needs it, by what passed in a capture.
#pragma once

#include <vector>

#include "checks/dscp_map.h"
#include "model/episodes.h"
#include "model/passive_latency.h"
#include "model/setup_check.h"
#include "model/snapshot.h"

namespace xr::checks {

// What passed. `episodes`, `latency`: null where QP pairs were not followed, or not timed.
struct Facts {
  const Snapshot &snapshot;
  const Episodes *episodes = nullptr;
  const PassiveLatency *latency = nullptr;
  // Equal-cost uplinks over which a switch spreads the flows, and its hash (path_hashes()). 0: not
  // known.
  uint32_t paths = 0;
  size_t hash = 0;
  DscpMap dscp_map = DscpMap::unknown(); // of the switches
};

// All checks, in the order of the table in setup.cpp.
std::vector<SetupCheck> check_setup(const Facts &facts);

} // namespace xr::checks
