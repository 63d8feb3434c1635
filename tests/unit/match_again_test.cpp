// SPDX-License-Identifier: Apache-2.0
// MatchAgain against the native datapath, which holds the same frames with the same rules as the
// program does: the frames that this hands over, without what it found, have the same rules again.
#include "endpoint/match_again.h"

#include <gtest/gtest.h>

#include "frames.h"
#include "impair/rule.h"
#include "native/native_datapath.h"
#include "roce/opcode.h"

namespace xr::endpoint::match_again_test {
namespace {

constexpr uint16_t kPortBe = roce_swap16(ROCE_UDP_PORT);

struct Rules {
  std::vector<impair::Rule> parsed;
  std::map<uint32_t, std::vector<uint32_t>> points;
  datapath::RulesInForce in_force;

  explicit Rules(const std::vector<std::string> &words) {
    for (const std::string &one : words) {
      auto rule = impair::parse({one});
      EXPECT_TRUE(rule.ok()) << one << ": " << rule.error().message;
      const auto slot = static_cast<uint32_t>(parsed.size());
      rule->compiled.slot = slot;
      points[slot] = rule->points;
      parsed.push_back(*rule);
      in_force.rules.push_back({slot + 1, slot, *rule, rule->text()});
    }
    std::shared_ptr<roce_ruleset> set = impair::make_ruleset(parsed);
    set->generation = 7;
    in_force.set = set;
  }
};

struct Twins {
  NativeDatapath program;
  MatchAgain process{kPortBe};

  explicit Twins(const Rules &rules) : program(options()) {
    program.rules(impair::make_ruleset(rules.parsed), rules.points);
    process.set_rules(rules.in_force);
  }
  static NativeDatapath::Options options() {
    NativeDatapath::Options options;
    options.features = ROCE_FEATURE_RULES | ROCE_FEATURE_EDIT | ROCE_FEATURE_NEXT |
                       ROCE_FEATURE_HOLD | ROCE_FEATURE_EVENTS;
    return options;
  }
};

std::vector<uint8_t> frame_of(uint32_t psn, uint32_t qp) {
  return test::FrameBuilder(ROCE_RC_SEND_ONLY).ecn(2).qp(qp).psn(psn).payload(64).build().bytes;
}

// Every rule that the program noted is found again, with its selection. `all`: the link brings
// every frame.
void same_rules(const std::vector<std::string> &words, bool all, unsigned frames = 3000) {
  const Rules rules(words);
  Twins twins(rules);
  unsigned held = 0;
  for (unsigned i = 0; i < frames; i++) {
    std::vector<uint8_t> bytes = frame_of(i, 5);
    const Fate fate = twins.program.impair(bytes, 1000);
    const roce_held *was = twins.program.held();
    if (fate == Fate::Gone || (!was && !all))
      continue;
    const roce_held is = twins.process.match(1000, bytes, static_cast<uint32_t>(bytes.size()), all);
    EXPECT_EQ(is.rules, was ? was->rules : 0) << words[0] << ", frame " << i;
    EXPECT_EQ(is.selected, was ? was->selected : 0) << words[0] << ", frame " << i;
    if (is.rules) {
      EXPECT_EQ(is.generation, 7);
    }
    held += was != nullptr;
  }
  EXPECT_GT(held, 0u) << words[0];
}

// The text of a rule that the process cannot read, or that the kernel does not give (now).
TEST(RulesInForce, ReportsWhatCannotBeRead) {
  const Rules rules({"roce delay 1ms", "roce drop", "roce shape 1gbit burst 2k queue 1M"});
  auto set = std::make_shared<roce_ruleset>(*rules.in_force.set);
  std::array<roce_rule_note, 3> notes{};
  for (uint32_t i = 0; i < notes.size(); i++) {
    set->rule[i].id = notes[i].id = i + 1;
    set->rule[i].slot = i;
    rules.parsed[i].text().copy(notes[i].text, sizeof(notes[i].text) - 1);
  }
  std::optional<uint32_t> missing;
  const auto read = [&] {
    return datapath::rules_in_force(
        set, [&](uint32_t slot) { return slot == missing ? nullptr : &notes.at(slot); });
  };
  const auto all = read();
  EXPECT_EQ(all.why, "");
  EXPECT_EQ(all.unread, 0U);
  EXPECT_EQ(all.generation, 7);
  ASSERT_EQ(all.rules.size(), 3U);
  EXPECT_EQ(all.rules[2].words, rules.parsed[2].text());

  missing = 2;
  auto some = read();
  EXPECT_EQ(some.unread, 4U);
  EXPECT_TRUE(some.again);
  EXPECT_EQ(some.why, "rule 3 holds no frames: the kernel does not give its text");
  EXPECT_EQ(some.rules.size(), 3U);
  missing.reset();
  notes[2].id = 9; // of a newer rule
  EXPECT_TRUE(read().again);
  notes[2].id = 3;
  EXPECT_EQ(read().unread, 0U);

  std::string("roce postpone 1ms").copy(notes[0].text, 20);
  notes[0].text[17] = 0;
  some = read();
  EXPECT_EQ(some.unread, 1U);
  EXPECT_FALSE(some.again); // the text of a slot in use does not change
  EXPECT_EQ(some.why.find("rule 1 holds no frames: it was written by another version: 'postpone'"),
            0U)
      << some.why;
  std::string("roce omit").copy(notes[1].text, 9); // holds nothing
  notes[1].text[9] = 0;
  EXPECT_EQ(read().unread, 1U);
}

TEST(MatchAgain, FindsTheProgramsSelections) {
  const std::vector<std::vector<std::string>> cases = {
      {"roce delay 1ms"},
      {"roce every 7 delay 1ms"},
      {"roce probability 10% seed 3 delay 1ms"},
      {"roce positions 3,9,40 delay 1ms"},
      {"roce every 3 delay 1ms next", "roce every 5 delay 2ms"},
      {"roce probability 20% seed 1 delay 1ms next",
       "roce every 4 shape 1gbit burst 2k queue 1M next", "roce probability 3% seed 9 delay 3ms"},
      {"roce every 3 reorder depth 2"},
      {"roce limit 10 delay 1ms"},
      {"roce every 2 drop next", "roce every 3 delay 1ms"},
      {"not roce delay 1ms next", "dest-qp 5 size 100-200 delay 1ms", "roce delay 2ms"},
      {"roce set dscp 10 next", "opcode data delay 1ms"},
  };
  for (const auto &words : cases)
    for (const bool all : {false, true})
      same_rules(words, all);
  // the program has changed what the rule asks for
  same_rules({"ecn ect ce delay 1ms"}, false);
}

TEST(MatchAgain, WithoutRulesNothingIsFound) {
  MatchAgain process(kPortBe);
  const std::vector<uint8_t> bytes = frame_of(1, 5);
  EXPECT_EQ(process.match(0, bytes, static_cast<uint32_t>(bytes.size()), false).rules, 0u);
  process.set_rules(Rules({"dest-qp 6 delay 1ms"}).in_force);
  EXPECT_EQ(process.match(0, bytes, static_cast<uint32_t>(bytes.size()), false).rules, 0u);
  const std::vector<uint8_t> other = frame_of(1, 6);
  const roce_held held = process.match(0, other, static_cast<uint32_t>(other.size()), false);
  EXPECT_EQ(held.rules, 1u);
  EXPECT_EQ(held.generation, 7);
}

// A rule that is replaced restarts; one that stays continues.
TEST(MatchAgain, SelectionsGoOnWithTheirRule) {
  MatchAgain process(kPortBe);
  const std::vector<uint8_t> bytes = frame_of(1, 5);
  const auto selected = [&] {
    return process.match(0, bytes, static_cast<uint32_t>(bytes.size()), true).selected != 0;
  };
  process.set_rules(Rules({"roce every 3 delay 1ms"}).in_force);
  EXPECT_FALSE(selected());
  EXPECT_FALSE(selected());
  process.set_rules(Rules({"roce every 3 delay 1ms", "dest-qp 9 delay 1ms"}).in_force);
  EXPECT_TRUE(selected());
  process.set_rules(Rules({"roce every 2 delay 1ms"}).in_force);
  EXPECT_FALSE(selected());
  EXPECT_TRUE(selected());
}

} // namespace
} // namespace xr::endpoint::match_again_test
