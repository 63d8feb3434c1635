// SPDX-License-Identifier: Apache-2.0
// Builds metric families: values may be added in any order, and are grouped by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <prometheus/metric_family.h>

namespace xr::metrics {

using Labels = std::vector<prometheus::ClientMetric::Label>;

// A counter's value as Prometheus has it.
inline double number(uint64_t value) { return static_cast<double>(value); }

class Families {
public:
  // Use base units and Prometheus naming: counters end in _total.
  void counter(const std::string &name, const std::string &help, Labels labels, double value);
  void gauge(const std::string &name, const std::string &help, Labels labels, double value);

  // `buckets`: values up to `upper_bound`, which ascend; each counts those of the ones before it
  // too. `above`: values above the last bound.
  struct Bucket {
    double upper_bound = 0;
    uint64_t count = 0;
  };
  void histogram(const std::string &name, const std::string &help, Labels labels,
                 const std::vector<Bucket> &buckets, double sum, uint64_t above = 0);

  // Families in the order in which their names were first added.
  std::vector<prometheus::MetricFamily> take() { return std::move(families_); }

private:
  prometheus::ClientMetric &add(const std::string &name, const std::string &help,
                                prometheus::MetricType type, Labels labels);

  std::vector<prometheus::MetricFamily> families_;
  std::map<std::string, size_t> by_name_;
};

// The Prometheus text format.
std::string exposition(const std::vector<prometheus::MetricFamily> &families);

} // namespace xr::metrics
