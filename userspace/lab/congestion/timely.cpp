// SPDX-License-Identifier: Apache-2.0
#include "congestion/timely.h"

#include <algorithm>

namespace xr::congestion {

void Timely::set_rate(uint64_t now, double rate) {
  if (now > since_) {
    area_ += rate_ * static_cast<double>(now - since_);
    since_ = now;
  }
  rate_ = rate;
  publish(rate_ / 8);
}

void Timely::increase(uint64_t now) {
  const TimelySettings &s = *settings_;
  const bool hyper = stage_ >= s.after;
  if (rate_ < s.line)
    (hyper ? hyper_ : additive_)++;
  set_rate(now, std::min(rate_ + (hyper ? s.hyper : s.delta), s.line));
  stage_++;
}

void Timely::decrease(uint64_t now, double factor) {
  set_rate(now, std::max(settings_->min_rate, rate_ * std::max(factor, 0.0)));
  stage_ = 0;
  cuts_++;
}

// The first RTT gives no difference. Later ones count once an RTT: one that began before the last
// decision says nothing about it.
void Timely::rtt(uint64_t now, uint64_t rtt_ns) {
  const TimelySettings &s = *settings_;
  if (now < next_)
    return;
  next_ = now + rtt_ns;
  if (!last_rtt_) {
    last_rtt_ = rtt_ns;
    return;
  }
  const double rtt = static_cast<double>(rtt_ns);
  difference_ = (1 - s.alpha) * difference_ + s.alpha * (rtt - static_cast<double>(last_rtt_));
  last_rtt_ = rtt_ns;
  const double gradient = difference_ / s.min_rtt_ns;
  if (rtt >= s.low_ns && rtt > s.high_ns)
    decrease(now, 1 - s.beta * (1 - s.high_ns / rtt));
  else if (rtt < s.low_ns || gradient <= 0)
    increase(now);
  else
    decrease(now, 1 - s.beta * gradient);
}

ControlState Timely::state(uint64_t now) {
  set_rate(now, rate_);
  ControlState state;
  state.rate = state.target = rate_;
  state.rate_seconds = area_ * 1e-9;
  state.cnps = state.cnps_unused = cnps_;
  state.cuts = cuts_;
  state.additive = additive_;
  state.hyper = hyper_;
  return state;
}

} // namespace xr::congestion
