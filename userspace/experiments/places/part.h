// SPDX-License-Identifier: Apache-2.0
// A wire, a responder or a sender of a run, in a thread of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "base/result.h"

namespace xr::places {

// `Run` is endpoint::WireRun, RespondRun or SendRun, but for tests.
template <typename Run> struct Part {
  std::optional<Run> run;
  std::thread thread;
  std::atomic<bool> stop = false, ended = false;
  Status status; // valid when it has ended
  bool closed = false;

  void start() {
    start(std::chrono::nanoseconds(0), [](const auto &) {});
  }
  // Calls `on_report` in the part's thread.
  void start(std::chrono::nanoseconds interval, auto on_report) {
    thread = std::thread([this, interval, on_report] {
      status = run->run(stop, interval, [&](const auto &report) {
        on_report(report);
        return true;
      });
      ended = true;
    });
  }
  void end() {
    stop = true;
    if (thread.joinable())
      thread.join();
  }
  Status close() {
    end();
    if (!run || std::exchange(closed, true))
      return {};
    const Status done = run->close();
    return status ? done : status;
  }
};

} // namespace xr::places
