// SPDX-License-Identifier: Apache-2.0
// The rows in which rules that hold frames are counted: one for each rule, also where a later one
// has its number and slot.
#include "endpoint/wire_rules.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace xr::endpoint::wire_rules_test {
namespace {

struct Counted {
  wire::HoldStage stage;
  std::unique_ptr<WirePortCounts> counts = std::make_unique<WirePortCounts>();
  WireRules rules{stage, *counts};
  uint16_t generation = 0;

  // One rule with number and slot 1 that delays; 0: none.
  void set(uint64_t delay_ns) {
    datapath::RulesInForce now;
    now.generation = ++generation;
    if (delay_ns) {
      datapath::RuleInForce one{1, 1, {}, std::to_string(delay_ns)};
      one.rule.hold.kind = Hold::Kind::Delay;
      one.rule.hold.delay_ns = delay_ns;
      now.rules.push_back(std::move(one));
    }
    rules.take(std::move(now));
  }
  void hold(uint64_t now, unsigned frames) {
    const wire::HeldBy by{1, true};
    for (unsigned i = 0; i < frames; i++)
      stage.add(now, {.arrived = now, .length = 100}, {&by, 1});
  }
  void let_go(uint64_t now) {
    wire::Frame frame;
    while (stage.take(now, frame))
      ;
  }
  // Frames of all rows of rule 1 in order, and whether it is removed.
  std::vector<std::pair<uint64_t, bool>> rows() const {
    std::vector<std::pair<uint64_t, bool>> all;
    for (uint32_t i = 0; i < WirePortCounts::kRuleRows; i++)
      if (counts->rule_ids[i] == 1)
        all.emplace_back(counts->rules[i].frames, counts->rule_removed[i]);
    return all;
  }
};

using Rows = std::vector<std::pair<uint64_t, bool>>;

TEST(WireRules, ANumberThatIsUsedAgainHasARowOfItsOwn) {
  Counted c;
  c.set(1000);
  c.hold(0, 3);
  c.set(0); // removed; its frames are still held
  c.set(50);
  c.hold(10, 5);
  EXPECT_EQ(c.rows(), (Rows{{3, true}, {5, false}}));
  EXPECT_EQ(c.counts->rules[0].backlog_frames, 3U);
  c.let_go(1000);
  EXPECT_EQ(c.counts->rules[0].backlog_frames, 0U);
  EXPECT_EQ(c.counts->rules[0].late.count(), 3U);
  EXPECT_EQ(c.counts->rules[1].late.count(), 5U);
  c.set(50); // nothing has changed
  c.hold(2000, 1);
  EXPECT_EQ(c.rows(), (Rows{{3, true}, {6, false}}));
}

TEST(WireRules, ANumberThatIsUsedAgainAtOnce) {
  Counted c;
  c.set(1000);
  c.hold(0, 3);
  c.set(50); // the removal was not seen
  c.hold(10, 5);
  EXPECT_EQ(c.rows(), (Rows{{3, true}, {5, false}}));
}

TEST(WireRules, WithoutAFreeRowTheOldestAreMerged) {
  Counted c;
  const uint32_t many = 3 * WirePortCounts::kRuleRows;
  for (uint32_t i = 1; i <= many; i++) {
    c.set(i);
    c.hold(i * 10'000, 1);
    c.let_go(i * 10'000 + many);
  }
  const Rows rows = c.rows();
  EXPECT_EQ(rows.size(), WirePortCounts::kRuleRows);
  EXPECT_EQ(std::count(rows.begin(), rows.end(), std::pair(uint64_t{1}, false)), 1);
  EXPECT_EQ(c.counts->rules_merged, many - WirePortCounts::kRuleRows);
  EXPECT_EQ(c.counts->merged.frames, many - WirePortCounts::kRuleRows);
  EXPECT_EQ(c.counts->merged.late.count(), c.counts->merged.frames);
}

// Rows are not taken from removed rules whose frames are still held.
TEST(WireRules, RowsOfHeldFramesStay) {
  Counted c;
  const uint32_t many = WirePortCounts::kRuleRows + 5;
  for (uint32_t i = 1; i <= many; i++) {
    c.set(1'000'000 + i);
    c.hold(i, 1);
  }
  c.set(0);
  EXPECT_EQ(c.rows(), Rows(WirePortCounts::kRuleRows, {1, true}));
  EXPECT_EQ(c.counts->merged.frames, 5U);
  EXPECT_EQ(c.counts->rules_merged, 5U);
  c.let_go(2'000'000);
  EXPECT_EQ(c.counts->merged.backlog_frames, 0U);
  EXPECT_EQ(c.counts->merged.late.count(), 5U);
}

} // namespace
} // namespace xr::endpoint::wire_rules_test
