// SPDX-License-Identifier: Apache-2.0
#include "congestion/qp_pacing.h"

#include <algorithm>
#include <cmath>

#include "base/layer1.h"

namespace xr::congestion {

namespace {

constexpr double kSecondNs = 1e9;

} // namespace

QpPacing::QpPacing(uint32_t qps, const Control &control, double line_bits)
    : qps_(qps), wheel_(qps) {
  const RateUnits units = units_of(control.rate, line_bits);
  per_byte_ = units.per_byte;
  per_packet_ = units.per_packet;
  for (Qp &qp : qps_)
    qp.control = make_rate_control(control, units.rate);
}

void QpPacing::start(uint64_t start, uint32_t frame_bytes) {
  for (size_t i = 0; i < qps_.size(); i++) {
    qps_[i].due = start;
    const double interval = units(frame_bytes) / qps_[i].control->rate() * kSecondNs;
    advance(qps_[i], interval * static_cast<double>(i) / static_cast<double>(qps_.size()));
  }
}

void QpPacing::advance(Qp &qp, double ns) {
  ns += qp.fraction;
  const double whole = std::floor(ns);
  qp.due += static_cast<uint64_t>(whole);
  qp.fraction = ns - whole;
}

void QpPacing::sent(uint32_t number, uint64_t now, uint32_t frame_bytes) {
  Qp &qp = qps_[number];
  qp.control->sent(now, frame_bytes);
  advance(qp, units(frame_bytes) / qp.control->rate() * kSecondNs);
  if (now > kPatienceNs && qp.due < now - kPatienceNs) {
    slipped_ += now - kPatienceNs - qp.due;
    qp.due = now - kPatienceNs;
    qp.fraction = 0;
  }
}

double QpPacing::asked_pps(double frame_bytes, double flow_pps) const {
  double sum = 0;
  for (const Qp &qp : qps_)
    sum += qp.control->rate() / units(frame_bytes);
  return flow_pps > 0 ? std::min(flow_pps, sum) : sum;
}

} // namespace xr::congestion
