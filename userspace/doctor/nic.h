// SPDX-License-Identifier: Apache-2.0
// An RDMA NIC's counters, read again and again, beside a port's.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "doctor/nic_equations.h"
#include "host/rdma.h"
#include "model/nic_report.h"

namespace xr::doctor {

// One reading.
struct NicReading {
  host::HwCounters counters;
  uint64_t time_ns = 0; // CLOCK_MONOTONIC
};

// What both sides counted between two moments, or, without `before`, ever since each began.
struct Comparison {
  const Snapshot &wire_now;
  const Snapshot *wire_before;
  const NicReading &nic_now, &nic_before;
  uint64_t lifespan_ns = 0; // the kernel may tell counters that are so old
};
NicReport compare(const host::RdmaPort &port, const Comparison &of);

class Nic {
public:
  // "DEV" or "DEV/PORT".
  static Result<Nic> open(const host::Files &files, const std::string &name);

  // Right after each snapshot of the port.
  void read();
  NicReport compare(const Snapshot &now, const Snapshot *before) const;

private:
  host::Files files_;
  host::RdmaPort port_;
  uint64_t lifespan_ns_ = 0;
  NicReading now_, before_;
};

} // namespace xr::doctor
