// SPDX-License-Identifier: Apache-2.0
// One-way latency, loss and reordering of stamped frames (`send ... stamp`), as `respond --sink`
// and `analyze` report them. Times are in nanoseconds, sequence numbers are those of the stamps.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/address.h"

namespace xr {

struct LatencyRow {
  Address src{}, dst{};
  uint32_t dest_qp = 0;
  uint64_t run = 0;                   // of the sender; each run resets the stream
  uint64_t frames = 0;                // with stamps
  uint64_t first = 0, last = 0;       // lowest and highest sequence number
  uint64_t lost = 0;                  // sequence numbers between these that did not arrive
  uint64_t duplicates = 0;            // arrived before
  uint64_t reordered = 0;             // arrived after a higher one (RFC 4737)
  uint64_t too_old = 0;               // too old to distinguish late from duplicate; also in `lost`
  uint64_t timed = 0;                 // frames with a latency: no duplicates
  int64_t min = 0, max = 0;           // latency
  double mean = 0;                    // latency
  bool quantiles = false;             // p50, p99, p999 are known
  int64_t p50 = 0, p99 = 0, p999 = 0; // latency
  // Difference of the latencies of successive frames of a stream, in order of arrival: mean of its
  // absolute value, and the smoothed value of RFC 3550, 6.4.1 after the last frame (of one stream).
  double jitter = 0, jitter_rfc3550 = 0;
};

struct LatencyReport {
  LatencyRow total; // sums; without addresses and sequence numbers
  std::vector<LatencyRow> streams;
  uint64_t negative = 0;                  // latencies below 0: the clocks differ
  uint64_t untimed = 0;                   // frames whose time of arrival is unknown
  uint64_t streams_full = 0;              // frames left out, as there were too many streams
  std::optional<int64_t> clock_offset_ns; // subtracted; unset: unknown, taken as 0
  std::optional<int> tai_offset_s;        // captures: added to their timestamps
};

} // namespace xr
