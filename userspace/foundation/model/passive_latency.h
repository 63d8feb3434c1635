// SPDX-License-Identifier: Apache-2.0
// Times between requests and their answers, as the packets of QP pairs show them (analyze
// --latency, latency IF). In nanoseconds. (Latencies of stamped frames: latency_report.h.)
#pragma once

#include <cstdint>
#include <vector>

#include "model/pair_name.h"
#include "roce/timed.h"

namespace xr {

// The times of one kind (enum roce_latency): either the exact ones, or the upper bounds.
struct PassiveTimes {
  uint8_t kind = 0;
  bool bound = false;
  uint64_t count = 0, min = 0, p50 = 0, p99 = 0, max = 0; // p50, p99: too high by
  // 0.8 % at most; on a port wrong by 25 % at most, and by 6 % for all streams
  double mean = 0;
  bool p99_known = true; // on a port: there are 100 or more
};

struct PassiveRow {
  PairName name; // the stream of requests
  PassiveTimes times;
};

// A bucket of a log-linear histogram of all streams: values from `from` to `to`.
struct PassiveBucket {
  uint8_t kind = 0;
  bool bound = false;
  uint64_t from = 0, to = 0, count = 0;
};

struct PassiveLatency {
  std::vector<PassiveRow> streams; // in the order in which their requests began
  std::vector<PassiveTimes> port;  // of all streams
  std::vector<PassiveBucket> histogram;
  // not timed
  uint64_t pairs_full = 0;      // packets of QP pairs that have no record
  uint64_t pairs_contended = 0; // packets whose pair's record another CPU was changing
  uint64_t full = 0;            // requests, as 128 of their stream waited
  uint64_t ambiguous = 0;       // requests that passed again before their answer
  uint64_t unanswered = 0;      // requests, while later ones were answered
  uint64_t broken = 0;          // messages of which packets were missing here
  uint64_t unpaired = 0;        // answers whose requests are not known
  // CNPs without a time to the fall of the rate
  uint64_t cnps_steady = 0;     // it did not fall measurably
  uint64_t cnps_unmeasured = 0; // too few packets of messages before or after
  uint64_t cnps_close = 0;      // less than 200 us after another
};

} // namespace xr
