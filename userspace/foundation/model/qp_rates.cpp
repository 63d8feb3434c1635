// SPDX-License-Identifier: Apache-2.0
#include "model/run_reports.h"

namespace xr {

void QpRate::add(const QpRate &other) {
  const auto all = static_cast<double>(qps + other.qps);
  if (all > 0)
    alpha = (alpha * static_cast<double>(qps) + other.alpha * static_cast<double>(other.qps)) / all;
  qps += other.qps;
  rate += other.rate;
  target += other.target;
  mean += other.mean;
  cnps += other.cnps;
  cnps_unused += other.cnps_unused;
  cuts += other.cuts;
  fast += other.fast;
  additive += other.additive;
  hyper += other.hyper;
}

QpRate QpRates::total() const {
  QpRate sum = other_qps;
  for (const QpRate &qp : qps)
    sum.add(qp);
  return sum;
}

} // namespace xr
