// SPDX-License-Identifier: Apache-2.0
#include "endpoint/rates.h"

#include <algorithm>

#include "base/fairness.h"

namespace xr::endpoint {

namespace {

// Jain's index of the QPs' mean rates; 0: there is none.
double fairness(const std::vector<QpRate> &qps) {
  std::vector<double> rates;
  rates.reserve(qps.size());
  for (const QpRate &qp : qps)
    rates.push_back(qp.mean);
  return jain_index(rates).value_or(0);
}

} // namespace

Status check_line(const congestion::Control &control, uint64_t line_bits) {
  if (control.is_dynamic() && control.rate.kind == congestion::Rate::Kind::Top && !line_bits)
    return Error{"cc: the driver does not report the line rate", "line 10gbit, after cc's name"};
  return {};
}

void fill_rates(QpRates &rates, std::vector<QpRate> qps, size_t top) {
  rates.jain = fairness(qps);
  rates.other_qps = {.qps = 0};
  if (qps.size() > top) {
    std::nth_element(qps.begin(), qps.begin() + static_cast<ptrdiff_t>(top), qps.end(),
                     [](const QpRate &a, const QpRate &b) { return a.cnps > b.cnps; });
    for (size_t i = top; i < qps.size(); i++)
      rates.other_qps.add(qps[i]);
    qps.resize(top);
  }
  std::sort(qps.begin(), qps.end(), [](const QpRate &a, const QpRate &b) { return a.qp < b.qp; });
  rates.qps = std::move(qps);
}

} // namespace xr::endpoint
