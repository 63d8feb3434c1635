// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace xr {

// Bytes on the wire that a frame has beside its own: FCS, preamble and inter-packet gap.
inline constexpr uint32_t kLayer1Bytes = 24;

} // namespace xr
