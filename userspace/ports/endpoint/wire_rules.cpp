// SPDX-License-Identifier: Apache-2.0
#include "endpoint/wire_rules.h"

#include <algorithm>
#include <utility>

namespace xr::endpoint {

// Where the rule is now, or the one of its name that has replaced it: a rule that is changed gets
// another slot and, by `apply`, another id.
std::optional<uint16_t> WireRules::slot_of(const datapath::RuleInForce &in_force) const {
  if (in_force.slot < ROCE_RULE_SLOTS && held_by_[in_force.slot] == in_force.id)
    return static_cast<uint16_t>(in_force.slot);
  for (uint16_t slot = 0; slot < ROCE_RULE_SLOTS; slot++)
    if (held_by_[slot] && (held_by_[slot] == in_force.id ||
                           (!in_force.rule.name.empty() && names_[slot] == in_force.rule.name)))
      return slot;
  return {};
}

// A row that no rule has had, or the one that ended first: its counts are merged with others'.
uint16_t WireRules::new_row(uint32_t id) {
  uint16_t row = kMerged;
  for (uint16_t i = 0; i < kRows && (row == kMerged || counts_.rule_ids[row]); i++)
    if (!counts_.rule_ids[i] || (ended_[i] && !counts_.rules[i].backlog_frames &&
                                 (row == kMerged || ended_[i] < ended_[row])))
      row = i;
  if (row == kMerged) // all others hold frames
    return row;
  if (counts_.rule_ids[row]) {
    counts_.merged.merge(counts_.rules[row]);
    counts_.rules_merged++;
    counts_.rules[row] = {};
  }
  counts_.rule_ids[row] = id;
  counts_.rule_removed[row] = 0;
  ended_[row] = 0;
  return row;
}

void WireRules::end_row(uint16_t row) {
  if (row == kMerged)
    return void(counts_.rules_merged++);
  ended_[row] = ++ends_;
  counts_.rule_removed[row] = 1;
}

void WireRules::take(datapath::RulesInForce rules) {
  std::array<uint32_t, ROCE_RULE_SLOTS> holds{};
  for (const datapath::RuleInForce &entry : rules.rules) {
    if (entry.rule.hold.kind == Hold::Kind::None || entry.slot >= ROCE_RULE_SLOTS)
      continue;
    holds[entry.slot] = entry.id;
    if (held_by_[entry.slot] == entry.id && words_[entry.slot] == entry.words)
      continue;
    auto replaced = slot_of(entry);
    if (replaced && holds[*replaced] && *replaced != entry.slot)
      replaced.reset(); // another rule has taken that slot
    words_[entry.slot] = entry.words;
    names_[entry.slot] = entry.rule.name;
    if (held_by_[entry.slot])
      end_row(rows_[entry.slot]);
    const uint16_t row = rows_[entry.slot] = new_row(entry.id);
    stage_.set_rule(static_cast<uint16_t>(entry.slot), entry.rule.hold,
                    entry.rule.compiled.select.seed,
                    row == kMerged ? &counts_.merged : &counts_.rules[row], replaced);
  }
  for (uint32_t slot = 0; slot < ROCE_RULE_SLOTS; slot++)
    if (held_by_[slot] && !holds[slot]) {
      end_row(rows_[slot]);
      stage_.remove_rule(static_cast<uint16_t>(slot));
    }
  held_by_ = holds;
  path_of_ = {};
  if (rules.rules.empty())
    return;
  sets_.push_front(std::move(rules));
  if (sets_.size() > kGenerations)
    sets_.pop_back();
}

const std::vector<wire::HeldBy> *WireRules::look_up(const roce_held &held) {
  path_of_ = {};
  path_.clear();
  unread_ = false;
  const auto known = std::find_if(sets_.begin(), sets_.end(), [&](const auto &set) {
    return set.generation == held.generation;
  });
  if (known == sets_.end())
    return nullptr;
  for (size_t i = 0; i < known->rules.size(); i++) {
    if (!(held.rules >> i & 1))
      continue;
    if (const auto slot = slot_of(known->rules[i]))
      path_.push_back({*slot, (held.selected >> i & 1) != 0});
  }
  path_of_ = held;
  unread_ = held.selected & known->unread;
  return &path_;
}

} // namespace xr::endpoint
