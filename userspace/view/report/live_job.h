// SPDX-License-Identifier: Apache-2.0
// A job that a port sees live: its sentence, and late steps as events.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/live_job.h"
#include "report/document.h"

namespace xr::report {

// What steps took, in their order; the last one is left out, as it may continue.
std::vector<uint64_t> live_step_times(const LiveJob &live);
// "ring of 4 ranks, 123 steps: one each 20.1 ms, 63 % of it exchange; 10.0.0.3 starts late, by ..."
// "no training job" with the reason where there is none.
std::string live_job_sentence(const LiveJob &live);

// A step is late if it took a quarter longer than the median, or if a rank is an outlier in it.
bool is_late(const JobStep &step, uint64_t median_ns);
// `number`: of the step, from 1. `realtime_offset_ns`: what to add to the kernel's clock.
Document late_step_event(const LiveJob &live, size_t step, uint64_t median_ns,
                         uint64_t realtime_offset_ns);

} // namespace xr::report
