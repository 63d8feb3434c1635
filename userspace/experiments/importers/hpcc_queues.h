// SPDX-License-Identifier: Apache-2.0
// For this folder only: the switches of HPCC's simulator as words of queues.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "importers/hpcc_config.h"
#include "importers/hpcc_network.h"

namespace xr::importers {

struct HpccQueues {
  std::string words;                                       // of all queues
  std::vector<std::pair<std::string, std::string>> others; // by name, where they differ
};
// `priorities`: those of the flows, like "3".
Result<HpccQueues> hpcc_queues(HpccConfig &config, const HpccNetwork &network,
                               const std::string &priorities);

} // namespace xr::importers
