// SPDX-License-Identifier: Apache-2.0
// The priority to which switches map a DSCP.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace xr::checks {

struct DscpMap {
  static constexpr uint8_t kUnknown = 255;

  std::array<uint8_t, 64> priority{}; // of each DSCP, 0 to 7; kUnknown

  static DscpMap unknown();
  bool known() const { return *this != unknown(); }
  bool operator==(const DscpMap &) const = default;
};

// "3:3,4:4", "div8" (DSCP / 8), or a file: such pairs, or SONiC's DSCP_TO_TC_MAP as JSON, of which
// the priority is the traffic class.
Result<DscpMap> read_dscp_map(const std::string &word);

} // namespace xr::checks
