// SPDX-License-Identifier: Apache-2.0
#include "model/job_bursts.h"

#include <algorithm>

namespace xr {

namespace {

JobBursts::Burst burst_of(const roce_job_burst &burst) {
  return {.first_ns = burst.first_ns,
          .last_ns = burst.last_ns,
          .bytes = burst.bytes,
          .messages = burst.messages};
}

} // namespace

void JobBursts::add(const roce_job_pair &record, uint64_t count_after) {
  if (!(record.state & ROCE_JOB_USED))
    return;
  Pair pair;
  std::copy_n(record.src, pair.src.size(), pair.src.begin());
  std::copy_n(record.dst, pair.dst.size(), pair.dst.begin());
  pair.count = record.count;
  pair.cts = record.cts;
  pair.open = burst_of(record.open);
  // The slot of the oldest may be that of the burst which is just ending.
  for (uint64_t n = count_after - std::min(count_after, kEnded); n < record.count; n++)
    pair.ended.push_back(burst_of(record.bursts[n % ROCE_JOB_BURSTS]));
  pairs.push_back(std::move(pair));
}

} // namespace xr
