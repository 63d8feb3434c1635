// SPDX-License-Identifier: Apache-2.0
#include "record/page_network.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "plot/headline.h"
#include "simulate/topology.h"
#include "wire/link_words.h"

namespace xr::record {

namespace {

using Node = plot::PageNetwork::Node;
using Network = simulate::Network;

// More hosts of one kind at a switch are drawn as one.
constexpr size_t kMostAlone = 4;
// More switches would not be readable.
constexpr size_t kMostSwitches = 24;

std::string kind_of(const std::string &name) { return name.substr(0, name.rfind('-')); }

Node::Tier tier_of(const std::string &name, bool host) {
  const std::string kind = kind_of(name);
  if (host)
    return kind == "sender" ? Node::Tier::Top : Node::Tier::Bottom;
  return kind == "spine" || kind == "core" ? Node::Tier::Top : Node::Tier::Middle;
}

class Drawing {
public:
  Drawing(const experiment::Experiment &experiment, const ExperimentResult &result)
      : experiment_(experiment), network_(simulate::build_network(experiment.scenario.topology)) {
    if (const ExperimentQueue *queue = plot::bottleneck(result.measured))
      bottleneck_ = queue->name;
  }

  plot::PageNetwork make() {
    if (network_.nodes.size() - network_.hosts > kMostSwitches)
      return {};
    for (uint32_t node = network_.hosts; node < network_.nodes.size(); node++)
      drawn_[node] = add(network_.nodes[node], false);
    gather_hosts();
    for (uint32_t wire = 0; wire + 1 < network_.wires.size(); wire += 2)
      add_link(wire);
    // The rate and delay of a queue are its link's.
    LinkSpec queue = experiment_.scenario.queue;
    queue.rate = queue.delay = 0;
    out_.queue = wire::link_text(queue);
    return std::move(out_);
  }

private:
  size_t add(std::string name, bool host) {
    const Node::Tier tier = tier_of(name, host);
    out_.nodes.push_back({std::move(name), tier, host});
    return out_.nodes.size() - 1;
  }

  // Hosts of one kind at one switch, in their order.
  void gather_hosts() {
    std::map<std::pair<uint32_t, std::string>, std::vector<uint32_t>> together;
    std::set<uint32_t> seen; // a host with several links is drawn at the first
    for (const simulate::Wire &wire : network_.wires)
      if (wire.from < network_.hosts && seen.insert(wire.from).second)
        together[{wire.to, kind_of(network_.nodes[wire.from])}].push_back(wire.from);
    for (const auto &[where, hosts] : together) {
      if (hosts.size() <= kMostAlone) {
        for (const uint32_t host : hosts)
          drawn_[host] = add(network_.nodes[host], true);
        continue;
      }
      const size_t all =
          add(fmt::format("{} ... {}", network_.nodes[hosts.front()], network_.nodes[hosts.back()]),
              true);
      for (const uint32_t host : hosts)
        drawn_[host] = all;
    }
  }

  // Both directions of a pair of neighbours, drawn from the switch's queue.
  void add_link(uint32_t wire) {
    const simulate::Wire &one = network_.wires[wire];
    const std::string there = network_.queue_name(wire), back = network_.queue_name(wire + 1);
    plot::PageNetwork::Link link{.from = drawn_[one.from],
                                 .to = drawn_[one.to],
                                 .rate_bps = one.rate,
                                 .delay_ns = one.delay,
                                 .bottleneck = !bottleneck_.empty() &&
                                               (there == bottleneck_ || back == bottleneck_)};
    if (link.bottleneck && back == bottleneck_)
      std::swap(link.from, link.to);
    for (const experiment::RuleSetup &rule : experiment_.rules.all)
      if (rule.link == there || rule.link == back)
        link.rules.push_back(fmt::format("{} (to {})", rule.name, rule.link));
    const auto same = std::ranges::find_if(out_.links, [&](const auto &other) {
      return std::minmax(other.from, other.to) == std::minmax(link.from, link.to);
    });
    if (same == out_.links.end()) {
      out_.links.push_back(std::move(link));
      return;
    }
    same->count++;
    same->bottleneck = same->bottleneck || link.bottleneck;
    same->rules.insert(same->rules.end(), link.rules.begin(), link.rules.end());
  }

  const experiment::Experiment &experiment_;
  Network network_;
  std::string bottleneck_;
  std::map<uint32_t, size_t> drawn_; // a node of the network -> of the drawing
  plot::PageNetwork out_;
};

} // namespace

plot::PageNetwork page_network(const experiment::Experiment &experiment,
                               const ExperimentResult &result) {
  return Drawing(experiment, result).make();
}

} // namespace xr::record
