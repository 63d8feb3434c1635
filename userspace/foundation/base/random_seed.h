// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/result.h"

namespace xr {

// From the kernel, without waiting. Error: it has none (yet).
Result<uint64_t> random_seed();

} // namespace xr
