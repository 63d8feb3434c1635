// SPDX-License-Identifier: Apache-2.0
// Rules of an experiment in namespaces: at which port, in which words at a scale, and what is
// refused. That they act is in tests/e2e/run_rules.sh.
#include <gtest/gtest.h>

#include "impair/rule.h"
#include "parse/words.h"
#include "places/plan.h"
#include "places/rules.h"
#include "places/scale.h"
#include "roce/config.h"

namespace places_rules_test {
namespace {

using namespace xr;
using namespace xr::places;

const std::string kHead = R"(experiment: x
duration: 100ms
topology: {star: {senders: 2, rate: 20mbit, delay: 100us}}
flows: [{from: all, to: receiver, words: write size 64k qps 3}]
)";

Result<Plan> planned(const std::string &rest, double scale = 1) {
  const auto read = experiment::ExperimentFile(kHead + rest, "f.yaml", "").read({});
  EXPECT_TRUE(read.ok()) << read.error().message;
  if (!read)
    return read.error();
  auto plan = make_plan(scaled(read.get().scenario, scale));
  EXPECT_TRUE(plan.ok());
  if (plan)
    if (Status s = plan_rules(read.get(), scale, plan.get()); !s)
      return s.error();
  return plan;
}

TEST(PlacesRules, AreAtThePortWhereTheirFramesEnter) {
  const auto plan = planned(R"(rules:
  - "qp 4 psn 5 iter 2 drop name first"
  - {link: "receiver:switch", words: "opcode ack drop"}
schedule:
  - {at: 20ms, do: "impair add dest-qp 0x100 delay 1ms"}
  - {at: 10ms, do: "impair disable first"}
  - {at: 30ms, do: "impair clear"}
capture: [senders, {at: left, snap: 100}]
)");
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const auto &rules = plan.get().rules;
  ASSERT_EQ(rules.size(), 3U);
  EXPECT_TRUE(rules[0].left);
  EXPECT_EQ(rules[0].rule.text(),
            "qp 0x103 psn 5 iter 2 drop name first"); // the QPN of the file's 4th QP
  EXPECT_FALSE(rules[1].left);
  EXPECT_EQ(rules[1].name, "rule-2");
  EXPECT_TRUE(rules[1].from_start);
  EXPECT_TRUE(rules[2].left);
  EXPECT_FALSE(rules[2].from_start);
  using Kind = experiment::RuleChange::Kind;
  ASSERT_EQ(plan.get().rule_changes.size(), 3U);
  EXPECT_EQ(plan.get().rule_changes[0].kind, Kind::Disable); // by time
  EXPECT_EQ(plan.get().rule_changes[0].at_ns, 10'000'000U);
  EXPECT_EQ(plan.get().rule_changes[1].kind, Kind::Add);
  EXPECT_EQ(plan.get().rule_changes[1].rule, 2U);
  EXPECT_EQ(plan.get().rule_changes[2].kind, Kind::Clear);
  // Programs are loaded with what the rules need, also the later ones.
  for (const uint32_t feature : {ROCE_FEATURE_RULES, ROCE_FEATURE_EVENTS, ROCE_FEATURE_HOLD})
    EXPECT_TRUE(plan.get().features & feature) << feature;
  EXPECT_FALSE(plan.get().features & ROCE_FEATURE_EDIT);
  EXPECT_GT(plan.get().held_frames, 0U);
  ASSERT_EQ(plan.get().captures.size(), 2U);
  EXPECT_EQ(plan.get().captures[1].port, experiment::CaptureSetup::Point::Left);
  EXPECT_EQ(plan.get().captures[1].snap, 100U);
}

// The senders' program follows streams only where it must: CNPs of the way back can be lost or are
// captured there.
TEST(PlacesRules, CnpsAreCountedWhereNoneIsLost) {
  const auto at_senders = [](const std::string &rest, bool made = true) {
    auto plan = planned(rest);
    EXPECT_TRUE(plan.ok());
    plan.get().made = made;
    return counts_cnps_at_senders(plan.get());
  };
  EXPECT_FALSE(at_senders(""));
  EXPECT_FALSE(at_senders("rules: [\"opcode ack drop\"]\ncapture: [left, right, receivers]\n"));
  EXPECT_TRUE(at_senders("rules: [{link: \"receiver:switch\", words: \"opcode cnp drop\"}]\n"));
  EXPECT_TRUE(
      at_senders("schedule: [{at: 20ms, do: \"impair receiver:switch add opcode cnp drop\"}]\n"));
  EXPECT_TRUE(at_senders("capture: [senders]\n"));
  EXPECT_TRUE(at_senders("", false)); // the way between ports is not ours
}

TEST(PlacesRules, TimesAndRatesOfWordsAreScaled) {
  struct Case {
    const char *words, *at_tenth;
  };
  for (const Case &one : std::initializer_list<Case>{
           {"opcode data probability 1% drop", "opcode data probability 1% drop"},
           {"delay 1ms jitter uniform 0s 4ms unordered",
            "delay 10ms jitter uniform 0s 40ms unordered"},
           {"delay table 1us,20us", "delay table 10us,200us"},
           {"police 5gbit burst 64k excess ce", "police 500mbit burst 64k excess ce"},
           {"ecn ect red 100k 1M 20% rate 25gbit", "ecn ect red 100k 1M 20% rate 2500mbit"},
           {"for 50ms drop", "for 500ms drop"},
           {"repeat 5ms 20ms drop", "repeat 50ms 200ms drop"},
           {"limit 3 per 10ms drop", "limit 3 per 100ms drop"},
           {"ecn ce cnp interval 50us", "ecn ce cnp interval 500us"},
           {"reorder depth 3 timeout 10ms", "reorder depth 3 timeout 100ms"},
           {"shape 1gbit burst 2M queue 3M", "shape 100mbit burst 2M queue 3M"},
           {"accumulate 5", "accumulate 5 timeout 100ms"},
           {"opcode cnp cnp drop", "opcode cnp cnp interval 500us drop"},
           {"size 100-200 every 5 drop", "size 100-200 every 5 drop"},
       }) {
    const auto plan = planned(std::string("rules: [{words: \"") + one.words + "\"}]\n", 0.1);
    ASSERT_TRUE(plan.ok()) << one.words << ": " << plan.error().message;
    const auto wanted = impair::parse(parse::split(one.at_tenth));
    ASSERT_TRUE(wanted.ok()) << one.words;
    EXPECT_EQ(plan.get().rules[0].rule.words(), wanted.get().words());
  }
  const auto delay = impair::parse_spec({"delay 1ms name 5ms"});
  ASSERT_TRUE(delay.ok());
  EXPECT_EQ(scaled(delay.get(), 0.1).text(), "delay 10ms name 5ms");
  EXPECT_EQ(scaled(delay.get(), 1), delay.get());
}

TEST(PlacesRules, ChangesAreScaledAndMustStillBePossible) {
  const auto plan =
      planned("rules: [drop name a]\nschedule: [{at: 20ms, do: \"impair disable a\"}]\n", 0.1);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan.get().rule_changes[0].at_ns, 200'000'000U);
  for (const auto &[rest, scale, words] :
       std::initializer_list<std::tuple<const char *, double, const char *>>{
           {"rules: [delay 5m name a]\n", 0.1, "a: at this scale"},
           {"rules: [qp 7 psn 1 drop]\n", 1, "there is no QP 7"},
           {"rules: [{link: switch:sender-1, words: drop}]\n", 1,
            "no rule is possible at switch:sender-1"}}) {
    const auto refused = planned(rest, scale);
    ASSERT_FALSE(refused.ok()) << rest;
    EXPECT_NE(refused.error().message.find(words), std::string::npos) << refused.error().message;
  }
}

} // namespace
} // namespace places_rules_test
