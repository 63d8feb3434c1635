// SPDX-License-Identifier: Apache-2.0
// An IP address in the form that the datapath uses.
#pragma once

#include <array>
#include <cstdint>

#include "roce/parse.h"

namespace xr {

using Address = std::array<uint32_t, 4>; // network order, IPv4 as v4-mapped IPv6

inline bool is_mapped(const Address &address) {
  return !address[0] && !address[1] && address[2] == ROCE_MAPPED_PREFIX;
}

} // namespace xr
