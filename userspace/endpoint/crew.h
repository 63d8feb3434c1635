// SPDX-License-Identifier: Apache-2.0
// Engines that run at the same time, a thread each, on the queues of one port.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "endpoint/engine.h"

namespace xr::endpoint {

class Crew {
public:
  void add(std::unique_ptr<Engine> engine) { engines_.push_back(std::move(engine)); }
  const std::vector<std::unique_ptr<Engine>> &engines() const { return engines_; }

  // Until all are done, or `stop`, or one has an error, which stops the others. Every `interval`
  // (0: never) `tell` is called, in this thread; it returns false to stop.
  Status run(const std::atomic<bool> &stop, std::chrono::nanoseconds interval,
             const std::function<bool()> &tell);

  // What all have counted together; `use` is called for each source between two of its rounds.
  EngineCounts look(const std::function<void(packet::Source &)> &use);

private:
  std::vector<std::unique_ptr<Engine>> engines_;
};

} // namespace xr::endpoint
