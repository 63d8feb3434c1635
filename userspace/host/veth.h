// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"

namespace xr::host {

// Makes a pair of veth interfaces in the thread's network namespace and sets both up. Returns when
// both have carrier.
Status make_veth(const std::string &one, const std::string &other);

} // namespace xr::host
