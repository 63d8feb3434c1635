// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"

namespace xr::host {

// Creates a veth pair in the thread's network namespace and sets both ends up. Returns after both
// have carrier.
Status make_veth(const std::string &one, const std::string &other);

} // namespace xr::host
