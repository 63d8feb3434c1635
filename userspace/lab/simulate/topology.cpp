// SPDX-License-Identifier: Apache-2.0
#include "simulate/topology.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "simulate/graph.h"

namespace xr::simulate {

namespace {

using TopologyKind = Topology::Kind;

constexpr unsigned kMostHosts = 100'000;

// Hosts, then switches, and what joins them; wires come in pairs.
class Builder {
public:
  explicit Builder(const Topology &topology) : topology_(topology) {}

  Network build() {
    switch (topology_.kind) {
    case TopologyKind::Star:
      star();
      break;
    case TopologyKind::Dumbbell:
      dumbbell();
      break;
    case TopologyKind::ParkingLot:
      parking_lot();
      break;
    case TopologyKind::LeafSpine:
      leaf_spine();
      break;
    case TopologyKind::FatTree:
      graph(fat_tree(topology_));
      break;
    case TopologyKind::Graph:
      graph(topology_.graph);
      break;
    }
    return std::move(network_);
  }

private:
  uint32_t node(std::string name) {
    network_.nodes.push_back(std::move(name));
    return static_cast<uint32_t>(network_.nodes.size() - 1);
  }
  void hosts_end() { network_.hosts = static_cast<uint32_t>(network_.nodes.size()); }
  void join(uint32_t a, uint32_t b, uint64_t rate, uint64_t delay) {
    network_.wires.push_back({a, b, rate, delay});
    network_.wires.push_back({b, a, rate, delay});
  }
  void attach(uint32_t host, uint32_t to) { join(host, to, topology_.rate, topology_.delay); }
  void core(uint32_t a, uint32_t b) { join(a, b, core_rate(topology_), topology_.core_delay); }
  void numbered(const char *name, unsigned from, unsigned to) {
    for (unsigned i = from; i <= to; i++)
      node(fmt::format("{}-{}", name, i));
  }

  void star() {
    if (topology_.star_hosts) {
      numbered("host", 1, topology_.star_hosts);
    } else {
      numbered("sender", 1, topology_.senders);
      node("receiver");
    }
    hosts_end();
    const uint32_t hub = node("switch");
    for (uint32_t i = 0; i < network_.hosts; i++)
      attach(i, hub);
  }
  void dumbbell() {
    const unsigned n = topology_.senders;
    numbered("sender", 1, n);
    numbered("receiver", 1, n);
    hosts_end();
    const uint32_t left = node("left"), right = node("right");
    core(left, right);
    for (uint32_t i = 0; i < n; i++)
      attach(i, left);
    for (uint32_t i = 0; i < n; i++)
      attach(n + i, right);
  }
  void parking_lot() {
    const unsigned hops = topology_.hops;
    numbered("sender", 0, hops);
    numbered("receiver", 0, hops);
    hosts_end();
    const auto first = static_cast<uint32_t>(network_.nodes.size());
    numbered("switch", 1, hops + 1);
    for (unsigned i = 0; i < hops; i++)
      core(first + i, first + i + 1);
    attach(0, first);
    attach(hops + 1, first + hops);
    for (unsigned i = 1; i <= hops; i++) {
      attach(i, first + i - 1);
      attach(hops + 1 + i, first + i);
    }
  }
  void leaf_spine() {
    const Topology &t = topology_;
    numbered("host", 1, t.leaves * t.hosts);
    hosts_end();
    const uint32_t leaf = network_.hosts, spine = leaf + t.leaves;
    numbered("leaf", 1, t.leaves);
    numbered("spine", 1, t.spines);
    for (uint32_t i = 0; i < network_.hosts; i++)
      attach(i, leaf + i / t.hosts);
    for (uint32_t i = 0; i < t.leaves; i++)
      for (uint32_t j = 0; j < t.spines; j++)
        core(leaf + i, spine + j);
  }
  void graph(const Graph &graph) {
    std::map<std::string, uint32_t> numbers;
    for (const std::string &name : hosts_of(graph))
      numbers[name] = node(name);
    hosts_end();
    for (const std::string &name : graph.switches)
      numbers[name] = node(name);
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> links;
    for (const Graph::Link &link : graph.links) {
      const uint32_t a = numbers[link.a], b = numbers[link.b];
      join(a, b, link.rate ? link.rate : topology_.rate, link.delay);
      const uint32_t number = ++links[std::minmax(a, b)];
      for (size_t i = network_.wires.size() - 2; i < network_.wires.size(); i++)
        network_.wires[i].number = number;
    }
  }

  const Topology &topology_;
  Network network_;
};

Error too_many_ports(const char *what, unsigned most) {
  return {fmt::format("{} is too large for a switch of {} ports", what, kMostPorts),
          fmt::format("at most {}", most)};
}

Status check_fat_tree(const Topology &t) {
  if (t.k < 2 || t.k % 2 || t.k > kMostFatTree)
    return Error{fmt::format("a fat-tree of k: {} is not possible", t.k),
                 fmt::format("k is even, at most {}", kMostFatTree)};
  return {};
}

// Hosts forward nothing, so two of them can be apart although a third has links to both. A switch
// may reach some of them only, as one within a server does.
Status check_connected(const Topology &topology) {
  const Network network = build_network(topology);
  std::vector<uint32_t> leaving(network.nodes.size());
  for (uint32_t i = 0; i < network.wires.size(); i++)
    leaving[network.wires[i].from] = i;
  const auto reaches = [&network](uint32_t node, uint32_t host) {
    return node == host ||
           (!network.next_hops[node].of_host.empty() && !network.next_hops[node].to(host).empty());
  };
  for (uint32_t node = 0; node < network.hosts; node++)
    for (uint32_t host = 0; host < network.hosts; host++)
      if (!reaches(node, host) && !(network.next_hops[node].of_host.empty() &&
                                    reaches(network.wires[leaving[node]].to, host)))
        return Error{fmt::format("the graph is not connected: there is no path from {} to {}",
                                 network.nodes[node], network.nodes[host]),
                     "add a link; hosts do not forward frames"};
  return {};
}

} // namespace

// Breadth-first from each host; hosts forward nothing. Of the hosts whose only link is to the same
// switch, from the first: all other nodes reach them by the same wires.
void route(Network &network, const std::vector<bool> &down) {
  const size_t nodes = network.nodes.size();
  std::vector<std::vector<uint32_t>> leaving(nodes);
  std::vector<uint32_t> links(nodes);
  for (uint32_t i = 0; i < network.wires.size(); i++) {
    links[network.wires[i].from]++;
    if (down.empty() || !down[i])
      leaving[network.wires[i].from].push_back(i);
  }
  network.next_hops.assign(nodes, {});
  std::vector<std::map<std::vector<uint32_t>, uint32_t>> known(nodes); // sets
  std::vector<uint32_t> forwarding;
  for (uint32_t node = 0; node < nodes; node++)
    if (node >= network.hosts || links[node] > 1) {
      network.next_hops[node] = {std::vector<uint32_t>(network.hosts), {{}}};
      known[node][{}] = 0;
      forwarding.push_back(node);
    }
  const auto set = [&](uint32_t node, uint32_t host, std::vector<uint32_t> wires) {
    Network::NextHops &hops = network.next_hops[node];
    const auto [entry, added] =
        known[node].try_emplace(wires, static_cast<uint32_t>(hops.sets.size()));
    if (added)
      hops.sets.push_back(std::move(wires));
    hops.of_host[host] = entry->second;
  };
  std::vector<uint32_t> distance(nodes), queue, wires;
  std::vector<uint32_t> first(nodes, UINT32_MAX); // by switch: the first host that has only it
  std::vector<uint32_t> like(network.hosts);      // by host: one that is reached as it is
  for (uint32_t host = 0; host < network.hosts; host++) {
    like[host] = host;
    const uint32_t only =
        links[host] == 1 && !leaving[host].empty() ? leaving[host].front() : UINT32_MAX;
    if (only != UINT32_MAX && (down.empty() || !down[only ^ 1])) {
      const uint32_t at = network.wires[only].to;
      like[host] = first[at] == UINT32_MAX ? host : first[at];
      first[at] = like[host];
      if (like[host] != host)
        continue;
    }
    std::fill(distance.begin(), distance.end(), UINT32_MAX);
    distance[host] = 0;
    queue = {host};
    for (size_t at = 0; at < queue.size(); at++)
      for (const uint32_t wire : leaving[queue[at]]) {
        const uint32_t to = network.wires[wire].to;
        if (to < network.hosts || distance[to] != UINT32_MAX)
          continue;
        distance[to] = distance[queue[at]] + 1;
        queue.push_back(to);
      }
    for (const uint32_t node : forwarding) {
      if (node == host)
        continue;
      uint32_t nearest = UINT32_MAX;
      for (const uint32_t wire : leaving[node])
        nearest = std::min(nearest, distance[network.wires[wire].to]);
      wires.clear();
      for (const uint32_t wire : leaving[node])
        if (nearest != UINT32_MAX && distance[network.wires[wire].to] == nearest)
          wires.push_back(wire);
      set(node, host, wires);
    }
  }
  for (const uint32_t node : forwarding)
    for (uint32_t host = 0; host < network.hosts; host++)
      network.next_hops[node].of_host[host] = network.next_hops[node].of_host[like[host]];
  for (uint32_t host = 0; host < network.hosts; host++)
    if (like[host] != host)
      set(network.wires[leaving[host].front()].to, host, {leaving[host].front() ^ 1});
}

std::string_view kind_name(TopologyKind kind) {
  constexpr std::string_view kNames[] = {"star",       "dumbbell", "parking-lot",
                                         "leaf-spine", "fat-tree", "graph"};
  return kNames[static_cast<size_t>(kind)];
}

Status check_topology(const Topology &t) {
  if (t.kind == TopologyKind::Graph) {
    XR_TRY(check_graph(t.graph, t.rate));
    return check_connected(t);
  }
  if (!t.rate)
    return Error{"the topology's links have no rate", "rate: 40gbit"};
  const auto needs_one = [](const char *what) {
    return Error{fmt::format("the topology's {} are 0", what), fmt::format("{}: 2", what)};
  };
  if ((t.kind == TopologyKind::Star || t.kind == TopologyKind::Dumbbell) && !t.senders)
    return needs_one("senders");
  if (t.kind == TopologyKind::Star && t.star_hosts > kMostPorts)
    return too_many_ports("hosts", kMostPorts);
  if (t.kind == TopologyKind::Star && t.senders >= kMostPorts)
    return too_many_ports("senders", kMostPorts - 1);
  if (t.kind == TopologyKind::Dumbbell && t.senders >= kMostPorts)
    return too_many_ports("senders", kMostPorts - 1);
  if (t.kind == TopologyKind::ParkingLot && !t.hops)
    return needs_one("hops");
  if (t.kind == TopologyKind::ParkingLot && t.hops > kMostHosts / 2)
    return Error{"hops is too large", fmt::format("at most {}", kMostHosts / 2)};
  if (t.oversubscription && t.core_rate)
    return Error{"core-rate and oversubscription are both given", "give one of them"};
  if (t.kind == TopologyKind::FatTree)
    return check_fat_tree(t);
  if (t.kind != TopologyKind::LeafSpine)
    return {};
  for (const auto &[what, number] :
       {std::pair{"leaves", t.leaves}, {"spines", t.spines}, {"hosts", t.hosts}}) {
    if (!number)
      return needs_one(what);
    if (number >= kMostPorts)
      return too_many_ports(what, kMostPorts - 1);
  }
  if (t.spines + t.hosts > kMostPorts)
    return too_many_ports("spines + hosts", kMostPorts);
  return {};
}

std::vector<std::string> host_names(const Topology &topology) {
  Network network = build_network(topology);
  network.nodes.resize(network.hosts);
  return std::move(network.nodes);
}

std::vector<std::string> sender_names(const Topology &topology) {
  std::vector<std::string> names = host_names(topology);
  if (topology.kind == TopologyKind::Graph)
    return names;
  std::erase_if(names, [](const std::string &name) { return name.starts_with("receiver"); });
  return names;
}

std::vector<std::string> queue_names(const Topology &topology) {
  const Network network = build_network(topology);
  std::vector<std::string> names;
  for (const bool switches : {true, false})
    for (uint32_t i = 0; i < network.wires.size(); i++)
      if ((network.wires[i].from >= network.hosts) == switches)
        names.push_back(network.queue_name(i));
  return names;
}

std::optional<std::string> bottleneck(const Topology &topology) {
  if (topology.kind == TopologyKind::Star && !topology.star_hosts)
    return "switch:receiver";
  if (topology.kind == TopologyKind::Dumbbell)
    return "left:right";
  return {};
}

Network build_network(const Topology &topology) {
  Network network = Builder(topology).build();
  route(network, {});
  return network;
}

} // namespace xr::simulate
