// SPDX-License-Identifier: Apache-2.0
// For this folder only: htsim's .topo file as the topology of an experiment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xr::importers {

// Host i is host-(i + 1).
struct CmTopology {
  uint32_t hosts = 0;
  uint64_t rate = 0, slowest = 0; // bit/s: of a host's link; of a host's part of any tier
  std::string yaml;               // the key `topology`
  std::vector<std::string> notes;
};
Result<CmTopology> read_cm_topology(std::string_view text, const std::string &name);

// What htsim makes without a .topo, with as many hosts or more: three tiers, 100 Gbit/s, 1 us.
Result<CmTopology> fat_tree_of(uint32_t hosts, const std::string &name);

} // namespace xr::importers
