// SPDX-License-Identifier: Apache-2.0
// EventWindow keeps exactly the frames within a window, in order, also if windows overlap.
#include "port_capture/event_window.h"

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace xr::test::event_window_test {
namespace {

using Places = std::vector<int>;

// A frame is represented by its index.
Places kept(int count, const std::set<int> &events, size_t before, size_t after) {
  EventWindow<int> window(before, after);
  Places kept, dropped;
  const auto keep = [&](int frame) { kept.push_back(frame); };
  const auto drop = [&](int frame) { dropped.push_back(frame); };
  for (int i = 0; i < count; i++)
    window.add(i, events.count(i) != 0, keep, drop);
  window.finish(drop);
  EXPECT_EQ(kept.size() + dropped.size(), static_cast<size_t>(count));
  EXPECT_TRUE(std::is_sorted(dropped.begin(), dropped.end()));
  return kept;
}

TEST(EventWindow, OneEvent) {
  EXPECT_EQ(kept(10, {5}, 2, 1), (Places{3, 4, 5, 6}));
  EXPECT_EQ(kept(10, {5}, 0, 0), (Places{5}));
  EXPECT_EQ(kept(10, {}, 3, 3), (Places{}));
}

TEST(EventWindow, AtTheEnds) {
  EXPECT_EQ(kept(10, {0}, 3, 1), (Places{0, 1}));
  EXPECT_EQ(kept(10, {1}, 3, 0), (Places{0, 1}));
  EXPECT_EQ(kept(10, {9}, 1, 3), (Places{8, 9}));
  EXPECT_EQ(kept(1, {0}, 5, 5), (Places{0}));
}

TEST(EventWindow, WindowsOverlapAndTouch) {
  EXPECT_EQ(kept(12, {4, 6}, 2, 2), (Places{2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(kept(12, {3, 6}, 1, 1), (Places{2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(kept(12, {3, 4, 5}, 0, 1), (Places{3, 4, 5, 6}));
  EXPECT_EQ(kept(12, {2, 8}, 1, 2), (Places{1, 2, 3, 4, 7, 8, 9, 10}));
}

// Compared with the definition: a frame is kept if an event is near.
TEST(EventWindow, AnyEvents) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; round++) {
    const int count = static_cast<int>(random() % 60);
    const int before = static_cast<int>(random() % 6), after = static_cast<int>(random() % 6);
    std::set<int> events;
    Places want;
    for (int i = 0; i < count; i++)
      if (random() % 12 == 0)
        events.insert(i);
    for (int i = 0; i < count; i++)
      for (int event : events)
        if (i >= event - before && i <= event + after) {
          want.push_back(i);
          break;
        }
    EXPECT_EQ(kept(count, events, static_cast<size_t>(before), static_cast<size_t>(after)), want);
  }
}

} // namespace
} // namespace xr::test::event_window_test
