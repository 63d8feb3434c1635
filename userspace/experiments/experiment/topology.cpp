// SPDX-License-Identifier: Apache-2.0
#include "simulate/topology.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "experiment/read.h"
#include "parse/value.h"
#include "parse/words.h"
#include "parse/yaml.h"
#include "wire/delivery_trace.h"
#include "wire/link_words.h"

namespace xr::experiment {

namespace {

using simulate::Topology;

constexpr unsigned kMost = 100'000;

YamlReader::Read rate_of(const YamlReader &reader, const char *key, uint64_t &rate, bool *layer1) {
  return [&reader, key, &rate, layer1](const YAML::Node &node) -> Status {
    parse::WordReader words({parse::scalar(node)});
    const auto bits = parse::rate(words.take());
    if (!bits)
      return reader.in(node, key, bits.error());
    rate = bits.get();
    if (layer1 != nullptr && words.take_if("l1"))
      *layer1 = true;
    else if (layer1 != nullptr)
      words.take_if("l2");
    if (!words.done())
      return reader.in(node, key, parse::wrong(words.peek(), "l1 or l2", "rate: 40gbit l1"));
    return {};
  };
}

using Kind = Topology::Kind;
// To add a topology: Topology::Kind in simulate/scenario.h, Builder, kind_name and check_topology
// in simulate/topology.cpp, its keys here; with frames, or a refusal: places/plan.cpp;
// docs/experiments.md; simulate_test, experiment_file_test, places_test.
constexpr Kind kKinds[] = {Kind::Star,      Kind::Dumbbell, Kind::ParkingLot,
                           Kind::LeafSpine, Kind::FatTree,  Kind::Graph};

Status read_names(const YamlReader &reader, const YAML::Node &node, const char *key,
                  std::vector<std::string> &names) {
  if (!node.IsSequence())
    return reader.in(node, key, {"it is not a list", fmt::format("{}: [a, b]", key)});
  for (const YAML::Node &name : node)
    names.push_back(parse::scalar(name));
  return {};
}

// [A, B], [A, B, RATE] or [A, B, RATE, DELAY].
Status read_link(const YamlReader &reader, const YAML::Node &node, const Topology &t,
                 simulate::Graph::Link &link) {
  if (!node.IsSequence() || node.size() < 2 || node.size() > 4)
    return reader.in(node, "links",
                     {"a link is not a list of 2 to 4 words", "like [a, b, 100gbit, 1us]"});
  link.a = parse::scalar(node[0]);
  link.b = parse::scalar(node[1]);
  link.delay = t.delay;
  if (node.size() > 2)
    XR_TRY(rate_of(reader, "links", link.rate, nullptr)(node[2]));
  if (node.size() > 3)
    XR_TRY(reader.duration("links", link.delay)(node[3]));
  return {};
}

// The rate of a graph's links is the fastest of them where it is not given.
Status read_graph(const YamlReader &reader, const YAML::Node &node, Topology &t) {
  const auto names = [&reader](const char *key, std::vector<std::string> &list) {
    return [&reader, key, &list](const YAML::Node &inner) {
      return read_names(reader, inner, key, list);
    };
  };
  XR_TRY(reader.map(
      node, "a key of graph",
      {{"rate", rate_of(reader, "rate", t.rate, &t.layer1)},
       {"delay", reader.duration("delay", t.delay)},
       {"hosts", names("hosts", t.graph.hosts)},
       {"switches", names("switches", t.graph.switches)},
       {"links", [&](const YAML::Node &list) -> Status {
          if (!list.IsSequence())
            return reader.in(list, "links", {"it is not a list", "links: [[a, b, 100gbit, 1us]]"});
          for (const YAML::Node &link : list)
            XR_TRY(read_link(reader, link, t, t.graph.links.emplace_back()));
          return {};
        }}}));
  if (Status s = simulate::check_topology(t); !s)
    return reader.at(node, s.error());
  if (t.rate)
    return {};
  for (const simulate::Graph::Link &link : t.graph.links)
    t.rate = std::max(t.rate, link.rate);
  return {};
}

Status read_kind(const YamlReader &reader, const YAML::Node &node, Kind kind, Topology &t) {
  t.kind = kind;
  if (kind == Kind::Graph)
    return read_graph(reader, node, t);
  std::vector<YamlReader::Key> keys = {{"rate", rate_of(reader, "rate", t.rate, &t.layer1)},
                                       {"delay", reader.duration("delay", t.delay)}};
  bool senders_given = false;
  if (t.kind != Kind::Star) {
    keys.push_back({"core-rate", rate_of(reader, "core-rate", t.core_rate, nullptr)});
    keys.push_back({"core-delay", reader.duration("core-delay", t.core_delay)});
  }
  if (t.kind == Kind::Star || t.kind == Kind::Dumbbell)
    keys.push_back({"senders", [&](const YAML::Node &value) {
                      senders_given = true;
                      return reader.number("senders", 1, kMost, t.senders)(value);
                    }});
  if (t.kind == Kind::Star)
    keys.push_back({"hosts", reader.number("hosts", 2, kMost, t.star_hosts)});
  if (t.kind == Kind::ParkingLot)
    keys.push_back({"hops", reader.number("hops", 1, kMost, t.hops)});
  if (t.kind == Kind::LeafSpine) {
    keys.push_back({"leaves", reader.number("leaves", 1, kMost, t.leaves)});
    keys.push_back({"spines", reader.number("spines", 1, kMost, t.spines)});
    keys.push_back({"hosts", reader.number("hosts", 1, kMost, t.hosts)});
  }
  if (t.kind == Kind::FatTree)
    keys.push_back({"k", reader.number("k", 2, kMost, t.k)});
  if (t.kind == Kind::LeafSpine || t.kind == Kind::FatTree)
    keys.push_back(
        {"oversubscription", reader.number("oversubscription", 1, kMost, t.oversubscription)});
  XR_TRY(reader.map(node, fmt::format("a key of {}", simulate::kind_name(kind)), keys));
  if (senders_given && t.star_hosts)
    return reader.at(node, {"a star has senders and a receiver, or equal hosts, not both",
                            "senders: 4, or hosts: 4"});
  if (Status s = simulate::check_topology(t); !s)
    return reader.at(node, s.error());
  return {};
}

// The files of delivery opportunities that links follow.
Status read_trace(const std::string &name, const std::string &directory,
                  simulate::Scenario &scenario) {
  if (name.empty() || scenario.traces.contains(name))
    return {};
  const bool absolute = name.starts_with('/') || directory.empty();
  const auto text = XR_TRY(parse::read_file(absolute ? name : directory + "/" + name));
  auto trace = XR_TRY(wire::parse_trace(text).in(name));
  scenario.traces[name] = std::make_shared<const wire::DeliveryTrace>(std::move(trace));
  return {};
}

} // namespace

Status read_topology(const YamlReader &reader, const YAML::Node &node, Topology &topology) {
  std::vector<YamlReader::Key> keys;
  unsigned found = 0;
  for (const Kind kind : kKinds)
    keys.push_back({simulate::kind_name(kind), [&, kind](const YAML::Node &inner) {
                      found++;
                      return read_kind(reader, inner, kind, topology);
                    }});
  XR_TRY(reader.map(node, "a topology", keys));
  if (found != 1)
    return reader.at(node, {"one topology is needed",
                            "star, dumbbell, parking-lot, leaf-spine, fat-tree or graph"});
  return {};
}

Result<std::string> queue_named(const simulate::Scenario &scenario, const std::string &name) {
  const std::vector<std::string> queues = simulate::queue_names(scenario.topology);
  const auto alias = simulate::bottleneck(scenario.topology);
  if (name == "bottleneck" && alias)
    return *alias;
  if (std::find(queues.begin(), queues.end(), name) != queues.end())
    return name;
  std::vector<std::string_view> names(queues.begin(), queues.end());
  if (alias)
    names.emplace_back("bottleneck");
  const std::string near = parse::nearest(name, names);
  return Error{fmt::format("there is no queue '{}'", name),
               near.empty() ? fmt::format("a queue is SWITCH:NEIGHBOUR, like {}", queues.front())
                            : fmt::format("did you mean {}?", near)};
}

Result<std::string> link_named(const simulate::Scenario &scenario, const std::string &name) {
  for (const std::string &queue : simulate::queue_names(scenario.topology)) {
    std::string link = queue;
    link[link.find(':')] = '-';
    if (link == name)
      return queue;
  }
  auto queue = queue_named(scenario, name);
  if (!queue)
    return Error{fmt::format("there is no link '{}'", name), "a link is A-B, like switch-receiver"};
  return queue;
}

Status check_queue(const LinkSpec &spec) {
  if (spec.flap.way == LinkFlap::Way::Carrier)
    return Error{"a flap by carrier needs a port of a wire", "here flaps drop frames"};
  return {};
}

Status read_queues(const YamlReader &reader, const YAML::Node &node, simulate::Scenario &scenario) {
  if (!node.IsMap())
    return reader.at(node,
                     {"queue is not a map", R"(queue: {words: "buffer 12MB red 5k 200k 1%"})"});
  for (const auto &pair : node) {
    const std::string key = parse::scalar(pair.first);
    auto spec = wire::parse_link(parse::split(parse::scalar(pair.second)));
    if (!spec)
      return reader.in(pair.second, key, spec.error());
    if (Status s = check_queue(*spec); !s)
      return reader.in(pair.second, key, s.error());
    if (key == "words") {
      if (spec->rate || spec->delay || !spec->trace.empty())
        return reader.in(pair.second, key,
                         {"rate, delay and trace of all queues are the topology's",
                          "topology: {star: {senders: 2, rate: 40gbit, delay: 1us}}"});
      scenario.queue = std::move(spec).get();
      continue;
    }
    const auto name = queue_named(scenario, key);
    if (!name)
      return reader.at(pair.first, name.error());
    scenario.queues[name.get()] = std::move(spec).get();
  }
  return {};
}

Status read_traces(const std::string &directory, simulate::Scenario &scenario, std::string &last) {
  for (const auto &[queue, spec] : scenario.queues)
    XR_TRY(read_trace(last = spec.trace, directory, scenario).in(fmt::format("queue {}", queue)));
  for (const simulate::Event &event : scenario.schedule)
    XR_TRY(read_trace(last = event.link.trace, directory, scenario)
               .in(fmt::format("link {}", event.target)));
  return {};
}

} // namespace xr::experiment
