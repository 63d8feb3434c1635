// SPDX-License-Identifier: Apache-2.0
// `cc fixed`: a QP keeps the rate that was asked for, whatever the network reports.
#include "congestion/rate_control.h"

namespace xr::congestion {

namespace {

class FixedRate final : public RateControl {
public:
  explicit FixedRate(double rate) : rate_(rate) {}
  double rate() const override { return rate_; }

private:
  double rate_;
};

} // namespace

std::unique_ptr<RateControl> make_rate_control(const Control &, double rate) {
  return std::make_unique<FixedRate>(rate);
}

} // namespace xr::congestion
