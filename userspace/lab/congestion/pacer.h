// SPDX-License-Identifier: Apache-2.0
// Computes when the next packet of a flow is due, in virtual time. Rounding remainders are carried
// over to the next interval, so the long-term rate is exact.
#pragma once

#include <cstdint>

#include "packet/source.h"
#include "rate/pacing.h"

namespace xr::congestion {

class Pacer {
public:
  // `line_bits` is the line rate in bit/s, the base of Rate::Kind::Percent.
  Pacer(const Pacing &pacing, double line_bits, uint64_t seed);

  // The first packet is due at `now` plus `start_ns` of the pacing.
  void start(uint64_t now);
  uint64_t due() const { return due_; } // kNever: all bursts are sent
  // The schedule ends at `time`: what is late then is sent, or given up, up to there.
  void end_at(uint64_t time) { end_ = time; }
  // The flow had nothing to send before `time`: it does not catch up.
  void not_before(uint64_t time) {
    if (due_ < time) {
      due_ = time;
      fraction_ = 0;
    }
  }
  // A packet of `frame_bytes` (without FCS) was sent at `now`.
  void sent(uint64_t now, uint32_t frame_bytes) {
    if (at_once_)
      return;
    if (even_)
      advance(interval(frame_bytes));
    else
      sent_unevenly(now, frame_bytes);
    if (!top_ && now > kPatienceNs && due_ < now - kPatienceNs)
      slip(now - kPatienceNs);
  }

  // Sends as fast as possible, at least within a burst.
  bool top() const { return top_; }
  bool at_once() const { return at_once_; } // and without bursts
  uint64_t slipped_ns() const { return slipped_; }
  // The requested average rate in packets per second, for frames of this size; 0: unlimited.
  double asked_pps(double frame_bytes) const;

private:
  // Ticks of 2^-24 ns: a byte at 10 Tbit/s is 13,000 of them.
  static constexpr unsigned kFraction = 24;
  using Ticks = unsigned __int128;

  Ticks interval(uint32_t frame_bytes) const {
    return static_cast<Ticks>(step_) * (uint64_t{frame_bytes} * per_byte_ + per_packet_);
  }
  void advance(Ticks ticks) {
    ticks += fraction_;
    due_ += static_cast<uint64_t>(ticks >> kFraction);
    fraction_ = static_cast<uint64_t>(ticks) & ((1ULL << kFraction) - 1);
  }
  void sent_unevenly(uint64_t now, uint32_t frame_bytes);
  void sent_in_burst(uint64_t now, uint32_t frame_bytes);
  double stretched(double ticks) const;
  void slip(uint64_t to);

  Pacing pacing_;
  uint64_t seed_;
  bool top_ = false;     // no rate
  bool at_once_ = false; // and no bursts
  bool even_ = false;    // all intervals are equal for frames of equal size
  // Bytes and packets counted by an interval, `step_` ticks each.
  uint32_t per_byte_ = 0, per_packet_ = 0;
  uint64_t step_ = 0;
  uint64_t begin_ = 0, due_ = 0, fraction_ = 0;
  uint64_t end_ = kNever;
  uint64_t slipped_ = 0;
  uint64_t sent_ = 0;   // Poisson: intervals drawn so far
  uint64_t burst_ = 0;  // bursts finished
  uint64_t placed_ = 0; // packets of the current burst
};

} // namespace xr::congestion
