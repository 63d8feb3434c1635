// SPDX-License-Identifier: Apache-2.0
// The requester on a port: flows made whole, sockets opened, packets sent, and what came of it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "datapath/attach.h"
#include "endpoint/session.h"
#include "flow/flow.h"
#include "requester/reliable.h"
#include "requester/replay.h"
#include "requester/send_counts.h"

namespace xr::endpoint {

struct SendRequest {
  std::string ifname, netns;
  std::vector<flow::Flow> flows;
  congestion::Rate rate; // of all together
  uint64_t seed = 0;     // of flows that have none; 0: draw one
  bool reliable = false; // else open: stateless
  bool listen = false;   // open: takes in and counts what comes back; reliable always does
  requester::Reliability reliability;
  std::optional<requester::Replay> replay; // instead of flows
  Lanes lanes;
  datapath::AttachOptions attach; // where nothing is attached yet
};

class SendRun {
public:
  // Everything that may be wrong is told here. MACs that no flow gives are asked for on the wire.
  static Result<SendRun> prepare(SendRequest request);
  SendRun(SendRun &&) noexcept;
  SendRun &operator=(SendRun &&) = delete;
  ~SendRun();

  const std::vector<std::string> &notes() const;
  // Calls `tell` every `interval` (0: never); it returns false to stop.
  Status run(const std::atomic<bool> &stop, std::chrono::nanoseconds interval,
             const std::function<bool(const SendReport &)> &tell);
  SendReport report();
  // The port as it was before.
  Status close();

private:
  struct State;
  explicit SendRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace xr::endpoint
