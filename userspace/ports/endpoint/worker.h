// SPDX-License-Identifier: Apache-2.0
// What sends on a port, in a thread of its own: AF_XDP with one queue (Engine), or live frames
// (LiveEngine).
#pragma once

#include <atomic>
#include <functional>

#include "base/result.h"
#include "model/run_reports.h"

namespace xr::endpoint {

class Worker {
public:
  Worker() = default;
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;
  virtual ~Worker() = default;

  // Runs until there is nothing left to do or `stop` is set. Error: the port is gone.
  virtual Status run(const std::atomic<bool> &stop) = 0;
  // Calls `use` once with the counts, at a moment when what they count may be read too.
  virtual void read_counts(const std::function<void(const EngineCounts &)> &use) = 0;
  // Its frames are not copied.
  virtual bool zero_copy() const = 0;
};

} // namespace xr::endpoint
