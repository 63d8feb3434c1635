// SPDX-License-Identifier: Apache-2.0
// The frame check sequence of Ethernet (IEEE 802.3, 3.2.9), which NICs add and remove.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "packet/frame_schedule.h"

namespace xr::packet {

// In the order of the wire. `frame`: from the destination MAC on, without FCS.
std::array<uint8_t, kFcsBytes> fcs_of(std::span<const uint8_t> frame);

} // namespace xr::packet
