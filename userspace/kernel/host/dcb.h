// SPDX-License-Identifier: Apache-2.0
// Priority flow control settings of the driver, from dcbnl (RTM_GETDCB).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace xr::host {

struct Pfc {
  uint8_t enabled = 0;                   // one bit per priority
  std::array<uint64_t, 8> requests{};    // PFC frames sent
  std::array<uint64_t, 8> indications{}; // PFC frames received
};

// `body` is the body of a reply, including struct dcbmsg.
Result<Pfc> parse_pfc(std::string_view body);

// Reads from the network namespace of the thread.
Result<Pfc> read_pfc(const std::string &ifname);

} // namespace xr::host
