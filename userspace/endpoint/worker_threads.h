// SPDX-License-Identifier: Apache-2.0
// Runs the engines of one port's queues, each in a thread of its own.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "endpoint/engine.h"

namespace xr::endpoint {

class WorkerThreads {
public:
  void add(std::unique_ptr<Engine> engine) { engines_.push_back(std::move(engine)); }
  const std::vector<std::unique_ptr<Engine>> &engines() const { return engines_; }

  // Something that is called again and again; it returns false to stop the run.
  struct Periodic {
    std::chrono::nanoseconds interval; // 0: never
    std::function<bool()> call;
  };

  // Runs until all engines are done, `stop` is set, or an engine fails, which stops the others.
  // Makes the calls in this thread.
  Status run(const std::atomic<bool> &stop, const std::vector<Periodic> &calls);

  // The sum of all engines' counts. Calls `use` with the number of each engine, from 0 in the order
  // of add(), and its counts, while the engine does not use its source.
  EngineCounts read_counts(const std::function<void(size_t, const EngineCounts &)> &use);

private:
  std::vector<std::unique_ptr<Engine>> engines_;
};

} // namespace xr::endpoint
