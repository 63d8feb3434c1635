// SPDX-License-Identifier: Apache-2.0
// An experiment at a fraction of its rates. Rates are multiplied by the scale and times divided by
// it, so that the bytes of queues, thresholds, windows and of what is on the way stay the same.
#pragma once

#include <string>

#include "base/result.h"
#include "simulate/scenario.h"

namespace xr::places {

// "1/200" or "0.005": above 0, at most 1.
Result<double> parse_scale(const std::string &word);

// The retransmission timer is rounded up to its next code.
simulate::Scenario scaled(const simulate::Scenario &scenario, double scale);

} // namespace xr::places
