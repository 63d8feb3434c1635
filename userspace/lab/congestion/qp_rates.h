// SPDX-License-Identifier: Apache-2.0
// The rows of a report about QPs whose rate is controlled.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "congestion/qp_pacing.h"
#include "model/run_reports.h"

namespace xr::congestion {

// Appends the row of QP `number` of `pacing`, which is `qpn` in the report.
inline void append_qp_rate(const QpPacing &pacing, uint32_t number, uint32_t qpn, uint64_t now,
                           std::vector<QpRate> &rows) {
  const uint64_t begun = pacing.begun(number);
  const double seconds = now > begun ? static_cast<double>(now - begun) * 1e-9 : 0;
  const ControlState state = pacing.state(number, now);
  QpRate &row = rows.emplace_back();
  row.qp = qpn & 0xffffff;
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

// Appends the rows of one flow; `first_qp` is the destination QPN of its QP 0.
inline void append_qp_rates(const QpPacing &pacing, uint32_t first_qp, uint64_t now,
                            std::vector<QpRate> &rows) {
  for (uint32_t i = 0; pacing.dynamic() && i < pacing.qps(); i++)
    append_qp_rate(pacing, i, first_qp + i, now, rows);
}

// Further values of the algorithm by their names, each the mean of all QPs.
using ControlValues = std::vector<std::pair<const char *, double>>;
inline void append_values(QpPacing &pacing, uint64_t now, ControlValues &values) {
  if (!pacing.dynamic() || !pacing.qps())
    return;
  const auto names = pacing.control(0).names();
  const size_t first = values.size();
  for (const char *name : names)
    values.emplace_back(name, 0);
  std::vector<double> numbers(names.size());
  for (uint32_t qp = 0; !names.empty() && qp < pacing.qps(); qp++) {
    pacing.control(qp).read(now, numbers.data());
    for (size_t i = 0; i < names.size(); i++)
      values[first + i].second += numbers[i] / pacing.qps();
  }
}

} // namespace xr::congestion
