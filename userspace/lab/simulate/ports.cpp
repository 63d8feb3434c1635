// SPDX-License-Identifier: Apache-2.0
// The links of a host: most have one. Of several, each packet takes the one that the routing
// chooses; a flow whose last packet took a busy link waits for that link.
#include <algorithm>

#include "simulate/world.h"

namespace xr::simulate {

bool Part::all_have_room(const Host &host) const {
  return std::ranges::all_of(host.router->ports, [this](uint32_t wire) { return has_room(wire); });
}

uint64_t Part::first_free_at(const Host &host) const {
  uint64_t at = kNever;
  for (const uint32_t wire : host.router->ports)
    at = std::min(at, ports_[wire]->link.free_at());
  return at;
}

// When a busy link is free, or a pause ends.
uint64_t Part::next_change(const Host &host) const {
  uint64_t at = kNever;
  for (const uint32_t wire : host.router->ports) {
    const wire::Link &link = ports_[wire]->link;
    if (link.free_at() > now_)
      at = std::min(at, link.free_at());
    const uint32_t paused = link.paused_at(now_);
    for (unsigned priority = 0; priority < kLinkClasses; priority++)
      if (paused >> priority & 1)
        at = std::min(at, link.paused_until(priority));
  }
  return at;
}

uint32_t Part::all_paused_at(const Host &host) const {
  uint32_t paused = UINT32_MAX;
  for (const uint32_t wire : host.router->ports)
    paused &= ports_[wire]->link.paused_at(now_);
  return paused;
}

uint64_t Part::first_resumed_at(const Host &host, unsigned priority) const {
  uint64_t until = kNever;
  for (const uint32_t wire : host.router->ports)
    until = std::min(until, ports_[wire]->link.paused_until(priority));
  return until;
}

bool Part::can_send(const FlowRun &run) const {
  const bool by_packet = scenario_.routing.kind == Routing::Kind::SprayRandom ||
                         scenario_.routing.kind == Routing::Kind::SprayRoundRobin;
  if (run.wire == kNone || by_packet)
    return true;
  const wire::Link &link = ports_[run.wire]->link;
  return link.free_at() <= now_ && !(link.paused_at(now_) >> run.priority & 1);
}

// The link of the flow's first packet.
uint32_t World::first_wire(const FlowRun &run, const flow::Flow &flow) const {
  const Host &host = hosts_[run.src];
  return host.router ? path_of(run, flow).front() : host.wire;
}

// The rate of all its links together; 0: a port follows a trace.
uint64_t World::most_rate(const Host &host) const {
  if (!host.router)
    return ports_[host.wire ^ 1]->most_rate;
  uint64_t sum = 0;
  for (const uint32_t wire : host.router->ports) {
    const uint64_t rate = ports_[wire ^ 1]->most_rate;
    if (!rate)
      return 0;
    sum += rate;
  }
  return sum;
}

} // namespace xr::simulate
