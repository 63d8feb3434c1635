// SPDX-License-Identifier: Apache-2.0
// Requesters, wire and responders of a plan, each in a namespace of a lane, in threads of this
// process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/run_reports.h"
#include "model/wire_counts.h"
#include "places/lane.h"
#include "places/plan.h"

namespace xr::places {

class Endpoints {
public:
  // All ports are attached, all sockets open, and the links set. Nothing is sent.
  static Result<Endpoints> prepare(const Plan &plan, const simulate::Scenario &scenario,
                                   const Lane &lane);
  Endpoints(Endpoints &&) noexcept;
  ~Endpoints();

  // Returns when the wire and the responders run.
  Status start();
  // Returns when the senders have begun.
  Status start_senders();
  uint64_t begun_ns() const; // CLOCK_MONOTONIC
  // The first error of one that ended; also an error if the wire or the responders ended.
  Status check() const;
  bool sending() const;
  Status set_link(const std::string &words);

  SendReport sender() const;
  RespondReport responder() const;
  WireReport wire() const;

  void stop_senders(); // and waits for them
  // Ends all and restores the ports.
  Status close();

private:
  struct State;
  explicit Endpoints(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace xr::places
