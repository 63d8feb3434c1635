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

// In canonical text a time has a unit in lower case, and so has no number of bytes.
std::string scaled_word(const std::string &word, double scale) {
  if (word.empty() || !isdigit(static_cast<unsigned char>(word.front())) || word.ends_with('M'))
    return word;
  if (word.ends_with("bit"))
    if (const auto bits = parse::rate(word, 0))
      return parse::rate_text(times(bits.get(), scale));
  if (const auto ns = parse::duration(word))
    return parse::duration_text(times(ns.get(), 1 / scale));
  return word;
}

// "switch:receiver" -> "receiver:switch"
std::string way_back(const std::string &queue) {
  const size_t colon = queue.find(':');
  return queue.substr(colon + 1) + ":" + queue.substr(0, colon);
}

// Times that canonical text leaves out, as they are the defaults.
void add_defaults(std::vector<std::string> &words, const impair::Rule &rule, double scale) {
  const auto insert = [&](size_t at, const char *word, uint64_t ns) {
    if (at < words.size() && words[at] == word)
      return;
    words.insert(words.begin() + static_cast<ptrdiff_t>(std::min(at, words.size())),
                 {word, parse::duration_text(times(ns, 1 / scale))});
  };
  for (size_t i = 0; i < words.size(); i++) {
    const std::string before = i ? words[i - 1] : "";
    if (before == "name" || before == "opcode" || before == "transport")
      continue;
    if (words[i] == "cnp")
      insert(i + 1, "interval", rule.compiled.action.cnp_interval_ns);
    if (words[i] == "depth" || words[i] == "hold" || (words[i] == "accumulate" && rule.hold.frames))
      insert(i + 2, "timeout", rule.hold.timeout_ns);
  }
}

Result<impair::Rule> planned(const experiment::RuleSetup &setup, double scale, const Plan &plan,
                             PlannedRule &out) {
  const std::string back = way_back(plan.queue);
  if (setup.link != plan.queue && setup.link != back)
    return Error{fmt::format("no rule is possible at {} with frames", setup.link),
                 fmt::format("only at {} and {}", plan.queue, back)};
  std::vector<std::string> words = parse::split(scaled_words(setup.words, scale));
  if (scale != 1)
    if (const auto asked = impair::parse(parse::split(setup.words)))
      add_defaults(words, asked.get(), scale);
  // QPNs of other hosts are not known: their N-th QP is the N-th that the port sees.
  if (plan.ours) {
    const uint32_t first = plan.flows.empty() ? 0 : plan.flows.front().flow.qp;
    if (Status s = experiment::number_qps(words, first, plan.qps); !s)
      return s.error();
  }
  auto rule = impair::parse(words);
  if (!rule)
    return Error{fmt::format("at this scale: {}", rule.error().message), rule.error().hint};
  out = {setup.name, setup.link, rule->text(), setup.link == plan.queue, setup.from_start};
  return rule;
}

} // namespace

std::string scaled_words(const std::string &words, double scale) {
  std::string all;
  bool is_name = false;
  for (const std::string &word : parse::split(words)) {
    std::string parts;
    for (const std::string &part : parse::parts(word))
      parts +=
          (parts.empty() ? "" : ",") + (is_name || scale == 1 ? part : scaled_word(part, scale));
    all += (all.empty() ? "" : " ") + parts;
    is_name = word == "name";
  }
  return all;
}

Status plan_rules(const experiment::Experiment &experiment, double scale, Plan &plan) {
  std::array<std::vector<impair::Rule>, 2> ports;
  wire::HoldingPath held{.ingress_rate =
                             8 * static_cast<uint64_t>(plan.frames_per_second * plan.frame_bytes)};
  for (const experiment::RuleSetup &setup : experiment.rules.all) {
    PlannedRule one;
    auto rule = planned(setup, scale, plan, one);
    if (!rule)
      return Error{fmt::format("{}: {}", setup.name, rule.error().message), rule.error().hint};
    plan.rules.push_back(std::move(one));
    plan.features |= impair::needs(rule.get(), true);
    held.rules.push_back(rule->hold);
    ports[plan.rules.back().left ? 0 : 1].push_back(std::move(rule).get());
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
  for (const PlannedRule &one : plan_.rules)
    there_.push_back(one.from_start);
  for (const bool left : {true, false}) {
    impair::File file;
    for (const PlannedRule &one : plan_.rules) {
      if (one.left != left || !one.from_start)
        continue;
      auto rule = impair::parse(parse::split(one.words));
      if (!rule)
        return rule.error();
      file.rules.push_back(std::move(rule).get());
    }
    if (file.rules.empty())
      continue;
    const auto done = datapath::apply_rules(port(left), netns(), file);
    if (!done)
      return done.error();
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
        datapath::enable_rule(port(planned.left), netns(), planned.name, kind == Change::Enable);
    return done ? Status() : wrong(done.error());
  }
  const auto rule = impair::parse(parse::split(planned.words));
  if (!rule)
    return wrong(rule.error());
  there_[index] = true;
  const auto done = datapath::add_rule(port(planned.left), netns(), rule.get());
  return done ? Status() : wrong(done.error());
}

Status RuleRun::begin_measure(const experiment::Rules &rules) {
  auto rows = read(rules);
  if (!rows)
    return rows.error();
  measured_ = std::move(rows).get();
  return {};
}

Result<std::vector<ExperimentRule>> RuleRun::read(const experiment::Rules &rules) const {
  std::vector<RuleRow> counted;
  for (const bool left : {true, false}) {
    if (std::ranges::none_of(plan_.rules, [&](const auto &one) { return one.left == left; }))
      continue;
    const auto list = datapath::list_rules(port(left), netns());
    if (!list)
      return list.error();
    counted.insert(counted.end(), list.get().rules.begin(), list.get().rules.end());
  }
  std::vector<ExperimentRule> rows;
  for (const experiment::RuleSetup &setup : rules.all) {
    ExperimentRule row;
    row.name = setup.name;
    row.link = setup.link;
    row.words = setup.words;
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
