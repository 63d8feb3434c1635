// SPDX-License-Identifier: Apache-2.0
// Raw state in, documents out. A document refers to the snapshots it was made from: they must
// outlive it.
#pragma once

#include <string>
#include <vector>

#include "model/snapshot.h"
#include "report/document.h"
#include "roce/event.h"

namespace xr::report {

// With `before`, rates over the time between the two are added.
struct Moment {
  const Snapshot &now;
  const Snapshot *before = nullptr;
  uint64_t realtime_ns = 0; // since 1970; 0: not told
};

struct StreamOptions {
  std::string sort = "missing"; // one of stream_sort_keys(), largest first, then by packets
  size_t top = 0;               // rows at most; 0: all
};

Document counters_report(const Moment &moment);
Document streams_report(const Moment &moment, const StreamOptions &options = {});
// Both in one.
Document analyze_report(const Snapshot &snapshot, const StreamOptions &options = {});

std::vector<std::string> stream_sort_keys();

// One event, for write_json's Line style and for text, where it is one line too.
Document event_report(const roce_event &event, uint64_t realtime_ns);

} // namespace xr::report
