// SPDX-License-Identifier: Apache-2.0
// Rules that hold frames, each against its arithmetic.
#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "wire/hold_stage.h"

namespace xr::wire::wire_hold_test {
namespace {

constexpr uint64_t kUs = 1000, kMs = 1'000'000, kSecond = 1'000'000'000;
constexpr HeldBy kFirst{0, true}, kPassing{0, false};

struct Left {
  uint32_t handle;
  uint64_t due;
  bool operator==(const Left &) const = default;
};

void PrintTo(const Left &left, std::ostream *out) { *out << left.handle << '@' << left.due; }

// A stage whose frames are taken at the times that it asks for.
class Stage {
public:
  Stage() = default;
  explicit Stage(const Hold &hold, uint64_t seed = 1) { stage.set_rule(0, hold, seed); }

  void add(uint32_t handle, uint64_t at, std::vector<HeldBy> rules = {kFirst},
           uint32_t length = 1000, uint64_t stream = 0) {
    drain(at);
    stage.add(at, {.arrived = at, .stream = stream, .handle = handle, .length = length}, rules);
  }
  // Takes what leaves before `end`.
  void drain(uint64_t end = kNever) {
    for (uint64_t at; (at = stage.next()) < end;) {
      Frame frame;
      HoldDrop cause;
      while (stage.take(at, frame)) {
        EXPECT_EQ(frame.due, at);
        left.push_back({frame.handle, frame.due});
      }
      while (stage.take_dropped(frame, cause))
        dropped.push_back(frame.handle);
      ASSERT_GT(stage.next(), at);
    }
  }
  std::vector<uint32_t> handles() {
    drain();
    std::vector<uint32_t> all;
    for (const Left &one : left)
      all.push_back(one.handle);
    return all;
  }
  const HoldCounts &counts(uint16_t slot = 0) const { return *stage.counts(slot); }

  HoldStage stage;
  std::vector<Left> left;
  std::vector<uint32_t> dropped;
};

Hold delay(uint64_t ns) { return {.kind = Hold::Kind::Delay, .delay_ns = ns}; }

Hold jitter(Jitter kind, uint64_t a, uint64_t b, double shape = 0) {
  return {
      .kind = Hold::Kind::Delay, .jitter = kind, .delay_ns = kMs, .a = a, .b = b, .shape = shape};
}

Hold accumulate(uint32_t frames, uint64_t timeout) {
  return {.kind = Hold::Kind::Accumulate, .frames = frames, .timeout_ns = timeout};
}

Hold depth(uint32_t depth, uint64_t timeout = 10 * kMs) {
  return {.kind = Hold::Kind::Reorder, .depth = depth, .timeout_ns = timeout};
}

Hold turns(uint32_t skip, uint32_t take, uint32_t pass, uint64_t timeout = 10 * kMs) {
  return {.kind = Hold::Kind::Reorder,
          .frames = take,
          .skip = skip,
          .pass = pass,
          .timeout_ns = timeout};
}

Hold shape(uint64_t rate, uint64_t burst, uint64_t queue, uint32_t overhead = 0) {
  return {.kind = Hold::Kind::Shape,
          .rate = rate,
          .overhead = overhead,
          .burst = burst,
          .queue = queue};
}

TEST(HoldStage, IsEmptyAtFirst) {
  HoldStage stage;
  Frame frame;
  HoldDrop cause;
  EXPECT_EQ(stage.next(), kNever);
  EXPECT_FALSE(stage.take(kNever - 1, frame));
  EXPECT_FALSE(stage.take_dropped(frame, cause));
  EXPECT_EQ(stage.counts(0), nullptr);
}

TEST(HoldStage, PassesWhatNoRuleHolds) {
  Stage s(delay(5));
  s.add(1, 10, {});
  s.add(2, 11, {{7, true}}); // no rule in that slot
  s.add(3, 12, {kPassing});
  s.drain();
  EXPECT_EQ(s.left, (std::vector<Left>{{1, 10}, {2, 11}, {3, 12}}));
  EXPECT_EQ(s.counts().frames, 0U);
}

TEST(HoldStage, DelaysExactly) {
  for (const uint64_t ns : {uint64_t{0}, uint64_t{1}, 50 * kUs, kMs, kSecond, kLongestHold}) {
    Stage s(delay(ns));
    std::vector<Left> expected;
    for (uint32_t i = 0; i < 100; i++) {
      s.add(i, 1000 + 7 * i);
      expected.push_back({i, 1000 + 7 * i + ns});
    }
    s.drain();
    EXPECT_EQ(s.left, expected) << ns;
    EXPECT_EQ(s.counts().late.max(), 0U);
    EXPECT_EQ(s.counts().late.count(), 100U);
  }
}

// What the driver's lateness does: it is recorded, and changes neither times nor order.
TEST(HoldStage, ADriverThatIsLateIsRecorded) {
  HoldStage stage;
  stage.set_rule(0, delay(100), 0);
  stage.set_rule(1, delay(50), 0);
  const HeldBy both[] = {{0, true}, {1, true}}, second[] = {{1, true}};
  stage.add(1000, {.arrived = 10, .handle = 1}, both);
  stage.add(1000, {.arrived = 20, .handle = 2}, second);
  Frame frame;
  ASSERT_TRUE(stage.take(5000, frame));
  EXPECT_EQ(frame.handle, 2U);
  EXPECT_EQ(frame.due, 70U);
  ASSERT_TRUE(stage.take(6000, frame));
  EXPECT_EQ(frame.handle, 1U);
  EXPECT_EQ(frame.due, 160U);
  EXPECT_EQ(stage.counts(0)->late.max(), 5000U - 110);
  EXPECT_EQ(stage.counts(1)->late.min(), 5000U - 70);
  EXPECT_EQ(stage.counts(1)->late.max(), 6000U - 160);
}

struct Moments {
  const char *name;
  Hold hold;
  double mean, variance; // of what is added to the delay
  double fourth;         // central moment / variance^2
};

// The sample's mean and variance lie within three of their standard errors.
TEST(HoldStage, DistributionsHaveTheirMoments) {
  const double us = static_cast<double>(kUs);
  Hold table = jitter(Jitter::Table, 0, 0);
  table.table = {10 * kUs, 20 * kUs, 60 * kUs};
  const double squares = (20.0 * 20 + 10 * 10 + 30 * 30) / 3;
  const double fourths = (160000.0 + 10000 + 810000) / 3;
  const Moments all[] = {
      {"uniform", jitter(Jitter::Uniform, 10 * kUs, 50 * kUs), 30 * us, 1600 * us * us / 12, 1.8},
      {"gaussian", jitter(Jitter::Gaussian, 20 * kUs, 100 * kUs), 20 * us, 1e4 * us * us, 3},
      {"poisson", jitter(Jitter::Poisson, 30 * kUs, 0), 30 * us, 30 * us * us, 3 + 1 / 30.0},
      {"poisson 2", jitter(Jitter::Poisson, 2 * kUs, 0), 2 * us, 2 * us * us, 3.5},
      {"gamma", jitter(Jitter::Gamma, 0, 30 * kUs, 2), 60 * us, 1800 * us * us, 6},
      {"gamma 0.5", jitter(Jitter::Gamma, 0, 30 * kUs, 0.5), 15 * us, 450 * us * us, 15},
      {"table", table, 30 * us, squares * us * us, fourths / (squares * squares)},
  };
  constexpr uint32_t kFrames = 1'000'000;
  for (const Moments &m : all) {
    Hold hold = m.hold;
    hold.unordered = true;
    HoldStage stage;
    stage.set_rule(0, hold, 7);
    double sum = 0, squared = 0;
    uint64_t count = 0;
    Frame frame;
    const auto take = [&](uint64_t now) {
      while (stage.take(now, frame)) {
        const double d = static_cast<double>(frame.due - frame.arrived) - kMs - m.mean;
        sum += d;
        squared += d * d;
        count++;
      }
    };
    for (uint32_t i = 0; i < kFrames; i++) {
      const uint64_t now = kUs * i;
      take(now);
      stage.add(now, {.arrived = now, .handle = i}, {&kFirst, 1});
    }
    take(kNever - 1);
    ASSERT_EQ(count, kFrames);
    const double n = kFrames, mean = sum / n, variance = squared / n - mean * mean;
    EXPECT_LT(std::abs(mean), 3 * std::sqrt(m.variance / n)) << m.name;
    EXPECT_LT(std::abs(variance / m.variance - 1), 3 * std::sqrt((m.fourth - 1) / n)) << m.name;
    EXPECT_EQ(stage.counts(0)->late.count(), kFrames);
  }
}

TEST(HoldStage, ADelayIsNeverNegative) {
  Hold hold = jitter(Jitter::Gaussian, 0, 10 * kMs);
  hold.delay_ns = 0;
  hold.unordered = true;
  Stage s(hold);
  for (uint32_t i = 0; i < 1000; i++)
    s.add(i, i * kMs);
  s.drain();
  size_t at_once = 0;
  for (const Left &left : s.left) {
    ASSERT_GE(left.due, left.handle * kMs);
    at_once += left.due == left.handle * kMs;
  }
  EXPECT_NEAR(static_cast<double>(at_once), 500, 3 * std::sqrt(250));
}

TEST(HoldStage, OneSeedGivesTheSameDelays) {
  const auto run = [](uint64_t seed) {
    Stage s(jitter(Jitter::Gamma, 0, 30 * kUs, 2), seed);
    for (uint32_t i = 0; i < 100; i++)
      s.add(i, i * kMs);
    s.drain();
    return s.left;
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_NE(run(7), run(8));
}

TEST(HoldStage, StepsTakeTurns) {
  Stage s({.kind = Hold::Kind::Delay,
           .jitter = Jitter::Step,
           .delay_ns = 3,
           .a = 10,
           .b = 500,
           .every_ns = 1000});
  std::vector<Left> expected;
  for (uint32_t i = 0; i < 10; i++)
    s.add(i, 5000 + 600 * i);
  for (uint32_t i = 0; i < 10; i++)
    expected.push_back({i, 5000 + 600 * i + 3 + (600 * i / 1000 % 2 ? 500 : 10)});
  s.drain();
  EXPECT_EQ(s.left, expected);
}

size_t inversions(const std::vector<Left> &left, uint32_t streams) {
  std::map<uint32_t, uint32_t> last;
  size_t count = 0;
  for (const Left &one : left) {
    uint32_t &before = last[one.handle % streams];
    count += one.handle < before;
    before = std::max(before, one.handle);
  }
  return count;
}

TEST(HoldStage, JitterKeepsTheOrderOfEachStream) {
  constexpr uint32_t kStreams = 50, kFrames = 20'000;
  for (const bool unordered : {false, true}) {
    Hold hold = jitter(Jitter::Uniform, 0, kMs);
    hold.unordered = unordered;
    Stage s(hold);
    for (uint32_t i = 0; i < kFrames; i++)
      s.add(i, i * kUs, {kFirst}, 100, i % kStreams);
    s.drain();
    EXPECT_EQ(s.left.size(), kFrames);
    // neighbours of a stream are 50 us apart: nearly half of the pairs would overtake
    EXPECT_EQ(inversions(s.left, kStreams) == 0, !unordered);
    EXPECT_EQ(s.counts().late.max() > 0, !unordered); // waiting for the order is recorded
    EXPECT_GT(inversions(s.left, 1), kFrames / 4);    // streams overtake one another
  }
}

// The release of each frame is max(own, last of its stream), however the table of streams grows.
TEST(HoldStage, OrderAgreesWithAMap) {
  Hold hold = jitter(Jitter::Gamma, 0, 300 * kUs, 1);
  Hold free = hold;
  free.unordered = true;
  Stage ordered(hold, 5), own(free, 5);
  std::mt19937_64 random(3);
  std::vector<uint64_t> streams;
  uint64_t now = 0;
  for (uint32_t i = 0; i < 30'000; i++) {
    now += random() % (i % 1000 == 0 ? kSecond : 2 * kUs);
    streams.push_back(random() % (i % 7 ? 20 : 5000));
    ordered.add(i, now, {kFirst}, 100, streams.back());
    own.add(i, now, {kFirst}, 100, streams.back());
  }
  ordered.drain();
  own.drain();
  std::vector<uint64_t> due(streams.size()), expected(streams.size());
  for (const Left &left : ordered.left)
    due[left.handle] = left.due;
  for (const Left &left : own.left)
    expected[left.handle] = left.due;
  std::map<uint64_t, uint64_t> last;
  for (size_t i = 0; i < streams.size(); i++) {
    uint64_t &before = last[streams[i]];
    before = expected[i] = std::max(before, expected[i]);
  }
  EXPECT_EQ(due, expected);
}

TEST(HoldStage, AccumulatesFramesAndSendsThemAtOnce) {
  Stage s(accumulate(3, 100));
  for (uint32_t i = 0; i < 8; i++)
    s.add(i, 10 * i);
  s.drain();
  EXPECT_EQ(s.left, (std::vector<Left>{
                        {0, 20}, {1, 20}, {2, 20}, {3, 50}, {4, 50}, {5, 50}, {6, 160}, {7, 160}}));
  EXPECT_EQ(s.counts().timeouts, 2U);
  EXPECT_EQ(s.counts().most_frames, 3U);
  EXPECT_EQ(s.counts().most_bytes, 3000U);
  EXPECT_EQ(s.counts().backlog_frames, 0U);
}

TEST(HoldStage, AccumulatesForATime) {
  Stage s(accumulate(0, 25));
  for (uint32_t i = 0; i < 6; i++)
    s.add(i, 10 * i);
  s.drain();
  EXPECT_EQ(s.left, (std::vector<Left>{{0, 25}, {1, 25}, {2, 25}, {3, 55}, {4, 55}, {5, 55}}));
  EXPECT_EQ(s.counts().timeouts, 0U);
}

// A frame selected as number i leaves after number i + depth: after it if that passes, before it
// leaves if that is held too.
std::vector<uint32_t> by_depth(const std::vector<bool> &selected, uint32_t depth) {
  std::vector<std::pair<double, uint32_t>> keys;
  for (uint32_t i = 0; i < selected.size(); i++)
    keys.emplace_back(selected[i] ? i + depth + 0.5 : i, i);
  std::stable_sort(keys.begin(), keys.end());
  std::vector<uint32_t> order;
  for (const auto &[key, handle] : keys)
    order.push_back(handle);
  return order;
}

TEST(HoldStage, ReordersByDepth) {
  std::mt19937_64 random(4);
  for (const uint32_t n : {1U, 2U, 3U, 17U, 511U})
    for (const unsigned one_of : {1U, 2U, 10U}) {
      Stage s(depth(n));
      std::vector<bool> selected;
      for (uint32_t i = 0; i < 3000; i++) {
        selected.push_back(i < 2000 && random() % one_of == 0); // the last ones let all go
        s.add(i, i, {{0, selected.back()}});
        s.add(100'000, i, {}); // what the rule does not match is not counted
      }
      std::vector<uint32_t> order = s.handles();
      std::erase(order, 100'000U);
      EXPECT_EQ(order, by_depth(selected, n)) << n << ", one of " << one_of;
      EXPECT_EQ(s.counts().timeouts, 0U);
      EXPECT_LE(s.counts().most_frames, n + 1);
    }
}

TEST(HoldStage, AReorderedFrameLeavesAtItsTimeout) {
  Stage s(depth(2, 100));
  s.add(0, 0);
  s.add(1, 10, {kPassing});
  s.add(2, 100, {kPassing}); // 0 leaves first
  s.add(3, 110);
  s.drain();
  EXPECT_EQ(s.left, (std::vector<Left>{{1, 10}, {0, 100}, {2, 100}, {3, 210}}));
  EXPECT_EQ(s.counts().timeouts, 2U);
}

TEST(HoldStage, ReordersInTurns) {
  Stage s(turns(2, 2, 3));
  for (uint32_t i = 0; i < 16; i++)
    s.add(i, i);
  // 0 1 pass, 2 3 are taken, 4 5 6 pass, 2 3 leave; 7 8 pass, ...
  EXPECT_EQ(s.handles(),
            (std::vector<uint32_t>{0, 1, 4, 5, 6, 2, 3, 7, 8, 11, 12, 13, 9, 10, 14, 15}));
  EXPECT_EQ(s.counts().timeouts, 0U);
  EXPECT_EQ(s.left[5].due, 6U); // with the last frame that they waited for
}

TEST(HoldStage, ATurnEndsAtItsTimeout) {
  Stage s(turns(1, 3, 2, 100));
  for (uint32_t i = 0; i < 3; i++)
    s.add(i, 10 * i);
  s.drain(1000);
  for (uint32_t i = 3; i < 9; i++)
    s.add(i, 1000 + i);
  EXPECT_EQ(s.handles(), (std::vector<uint32_t>{0, 1, 2, 3, 7, 8, 4, 5, 6}));
  EXPECT_EQ(s.left[1].due, 110U);
  EXPECT_EQ(s.left[2].due, 110U);
  EXPECT_EQ(s.counts().timeouts, 2U);
}

// A bucket of 2,000 bytes at a byte a nanosecond, against its definition.
TEST(HoldStage, ShapesExactly) {
  Stage s(shape(8 * kSecond, 2000, 3000));
  for (uint32_t i = 0; i < 7; i++)
    s.add(i, 10'000);
  s.drain();
  // two at once from the bucket, three wait, two find the queue full
  EXPECT_EQ(s.left,
            (std::vector<Left>{{0, 10'000}, {1, 10'000}, {2, 11'000}, {3, 12'000}, {4, 13'000}}));
  EXPECT_EQ(s.dropped, (std::vector<uint32_t>{5, 6}));
  EXPECT_EQ(s.counts().dropped_frames, 2U);
  EXPECT_EQ(s.counts().dropped_bytes, 2000U);
  EXPECT_EQ(s.counts().frames, 7U);
  s.left.clear();
  s.add(7, 14'500); // 1,500 tokens
  s.add(8, 14'500);
  s.add(9, 90'000, {kFirst}, 5000); // longer than the bucket, which is full
  s.add(10, 90'000);
  s.drain();
  EXPECT_EQ(s.left, (std::vector<Left>{{7, 14'500}, {8, 15'000}, {9, 90'000}, {10, 94'000}}));
}

TEST(HoldStage, ShapesToTheRate) {
  for (const uint64_t rate : {uint64_t{125'000}, uint64_t{999'999'937}, 3 * kSecond, 400 * kSecond})
    for (const uint32_t overhead : {0U, 24U}) {
      constexpr uint32_t kFrames = 10'000, kLength = 1000;
      Stage s(shape(rate, 4000, UINT32_MAX, overhead));
      for (uint32_t i = 0; i < kFrames; i++)
        s.add(i, 5);
      s.drain();
      ASSERT_EQ(s.left.size(), kFrames);
      const long double tokens = (kLength + overhead) * 8.0L * kFrames - 4000 * 8;
      const long double ns = tokens * 1e9L / static_cast<long double>(rate);
      EXPECT_EQ(s.left.back().due, 5 + static_cast<uint64_t>(std::ceil(ns))) << rate;
    }
}

TEST(HoldStage, RulesAreAPipeline) {
  Stage s;
  s.stage.set_rule(3, accumulate(2, kMs), 0);
  s.stage.set_rule(1, depth(1), 0);
  s.stage.set_rule(2, delay(100), 0);
  const HeldBy burst{3, true}, swap{1, true}, seen{1, false}, wait{2, true};
  s.add(0, 0, {burst, swap, wait});
  s.add(1, 10, {burst, seen, wait}); // both at 10: 1 passes 0
  s.add(2, 20, {wait});
  s.add(3, 30, {burst});
  s.add(4, 40, {burst});
  s.drain();
  EXPECT_EQ(s.left, (std::vector<Left>{{3, 40}, {4, 40}, {1, 110}, {0, 110}, {2, 120}}));
  EXPECT_EQ(s.counts(3).frames, 4U);
  EXPECT_EQ(s.counts(1).frames, 1U);
  EXPECT_EQ(s.counts(2).frames, 3U);
}

TEST(HoldStage, ARemovedRuleLetsItsFramesGoInTheirTime) {
  Stage s(delay(100));
  s.stage.set_rule(1, delay(1000), 0);
  const HeldBy second{1, true};
  s.add(0, 0, {kFirst, second}); // still in rule 0 when rule 1 is removed
  s.add(1, 0, {second});
  s.add(2, 0, {kFirst});
  s.stage.remove_rule(0);
  s.stage.remove_rule(1);
  EXPECT_EQ(s.stage.counts(0), nullptr);
  s.add(3, 5, {kFirst, second});
  s.drain();
  EXPECT_EQ(s.left, (std::vector<Left>{{3, 5}, {0, 100}, {2, 100}, {1, 1000}}));
}

TEST(HoldStage, AFrameOnItsWayMeetsTheRuleThatReplacedAnother) {
  Stage s(delay(100));
  s.stage.set_rule(1, delay(1000), 0);
  s.add(0, 0, {kFirst, {1, true}});
  s.stage.set_rule(1, delay(700), 0);
  s.stage.set_rule(1, delay(500), 0);
  s.drain();
  EXPECT_EQ(s.left, (std::vector<Left>{{0, 600}}));
  EXPECT_EQ(s.counts(1).frames, 1U);
}

TEST(HoldStage, AShorterDelayKeepsTheOrder) {
  Stage s(delay(1000));
  s.add(0, 0);
  s.stage.set_rule(0, delay(50), 0);
  s.stage.set_rule(0, delay(100), 0);
  s.add(1, 10);
  s.add(2, 950);
  s.drain();
  EXPECT_EQ(s.left, (std::vector<Left>{{0, 1000}, {1, 1000}, {2, 1050}}));
}

TEST(HoldStage, ARuleInAnotherSlotTakesThePlaceOfOne) {
  Stage s(delay(1000));
  s.add(0, 0);
  s.stage.set_rule(3, delay(50), 0, nullptr, 0);
  EXPECT_EQ(s.stage.counts(0), nullptr);
  const HeldBy moved{3, true};
  s.add(1, 10, {moved});
  s.add(2, 980, {moved});
  s.drain();
  EXPECT_EQ(s.left, (std::vector<Left>{{0, 1000}, {1, 1000}, {2, 1030}}));
  EXPECT_EQ(s.counts(3).frames, 2U);
}

TEST(HoldStage, CountsWhereItIsTold) {
  HoldCounts counts;
  HoldStage stage;
  stage.set_rule(5, delay(100), 0, &counts);
  const HeldBy by{5, true};
  stage.add(0, {.length = 64}, {&by, 1});
  EXPECT_EQ(counts.backlog_bytes, 64U);
  EXPECT_EQ(stage.counts(5), &counts);
  stage.remove_rule(5);
  Frame frame;
  EXPECT_TRUE(stage.take(100, frame));
  EXPECT_EQ(counts.backlog_bytes, 0U);
  EXPECT_EQ(counts.late.count(), 1U);
}

} // namespace
} // namespace xr::wire::wire_hold_test
