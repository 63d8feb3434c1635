// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace xr {

// How the iCRC changes, as an xor, where a covered byte that `after` covered bytes follow changes
// by each xor. CRC is linear: changes of several bytes add up by xor.
std::array<uint32_t, 256> icrc_changes(uint32_t after);

} // namespace xr
