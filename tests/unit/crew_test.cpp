// SPDX-License-Identifier: Apache-2.0
// Each item is done once in each round, by any number of threads, and what one round has written is
// there in the next.
#include "base/crew.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace xr::crew_test {
namespace {

TEST(CrewThreads, EachItemOnceInEachRound) {
  std::mt19937 random(1);
  for (const unsigned threads : {1U, 2U, 3U, 8U}) {
    Crew crew;
    crew.enlist(threads);
    EXPECT_EQ(crew.threads(), threads);
    std::vector<uint64_t> done(300);
    std::vector<uint64_t> wanted(300);
    for (uint64_t round = 1; round <= 200; round++) {
      const auto count = static_cast<uint32_t>(random() % done.size());
      crew.each(count, [&](uint32_t item) { done[item] += round; });
      for (uint32_t item = 0; item < count; item++)
        wanted[item] += round;
      ASSERT_EQ(done, wanted) << threads << " threads, round " << round;
    }
  }
}

TEST(CrewThreads, ACrewThatWasNeverAskedGoesHome) {
  Crew crew;
  crew.enlist(4);
}

} // namespace
} // namespace xr::crew_test
