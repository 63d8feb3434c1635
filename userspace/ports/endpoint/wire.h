// SPDX-License-Identifier: Apache-2.0
// `wire`: a bridge of two ports, and the process that holds the frames of rules and links.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "datapath/preflight.h"
#include "datapath/wire_ports.h"
#include "model/wire_counts.h"

namespace xr::endpoint {

struct WireRequest {
  std::string first, second; // the ports
  std::string netns;
  datapath::AttachOptions attach;
  bool fix = false;                // repair what would make the bridge lose frames
  uint32_t queues = 0;             // of each port; 0: all
  bool steer = false;              // rules of both NICs bring RoCE to queue 0, the only one
  std::vector<uint32_t> cpus = {}; // processors of the threads, in turn; none: they are chosen
  bool copy = false;               // copy mode, even if both drivers have zero-copy
  bool zero_copy = false;          // error if the sockets are not in zero-copy mode
  uint64_t memory = 0; // bytes for frames of both directions; 0: as much as rules and links need
  uint64_t duration_ns = 0; // 0: until it is ended
};

class WireRun {
public:
  static Result<WireRun> prepare(WireRequest request);
  WireRun(WireRun &&) noexcept;
  ~WireRun();

  const std::vector<std::string> &notes() const;
  const std::vector<datapath::Trouble> &troubles() const;

  // Runs until `stop`, the end of the duration, or an error: with a thread a direction where this
  // thread may use several processors, else with one. Each stays on a processor, if one is free.
  // Calls `on_report` every `interval` (0:
  // never); it returns false to stop.
  Status run(const std::atomic<bool> &stop, std::chrono::nanoseconds interval,
             const std::function<bool(const WireReport &)> &on_report);
  // What run() does with one thread, once: both directions receive, move and send what is due, and
  // read new rules and links. True: there was something.
  Result<bool> turn();
  WireReport report() const;
  // The kernel forwards all frames again; a bridge that prepare() made is detached.
  Status close();

private:
  struct State;
  explicit WireRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace xr::endpoint
