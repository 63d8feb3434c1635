// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace xr {

inline constexpr uint64_t kNever = UINT64_MAX; // a time that does not come, ns

} // namespace xr
