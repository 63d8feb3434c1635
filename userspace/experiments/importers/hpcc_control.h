// SPDX-License-Identifier: Apache-2.0
// For this folder only: the congestion control of HPCC's config.txt as words.
#pragma once

#include <string>

#include "base/result.h"
#include "importers/hpcc_config.h"

namespace xr::importers {

// Without the window and HPCC's base RTT, which depend on the pair of hosts.
struct HpccControl {
  unsigned mode = 0; // CC_MODE
  std::string words;
};
Result<HpccControl> hpcc_control(HpccConfig &config);

} // namespace xr::importers
