// SPDX-License-Identifier: Apache-2.0
// Makes reports from snapshots. A document refers to its snapshots, which must outlive it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/episodes.h"
#include "model/job_traffic.h"
#include "model/setup_check.h"
#include "model/snapshot.h"
#include "report/document.h"
#include "roce/event.h"

namespace xr::report {

// A snapshot to report on. With `before`, the report also has rates over the time between the two.
struct Moment {
  const Snapshot &now;
  const Snapshot *before = nullptr;
  uint64_t realtime_ns = 0; // since 1970; 0: unknown
};

struct StreamOptions {
  // A key of stream_sort_keys(), or of a rate where the moment has rates; descending, ties by
  // number of packets.
  std::string sort = "trouble";
  size_t top = 0; // maximum number of rows; 0: all
};

Document counters_report(const Moment &moment);
Document streams_report(const Moment &moment, const StreamOptions &options = {});
// Counters and streams in one document.
// `episodes`: of the same capture; null: not followed. `checks`: of its set-up; empty: not checked.
// `job`: found in it; null: not looked for. Only for the summary, its sections: job.h.
Document analyze_report(const Snapshot &snapshot, const StreamOptions &options = {},
                        const Episodes *episodes = nullptr,
                        const std::vector<SetupCheck> &checks = {},
                        const JobTraffic *job = nullptr);

std::vector<std::string> stream_sort_keys();

// One event: one line of text, or one line of JSON with JsonStyle::Line.
Document event_report(const roce_event &event, uint64_t realtime_ns);

} // namespace xr::report
