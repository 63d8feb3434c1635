// SPDX-License-Identifier: Apache-2.0
// For this folder only: the congestion control and the queues of HPCC's config.txt as words.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "importers/hpcc_config.h"
#include "importers/hpcc_network.h"

namespace xr::importers {

// Without the window and HPCC's base RTT, which depend on the pair of hosts.
struct HpccControl {
  unsigned mode = 0; // CC_MODE
  std::string words;
};
Result<HpccControl> hpcc_control(HpccConfig &config);

struct HpccQueues {
  std::string words;                                       // of all queues
  std::vector<std::pair<std::string, std::string>> others; // by name, where they differ
};
// `priorities`: those of the flows, like "3".
Result<HpccQueues> hpcc_queues(HpccConfig &config, const HpccNetwork &network,
                               const std::string &priorities);

} // namespace xr::importers
