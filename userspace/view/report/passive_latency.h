// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "model/passive_latency.h"
#include "report/document.h"

namespace xr::report {

// The sections of `analyze --latency`.
void add_passive_latency(Document &document, const PassiveLatency &found);

// The word for a kind (enum roce_latency).
const char *latency_kind(unsigned kind);

// The times on port `ifname`.
Document passive_latency_report(const std::string &ifname, const PassiveLatency &found);

} // namespace xr::report
