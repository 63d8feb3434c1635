// SPDX-License-Identifier: Apache-2.0
// Who sends to whom. The bulk are the edges with at least a hundredth of the bytes of the largest.
// A bidirectional ring of three ranks is all-to-all, one of four is pairs: they have the same
// edges.
#pragma once

#include "model/job_traffic.h"

namespace xr {

// Sets `bulk` of the edges, `exchanging` and `pattern`. Other where no rule holds.
void find_pattern(JobTraffic &job);

} // namespace xr
