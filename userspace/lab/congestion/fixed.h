// SPDX-License-Identifier: Apache-2.0
// `cc fixed`: a QP keeps the rate that was asked for, whatever the network reports.
#pragma once

#include <cstdint>

#include "congestion/rate_control.h"

namespace xr::congestion {

class FixedRate final : public RateControl {
public:
  // `rate` in the units of RateControl::rate().
  explicit FixedRate(double rate) { publish(rate); }
  void start(uint64_t now) override { begin_ = now; }
  void cnp(uint64_t) override { cnps_++; }
  ControlState state(uint64_t now) const override {
    ControlState state;
    state.rate = state.target = rate();
    state.rate_seconds = rate() * static_cast<double>(now - begin_) * 1e-9;
    state.cnps = state.cnps_unused = cnps_;
    return state;
  }

private:
  uint64_t begin_ = 0, cnps_ = 0;
};

} // namespace xr::congestion
