// SPDX-License-Identifier: Apache-2.0
// Both sides of a port at once: it answers requests, and its flows start, pause and stop while it
// runs. A flow is one QP. In virtual time: the caller uses one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "flow/flow.h"
#include "packet/source.h"
#include "requester/reliable.h"
#include "responder/responder.h"
#include "station/frame_record.h"
#include "station/lacp.h"
#include "station/lldp.h"
#include "station/neighbours.h"
#include "station/pings.h"
#include "station/plain_port.h"

namespace xr::station {

enum class FlowState : uint8_t { Stopped, Started, Paused };

struct StationOptions {
  responder::ResponderOptions responder; // connection_counts is set
  double line_bits = 0;                  // a second
  const packet::Pauses *pauses = nullptr;
};

// A QP that sends. Its path is complete: addresses, MACs.
struct StationFlow {
  flow::Flow flow;
  requester::Reliability reliability; // flow_counts is set
};

// What one flow did since its last start.
struct FlowFacts {
  FlowState state = FlowState::Stopped;
  bool busy = false; // stopped or paused, and messages are still outstanding
  requester::FlowProgress progress;
};

// ARP, neighbour discovery, LACP and LLDP of the station itself. Bytes without FCS.
struct NeighbourFrames {
  uint64_t sent = 0, sent_bytes = 0;
  uint64_t received = 0, received_bytes = 0;
};

class Station : public packet::Source {
public:
  explicit Station(const StationOptions &options);
  ~Station() override;

  void receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
               const roce_packet &packet) override;
  size_t next(uint64_t now, std::span<packet::Outgoing> out) override;
  uint64_t wake_at() const override;
  bool done() const override { return false; }

  // Instead of those before, which are given up.
  void set_flows(std::vector<StationFlow> flows);
  // New paths of these flows, from their next start on.
  void set_paths(std::vector<StationFlow> flows);
  size_t flows() const { return flows_.size(); }
  // At time `at`, with counts from 0. A flow continues after its last message: one whose messages
  // are outstanding gives them up. Those that are started already are left alone.
  void start(std::span<const size_t> flows, uint64_t at);
  // What is outstanding is completed.
  void stop(std::span<const size_t> flows);
  void stop_all();
  void pause(std::span<const size_t> flows); // as stop(), for resume()
  void resume(std::span<const size_t> flows);
  FlowFacts facts(size_t flow) const;
  // Flows will start at `at`: when the first packet after it is made, be it of a plain flow.
  void expect_start(uint64_t at) {
    start_at_ = at;
    first_sent_ = 0;
  }
  // 0: not yet.
  uint64_t first_sent_ns() const { return first_sent_; }
  uint64_t start_at_ns() const { return start_at_; }

  // Instead of those before. nullptr: none.
  void set_plain(std::unique_ptr<PlainPort> plain) { plain_ = std::move(plain); }
  PlainPort *plain() { return plain_.get(); }

  // nullptr: the port is in no LAG with LACP.
  void set_lacp(std::shared_ptr<Lacp> lacp) { lacp_ = std::move(lacp); }
  // nullptr: the port has no LLDP.
  void set_lldp(std::shared_ptr<Lldp> lldp) { lldp_ = std::move(lldp); }

  // Records what arrives from now on, until take_record().
  void record(RecordOptions options) { record_.emplace(std::move(options)); }
  bool records() const { return record_.has_value(); }
  std::optional<FrameRecord> take_record() { return std::exchange(record_, std::nullopt); }

  responder::Responder &responder() { return responder_; }
  Neighbours &neighbours() { return neighbours_; }
  Pings &pings() { return pings_; }
  NeighbourFrames neighbour_frames() const;
  uint64_t stray() const { return stray_; } // answers for no flow

private:
  // The flows of one start.
  struct Run {
    std::unique_ptr<requester::ReliableSource> source;
    std::vector<size_t> flows;
    uint64_t at = 0;
    size_t left = 0; // flows that no later run has
  };
  struct Flow {
    StationFlow given;
    FlowState state = FlowState::Stopped;
    Run *run = nullptr;                     // of its last start
    size_t index = 0;                       // in that run
    std::optional<flow::Flow::Begin> begin; // where it continues
  };

  void leave(Flow &flow);
  void answered(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
                const roce_packet &packet);
  size_t take(packet::Source &source, uint64_t now, std::span<packet::Outgoing> out, size_t count);
  void receive_neighbour(std::span<const uint8_t> frame);
  void count_sent(std::span<const packet::Outgoing> out);

  StationOptions options_;
  responder::Responder responder_;
  Neighbours neighbours_;
  Pings pings_;
  NeighbourFrames neighbour_frames_;
  std::vector<Flow> flows_;
  std::vector<std::unique_ptr<Run>> runs_; // oldest first
  std::unique_ptr<PlainPort> plain_;
  std::shared_ptr<Lacp> lacp_;
  std::shared_ptr<Lldp> lldp_;
  std::optional<FrameRecord> record_;
  bool answers_first_ = true;
  uint64_t first_sent_ = 0, start_at_ = 0, stray_ = 0;
};

} // namespace xr::station
