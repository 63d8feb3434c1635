// SPDX-License-Identifier: Apache-2.0
// The rows of a report about QPs whose rate is controlled.
#pragma once

#include <vector>

#include "congestion/qp_pacing.h"
#include "model/run_reports.h"

namespace xr::requester {

// Appends the rows of one flow; `first_qp` is the destination QPN of its QP 0.
inline void append_qp_rates(congestion::QpPacing &pacing, uint32_t first_qp, uint64_t now,
                            std::vector<QpRate> &rows) {
  if (!pacing.dynamic())
    return;
  const double seconds =
      now > pacing.begun() ? static_cast<double>(now - pacing.begun()) * 1e-9 : 0;
  for (uint32_t i = 0; i < pacing.qps(); i++) {
    const congestion::ControlState state = pacing.state(i, now);
    QpRate &row = rows.emplace_back();
    row.qp = (first_qp + i) & 0xffffff;
    row.rate = state.rate;
    row.target = state.target;
    row.mean = seconds > 0 ? state.rate_seconds / seconds : state.rate;
    row.alpha = state.alpha;
    row.cnps = state.cnps;
    row.cnps_unused = state.cnps_unused;
    row.cuts = state.cuts;
    row.fast = state.fast;
    row.additive = state.additive;
    row.hyper = state.hyper;
  }
}

} // namespace xr::requester
