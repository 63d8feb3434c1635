// SPDX-License-Identifier: Apache-2.0
// The parts of the metrics of a port: classes and pauses, latency, rates of QPs, a wire.
#pragma once

#include <string>

#include "metrics/families.h"
#include "model/live_job.h"
#include "model/passive_latency.h"
#include "model/run_reports.h"
#include "model/snapshot.h"
#include "model/wire_counts.h"

namespace xr::metrics {

// PFC has all priorities from the beginning, so that the first frame is an increase. Classes are
// those that were seen.
void add_classes(Families &to, const std::string &port, const Snapshot &snapshot);

// What the newest steps took, and which rank is late in the newest.
void add_job(Families &to, const std::string &port, const LiveJob &live);

void add_latency(Families &to, const std::string &port, const PassiveLatency &latency);

// `top`: QPs with metrics of their own, those with the most CNPs.
void add_rates(Families &to, const std::string &port, const EndpointRates &rates, size_t top);

void add_wire(Families &to, const std::string &port, const WirePortCounts &counts, bool running);

} // namespace xr::metrics
