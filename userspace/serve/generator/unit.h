// SPDX-License-Identifier: Apache-2.0
// A port of the configuration while it runs: its station, and what was read of it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "datapath/attach.h"
#include "endpoint/station_run.h"
#include "generator/plan.h"
#include "packet/peer_map.h"

namespace xr::generator {

// Bytes of all of these are with FCS.

// What a flow has sent, and what its sender got back, since its start.
struct Sent {
  station::FlowState state = station::FlowState::Stopped;
  bool busy = false;
  uint64_t frames = 0, bytes = 0; // with what was sent again
  uint64_t retransmitted = 0, timeouts = 0;
  uint64_t begun = 0, completed = 0, failed = 0; // messages
  uint64_t acks = 0, naks = 0, cnps = 0, cnps_sent = 0, ce = 0;
  uint64_t answers = 0, answer_bytes = 0; // of READs
  uint64_t failed_qps = 0;
  uint64_t first_ns = 0, last_ns = 0, acked_ns = 0; // CLOCK_MONOTONIC; 0: not yet

  bool is_busy() const { return busy || state != station::FlowState::Stopped; }
};

// What of a flow has arrived, and how it was answered, since its start.
struct Arrived {
  uint64_t frames = 0, bytes = 0;
  uint64_t out_of_order = 0, duplicates = 0, messages = 0;
  uint64_t ce = 0, cnps = 0, acks = 0, naks = 0, read_responses = 0;
  uint64_t first_ns = 0, last_ns = 0;
  uint64_t stamped = 0, latency_min_ns = 0, latency_max_ns = 0;
  double latency_sum_ns = 0;
};

// Frames and bytes of a port, without ARP and ND of its own addresses.
struct PortTotal {
  uint64_t frames = 0, bytes = 0;
};

// One reading of a port: first what arrived, then what was sent, so that no more has arrived at the
// ports of a configuration than was sent.
struct Sample {
  uint64_t in_ns = 0; // CLOCK_MONOTONIC; 0: none yet
  PortTotal in;
  bool records = false;                                // a capture runs
  std::vector<Arrived> arrived;                        // by place in Unit::arriving()
  std::vector<requester::PlainReceived> plain_arrived; // by number of the plain flow
  uint64_t out_ns = 0;
  PortTotal out;
  std::vector<Sent> sent;                         // by place in PortPlan::flows
  std::vector<requester::PlainCounts> plain_sent; // by place in PortPlan::plain_flows
};

// The rate of the line at a port, in bits a second; 0: it has none, or its driver does not say.
using LineOf = std::function<uint64_t(size_t port)>;

using OpenPort =
    std::function<Result<std::unique_ptr<endpoint::StationPort>>(endpoint::StationRequest request)>;

class Unit {
public:
  // Attaches the port and answers. `number`: of the port in the configuration.
  static Result<std::unique_ptr<Unit>> open(const otg::Config &config, const Plan &plan,
                                            size_t number, const datapath::AttachOptions &attach,
                                            const OpenPort &open_port);

  endpoint::StationPort &run() { return *run_; }
  const std::string &ifname() const { return run_->port().ifname; }
  const std::string &netns() const { return run_->port().netns; }
  // The stateful flows that arrive here.
  const std::vector<size_t> &arriving() const { return arriving_; }

  // The flows of the port, all stopped, when all ports are open. Error: one that it cannot send.
  Status set_flows(const MacOf &mac_of, LineOf line_of);
  // The rates and sizes of these plain flows of the configuration changed, or those from `first` on
  // were added. Error: a flow that the port cannot send.
  Status update_plain(const std::vector<size_t> &flows, const MacOf &mac_of);
  Status add_plain(size_t first, const MacOf &mac_of);
  // Whether the port can send the plain flows of that configuration.
  Status check_plain(const otg::Config &config, const Plan &plan, const MacOf &mac_of) const;
  // By whose headers frames without a stamp are known.
  void update_unstamped();
  // Whether the host answers for this address of the port.
  bool is_hosts(const Address &address) const;
  // Which of these interfaces' echo requests are answered. `beside`: the other ports of its LAG,
  // by which answers may come, too.
  std::vector<bool> ping(const std::vector<std::pair<size_t, Address>> &from_to,
                         const std::vector<Unit *> &beside);
  // What was sent, and what arrived, of a plain flow by its metric tags.
  requester::TaggedFrames tagged_sent(size_t place);
  requester::PlainReceiver::Tagged tagged_received(size_t flow, uint64_t &untagged);
  bool takes_all_frames() const { return takes_all_; }
  // By the last reading: a flow is started, or its last packets are not acknowledged.
  bool is_busy() const;
  // Asks for the MACs of next hops that are not known, and gives the flows their paths from their
  // next start on.
  Status start_protocols(const MacOf &mac_of);
  // Stops the stateful flows, whose counts stay, and forgets the MACs. Plain flows continue.
  void stop_protocols();
  bool protocols() const { return protocols_; }
  std::optional<packet::Mac> mac_of(const NextHop &hop) const;
  // MACs that another port of its LAG has got.
  Status learn(const HopMacs &macs, const MacOf &mac_of);

  // Flows by their place in PortPlan::flows, and plain ones.
  struct Places {
    std::vector<size_t> flows, plain;
    bool empty() const { return flows.empty() && plain.empty(); }
  };
  void start(const Places &places, uint64_t at_ns);
  void stop(const Places &places);
  void pause(const Places &places);
  void resume(const Places &places);
  // Resets the counts of what arrives here: places in arriving(), numbers of plain flows.
  void clear_arrived(const std::vector<size_t> &places, const std::vector<size_t> &plain);
  // When its first packet after the last start left, and when it was due; 0: none.
  std::pair<uint64_t, uint64_t> started();

  // Reads what arrived at the port, then what it sent.
  void sample_in();
  void sample_out();
  const Sample &now() const { return samples_.back(); }
  // The reading that rates begin with; without a time where there is none.
  const Sample &before() const;
  Status close() { return run_->close(); }

private:
  Unit(const otg::Config &config, const Plan &plan, size_t number)
      : config_(config), plan_(plan), number_(number) {}
  void list_arriving();
  Status give_paths(const MacOf &mac_of);
  std::vector<requester::PlainReceiver::Unstamped> unstamped() const;
  using Measures = std::vector<std::pair<size_t, requester::PlainMeasure>>; // by flow
  Measures measures(size_t first) const;

  const otg::Config &config_;
  const Plan &plan_;
  size_t number_;
  std::unique_ptr<endpoint::StationPort> run_;
  std::vector<size_t> arriving_;
  packet::PeerMap<size_t> by_connection_{SIZE_MAX}; // place in arriving_
  HopMacs macs_;
  uint16_t pings_ = 0; // the identifier of the last
  LineOf line_of_;
  bool protocols_ = false, takes_all_ = false;
  std::deque<Sample> samples_{1}; // oldest first; the last is the newest
};

template <typename T> T at_or_none(const std::vector<T> &all, size_t place) {
  return place < all.size() ? all[place] : T{};
}

// The difference between two readings as a rate a second; 0 if there is no earlier one.
double per_second(uint64_t now, uint64_t before, uint64_t at_ns, uint64_t since_ns);

} // namespace xr::generator
