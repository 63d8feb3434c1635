// SPDX-License-Identifier: Apache-2.0
#include "endpoint/rates.h"

#include <algorithm>

#include "base/fairness.h"

namespace xr::endpoint {

namespace {

void add_to(QpRate &sum, const QpRate &one) {
  sum.rate += one.rate;
  sum.target += one.target;
  sum.mean += one.mean;
  sum.alpha += one.alpha;
  sum.cnps += one.cnps;
  sum.cnps_unused += one.cnps_unused;
  sum.cuts += one.cuts;
  sum.fast += one.fast;
  sum.additive += one.additive;
  sum.hyper += one.hyper;
}

// Of the QPs' mean rates; 0: there is none.
double fairness(const std::vector<QpRate> &qps) {
  std::vector<double> rates;
  for (const QpRate &qp : qps)
    rates.push_back(qp.mean);
  return jain_index(rates, 0);
}

} // namespace

bool is_dynamic(const congestion::Control &control) {
  return control.kind == congestion::Control::Kind::Dcqcn ||
         control.kind == congestion::Control::Kind::Timely;
}

Status check_line(const congestion::Control &control, uint64_t line_bits) {
  if (is_dynamic(control) && control.rate.kind == congestion::Rate::Kind::Top && !line_bits)
    return Error{"cc: the driver does not report the line rate", "line 10gbit, after cc's name"};
  return {};
}

void fill_rates(RunReport &report, std::vector<QpRate> qps, size_t top) {
  report.jain = fairness(qps);
  if (qps.size() > top) {
    std::nth_element(qps.begin(), qps.begin() + static_cast<ptrdiff_t>(top), qps.end(),
                     [](const QpRate &a, const QpRate &b) { return a.cnps > b.cnps; });
    QpRate &rest = report.other_qps;
    rest.qps = qps.size() - top;
    for (size_t i = top; i < qps.size(); i++)
      add_to(rest, qps[i]);
    rest.alpha /= static_cast<double>(rest.qps);
    qps.resize(top);
  } else {
    report.other_qps.qps = 0;
  }
  std::sort(qps.begin(), qps.end(), [](const QpRate &a, const QpRate &b) { return a.qp < b.qp; });
  report.qps = std::move(qps);
}

} // namespace xr::endpoint
