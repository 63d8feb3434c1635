// SPDX-License-Identifier: Apache-2.0
// The running simulation: the parts of the network, and what happens between their events. run.cpp:
// the loop over windows and actions; build.cpp: makes it from a scenario; division.cpp: into parts;
// jobs.cpp: what waits for what; fluid_flows.cpp: without packets; flows.cpp: begin and end of
// flows; routing.cpp: paths and failures; measure.cpp: what is reported.
#pragma once

#include <cstdint>
#include <queue>
#include <string>
#include <vector>

#include "base/crew.h"
#include "congestion/qp_rates.h"
#include "model/experiment.h"
#include "progress/summary.h"
#include "simulate/capture_file.h"
#include "simulate/fluid.h"
#include "simulate/medium.h"
#include "simulate/nodes.h"
#include "simulate/part.h"
#include "simulate/simulation.h"
#include "simulate/topology.h"

namespace xr::simulate {

class World {
public:
  static Result<std::unique_ptr<World>> make(Scenario scenario);

  void run_until(uint64_t ns);
  uint64_t now() const { return now_; }
  uint64_t duration() const { return scenario_.duration_ns; }
  const FrameTotals &totals();
  std::vector<ExperimentSample> take_samples() { return std::exchange(samples_, {}); }
  ExperimentMeasurement measure();
  Status close_captures();
  const std::string &whole() const { return why_whole_; }
  void use(Medium &medium) { medium_ = &medium; }
  void arrived(uint32_t wire, std::span<const uint8_t> frame) {
    part_at_now(ports_[wire]->part).arrived(wire, frame);
  }
  const Carried &carried() const { return carried_; }
  // Time of the next event or action.
  uint64_t next_change() const {
    return std::min(next_event(), actions_.empty() ? kNever : actions_.top().at);
  }

  std::vector<std::string> flow_names, queue_names;

private:
  friend class Part;

  // What happens at a time that is known before, or that a flow or a sample asks for.
  struct Action {
    enum class Kind : uint8_t { Measure, Start, Stop, Change, Pause, Rules, Sample, Reroute, Job };
    uint64_t at = 0;
    Kind kind = Kind::Start;
    uint32_t number = 0; // of the flow; otherwise of the event or change of rules in the scenario
    uint64_t sequence = 0;
    bool operator>(const Action &other) const {
      return at != other.at ? at > other.at : sequence > other.sequence;
    }
  };
  using Actions = std::priority_queue<Action, std::vector<Action>, std::greater<>>;

  explicit World(Scenario scenario);

  // A flow without packets: its wires, and the bytes of headers of a message of one packet, of
  // its first and last packet, and of each other one.
  struct FluidWay {
    std::vector<uint32_t> path;
    uint32_t pmtu = 1, extra = 0, only = 0, ends = 0, middle = 0;
    uint64_t delay_ns = 0;
    double again_ns = 0; // for each byte of the last packet
    uint64_t wire_bytes(uint64_t message) const;
  };

  // build.cpp
  Status build();
  Status check_specs() const;
  Status check_spec(const std::string &name, uint32_t wire, const LinkSpec &spec) const;
  wire::TracePointer trace_of(const LinkSpec &spec) const;
  void build_ports();
  void add_host_port(uint32_t number, uint32_t wire);
  void build_routes();
  uint64_t routing_seed() const { return scenario_.routing.seed.value_or(scenario_.seed); }
  void build_router(Router &router, uint32_t node, uint64_t salt);
  LinkSpec spec_of(uint32_t wire, const LinkSpec &given) const;
  Status build_flows();
  Status build_flow(uint32_t number);
  Status build_schedule();
  Status build_event(uint32_t number);
  Result<uint32_t> flow_named(const std::string &name) const;
  Result<uint32_t> wire_named(const std::string &name) const;
  void at(uint64_t time, Action::Kind kind, uint32_t number);

  // division.cpp
  void divide();
  std::string why_whole() const;
  std::vector<uint64_t> least_delays() const;
  bool passes() const { return !scenario_.rules.all.empty() || !scenario_.captures.empty(); }
  bool divided() const { return parts_.size() > 1; }

  // run.cpp
  template <typename Next, typename Run>
  void run_events(uint64_t ns, Next next_event, Run run_event);
  uint64_t next_event() const;
  void run_window(uint64_t end);
  void end_flows();
  void act(const Action &action);
  void change(uint32_t number);
  void pause(uint32_t number);
  // The part that has the link or the host, at the world's time.
  Part &part_at_now(uint32_t number) {
    parts_[number]->now_ = now_;
    return *parts_[number];
  }
  void schedule_wire(uint32_t wire) { part_at_now(ports_[wire]->part).schedule_wire(wire); }
  void schedule_host(uint32_t host) { part_at_now(hosts_[host].part).schedule_host(host); }

  // routing.cpp
  uint32_t choose_by_hash(const Router &at, uint32_t route, const PathKey &key, uint32_t qp) const;
  void set_link(uint32_t wire, bool down);
  void cut(uint32_t wire);
  void reroute();
  void measure_paths(ExperimentMeasurement &measured) const;

  // rules_and_captures.cpp
  Status build_points();
  Status build_rules();
  Status build_captures();
  Point &point_at(uint32_t wire);
  void change_rules(uint32_t number);
  ExperimentRuleCounts rule_counts(size_t rule) const;
  void measure_rules(std::vector<ExperimentRule> &rows) const;

  // ports.cpp
  uint32_t first_wire(const FlowRun &run, const flow::Flow &flow) const;
  uint64_t most_rate(const Host &host) const;

  // flows.cpp
  void start_flow(uint32_t number);
  void stop_flow(uint32_t number);
  void count_finished();
  flow::Flow flow_for(uint32_t number) const;
  std::optional<uint64_t> ideal_ns(uint32_t number) const;
  std::optional<uint64_t> ideal_ns(const FlowRun &run, flow::Flow flow, bool back) const;
  std::optional<uint64_t> message_ns(uint32_t number, uint64_t bytes) const;
  std::vector<uint32_t> path_of(const FlowRun &run, const flow::Flow &flow) const;

  // hops.cpp
  congestion::PathFacts facts_of(const FlowRun &run, const flow::Flow &flow) const;

  // jobs.cpp
  Status build_after();
  Status build_jobs();
  void join_jobs();
  void run_job(uint32_t number);
  void go_on_with(uint32_t number);
  void post(uint32_t number, uint32_t operation, uint64_t bytes);
  void messages_arrived(FlowRun &run, uint64_t messages);
  void messages_sent(uint32_t number);
  void flow_ended(const FlowRun &run);
  void end_if_done();
  void measure_jobs(std::vector<ExperimentJob> &rows) const;
  void fill_links(uint32_t flow, progress::Way &way) const;

  // fluid_flows.cpp
  Status check_fluid() const;
  Status build_fluid();
  void run_fluid_event();
  FluidWay way_of(const FlowRun &run, const flow::Flow &flow) const;
  void begin_fluid(uint32_t number, std::optional<uint64_t> message);
  void fluid_arrived(uint32_t number);
  void end_fluid(FlowRun &run);
  void count_fluid();
  void measure_fluid(ExperimentMeasurement &measured);

  // measure.cpp
  void begin_measure();
  void sample();
  void sample_flow(uint32_t number);
  void sample_queue(uint32_t row);
  void add(ExperimentSample::Kind kind, uint32_t row, const char *column, double value);
  double wire_rate(const FlowRun &run, uint64_t bytes, uint64_t ns) const;
  ExperimentFlow flow_row(FlowRun &run, uint32_t number);
  std::vector<std::string> silent_flows() const;
  double links_of_receivers() const;
  ExperimentQueue queue_row(uint32_t row);

  static constexpr size_t kCrowd = 512; // flows

  Scenario scenario_;
  Network network_;
  uint64_t now_ = 0;
  // What the congestion controls of the flows need: XDP_ROCE_NEEDS_*.
  uint32_t needs_ = 0;
  // Where hops are needed: by flow, of the newest request that arrived.
  std::vector<HopStack> flow_hops_;
  bool passes_ = false; // there are rules or captures
  // What flows and frames need does not stay in the cache from one use to the next.
  bool crowded_ = false;
  Medium *medium_ = nullptr; // of all links; nullptr: none
  Carried carried_;
  std::vector<uint32_t> first_psns_; // by QP from kFirstQp on, with `reorder`; kNone: none sent
  std::vector<bool> down_;           // by wire; empty: none was ever down
  FrameTotals totals_;               // of all parts, as of the last totals()
  HugePages memory_;                 // of ports and frames
  FrameStore frames_{memory_};
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<Crossing> crossings_;
  uint64_t lookahead_ = 0;        // the least delay of a crossing
  std::string why_whole_;         // it has one part: why
  uint64_t window_ends_ = kNever; // of one that was left in it
  unsigned filling_ = 0;          // the boxes into which this window puts
  Crew crew_;
  std::vector<Switch> switches_; // node: number + network_.hosts
  std::vector<PortPointer> ports_;
  std::vector<Host> hosts_;
  std::vector<FlowRun> flows_;
  std::vector<uint32_t> flow_of_qp_; // from kFirstQp on
  std::vector<std::unique_ptr<JobRun>> jobs_;
  size_t unfinished_ = 0;                 // flows with messages to send, without jobs
  std::unique_ptr<Fluid> fluid_;          // nullptr: there are packets
  std::vector<FluidWay> fluid_ways_;      // by flow, once it has begun
  std::vector<uint32_t> job_connections_; // by flow that a job has added, at the end: the job
  std::vector<uint32_t> flow_operations_; // by flow, of those that others wait for
  Actions actions_;
  uint64_t action_sequence_ = 0;
  std::vector<uint32_t> queue_wires_;   // by queue: a wire
  std::vector<uint32_t> event_targets_; // by event of the schedule: a wire or flow
  std::vector<Point> points_;
  std::vector<std::pair<uint32_t, uint32_t>> rule_places_; // by rule: point, number there
  std::vector<ExperimentRuleCounts> rules_measured_;       // by rule: before the measured time
  std::vector<std::unique_ptr<CaptureFile>> captures_;
  std::vector<CaptureFile *> host_captures_; // by host; empty: none
  std::vector<ExperimentSample> samples_;
  std::vector<QpRate> rates_; // scratch
  congestion::ControlValues values_;
  uint64_t measured_at_ = kNever;
  uint64_t samples_taken_ = 0, flows_sampled_at_ = 0;
};

} // namespace xr::simulate
