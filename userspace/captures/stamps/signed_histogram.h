// SPDX-License-Identifier: Apache-2.0
// A histogram of signed values: latencies between two clocks may be negative.
#pragma once

#include <cstdint>
#include <memory>

#include "base/histogram.h"

namespace xr::stamps {

class SignedHistogram {
public:
  void add(int64_t value) {
    if (value >= 0)
      return positive_.add(static_cast<uint64_t>(value));
    if (!negative_)
      negative_ = std::make_unique<Histogram>();
    negative_->add(0 - static_cast<uint64_t>(value));
  }
  void merge(const SignedHistogram &other) {
    positive_.merge(other.positive_);
    if (!other.negative_)
      return;
    if (!negative_)
      negative_ = std::make_unique<Histogram>();
    negative_->merge(*other.negative_);
  }

  uint64_t negative() const { return negative_ ? negative_->count() : 0; }
  uint64_t count() const { return positive_.count() + negative(); }

  // Like Histogram::quantile(); of negative values the error is towards zero.
  int64_t quantile(double fraction) const {
    const auto all = static_cast<double>(count()), below = static_cast<double>(negative());
    const double rank = fraction * all;
    if (below > 0 && rank <= below)
      return -static_cast<int64_t>(negative_->quantile(1 - rank / below));
    const double rest = all - below;
    return static_cast<int64_t>(positive_.quantile(rest > 0 ? (rank - below) / rest : 0));
  }

private:
  Histogram positive_;
  std::unique_ptr<Histogram> negative_; // of the magnitudes
};

} // namespace xr::stamps
