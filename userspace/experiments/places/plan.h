// SPDX-License-Identifier: Apache-2.0
// How a scenario runs on one machine: the hosts of a star or a dumbbell are addresses at two ports,
// and the wire between those has the bottleneck.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "experiment/rules.h"
#include "flow/flow.h"
#include "model/link.h"
#include "simulate/scenario.h"

namespace xr::places {

constexpr uint32_t kMtu = 1500, kLargeMtu = 4300; // of the ports that a run makes

struct PlannedFlow {
  std::string name, src, dst; // as in the scenario
  flow::Flow flow;            // with addresses and QPNs; without MACs
  uint64_t start_ns = 0;      // UINT64_MAX: never
  uint64_t packets = 0;       // of all its messages; 0: it has no end
  double payload = 0;         // bytes a packet, on average; 0: of other hosts, not known
  uint32_t headers = 0;       // bytes of a packet in the middle of a message, without FCS
  uint64_t peak_bps = 0;      // at which it may send, in bytes of frames
  bool stopped = false;       // by the schedule, before its own duration is over
};

struct LinkChange {
  uint64_t at_ns = 0;
  std::string words; // of `link`
};

// Words in the time and the rates of the run. `qp N` of the experiment has become a QPN.
struct PlannedRule {
  std::string name, link;
  impair::RuleSpec rule; // at the plan's scale
  bool left = true;      // at the wire's port towards the senders; else towards the receivers
  bool from_start = true;
};

struct Plan {
  std::vector<PlannedFlow> flows;
  std::vector<Address> receivers; // addresses that are answered for
  std::string queue;              // the name of the bottleneck
  LinkSpec forward, back;
  std::vector<LinkChange> changes; // of `forward`, in the order of time
  std::vector<PlannedRule> rules;
  std::vector<experiment::RuleChange> rule_changes; // in the order of time
  std::vector<experiment::CaptureSetup> captures;
  uint32_t features = 0, uses = 0; // that programs of the wire need for the rules
  uint64_t held_frames = 0;        // by rules, at most
  bool ours = true;  // this tool sends the flows, here or elsewhere; otherwise other hosts do
  bool made = false; // all ports and the way between them are of this run
  bool reliable = true;
  uint32_t mtu = kMtu;
  uint32_t qps = 0;
  uint64_t path_ns = 0;         // propagation from a sender to its receiver
  double frames_per_second = 0; // most that can be offered
  double frame_bytes = 0;       // of a full packet, on average
};

// "WHAT with frames".
Error not_here(const std::string &what, std::string hint);

// Errors say what cannot run with frames. `ours` as in Plan: of other hosts' flows only the number
// of QPs and the sizes of frames are used.
// `pausable`: the senders' port can be paused by PFC for itself.
Result<Plan> make_plan(const simulate::Scenario &scenario, bool ours = true, bool pausable = false);

// Error: the flow's congestion control needs what frames do not carry.
Status check_control(const flow::Flow &flow);
// 1, 2 or 5 x 10^n, not below `value`: N of a hint --scale 1/N.
uint64_t round_up(double value);

// Whether CNPs are counted as they come to the senders; otherwise as the receivers' answers enter
// the wire, which loses none of them then, and the senders' program need not follow streams.
bool counts_cnps_at_senders(const Plan &plan);

// Frames a second that are forwarded at most; more are refused before a run.
uint64_t most_frames_per_second();
// `scale`: of the run; the hint has a scale that is possible.
// A note where congestion control would react to this machine's delays as much as to the plan's,
// with a scale at which it does not; "": it does not.
std::string why_differs(const Plan &plan, double scale);
Status check_speed(const Plan &plan, const simulate::Scenario &scenario, double scale);

} // namespace xr::places
