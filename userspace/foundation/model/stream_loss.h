// SPDX-License-Identifier: Apache-2.0
// What a stream's counters say of losses.
#pragma once

#include <algorithm>
#include <cstdint>

#include "roce/stream.h"

namespace xr {

// PSNs that never came.
inline uint64_t missing_psns(const roce_stream &s) {
  return roce_stream_counter(&s, ROCE_SKIPPED) - roce_stream_counter(&s, ROCE_FILLED);
}

// PSNs that did not come with those around them, lost before here; also those that came when they
// were sent again, and once more if that was lost too. A reordered packet looks the same, so that
// with any of these only the PSNs that never came count.
inline uint64_t lost_psns(const roce_stream &s) {
  const uint64_t missing = missing_psns(s);
  return roce_stream_counter(&s, ROCE_REORDERED)
             ? missing
             : std::max<uint64_t>(missing, roce_stream_counter(&s, ROCE_JUMPED));
}

// Packets whose PSN had passed: retransmissions, and what the network sent twice.
inline uint64_t sent_again(const roce_stream &s) {
  const uint64_t filled = roce_stream_counter(&s, ROCE_FILLED);
  return roce_stream_counter(&s, ROCE_DUPLICATES) + filled -
         std::min<uint64_t>(filled, roce_stream_counter(&s, ROCE_REORDERED));
}

} // namespace xr
