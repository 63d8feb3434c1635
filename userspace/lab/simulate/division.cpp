// SPDX-License-Identifier: Apache-2.0
// The parts of a network: a switch with its hosts is one. The division follows from the scenario
// alone, so that the result is the same for every number of threads.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/processors.h"
#include "simulate/world.h"

namespace xr::simulate {

namespace {

// Windows that are shorter cost more than the threads gain. ns
constexpr uint64_t kLeastLookahead = 100;

// Sets of nodes.
class Sets {
public:
  explicit Sets(size_t nodes) : parents_(nodes) { std::iota(parents_.begin(), parents_.end(), 0U); }
  uint32_t of(uint32_t node) {
    while (parents_[node] != node)
      node = parents_[node] = parents_[parents_[node]];
    return node;
  }
  void join(uint32_t a, uint32_t b) { parents_[of(a)] = of(b); }

private:
  std::vector<uint32_t> parents_;
};

} // namespace

// "": it may; otherwise what several threads cannot share.
std::string World::why_whole() const {
  if (network_.hosts < scenario_.divide_from)
    return fmt::format("it has fewer than {} hosts", scenario_.divide_from);
  if (scenario_.fluid)
    return "a fluid has no packets";
  if (passes())
    return "rules and captures see the packets of all links in one order";
  if (!jobs_.empty())
    return "what a job's ranks wait for is known at once";
  return "";
}

// The least delay that each wire ever has.
std::vector<uint64_t> World::least_delays() const {
  std::vector<uint64_t> delays;
  for (uint32_t i = 0; i < network_.wires.size(); i++)
    delays.push_back(network_.wires[i].delay);
  for (const auto &[name, spec] : scenario_.queues)
    if (spec.delay)
      delays[wire_named(name).get()] = spec.delay;
  for (const Event &event : scenario_.schedule)
    if (const auto wire = wire_named(event.target); event.kind == Event::Kind::Link && wire) {
      uint64_t &least = delays[wire.get()];
      const uint64_t given = event.link.delay; // 0: the topology's
      least = std::min(least, given ? given : network_.wires[wire.get()].delay);
    }
  if (scenario_.queue.delay)
    for (uint32_t i = 0; i < network_.wires.size(); i++)
      if (network_.wires[i].from >= network_.hosts)
        delays[i] = std::min(delays[i], scenario_.queue.delay);
  return delays;
}

void World::divide() {
  const std::vector<Wire> &wires = network_.wires;
  const auto nodes = static_cast<uint32_t>(network_.nodes.size());
  const std::vector<uint64_t> delays = least_delays();
  Sets sets(nodes);
  const bool whole = !(why_whole_ = why_whole()).empty();
  std::vector<bool> joined(network_.hosts);
  for (uint32_t i = 0; i < wires.size(); i++) {
    const uint32_t from = wires[i].from;
    const bool first = from < network_.hosts && !joined[from];
    if (first)
      joined[from] = true;
    if (whole || first || delays[i] < kLeastLookahead)
      sets.join(from, wires[i].to);
  }
  for (uint32_t node = 1; whole && node < nodes; node++)
    sets.join(node, 0);
  std::vector<uint32_t> part_of(nodes, kNone);
  std::vector<Part::Members> members;
  for (uint32_t node = 0; node < nodes; node++) {
    uint32_t &part = part_of[sets.of(node)];
    if (part == kNone) {
      part = static_cast<uint32_t>(members.size());
      members.emplace_back();
    }
    if (node < network_.hosts)
      members[part].hosts.push_back(node);
  }
  lookahead_ = kNever;
  for (uint32_t i = 0; i < wires.size(); i++) {
    const uint32_t from = part_of[sets.of(wires[i].from)], to = part_of[sets.of(wires[i].to)];
    members[from].wires.push_back(i);
    if (from == to)
      continue;
    members[to].crossings.push_back(static_cast<uint32_t>(crossings_.size()));
    crossings_.emplace_back().wire = i;
    lookahead_ = std::min(lookahead_, delays[i]);
  }
  members.front().points = scenario_.rules.all.size();
  for (uint32_t i = 0; i < members.size(); i++)
    parts_.push_back(std::make_unique<Part>(*this, i, std::move(members[i])));
  if (!whole && !divided())
    why_whole_ = "all its nodes are at one switch";
  if (divided())
    crew_.enlist(std::min<unsigned>(scenario_.threads ? scenario_.threads : processor_count(),
                                    static_cast<unsigned>(parts_.size())));
}

Part::Part(World &world, uint32_t number, Members members)
    : world_(world), scenario_(world.scenario_), network_(world.network_), ports_(world.ports_),
      switches_(world.switches_), hosts_(world.hosts_), flows_(world.flows_),
      points_(world.points_), number_(number), into_(std::move(members.crossings)),
      queue_(members.wires.size() + members.hosts.size() + into_.size() + members.points),
      pool_(world.frames_) {
  for (const uint32_t wire : members.wires)
    entities_.push_back({EntityKind::Wire, wire});
  for (const uint32_t host : members.hosts)
    entities_.push_back({EntityKind::Host, host});
  for (uint32_t point = 0; point < members.points; point++)
    entities_.push_back({EntityKind::Point, point});
  for (const uint32_t crossing : into_)
    entities_.push_back({EntityKind::Crossing, crossing});
}

// Once the ports and hosts are there.
void Part::join() {
  for (uint32_t i = 0; i < entities_.size(); i++) {
    const uint32_t number = entities_[i].number;
    switch (entities_[i].kind) {
    case EntityKind::Wire:
      ports_[number]->part = number_;
      ports_[number]->entity = i;
      break;
    case EntityKind::Host:
      hosts_[number].part = number_;
      hosts_[number].entity = i;
      break;
    case EntityKind::Crossing:
      world_.crossings_[number].entity = i;
      ports_[world_.crossings_[number].wire]->crossing = number;
      break;
    case EntityKind::Point:
      break;
    }
  }
}

} // namespace xr::simulate
