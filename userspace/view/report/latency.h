// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/latency_report.h"
#include "report/document.h"

namespace xr::report {

// The sections of stamped frames: totals and a row per stream.
void add_latency(Document &document, const LatencyReport &report);

} // namespace xr::report
