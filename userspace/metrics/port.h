// SPDX-License-Identifier: Apache-2.0
// Metrics of a port, made from the same reports as text and JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "datapath/status.h"
#include "metrics/families.h"
#include "model/rules.h"
#include "report/reports.h"

namespace xr::metrics {

// A port as it was read.
struct PortReading {
  bool known = true; // false: it cannot be told whether it is attached
  PortStatus status;
  std::optional<Snapshot> snapshot;
  std::vector<RuleRow> rules;
  std::vector<Error> failures; // of what there is no reading
};

struct PortState {
  std::string name;
  const PortReading *reading = nullptr;          // null: not attached
  const std::vector<uint64_t> *totals = nullptr; // over all streams, see StreamTotals
  uint64_t errors = 0;                           // so far
  double seconds = 0;                            // that the reading took
};

void add_port(Families &families, const PortState &port, const report::StreamOptions &options);

} // namespace xr::metrics
