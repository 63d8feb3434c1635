// SPDX-License-Identifier: Apache-2.0
// The bursts of a training job, by pair of hosts, as a port keeps them (include/roce/job.h).
#pragma once

#include <cstdint>
#include <vector>

#include "base/address.h"
#include "roce/job_record.h"

namespace xr {

struct JobBursts {
  struct Burst { // times of CLOCK_MONOTONIC; of a capture, its own
    uint64_t first_ns = 0, last_ns = 0, bytes = 0, messages = 0;
    bool operator==(const Burst &) const = default;
  };
  struct Pair {
    Address src{}, dst{};
    uint64_t count = 0;       // bursts that have ended
    uint64_t cts = 0;         // clears-to-send from src to dst
    std::vector<Burst> ended; // the newest, at most kEnded, oldest first
    Burst open;               // last_ns 0: no message began or ended since it was opened
  };
  static constexpr uint64_t kEnded = ROCE_JOB_BURSTS - 1;

  std::vector<Pair> pairs;
  uint64_t full = 0; // packets of pairs that had no room

  // Adds a record, if it is of a pair. `count_after`: its count when it had been read, so that what
  // was written meanwhile is left out.
  void add(const roce_job_pair &record, uint64_t count_after);
};

} // namespace xr
