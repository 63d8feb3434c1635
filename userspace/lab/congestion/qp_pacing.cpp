// SPDX-License-Identifier: Apache-2.0
#include "congestion/qp_pacing.h"

#include <algorithm>

#include "base/layer1.h"

namespace xr::congestion {

namespace {

constexpr double kSecondNs = 1e9;

// The line's rate: as given, else the port's.
Rate rate_of(const Control &control) {
  if (control.rate.kind != Rate::Kind::Top)
    return control.rate;
  return {Rate::Kind::Percent, 100, ""};
}

} // namespace

QpPacing::QpPacing(uint32_t qps, const Control &control, double line_bits)
    : dynamic_(control.kind != Control::Kind::Fixed), burst_(std::max(control.burst, 1U)),
      maker_(control, units_of(rate_of(control), line_bits).rate), qps_(qps) {
  if (qps > 1)
    wheel_ = std::make_unique<TimingWheel>(qps);
  const RateUnits units = units_of(rate_of(control), line_bits);
  per_byte_ = units.per_byte;
  per_packet_ = units.per_packet;
  for (Qp &qp : qps_)
    qp.control = maker_.make();
}

void QpPacing::start(uint64_t start, uint32_t frame_bytes) {
  for (size_t i = 0; i < qps_.size(); i++) {
    qps_[i].control->start(start);
    qps_[i].due = qps_[i].begun = start;
    const double interval = units(frame_bytes) / qps_[i].control->rate() * kSecondNs;
    advance(qps_[i], interval * static_cast<double>(i) / static_cast<double>(qps_.size()));
  }
}

uint32_t QpPacing::add(uint64_t now) {
  const uint32_t number = qps();
  qps_.emplace_back();
  if (wheel_)
    wheel_->grow(qps_.size());
  else if (qps_.size() > 1)
    wheel_ = std::make_unique<TimingWheel>(qps_.size());
  begin_anew(number, now);
  if (one_waits_ && wheel_) {
    one_waits_ = false;
    wait(0);
  }
  return number;
}

void QpPacing::begin_anew(uint32_t number, uint64_t now) {
  Qp &qp = qps_[number] = {};
  qp.control = maker_.make();
  qp.control->start(now);
  qp.due = qp.begun = now;
}

void QpPacing::advance(Qp &qp, double ns) {
  ns += qp.fraction;
  const auto whole = static_cast<int64_t>(ns);
  qp.due += static_cast<uint64_t>(whole);
  qp.fraction = ns - static_cast<double>(whole);
}

void QpPacing::sent(uint32_t number, uint64_t now, uint32_t frame_bytes) {
  Qp &qp = qps_[number];
  qp.control->sent(now, frame_bytes);
  qp.wake_at = qp.control->wake_at();
  qp.owed += units(frame_bytes) / qp.control->rate() * kSecondNs;
  if (++qp.burst >= burst_) {
    advance(qp, qp.owed);
    qp.owed = 0;
    qp.burst = 0;
  }
  const uint64_t patience = dynamic_ ? kDynamicPatienceNs : kPatienceNs;
  if (now > patience && qp.due < now - patience) {
    slipped_ += now - patience - qp.due;
    qp.due = now - patience;
    qp.fraction = 0;
  }
}

// The rate changed: the time that is left until the next packet shrinks or grows with it.
void QpPacing::stretch(Qp &qp, uint64_t now, double before) {
  const double rate = qp.control->rate();
  if (qp.due <= now || rate == before)
    return;
  const double left = static_cast<double>(qp.due - now) + qp.fraction;
  qp.due = now;
  qp.fraction = 0;
  advance(qp, left * before / rate);
}

// Late or not, each change counts from its own time. A CNP may have set a timer that is before the
// QP's place in the wheel; that place is not after the packet's new time, so it is early enough.
void QpPacing::wake(Qp &qp, uint64_t now) {
  while (qp.wake_at <= now) {
    const uint64_t at = qp.wake_at;
    const double before = qp.control->rate();
    qp.control->wake(at);
    qp.wake_at = qp.control->wake_at();
    stretch(qp, at, before);
  }
}

void QpPacing::cnp(uint32_t number, uint64_t now) {
  Qp &qp = qps_[number];
  wake(qp, now);
  const double before = qp.control->rate();
  qp.control->cnp(now);
  qp.wake_at = qp.control->wake_at();
  stretch(qp, now, before);
}

void QpPacing::rtt(uint32_t number, uint64_t now, uint64_t rtt_ns) {
  Qp &qp = qps_[number];
  const double before = qp.control->rate();
  qp.control->rtt(now, rtt_ns);
  qp.wake_at = qp.control->wake_at();
  stretch(qp, now, before);
}

void QpPacing::resume(uint32_t number, uint64_t now) {
  if (dynamic_)
    not_before(number, now);
}

void QpPacing::not_before(uint32_t number, uint64_t now) {
  Qp &qp = qps_[number];
  if (qp.due >= now)
    return;
  qp.due = now;
  qp.fraction = 0;
}

// A QP in the wheel may have been put off by a CNP, or its rate rises before its packet is due.
bool QpPacing::take_from_wheel(uint64_t now, uint32_t &number) {
  while (wheel_->take(now, number)) {
    if (!dynamic_)
      return true;
    wake(qps_[number], now);
    if (qps_[number].due <= now)
      return true;
    wait(number);
  }
  return false;
}

bool QpPacing::take_one(uint64_t now, uint32_t &number) {
  Qp &qp = qps_.front();
  if (dynamic_)
    wake(qp, now);
  if (qp.due > now)
    return false;
  number = 0;
  one_waits_ = false;
  return true;
}

double QpPacing::asked_pps(double frame_bytes, double flow_pps) const {
  if (dynamic_)
    return flow_pps;
  double sum = 0;
  for (const Qp &qp : qps_)
    sum += qp.control->rate() / units(frame_bytes);
  return flow_pps > 0 ? std::min(flow_pps, sum) : sum;
}

} // namespace xr::congestion
