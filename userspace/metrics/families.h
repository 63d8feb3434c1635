// SPDX-License-Identifier: Apache-2.0
// Metric families in the making: values come in any order, one family gathers those of its name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <prometheus/metric_family.h>

namespace xr::metrics {

using Labels = std::vector<prometheus::ClientMetric::Label>;

class Families {
public:
  // Base units; names as Prometheus wants them, counters' with _total at the end.
  void counter(const std::string &name, const std::string &help, Labels labels, double value);
  void gauge(const std::string &name, const std::string &help, Labels labels, double value);

  // In the order in which their names came first.
  std::vector<prometheus::MetricFamily> take() { return std::move(families_); }

private:
  prometheus::ClientMetric &add(const std::string &name, const std::string &help,
                                prometheus::MetricType type, Labels labels);

  std::vector<prometheus::MetricFamily> families_;
  std::map<std::string, size_t> by_name_;
};

// The text that Prometheus reads.
std::string exposition(const std::vector<prometheus::MetricFamily> &families);

} // namespace xr::metrics
