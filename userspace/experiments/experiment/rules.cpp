// SPDX-License-Identifier: Apache-2.0
// `rules:`, `capture:`, and what the schedule does to rules.
#include "experiment/rules.h"

#include <algorithm>

#include <fmt/format.h>

#include "experiment/read.h"
#include "impair/rule.h"
#include "parse/value.h"
#include "parse/words.h"
#include "simulate/topology.h"

namespace xr::experiment {

namespace {

using Change = RuleChange::Kind;
using Point = CaptureSetup::Point;
using simulate::kCapturePorts;

constexpr size_t kMostRules = 64; // of a port
constexpr unsigned kLeastSnap = 64, kMostSnap = 65024;

// With a seed that depends on the experiment's, so that a run can be repeated.
Result<impair::RuleSpec> parse_words(const std::vector<std::string> &words, uint64_t seed,
                                     const std::string &name) {
  auto rule = XR_TRY(impair::parse_spec(words));
  if (rule.name.empty())
    rule.name = name;
  if (rule.chance() && !rule.seeded)
    rule.seed = static_cast<uint32_t>(seed);
  return rule;
}

class RuleReader {
public:
  RuleReader(const simulate::Scenario &scenario, Rules &rules)
      : scenario_(scenario), rules_(rules) {}

  // `link` "": the bottleneck.
  Result<size_t> add(const std::vector<std::string> &words, const std::string &link,
                     bool from_start) {
    const auto queue = XR_TRY(link_named(link));
    const size_t number = rules_.all.size() + 1;
    const auto rule =
        XR_TRY(parse_words(words, scenario_.seed + number, fmt::format("rule-{}", number)));
    const std::string &name = rule.name;
    for (const RuleSetup &other : rules_.all)
      if (other.name == name)
        return Error{fmt::format("there are two rules '{}'", name), "each has a name of its own"};
    if (std::ranges::count(rules_.all, queue, &RuleSetup::link) >=
        static_cast<ptrdiff_t>(kMostRules))
      return Error{fmt::format("there are too many rules at {}", queue),
                   fmt::format("at most {}", kMostRules)};
    rules_.all.push_back({name, queue, rule, from_start});
    return number - 1;
  }

private:
  Result<std::string> link_named(const std::string &link) const {
    if (!link.empty()) {
      auto queue = queue_named(scenario_, link);
      const simulate::Network network = simulate::build_network(scenario_.topology);
      for (uint32_t wire = 0; wire < network.wires.size() && !queue; wire++)
        if (network.wires[wire].from < network.hosts && network.queue_name(wire) == link)
          return link; // the port of a host
      return queue;
    }
    if (auto shared = simulate::bottleneck(scenario_.topology))
      return std::move(*shared);
    return Error{"the topology has no bottleneck", "{link: SWITCH:NEIGHBOUR, words: ...}"};
  }

  const simulate::Scenario &scenario_;
  Rules &rules_;
};

Result<size_t> rule_named(const Rules &rules, const std::string &name) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < rules.all.size(); i++) {
    if (rules.all[i].name == name)
      return i;
    names.emplace_back(rules.all[i].name);
  }
  return Error{fmt::format("there is no rule '{}'", name), parse::hint_from(name, names)};
}

Status read_rule(const YamlReader &reader, const YAML::Node &node,
                 const simulate::Scenario &scenario, Rules &rules) {
  std::string words = parse::scalar(node), link;
  if (!node.IsScalar())
    if (Status s = reader.map(
            node, "a key of a rule",
            {{"link", reader.text("link", link)}, {"words", reader.text("words", words)}});
        !s)
      return s;
  const auto added = RuleReader(scenario, rules).add(parse::split(words), link, true);
  return added ? Status() : Status(reader.in(node, "rules", added.error()));
}

} // namespace

Status number_qps(impair::RuleSpec &rule, uint32_t first, uint32_t qps) {
  if (!rule.event || rule.event->of_each_stream || !rule.event->by_number)
    return {};
  uint32_t &qp = rule.event->qp;
  if (qp > qps)
    return Error{fmt::format("there is no QP {}", qp),
                 fmt::format("the flows have {} QPs, from 1", qps)};
  rule.event->by_number = false;
  qp += first - 1;
  return {};
}

Status read_rules(const YamlReader &reader, const YAML::Node &node,
                  const simulate::Scenario &scenario, Rules &rules) {
  if (node.IsNull())
    return {};
  if (!node.IsSequence())
    return reader.in(node, "rules", {"it is not a list", R"(- "qp 1 psn 5 iter 1 drop")"});
  for (const YAML::Node &item : node)
    if (Status s = read_rule(reader, item, scenario, rules); !s)
      return s;
  return {};
}

// [LINK] add WORDS | del|enable|disable NAME | clear
Status read_rule_change(parse::WordReader &words, uint64_t at_ns,
                        const simulate::Scenario &scenario, Rules &rules) {
  constexpr const char *kUsage = "impair add WORDS, impair LINK add WORDS, impair del, enable or "
                                 "disable NAME, impair clear";
  std::string link;
  if (words.peek().find(':') != std::string::npos || words.peek() == "bottleneck")
    link = words.take();
  const std::string verb = words.take();
  if (verb == "add") {
    std::vector<std::string> rest;
    while (!words.done())
      rest.push_back(words.take());
    const auto added = XR_TRY(RuleReader(scenario, rules).add(rest, link, false));
    rules.changes.push_back({at_ns, Change::Add, added});
    return {};
  }
  if (verb == "clear") {
    rules.changes.push_back({at_ns, Change::Clear, 0});
    return {};
  }
  for (const auto &[name, kind] :
       {std::pair("del", Change::Delete), std::pair("enable", Change::Enable),
        std::pair("disable", Change::Disable)}) {
    if (verb != name)
      continue;
    const auto rule = XR_TRY(rule_named(rules, words.take()));
    rules.changes.push_back({at_ns, kind, rule});
    return {};
  }
  return parse::wrong(verb, "what impair does here", kUsage);
}

Status order_rule_changes(Rules &rules) {
  std::ranges::stable_sort(rules.changes, {}, &RuleChange::at_ns);
  std::vector<bool> there;
  for (const RuleSetup &rule : rules.all)
    there.push_back(rule.from_start);
  for (const RuleChange &change : rules.changes) {
    if (change.kind == Change::Clear)
      there.assign(there.size(), false);
    else if (change.kind != Change::Add && !there[change.rule])
      return Error{fmt::format("the rule '{}' is not there at {}", rules.all[change.rule].name,
                               parse::duration_text(change.at_ns)),
                   "impair add WORDS name NAME, before"};
    else
      there[change.rule] = change.kind != Change::Delete;
  }
  return {};
}

Status read_captures(const YamlReader &reader, const YAML::Node &node,
                     std::vector<CaptureSetup> &captures) {
  if (!node.IsSequence())
    return reader.in(node, "capture", {"it is not a list", "- {at: receivers}"});
  for (const YAML::Node &item : node) {
    CaptureSetup capture;
    std::string at = parse::scalar(item);
    if (!item.IsScalar())
      if (Status s =
              reader.map(item, "a key of capture",
                         {{"at", reader.text("at", at)},
                          {"snap", reader.number("snap", kLeastSnap, kMostSnap, capture.snap)}});
          !s)
        return s;
    const auto port = parse::choice(at, {std::begin(kCapturePorts), std::end(kCapturePorts)},
                                    "a port of the run");
    if (!port)
      return reader.in(item, "capture", port.error());
    capture.port = static_cast<Point>(port.get());
    for (const CaptureSetup &other : captures)
      if (other.port == capture.port)
        return reader.in(item, "capture", {fmt::format("{} is given twice", at), "a file a port"});
    captures.push_back(capture);
  }
  return {};
}

Status read_analyze(const YamlReader &reader, const YAML::Node &node,
                    std::optional<bool> &analyze) {
  const auto what = parse::choice(parse::scalar(node), {"none", "episodes"}, "an analysis");
  if (!what)
    return reader.in(node, "analyze", what.error());
  analyze = what.get() == 1;
  return {};
}

void add_captures(std::vector<CaptureSetup> &captures) {
  for (const Point port : {Point::Left, Point::Right})
    if (std::ranges::none_of(captures, [&](const CaptureSetup &capture_setup) {
          return capture_setup.port == port;
        }))
      captures.push_back({.port = port});
}

} // namespace xr::experiment
