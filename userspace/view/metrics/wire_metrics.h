// SPDX-License-Identifier: Apache-2.0
// The metrics of a wire's port: frames that the process took and holds, and the link that frames
// leave by.
#pragma once

#include <string>

#include "metrics/families.h"
#include "model/wire_counts.h"

namespace xr::metrics {

void add_wire(Families &to, const std::string &port, const WirePortCounts &counts, bool running);

} // namespace xr::metrics
