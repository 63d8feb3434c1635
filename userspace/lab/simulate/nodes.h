// SPDX-License-Identifier: Apache-2.0
// What a simulated network consists of: ports, switches, hosts, and the flows between hosts.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "base/ring.h"
#include "base/time.h"
#include "model/experiment.h"
#include "progress/progress.h"
#include "requester/requester.h"
#include "responder/responder.h"
#include "simulate/scenario.h"
#include "wire/link.h"

namespace xr::simulate {

inline constexpr uint32_t kNone = UINT32_MAX;

// The end of a wire from which its frames leave.
struct alignas(64) Port {
  Port(const LinkSpec &spec, const wire::LinkSetup &setup) : link(spec, setup) {}

  struct Pause {
    uint64_t at = 0;
    wire::PfcOut frame;
  };

  uint64_t cut_until = 0;        // frames that arrive until then were on it when it went down
  uint32_t from = 0, to = 0;     // nodes
  uint32_t part = 0, entity = 0; // the part of `from`, and there
  uint32_t crossing = kNone;     // it leads to another part: index of World's crossings
  uint32_t point = kNone;        // what its frames pass: index of World's points
  uint8_t ingress = 0;           // number of the port of `to` that these frames enter
  wire::Link link;
  Ring<Pause> pauses; // PFC frames that propagate
  // What the medium has: in this order each. A frame's `due` is when it was given to it.
  Ring<wire::Frame> carried;
  Ring<Pause> carried_pauses;
  uint64_t most_rate = 0; // bit/s, of all that it had; 0: it follows a trace
  uint64_t fluid_busy_ns = 0;
  uint64_t busy_ns() const { return link.totals().busy_ns + fluid_busy_ns; }
  // When the measured time began; the backlog is reset then.
  struct Mark {
    uint64_t frames = 0, marks = 0, drops = 0, xoffs = 0, paused_ns = 0, busy_ns = 0;
    uint64_t opportunities = 0, wasted_bytes = 0; // of a trace
  };
  Mark measured, sampled;
};

// Its memory is the world's.
struct DestroyPort {
  void operator()(Port *port) const { port->~Port(); }
};
using PortPointer = std::unique_ptr<Port, DestroyPort>;

// Where a node sends the frames for each host.
struct Router {
  // By host: a wire, or where several are equally short kGroup | index in `groups`.
  static constexpr uint32_t kGroup = 1U << 31;
  std::vector<uint32_t> ports; // wires that leave it
  std::vector<uint32_t> routes;
  std::vector<std::vector<uint32_t>> groups;
  uint64_t salt = 0;
  uint64_t choices = 0;       // at random, until now
  std::vector<uint32_t> turn; // by group: the next wire in turn
  struct Flowlet {
    uint64_t last = 0; // packet
    uint32_t wire = kNone;
  };
  std::unordered_map<uint64_t, Flowlet> flowlets; // by hash of flow and group
};

struct Switch : Router {
  std::unique_ptr<wire::SharedBuffer> buffer;
};

// Flows of a host whose packets are of one class, so that PFC can hold them back.
struct Sending {
  struct Due {
    uint64_t time = 0;
    uint32_t flow = 0;
    bool operator>(const Due &other) const {
      return time != other.time ? time > other.time : flow > other.flow;
    }
  };
  Ring<uint32_t> ready; // flows that may have a packet now, in turn
  std::priority_queue<Due, std::vector<Due>, std::greater<>> waiting;

  uint64_t earliest() const {
    return !ready.empty() ? 0 : waiting.empty() ? kNever : waiting.top().time;
  }
};

struct Host {
  uint32_t wire = kNone; // that leaves it; the first of several
  uint32_t part = 0, entity = 0;
  uint64_t lost_until = 0;        // the time of a frame that a link which is down refused
  std::unique_ptr<Router> router; // of a host with several links
  std::unique_ptr<responder::Responder> responder; // from the first request on
  uint32_t classes = 0;                            // of `sending` that are used
  bool responder_turn = true;                      // requester and responder alternate
  bool waits = false;                              // until a link has sent what it holds
  uint64_t responder_wake = kNever;                // as of the last schedule_host()
  std::array<Sending, kLinkClasses> sending;
};

// Round trips of ACKs until now.
std::vector<ExperimentFlow::Rtt> rtt_of(const requester::Requester &source);

struct FlowRun {
  // For the whole run.
  struct Counts : ExperimentFlowCounts {
    uint64_t copies = 0;     // of `arrived`, made by rules
    uint64_t wire_bytes = 0; // of the frames with payload, as their last link counts them
  };

  const FlowSetup *setup = nullptr;
  uint32_t src = 0, dst = 0; // hosts
  uint32_t qp = 0;
  uint8_t priority = 0;  // class of its packets
  uint32_t wire = kNone; // of a host with several links: that its last packet took
  bool ready = false;    // is in Sending::ready
  uint64_t listed = kNever;
  bool reliable = false;
  uint32_t in_flight = 0;                       // frames of `source` or `ended`
  std::unique_ptr<requester::Requester> source; // while it runs
  std::unique_ptr<requester::Requester> ended;  // has frames in flight
  Counts counts, measured;
  uint64_t sampled_bytes = 0, sampled_wire = 0; // as of the last sample: payload; wire_bytes
  uint64_t sampled_cnps = 0;
  uint64_t summed_bytes = 0;                 // payload as of the last sample of the sums
  std::vector<ExperimentFlow::Rtt> rtt = {}; // once it has ended
  uint64_t arrived_ns = 0;                   // the last of wire_bytes
  uint64_t dropped_ns = 0;                   // the last of its drops, where the network is divided
  bool stopped = false;                      // by the schedule
  bool flowing = false;                      // a fluid that has begun
  uint64_t start_ns = kNever, stop_ns = kNever;
  std::optional<uint64_t> end_ns;
  uint64_t ended_ns = kNever; // complete, failed or stopped
  bool reads = false;         // READ and atomics: the payload comes back
  // A connection of a job's ranks: its messages.
  struct Posted {
    uint32_t job = 0;
    bool control = false;              // clear-to-sends
    uint64_t left = 0;                 // not posted
    uint64_t sent = 0;                 // complete for the requester
    Ring<uint32_t> incomplete, unsent; // operations, in the order of their messages
  };
  std::unique_ptr<Posted> posted;
  // A flow that others wait for: its operation.
  uint32_t job = kNone, operation = kNone;
  uint64_t messages_arrived = 0;
};

// A job that runs.
struct JobRun {
  explicit JobRun(const job::Job &given) : job(given), progress(given) {}

  const job::Job &job;
  progress::JobProgress progress;
  std::vector<uint32_t> flows; // by operation; kNone: none
  uint64_t wake = kNever;      // of the newest action for it
  bool begun = false;
};

} // namespace xr::simulate
