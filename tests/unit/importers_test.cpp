// SPDX-License-Identifier: Apache-2.0
// Others' words in ours: each rule and link that comes out is one that impair and link accept.
#include <gtest/gtest.h>

#include "impair/rule.h"
#include "importers/netem.h"
#include "wire/link_words.h"

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

// Loss is first and goes on to the delay, and what jitter makes overtake does overtake.
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
  refused("loss gemodel 1% 2% 3% 4% 5%", "loss gemodel: '5%' is too much");
  refused("loss markov 1%", "loss: 'markov' is not a model");
  refused("reorder 25%", "reorder needs a delay, which the reordered frames do not have");
  refused("delay 1ms reorder 25% gap 5", "reorder: gap cannot be imported");
  refused("rate 1gbit 20", "rate: packet overhead and cells cannot be imported");
  refused("slot 800us", "slot: no rule does that");
  refused("ecn delay 1ms", "ecn: it is for loss, and there is none");
}

} // namespace
