// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace xr {

// Bytes that a frame takes on the wire in addition to its own: FCS, preamble and inter-packet gap.
inline constexpr uint32_t kLayer1Bytes = 24;

} // namespace xr
