// SPDX-License-Identifier: Apache-2.0
// The metrics of a port, made from the same reports as text and JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "metrics/episode_metrics.h"
#include "metrics/families.h"
#include "model/episodes.h"
#include "model/live_job.h"
#include "model/passive_latency.h"
#include "model/port_status.h"
#include "model/rules.h"
#include "model/run_reports.h"
#include "model/setup_check.h"
#include "model/snapshot.h"
#include "model/wire_counts.h"
#include "report/reports.h"

namespace xr::metrics {

// The result of reading a port.
struct PortReading {
  bool known = true; // false: unknown whether it is attached
  PortStatus status;
  std::optional<Snapshot> snapshot;
  std::vector<RuleRow> rules;
  std::shared_ptr<const WirePortCounts> wire; // null: no wire process ever took its frames
  bool wire_running = false;
  std::shared_ptr<const EndpointRates> rates;    // null: no process controls rates there
  std::shared_ptr<const PassiveLatency> latency; // null: it does not time QP pairs
  std::shared_ptr<const Episodes> ended;         // since the last reading; null: it does not follow
  std::shared_ptr<const LiveJob> job;            // null: it keeps no bursts
  std::vector<SetupCheck> checks;                // by what passed since the port was attached
  std::vector<Error> failures;                   // errors of the parts that could not be read
};

struct PortState {
  std::string name;
  const PortReading *reading = nullptr;          // null: not attached
  const std::vector<uint64_t> *totals = nullptr; // sums over all streams, see StreamTotals
  const EpisodeTotals *episodes = nullptr;       // null: it does not follow QP pairs
  uint64_t errors = 0;                           // read errors since the start
  double seconds = 0;                            // duration of the reading
};

void add_port(Families &families, const PortState &port, const report::StreamOptions &options);

} // namespace xr::metrics
