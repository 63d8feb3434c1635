// SPDX-License-Identifier: Apache-2.0
#include "simulate/rule_point.h"

#include <fmt/format.h>

#include "impair/trace_words.h"

namespace xr::simulate {

namespace {

// The datapath takes a time of 0 for none, and paces as if something had happened then.
constexpr uint64_t kEpoch = 3'600'000'000'000;

uint32_t features_of(const std::vector<impair::Rule> &rules) {
  uint32_t features = ROCE_FEATURE_CAPTURE;
  for (const impair::Rule &rule : rules)
    features |= impair::needs(rule, true);
  return features;
}

NativeDatapath::Options options(uint32_t features) {
  NativeDatapath::Options options;
  options.features = features;
  return options;
}

const char *outcome(Fate fate) {
  switch (fate) {
  case Fate::Gone:
    return "gone";
  case Fate::Twice:
    return "forwarded twice";
  case Fate::GoOnWithCnp:
    return "forwarded, and a CNP sent back";
  case Fate::BackAsCnp:
    return "sent back as a CNP";
  default:
    return "forwarded";
  }
}

} // namespace

RulePoint::RulePoint(std::vector<impair::Rule> rules)
    : rules_(std::move(rules)), features_(features_of(rules_)), datapath_(options(features_)) {
  for (uint32_t i = 0; i < rules_.size(); i++)
    rules_[i].compiled.slot = i;
}

void RulePoint::add(uint32_t rule, uint64_t now) {
  impair::Rule &item = rules_[rule];
  item.compiled.select.start_ns = kEpoch + now;
  order_.push_back(rule);
  item.compiled.id = ++added_;
  if (item.hold.kind != Hold::Kind::None)
    stage_.set_rule(static_cast<uint16_t>(rule), item.hold, item.compiled.select.seed);
  write_set();
}

void RulePoint::enable(uint32_t rule, bool enabled) {
  rules_[rule].disable(!enabled);
  write_set();
}

void RulePoint::disable_all() {
  for (const uint32_t rule : order_)
    rules_[rule].disable(true);
  write_set();
}

// The place of a rule in the set is its place in `order_`.
void RulePoint::write_set() {
  std::vector<impair::Rule> there;
  std::map<uint32_t, std::vector<uint32_t>> points;
  for (const uint32_t rule : order_) {
    there.push_back(rules_[rule]);
    points[rule] = rules_[rule].points;
  }
  datapath_.change_rules(impair::make_ruleset(there), std::move(points));
}

Fate RulePoint::walk(std::vector<uint8_t> &bytes, uint64_t now) {
  return datapath_.impair(bytes, kEpoch + now);
}

std::string RulePoint::comment(Fate fate) const {
  const roce_trace &trace = datapath_.trace();
  return trace.rule ? fmt::format("{}; {}", impair::trace_words(trace), outcome(fate))
                    : outcome(fate);
}

bool RulePoint::hold(uint64_t now, const wire::Frame &frame) {
  const roce_held *held = datapath_.held();
  if (!held)
    return false;
  held_by_.clear();
  for (size_t i = 0; i < order_.size(); i++)
    if (held->rules >> i & 1)
      held_by_.push_back({static_cast<uint16_t>(order_[i]), (held->selected >> i & 1) != 0});
  stage_.add(now, frame, held_by_);
  return true;
}

} // namespace xr::simulate
