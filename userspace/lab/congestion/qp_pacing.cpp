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

QpPacing::QpPacing(uint32_t qps, const Control &control, double line_bits, const PacketSize &packet)
    : dynamic_(control.kind != Control::Kind::Fixed), burst_(std::max(control.burst, 1U)),
      window_(control.window), line_(units_of(rate_of(control), line_bits).rate),
      payload_(packet.payload), maker_(control, line_, packet), qps_(qps) {
  if (qps > 1)
    wheel_ = std::make_unique<TimingWheel>(qps);
  const RateUnits units = units_of(rate_of(control), line_bits);
  per_byte_ = units.per_byte;
  per_packet_ = units.per_packet;
  window_bytes_ = window_.kind == Window::Kind::Bdp
                      ? line_ * static_cast<double>(control.path.base_rtt_ns) / kSecondNs
                      : static_cast<double>(window_.bytes);
  for (Qp &qp : qps_)
    qp.control = maker_.make();
}

void QpPacing::start(uint64_t start, uint32_t frame_bytes) {
  for (size_t i = 0; i < qps_.size(); i++) {
    qps_[i].control->start(start);
    qps_[i].window = window_of(*qps_[i].control);
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
  qp.window = window_of(*qp.control);
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

uint64_t QpPacing::window_of(const RateControl &control) const {
  if (window_.kind == Window::Kind::None)
    return control.window();
  const double own = window_.vary ? window_bytes_ * control.rate() / line_ : window_bytes_;
  return std::min(control.window(), std::max<uint64_t>(static_cast<uint64_t>(own), payload_));
}

// Late timers first; then what happened, and what follows from it.
template <class Report> void QpPacing::report(Qp &qp, uint64_t now, Report report) {
  wake(qp, now);
  const double before = qp.control->rate();
  report(*qp.control);
  qp.wake_at = qp.control->wake_at();
  qp.window = window_of(*qp.control);
  stretch(qp, now, before);
}

void QpPacing::cnp(uint32_t number, uint64_t now) {
  report(qps_[number], now, [&](RateControl &control) { control.cnp(now); });
}

void QpPacing::acked(uint32_t number, const Ack &ack) {
  report(qps_[number], ack.now_ns, [&](RateControl &control) { control.acked(ack); });
}

void QpPacing::lost(uint32_t number, uint64_t now, Loss loss) {
  report(qps_[number], now, [&](RateControl &control) { control.lost(now, loss); });
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
