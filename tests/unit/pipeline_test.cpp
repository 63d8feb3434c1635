// SPDX-License-Identifier: Apache-2.0
// Rules that end with `next`, and the rules that hold a frame, as the wire process learns of them.
#include "impair_port.h"

namespace xr::test::pipeline_test {
namespace {

constexpr uint32_t kPipeline = Port::kAllFeatures | ROCE_FEATURE_NEXT | ROCE_FEATURE_HOLD;

Bytes frame(uint8_t ecn = 2) {
  return finished(FrameBuilder(0x04).payload(64).ecn(ecn).build(), false);
}

uint8_t tos_of(const Bytes &bytes) { return parsed(bytes).packet.tos; }

TEST(Pipeline, WithoutNextOnlyTheFirstRuleThatMatchesApplies) {
  Port port({"every 2 ce", "set dscp 5"}, kPipeline);
  for (int i = 1; i <= 4; i++) {
    Bytes bytes = frame();
    port.impair(bytes);
    EXPECT_EQ(tos_of(bytes) & 3, i % 2 ? 2 : 3);
  }
  EXPECT_EQ(port.matched(1), 0U);
}

TEST(Pipeline, NextGoesOnWhetherTheRuleSelectedThePacketOrNot) {
  Port port({"every 2 ce next", "set dscp 5 next", "every 4 drop"}, kPipeline);
  for (int i = 1; i <= 8; i++) {
    Bytes bytes = frame();
    const Fate fate = port.impair(bytes);
    EXPECT_EQ(fate, i % 4 ? Fate::GoOn : Fate::Gone);
    if (fate == Fate::GoOn) {
      EXPECT_EQ(tos_of(bytes), 5 << 2 | (i % 2 ? 2 : 3)) << i;
    }
  }
  for (uint32_t rule = 0; rule < 3; rule++)
    EXPECT_EQ(port.matched(rule), 8U);
  EXPECT_EQ(port.acted(0), 4U);
  EXPECT_EQ(port.acted(1), 8U);
  EXPECT_EQ(port.acted(2), 2U);
}

TEST(Pipeline, ADroppedPacketMeetsNoLaterRule) {
  Port port({"every 2 drop next", "ce"}, kPipeline);
  for (int i = 0; i < 6; i++) {
    Bytes bytes = frame();
    port.impair(bytes);
  }
  EXPECT_EQ(port.matched(0), 6U);
  EXPECT_EQ(port.matched(1), 3U);
}

// Conditions are about the frame as it entered.
TEST(Pipeline, ConditionsSeeTheFrameAsItEntered) {
  Port port({"ecn ect0 set ecn not-ect next", "ecn ect0 set dscp 7 next", "ecn not-ect drop"},
            kPipeline);
  Bytes bytes = frame();
  EXPECT_EQ(port.impair(bytes), Fate::GoOn);
  EXPECT_EQ(tos_of(bytes), 7 << 2);
  EXPECT_EQ(port.matched(2), 0U);
}

TEST(Pipeline, TheKernelMakesOneCopyAndNoneOfADroppedPacket) {
  Port twice({"duplicate next", "duplicate"}, kPipeline);
  Bytes bytes = frame();
  EXPECT_EQ(twice.impair(bytes), Fate::Twice);
  EXPECT_EQ(twice.totals().duplicated, 1U);
  EXPECT_EQ(twice.totals().not_cloned, 1U);
  Port dropped({"duplicate next", "drop"}, kPipeline);
  bytes = frame();
  EXPECT_EQ(dropped.impair(bytes), Fate::Gone);
  EXPECT_EQ(dropped.totals().duplicated, 0U);
  EXPECT_EQ(dropped.totals().dropped_programmed, 1U);
}

TEST(Pipeline, RulesThatHoldAreNamedInTheirOrder) {
  Port port({"dest-qp 0x99 delay 1s", "every 2 delay 1ms next", "ce next", "delay 2ms"}, kPipeline);
  for (int i = 1; i <= 4; i++) {
    Bytes bytes = frame();
    EXPECT_EQ(port.impair(bytes), Fate::GoOn);
    ASSERT_TRUE(port.accountant().held());
    EXPECT_EQ(port.accountant().held()->rules, i % 2 ? 0b1000U : 0b1010U);
    EXPECT_EQ(port.accountant().held()->selected, port.accountant().held()->rules);
    EXPECT_EQ(tos_of(bytes) & 3, 3);
  }
}

TEST(Pipeline, ReorderIsToldOfPacketsThatItDoesNotSelect) {
  Port port({"every 3 reorder depth 2"}, kPipeline);
  for (int i = 1; i <= 6; i++) {
    Bytes bytes = frame();
    port.impair(bytes);
    ASSERT_TRUE(port.accountant().held());
    EXPECT_EQ(port.accountant().held()->rules, 1U);
    EXPECT_EQ(port.accountant().held()->selected, i % 3 ? 0U : 1U);
  }
}

TEST(Pipeline, ADroppedPacketIsNotHeld) {
  Port port({"delay 1ms next", "every 2 drop"}, kPipeline);
  for (int i = 1; i <= 4; i++) {
    Bytes bytes = frame();
    EXPECT_EQ(port.impair(bytes), i % 2 ? Fate::GoOn : Fate::Gone);
    EXPECT_EQ(port.accountant().held() != nullptr, i % 2 == 1);
  }
}

TEST(Pipeline, NextIsTheLastWord) {
  EXPECT_TRUE(impair::parse({"drop next"}).ok());
  EXPECT_EQ(impair::parse({"name a every 2 drop next"})->text(), "every 2 drop name a next");
  EXPECT_FALSE(impair::parse({"next drop"}).ok());
}

} // namespace
} // namespace xr::test::pipeline_test
