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

// The counts of a flow over some time.
struct ExperimentFlowCounts {
  // Payload that the receiver took, once: in order, or kept until the missing packet comes (of
  // READs and atomics: the requester).
  uint64_t bytes = 0;
  uint64_t packets = 0; // data packets sent
  // drops: frames of the flow and answers to it
  uint64_t marked = 0, cnps = 0, cuts = 0, retransmitted = 0, timeouts = 0, drops = 0;
  uint64_t naks = 0;         // PSN sequence errors that the sender received
  uint64_t failed = 0;       // messages whose QP gave up
  uint64_t kept_no_room = 0; // selective repeat: arrived early, and there was no room to keep them
  uint64_t arrived = 0;      // data frames
  uint64_t messages = 0;     // complete; open loop: sent
  uint64_t acks = 0;         // that the sender received

  void add(const ExperimentFlowCounts &other);
  ExperimentFlowCounts since(const ExperimentFlowCounts &before) const;
};

// Its own counts are of the measured time.
struct ExperimentFlow : ExperimentFlowCounts {
  struct Rtt {
    uint64_t ns = 0, count = 0;
  };
  std::string name = {}, src = {}, dst = {}; // src, dst: names of hosts
  uint32_t qp = 0;                           // the first destination QPN
  // Means in the measured time while the flow ran. Goodput is of `bytes`; wire_bps is of all its
  // frames that reached the receiver, with what the link's rate includes (LinkSpec::layer1).
  double goodput_bps = 0, wire_bps = 0;
  uint64_t ran_from_ns = 0, ran_to_ns = 0; // what they are means of; equal: it did not run
  uint64_t start_ns = 0;                   // the first packet was due
  std::optional<uint64_t> end_ns = {}; // the last message was complete; unset: the flow continues
  std::optional<uint64_t> fct_ns = {}; // end_ns - start_ns
  std::optional<double> slowdown = {}; // fct_ns / the time that the flow would need alone
  ExperimentFlowCounts whole = {};     // of the whole run
  // Of the whole run: round trips of ACKs, by rising time; empty: not known.
  std::vector<Rtt> rtt = {};
};

struct ExperimentQueue {
  std::string name;                              // SWITCH:NEIGHBOUR; HOST:SWITCH for pauses
  std::string alias = {};                        // "bottleneck", or ""
  Histogram backlog_bytes;                       // in the measured time, weighted by time
  uint64_t packets = 0, marked = 0, dropped = 0; // in the measured time
  // In the measured time: XOFF received; the time in which at least one priority was paused.
  uint64_t pauses = 0, paused_ns = 0;
  std::optional<uint64_t> pfc_sent = {}; // frames; unset: not counted
  double utilisation = 0;                // share of the measured time in which it sent
  std::optional<uint64_t> flows = {};    // that pass it by a hash, whole run; unset: not known
};

// The counts of a rule over some time, as in RuleRow.
struct ExperimentRuleCounts {
  uint64_t matched = 0, acted = 0, matched_bytes = 0, acted_bytes = 0;
  uint64_t spared = 0, limited = 0, not_applicable = 0, refused = 0, not_held = 0;

  ExperimentRuleCounts since(const ExperimentRuleCounts &before) const;
};

// A rule of `impair`. Its own counts are of the measured time.
struct ExperimentRule : ExperimentRuleCounts {
  std::string name = {}, link = {}, words = {}; // link: the queue that its frames were going to
  ExperimentRuleCounts whole = {};              // of the whole run
};

// One value of series.csv.
struct ExperimentSample {
  uint64_t t_ns = 0;
  enum class Kind : uint8_t { Flow, Queue, Total } kind = Kind::Flow;
  uint32_t row = 0;        // index of the flow or queue
  const char *column = ""; // static: "goodput_bps", "backlog_bytes", ...
  double value = 0;
};
const char *sample_kind_name(ExperimentSample::Kind kind); // "flow", "queue", "total": series.csv

// A job of ranks: its steps (iterations), and what they waited for.
struct ExperimentJob {
  // What a step waited for longest, beyond what all ranks and idle links need.
  enum class Why : uint8_t {
    Nothing,        // it took what the network and the same compute of all ranks take
    LateSender,     // a rank computed longer than the others, and its data came late
    LateReceiver,   // ... and its clear-to-send
    CongestedLink,  // messages queued at a link that is used most (progress/summary.cpp)
    SharedLinks,    // messages queued, and all links are about equally used
    Retransmission, // messages were lost and sent again
  };
  struct Step {
    std::string name;
    uint64_t start_ns = 0;                    // the first of its operations began
    std::optional<uint64_t> end_ns = {};      // unset: it was not complete
    double algbw_bps = 0, busbw_bps = 0;      // 0: no size is defined
    uint64_t compute_ns = 0, exchange_ns = 0; // in which a rank did either: means over the ranks
    double overlap = 0; // share of exchange_ns in which the rank also computed
    Why why = Why::Nothing;
    uint64_t excess_ns = 0;            // that `why` took
    std::optional<uint32_t> rank = {}; // the late one, or the sender of the slow messages
    std::string where = {};            // "0-1 at leaf-1:spine-2", of messages; "": of all
  };
  struct Rank {
    std::string host;
    uint64_t compute_ns = 0, exchange_ns = 0;
    uint64_t wait_ns = 0; // of its steps, in which it did neither
    // How long clear-to-sends waited for its data, and others' data for its clear-to-sends.
    uint64_t cts_to_data_ns = 0, data_to_cts_ns = 0;
    uint32_t slowest = 0; // steps that waited longest for it
  };
  struct Span {
    uint32_t rank = 0;
    bool compute = false; // else: messages from or to the rank
    uint64_t from_ns = 0, to_ns = 0;
    float share = 1; // part of the span in which it did so: below 1 where short ones are one span
  };

  std::string name, kind;
  // Times of the steps that are complete, and means over them.
  Histogram step_ns;
  double algbw_bps = 0, busbw_bps = 0, overlap = 0;
  std::vector<Step> steps;
  std::vector<Rank> ranks;
  std::vector<Span> spans;           // of the first steps, by step, rank and time
  uint64_t messages = 0, bytes = 0;  // complete, without clear-to-sends
  uint64_t operations = 0, left = 0; // left: not complete
  // The most ranks that had unfinished messages for one rank at once, and that rank.
  uint32_t incast = 0, incast_rank = 0;
  // How many had unfinished messages for one rank, of each rank while there were any, weighted by
  // time.
  Histogram incast_ranks;
};
// The rank that most steps waited for because it, or its clear-to-send, was late; none: no step.
struct LateRank {
  uint32_t rank = 0, steps = 0;
};
std::optional<LateRank> late_rank(const ExperimentJob &job);
const char *job_why_name(ExperimentJob::Why why); // "late sender", ...

// How far a run without packets (fidelity: flow) is from the same run with packets.
struct ExperimentFluid {
  // FCTs and times of steps that both have; 0: there would have been too many packets.
  uint64_t compared = 0;
  // packets / fluid - 1: the median and the one that is farthest from 0.
  double median = 0, farthest = 0;
  uint64_t packets = 0; // that the bytes would need
};

// How far a run with frames on links of this machine is from the same run in virtual time.
struct ExperimentFrames {
  uint64_t compared = 0;           // FCTs, or with jobs times of steps, that both have
  double median = 0, farthest = 0; // of frames / virtual - 1; farthest from 0
  uint64_t carried = 0, lost = 0;  // frames, by each link that they passed
  double more = 0;                 // that they took beside links' serialization and delay: share
  uint64_t more_ns = 0;            // mean, in the experiment's time
  uint64_t more_p99_ns = 0;
};

struct ExperimentMeasurement {
  std::optional<ExperimentFluid> fluid;   // unset: there were packets
  std::optional<ExperimentFrames> frames; // unset: it is no simulated network with frames
  std::vector<ExperimentFlow> flows;
  std::vector<ExperimentJob> jobs;
  std::vector<ExperimentQueue> queues;
  std::vector<ExperimentRule> rules;
  std::set<std::string> unmeasured; // columns without a value, of flows and of the run
  uint64_t other_qps = 0;           // that sent requests and are of no flow
  uint64_t other_cnps = 0;          // of no flow that is known
  std::optional<double> jain;       // of the flows' goodput_bps; unset: no flow passed anything
  // Of the links by which hosts receive the flows' data, in sum. 0: not known.
  double links_bps = 0;
  // How unequally flows are spread over equally short paths: of the links between which switches
  // and hosts choose, the mean of |flows - their mean| / their mean. Unset: there is no choice.
  std::optional<double> flow_imbalance;
  // Flows above the even share of their link (the mean, rounded up), in sum over these links.
  std::optional<uint64_t> flow_collisions;
  uint64_t packets = 0;     // frames that hosts sent, whole run
  uint64_t packet_hops = 0; // frames that crossed a link, whole run
  uint64_t duration_ns = 0; // simulated or real
  uint64_t from_ns = 0;     // the measured time begins; it ends at duration_ns
  uint64_t begun_ns = 0;    // when it began, by the clock of its captures
  double wall_s = 0, cpu_s = 0;
  // Flows that sent, and of which nothing arrived or was dropped in the run. Virtual time only.
  std::vector<std::string> silent_flows;
  std::vector<std::string> why_void; // reasons for which the measurement cannot be trusted
};

// Sums over all flows and rules, of the whole run.
struct WholeRun {
  ExperimentFlowCounts flows;
  uint64_t rules_matched = 0, rules_acted = 0;
};
WholeRun whole_run(const ExperimentMeasurement &measured);

// All flows' bytes of the measured time by the time from when the first of them ran to when the
// last one did: not the sum of their rates, which are of different times.
double goodput_bps(const ExperimentMeasurement &measured);

} // namespace xr
