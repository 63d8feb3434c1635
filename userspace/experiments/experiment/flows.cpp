// SPDX-License-Identifier: Apache-2.0
// The list of flows: words of `send` between named hosts, and workloads.
#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "experiment/flow_entry.h"
#include "experiment/read.h"
#include "parse/value.h"
#include "parse/words.h"
#include "simulate/topology.h"

namespace xr::experiment {

namespace {

using simulate::FlowSetup;

constexpr size_t kMostFlows = 1'000'000;

using Names = std::vector<std::string>;

class FlowReader {
public:
  FlowReader(const YamlReader &reader, const FlowDefaults &defaults, simulate::Scenario &scenario)
      : reader_(reader), defaults_(defaults), scenario_(scenario),
        hosts_(simulate::host_names(scenario.topology)),
        senders_(simulate::sender_names(scenario.topology)) {}

  Status read(const YAML::Node &list) {
    if (!list.IsSequence())
      return reader_.in(
          list, "flows",
          {"it is not a list", R"(- {from: all, to: receiver, words: "write size 1M"})"});
    for (const YAML::Node &node : list) {
      XR_TRY(entry(node));
      if (scenario_.flows.size() > kMostFlows)
        return reader_.at(node,
                          {"there are too many flows", fmt::format("at most {}", kMostFlows)});
    }
    return {};
  }

private:
  // all, a name, or a list of names.
  YamlReader::Read hosts(std::string key, Names &out) const {
    return [this, key = std::move(key), &out](const YAML::Node &node) -> Status {
      out.clear();
      if (node.IsScalar() && node.Scalar() == "all") {
        out = key == "from" ? senders_ : hosts_;
        return {};
      }
      if (node.IsScalar())
        return one_host(node, key, node.Scalar(), out);
      for (const YAML::Node &name : node)
        XR_TRY(one_host(name, key, parse::scalar(name), out));
      return {};
    };
  }
  Status one_host(const YAML::Node &node, const std::string &key, const std::string &name,
                  Names &out) const {
    if (std::find(hosts_.begin(), hosts_.end(), name) == hosts_.end()) {
      const std::string near = parse::nearest(name, {hosts_.begin(), hosts_.end()});
      return reader_.in(node, key,
                        {fmt::format("there is no host '{}'", name),
                         near.empty() ? fmt::format("all, {} ... {}", hosts_.front(), hosts_.back())
                                      : fmt::format("did you mean {}?", near)});
    }
    out.push_back(name);
    return {};
  }

  YamlReader::Read words(FlowSetup &setup) const {
    return [this, &setup](const YAML::Node &node) -> Status {
      auto flow = flow::parse_flow(parse::split(parse::scalar(node)), setup.flow);
      if (!flow)
        return reader_.in(node, "words", flow.error());
      if (flow->src_given || flow->dst_given)
        return reader_.in(
            node, "words",
            {"src and dst are given by the topology", "from: sender-1, to: receiver"});
      setup.flow = std::move(flow).get();
      return {};
    };
  }

  YamlReader::Read congestion(FlowSetup &setup) const {
    return [this, &setup](const YAML::Node &node) -> Status {
      auto control = read_congestion(parse::scalar(node));
      if (!control)
        return reader_.in(node, "congestion", control.error());
      setup.flow.control = std::move(control).get();
      return {};
    };
  }

  // [flow-1 received, flow-2 sent, 2ms]: all of them, then 2 ms. [any, ...], [2 of, ...]: the
  // first, the first two.
  YamlReader::Read after(FlowSetup &setup) const {
    return [this, &setup](const YAML::Node &node) -> Status {
      std::vector<YAML::Node> items;
      if (node.IsSequence())
        for (const YAML::Node &item : node)
          items.push_back(item);
      else
        items.push_back(node);
      for (const YAML::Node &item : items)
        if (Status s = one_after(parse::split(parse::scalar(item)), setup); !s)
          return reader_.in(item, "after", s.error());
      if (setup.after.empty())
        return reader_.in(node, "after", {"it names no flow", "[flow-1 received, 2ms]"});
      if (setup.fewest > setup.after.size())
        return reader_.in(
            node, "after",
            {fmt::format("{} of {} flows cannot be", setup.fewest, setup.after.size()),
             "a smaller number"});
      return {};
    };
  }

  Status one_after(const std::vector<std::string> &words, FlowSetup &setup) const {
    using When = job::Need::When;
    constexpr const char *kItem = "flow-1 received, flow-1 sent, flow-1 started, any, 2 of, 2ms";
    if (words.size() == 1 && words[0] == "any") {
      setup.fewest = 1;
      return {};
    }
    if (words.size() == 1) {
      const auto delay = parse::duration(words[0]);
      if (!delay)
        return parse::wrong(words[0], "what a flow may wait for", kItem);
      setup.after_ns += delay.get();
      return {};
    }
    if (words.size() != 2)
      return parse::wrong(words.empty() ? "" : words[2], "a word of it", kItem);
    if (words[1] == "of") {
      setup.fewest = static_cast<uint32_t>(XR_TRY(parse::integer(words[0], 1, UINT32_MAX)));
      return {};
    }
    const auto when =
        XR_TRY(parse::choice(words[1], {"started", "sent", "received"}, "sent or received"));
    if (!names_.contains(words[0])) {
      const std::string near = parse::nearest(words[0], {names_.begin(), names_.end()});
      return Error{fmt::format("there is no flow '{}' above it", words[0]),
                   near.empty() ? "the name of a flow above it in the list"
                                : fmt::format("did you mean {}?", near)};
    }
    setup.after.push_back({words[0], std::array{When::Begun, When::Sent, When::Complete}[when]});
    return {};
  }

  YamlReader::Read poisson(FlowEntry &entry) const {
    return [this, &entry](const YAML::Node &node) -> Status {
      entry.workload = "poisson";
      simulate::PoissonTraffic &traffic = entry.poisson;
      return reader_.map(
          node, "a key of poisson",
          {{"load",
            [&](const YAML::Node &load) -> Status {
              const auto part = parse::probability(parse::scalar(load));
              if (!part || !(part.get().p() > 0))
                return reader_.in(load, "load",
                                  parse::wrong(parse::scalar(load), "a load", "like 30% or 0.3"));
              traffic.load = static_cast<double>(part.get().p());
              return {};
            }},
           {"sizes",
            [&](const YAML::Node &sizes) -> Status {
              const auto distribution = simulate::size_distribution(parse::scalar(sizes));
              if (!distribution)
                return reader_.in(sizes, "sizes", distribution.error());
              traffic.sizes = distribution.get();
              return {};
            }},
           {"until", reader_.duration("until", entry.until_ns)}});
    };
  }

  YamlReader::Read incast(FlowEntry &entry) const {
    return [this, &entry](const YAML::Node &node) -> Status {
      entry.workload = "incast";
      return reader_.map(node, "a key of incast",
                         {{"degree", reader_.number("degree", 1, UINT32_MAX, entry.incast.degree)},
                          {"size", reader_.bytes("size", entry.incast.bytes)},
                          {"every", reader_.duration("every", entry.incast.every_ns)},
                          {"until", reader_.duration("until", entry.until_ns)}});
    };
  }

  YamlReader::Read on_off(FlowEntry &entry) const {
    return [this, &entry](const YAML::Node &node) -> Status {
      entry.workload = "on-off";
      return reader_.map(node, "a key of on-off",
                         {{"size", reader_.bytes("size", entry.on_off.bytes)},
                          {"every", reader_.duration("every", entry.on_off.period_ns)},
                          {"until", reader_.duration("until", entry.until_ns)}});
    };
  }

  Status entry(const YAML::Node &node) {
    FlowEntry entry;
    entry.like.flow = defaults_.flow;
    entry.like.reliable = defaults_.reliable;
    const auto start = [&](const YAML::Node &time) {
      entry.start_given = true;
      return reader_.duration("start", entry.start_ns)(time);
    };
    if (Status s = reader_.map(node, "a key of a flow",
                               {{"congestion", congestion(entry.like)}, // words may change it
                                {"words", words(entry.like)},
                                {"reliable", reader_.truth("reliable", entry.like.reliable)},
                                {"name", reader_.text("name", entry.like.name)},
                                {"from", hosts("from", entry.from)},
                                {"to", hosts("to", entry.to)},
                                {"start", start},
                                {"after", after(entry.like)},
                                {"stop", reader_.duration("stop", entry.stop_ns)},
                                {"poisson", poisson(entry)},
                                {"incast", incast(entry)},
                                {"on-off", on_off(entry)},
                                {"list", reader_.text("list", entry.list)}});
        !s)
      return s;
    if (!entry.like.name.empty())
      if (const auto name = parse::name(entry.like.name); !name)
        return reader_.in(node, "name", name.error());
    FlowSetup &like = entry.like;
    like.start_ns = entry.start_given ? entry.start_ns : like.flow.pacing.start_ns;
    like.flow.pacing.start_ns = 0;
    if (entry.stop_ns != UINT64_MAX)
      like.stop_ns = entry.stop_ns;
    XR_TRY(kind(node, entry));
    auto flows = expand(entry, scenario_, defaults_.directory);
    if (!flows)
      return reader_.at(node, flows.error());
    return append(node, std::move(flows).get(), like.name);
  }

  Status kind(const YAML::Node &node, const FlowEntry &entry) const {
    unsigned kinds = 0;
    for (const char *key : {"poisson", "incast", "on-off", "list"})
      kinds += node[key] ? 1 : 0;
    if (kinds > 1)
      return reader_.at(node, {"it has two workloads", "poisson, incast, on-off or list"});
    if (node["list"])
      return {};
    if (entry.from.empty())
      return reader_.at(node, {"there is no sender", "from: all, or from: sender-1"});
    if (entry.to.empty())
      return reader_.at(node, {"there is no receiver", "to: receiver"});
    return {};
  }

  // Numbers all flows in the file's order, and those of one name among themselves.
  Status append(const YAML::Node &node, std::vector<FlowSetup> flows, const std::string &name) {
    if (flows.empty())
      return reader_.at(node, {"it makes no flow", "another host in to"});
    for (size_t i = 0; i < flows.size(); i++) {
      FlowSetup &flow = flows[i];
      if (flow.name == name) // a line of a list can have one of its own
        flow.name = name.empty()        ? fmt::format("flow-{}", scenario_.flows.size() + 1)
                    : flows.size() == 1 ? name
                                        : fmt::format("{}-{}", name, i + 1);
      if (!names_.insert(flow.name).second)
        return reader_.at(node, {fmt::format("there are two flows '{}'", flow.name),
                                 "each has a name of its own"});
      scenario_.flows.push_back(std::move(flow));
    }
    return {};
  }

  const YamlReader &reader_;
  const FlowDefaults &defaults_;
  simulate::Scenario &scenario_;
  Names hosts_, senders_;
  std::set<std::string> names_;
};

} // namespace

Result<congestion::Control> read_congestion(const std::string &text) {
  parse::WordReader words({text});
  const bool none = words.take_if("none");
  const std::string name = words.peek();
  auto control = none ? Result(congestion::Control{}) : flow::take_control(words);
  if (!control) {
    const bool known = std::ranges::any_of(congestion::control_rows(),
                                           [&](const auto &row) { return name == row.word; });
    return known ? control.error()
                 : Error{control.error().message, "dcqcn, dcqcn preset nvidia, timely, fixed 1gbit "
                                                  "or none; `xdp-roce cc list` has all"};
  }
  if (!words.done())
    return parse::wrong(words.peek(), "a word of congestion control",
                        "congestion: \"dcqcn preset paper rai=40\"");
  return control;
}

Status read_flows(const YamlReader &reader, const YAML::Node &node, const FlowDefaults &defaults,
                  simulate::Scenario &scenario) {
  return FlowReader(reader, defaults, scenario).read(node);
}

Status derive_cnp_pacing(simulate::Scenario &scenario, bool mode, bool interval) {
  const FlowSetup *first = nullptr;
  const auto rate = static_cast<double>(scenario.topology.rate);
  for (const FlowSetup &flow : scenario.flows) {
    if (flow.flow.control.kind != congestion::Control::Kind::Dcqcn)
      continue;
    const auto settings = congestion::resolve(flow.flow.control.dcqcn, rate);
    if (first && ((mode && settings.np != scenario.cnp.mode) ||
                  (interval && settings.cnp_interval_ns != scenario.cnp.interval_ns)))
      return Error{
          fmt::format("{} and {} describe different notification points", first->name, flow.name),
          "all receivers have one: cnp: {mode: window, interval: 50us}"};
    if (first)
      continue;
    first = &flow;
    scenario.cnp.mode = settings.np;
    scenario.cnp.interval_ns = settings.cnp_interval_ns;
  }
  return {};
}

Result<size_t> flow_named(const simulate::Scenario &scenario, const std::string &name) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < scenario.flows.size(); i++) {
    if (scenario.flows[i].name == name)
      return i;
    names.emplace_back(scenario.flows[i].name);
  }
  const std::string near = parse::nearest(name, names);
  return Error{fmt::format("there is no flow '{}'", name),
               near.empty() ? fmt::format("there are {} ... {}", names.front(), names.back())
                            : fmt::format("did you mean {}?", near)};
}

} // namespace xr::experiment
