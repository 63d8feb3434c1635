// SPDX-License-Identifier: Apache-2.0
// `find` of an experiment file: its words, its errors, and the text of its values.
#include <gtest/gtest.h>

#include "experiment/experiment.h"

namespace xr::experiment::experiment_find_test {
namespace {

constexpr const char *kFile = R"(
experiment: threshold
vars: {rate: 1gbit, size: 1024}
duration: 1ms
topology: {star: {senders: 1, rate: 10gbit, delay: 1us}}
congestion: none
flows: [{from: sender-1, to: receiver, words: "write size {size} rate {rate}", reliable: false}]
)";

Result<Experiment> read(const std::string &find, const Settings &settings = {}) {
  return ExperimentFile(kFile + find, "file.yaml", "").read(settings);
}

Find only(const std::string &find, const Settings &settings = {}) {
  auto experiment = read(find, settings);
  EXPECT_TRUE(experiment) << (experiment.ok() ? "" : experiment.error().message);
  if (!experiment || experiment->finds.size() != 1)
    return {};
  return std::move(experiment->finds.front());
}

std::string refused(const std::string &find) {
  const auto experiment = read(find);
  return experiment ? "" : experiment.error().message + " | " + experiment.error().hint;
}

const std::string kGoals = R"(, goals: {without loss: "totals.drops == 0"}})";

TEST(ExperimentFind, Words) {
  const Find plain = only("find: {rate: 10mbit..10gbit" + kGoals);
  EXPECT_EQ(plain.key, "rate");
  EXPECT_EQ(plain.grid.low, 1e7);
  EXPECT_EQ(plain.grid.high, 1e10);
  EXPECT_TRUE(plain.grid.logarithmic);
  EXPECT_FALSE(plain.grid.least);
  EXPECT_EQ(plain.grid.resolution, 0.01);
  EXPECT_TRUE(plain.of_rate());
  ASSERT_EQ(plain.goals.size(), 1U);
  EXPECT_EQ(plain.goals[0].name, "without loss");
  const Find all = only("find: {size: 64..4k, for: least, resolution: 64b, scale: linear, trials: "
                        "4 of 5, confirm: 2ms, "
                        "at: [10%, 100%]" +
                        kGoals);
  EXPECT_TRUE(all.grid.least && all.grid.absolute && all.grid.whole);
  EXPECT_FALSE(all.grid.logarithmic || all.of_rate());
  EXPECT_EQ(all.grid.resolution, 64);
  EXPECT_EQ(all.trials, 5U);
  EXPECT_EQ(all.hold, 4U);
  EXPECT_EQ(all.confirm_ns, 2'000'000U);
  EXPECT_EQ(all.at.size(), 2U);
  EXPECT_EQ(only("find: {rate: 1gbit..5gbit, trials: 3" + kGoals).hold, 2U);
  // The ends' ratio is less than 10.
  EXPECT_FALSE(only("find: {rate: 1gbit..5gbit" + kGoals).grid.logarithmic);
}

TEST(ExperimentFind, ValuesAreShortAndInTheUnitOfTheirEnd) {
  const Find find = only("find: {rate: 1mbit..10gbit" + kGoals);
  EXPECT_EQ(find.text(9.41e8), "941mbit");
  EXPECT_EQ(find.text(9.41e9), "9.41gbit");
  EXPECT_EQ(only("find: {size: 64..4k" + kGoals).text(2000), "2k");
}

TEST(ExperimentFind, OfTheCommandLine) {
  const auto settings = find_settings(
      {.range = "size=64..4k", .least = true, .resolution = "5%", .trials = "3", .confirm = "2ms"});
  ASSERT_TRUE(settings);
  const Find find = only("find: {rate: 1mbit..10gbit, trials: 9" + kGoals, settings.get());
  EXPECT_EQ(find.key, "size");
  EXPECT_TRUE(find.grid.least);
  EXPECT_EQ(find.grid.resolution, 0.05);
  EXPECT_EQ(find.trials, 3U);
  EXPECT_EQ(find.confirm_ns, 2'000'000U);
  EXPECT_EQ(find.goals.front().name, "without loss"); // the file's
  EXPECT_FALSE(find_settings({.range = "size", .resolution = "", .trials = "", .confirm = ""}));
}

TEST(ExperimentFind, SeveralAndNone) {
  const auto two = read("find: [{rate: 1mbit..1gbit" + kGoals + ", {size: 64..4k" + kGoals + "]");
  ASSERT_TRUE(two);
  EXPECT_EQ(two.get().finds.size(), 2U);
  EXPECT_TRUE(read("find: {}").get().finds.empty());
  EXPECT_TRUE(read("find: {rate: 1mbit..1gbit" + kGoals, {{"find", "{}"}}).get().finds.empty());
}

TEST(ExperimentFind, WhatIsWrong) {
  const auto says = [](const std::string &find, const std::string &words) {
    EXPECT_NE(refused(find).find(words), std::string::npos) << find << ": " << refused(find);
  };
  says("find: 7", "it is not a map");
  says("find: {for: least}", "it has no key");
  says("find: {rate: 1mbit..1gbit, size: 1..2" + kGoals, "it has two keys");
  says("find: {rate: 1mbit" + kGoals, "a range");
  says("find: {rate: 1mbit..4k" + kGoals, "units");
  says("find: {rate: 1gbit..1mbit" + kGoals, "smaller value first");
  says("find: {rate: 1mbit..1gbit}", "nothing has to hold");
  for (const auto &[word, words] : {std::pair{"resolution: 3k", "another unit"},
                                    {"resolutoin: 1%", "did you mean resolution?"},
                                    {"trials: 0", "a number of trials"},
                                    {"trials: 4 of 3", "a number of trials"},
                                    {"for: most", "what is looked for"},
                                    {"at: [2]", "shares"}})
    says(std::string("find: {rate: 1mbit..1gbit, ") + word + kGoals, words);
  says("find: {rate: 1mbit..1gbit, goals: {x: \"flows.nothing == 0\"}}", "x: ");
  says("find: {size: 0..4k, scale: log" + kGoals, "above 0");
}

} // namespace
} // namespace xr::experiment::experiment_find_test
