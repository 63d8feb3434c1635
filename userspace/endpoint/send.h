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
#include "traffic/flow.h"
#include "traffic/reliable.h"
#include "traffic/replay.h"
#include "traffic/send_counts.h"

namespace xr::endpoint {

struct SendRequest {
  std::string ifname, netns;
  std::vector<traffic::Flow> flows;
  traffic::Rate rate;    // of all together
  uint64_t seed = 0;     // of flows that have none; 0: draw one
  bool reliable = false; // else open: stateless
  bool listen = false;   // open: takes in and counts what comes back; reliable always does
  traffic::Reliability reliability;
  std::optional<traffic::Replay> replay; // instead of flows
  Lanes lanes;
  datapath::AttachOptions attach; // where nothing is attached yet
};

struct SendReport : RunReport {
  std::string kind;                // "open", "reliable", "replay"
  uint64_t line_bits = 0;          // a second
  uint64_t seed = 0;               // of what is drawn; given or not, it can be given again
  double asked_pps = 0;            // 0: as fast as it goes
  uint64_t expected = 0, done = 0; // packets, or messages when reliable; expected 0: no end
  bool finished = false;           // it was not interrupted
  traffic::SendCounts counts;
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
