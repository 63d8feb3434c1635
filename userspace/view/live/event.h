// SPDX-License-Identifier: Apache-2.0
// What the live page gets once a second, as JSON: the reports of the ports, with the keys of
// `counters` and `streams`. No clock, no socket.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/live_job.h"
#include "model/passive_latency.h"
#include "model/snapshot.h"
#include "model/wire_counts.h"
#include "report/reports.h"

namespace xr::live {

// What was read from a port at one time.
struct Reading {
  Snapshot snapshot;
  uint64_t realtime_ns = 0;                   // time of the snapshot, since 1970
  std::shared_ptr<const WirePortCounts> wire; // null: no wire process ever took its frames
  bool wire_running = false;
  std::shared_ptr<const PassiveLatency> latency; // null: the port does not time QP pairs
  std::shared_ptr<const LiveJob> job;            // null: the port keeps no bursts
};

struct Port {
  std::string name;
  std::string lost = {};                        // why it cannot be read now, or ""
  std::optional<Reading> now = {}, before = {}; // before: for the rates
};

// One line, {"ports": [...]}. `options.top` holds for all ports together.
std::string event(const std::vector<Port> &ports, const report::StreamOptions &options);

// The columns of the streams, as JSON: {"columns": [{"key", "heading", "format", ...}]}.
std::string stream_columns();

} // namespace xr::live
