// SPDX-License-Identifier: Apache-2.0
// What a stream's counters say of losses.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "roce/lost.h"

namespace xr {

// PSNs that never came.
inline uint64_t missing_psns(const roce_stream &s) {
  return roce_stream_counter(&s, ROCE_SKIPPED) - roce_stream_counter(&s, ROCE_FILLED);
}

// What was lost before here, in PSNs; again for each time that a PSN was lost.
struct LostPsns {
  uint64_t sure = 0;
  uint64_t unsure = 0; // perhaps also these
};

inline bool of_uc(const roce_stream &s) {
  return s.flags >> ROCE_STREAM_TRANSPORT_SHIFT == (ROCE_UC >> 5) + 1;
}

// UC sends nothing again: what never came is lost.
inline LostPsns lost_before(const roce_stream &s) {
  if (of_uc(s))
    return {missing_psns(s), 0};
  const roce_lost lost = roce_stream_lost(&s);
  return {lost.sure, lost.unsure};
}

// PSNs that are certainly lost.
inline uint64_t lost_psns(const roce_stream &s) { return lost_before(s).sure; }

inline uint64_t lost_unsure_psns(const roce_stream &s) { return lost_before(s).unsure; }

// PSNs that came late, and were not sent again.
inline uint64_t reordered_psns(const roce_stream &s) {
  return roce_stream_counter(&s, of_uc(s) ? ROCE_REORDERED : ROCE_LATE);
}

// NAKs for PSNs that had passed here. One NAK may be for several packets.
inline uint64_t lost_after(const roce_stream &s) {
  return roce_stream_counter(&s, ROCE_LOST_AFTER);
}

// Rounds that a sender began by going back. What it had sent just before one and was lost comes for
// the first time in the next round: it leaves no trace here.
inline uint64_t go_backs(const roce_stream &s) { return roce_stream_counter(&s, ROCE_GO_BACKS); }

// At most so many losses are hidden just before go-backs, where `seen` are not, if each packet was
// as likely to be lost as those around it: the expected number and three standard deviations of as
// many geometric numbers.
inline uint64_t hidden_losses(uint64_t go_backs, uint64_t seen, uint64_t passed) {
  if (!seen || !passed)
    return 0;
  const double rounds = std::min(static_cast<double>(go_backs) / static_cast<double>(passed), 0.5);
  const double each = static_cast<double>(seen) / static_cast<double>(passed) / (1 - rounds);
  const double expected = static_cast<double>(go_backs) * each;
  return static_cast<uint64_t>(expected + 3 * std::sqrt(expected * (1 + each)));
}

// Packets whose PSN had passed: retransmissions, and what the network sent twice.
inline uint64_t sent_again(const roce_stream &s) {
  const uint64_t filled = roce_stream_counter(&s, ROCE_FILLED);
  return roce_stream_counter(&s, ROCE_DUPLICATES) + filled - std::min(filled, reordered_psns(s));
}

} // namespace xr
