// SPDX-License-Identifier: Apache-2.0
// The delay line against a sorted list, and random events at the stage: nothing is lost, and
// nothing leaves twice.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "wire/delay_line.h"
#include "wire/hold_stage.h"

namespace xr::wire::wire_hold_random_test {
namespace {

constexpr uint64_t kUs = 1000, kMs = 1'000'000, kSecond = 1'000'000'000;

uint64_t new_seed() {
  const uint64_t seed = std::random_device{}();
  printf("seed %llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

// Times from nanoseconds to hours ahead; many are equal.
TEST(DelayLine, AgreesWithASet) {
  std::mt19937_64 random(new_seed());
  for (int round = 0; round < 20; round++) {
    HeldFrames frames(0);
    DelayLine line(frames);
    std::set<std::tuple<uint64_t, uint32_t, uint32_t>> reference;
    uint64_t now = random() >> 20;
    uint32_t sequence = static_cast<uint32_t>(-1000); // wraps
    uint32_t number = 0;
    const unsigned most_bits = 1 + static_cast<unsigned>(random() % 44);
    for (int step = 0; step < 20'000; step++) {
      if (random() % 2 || reference.empty()) {
        const uint32_t index = frames.take();
        frames[index].frame.due = now + (random() >> (64 - 1 - random() % most_bits));
        frames[index].sequence = sequence++;
        line.add(index);
        reference.insert({frames[index].frame.due, number++, index});
      } else {
        const auto [time, order, index] = *reference.begin();
        ASSERT_EQ(line.next().time, time);
        ASSERT_EQ(line.pop(), index);
        now = std::max(now, time);
        frames.give_back(index);
        reference.erase(reference.begin());
      }
    }
    while (!reference.empty()) {
      ASSERT_EQ(line.pop(), std::get<2>(*reference.begin()));
      reference.erase(reference.begin());
    }
    EXPECT_EQ(line.next().time, kNever);
  }
}

class Random {
public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  uint64_t below(uint64_t end) { return engine_() % end; }
  uint64_t time() { return engine_() >> (64 - 1 - engine_() % 28); } // up to 268 ms

  Hold hold() {
    Hold hold;
    hold.kind = static_cast<Hold::Kind>(1 + below(4));
    hold.jitter = static_cast<Jitter>(below(7));
    hold.unordered = below(2);
    hold.delay_ns = time();
    hold.a = time();
    hold.b = hold.a + time() + 1;
    hold.shape = 0.1 + static_cast<double>(below(100));
    hold.every_ns = 1 + time();
    hold.table = {time(), time()};
    hold.frames = static_cast<uint32_t>((hold.kind == Hold::Kind::Reorder) + below(9));
    hold.depth = static_cast<uint32_t>(below(3) * below(200));
    hold.skip = static_cast<uint32_t>(below(5));
    hold.pass = static_cast<uint32_t>(1 + below(9));
    hold.timeout_ns = 1 + time();
    hold.rate = 125'000 + (engine_() >> (21 + engine_() % 20));
    hold.overhead = below(2) ? 24 : 0;
    hold.burst = 64 + below(100'000);
    hold.queue = 64 + below(100'000);
    return hold;
  }

private:
  std::mt19937_64 engine_;
};

// Random events, with what went in and has not come out.
class Fuzz {
public:
  explicit Fuzz(uint64_t seed) : random_(seed), counts_(kSlots) {}

  void step() {
    now_ += random_.time() >> random_.below(16);
    switch (random_.below(40)) {
    case 0:
      return set(static_cast<uint16_t>(random_.below(kSlots)));
    case 1:
      return stage_.remove_rule(static_cast<uint16_t>(random_.below(kSlots)));
    default:
      if (random_.below(3))
        return add();
      take(now_, random_.below(30));
    }
  }
  void drain() {
    for (uint64_t at; (at = stage_.next()) != kNever && !testing::Test::HasFailure();)
      take(now_ = std::max(now_, at), SIZE_MAX);
    EXPECT_TRUE(inside_.empty());
    EXPECT_EQ(stage_.held(), 0U);
    uint64_t dropped = 0;
    for (const HoldCounts &counts : counts_) {
      EXPECT_EQ(counts.backlog_frames, 0U);
      EXPECT_EQ(counts.backlog_bytes, 0U);
      EXPECT_LE(counts.late.count(), counts.frames);
      dropped += counts.dropped_frames;
    }
    EXPECT_EQ(dropped, dropped_);
    EXPECT_EQ(in_, out_ + dropped_);
  }
  uint64_t out() const { return out_; }
  uint64_t dropped() const { return dropped_; }

private:
  static constexpr uint16_t kSlots = 12;

  void set(uint16_t slot) {
    stage_.set_rule(slot, random_.hold(), random_.below(1000), &counts_[slot]);
  }
  void add() {
    std::vector<HeldBy> rules;
    for (uint16_t slot = 0; slot < kSlots; slot++)
      if (!random_.below(4))
        rules.push_back({slot, random_.below(3) != 0});
    const auto length = static_cast<uint32_t>(64 + random_.below(9000));
    // a frame may have waited before the driver looked
    const uint64_t arrived = std::max(last_arrived_, now_ - random_.below(std::min(now_, kUs) + 1));
    last_arrived_ = arrived;
    inside_[in_] = {arrived, length};
    stage_.add(now_,
               {.arrived = arrived,
                .stream = random_.below(100),
                .handle = static_cast<uint32_t>(in_),
                .length = length},
               rules);
    in_++;
    EXPECT_EQ(stage_.held(), inside_.size());
  }
  void remove(const Frame &frame) {
    const auto found = inside_.find(frame.handle);
    ASSERT_NE(found, inside_.end());
    EXPECT_EQ(found->second, std::pair(frame.arrived, frame.length));
    EXPECT_GE(frame.due, frame.arrived);
    inside_.erase(found);
  }
  void take(uint64_t now, uint64_t most) {
    Frame frame;
    HoldDrop cause;
    for (uint64_t i = 0; i < most && stage_.take(now, frame); i++) {
      EXPECT_LE(frame.due, now);
      remove(frame);
      out_++;
    }
    while (stage_.take_dropped(frame, cause)) {
      remove(frame);
      dropped_++;
    }
  }

  Random random_;
  HoldStage stage_;
  std::vector<HoldCounts> counts_;
  std::map<uint64_t, std::pair<uint64_t, uint32_t>> inside_;
  uint64_t now_ = 0, last_arrived_ = 0, in_ = 0, out_ = 0, dropped_ = 0;
};

TEST(HoldStage, LosesNothingUnderRandomEvents) {
  const uint64_t seed = new_seed();
  uint64_t out = 0, dropped = 0;
  for (uint64_t i = 0; i < 50 && !testing::Test::HasFailure(); i++) {
    SCOPED_TRACE(fmt::format("seed {}", seed + i));
    Fuzz fuzz(seed + i);
    for (int step = 0; step < 4000 && !testing::Test::HasFailure(); step++)
      fuzz.step();
    fuzz.drain();
    out += fuzz.out();
    dropped += fuzz.dropped();
  }
  EXPECT_GT(out, 50'000U);
  EXPECT_GT(dropped, 0U);
}

// One stream through delays with jitter that change under traffic keeps its order.
TEST(HoldStage, KeepsTheOrderWhileRulesChange) {
  const uint64_t seed = new_seed();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Random random(seed);
  HoldStage stage;
  const HeldBy both[] = {{0, true}, {1, true}};
  uint64_t now = 0;
  uint32_t expected = 0;
  Frame frame;
  const auto take = [&] {
    while (stage.take(now, frame))
      ASSERT_EQ(frame.handle, expected++);
  };
  constexpr uint32_t kFrames = 100'000;
  for (uint32_t i = 0; i < kFrames && !testing::Test::HasFailure(); i++) {
    if (i % 100 == 0) {
      Hold hold = random.hold();
      hold.kind = Hold::Kind::Delay;
      hold.unordered = false;
      stage.set_rule(static_cast<uint16_t>(random.below(2)), hold, i);
    }
    now += random.below(2 * kUs);
    take();
    stage.add(now, {.arrived = now, .stream = 7, .handle = i, .length = 64}, both);
  }
  now += 100 * kSecond;
  take();
  EXPECT_EQ(expected, kFrames);
}

// 1 s of delay at a million frames a second: the memory is that of the frames held at once.
TEST(HoldStage, HoldsAMillionFrames) {
  constexpr uint32_t kHeld = 1'000'000;
  for (const Jitter kind : {Jitter::None, Jitter::Uniform}) {
    Hold hold{.kind = Hold::Kind::Delay,
              .jitter = kind,
              .delay_ns = kSecond - 10 * kMs,
              .a = 0,
              .b = 20 * kMs};
    HoldStage stage(kHeld);
    stage.set_rule(0, hold, 1);
    const HeldBy by{0, true};
    uint64_t taken = 0, last = 0;
    Frame frame;
    const auto take = [&](uint64_t now) {
      while (stage.take(now, frame)) {
        taken++;
        ASSERT_GE(frame.due, last);
        last = frame.due;
      }
    };
    for (uint32_t i = 0; i < 2 * kHeld; i++) {
      take(i * kUs);
      stage.add(i * kUs, {.arrived = i * kUs, .stream = i % 1000, .handle = i, .length = 64},
                {&by, 1});
    }
    EXPECT_NEAR(static_cast<double>(stage.counts(0)->most_frames), kHeld, 0.03 * kHeld);
    take(10 * kSecond);
    EXPECT_EQ(taken, 2 * kHeld);
  }
}

} // namespace
} // namespace xr::wire::wire_hold_random_test
