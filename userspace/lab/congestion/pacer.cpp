// SPDX-License-Identifier: Apache-2.0
#include "congestion/pacer.h"

#include <algorithm>
#include <cmath>

#include "base/draw.h"
#include "base/layer1.h"

namespace xr::congestion {

namespace {

constexpr double kSecond = 1e9;

} // namespace

RateUnits units_of(const Rate &rate, double line_bits) {
  switch (rate.kind) {
  case Rate::Kind::Packets:
    return {rate.value, 0, 1};
  case Rate::Kind::BitsL1:
    return {rate.value / 8, 1, kLayer1Bytes};
  case Rate::Kind::BitsL2:
    return {rate.value / 8, 1, 0};
  case Rate::Kind::Percent:
    return {line_bits * rate.value / 100 / 8, 1, kLayer1Bytes};
  case Rate::Kind::Top:
    break;
  }
  return {};
}

Pacer::Pacer(const Pacing &pacing, double line_bits, uint64_t seed)
    : pacing_(pacing), seed_(seed_for(seed, Draws::Pacing)) {
  const RateUnits units = units_of(pacing.rate, line_bits);
  top_ = !(units.rate > 0);
  at_once_ = top_ && pacing.shape != Pacing::Shape::Burst;
  even_ = !top_ && pacing.shape == Pacing::Shape::Constant && !pacing.ramp_ns;
  if (top_)
    return;
  per_byte_ = units.per_byte;
  per_packet_ = units.per_packet;
  const double ticks = std::ldexp(kSecond / units.rate, kFraction);
  // rounded up: never faster than requested
  step_ = ticks < 0x1p63 ? static_cast<uint64_t>(std::ceil(ticks)) : 1ULL << 63;
}

void Pacer::start(uint64_t now) {
  begin_ = due_ = now + pacing_.start_ns;
  fraction_ = sent_ = burst_ = placed_ = 0;
}

void Pacer::sent_unevenly(uint64_t now, uint32_t frame_bytes) {
  if (pacing_.shape == Pacing::Shape::Burst)
    return sent_in_burst(now, frame_bytes);
  double ticks = static_cast<double>(interval(frame_bytes));
  if (pacing_.shape == Pacing::Shape::Poisson)
    ticks *= -std::log1p(-draw_real(seed_, sent_++));
  if (pacing_.ramp_ns)
    ticks = stretched(ticks);
  advance(static_cast<Ticks>(ticks));
}

void Pacer::sent_in_burst(uint64_t now, uint32_t frame_bytes) {
  if (++placed_ < pacing_.burst_packets) {
    if (!top_)
      advance(interval(frame_bytes));
    return;
  }
  placed_ = 0;
  if (++burst_ == pacing_.bursts)
    due_ = kNever;
  else
    due_ = (top_ ? std::max(now, due_) : due_) + pacing_.burst_gap_ns;
}

// Converts ticks at the full rate into ticks during the ramp. The fraction of the rate is b now and
// grows by 2a per tick, so the result x solves a x^2 + b x = ticks.
double Pacer::stretched(double ticks) const {
  const double whole = std::ldexp(static_cast<double>(pacing_.ramp_ns), kFraction);
  const double at =
      std::ldexp(static_cast<double>(due_ - begin_), kFraction) + static_cast<double>(fraction_);
  if (at >= whole)
    return ticks;
  const double a = (1 - pacing_.ramp_from) / (2 * whole);
  const double b = pacing_.ramp_from + 2 * a * at;
  const double x = 2 * ticks / (b + std::sqrt(b * b + 4 * a * ticks));
  const double left = whole - at;
  return x <= left ? x : left + ticks - (a * left + b) * left;
}

void Pacer::slip(uint64_t to) {
  to = std::min(to, end_);
  if (due_ >= to)
    return;
  slipped_ += to - due_;
  due_ = to;
  fraction_ = 0;
}

double Pacer::asked_pps(double frame_bytes) const {
  const double ns =
      std::ldexp(static_cast<double>(step_) * (frame_bytes * per_byte_ + per_packet_), -24);
  if (top_) // the duration of such a burst is unknown
    return 0;
  if (pacing_.shape != Pacing::Shape::Burst)
    return kSecond / ns;
  const auto packets = static_cast<double>(pacing_.burst_packets);
  const double period = (packets - 1) * ns + static_cast<double>(pacing_.burst_gap_ns);
  return packets * kSecond / period;
}

} // namespace xr::congestion
