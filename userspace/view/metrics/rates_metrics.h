// SPDX-License-Identifier: Apache-2.0
// The metrics of a port's `send` or `respond` whose QPs have congestion control.
#pragma once

#include <string>

#include "metrics/families.h"
#include "model/run_reports.h"

namespace xr::metrics {

// `top`: QPs with metrics of their own, those with the most CNPs.
void add_rates(Families &to, const std::string &port, const EndpointRates &rates, size_t top);

} // namespace xr::metrics
