// SPDX-License-Identifier: Apache-2.0
// When the next packet of a flow is due, in virtual time. Exact in the long run: what is rounded
// away from one interval is in the next.
#pragma once

#include <cstdint>

#include "congestion/pacing.h"
#include "packet/source.h"

namespace xr::congestion {

class Pacer {
public:
  // Who is late by more than this gives up the rest: slipped_ns() tells how much in all.
  static constexpr uint64_t kPatienceNs = 50'000'000;

  // `line_bits` a second are what Percent is of.
  Pacer(const Pacing &pacing, double line_bits, uint64_t seed);

  // The first packet is due `start_ns` of the pacing after `now`.
  void start(uint64_t now);
  uint64_t due() const { return due_; } // kNever: no more bursts
  // What was not wanted earlier is not caught up with.
  void not_before(uint64_t time) {
    if (due_ < time) {
      due_ = time;
      fraction_ = 0;
    }
  }
  // A packet of so many bytes (without FCS) went out at `now`.
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

  // As fast as it goes, at least within a burst.
  bool top() const { return top_; }
  bool at_once() const { return at_once_; } // nor bursts
  uint64_t slipped_ns() const { return slipped_; }
  // Packets a second that are asked for on the average, for frames of that size; 0: top speed.
  double asked_pps(double frame_bytes) const;

private:
  // 2^-24 ns: a byte at 10 Tbit/s still has 13,000 of them.
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
  bool top_ = false;                       // no rate
  bool at_once_ = false;                   // nor bursts
  bool even_ = false;                      // one interval like the other, but for the bytes
  uint32_t per_byte_ = 0, per_packet_ = 0; // what an interval counts, `step_` ticks each
  uint64_t step_ = 0;
  uint64_t begin_ = 0, due_ = 0, fraction_ = 0;
  uint64_t slipped_ = 0;
  uint64_t sent_ = 0;   // Poisson: intervals drawn
  uint64_t burst_ = 0;  // bursts that are over
  uint64_t placed_ = 0; // packets of this one
};

} // namespace xr::congestion
