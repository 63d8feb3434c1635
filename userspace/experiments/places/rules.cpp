// SPDX-License-Identifier: Apache-2.0
#include "places/rules.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "datapath/rules.h"
#include "impair/rule.h"
#include "parse/value.h"
#include "parse/words.h"
#include "wire/memory_needs.h"

namespace xr::places {

namespace {

using Change = experiment::RuleChange::Kind;

uint64_t times(uint64_t value, double factor) {
  return static_cast<uint64_t>(std::llround(static_cast<double>(value) * factor));
}

// "switch:receiver" -> "receiver:switch"
std::string way_back(const std::string &queue) {
  const size_t colon = queue.find(':');
  return queue.substr(colon + 1) + ":" + queue.substr(0, colon);
}

Result<impair::Rule> planned(const experiment::RuleSetup &setup, double scale, const Plan &plan,
                             PlannedRule &out) {
  const std::string back = way_back(plan.queue);
  if (setup.link != plan.queue && setup.link != back)
    return Error{fmt::format("no rule is possible at {} with frames", setup.link),
                 fmt::format("only at {} and {}", plan.queue, back)};
  impair::RuleSpec rule = scaled(setup.spec, scale);
  // QPNs of other hosts are not known: their N-th QP is the N-th that the port sees.
  if (plan.ours)
    XR_TRY(experiment::number_qps(rule, plan.flows.empty() ? 0 : plan.flows.front().flow.qp,
                                  plan.qps));
  // What is possible is the words' to say.
  if (auto sound = impair::parse_spec(parse::split(rule.text())); !sound)
    return sound.error().in("at this scale");
  out = {setup.name, setup.link, rule, setup.link == plan.queue, setup.from_start};
  return impair::compile(rule);
}

} // namespace

impair::RuleSpec scaled(impair::RuleSpec rule, double scale) {
  if (scale != 1)
    impair::scale(rule, scale);
  return rule;
}

Status plan_rules(const experiment::Experiment &experiment, double scale, Plan &plan) {
  std::array<std::vector<impair::Rule>, 2> ports;
  wire::HoldingPath held{.ingress_rate =
                             8 * static_cast<uint64_t>(plan.frames_per_second * plan.frame_bytes)};
  for (const experiment::RuleSetup &setup : experiment.rules.all) {
    PlannedRule planned_rule;
    auto rule = XR_TRY(planned(setup, scale, plan, planned_rule).in(setup.name));
    plan.rules.push_back(std::move(planned_rule));
    plan.features |= impair::needs(rule, true);
    held.rules.push_back(rule.hold);
    ports[plan.rules.back().left ? 0 : 1].push_back(std::move(rule));
  }
  for (const std::vector<impair::Rule> &rules : ports)
    if (!rules.empty())
      plan.uses |= impair::make_ruleset(rules)->used;
  plan.held_frames = static_cast<uint64_t>(static_cast<double>(wire::held_most(held).most_bytes) /
                                           std::max(plan.frame_bytes, 64.0));
  plan.rule_changes = experiment.rules.changes;
  for (experiment::RuleChange &change : plan.rule_changes)
    change.at_ns = times(change.at_ns, 1 / scale);
  plan.captures = experiment.captures;
  return {};
}

Status RuleRun::begin() {
  for (const PlannedRule &planned_rule : plan_.rules)
    there_.push_back(planned_rule.from_start);
  for (const bool left : {true, false}) {
    impair::File file;
    for (const PlannedRule &rule : plan_.rules) {
      if (rule.left != left || !rule.from_start)
        continue;
      file.rules.push_back(impair::compile(rule.rule));
    }
    if (file.rules.empty())
      continue;
    XR_TRY(datapath::apply_rules({port(left), netns()}, file));
  }
  return {};
}

Status RuleRun::change(const experiment::RuleChange &change) {
  if (change.kind != Change::Clear)
    return change_one(change.kind, change.rule);
  for (size_t i = 0; i < plan_.rules.size(); i++)
    if (there_[i])
      if (Status s = change_one(Change::Disable, i); !s)
        return s;
  return {};
}

Status RuleRun::change_one(Change kind, size_t index) {
  const PlannedRule &planned = plan_.rules[index];
  const auto wrong = [&](const Error &error) {
    return Error{fmt::format("{}: {}", planned.name, error.message), error.hint};
  };
  if (kind != Change::Add) {
    const auto done =
        datapath::enable_rule({port(planned.left), netns()}, planned.name, kind == Change::Enable);
    return done ? Status() : wrong(done.error());
  }
  there_[index] = true;
  const auto done =
      datapath::add_rule({port(planned.left), netns()}, impair::compile(planned.rule));
  return done ? Status() : wrong(done.error());
}

Status RuleRun::begin_measure(const experiment::Rules &rules) {
  measured_ = XR_TRY(read(rules));
  return {};
}

Result<std::vector<ExperimentRule>> RuleRun::read(const experiment::Rules &rules) const {
  std::vector<RuleRow> counted;
  for (const bool left : {true, false}) {
    if (std::ranges::none_of(plan_.rules, [&](const auto &item) { return item.left == left; }))
      continue;
    const auto list = XR_TRY(datapath::list_rules({port(left), netns()}));
    counted.insert(counted.end(), list.rules.begin(), list.rules.end());
  }
  std::vector<ExperimentRule> rows;
  for (const experiment::RuleSetup &setup : rules.all) {
    ExperimentRule row;
    row.name = setup.name;
    row.link = setup.link;
    row.words = setup.spec.text();
    const auto found = std::ranges::find(counted, setup.name, &RuleRow::name);
    if (found != counted.end()) {
      row.whole = {.matched = found->matched,
                   .acted = found->acted,
                   .matched_bytes = found->matched_bytes,
                   .acted_bytes = found->acted_bytes,
                   .spared = found->spared,
                   .limited = found->limited,
                   .not_applicable = found->not_applicable,
                   .refused = found->refused,
                   .not_held = found->not_held};
    }
    const size_t number = rows.size();
    static_cast<ExperimentRuleCounts &>(row) =
        number < measured_.size() ? row.whole.since(measured_[number].whole) : row.whole;
    rows.push_back(std::move(row));
  }
  return rows;
}

} // namespace xr::places
