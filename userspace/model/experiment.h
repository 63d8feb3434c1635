// SPDX-License-Identifier: Apache-2.0
// What an experiment measured: the rows of result.json and the samples of series.csv. Times are ns
// since its start, rates bits per second of frames with FCS, sizes bytes of frames without FCS.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/histogram.h"

namespace xr {

struct ExperimentFlow {
  std::string name, src, dst;     // src, dst: names of hosts
  uint32_t qp = 0;                // the first destination QPN
  uint64_t bytes = 0;             // payload that the receiver accepted, in the measured time
  uint64_t packets = 0;           // data packets sent, in the measured time
  double rate_bps = 0;            // delivered; mean in the measured time while the flow ran
  uint64_t start_ns = 0;          // the first packet was due
  std::optional<uint64_t> end_ns; // the last message was complete; unset: the flow goes on
  std::optional<uint64_t> fct_ns; // end_ns - start_ns
  std::optional<double> slowdown; // fct_ns / the time that the flow would need alone
  // whole run; drops: frames of the flow and answers to it
  uint64_t marked = 0, cnps = 0, cuts = 0, retransmitted = 0, timeouts = 0, drops = 0;
  uint64_t naks = 0;   // PSN sequence errors that the sender received
  uint64_t failed = 0; // messages whose QP gave up
};

struct ExperimentQueue {
  std::string name;                              // SWITCH:NEIGHBOUR; HOST:SWITCH for pauses
  std::string alias = {};                        // "bottleneck", or ""
  Histogram backlog_bytes;                       // in the measured time, weighted by time
  uint64_t packets = 0, marked = 0, dropped = 0; // in the measured time
  uint64_t pauses = 0, paused_ns = 0;            // in the measured time: XOFF received
  std::optional<uint64_t> pfc_sent = {};         // likewise: frames; unset: not counted
  double utilisation = 0;                        // share of the measured time in which it sent
};

// A rule of `impair`. Frames and bytes are of the whole run.
struct ExperimentRule {
  std::string name, link, words; // link: the queue that its frames were going to
  uint64_t matched = 0, acted = 0, matched_bytes = 0, acted_bytes = 0;
  uint64_t spared = 0, limited = 0, not_applicable = 0, refused = 0, not_held = 0; // as in RuleRow
};

// One value of series.csv.
struct ExperimentSample {
  uint64_t t_ns = 0;
  enum class Kind : uint8_t { Flow, Queue, Total } kind = Kind::Flow;
  uint32_t row = 0;        // index of the flow or queue
  const char *column = ""; // static: "rate_bps", "backlog_bytes", ...
  double value = 0;
};
const char *sample_kind_name(ExperimentSample::Kind kind); // "flow", "queue", "total": series.csv

struct ExperimentMeasurement {
  std::vector<ExperimentFlow> flows;
  std::vector<ExperimentQueue> queues;
  std::vector<ExperimentRule> rules;
  std::set<std::string> unmeasured; // columns without a value, of flows and of the run
  uint64_t other_qps = 0;           // that sent requests and are of no flow
  uint64_t other_cnps = 0;          // of no flow that is known
  double jain = 1;                  // of the flows' rate_bps
  uint64_t packets = 0;             // frames that hosts sent, whole run
  uint64_t packet_hops = 0;         // frames that crossed a link, whole run
  uint64_t duration_ns = 0;         // simulated or real
  uint64_t begun_ns = 0;            // when it began, by the clock of its captures
  double wall_s = 0, cpu_s = 0;
  std::vector<std::string> why_void; // reasons for which the measurement cannot be trusted
};

} // namespace xr
