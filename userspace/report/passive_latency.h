// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/passive_latency.h"
#include "report/document.h"

namespace xr::report {

// The sections of `analyze --latency`.
void add_passive_latency(Document &document, const PassiveLatency &found);

} // namespace xr::report
