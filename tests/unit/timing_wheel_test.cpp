// SPDX-License-Identifier: Apache-2.0
// The timing wheel against a list that is searched.
#include "congestion/timing_wheel.h"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace xr::congestion::timing_wheel_test {
namespace {

TEST(TimingWheel, IsEmptyAtFirst) {
  TimingWheel wheel(4);
  uint32_t number = 7;
  EXPECT_TRUE(wheel.empty());
  EXPECT_EQ(wheel.next(), UINT64_MAX);
  EXPECT_FALSE(wheel.take(1'000'000'000, number));
}

TEST(TimingWheel, GivesAnEntryAtItsTimeAndNotBefore) {
  for (const uint64_t time : {uint64_t{0}, uint64_t{1}, uint64_t{1023}, uint64_t{1024},
                              uint64_t{1025}, uint64_t{1'048'575}, uint64_t{1'048'576},
                              uint64_t{3'000'000'000}, uint64_t{40'000'000'000'000}}) {
    TimingWheel wheel(1);
    wheel.add(0, time);
    uint32_t number = 7;
    if (time) {
      EXPECT_FALSE(wheel.take(time - 1, number)) << time;
    }
    EXPECT_LE(wheel.next(), time);
    EXPECT_TRUE(wheel.take(time, number)) << time;
    EXPECT_EQ(number, 0U);
    EXPECT_TRUE(wheel.empty());
  }
}

TEST(TimingWheel, ATimeThatHasPassedIsDueAtOnce) {
  TimingWheel wheel(2);
  uint32_t number = 0;
  EXPECT_FALSE(wheel.take(5'000'000, number));
  wheel.add(1, 3);
  EXPECT_TRUE(wheel.take(5'000'000, number));
  EXPECT_EQ(number, 1U);
}

// Times from nanoseconds to minutes, entries that come back as pacers' do, steps of all lengths.
TEST(TimingWheel, AgreesWithASearchedList) {
  std::mt19937_64 random(20261122);
  for (int round = 0; round < 40; round++) {
    constexpr uint32_t kEntries = 300;
    TimingWheel wheel(kEntries, 1'000'000);
    std::map<uint32_t, uint64_t> times;
    uint64_t now = 1'000'000;
    const auto some = [&](unsigned most_bits) {
      return random() >> (64 - (1 + random() % most_bits));
    };
    for (int step = 0; step < 400; step++) {
      for (int i = 0; i < 5; i++)
        if (const auto number = static_cast<uint32_t>(random() % kEntries); !times.count(number)) {
          times[number] = now + some(36);
          wheel.add(number, times[number]);
        }
      uint64_t earliest = UINT64_MAX;
      for (const auto &[number, time] : times)
        earliest = std::min(earliest, time);
      EXPECT_LE(wheel.next(), std::max(earliest, now));
      now += some(34);
      uint64_t slot = 0;
      for (uint32_t number = 0; wheel.take(now, number);) {
        ASSERT_TRUE(times.count(number));
        ASSERT_LE(times[number], now);
        ASSERT_GE(times[number] / TimingWheel::kSlotNs, slot);
        slot = std::max(slot, times[number] / TimingWheel::kSlotNs);
        times.erase(number);
      }
      for (const auto &[number, time] : times)
        ASSERT_GT(time, now) << number;
      ASSERT_EQ(wheel.empty(), times.empty());
    }
  }
}

} // namespace
} // namespace xr::congestion::timing_wheel_test
