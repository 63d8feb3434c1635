// SPDX-License-Identifier: Apache-2.0
// What tests of expectations share: parsed and checked, decided, or refused with words.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "expect/expectation.h"

namespace xr::test {

struct DecidedCase {
  const char *text;
  ExperimentCheck::Outcome outcome;
  double value, bound;
};

// Parts of the message and of the hint.
struct Refusal {
  const char *text, *message, *hint;
};

inline void expect_refused(const Refusal &one, const Error &error) {
  EXPECT_NE(error.message.find(one.message), std::string::npos)
      << one.text << ": " << error.message;
  EXPECT_NE(error.hint.find(one.hint), std::string::npos) << one.text << ": " << error.hint;
}

inline void expect_refused_by_parser(std::initializer_list<Refusal> all) {
  for (const Refusal &one : all) {
    const auto made = experiment::Expectation::parse(one.text);
    ASSERT_FALSE(made.ok()) << one.text;
    expect_refused(one, made.error());
  }
}

inline void expect_refused_before_run(const experiment::Subject &subject,
                                      std::initializer_list<Refusal> all) {
  for (const Refusal &one : all) {
    const auto made = experiment::Expectation::parse(one.text);
    ASSERT_TRUE(made.ok()) << one.text << ": " << made.error().message;
    const Status sound = made.get().check(subject);
    ASSERT_FALSE(sound.ok()) << one.text;
    expect_refused(one, sound.error());
  }
}

// Calls `decide` with the expectation if it is sound.
template <typename Decide>
ExperimentCheck evaluate_sound(const std::string &text, const experiment::Subject &subject,
                               Decide decide) {
  const auto expectation = experiment::Expectation::parse(text);
  EXPECT_TRUE(expectation.ok()) << text << ": " << expectation.error().message;
  if (!expectation)
    return {};
  const Status sound = expectation.get().check(subject);
  EXPECT_TRUE(sound.ok()) << text << ": " << sound.error().message;
  return sound ? decide(expectation.get()) : ExperimentCheck{};
}

} // namespace xr::test
