// SPDX-License-Identifier: Apache-2.0
// Periodic readings of the counters of an RDMA NIC, for comparison with a port.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "doctor/nic_equations.h"
#include "host/rdma.h"
#include "model/nic_report.h"

namespace xr::doctor {

// One reading of all counters.
struct NicReading {
  host::HwCounters counters;
  uint64_t time_ns = 0; // CLOCK_MONOTONIC
};

// The readings to compare: counts between `before` and `now`, or all counts if wire_before is null.
struct Comparison {
  const Snapshot &wire_now;
  const Snapshot *wire_before;
  const NicReading &nic_now, &nic_before;
  uint64_t lifespan_ns = 0; // maximum age of counters that the kernel caches
};
NicReport compare(const host::RdmaPort &port, const Comparison &of);

class Nic {
public:
  // `name` is "DEV" or "DEV/PORT".
  static Result<Nic> open(const host::Files &files, const std::string &name);

  // Call directly after each snapshot of the port.
  void read();
  NicReport compare(const Snapshot &now, const Snapshot *before) const;

private:
  host::Files files_;
  host::RdmaPort port_;
  uint64_t lifespan_ns_ = 0;
  NicReading now_, before_;
};

} // namespace xr::doctor
