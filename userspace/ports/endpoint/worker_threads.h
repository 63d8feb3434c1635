// SPDX-License-Identifier: Apache-2.0
// Runs the workers of one port, each in a thread of its own.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "base/processors.h"
#include "endpoint/worker.h"

namespace xr::endpoint {

class WorkerThreads {
public:
  void add(std::unique_ptr<Worker> worker, PlacedThread where = {}) {
    workers_.push_back(std::move(worker));
    places_.push_back(std::move(where));
  }
  const std::vector<std::unique_ptr<Worker>> &all() const { return workers_; }
  const std::vector<PlacedThread> &places() const { return places_; } // of their threads

  // Something that is called again and again; it returns false to stop the run.
  struct Periodic {
    std::chrono::nanoseconds interval; // 0: never
    std::function<bool()> call;
  };

  // Runs until all workers are done, `stop` is set, or a worker fails, which stops the others.
  // Makes the calls in this thread.
  Status run(const std::atomic<bool> &stop, const std::vector<Periodic> &calls);

  // The sum of all workers' counts. Calls `use` with the number of each worker, from 0 in the order
  // of add(), and its counts, while an engine does not use its source.
  EngineCounts read_counts(const std::function<void(size_t, const EngineCounts &)> &use);

private:
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<PlacedThread> places_;
};

} // namespace xr::endpoint
