// SPDX-License-Identifier: Apache-2.0
// The rates of QPs under congestion control, for `send` and `respond`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "model/run_reports.h"
#include "rate/control.h"

namespace xr::endpoint {

// Error: it needs the line's rate in bit/s, and the port has none (0).
Status check_line(const congestion::Control &control, uint64_t line_bits);

// The `top` QPs with the most CNPs keep their rows, in the order of their QPNs; the others are
// summed.
void fill_rates(QpRates &rates, std::vector<QpRate> qps, size_t top);

} // namespace xr::endpoint
