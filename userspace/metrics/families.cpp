// SPDX-License-Identifier: Apache-2.0
#include "metrics/families.h"

#include <prometheus/text_serializer.h>

namespace xr::metrics {

prometheus::ClientMetric &Families::add(const std::string &name, const std::string &help,
                                        prometheus::MetricType type, Labels labels) {
  const auto [place, is_new] = by_name_.emplace(name, families_.size());
  if (is_new)
    families_.push_back({name, help, type, {}});
  auto &metrics = families_[place->second].metric;
  metrics.emplace_back().label = std::move(labels);
  return metrics.back();
}

void Families::counter(const std::string &name, const std::string &help, Labels labels,
                       double value) {
  add(name, help, prometheus::MetricType::Counter, std::move(labels)).counter.value = value;
}

void Families::gauge(const std::string &name, const std::string &help, Labels labels,
                     double value) {
  add(name, help, prometheus::MetricType::Gauge, std::move(labels)).gauge.value = value;
}

std::string exposition(const std::vector<prometheus::MetricFamily> &families) {
  return prometheus::TextSerializer().Serialize(families);
}

} // namespace xr::metrics
