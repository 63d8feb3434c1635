// SPDX-License-Identifier: Apache-2.0
#include "importers/hpcc_network.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "importers/hpcc_tokens.h"
#include "parse/value.h"

namespace xr::importers {

namespace {

constexpr uint64_t kMostHpccNodes = 20'000, kMostLinks = 200'000, kMostFlows = 1'000'000;
constexpr uint64_t kLeastRate = 1'000'000, kMostRate = 10'000'000'000'000; // bit/s
constexpr uint64_t kMostDelay = 1'000'000'000;                             // ns
constexpr uint64_t kMostHpccFlowBytes = 1'000'000'000'000'000;
constexpr size_t kWordsWithoutPort = 5; // of a flow, in conweave-ns3
constexpr uint64_t kAckBytes = 48;      // bytes of a packet that are not payload

class HpccTopologyReader {
public:
  HpccTopologyReader(std::string_view text, const std::string &name) : tokens_(text, name) {}

  Result<HpccNetwork> read() {
    if (tokens_.done())
      return tokens_.wrong("the topology is empty", "NODES SWITCHES LINKS in the first line");
    const size_t words = tokens_.words_of_this_line();
    if (words != 3 && words != 4 && words != 6)
      return tokens_.wrong(
          fmt::format("the first line has {} words", words),
          "NODES SWITCHES LINKS; SimAI: NODES GPUS NVSWITCHES SWITCHES LINKS TYPE; inet-tub: NODES "
          "SWITCHES TORS LINKS");
    net_.simai = words == 6 && !tokens_.is_number(words - 1);
    net_.inet_tub = words != 3 && !net_.simai;
    const auto nodes = XR_TRY(tokens_.whole("nodes", 2, kMostHpccNodes));
    if (net_.simai) {
      XR_TRY(tokens_.whole("GPUs of a server", 0, kMostHpccNodes));
      net_.nvswitches = static_cast<uint32_t>(XR_TRY(tokens_.whole("NVSwitches", 0, nodes)));
    }
    const auto switches =
        XR_TRY(tokens_.whole("switches", 0, nodes - net_.nvswitches)) + net_.nvswitches;
    if (net_.inet_tub)
      XR_TRY(tokens_.whole("switches of hosts", 0, nodes));
    const auto links = XR_TRY(tokens_.whole("links", 1, kMostLinks));
    for (size_t more = net_.simai ? 1 : net_.inet_tub ? words - 4 : 0; more; more--)
      XR_TRY(tokens_.take("the type of GPUs")); // or the capacities of a leaf and of a spine
    net_.is_switch.resize(nodes);
    net_.is_nvswitch.resize(nodes);
    for (uint64_t i = 0; i < switches; i++) {
      const auto number = XR_TRY(tokens_.whole("a switch", 0, nodes - 1));
      net_.is_switch[number] = true;
      net_.is_nvswitch[number] = i < net_.nvswitches;
    }
    for (uint64_t i = 0; i < links; i++)
      XR_TRY(link());
    net_.ignored = tokens_.left();
    return std::move(net_);
  }

private:
  Status link() {
    HpccNetwork::Link link;
    const uint64_t last = net_.is_switch.size() - 1;
    link.a = static_cast<uint32_t>(XR_TRY(tokens_.whole("a node of a link", 0, last)));
    link.b = static_cast<uint32_t>(XR_TRY(tokens_.whole("a node of a link", 0, last)));
    if (link.a == link.b)
      return tokens_.wrong(fmt::format("a link joins node {} to itself", link.a), "two nodes");
    link.rate = XR_TRY(tokens_.rate("a link's rate"));
    if (link.rate < kLeastRate || link.rate > kMostRate)
      return tokens_.wrong("a link's rate is not from 1 Mbit/s to 10 Tbit/s", "like 100Gbps");
    const auto delay = XR_TRY(tokens_.take("a link's delay"));
    const auto time = ns3_time(delay.text);
    if (!time)
      return tokens_.wrong("a link's delay: " + time.error().message, time.error().hint);
    link.delay_ns = time.get();
    if (link.delay_ns > kMostDelay)
      return tokens_.wrong("a link's delay is above 1 s", "like 1000ns");
    link.error = XR_TRY(tokens_.real("a link's error rate", 0, 1));
    link.number = ++between_[std::minmax(link.a, link.b)];
    net_.links.push_back(link);
    return {};
  }

  HpccTokens tokens_;
  HpccNetwork net_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> between_; // the number of links
};

// One line of flow.txt, but no lines: words. `port`: one of them is the destination's.
Result<HpccFlow> take_flow(HpccTokens &tokens, const HpccNetwork &network, bool port) {
  HpccFlow flow;
  const uint64_t last = network.is_switch.size() - 1;
  for (uint32_t *node : {&flow.src, &flow.dst}) {
    *node = static_cast<uint32_t>(XR_TRY(tokens.whole("a flow's node", 0, last)));
    if (network.is_switch[*node])
      return tokens.wrong(fmt::format("node {} is a switch", *node), "flows are between hosts");
  }
  if (flow.src == flow.dst)
    return tokens.wrong(fmt::format("a flow from host {} to itself", flow.src), "two hosts");
  flow.priority = static_cast<uint32_t>(XR_TRY(tokens.whole("a flow's pg", 0, 7)));
  if (port)
    flow.port = static_cast<uint32_t>(XR_TRY(tokens.whole("a flow's dport", 0, UINT16_MAX)));
  flow.bytes = XR_TRY(tokens.whole("a flow's bytes", 1, kMostHpccFlowBytes));
  flow.start_ns =
      static_cast<uint64_t>(std::llround(XR_TRY(tokens.real("a flow's start", 0, 1e6)) * 1e9));
  return flow;
}

} // namespace

std::string HpccNetwork::name_of(uint32_t node) const {
  return fmt::format("{}{}", is_switch[node] ? 's' : 'n', node);
}

std::string HpccNetwork::queue_name(const Link &link, uint32_t from) const {
  return fmt::format("{}:{}{}", name_of(from), name_of(from == link.a ? link.b : link.a),
                     link.number > 1 ? fmt::format("/{}", link.number) : "");
}

namespace {

std::vector<bool> linked_nodes(const HpccNetwork &network) {
  std::vector<bool> linked(network.is_switch.size());
  for (const HpccNetwork::Link &link : network.links)
    linked[link.a] = linked[link.b] = true;
  return linked;
}

} // namespace

size_t HpccNetwork::unlinked() const {
  return static_cast<size_t>(std::ranges::count(linked_nodes(*this), false));
}

uint32_t HpccNetwork::hosts() const {
  const std::vector<bool> linked = linked_nodes(*this);
  uint32_t count = 0;
  for (size_t node = 0; node < linked.size(); node++)
    count += linked[node] && !is_switch[node];
  return count;
}

std::string hpcc_topology(const HpccNetwork &network) {
  std::set<uint32_t> linked;
  std::string links;
  for (const HpccNetwork::Link &link : network.links) {
    linked.insert({link.a, link.b});
    links +=
        fmt::format("      - [{}, {}, {}, {}]\n", network.name_of(link.a), network.name_of(link.b),
                    parse::rate_text(link.rate), parse::duration_text(link.delay_ns));
  }
  std::vector<std::string> hosts, switches;
  for (const uint32_t node : linked)
    (network.is_switch[node] ? switches : hosts).push_back(network.name_of(node));
  return fmt::format("topology:\n  graph:\n    switches: [{}]\n    hosts: [{}]\n    links:\n{}",
                     fmt::join(switches, ", "), fmt::join(hosts, ", "), links);
}

Result<HpccNetwork> read_hpcc_network(std::string_view text, const std::string &name) {
  return HpccTopologyReader(text, name).read();
}

Result<HpccFlows> read_hpcc_flows(std::string_view text, const std::string &name,
                                  const HpccNetwork &network) {
  HpccTokens tokens(text, name);
  HpccFlows read;
  const auto count = XR_TRY(tokens.whole("the number of flows", 1, kMostFlows));
  const bool port = tokens.words_of_this_line() != kWordsWithoutPort;
  for (uint64_t i = 0; i < count; i++) {
    const HpccFlow flow = XR_TRY(take_flow(tokens, network, port));
    if (!read.flows.empty() && flow.start_ns < read.flows.back().start_ns)
      return tokens.wrong("a flow starts before the one above it",
                          "sort the lines by start: the simulator fails too");
    read.flows.push_back(flow);
  }
  read.ignored = tokens.left();
  return read;
}

uint64_t HpccPath::bdp() const {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(rtt_ns) * rate / 1'000'000'000 / 8);
}

HpccPaths::HpccPaths(const HpccNetwork &network, uint64_t payload)
    : network_(network), payload_(payload), links_of_(network.is_switch.size()) {
  for (uint32_t i = 0; i < network.links.size(); i++) {
    links_of_[network.links[i].a].push_back(i);
    links_of_[network.links[i].b].push_back(i);
  }
}

// The way back has no serialisation. Hosts forward nothing.
std::vector<HpccPath> HpccPaths::from(uint32_t source) const {
  std::vector<HpccPath> paths(network_.is_switch.size());
  std::vector<uint32_t> queue = {source};
  for (size_t at = 0; at < queue.size(); at++) {
    const uint32_t node = queue[at];
    if (node != source && !network_.is_switch[node])
      continue;
    for (const uint32_t index : links_of_[node]) {
      const HpccNetwork::Link &link = network_.links[index];
      const uint32_t next = link.a == node ? link.b : link.a;
      if (next == source || paths[next].rate)
        continue;
      const uint64_t sending = payload_ * 8'000'000'000 / link.rate;
      paths[next] = {paths[node].rtt_ns + 2 * link.delay_ns + sending,
                     node == source ? link.rate : std::min(paths[node].rate, link.rate)};
      queue.push_back(next);
    }
  }
  return paths;
}

HpccPaths::Largest HpccPaths::largest() const {
  Largest largest;
  for (uint32_t source = 0; source < network_.is_switch.size(); source++) {
    if (network_.is_switch[source])
      continue;
    const std::vector<HpccPath> paths = from(source);
    for (uint32_t to = 0; to < paths.size(); to++)
      if (!network_.is_switch[to]) {
        largest.rtt_ns = std::max(largest.rtt_ns, paths[to].rtt_ns);
        largest.bdp = std::max(largest.bdp, paths[to].bdp());
      }
  }
  return largest;
}

uint64_t hpcc_standalone_ns(uint64_t bytes, uint64_t payload, const HpccPath &path) {
  const uint64_t all = bytes + ((bytes - 1) / payload + 1) * kAckBytes;
  return path.rtt_ns + all * 8'000'000'000 / path.rate;
}

} // namespace xr::importers
