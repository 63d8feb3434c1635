// SPDX-License-Identifier: Apache-2.0
// The responder on a port.
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
#include "responder/responder.h"

namespace xr::endpoint {

struct RespondRequest {
  std::string ifname, netns;
  responder::ResponderOptions responder;     // no addresses: those of the port
  std::optional<packet::Mac> mac;            // none: the port's
  Lanes lanes{.count = 0, .receive = 16384}; // count 0: all queues that the port has
  uint64_t duration_ns = 0;                  // 0: until interrupted
  datapath::AttachOptions attach;
};

class RespondRun {
public:
  static Result<RespondRun> prepare(RespondRequest request);
  RespondRun(RespondRun &&) noexcept;
  RespondRun &operator=(RespondRun &&) = delete;
  ~RespondRun();

  const std::vector<std::string> &notes() const;
  Status run(const std::atomic<bool> &stop, std::chrono::nanoseconds interval,
             const std::function<bool(const RespondReport &)> &tell);
  RespondReport report();
  Status close();

private:
  struct State;
  explicit RespondRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace xr::endpoint
