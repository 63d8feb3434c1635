// SPDX-License-Identifier: Apache-2.0
#include "metrics/rates_metrics.h"

#include <algorithm>
#include <utility>

namespace xr::metrics {

void add_rates(Families &to, const std::string &port, const EndpointRates &rates, size_t top) {
  const Labels labels = {{"port", port}, {"command", rates.responder ? "respond" : "send"}};
  const QpRate total = rates.total();
  to.gauge("xdp_roce_cc_qps", "QPs whose rate is controlled by the port's send or respond.", labels,
           number(total.qps));
  to.gauge("xdp_roce_cc_rate_bits_per_second", "Sum of the QPs' rates now.", labels, total.rate);
  to.gauge("xdp_roce_cc_mean_bits_per_second", "Sum of the QPs' mean rates since they began.",
           labels, total.mean);
  to.gauge("xdp_roce_cc_alpha", "Mean of the QPs' alpha (DCQCN).", labels, total.alpha);
  to.gauge("xdp_roce_cc_fairness", "Jain's index of the QPs' mean rates.", labels, rates.jain);
  to.counter("xdp_roce_cc_cnps_total", "CNPs for these QPs.", labels, number(total.cnps));
  to.counter("xdp_roce_cc_cnps_unused_total", "Of those, CNPs that lowered no rate.", labels,
             number(total.cnps_unused));
  to.counter("xdp_roce_cc_cuts_total", "Cuts of QPs' rates.", labels, number(total.cuts));
  for (const auto &[stage, increases] :
       {std::pair{"fast", total.fast}, std::pair{"additive", total.additive},
        std::pair{"hyper", total.hyper}}) {
    Labels of_stage = labels;
    of_stage.push_back({"stage", stage});
    to.counter("xdp_roce_cc_increases_total", "Increases of QPs' rates, by stage.", of_stage,
               number(increases));
  }
  std::vector<QpRate> qps = rates.qps;
  std::sort(qps.begin(), qps.end(),
            [](const QpRate &a, const QpRate &b) { return a.cnps > b.cnps; });
  qps.resize(std::min(top, qps.size()));
  for (const QpRate &qp : qps) {
    Labels of_qp = labels;
    of_qp.push_back({"dest_qp", std::to_string(qp.qp)});
    to.gauge("xdp_roce_cc_qp_rate_bits_per_second",
             "Rate of a QP now; of the QPs with the most CNPs.", of_qp, qp.rate);
  }
}

} // namespace xr::metrics
