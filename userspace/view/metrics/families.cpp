// SPDX-License-Identifier: Apache-2.0
#include "metrics/families.h"

#include <limits>

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

void Families::histogram(const std::string &name, const std::string &help, Labels labels,
                         const std::vector<Bucket> &buckets, double sum, uint64_t above) {
  prometheus::ClientMetric::Histogram &to =
      add(name, help, prometheus::MetricType::Histogram, std::move(labels)).histogram;
  for (const Bucket &bucket : buckets)
    to.bucket.push_back({bucket.count, bucket.upper_bound});
  to.sample_count = (buckets.empty() ? 0 : buckets.back().count) + above;
  to.bucket.push_back({to.sample_count, std::numeric_limits<double>::infinity()});
  to.sample_sum = sum;
}

std::string exposition(const std::vector<prometheus::MetricFamily> &families) {
  return prometheus::TextSerializer().Serialize(families);
}

} // namespace xr::metrics
