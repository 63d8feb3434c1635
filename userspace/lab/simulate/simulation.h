// SPDX-License-Identifier: Apache-2.0
// A scenario in virtual time. The objects are those of the wire: requester/, responder/,
// congestion/ and wire/. Frames have no bytes of their own. One seed gives one result.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/experiment.h"
#include "simulate/medium.h"
#include "simulate/scenario.h"

namespace xr::simulate {

// Frames since the start: sent + made = received + dropped + in_flight.
struct FrameTotals {
  uint64_t sent = 0;      // given to a host's link by requester or responder
  uint64_t made = 0;      // by rules: duplicates and CNPs
  uint64_t received = 0;  // by hosts
  uint64_t dropped = 0;   // by links and rules
  uint64_t in_flight = 0; // held by rules, queued, serialised or propagating now
  uint64_t pauses = 0;    // PFC frames that arrived; in none of the above
  uint64_t hops = 0;      // frames that crossed a link, PFC frames included
  uint64_t events = 0;    // of the event queue
};

class Simulation {
public:
  // Errors: unknown names, flows that cannot be sent, impossible topologies; with a hint.
  static Result<std::unique_ptr<Simulation>> make(Scenario scenario);
  ~Simulation();
  Simulation(const Simulation &) = delete;
  Simulation &operator=(const Simulation &) = delete;

  // Simulates until `ns`, at most until the scenario's duration. May be called again.
  void run_until(uint64_t ns);
  uint64_t now() const;
  // now() is the scenario's duration.
  bool done() const;

  // From now on frames and pauses pass `medium` at the end of each link, which lives as long.
  // Before the first run_until(), and only if whole() says why there are no parts.
  void use(Medium &medium);
  // The medium has this frame for the end of `wire`, at now().
  void arrived(uint32_t wire, std::span<const uint8_t> frame);
  const Carried &carried() const;
  // When something happens by itself; kNever: only what arrives matters.
  uint64_t next_event() const;

  const FrameTotals &totals() const;
  // Why the network is not divided, and one thread runs it; "": it is.
  const std::string &whole() const;
  // Samples since the last call, in the order of their times. Columns: of flows "goodput_bps"
  // (delivered since the sample before, with FCS), and with a controlled rate "control_bps",
  // "target_bps", "alpha"; of queues "backlog_bytes", and since the sample before "marked",
  // "dropped" and "paused_ns"; total: "jain" of the flows that delivered something.
  std::vector<ExperimentSample> take_samples();
  // The measurement at now(): complete after the duration, partial before. wall_s and cpu_s are
  // left 0.
  ExperimentMeasurement measure();

  // Completes the files of captures, as of now(). To be called once, after the last run_until().
  Status close_captures();

  // In the order of ExperimentMeasurement and of ExperimentSample::row.
  const std::vector<std::string> &flow_names() const;
  const std::vector<std::string> &queue_names() const;

private:
  struct State;
  explicit Simulation(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

} // namespace xr::simulate
