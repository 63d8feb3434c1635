// SPDX-License-Identifier: Apache-2.0
// The selection and the actions of a rule as the datapath has them.
#include "impair/compile.h"

#include <algorithm>
#include <cmath>

#include "base/layer1.h"
#include "impair/ber.h"
#include "impair/fields.h"

namespace xr::impair {

namespace {

template <typename... Ts> struct Overloaded : Ts... { using Ts::operator()...; };
template <typename... Ts> Overloaded(Ts...) -> Overloaded<Ts...>; // clang 14 does not deduce it

// Fills in the selector of a rule; points are the distances that it counts.
class Selection {
public:
  explicit Selection(Rule &rule) : select_(rule.compiled.select), points_(rule.points) {}

  void operator()(const Always &) { select_.kind = ROCE_SELECT_ALWAYS; }
  void operator()(const Every &every) {
    select_.kind = ROCE_SELECT_EVERY;
    select_.every = every.n;
  }
  void operator()(const Positions &positions) {
    uint32_t last = 0;
    for (const uint32_t place : positions.places) {
      points_.push_back(place - last);
      last = place;
    }
    select_.kind = ROCE_SELECT_POSITIONS;
    select_.points = static_cast<uint16_t>(points_.size());
  }
  void operator()(const Chance &chance) {
    select_.kind = ROCE_SELECT_PROBABILITY;
    select_.probability = chance.p.fraction();
  }
  void operator()(const Spaced &spaced) {
    select_.kind = ROCE_SELECT_SPACED;
    select_.every = spaced.parts;
  }
  void operator()(const Burst &burst) {
    select_.kind = ROCE_SELECT_BURST;
    select_.burst_from = burst.length.from;
    select_.burst_to = burst.length.to;
    if (const auto *every = std::get_if<uint32_t>(&burst.begin))
      select_.every = *every;
    else
      select_.probability = std::get<parse::Probability>(burst.begin).fraction();
  }
  void operator()(const Gilbert &gilbert) {
    std::array<__u64 *, 4> fields = {&select_.probability, &select_.bad_to_good, &select_.loss_bad,
                                     &select_.loss_good};
    select_.kind = ROCE_SELECT_GILBERT;
    select_.bad_to_good = parse::fraction(1 - gilbert.p.at(0).p());
    select_.loss_bad = UINT64_MAX;
    for (size_t i = 0; i < gilbert.p.size(); i++)
      *fields[i] = gilbert.p[i].fraction();
  }
  void operator()(const BitErrors &errors) {
    select_.kind = ROCE_SELECT_BER;
    select_.ber_log2 = ber_log2(errors);
  }
  void operator()(const Distance &distance) {
    points_ = points_of(distance);
    select_.kind = ROCE_SELECT_DISTANCE;
    select_.points = static_cast<uint16_t>(points_.size());
  }

private:
  roce_selector &select_;
  std::vector<uint32_t> &points_;
};

void compile_select(const RuleSpec &spec, Rule &to) {
  std::visit(Selection(to), spec.select);
  roce_selector &select = to.compiled.select;
  select.schedule = static_cast<__u8>(spec.schedule.kind);
  select.duration_ns = spec.schedule.on_ns;
  select.period_ns = spec.schedule.period_ns;
  select.limit = spec.limit.most;
  select.limit_ns = spec.limit.period_ns;
  select.seed = spec.chance() ? spec.seed : 0;
}

// Queues of the datapath count bytes as their transmission time at a rate.
uint64_t byte_cost(uint64_t bits_per_second) {
  const long double ns = 8e9L / static_cast<long double>(bits_per_second);
  return static_cast<uint64_t>(std::round(std::ldexp(ns, ROCE_QUEUE_SHIFT + ROCE_COST_SHIFT)));
}

// No overflow: at the rates that rate() accepts, the result and the sums in the datapath stay far
// below 2^64.
uint64_t time_of(uint64_t bytes, uint64_t cost) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(bytes) * cost >> ROCE_COST_SHIFT);
}

void compile(const Red &red, roce_queue &queue) {
  queue.overhead = red.l1 ? kLayer1Bytes : 0;
  queue.byte_cost = byte_cost(red.rate);
  queue.low = time_of(red.low, queue.byte_cost);
  queue.high = time_of(red.high, queue.byte_cost);
  queue.most = time_of(red.most, queue.byte_cost);
  // rounded down: the probability at KMAX must not exceed PMAX
  queue.slope = red.probability.fraction() / std::max<uint64_t>(queue.high - queue.low, 1);
}

void compile(const Police &police, roce_queue &queue) {
  queue.overhead = police.l1 ? kLayer1Bytes : 0;
  queue.byte_cost = byte_cost(police.rate);
  queue.low = time_of(police.burst, queue.byte_cost);
}

void compile(const CorruptedBits &corrupt, roce_action &action) {
  if (corrupt.bit) {
    action.first_bit = *corrupt.bit;
    action.bits = 1;
  }
  for (const HeaderField &field : header_fields())
    if (field.name == corrupt.field) {
      action.header = static_cast<uint16_t>(field.header);
      action.first_bit = field.first_bit;
      action.bits = field.bits;
    }
}

void compile_actions(const RuleSpec &spec, roce_action &action) {
  const Actions &actions = spec.actions;
  action.act = actions.bits;
  if (actions.bits & ROCE_ACT_RED) {
    action.act |= ROCE_ACT_CE;
    compile(actions.red, action.queue);
  }
  if (actions.bits & ROCE_ACT_POLICE)
    compile(actions.police, action.queue);
  if (actions.bits & ROCE_ACT_CNP) {
    action.cnp_interval_ns = actions.cnp.interval_ns;
    action.cnp_scope = actions.cnp.scope;
    action.cnp_dscp = actions.cnp.dscp;
  }
  compile(actions.corrupt, action);
  action.dscp = actions.dscp;
  action.ecn = actions.ecn;
  action.fecn = actions.fecn;
  action.becn = actions.becn;
  action.next = spec.next;
}

} // namespace

bool RuleSpec::chance() const {
  constexpr uint32_t kDraws = ROCE_ACTS_CORRUPT & ~(ROCE_ACT_CORRUPT_ICRC | ROCE_ACTS_CHECKSUM);
  const bool selects = std::visit(
      Overloaded{[](const Burst &burst) {
                   return burst.length.from != burst.length.to ||
                          std::holds_alternative<parse::Probability>(burst.begin);
                 },
                 [](const Chance &) { return true; }, [](const Gilbert &) { return true; },
                 [](const BitErrors &) { return true; }, [](const Distance &) { return true; },
                 [](const auto &) { return false; }},
      select);
  return selects || actions.bits & ROCE_ACT_RED ||
         (actions.bits & kDraws && !actions.corrupt.bit) ||
         (hold.jitter != Jitter::None && hold.jitter != Jitter::Step);
}

Rule compile(RuleSpec spec) {
  Rule rule;
  static_cast<RuleSpec &>(rule) = std::move(spec);
  compile_match(rule, rule);
  compile_select(rule, rule);
  compile_actions(rule, rule.compiled.action);
  rule.disable(rule.disabled);
  return rule;
}

} // namespace xr::impair
