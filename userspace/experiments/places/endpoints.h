// SPDX-License-Identifier: Apache-2.0
// Requesters, wire and responders of a plan at the ports of a run, in threads of this process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/run_reports.h"
#include "model/wire_counts.h"
#include "packet/frame.h"
#include "places/plan.h"
#include "places/run_ports.h"

namespace xr::places {

struct EndpointSetup {
  RunPorts ports;    // only those that are here are used
  bool ours = false; // ports to which no other program comes, and whose settings may be changed
  std::optional<packet::Mac> peer_mac = {}; // of the receivers; none: that of their port
};

class Endpoints {
public:
  // All ports are attached, all sockets open, and the links set. Nothing is sent.
  static Result<Endpoints> prepare(const Plan &plan, const simulate::Scenario &scenario,
                                   const EndpointSetup &setup);
  Endpoints(Endpoints &&) noexcept;
  ~Endpoints();

  // Returns when the wire and the responders run.
  Status start();
  const std::vector<std::string> &notes() const; // of the wire: what may lose frames
  // Returns when the senders have begun, if they are here.
  Status start_senders();
  uint64_t begun_ns() const; // CLOCK_MONOTONIC
  // The first error of one that ended; also an error if the wire or the responders ended.
  Status check() const;
  bool sending() const;
  Status set_link(const std::string &words);

  SendReport sender() const; // empty without senders; the others are empty without their kind
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
