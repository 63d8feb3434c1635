// SPDX-License-Identifier: Apache-2.0
// What changes during a run: {at: 20ms, do: "start flow-3"}.
// To add something that happens: Event::Kind in simulate/scenario.h, its words here,
// simulate/build.cpp and world.cpp; with frames, or a refusal: places/plan.cpp and namespaces.cpp;
// docs/experiments.md; experiment_file_test, simulate_test.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "experiment/read.h"
#include "parse/value.h"
#include "parse/words.h"
#include "wire/link_words.h"

namespace xr::experiment {

namespace {

using parse::WordReader;
using simulate::Event;
using simulate::Scenario;

// flow-3 or flow 3.
Status take_flow(WordReader &words, const Scenario &scenario, Event &event) {
  std::string name = words.take();
  if (name == "flow" && !words.done())
    name = "flow-" + words.take();
  XR_TRY(flow_named(scenario, name));
  event.target = name;
  return {};
}

Status take_queue(WordReader &words, const Scenario &scenario, Event &event) {
  event.target = XR_TRY(queue_named(scenario, words.take()));
  return {};
}

Status take_time(WordReader &words, Event &event) {
  event.duration_ns = XR_TRY(parse::duration(words.take()));
  return {};
}

Status parse_start(WordReader &words, const Scenario &scenario, Event &event) {
  event.kind = Event::Kind::Start;
  return take_flow(words, scenario, event);
}

Status parse_stop(WordReader &words, const Scenario &scenario, Event &event) {
  event.kind = Event::Kind::Stop;
  return take_flow(words, scenario, event);
}

Status parse_link(WordReader &words, const Scenario &scenario, Event &event) {
  const std::string name = words.take();
  const bool down = words.take_if("down");
  if (down || words.take_if("up")) {
    event.kind = down ? Event::Kind::Down : Event::Kind::Up;
    event.target = XR_TRY(link_named(scenario, name));
    return {};
  }
  event.kind = Event::Kind::Link;
  event.target = XR_TRY(queue_named(scenario, name));
  std::vector<std::string> rest;
  while (!words.done())
    rest.push_back(words.take());
  auto spec = XR_TRY(wire::parse_link(rest));
  XR_TRY(check_queue(spec));
  event.link = std::move(spec);
  return {};
}

Status parse_flap(WordReader &words, const Scenario &scenario, Event &event) {
  event.kind = Event::Kind::Flap;
  XR_TRY(take_queue(words, scenario, event));
  return take_time(words, event);
}

Status parse_pfc(WordReader &words, const Scenario &scenario, Event &event) {
  event.kind = Event::Kind::Pause;
  XR_TRY(take_queue(words, scenario, event));
  const std::string list = words.take();
  for (const std::string &part : parse::parts(list)) {
    auto range = parse::range(part, 0, kLinkClasses - 1, "a priority");
    if (!range)
      return Error{range.error().message, "like 3, 3,4 or 0-7"};
    for (uint32_t priority = range->from; priority <= range->to; priority++)
      event.priorities = static_cast<uint8_t>(event.priorities | 1U << priority);
  }
  words.take_if("for");
  return take_time(words, event);
}

struct Action {
  std::string_view name;
  Status (*parse)(WordReader &, const Scenario &, Event &);
  const char *usage;
};
constexpr Action kActions[] = {
    {"start", parse_start, "start flow-3"},
    {"stop", parse_stop, "stop flow-3"},
    {"link", parse_link, "link bottleneck rate 10gbit"},
    {"flap", parse_flap, "flap bottleneck 5ms"},
    {"pfc", parse_pfc, "pfc bottleneck 3 for 1ms"},
};
// What other places can do.
constexpr std::string_view kElsewhere[] = {"capture", "respond", "send", "bridge",
                                           "attach",  "detach",  "kill", "exec"};

Status parse_action(WordReader &words, const Scenario &scenario, Event &event) {
  const std::string name = words.take();
  std::vector<std::string_view> names = {"impair"};
  for (const Action &action : kActions) {
    names.push_back(action.name);
    if (name != action.name)
      continue;
    if (Status s = action.parse(words, scenario, event); !s)
      return Error{fmt::format("{}: {}", name, s.error().message),
                   s.error().hint.empty() ? action.usage : s.error().hint};
    if (!words.done())
      return Error{fmt::format("{}: what is '{}'?", name, words.peek()), action.usage};
    return {};
  }
  if (std::find(std::begin(kElsewhere), std::end(kElsewhere), name) != std::end(kElsewhere))
    return Error{fmt::format("'{}' is not possible in an experiment", name),
                 parse::hint_from("", names)};
  return parse::wrong(name, "an action", parse::hint_from(name, names));
}

Status read_event(const YamlReader &reader, const YAML::Node &node, Scenario &scenario,
                  Rules &rules) {
  Event event;
  std::string action;
  if (Status s = reader.map(
          node, "a key of schedule",
          {{"at", reader.duration("at", event.at_ns)}, {"do", reader.text("do", action)}});
      !s)
    return s;
  if (!node["at"] || action.empty())
    return reader.at(node, {"it has no time or no action", R"({at: 20ms, do: "start flow-3"})"});
  if (event.at_ns >= scenario.duration_ns)
    return reader.in(node["at"], "at",
                     {fmt::format("the run ends at {}", parse::duration_text(scenario.duration_ns)),
                      "a longer duration, or an earlier time"});
  WordReader words({action});
  if (words.take_if("impair")) {
    const Status done = read_rule_change(words, event.at_ns, scenario, rules);
    return done ? done : Status(reader.in(node["do"], "do: impair", done.error()));
  }
  if (Status s = parse_action(words, scenario, event); !s)
    return reader.in(node["do"], "do", s.error());
  scenario.schedule.push_back(std::move(event));
  return {};
}

} // namespace

Status read_schedule(const YamlReader &reader, const YAML::Node &node, Scenario &scenario,
                     Rules &rules) {
  if (!node.IsSequence())
    return reader.in(node, "schedule", {"it is not a list", R"(- {at: 20ms, do: "start flow-3"})"});
  for (const YAML::Node &event : node)
    XR_TRY(read_event(reader, event, scenario, rules));
  std::stable_sort(scenario.schedule.begin(), scenario.schedule.end(),
                   [](const Event &a, const Event &b) { return a.at_ns < b.at_ns; });
  if (Status s = order_rule_changes(rules); !s)
    return reader.in(node, "schedule", s.error());
  // A flow that an event starts does not start before.
  std::vector<std::string> seen;
  for (const Event &event : scenario.schedule) {
    if (event.kind != Event::Kind::Start && event.kind != Event::Kind::Stop)
      continue;
    if (std::find(seen.begin(), seen.end(), event.target) != seen.end())
      continue;
    seen.push_back(event.target);
    const auto index = flow_named(scenario, event.target);
    if (index && event.kind == Event::Kind::Start)
      scenario.flows[index.get()].started = false;
  }
  return {};
}

} // namespace xr::experiment
