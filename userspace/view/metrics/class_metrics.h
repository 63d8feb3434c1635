// SPDX-License-Identifier: Apache-2.0
// Packets by DSCP and PCP, and what PFC and PAUSE frames paused.
#pragma once

#include <string>

#include "metrics/families.h"
#include "model/snapshot.h"

namespace xr::metrics {

// PFC has all priorities from the beginning, so that the first frame is an increase. Classes are
// those that were seen.
void add_classes(Families &to, const std::string &port, const Snapshot &snapshot);

} // namespace xr::metrics
