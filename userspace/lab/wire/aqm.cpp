// SPDX-License-Identifier: Apache-2.0
#include "wire/aqm.h"

#include <algorithm>
#include <cmath>

namespace xr::wire {

namespace {

// p * 2^64; ~0 for 1.
uint64_t fraction(long double p) {
  const long double scaled = std::round(std::ldexp(p, 64));
  return scaled >= 0x1p64L ? UINT64_MAX : static_cast<uint64_t>(scaled);
}

bool happens(uint64_t random, uint64_t probability) {
  return random < probability || probability == UINT64_MAX;
}

} // namespace

void Aqm::configure(const LinkAqm &spec, uint64_t frame_ns, uint64_t now) {
  if (spec.kind != spec_.kind) {
    average_ = probability_ = 0;
    changed_ = now;
  }
  spec_ = spec;
  frame_ns_ = frame_ns;
  // rounded down: the probability at KMAX must not exceed PMAX
  slope_ = spec.high > spec.low ? fraction(spec.most) / (spec.high - spec.low) : 0;
}

// DCQCN's congestion point (Zhu et al. 2015, 3.1), as roce_red_marks in include/roce/act.h: no
// marks up to KMIN, PMAX at KMAX, all above.
bool Aqm::red(uint64_t length, uint64_t random) {
  if (spec_.weight < 1) {
    average_ += spec_.weight * (static_cast<double>(length) - average_);
    length = static_cast<uint64_t>(average_);
  }
  if (length <= spec_.low)
    return false;
  return length > spec_.high || happens(random, (length - spec_.low) * slope_);
}

// To add an AQM: LinkAqm::Kind in model/link.h, a case here, take_aqm and aqm_text in
// aqm_words.cpp; wire_queue_test, wire_words_test.
bool Aqm::congested(uint64_t now, uint64_t length, uint64_t random) {
  switch (spec_.kind) {
  case LinkAqm::Kind::Red:
    return red(length, random);
  case LinkAqm::Kind::Step:
    return length > spec_.low;
  case LinkAqm::Kind::Blue:
    if (spec_.low && length > spec_.low)
      lost(now);
    return happens(random, fraction(static_cast<long double>(probability_)));
  case LinkAqm::Kind::None:
    break;
  }
  return false;
}

Aqm::Verdict Aqm::decide(uint64_t now, uint64_t length, const Frame &frame, uint64_t random) {
  if (!congested(now, length, random))
    return Verdict::Pass;
  if (spec_.drop)
    return Verdict::Drop;
  if (frame.ecn == kCe)
    return Verdict::Pass;
  if (frame.ecn)
    return Verdict::Mark;
  return spec_.ce_only ? Verdict::Pass : Verdict::Drop;
}

// Feng, Shin, Kandlur, Saha: The BLUE active queue management algorithms (ToN 2002), figure 2.
void Aqm::lost(uint64_t now) {
  if (spec_.kind != LinkAqm::Kind::Blue || now - changed_ <= spec_.freeze)
    return;
  probability_ = std::min(1.0, probability_ + spec_.up);
  changed_ = now;
}

// It was empty until `now`.
void Aqm::age(uint64_t now) {
  if (spec_.kind == LinkAqm::Kind::Red && spec_.weight < 1) {
    // Floyd and Jacobson (1993), 11: as if that many frames had found it empty
    const double frames =
        frame_ns_ ? static_cast<double>(now - idle_since_) / static_cast<double>(frame_ns_) : 1e9;
    average_ *= std::pow(1 - spec_.weight, frames);
  } else if (spec_.kind == LinkAqm::Kind::Blue) {
    // an idle link lowers it once per freeze time; all at once here
    const uint64_t step = spec_.freeze + 1;
    const uint64_t first = std::max(idle_since_, changed_ + step);
    if (first <= now) {
      const uint64_t steps = 1 + (now - first) / step;
      probability_ = std::max(0.0, probability_ - spec_.down * static_cast<double>(steps));
      changed_ = first + (steps - 1) * step;
    }
  }
}

} // namespace xr::wire
