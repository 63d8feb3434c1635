// SPDX-License-Identifier: Apache-2.0
#include "congestion/rate_control.h"

#include "congestion/dcqcn.h"
#include "congestion/fixed.h"
#include "congestion/timely.h"

namespace xr::congestion {

namespace {

constexpr double kBitsOfByte = 8;

} // namespace

RateControlMaker::RateControlMaker(const Control &control, double rate)
    : kind_(control.kind), rate_(rate) {
  if (kind_ == Control::Kind::Dcqcn)
    dcqcn_ = std::make_shared<const DcqcnSettings>(resolve(control.dcqcn, rate * kBitsOfByte));
  if (kind_ == Control::Kind::Timely)
    timely_ = std::make_shared<const TimelySettings>(resolve(control.timely, rate * kBitsOfByte));
}

std::unique_ptr<RateControl> RateControlMaker::make() const {
  switch (kind_) {
  case Control::Kind::Dcqcn:
    return std::make_unique<Dcqcn>(dcqcn_);
  case Control::Kind::Timely:
    return std::make_unique<Timely>(timely_);
  default:
    return std::make_unique<FixedRate>(rate_);
  }
}

std::unique_ptr<RateControl> make_rate_control(const Control &control, double rate) {
  return RateControlMaker(control, rate).make();
}

} // namespace xr::congestion
