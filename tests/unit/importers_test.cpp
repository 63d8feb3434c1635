// SPDX-License-Identifier: Apache-2.0
// Others' words in ours: each rule and link that comes out is one that impair and link accept.
#include <gtest/gtest.h>

#include "impair/rule.h"
#include "importers/netem.h"
#include "wire/link_words.h"

namespace importers_test {
namespace {

using namespace xr;
using Rules = std::vector<std::string>;

importers::Imported netem(const std::string &options) {
  auto imported = importers::netem(options);
  EXPECT_TRUE(imported) << options << ": " << (imported ? "" : imported.error().message);
  if (!imported)
    return {};
  for (const std::string &words : imported->rules) {
    const auto rule = impair::parse({words});
    EXPECT_TRUE(rule) << words << ": " << (rule ? "" : rule.error().message);
  }
  if (!imported->link.empty()) {
    auto link = wire::parse_link({imported->link});
    EXPECT_TRUE(link) << imported->link << ": " << (link ? "" : link.error().message);
  }
  return imported.get();
}

void refused(const std::string &options, const std::string &why) {
  const auto imported = importers::netem(options);
  ASSERT_FALSE(imported) << options;
  EXPECT_EQ(imported.error().message, why) << options;
}

// Loss is first and then the delay; frames overtake where jitter makes them.
TEST(ImportNetem, DelayAndBurstsOfLoss) {
  EXPECT_EQ(netem("delay 10ms 2ms loss gemodel 1% 30%").rules,
            (Rules{"gilbert 1% 30% drop next", "delay uniform 8ms 12ms unordered"}));
  EXPECT_EQ(netem("netem loss gemodel 1 30 70 0.5 delay 100").rules,
            (Rules{"gilbert 1% 30% 70% 0.5% drop next", "delay 100us"}));
  EXPECT_EQ(netem("loss gemodel 5%").rules, (Rules{"gilbert 5% 95% drop next"}));
  EXPECT_EQ(netem("loss state 2% 20%").rules, (Rules{"gilbert 2% 20% drop next"}));
}

TEST(ImportNetem, EachOption) {
  EXPECT_EQ(netem("loss 0.1%").rules, (Rules{"probability 0.1% drop next"}));
  EXPECT_EQ(netem("loss random 0.1").rules, (Rules{"probability 0.1% drop next"}));
  EXPECT_EQ(netem("latency 1.5msec 200usecs distribution normal").rules,
            (Rules{"delay gaussian 1500us 200us unordered"}));
  EXPECT_EQ(netem("duplicate 2% corrupt 0.01% delay 1ms limit 1000 seed 7").rules,
            (Rules{"probability 2% duplicate seed 7 next",
                   "probability 0.01% corrupt bit seed 7 next", "delay 1ms seed 7"}));
  EXPECT_EQ(netem("loss 1% ecn").rules,
            (Rules{"ecn ect probability 1% ce next", "not ecn ect probability 1% drop next"}));
  // Frames that are not delayed overtake the others.
  EXPECT_EQ(netem("delay 10ms reorder 25%").rules, (Rules{"probability 75% delay 10ms"}));
  const auto slow = netem("rate 100mbit delay 1ms");
  EXPECT_EQ(slow.rules, (Rules{"delay 1ms"}));
  EXPECT_EQ(slow.link, "rate 100mbit");
}

TEST(ImportNetem, WhatHasNoEquivalentIsNamed) {
  refused("", "there are no options");
  refused("dely 10ms", "'dely' is not an option of netem");
  refused("delay", "delay: a value is missing");
  refused("delay ten", "delay: 'ten' is not a time");
  refused("delay 10ms 2ms 25%", "delay: a correlation (25%) cannot be imported");
  refused("delay 10ms 2ms distribution pareto",
          "distribution pareto: its table cannot be imported");
  refused("delay 10ms distribution normal", "distribution needs a delay with jitter");
  refused("delay 1ms 2ms",
          "delay: the jitter is more than the delay, and netem makes 0 of what is below");
  refused("loss 1% 25%", "loss: a correlation (25%) cannot be imported");
  refused("loss 101%", "loss: '101%' is not a percentage");
  refused("loss state 1% 2% 3%", "loss state: only P13 and P31 can be imported");
  refused("loss gemodel 1% 2% 3% 4% 5%", "loss gemodel: unexpected '5%'");
  refused("loss markov 1%", "loss: 'markov' is not a model");
  refused("reorder 25%", "reorder needs a delay, which the reordered frames do not have");
  refused("delay 1ms reorder 25% gap 5", "reorder: gap cannot be imported");
  refused("rate 1gbit 20", "rate: packet overhead and cells cannot be imported");
  refused("slot 800us", "slot: no rule does that");
  refused("loss 1% ecn 5", "ecn: unexpected '5'");
  refused("delay 1ms latency 2ms", "delay is given twice");
  refused("rate 1gbit seed 7", "seed: nothing is random without a rule");
  refused("rate 1gbit limit 0", "limit: '0' is not a number of packets from 1 to 4294967295");
  refused("rate 1gbit limit 10 20", "limit: unexpected '20'");
  refused("ecn delay 1ms", "ecn: it is for loss, and there is none");
}

// 200 frames of 1,514 bytes; 100,000 of them.
TEST(ImportNetem, LimitIsABuffer) {
  const auto slow = netem("rate 300kbit limit 200");
  EXPECT_EQ(slow.link, "rate 300kbit buffer 302800");
  EXPECT_EQ(wire::parse_link({slow.link})->buffer, 302'800U);
  const auto late = netem("delay 10ms limit 100000");
  EXPECT_EQ(late.rules, (Rules{"delay 10ms"}));
  EXPECT_EQ(late.link, "buffer 151400000");
  ASSERT_EQ(late.notes.size(), 1U);
  EXPECT_NE(late.notes[0].find("limit 100000"), std::string::npos);
  EXPECT_NE(late.notes[0].find("frames that the delay holds are not in it"), std::string::npos);
}

// The words of tc-netem(8)'s synopsis, each beside options that it goes with.
TEST(ImportNetem, NoWordIsDroppedSilently) {
  struct Case {
    const char *before, *words;
  };
  for (const Case &one : std::initializer_list<Case>{
           {"rate 1gbit", "limit 1000"},
           {"", "delay 10ms"},
           {"delay 10ms", "2ms"},
           {"delay 10ms 2ms", "25%"},
           {"delay 10ms 2ms", "distribution uniform"},
           {"delay 10ms 2ms", "distribution normal"},
           {"delay 10ms 2ms", "distribution pareto"},
           {"delay 10ms 2ms", "distribution paretonormal"},
           {"", "loss 1%"},
           {"", "loss random 1%"},
           {"loss random 1%", "25%"},
           {"", "loss state 1%"},
           {"loss state 1%", "30%"},
           {"loss state 1% 30%", "3%"},
           {"loss state 1% 30%", "3% 4%"},
           {"loss state 1% 30%", "3% 4% 5%"},
           {"", "loss gemodel 1%"},
           {"loss gemodel 1%", "30%"},
           {"loss gemodel 1% 30%", "70%"},
           {"loss gemodel 1% 30% 70%", "2%"},
           {"loss 1%", "ecn"},
           {"", "corrupt 1%"},
           {"corrupt 1%", "25%"},
           {"", "duplicate 1%"},
           {"duplicate 1%", "25%"},
           {"delay 10ms", "reorder 25%"},
           {"delay 10ms reorder 25%", "50%"},
           {"delay 10ms reorder 25%", "gap 5"},
           {"delay 10ms", "gap 5"},
           {"", "rate 1gbit"},
           {"rate 1gbit", "20"},
           {"rate 1gbit", "20 100"},
           {"rate 1gbit", "20 100 5"},
           {"", "slot 1ms"},
           {"", "slot 1ms 2ms"},
           {"", "slot distribution normal 1ms 2ms"},
           {"", "slot 1ms packets 5"},
           {"", "slot 1ms bytes 500"},
           {"loss 1%", "seed 7"},
           {"rate 1gbit", "seed 7"},
       }) {
    const std::string before = one.before;
    auto with = importers::netem(before + " " + one.words);
    if (!with) {
      EXPECT_FALSE(with.error().message.empty());
      continue;
    }
    const auto without = before.empty() ? importers::Imported() : netem(before);
    // uniform is the distribution without a word too.
    const bool same = with->rules == without.rules && with->link == without.link;
    EXPECT_EQ(same, std::string(one.words) == "distribution uniform")
        << before << " | " << one.words;
  }
}

} // namespace
} // namespace importers_test
