// SPDX-License-Identifier: Apache-2.0
// An entry of the list of flows, and the flows that it makes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "simulate/scenario.h"
#include "simulate/traffic.h"

namespace xr::experiment {

// Times unset: the whole run.
struct FlowEntry {
  simulate::FlowSetup like;
  std::vector<std::string> from, to;
  std::string workload;
  simulate::PoissonTraffic poisson;
  simulate::Incast incast;
  simulate::OnOff on_off;
  std::string list; // lines, or the name of a file
  uint64_t until_ns = 0, start_ns = 0, stop_ns = UINT64_MAX;
  bool start_given = false;
};

// One for each pair of hosts, or those of the workload or list. They have no names yet.
// `directory`: of files with lists.
Result<std::vector<simulate::FlowSetup>>
expand(const FlowEntry &entry, const simulate::Scenario &scenario, const std::string &directory);

} // namespace xr::experiment
