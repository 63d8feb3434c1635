// SPDX-License-Identifier: Apache-2.0
// The choice between equally short paths, and links that fail and come back.
#include <algorithm>
#include <cmath>

#include "base/draw.h"
#include "simulate/world.h"

namespace xr::simulate {

namespace {

constexpr uint64_t kForever = kNever / 4; // a flap that does not end

// What the hash has beside addresses and ports.
uint32_t more_of(Routing::Fields fields, const PathKey &key, uint32_t qp) {
  if (fields == Routing::Fields::Qpn)
    return qp;
  return key.ip ? roce_be32(key.ip) & 0xfffff : 0;
}

} // namespace

uint32_t World::choose_by_hash(const Router &at, uint32_t route, const PathKey &key,
                               uint32_t qp) const {
  if (route == kNone)
    return kNone;
  uint64_t hash = path_hash(key, at.salt);
  if (const Routing::Fields fields = scenario_.routing.fields; fields != Routing::Fields::FiveTuple)
    hash = mix(hash ^ more_of(fields, key, qp));
  const std::vector<uint32_t> &group = at.groups[route & ~Router::kGroup];
  return group[hash % group.size()];
}

uint32_t Part::choose(Router &at, uint32_t route, const HeldFrame &held) {
  if (route == kNone)
    return kNone;
  const uint32_t number = route & ~Router::kGroup;
  const std::vector<uint32_t> &group = at.groups[number];
  switch (scenario_.routing.kind) {
  case Routing::Kind::Ecmp:
    break;
  case Routing::Kind::SprayRandom:
    return group[draw_below(at.salt, at.choices++, group.size())];
  case Routing::Kind::SprayRoundRobin:
    return group[at.turn[number]++ % group.size()];
  case Routing::Kind::Flowlet:
    return flowlet_wire(at, route, path_hash(path_key(held), at.salt));
  }
  const bool by_qp = scenario_.routing.fields == Routing::Fields::Qpn;
  return world_.choose_by_hash(at, route, path_key(held), by_qp ? qp_of(held) : 0);
}

// The DestQP of the frame, 0 if it has none.
uint32_t Part::qp_of(const HeldFrame &held) {
  if (held.shape) [[likely]]
    return held.fields.dest_qp;
  roce_packet packet;
  return roce_is_roce(parse_held(held, false, packet)) ? roce_key_qp(&packet.key) : 0;
}

uint32_t Part::flowlet_wire(Router &at, uint32_t route, uint64_t flow) {
  const std::vector<uint32_t> &group = at.groups[route & ~Router::kGroup];
  Router::Flowlet &flowlet = at.flowlets[mix(flow ^ route)];
  if (flowlet.wire == kNone || now_ - flowlet.last > scenario_.routing.gap_ns)
    flowlet.wire = group[draw_below(at.salt, at.choices++, group.size())];
  flowlet.last = now_;
  return flowlet.wire;
}

// Flows by the links that they pass, and how they are spread over equally short paths.
void World::measure_paths(ExperimentMeasurement &measured) const {
  constexpr size_t kMost = 100'000; // flows, whose paths are looked for one by one
  if (scenario_.routing.kind != Routing::Kind::Ecmp || flows_.size() > kMost)
    return;
  std::vector<uint64_t> flows(ports_.size());
  for (uint32_t i = 0; i < flows_.size(); i++)
    if (flows_[i].start_ns <= now_)
      for (const uint32_t wire : path_of(flows_[i], flow_for(i)))
        flows[wire]++;
  for (size_t row = 0; row < measured.queues.size(); row++)
    measured.queues[row].flows = flows[queue_wires_[row]];
  double sum = 0;
  uint64_t links = 0, collisions = 0;
  const auto add = [&](const Router &router) {
    for (const std::vector<uint32_t> &group : router.groups) {
      uint64_t all = 0;
      for (const uint32_t wire : group)
        all += flows[wire];
      if (!all)
        continue;
      const double mean = static_cast<double>(all) / static_cast<double>(group.size());
      const uint64_t even = (all + group.size() - 1) / group.size();
      for (const uint32_t wire : group) {
        sum += std::abs(static_cast<double>(flows[wire]) - mean) / mean;
        collisions += flows[wire] - std::min(flows[wire], even);
      }
      links += group.size();
    }
  };
  for (const Switch &item : switches_)
    add(item);
  for (const Host &host : hosts_)
    if (host.router)
      add(*host.router);
  if (!links)
    return;
  measured.flow_imbalance = sum / static_cast<double>(links);
  measured.flow_collisions = collisions;
}

// Both directions. Paths follow after the time that the routing needs.
void World::set_link(uint32_t wire, bool down) {
  down_.resize(ports_.size());
  if (down_[wire] == down)
    return;
  for (const uint32_t each : {wire, wire ^ 1}) {
    wire::Link &link = ports_[each]->link;
    down_[each] = down;
    LinkSpec spec = link.spec();
    spec.flap = {};
    if (down) {
      cut(each);
      spec.flap = {.down = kForever, .period = kForever, .count = 1};
    }
    link.change(now_, spec, nullptr);
    schedule_wire(each);
    if (ports_[each]->from < network_.hosts)
      schedule_host(ports_[each]->from);
  }
  at(now_ + scenario_.routing.reroute_ns, Action::Kind::Reroute, 0);
}

// What the link carries is lost when it would arrive.
void World::cut(uint32_t wire) {
  Port &port = *ports_[wire];
  port.link.update(now_);
  port.cut_until = std::max(port.link.free_at(), now_) + port.link.spec().delay;
  port.pauses.clear();
  if (port.crossing == kNone)
    return;
  Crossing &crossing = crossings_[port.crossing];
  crossing.pauses.clear();
  for (Crossing::Box &box : crossing.boxes)
    box.pauses.clear();
}

void World::reroute() {
  simulate::route(network_, down_);
  build_routes();
}

} // namespace xr::simulate
