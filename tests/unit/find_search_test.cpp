// SPDX-License-Identifier: Apache-2.0
// The search over known functions: its number of trials, and how often it is right where they err.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <set>

#include "find/search.h"

namespace xr::find::find_search_test {
namespace {

using Kind = Answer::Kind;
using Function = std::function<Outcome(double)>;

Grid grid_of(const Grid::Options &options) { return std::move(Grid::make(options)).get(); }

Grid thousand() { return grid_of({.low = 0, .high = 1000, .resolution = 1, .absolute = true}); }

size_t halves(const Grid &grid) {
  return static_cast<size_t>(std::ceil(std::log2(static_cast<double>(grid.last()))));
}

Search ended(const Grid &grid, const SearchOptions &options, const Function &function) {
  Search search(grid, options);
  while (const auto trial = search.next())
    search.tell(*trial, function(grid.value(trial->index)));
  return search;
}

Outcome at_most(double value, double threshold) {
  return value <= threshold ? Outcome::Holds : Outcome::Fails;
}

// Thresholds all over a range, on each scale: the answer is right, in few trials.
TEST(FindSearch, MonotonicFunctions) {
  const Grid::Options scales[] = {
      {.low = 1, .high = 1000, .logarithmic = true, .resolution = 0.01},
      {.low = 1, .high = 1000, .logarithmic = true, .whole = true, .resolution = 0.01},
      {.low = 10, .high = 1000, .resolution = 0.01},
      {.low = 10, .high = 1000, .whole = true, .resolution = 0.0001},
      {.low = 0.5, .high = 2, .resolution = 0.001, .absolute = true}};
  for (const Grid::Options &options : scales)
    for (const bool again : {false, true})
      for (int i = 1; i < 40; i++) {
        const Grid grid = grid_of(options);
        const double threshold = options.low + (options.high - options.low) * i / 40.1;
        const Search search =
            ended(grid, {.again = again}, [&](double value) { return at_most(value, threshold); });
        const Answer answer = search.answer();
        ASSERT_EQ(answer.kind, Kind::Found);
        EXPECT_EQ(*answer.holds + 1, *answer.fails);
        EXPECT_LE(grid.value(*answer.holds), threshold);
        EXPECT_GT(grid.value(*answer.fails), threshold);
        EXPECT_LE(search.trials(), halves(grid) + 4);
        EXPECT_FALSE(answer.twist);
        EXPECT_FALSE(answer.limited);
      }
}

TEST(FindSearch, TheLeastValue) {
  const Grid grid = grid_of({.low = 1,
                             .high = 1'000'000,
                             .least = true,
                             .whole = true,
                             .resolution = 1,
                             .absolute = true});
  const Search search = ended(
      grid, {}, [](double value) { return value >= 31'337 ? Outcome::Holds : Outcome::Fails; });
  EXPECT_EQ(grid.value(*search.answer().holds), 31'337);
  EXPECT_EQ(grid.value(*search.answer().fails), 31'336);
  EXPECT_LE(search.trials(), halves(grid) + 4);
}

TEST(FindSearch, NeighboursOfAGridAreNoFartherApartThanAsked) {
  for (const double resolution : {0.1, 0.01, 0.001}) {
    const Grid grid =
        grid_of({.low = 3e6, .high = 4e11, .logarithmic = true, .resolution = resolution});
    for (size_t i = 1; i <= grid.last(); i++) {
      EXPECT_LE(grid.value(i) / grid.value(i - 1), (1 + resolution) * (1 + resolution / 5));
      EXPECT_EQ(grid.at_most(grid.value(i)), i);
    }
  }
}

TEST(FindSearch, TheEnds) {
  const Search all = ended(thousand(), {.again = true}, [](double) { return Outcome::Holds; });
  EXPECT_EQ(all.answer().kind, Kind::AllHold);
  EXPECT_EQ(all.answer().holds, 1000U);
  EXPECT_LE(all.trials(), 4U);
  const Search none = ended(thousand(), {.again = true}, [](double) { return Outcome::Fails; });
  EXPECT_EQ(none.answer().kind, Kind::NoneHolds);
  EXPECT_LE(none.trials(), 4U);
  const Search nothing = ended(thousand(), {}, [](double) { return Outcome::Void; });
  EXPECT_EQ(nothing.answer().kind, Kind::NotMeasured);
  EXPECT_EQ(nothing.trials(), 2U * Search::kMostVoids);
}

// Beyond 600 the tester is too slow: that is not the threshold of the device under test.
TEST(FindSearch, WhatCannotBeMeasuredIsNoFailure) {
  const Search search = ended(thousand(), {.again = true}, [](double value) {
    return value > 600 ? Outcome::Void : Outcome::Holds;
  });
  EXPECT_EQ(search.answer().kind, Kind::Found);
  EXPECT_EQ(search.answer().holds, 600U);
  EXPECT_TRUE(search.answer().limited);
  // A trial that is void once is tried again.
  std::set<double> tried;
  const Search once = ended(thousand(), {}, [&](double value) {
    return tried.insert(value).second ? Outcome::Void : at_most(value, 333);
  });
  EXPECT_EQ(once.answer().holds, 333U);
  EXPECT_FALSE(once.answer().limited);
}

TEST(FindSearch, WhatIsNotMonotonicIsSaid) {
  // Holds at the hard end, and not at the easy one.
  const Search upside = ended(
      thousand(), {}, [](double value) { return value > 500 ? Outcome::Holds : Outcome::Fails; });
  ASSERT_TRUE(upside.answer().twist);
  EXPECT_EQ(upside.answer().twist->fails, 0U);
  EXPECT_EQ(upside.answer().twist->holds, 1000U);
  // A trial for another goal failed at 400: the answer stays below it.
  Search hole(thousand(), {});
  hole.tell({.index = 400}, Outcome::Fails);
  while (const auto trial = hole.next())
    hole.tell(*trial, at_most(hole.grid().value(trial->index), 700));
  hole.tell({.index = 650}, Outcome::Holds);
  EXPECT_EQ(hole.answer().holds, 399U);
  ASSERT_TRUE(hole.answer().twist);
  EXPECT_EQ(hole.answer().twist->holds, 650U);
}

struct Noise {
  double errs; // probability that a trial has the wrong outcome
  unsigned trials, hold;
};
class FindNoise : public testing::TestWithParam<Noise> {};

// The true threshold is in the step after the value found, or in a neighbour of that step.
TEST_P(FindNoise, RightIn99Of100) {
  constexpr int kDraws = 10'000;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> part(0, 1);
  const Grid grid = grid_of({.low = 1, .high = 100, .logarithmic = true, .resolution = 0.01});
  int wrong = 0;
  size_t trials = 0;
  for (int i = 0; i < kDraws; i++) {
    const double threshold = std::pow(100, 0.02 + 0.96 * part(random));
    const Search search =
        ended(grid, {.trials = GetParam().trials, .hold = GetParam().hold, .again = true},
              [&](double value) {
                const bool errs = part(random) < GetParam().errs;
                return (value <= threshold) != errs ? Outcome::Holds : Outcome::Fails;
              });
    trials += search.trials();
    const Answer answer = search.answer();
    const double found = answer.holds ? grid.value(*answer.holds) : 0;
    if (found > threshold * 1.01 || found < threshold / 1.01 / 1.01)
      wrong++;
  }
  EXPECT_LE(wrong, kDraws / 100);
  EXPECT_LE(static_cast<double>(trials) / kDraws,
            GetParam().hold * (static_cast<double>(halves(grid)) + 5) * 1.3);
}
INSTANTIATE_TEST_SUITE_P(Noises, FindNoise,
                         testing::Values(Noise{0, 1, 1}, Noise{0.03, 1, 1}, Noise{0.1, 3, 2},
                                         Noise{0.15, 5, 3}));

// A slope instead of a cliff: the threshold is where half of the trials hold.
TEST(FindSearch, OfASlopeTheMiddle) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> part(0, 1);
  int far = 0;
  for (int i = 0; i < 1000; i++) {
    const Search search =
        ended(thousand(), {.trials = 3, .hold = 2, .again = true}, [&](double value) {
          return part(random) < 1 / (1 + std::exp((value - 500) / 2)) ? Outcome::Holds
                                                                      : Outcome::Fails;
        });
    const double found = thousand().value(search.answer().holds.value_or(0));
    far += std::abs(found - 500) > 10;
  }
  EXPECT_LE(far, 10);
}

TEST(FindSearch, MOfN) {
  Search search(thousand(), {.trials = 5, .hold = 4});
  const Trial first = *search.next();
  for (int i = 0; i < 3; i++)
    search.tell(first, Outcome::Holds);
  EXPECT_EQ(search.next(), first);
  search.tell(first, Outcome::Fails);
  EXPECT_EQ(search.next(), first);
  search.tell(first, Outcome::Fails); // 2 of 5 have failed: 4 cannot hold
  EXPECT_NE(search.next(), first);
}

// The rate that passes at a failing value is near the threshold.
TEST(FindSearch, AGuessSavesTrials) {
  const Grid grid = grid_of({.low = 1e7, .high = 1e10, .logarithmic = true, .resolution = 0.001});
  for (const double threshold : {2.345e7, 9.41e8, 9.9e9})
    for (const double error : {1.0, 0.999, 1.002}) {
      Search search(grid, {.again = true});
      while (const auto trial = search.next()) {
        const double value = grid.value(trial->index);
        const Outcome is = at_most(value, threshold);
        search.tell(*trial, is,
                    is == Outcome::Fails ? std::optional(threshold * error) : std::nullopt);
      }
      EXPECT_LE(grid.value(*search.answer().holds), threshold);
      EXPECT_GT(grid.value(*search.answer().fails), threshold);
      EXPECT_LE(search.trials(), error == 1 ? 6U : 10U) << threshold << " " << error;
    }
  // A wrong guess costs few trials.
  Search search(grid, {});
  while (const auto trial = search.next())
    search.tell(*trial, at_most(grid.value(trial->index), 5e8), 1e7);
  EXPECT_LE(grid.value(*search.answer().holds), 5e8);
  EXPECT_GT(grid.value(*search.answer().fails), 5e8);
  EXPECT_LE(search.trials(), 2 * halves(grid) + 4);
}

// Long trials fail where short ones hold: the answer holds in a long one.
TEST(FindSearch, WhatIsFoundIsConfirmed) {
  Search search(thousand(), {.again = true, .confirm = true});
  size_t longer = 0;
  while (const auto trial = search.next()) {
    longer += trial->longer;
    search.tell(*trial, at_most(search.grid().value(trial->index), trial->longer ? 480 : 500));
  }
  EXPECT_EQ(search.answer().kind, Kind::Found);
  EXPECT_EQ(search.answer().holds, 480U);
  EXPECT_EQ(search.answer().fails, 481U);
  EXPECT_LE(longer, 12U);
  Search agreed(thousand(), {.again = true, .confirm = true});
  while (const auto trial = agreed.next())
    agreed.tell(*trial, at_most(agreed.grid().value(trial->index), 500));
  EXPECT_EQ(agreed.answer().holds, 500U);
  EXPECT_LE(agreed.trials(), halves(thousand()) + 4);
}

// Several goals share their trials, in whatever order these come.
TEST(FindSearch, TheOrderOfWhatWasToldDoesNotMatter) {
  std::vector<std::pair<Trial, Outcome>> told;
  Search one(thousand(), {.again = true});
  while (const auto trial = one.next()) {
    told.emplace_back(*trial, at_most(one.grid().value(trial->index), 123));
    one.tell(told.back().first, told.back().second);
  }
  Search other(thousand(), {.again = true});
  for (auto at = told.rbegin(); at != told.rend(); ++at)
    other.tell(at->first, at->second);
  EXPECT_FALSE(other.next());
  EXPECT_EQ(other.answer().holds, one.answer().holds);
}

TEST(FindSearch, WhatMakesNoGridIsRefused) {
  EXPECT_FALSE(Grid::make({.low = 2, .high = 1, .resolution = 0.1}).ok());
  EXPECT_FALSE(Grid::make({.low = 1, .high = 1, .resolution = 0.1}).ok());
  EXPECT_FALSE(Grid::make({.low = 1, .high = 2, .resolution = 0}).ok());
  EXPECT_FALSE(Grid::make({.low = 0, .high = 2, .logarithmic = true, .resolution = 0.1}).ok());
  EXPECT_FALSE(Grid::make({.low = 0, .high = 1e12, .resolution = 1, .absolute = true}).ok());
}

} // namespace
} // namespace xr::find::find_search_test
