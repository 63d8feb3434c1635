// SPDX-License-Identifier: Apache-2.0
// For this folder only: histograms of points, added up.
#pragma once

#include <vector>

#include "base/histogram.h"
#include "report/document.h"
#include "sweep/point.h"

namespace xr::sweep {

class AddedHistogram {
public:
  void add(const SweepHistogram &histogram) {
    uint64_t count = 0;
    for (const auto &[value, times] : histogram.counts) {
      values_.add(value, times);
      count += times;
    }
    sum_ += histogram.mean * static_cast<double>(count);
  }
  bool empty() const { return !values_.count(); }
  uint64_t count() const { return values_.count(); }
  // Unknown if it is empty.
  report::Value mean() const {
    return empty() ? report::Value{} : sum_ / static_cast<double>(values_.count());
  }
  report::Value quantile(double fraction) const {
    return empty() ? report::Value{} : values_.quantile(fraction);
  }
  // Mean, p50, p99, p99.9 and the largest value.
  void append_to(std::vector<report::Value> &row) const {
    row.push_back(mean());
    for (const double fraction : {0.5, 0.99, 0.999, 1.0})
      row.push_back(quantile(fraction));
  }

private:
  Histogram values_;
  double sum_ = 0; // exact: buckets have a width
};

} // namespace xr::sweep
