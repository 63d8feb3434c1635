// SPDX-License-Identifier: Apache-2.0
// A ring of three ranks, steps of 10 ms each 50 ms, the last but one 20 ms as a rank was late.
#pragma once

#include "model/live_job.h"
#include "roce/types.h"

namespace xr::test {

inline LiveJob late_ring() {
  LiveJob live;
  live.steps_before = 100;
  JobTraffic &job = live.job;
  for (uint32_t i = 1; i <= 3; i++) {
    job.ranks.push_back({0, 0, roce_swap32(0xffff), roce_swap32(0xc0000200 + i)});
    job.edges.push_back({i - 1, i % 3, 1000, 10, 0, true});
  }
  job.pattern = JobPattern::Ring;
  job.exchanging = 3;
  for (uint64_t i = 0; i < 12; i++)
    job.steps.push_back({1'000'000'000 + i * 50'000'000,
                         1'000'000'000 + i * 50'000'000 + (i == 10 ? 20'000'000 : 10'000'000),
                         3000});
  job.steps[10].late_rank = 1;
  job.steps[10].late_ns = 9'000'000;
  job.stragglers.push_back({1, JobCause::LateStart, 9, 2, 9'000'000});
  job.repeats = true;
  job.period_ns = 50'000'000;
  job.duty = 0.2;
  job.incast[0] = {10'000, 2, 0, 1};
  return live;
}

} // namespace xr::test
