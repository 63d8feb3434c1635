// SPDX-License-Identifier: Apache-2.0
#include "requester/rate_sampler.h"

#include <algorithm>

namespace xr::requester {

size_t RateSampler::next(uint64_t now, std::span<packet::Outgoing> out) {
  const size_t count = of_->next(now, out);
  if (now >= next_)
    sample(now);
  return count;
}

uint64_t RateSampler::wake_at() const {
  return of_->done() ? of_->wake_at() : std::min(of_->wake_at(), next_);
}

// A late sample does not move the times of the others.
void RateSampler::sample(uint64_t now) {
  next_ = next_ ? next_ + ((now - next_) / interval_ + 1) * interval_ : now + interval_;
  rates_.clear();
  of_->qp_rates(now, rates_);
  for (size_t i = 0; i < std::min(most_, rates_.size()); i++) {
    if (samples_.size() >= rows_) {
      dropped_++;
      continue;
    }
    const QpRate &rate = rates_[i];
    samples_.push_back({now, rate.qp, static_cast<float>(rate.alpha), rate.rate, rate.target});
  }
}

} // namespace xr::requester
