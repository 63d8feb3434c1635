// SPDX-License-Identifier: Apache-2.0
#include "simulate/graph.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "simulate/topology.h"

namespace xr::simulate {

namespace {

constexpr size_t kMostRoutes = 1 << 25; // of all switches

// Names of queues, links and lists of hosts are made of these names.
Status check_name(const std::string &name) {
  const auto fits = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  };
  if (!name.empty() && name != "all" && std::ranges::all_of(name, fits))
    return {};
  return Error{fmt::format("'{}' is not a name of a switch or host", name),
               "use letters, digits, - _ and ., like leaf-1"};
}

Status check_nodes(const Graph &graph) {
  std::set<std::string> seen;
  for (const auto *list : {&graph.switches, &graph.hosts})
    for (const std::string &name : *list) {
      XR_TRY(check_name(name));
      if (!seen.insert(name).second)
        return Error{fmt::format("{} is named twice", name), "name each switch and host once"};
    }
  return {};
}

Status check_links(const Graph &graph, uint64_t rate) {
  std::map<std::string, unsigned> ports;
  for (const Graph::Link &link : graph.links) {
    for (const std::string &name : {link.a, link.b}) {
      XR_TRY(check_name(name));
      if (++ports[name] > kMostPorts)
        return Error{fmt::format("{} has more than {} links", name, kMostPorts),
                     "use more switches"};
    }
    if (link.a == link.b)
      return Error{fmt::format("a link joins {} to itself", link.a),
                   "give two different names, like [a, b]"};
    if (!link.rate && !rate)
      return Error{fmt::format("the link {}-{} has no rate", link.a, link.b),
                   "give rate: 100gbit for all links, or [a, b, 100gbit]"};
  }
  for (const auto *list : {&graph.switches, &graph.hosts})
    for (const std::string &name : *list)
      if (!ports.contains(name))
        return Error{fmt::format("{} has no link", name), "add a link, or remove the name"};
  const size_t switches = graph.switches.size();
  if (ports.size() * switches > kMostRoutes)
    return Error{"the graph is too large", fmt::format("use at most {} nodes with {} switches",
                                                       kMostRoutes / switches, switches)};
  if (ports.size() < switches + 2)
    return Error{"the graph has fewer than two hosts",
                 "a host is a name in links that is not in switches"};
  return {};
}

} // namespace

std::vector<std::string> hosts_of(const Graph &graph) {
  std::vector<std::string> hosts = graph.hosts;
  std::set<std::string> seen(graph.switches.begin(), graph.switches.end());
  seen.insert(hosts.begin(), hosts.end());
  for (const Graph::Link &link : graph.links)
    for (const std::string &name : {link.a, link.b})
      if (seen.insert(name).second)
        hosts.push_back(name);
  return hosts;
}

Status check_graph(const Graph &graph, uint64_t rate) {
  XR_TRY(check_nodes(graph));
  return check_links(graph, rate);
}

uint64_t core_rate(const Topology &t) {
  if (t.core_rate || !t.oversubscription)
    return t.core_rate ? t.core_rate : t.rate;
  if (t.kind == Topology::Kind::FatTree)
    return t.rate / t.oversubscription;
  return t.rate * t.hosts / t.spines / t.oversubscription;
}

Graph fat_tree(const Topology &t) {
  const unsigned half = t.k / 2;
  const uint64_t rate = core_rate(t);
  Graph graph;
  const auto name = [](const char *kind, unsigned pod, unsigned number) {
    return fmt::format("{}-{}-{}", kind, pod, number);
  };
  for (const char *kind : {"edge", "agg"})
    for (unsigned pod = 1; pod <= t.k; pod++)
      for (unsigned i = 1; i <= half; i++)
        graph.switches.push_back(name(kind, pod, i));
  for (unsigned i = 1; i <= half * half; i++)
    graph.switches.push_back(fmt::format("core-{}", i));
  for (unsigned pod = 1, host = 1; pod <= t.k; pod++)
    for (unsigned edge = 1; edge <= half; edge++)
      for (unsigned i = 0; i < half; i++)
        graph.links.push_back(
            {fmt::format("host-{}", host++), name("edge", pod, edge), t.rate, t.delay});
  for (unsigned pod = 1; pod <= t.k; pod++)
    for (unsigned edge = 1; edge <= half; edge++)
      for (unsigned agg = 1; agg <= half; agg++)
        graph.links.push_back({name("edge", pod, edge), name("agg", pod, agg), rate, t.core_delay});
  for (unsigned pod = 1; pod <= t.k; pod++)
    for (unsigned agg = 0; agg < half; agg++)
      for (unsigned i = 1; i <= half; i++)
        graph.links.push_back({name("agg", pod, agg + 1), fmt::format("core-{}", agg * half + i),
                               rate, t.core_delay});
  return graph;
}

} // namespace xr::simulate
