// SPDX-License-Identifier: Apache-2.0
// What all controls with one rate in bit/s have in common: the integral of the rate, counters, and
// the state that follows from these.
#pragma once

#include <algorithm>
#include <cstdint>

#include "congestion/rate_control.h"

namespace xr::congestion {

class RatedControl : public RateControl {
public:
  void start(uint64_t now) override {
    since_ = now;
    area_ = 0;
  }
  void cnp(uint64_t) override { cnps_++; } // by default nothing else follows from it
  ControlState state(uint64_t now) const override {
    ControlState state;
    state.rate = state.target = bps_;
    state.rate_seconds = area_until(now) * 1e-9;
    state.cnps = state.cnps_unused = cnps_;
    state.cuts = cuts_;
    state.additive = additive_;
    return state;
  }

protected:
  explicit RatedControl(double bps) : bps_(bps) { publish(bps / 8); }

  double bps() const { return bps_; }
  void set_bps(uint64_t now, double bps) {
    integrate(now);
    bps_ = bps;
    publish(bps / 8);
  }

  uint64_t cnps_ = 0, cuts_ = 0, additive_ = 0;

private:
  double area_until(uint64_t now) const {
    return now > since_ ? area_ + bps_ * static_cast<double>(now - since_) : area_;
  }
  void integrate(uint64_t now) {
    area_ = area_until(now);
    since_ = std::max(since_, now);
  }

  double bps_, area_ = 0; // bit/s, and their integral over ns up to `since_`
  uint64_t since_ = 0;
};

} // namespace xr::congestion
