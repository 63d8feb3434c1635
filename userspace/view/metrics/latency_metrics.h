// SPDX-License-Identifier: Apache-2.0
// The times of QP pairs on a port, as histograms.
#pragma once

#include <string>

#include "metrics/families.h"
#include "model/passive_latency.h"

namespace xr::metrics {

void add_latency(Families &to, const std::string &port, const PassiveLatency &latency);

} // namespace xr::metrics
