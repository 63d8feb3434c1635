// SPDX-License-Identifier: Apache-2.0
// What to simulate: hosts, switches and links, flows, and what changes when. Times are ns since the
// start, rates bits per second.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "congestion/notification_point.h"
#include "flow/flow.h"
#include "job/job.h"
#include "model/link.h"
#include "requester/reliable.h"
#include "simulate/rule_setup.h"
#include "wire/link.h"

namespace xr::simulate {

// A network of any form. Each name in `links` that is not a switch is a host.
struct Graph {
  struct Link {
    std::string a, b;
    uint64_t rate = 0, delay = 1000; // rate 0: the topology's
  };
  std::vector<std::string> hosts = {}; // their order; others follow as the links name them
  std::vector<std::string> switches = {};
  std::vector<Link> links = {}; // several may join the same two
};

// Names of hosts and queues: topology.h.
struct Topology {
  enum class Kind : uint8_t { Star, Dumbbell, ParkingLot, LeafSpine, FatTree, Graph };
  Kind kind = Kind::Star;
  // Star: sender-1 ... sender-N, receiver, one switch "switch"; with star_hosts host-1 ... host-N
  // instead.
  // Dumbbell: sender-1 ... N on "left", receiver-1 ... N on "right".
  // ParkingLot: switches switch-1 ... switch-(hops+1) in a row; sender-0 on the first, receiver-0
  // on the last; for each hop i sender-i on switch-i, receiver-i on switch-(i+1).
  // LeafSpine: leaf-1 ..., spine-1 ..., host-1 ... host-(leaves x hosts), ECMP by flow hash.
  // FatTree: k pods, edge-POD-N, agg-POD-N, core-N, host-1 ... host-(k^3 / 4).
  unsigned senders = 2, hops = 3, leaves = 4, spines = 2, hosts = 8; // hosts: of each leaf
  unsigned star_hosts = 0;
  uint64_t rate = 0, delay = 1000;           // of each host's link
  uint64_t core_rate = 0, core_delay = 1000; // between switches; core_rate 0: as `rate`
  bool layer1 = false; // rates include FCS, preamble and gap; otherwise a frame's bytes alone
  unsigned k = 4;      // FatTree: even
  // LeafSpine, FatTree, without core_rate: what enters a leaf or edge switch from its hosts, as a
  // multiple of what it can send upwards. 0: core_rate.
  unsigned oversubscription = 0;
  simulate::Graph graph = {};
};

// Which of several equally short paths a packet takes. The same seed gives the same choices.
struct Routing {
  // Ecmp: by a hash of header fields. Spray: each packet by itself, at random or in turn. Flowlet:
  // at random after a pause of `gap_ns` in a flow (5-tuple).
  enum class Kind : uint8_t { Ecmp, SprayRandom, SprayRoundRobin, Flowlet };
  // Beside addresses and UDP ports: DestQP, or the flow label of IPv6.
  enum class Fields : uint8_t { FiveTuple, Qpn, FlowLabel };
  Kind kind = Kind::Ecmp;
  Fields fields = Fields::FiveTuple;
  std::optional<uint64_t> seed = {}; // instead of the scenario's
  uint64_t gap_ns = 0;
  uint64_t reroute_ns = 0; // from a link's failure or repair until paths follow
};

// Traffic of one flow, as `send` would make it, between named hosts.
struct FlowSetup {
  std::string name, src, dst; // name "": flow-N, N from 1
  // The simulation sets addresses, MACs and QPNs. A size of 0 messages continues without end.
  // Random values follow `flow.seed`, or where that is 0 the scenario's seed and the flow's number.
  flow::Flow flow;
  bool reliable = true;
  uint64_t start_ns = 0;
  std::optional<uint64_t> stop_ns; // no new packets (reliable: no new messages) from then on
  bool started = true;             // false: by an event, or after others
  // It starts `after_ns` after what flows before it did: as many of `after` as `fewest` says, 0:
  // all. Empty: at start_ns.
  struct After {
    std::string flow;
    job::Need::When when = job::Need::When::Complete; // Begun, Sent, or Complete: received
  };
  std::vector<After> after = {};
  uint32_t fewest = 0;
  uint64_t after_ns = 0;
  bool of_job = false; // a connection of a job's ranks, which Simulation adds
};

// A job, and what the connections of its ranks have in common.
struct JobSetup {
  job::Job job;
  FlowSetup like;
};

struct Event {
  enum class Kind : uint8_t { Start, Stop, Link, Flap, Pause, Down, Up };
  uint64_t at_ns = 0;
  Kind kind = Kind::Start;
  std::string target;       // flow or queue; Down and Up: both directions of its link
  LinkSpec link = {};       // Link: the queue's new configuration; rate or delay 0: as before
  uint64_t duration_ns = 0; // Flap: down for; Pause: paused for
  uint8_t priorities = 0;   // Pause
};

// The QPNs of the flows, in their order.
inline constexpr uint32_t kFirstQp = 0x11;

struct Scenario {
  uint64_t seed = 1;
  uint64_t duration_ns = 0;
  uint64_t sample_ns = 0;         // 0: no samples
  uint64_t flow_sample_every = 1; // flows have values in each Nth sample only
  uint64_t measure_from_ns = 0;
  Topology topology;
  Routing routing;
  // Each switch port's; rate, delay and layer1 are the topology's. Its buffer and PFC are of each
  // switch, whose ports share the buffer. PFC of a switch pauses hosts and switches.
  LinkSpec queue;
  // By name, instead of `queue`; rate or delay 0: the topology's; buffer and PFC are not used.
  std::map<std::string, LinkSpec> queues;
  // Contents of LinkSpec::trace, by its name. Of switch ports only.
  std::map<std::string, wire::TracePointer> traces;
  std::vector<FlowSetup> flows;
  std::vector<JobSetup> jobs;
  // The run ends when all jobs and all flows that wait for others are done; without either, when
  // all flows with a number of messages are; at `duration_ns` at the latest.
  bool until_done = false;
  // Flows share links as a fluid, max-min fair, without packets, queues and congestion control.
  bool fluid = false;
  congestion::CnpPacing cnp; // of all receivers
  // Of reliable flows. iCRCs are not checked. A flow without ack-every asks for an ACK four times
  // in each window, so that it does not stop at the end of one.
  requester::Reliability reliability;
  bool reorder = false; // receivers accept packets in any order, and send no NAK for missing ones
  std::vector<Event> schedule;
  // Frames meet the rules of a queue as they are going to it, before they are queued; those of a
  // host's port when they come to the switch. In the words a QP is named by its QPN.
  Rules rules;
  // How many threads there are changes nothing else; 0: as many as processors. A network of at
  // least `divide_from` hosts is divided into parts, and what happens at the same ns in two of them
  // may come in another order than in one.
  unsigned threads = 0;
  uint32_t divide_from = 65;
  std::vector<CaptureSetup> captures; // of a star or a dumbbell
  std::string capture_directory;      // exists
};

} // namespace xr::simulate
