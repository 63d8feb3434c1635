// SPDX-License-Identifier: Apache-2.0
#include "congestion/timely.h"

#include <algorithm>

namespace xr::congestion {

void Timely::increase(uint64_t now) {
  const TimelySettings &s = *settings_;
  const bool hyper = stage_ >= s.after;
  if (bps() < s.line)
    (hyper ? hyper_ : additive_)++;
  set_bps(now, std::min(bps() + (hyper ? s.hyper : s.delta), s.line));
  stage_++;
}

void Timely::decrease(uint64_t now, double factor) {
  set_bps(now, std::max(settings_->min_rate, bps() * std::max(factor, 0.0)));
  stage_ = 0;
  cuts_++;
}

// Between the thresholds: a mean of the step up and of a cut by the distance from the reference,
// weighted by the gradient.
void Timely::weigh(uint64_t now, double gradient, double rtt) {
  const TimelySettings &s = *settings_;
  const double weight = std::clamp(2 * gradient + 0.5, 0.0, 1.0);
  const double error = (rtt - s.reference_ns) / s.reference_ns;
  const double before = bps();
  set_bps(now, std::clamp(s.delta * (1 - weight) + before * (1 - s.beta * weight * error),
                          s.min_rate, s.line));
  (bps() < before ? cuts_ : additive_)++;
  stage_ = 0;
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
  else if (s.reference_ns > 0 && rtt >= s.low_ns)
    weigh(now, gradient, rtt);
  else if (rtt < s.low_ns || gradient <= 0)
    increase(now);
  else
    decrease(now, 1 - s.beta * gradient);
}

ControlState Timely::state(uint64_t now) const {
  ControlState state = RatedControl::state(now);
  state.hyper = hyper_;
  return state;
}

} // namespace xr::congestion
