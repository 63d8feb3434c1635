// SPDX-License-Identifier: Apache-2.0
#include "wire/jitter.h"

#include <algorithm>
#include <cmath>

namespace xr::wire {

namespace {

constexpr double kMicrosecond = 1000;

double as_real(uint64_t ns) { return static_cast<double>(ns); }

// For a parameter that the distribution in use may not have.
double positive(double value) { return value > 0 ? value : 1; }

} // namespace

DelaySource::DelaySource(const Hold &hold, uint64_t seed)
    : hold_(hold), bits_{seed}, normal_(as_real(hold.a), positive(as_real(hold.b))),
      gamma_(positive(hold.shape), positive(as_real(hold.b))),
      poisson_(positive(as_real(hold.a) / kMicrosecond)) {}

double DelaySource::addition(uint64_t now) {
  switch (hold_.jitter) {
  case Jitter::None:
    break;
  case Jitter::Uniform:
    return as_real(hold_.a + draw_below(bits_.seed, bits_.number++, hold_.b - hold_.a + 1));
  case Jitter::Gaussian:
    return normal_(bits_);
  case Jitter::Poisson:
    return static_cast<double>(poisson_(bits_)) * kMicrosecond;
  case Jitter::Gamma:
    return gamma_(bits_);
  case Jitter::Table:
    return as_real(hold_.table[draw_below(bits_.seed, bits_.number++, hold_.table.size())]);
  case Jitter::Step:
    if (!begun_)
      begin_ = now;
    begun_ = true;
    return as_real((now - std::min(begin_, now)) / hold_.every_ns % 2 ? hold_.b : hold_.a);
  }
  return 0;
}

uint64_t DelaySource::draw(uint64_t now) {
  if (hold_.jitter == Jitter::None)
    return hold_.delay_ns;
  // twice: a delay and a jitter
  const double ns =
      std::clamp(as_real(hold_.delay_ns) + addition(now), 0.0, 2 * as_real(kLongestHold));
  return static_cast<uint64_t>(std::llround(ns));
}

} // namespace xr::wire
