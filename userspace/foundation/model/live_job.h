// SPDX-License-Identifier: Apache-2.0
// A training job while it runs, as a port sees it (attach --job).
#pragma once

#include <cstdint>

#include "model/job_traffic.h"

namespace xr {

struct LiveJob {
  JobTraffic job;            // of its newest steps; times of CLOCK_MONOTONIC
  uint64_t steps_before = 0; // steps before these
  uint64_t missed = 0;       // bursts that were overwritten before they were read
  // Whether it is known that these are steps. At the beginning of a job they may be parts of longer
  // steps: then there are a few silences as long as many of them.
  bool settled = false;
};

} // namespace xr
