// SPDX-License-Identifier: Apache-2.0
// Runs responders on the queues of a port.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "afxdp/socket.h"
#include "base/result.h"
#include "datapath/attach.h"
#include "endpoint/session.h"
#include "responder/responder.h"

namespace xr::endpoint {

struct RespondRequest {
  std::string ifname, netns;
  responder::ResponderOptions responder;       // no addresses: the port's addresses
  std::optional<packet::Mac> mac;              // none: the port's MAC
  std::optional<responder::MemorySpec> memory; // one for all queues
  // count 0: all queues that the port has
  QueueOptions queues{.count = 0, .receive = afxdp::kResponderReceive};
  uint64_t duration_ns = 0; // 0: until interrupted
  bool obey_pfc = true;
  uint64_t pfc_line_bits = 0; // bit/s, of quanta; 0: the port's speed
  size_t top = 16;            // QPs with rows of their own in reports
  datapath::AttachOptions attach;
};

class RespondRun {
public:
  // Attaches the port and opens the sockets; from then on frames are queued for run().
  static Result<RespondRun> prepare(RespondRequest request);
  RespondRun(RespondRun &&) noexcept;
  RespondRun &operator=(RespondRun &&) = delete;
  ~RespondRun();

  // Sentences for the user; close() may add some.
  const std::vector<std::string> &notes() const;
  // Answers until `stop` is set or the duration has passed. Calls `on_report` every `interval` (0:
  // never); it returns false to stop.
  Status run(const std::atomic<bool> &stop, std::chrono::nanoseconds interval,
             const std::function<bool(const RespondReport &)> &on_report);
  RespondReport report();
  // Restores the port; returns the first failure.
  Status close();

private:
  struct State;
  explicit RespondRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace xr::endpoint
