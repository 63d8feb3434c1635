// SPDX-License-Identifier: Apache-2.0
// The training job in captured traffic.
#pragma once

#include "model/job_traffic.h"
#include "report/document.h"

namespace xr::report {

// Sections job, job_edges, job_stragglers, job_incast, job_reordering and job_losses if the traffic
// is a job; job_storms if there were any. `first_ns`: the capture's first frame, times are since
// then.
void add_job(Document &document, const JobTraffic &job, uint64_t first_ns);

// "ring", as in JSON.
const char *job_pattern_name(JobPattern pattern);
// "late sender", as in JSON.
const char *job_cause_name(JobCause cause);

} // namespace xr::report
