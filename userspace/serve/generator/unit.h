// SPDX-License-Identifier: Apache-2.0
// A port of the configuration while it runs: its station, and what was read of it.
#pragma once

#include <cstdint>
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

// What a flow has sent, and what its sender got back, since its start.
struct Sent {
  station::FlowState state = station::FlowState::Stopped;
  bool busy = false;
  uint64_t frames = 0, bytes = 0; // without FCS; with what was sent again
  uint64_t retransmitted = 0, timeouts = 0;
  uint64_t begun = 0, completed = 0, failed = 0; // messages
  uint64_t acks = 0, naks = 0, cnps = 0, cnps_sent = 0, ce = 0;
  uint64_t answers = 0, answer_bytes = 0; // of READs
  uint64_t failed_qps = 0;
  uint64_t first_ns = 0, last_ns = 0, acked_ns = 0; // CLOCK_MONOTONIC; 0: not yet
};

// What of a flow has arrived, and how it was answered, since its start.
struct Arrived {
  uint64_t frames = 0, bytes = 0; // without FCS
  uint64_t out_of_order = 0, duplicates = 0, messages = 0;
  uint64_t ce = 0, cnps = 0, acks = 0, naks = 0, read_responses = 0;
  uint64_t first_ns = 0, last_ns = 0;
  uint64_t stamped = 0, latency_min_ns = 0, latency_max_ns = 0;
  double latency_sum_ns = 0;
};

struct PortTotals {
  uint64_t frames_tx = 0, frames_rx = 0, bytes_tx = 0, bytes_rx = 0; // without FCS
};

// One reading of a port.
struct Sample {
  uint64_t at_ns = 0; // CLOCK_MONOTONIC; 0: none yet
  PortTotals port;
  bool records = false;                                // a capture runs
  std::vector<Sent> sent;                              // by place in PortPlan::flows
  std::vector<Arrived> arrived;                        // by place in Unit::arriving()
  std::vector<requester::PlainCounts> plain_sent;      // by place in PortPlan::plain_flows
  std::vector<requester::PlainReceived> plain_arrived; // by number of the plain flow
};

class Unit {
public:
  // Attaches the port and answers. `number`: of the port in the configuration.
  static Result<std::unique_ptr<Unit>> open(const otg::Config &config, const Plan &plan,
                                            size_t number, const datapath::AttachOptions &attach);

  endpoint::StationRun &run() { return *run_; }
  const std::string &ifname() const { return run_->port().ifname; }
  const std::string &netns() const { return run_->port().netns; }
  // The stateful flows that arrive here.
  const std::vector<size_t> &arriving() const { return arriving_; }

  // Asks for the MACs of next hops that are not known, and gives the flows their paths.
  Status start_protocols(const std::function<packet::Mac(size_t port)> &mac_of);
  void stop_protocols();
  bool protocols() const { return protocols_; }
  std::optional<packet::Mac> mac_of(const NextHop &hop) const;

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

  // Reads the port, and keeps the reading before for rates.
  void sample();
  const Sample &now() const { return now_; }
  const Sample &before() const { return before_; }
  Status close() { return run_->close(); }

private:
  Unit(const otg::Config &config, const Plan &plan, size_t number)
      : config_(config), plan_(plan), number_(number) {}
  void list_arriving();
  Status set_plain(const std::function<packet::Mac(size_t port)> &mac_of);

  const otg::Config &config_;
  const Plan &plan_;
  size_t number_;
  std::unique_ptr<endpoint::StationRun> run_;
  std::vector<size_t> arriving_;
  packet::PeerMap<size_t> by_connection_{SIZE_MAX}; // place in arriving_
  HopMacs macs_;
  bool protocols_ = false;
  Sample now_, before_;
};

// The difference between two readings as a rate a second; 0 if there is no earlier one.
double per_second(uint64_t now, uint64_t before, const Sample &at, const Sample &since);

} // namespace xr::generator
