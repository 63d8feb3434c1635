// SPDX-License-Identifier: Apache-2.0
// Makes the nodes, routes and flows of a scenario.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/draw.h"
#include "simulate/world.h"

namespace xr::simulate {

namespace {

constexpr uint64_t kHostBuffer = 1ULL << 40;
constexpr uint32_t kMtu = 65535;
constexpr uint32_t kQpns = 1U << 24;

// Seeds of what is random besides the flows.
constexpr uint64_t kLinkSeeds = 1ULL << 32, kSwitchSeeds = 2ULL << 32, kHostSeeds = 4ULL << 32;

bool has_answers(const flow::Flow &flow) {
  return flow.opcodes.empty() &&
         packet::verb_properties(flow.verb) & (ROCE_OP_READ_REQUEST | ROCE_OP_ATOMIC);
}

// The first of the names that begins like `name`, for hints.
std::string like(const std::vector<std::string> &names) {
  std::string text;
  for (size_t i = 0; i < names.size() && i < 4; i++)
    text += (i ? ", " : "") + names[i];
  return names.size() > 4 ? text + ", ..." : text;
}

} // namespace

World::World(Scenario scenario)
    : scenario_(std::move(scenario)), network_(build_network(scenario_.topology)) {}

Result<std::unique_ptr<World>> World::make(Scenario scenario) {
  XR_TRY(check_topology(scenario.topology));
  if (!scenario.duration_ns)
    return Error{"the scenario has no duration", "duration: 100ms"};
  std::unique_ptr<World> world(new World(std::move(scenario)));
  XR_TRY(world->build());
  return world;
}

Status World::build() {
  queue_names = simulate::queue_names(scenario_.topology);
  for (const bool switches : {true, false})
    for (uint32_t i = 0; i < network_.wires.size(); i++)
      if ((network_.wires[i].from >= network_.hosts) == switches)
        queue_wires_.push_back(i);
  if (Status s = check_specs(); !s)
    return s;
  XR_TRY(build_jobs());
  for (const FlowSetup &flow : scenario_.flows)
    needs_ |= flow.flow.control.needs();
  if (needs_ & XDP_ROCE_NEEDS_HOPS) {
    flow_hops_.resize(scenario_.flows.size());
    frames_.keep_hops();
  }
  divide();
  build_ports();
  build_routes();
  at(scenario_.measure_from_ns, Action::Kind::Measure, 0);
  if (Status s = build_flows(); !s)
    return s;
  if (Status s = build_schedule(); !s)
    return s;
  if (Status s = build_points(); !s)
    return s;
  if (scenario_.fluid)
    XR_TRY(build_fluid());
  if (scenario_.sample_ns)
    at(scenario_.sample_ns, Action::Kind::Sample, 0);
  return {};
}

Status World::check_specs() const {
  if (!scenario_.queue.trace.empty())
    return Error{"the queue of all switches has a trace", "a trace of one queue, by its name"};
  for (const auto &[name, spec] : scenario_.queues) {
    const Result<uint32_t> wire = wire_named(name);
    if (!wire)
      return wire.error();
    if (Status s = check_spec(name, wire.get(), spec); !s)
      return s;
  }
  return {};
}

// Hosts ask their requesters when the link is free, which a trace does not know before.
Status World::check_spec(const std::string &name, uint32_t wire, const LinkSpec &spec) const {
  if (spec.trace.empty())
    return {};
  if (network_.wires[wire].from < network_.hosts)
    return Error{fmt::format("queue {}: the port of a host cannot follow a trace", name),
                 fmt::format("a port of a switch, like {}", queue_names.front())};
  if (!scenario_.traces.contains(spec.trace))
    return Error{fmt::format("queue {}: the trace {} is missing", name, spec.trace), {}};
  return {};
}

wire::TracePointer World::trace_of(const LinkSpec &spec) const {
  return spec.trace.empty() ? nullptr : scenario_.traces.at(spec.trace);
}

// Names as in queue_names, and "bottleneck".
Result<uint32_t> World::wire_named(const std::string &name) const {
  const auto shared = bottleneck(scenario_.topology);
  const std::string &known = name == "bottleneck" && shared ? *shared : name;
  const auto row = std::find(queue_names.begin(), queue_names.end(), known);
  if (row == queue_names.end())
    return Error{fmt::format("there is no queue {}", name), like(queue_names)};
  return queue_wires_[static_cast<size_t>(row - queue_names.begin())];
}

LinkSpec World::spec_of(uint32_t wire, const LinkSpec &given) const {
  const Wire &between = network_.wires[wire];
  LinkSpec spec = given;
  if (!spec.rate && spec.trace.empty()) {
    spec.rate = between.rate;
    spec.layer1 = scenario_.topology.layer1;
  }
  if (!spec.delay)
    spec.delay = between.delay;
  return spec;
}

void World::build_ports() {
  const size_t switches = network_.nodes.size() - network_.hosts;
  memory_.expect(network_.wires.size() * sizeof(Port));
  hosts_.resize(network_.hosts);
  switches_.resize(switches);
  std::vector<unsigned> ports_of(network_.nodes.size());
  for (const Wire &between : network_.wires)
    ports_of[between.from]++;
  for (Switch &item : switches_)
    item.buffer = std::make_unique<wire::SharedBuffer>(scenario_.queue.buffer, scenario_.queue.pfc,
                                                       scenario_.topology.rate);
  std::vector<Part *> part_of(network_.wires.size());
  for (const auto &part : parts_)
    for (const Part::Entity &entity : part->entities_)
      if (entity.kind == Part::EntityKind::Wire)
        part_of[entity.number] = part.get();
  std::map<uint32_t, LinkSpec> own;
  for (const auto &[name, spec] : scenario_.queues)
    own[wire_named(name).get()] = spec;
  for (uint32_t i = 0; i < network_.wires.size(); i++) {
    const Wire &between = network_.wires[i];
    const bool host = between.from < network_.hosts;
    LinkSpec given = scenario_.queue;
    if (host) {
      given = {};
      given.buffer = kHostBuffer;
      given.by_dscp = scenario_.queue.by_dscp;
      given.map = scenario_.queue.map;
    }
    if (const auto named = own.find(i); named != own.end()) {
      given = named->second;
      if (host)
        given.buffer = kHostBuffer;
    }
    wire::LinkSetup setup;
    setup.line_rate = between.rate;
    setup.seed = draw(scenario_.seed, kLinkSeeds + i);
    setup.trace = trace_of(given);
    setup.times = false;
    if (needs_ & XDP_ROCE_NEEDS_HOPS && !host)
      setup.departures = part_of[i];
    setup.buffer = host ? nullptr : switches_[between.from - network_.hosts].buffer.get();
    setup.sharers = host ? 1 : ports_of[between.from];
    Port &port = *ports_.emplace_back(memory_.make<Port>(spec_of(i, given), setup));
    port.most_rate = port.link.spec().rate;
    port.from = between.from;
    port.to = between.to;
    if (host)
      add_host_port(between.from, i);
    else
      switches_[between.from - network_.hosts].ports.push_back(i);
  }
  for (const auto &part : parts_)
    part->join();
  for (Switch &entry : switches_)
    for (size_t i = 0; i < entry.ports.size(); i++) {
      ports_[entry.ports[i] ^ 1]->ingress = static_cast<uint8_t>(i);
      entry.buffer->set_rate(static_cast<unsigned>(i), network_.wires[entry.ports[i]].rate);
    }
}

void World::add_host_port(uint32_t number, uint32_t wire) {
  Host &host = hosts_[number];
  const bool first = host.wire == kNone;
  if (first) {
    host.wire = wire;
    return;
  }
  if (!host.router) {
    host.router = std::make_unique<Router>();
    host.router->ports = {host.wire};
  }
  host.router->ports.push_back(wire);
}

void World::build_routes() {
  const uint64_t seed = routing_seed();
  for (uint32_t i = 0; i < switches_.size(); i++)
    build_router(switches_[i], network_.hosts + i, draw(seed, kSwitchSeeds + i));
  for (uint32_t i = 0; i < hosts_.size(); i++)
    if (hosts_[i].router)
      build_router(*hosts_[i].router, i, draw(seed, kHostSeeds + i));
  network_.next_hops.clear();
  const auto chooses = [](const Router &router) { return !router.groups.empty(); };
  const bool hashes =
      std::ranges::any_of(switches_, chooses) || std::ranges::any_of(hosts_, [&](const Host &host) {
        return host.router && chooses(*host.router);
      });
  for (const auto &part : parts_)
    part->pool_.hash_paths(hashes);
}

void World::build_router(Router &router, uint32_t node, uint64_t salt) {
  router.salt = salt;
  router.routes.clear();
  router.groups.clear();
  router.flowlets.clear();
  const Network::NextHops &hops = network_.next_hops[node];
  std::vector<uint32_t> routes; // by set
  for (const std::vector<uint32_t> &wires : hops.sets) {
    if (wires.size() <= 1) {
      routes.push_back(wires.empty() ? kNone : wires.front());
      continue;
    }
    routes.push_back(Router::kGroup | static_cast<uint32_t>(router.groups.size()));
    router.groups.push_back(wires);
  }
  for (const uint32_t set : hops.of_host)
    router.routes.push_back(routes[set]);
  router.turn.assign(router.groups.size(), 0);
}

Status World::build_flows() {
  flows_.resize(scenario_.flows.size());
  std::map<std::string, uint32_t> hosts;
  for (uint32_t i = 0; i < network_.hosts; i++)
    hosts[network_.nodes[i]] = i;
  uint64_t qps = 0;
  for (uint32_t i = 0; i < flows_.size(); i++) {
    FlowSetup &setup = scenario_.flows[i];
    FlowRun &run = flows_[i];
    if (setup.name.empty())
      setup.name = fmt::format("flow-{}", i + 1);
    flow_names.push_back(setup.name);
    run.setup = &setup;
    run.reliable = setup.reliable;
    for (const auto &[name, number] : {std::pair{&setup.src, &run.src}, {&setup.dst, &run.dst}}) {
      const auto host = hosts.find(*name);
      if (host == hosts.end())
        return Error{fmt::format("flow {}: there is no host {}", setup.name, *name),
                     like({network_.nodes.begin(), network_.nodes.begin() + network_.hosts})};
      *number = host->second;
    }
    run.qp = kFirstQp + static_cast<uint32_t>(qps);
    qps += setup.flow.qps;
    if (qps + kFirstQp > kQpns)
      return Error{"the flows have more QPs than there are numbers", "at most 16 million"};
    XR_TRY(build_flow(i).in(fmt::format("flow {}", setup.name)));
    unfinished_ += setup.flow.messages > 0;
    flow_of_qp_.resize(qps, i);
  }
  join_jobs();
  crowded_ = flows_.size() > kCrowd;
  if (scenario_.reorder)
    first_psns_.assign(qps, kNone);
  return {};
}

Status World::build_flow(uint32_t number) {
  FlowRun &run = flows_[number];
  const FlowSetup &setup = *run.setup;
  if (run.src == run.dst)
    return Error{"it goes from a host to itself", "two different hosts"};
  flow::Flow flow = setup.flow;
  if (flow.stamp)
    return Error{"stamp: simulated frames have no payload", "without stamp"};
  flow = flow_for(number);
  if (Status s = flow::fit_frame_size(flow); !s)
    return s;
  if (Status s = flow::check_flow(flow, kMtu); !s)
    return s;
  if (setup.reliable)
    if (Status s = flow::check_reliable(flow); !s)
      return s;
  run.reads = setup.reliable && has_answers(flow);
  if (run.reads && scenario_.reorder)
    return Error{"reorder: accept: READs and atomics need their answers in order",
                 "use write or send, or leave reorder out"};
  wire::Frame frame;
  frame.dscp = flow.path.tos >> 2;
  if (!flow.path.tags.empty())
    frame.pcp = static_cast<uint8_t>(flow.path.tags.front().tci >> 13);
  run.priority = static_cast<uint8_t>(ports_[hosts_[run.src].wire]->link.class_of(frame));
  run.stop_ns = setup.stop_ns.value_or(kNever);
  if (setup.started)
    run.start_ns = setup.start_ns;
  return {};
}

Result<uint32_t> World::flow_named(const std::string &name) const {
  const auto row = std::find(flow_names.begin(), flow_names.end(), name);
  if (row == flow_names.end())
    return Error{fmt::format("there is no flow {}", name), like(flow_names)};
  return static_cast<uint32_t>(row - flow_names.begin());
}

void World::at(uint64_t time, Action::Kind kind, uint32_t number) {
  actions_.push({time, kind, number, action_sequence_++});
}

Status World::build_schedule() {
  event_targets_.resize(scenario_.schedule.size());
  for (uint32_t i = 0; i < scenario_.schedule.size(); i++)
    if (Status s = build_event(i); !s)
      return Error{fmt::format("schedule: {}", s.error().message), s.error().hint};
  for (uint32_t i = 0; i < flows_.size(); i++) {
    if (flows_[i].start_ns == kNever)
      continue;
    at(flows_[i].start_ns, Action::Kind::Start, i);
    if (flows_[i].stop_ns != kNever)
      at(std::max(flows_[i].stop_ns, flows_[i].start_ns), Action::Kind::Stop, i);
  }
  return {};
}

Status World::build_event(uint32_t number) {
  const Event &event = scenario_.schedule[number];
  const bool of_flow = event.kind == Event::Kind::Start || event.kind == Event::Kind::Stop;
  const Result<uint32_t> target = of_flow ? flow_named(event.target) : wire_named(event.target);
  if (!target)
    return target.error();
  event_targets_[number] = target.get();
  if (!of_flow) {
    if (event.kind == Event::Kind::Link)
      if (Status s = check_spec(event.target, target.get(), event.link); !s)
        return s;
    const bool lasts = event.kind == Event::Kind::Flap || event.kind == Event::Kind::Pause;
    if (lasts && !event.duration_ns)
      return Error{fmt::format("the event of {} has no duration", event.target), "1ms"};
    at(event.at_ns, event.kind == Event::Kind::Pause ? Action::Kind::Pause : Action::Kind::Change,
       number);
    return {};
  }
  FlowRun &run = flows_[target.get()];
  uint64_t &time = event.kind == Event::Kind::Start ? run.start_ns : run.stop_ns;
  if (time != kNever)
    return Error{fmt::format("flow {} {} twice", event.target,
                             event.kind == Event::Kind::Start ? "starts" : "stops"),
                 "a flow starts and stops once; two flows can follow each other"};
  time = event.at_ns;
  return {};
}

} // namespace xr::simulate
