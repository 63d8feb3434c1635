// SPDX-License-Identifier: Apache-2.0
#include "congestion/theory.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

namespace xr::congestion {

namespace {

constexpr double kSecondsPerNs = 1e-9;
constexpr int kHalvings = 200;
constexpr double kConverged = 0.1; // of the fair share

double seconds(uint64_t ns) { return static_cast<double>(ns) * kSecondsPerNs; }

// (1-p)^x and its like without loss for small p.
double power(double p, double x) { return std::exp(x * std::log1p(-p)); }

// p / ((1-p)^-x - 1): increases per packet where one comes each x packets without a mark.
double per_packet(double p, double x) {
  if (x <= 0)
    return 0;
  if (p <= 0)
    return 1 / x;
  if (p >= 1)
    return 0;
  return p / std::expm1(-x * std::log1p(-p));
}

// The left side of the fixed point's equation minus its right side: grows with p.
double excess(const ModelUnits &u, double p) {
  const ModelTerms t(u, p, u.rc);
  const double alpha = 1 - power(p, u.tau_alpha * u.rc);
  return t.a * t.a * alpha - u.tau * u.tau * u.rai * u.rc * (t.b + t.d) * (t.c + t.e);
}

double exact_probability(const ModelUnits &u) {
  double low = 0, high = 1;
  for (int i = 0; i < kHalvings; i++) {
    const double middle = (low + high) / 2;
    (excess(u, middle) < 0 ? low : high) = middle;
  }
  return high;
}

double inverse(double x) { return x > 0 ? 1 / x : 0; }

double closed_form(const ModelUnits &u) {
  const double a = inverse(u.bytes) + 1 / (u.timer * u.rc);
  return std::cbrt(u.rai / (u.tau_alpha * u.rc * u.rc) * a * a);
}

// The open loop of the linear model (CoNEXT'16, appendix A; fluidmodel/dcqcn/stability.m), without
// its delay.
class OpenLoop {
public:
  OpenLoop(const ModelUnits &u, double flows)
      : n_(flows), gc_(u.g * u.c), p_(closed_form(u)), pr_(p_ * u.rc) {
    const ModelTerms t(u, p_, u.rc);
    const double rc = u.rc, alpha = 1 - power(p_, u.tau_alpha * rc);
    const double rt = rc * (1 + (t.c + t.e) * u.tau * u.rai / t.a);
    const double a = inverse(u.bytes) + 1 / (u.timer * rc);
    const double half = 0.5 + a / 4, slope = flows * u.slope;
    const double to_target = a / 2 * rc - half * p_ * rc; // weight of the target in the rate
    const double extra = (1 + 2 * u.f + a / 2) * u.rai;
    marks_ = (-rc * rc * alpha / 2 - half * rc * rt + half * rc * rc) * slope;
    delayed_ = -p_ * rc * alpha / 2 - a / 2 * rc + half * p_ * rc;
    direct_ = delayed_ + a / 2 * rt - half * p_ * rt;
    alpha_ = -p_ * rc * rc * u.g * u.c * slope / 2;
    target_ = to_target * (p_ * rc + a * u.rai);
    target_delayed_ = to_target * (-p_ * rt + p_ * rc + a * u.rai - extra * p_);
    target_marks_ = to_target * (-rc * rt + rc * rc - extra * rc) * slope;
  }

  std::complex<double> at(double w) const {
    const std::complex<double> s(0, w), first = n_ * s + gc_, second = s + pr_;
    const auto up = first * second * (marks_ + s * delayed_) + second * alpha_ +
                    first * (s * target_delayed_ + target_marks_);
    const auto down = s * first * (second * (direct_ - s) + target_);
    return up / down;
  }
  double gain(double w) const { return std::abs(at(w)); }

private:
  double n_, gc_, p_, pr_;
  double marks_, delayed_, direct_, alpha_, target_, target_delayed_, target_marks_;
};

} // namespace

ModelUnits::ModelUnits(const DcqcnSettings &s, const Bottleneck &path) {
  const double bits = path.packet_bytes * 8;
  c = path.line_bits / bits;
  rc = c / path.flows;
  // At most one cut in the longest of these; echoed marks without a limit: one a packet.
  tau = std::max({seconds(s.cnp_interval_ns), seconds(s.monitor_ns), 1 / rc});
  tau_alpha = seconds(s.alpha_timer_ns);
  timer = seconds(s.timer_ns);
  bytes = static_cast<double>(s.bytes) / path.packet_bytes;
  f = s.threshold;
  rai = s.rai / bits;
  g = s.g;
  kmin = path.kmin / path.packet_bytes;
  kmax = path.kmax / path.packet_bytes;
  pmax = path.pmax;
  slope = kmax > kmin ? pmax / (kmax - kmin) : 0;
}

ModelTerms::ModelTerms(const ModelUnits &u, double p, double rate)
    : a(1 - power(p, u.tau * rate)), b(per_packet(p, u.bytes)), c(b * power(p, u.f * u.bytes)),
      d(per_packet(p, u.timer * rate)), e(d * power(p, u.f * u.timer * rate)) {
  if (p >= 1) {
    a = 1;
    b = c = d = e = 0;
  }
}

FixedPoint fixed_point(const DcqcnSettings &settings, const Bottleneck &path) {
  const ModelUnits u(settings, path);
  FixedPoint point;
  point.share_bits = path.line_bits / path.flows;
  point.mark_probability = exact_probability(u);
  point.closed_form = closed_form(u);
  point.alpha = 1 - power(point.mark_probability, u.tau_alpha * u.rc);
  const double range = path.kmax - path.kmin;
  const auto queue = [&](double p) { return path.kmin + p / path.pmax * range; };
  point.queue_closed_form = queue(point.closed_form);
  if (settings.min_rate > point.share_bits) {
    point.applies = Applies::None;
  } else if (point.mark_probability > path.pmax) {
    point.applies = Applies::Kmax;
    point.queue_bytes = path.kmax;
  } else {
    point.applies = Applies::FixedPoint;
    point.queue_bytes = queue(point.mark_probability);
  }
  return point;
}

// CoNEXT'16, appendix B: all flows peak together, the switch marks at Kmax only, alpha is at its
// fixed point. Time is in units of tau'.
std::optional<double> convergence_bound(const DcqcnSettings &s, const Bottleneck &path) {
  const double n = path.flows, unit = seconds(s.alpha_timer_ns);
  if (path.flows < 2 || !(s.rai > 0) || !(s.g > 0))
    return std::nullopt;
  const double t = (-1 + std::sqrt(1 + 8 * path.kmax * 8 / (n * s.rai * unit))) / 2;
  const double k = t / 2 + path.line_bits / (2 * n * s.rai);
  double low = 0, high = 1;
  for (int i = 0; i < kHalvings; i++) {
    const double alpha = (low + high) / 2;
    const double next = power(s.g, 1 + k * alpha) * ((1 - s.g) * alpha + s.g);
    (next > alpha ? low : high) = alpha;
  }
  const double cycle = 2 + k * low;
  return unit * cycle * std::log(kConverged / n) / std::log1p(-low / 2);
}

std::optional<double> phase_margin(const DcqcnSettings &settings, const Bottleneck &path) {
  const ModelUnits u(settings, path);
  const OpenLoop loop(u, path.flows);
  constexpr double kFrom = 1, kTo = 1e9, kStep = 1.01; // rad/s
  std::optional<double> least;
  double next = kFrom;
  while (next < kTo) {
    double low = next, high = next * kStep;
    next = high;
    const bool above = loop.gain(low) > 1;
    if (above == (loop.gain(high) > 1))
      continue;
    for (int i = 0; i < kHalvings / 2; i++) {
      const double middle = std::sqrt(low * high);
      ((loop.gain(middle) > 1) == above ? low : high) = middle;
    }
    const double degrees =
        (std::arg(loop.at(low)) - low * seconds(path.delay_ns)) * 180 / std::numbers::pi;
    const double margin = std::remainder(degrees + 180, 360);
    if (std::isfinite(margin) && (!least || std::fabs(margin) < std::fabs(*least)))
      least = margin;
  }
  return least;
}

} // namespace xr::congestion
