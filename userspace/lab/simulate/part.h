// SPDX-License-Identifier: Apache-2.0
// A part of a simulated network: nodes, the links that leave them, and their events in the order of
// their times. A world has one part, or many that run at the same time (windows.h): what a part
// changes is its own, except for what it puts into the boxes of links to other parts, and into its
// notes. part.cpp: the way of frames; host.cpp: what hosts send and receive;
// rules_and_captures.cpp; routing.cpp: paths; hops.cpp: telemetry; crossing.cpp: to other parts;
// carry.cpp: by a medium.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/experiment.h"
#include "roce/parse.h"
#include "simulate/capture_file.h"
#include "simulate/event_queue.h"
#include "simulate/frames.h"
#include "simulate/nodes.h"
#include "simulate/rule_point.h"
#include "simulate/simulation.h"
#include "simulate/topology.h"

namespace xr::simulate {

class World;

// What the frames of a link pass before they are queued.
struct Point {
  uint32_t wire = 0;
  std::unique_ptr<RulePoint> rules; // nullptr: none
  CaptureFile *capture = nullptr;
};

// A link between two parts. Its sender's part fills one box while the receiver's empties the other.
struct alignas(64) Crossing {
  struct Box {
    std::vector<wire::Frame> frames; // they arrive when they are due
    std::vector<Port::Pause> pauses;
  };
  uint32_t wire = 0, entity = 0; // the entity is the receiver's
  std::array<Box, 2> boxes;
  Ring<wire::Frame> frames; // of the receiver, still to come
  Ring<Port::Pause> pauses;
};

class Part : private wire::Departures {
public:
  // What a part is made of. Entities are numbered in the order of these.
  struct Members {
    std::vector<uint32_t> wires, hosts, crossings; // crossings: into it
    size_t points = 0;
  };
  Part(World &world, uint32_t number, Members members);

  // When its next event is due.
  uint64_t next() const { return queue_.time(); }
  void run_event();
  // All events before `end`, after taking what came from other parts.
  void run_before(uint64_t end);
  uint64_t now() const { return now_; }

private:
  friend class World;

  // What the whole world must know at the end of a window.
  struct Note {
    uint32_t flow;
    bool dropped;
    uint64_t at;
  };
  struct Ending { // a flow without ACKs that has sent everything
    uint32_t flow;
    uint64_t at;
  };
  enum class EntityKind : uint8_t { Wire, Host, Crossing, Point };
  struct Entity {
    EntityKind kind;
    uint32_t number;
  };

  // part.cpp
  void run_wire(uint32_t wire);
  void prefetch_coming(const Port &port) const;
  void run_pauses(uint32_t wire);
  void pause_arrived(uint32_t wire, const wire::PfcOut &frame);
  void send_pauses(uint32_t wire);
  void frame_arrived(const Port &port, uint32_t wire, wire::Frame &frame);
  // carry.cpp
  void carry(uint32_t wire, wire::Frame &frame);
  void carry_pause(uint32_t wire, const wire::PfcOut &pause);
  void arrived(uint32_t wire, std::span<const uint8_t> bytes);
  void arrive(uint32_t wire, wire::Frame &frame);
  void forward(Switch &at, wire::Frame &frame);
  uint32_t route(Router &at, const HeldFrame &held);
  void put(uint32_t wire, wire::Frame &frame);
  void lose(const wire::Frame &frame);
  uint64_t next_of(const Port &port) const;
  void schedule_wire(uint32_t wire);

  // division.cpp
  void join();

  // crossing.cpp
  void hand_over(uint32_t wire);
  void hand_over_pause(uint32_t wire, const Port::Pause &pause);
  void take_boxes();
  void run_crossing(uint32_t number);
  static uint64_t next_of(const Crossing &crossing);

  // routing.cpp
  uint32_t choose(Router &at, uint32_t route, const HeldFrame &held);
  uint32_t qp_of(const HeldFrame &held);
  uint32_t flowlet_wire(Router &at, uint32_t route, uint64_t flow);

  // rules_and_captures.cpp
  void pass(uint32_t wire, wire::Frame &frame);
  void meet_rules(Point &point, wire::Frame &frame);
  void leave_rules(Point &point, wire::Frame &frame);
  uint64_t stream_of(const HeldFrame &held);
  void go_on(uint32_t wire, wire::Frame &frame);
  void send_back(const Point &point, const wire::Frame &frame, const std::vector<uint8_t> &bytes);
  wire::Frame duplicate(const wire::Frame &frame);
  void run_point(uint32_t number);
  void schedule_point(uint32_t number);
  void capture_arrival(uint32_t host, const wire::Frame &frame);
  void capture_pause(uint32_t host, const wire::PfcOut &frame);

  // host.cpp
  void run_host(uint32_t host);
  bool send_flow(Host &host);
  bool send_class(Host &host, Sending &sending);
  void prefetch_turns(const Sending &sending) const;
  bool send_response(Host &host);
  void enqueue(Host &host, const packet::Outgoing &packet, uint32_t flow);
  void list(Sending &sending, uint32_t flow, uint64_t wake);
  void schedule_host(uint32_t host, bool sent_nothing = false);
  void go_on_sending(uint32_t flow);
  // The links of a host; with several: ports.cpp. Room for answers and packets; when a link is
  // free; classes that are paused on all links; until when.
  bool has_room(const Host &host) const {
    return host.router ? all_have_room(host) : has_room(host.wire);
  }
  uint64_t free_at(const Host &host) const {
    return std::max(host.lost_until,
                    host.router ? first_free_at(host) : ports_[host.wire]->link.free_at());
  }
  uint32_t paused_at(const Host &host) const {
    return host.router ? all_paused_at(host) : ports_[host.wire]->link.paused_at(now_);
  }
  uint64_t paused_until(const Host &host, unsigned priority) const {
    return host.router ? first_resumed_at(host, priority)
                       : ports_[host.wire]->link.paused_until(priority);
  }
  bool has_room(uint32_t wire) const { return ports_[wire]->link.backlog_bytes() < kMostWaiting; }
  bool all_have_room(const Host &host) const;
  uint64_t first_free_at(const Host &host) const;
  uint32_t all_paused_at(const Host &host) const;
  uint64_t first_resumed_at(const Host &host, unsigned priority) const;
  uint64_t next_change(const Host &host) const;
  bool can_send(const FlowRun &run) const;
  void receive(uint32_t host, const wire::Frame &frame, uint32_t overhead);
  void receive_request(uint32_t host, FlowRun &run, std::span<const uint8_t> frame,
                       roce_class class_, const roce_packet &packet);
  void receive_response(uint32_t flow, std::span<const uint8_t> frame, roce_class class_,
                        const roce_packet &packet);
  void release(uint32_t handle);
  responder::Responder &responder_of(uint32_t host, const FlowRun &run);
  uint32_t flow_of_qp(uint32_t qp) const;
  void note_first_psn(const HeldFrame &held);
  uint32_t flow_of_raw(const HeldFrame &frame);

  // flows.cpp
  void stop_flow(uint32_t number);
  void finish_flow(uint32_t number);
  bool all_arrived(const FlowRun &run) const;
  void keep_counts(FlowRun &run);

  // hops.cpp
  void left(const wire::Link &link, const wire::Frame &frame, uint64_t now,
            uint64_t before) override;
  void keep_hops(uint32_t flow, uint32_t handle);
  void answer_hops(uint32_t flow, uint32_t handle);
  std::span<const xdp_roce_hop> hops_of(uint32_t handle) const;

  // Answers that may wait in a paused link, so that answers of other classes pass them; with
  // several links also packets whose link is busy. bytes
  static constexpr uint64_t kMostWaiting = 16384;

  // All parts'.
  World &world_;
  const Scenario &scenario_;
  const Network &network_;
  std::vector<PortPointer> &ports_;
  std::vector<Switch> &switches_;
  std::vector<Host> &hosts_;
  std::vector<FlowRun> &flows_;
  std::vector<Point> &points_;
  const uint32_t number_;

  uint64_t now_ = 0;
  std::vector<Entity> entities_;
  std::vector<uint32_t> into_; // crossings
  EventQueue queue_;
  FramePool pool_;
  FrameTotals totals_;
  std::vector<QpRate> rates_; // scratch
  std::vector<uint8_t> bytes_, before_;
  std::vector<Note> notes_;
  std::vector<Ending> ending_;
  uint64_t soonest_ = kNever; // arrival of what it has put into boxes in this window
  size_t finished_ = 0;       // flows with messages to send, in this window
};

} // namespace xr::simulate
