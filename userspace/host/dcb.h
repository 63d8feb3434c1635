// SPDX-License-Identifier: Apache-2.0
// Priority flow control as the driver has it, by the kernel's dcbnl (RTM_GETDCB).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace xr::host {

struct Pfc {
  uint8_t enabled = 0;                   // a bit a priority
  std::array<uint64_t, 8> requests{};    // PFC frames sent
  std::array<uint64_t, 8> indications{}; // and received
};

// The body of an answer, struct dcbmsg included.
Result<Pfc> parse_pfc(std::string_view body);

// In the namespace that the thread is in.
Result<Pfc> read_pfc(const std::string &ifname);

} // namespace xr::host
