// SPDX-License-Identifier: Apache-2.0
// A port as the other end of a stock RDMA tool: its exchange over the kernel's TCP or RDMA CM, its
// traffic over AF_XDP.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "endpoint/port_thread.h"
#include "model/peer_report.h"
#include "peer/peer_words.h"

namespace xr::endpoint {

struct PeerRequest {
  AnsweringPort port; // no addresses: the port's
  peer::PeerSpec spec;
};

class PeerRun {
public:
  // Attaches the port and opens its socket; a server also listens.
  static Result<PeerRun> prepare(PeerRequest request);
  PeerRun(PeerRun &&) noexcept;
  PeerRun &operator=(PeerRun &&) = delete;
  ~PeerRun();

  // Sentences for the user; close() may add some.
  const std::vector<std::string> &notes() const;
  // A client: one test. A server: tests until `stop` is set, or one. `on_test` gets each when it
  // is over; it returns false to stop.
  Status run(const std::atomic<bool> &stop, const std::function<bool(const PeerReport &)> &on_test);
  // Restores the port; returns the first failure.
  Status close();

private:
  struct State;
  explicit PeerRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace xr::endpoint
