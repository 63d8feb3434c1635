// SPDX-License-Identifier: Apache-2.0
// Readings of a run into samples and rows, in the time and the rates of the experiment: those of
// the run, divided and multiplied by its scale.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/experiment.h"
#include "places/counts.h"
#include "places/plan.h"

namespace xr::places {

class Measurement {
public:
  // `begun_ns`: CLOCK_MONOTONIC of the start.
  Measurement(const Plan &plan, double scale, uint64_t begun_ns);

  // Frames that crossed a link.
  static uint64_t hops(const Reading &reading);

  // The experiment's time at a time of CLOCK_MONOTONIC.
  uint64_t time_of(uint64_t ns) const;

  // In the order of time; the first one is of the start.
  void look(const Reading &reading); // notices flows that are complete
  std::vector<ExperimentSample> sample(const Reading &reading);
  void begin(const Reading &reading); // the measured time begins
  void end(const Reading &reading);   // the run is over
  // When all frames have arrived or are lost.
  ExperimentMeasurement result(const Reading &settled) const;

private:
  double rate(uint64_t bytes, uint64_t ns) const;
  uint64_t accepted_bytes(size_t index, const FlowCounts &from, const FlowCounts &to) const;
  uint64_t wire_bytes(const FlowCounts &from, const FlowCounts &to) const;
  bool is_over(size_t index, const Reading &reading) const;
  ExperimentFlowCounts counts_of(size_t index, const FlowCounts &flow) const;
  ExperimentFlow flow_row(size_t index, const Reading &settled) const;
  ExperimentQueue queue_row() const;

  const Plan &plan_;
  double scale_;
  uint64_t begun_ns_;
  Reading sampled_, measured_, ended_;
  std::vector<uint64_t> complete_ns_; // CLOCK_MONOTONIC; 0: not complete
};

// Why the measurement cannot be trusted; empty: it can.
std::vector<std::string> why_void(const Plan &plan, const SendReport &sender,
                                  const RespondReport &responder, const WireReport &wire);

// Why a change of the schedule (a rule, a link) that was due at `at_ns` of the run and took effect
// `late_ns` after that makes the run void; empty: it was in time.
std::string why_late(uint64_t at_ns, uint64_t late_ns);

} // namespace xr::places
