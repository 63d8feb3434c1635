// SPDX-License-Identifier: Apache-2.0
// RED and policers in virtual time.
#include <algorithm>

#include <fmt/format.h>

#include "impair_port.h"
#include "roce/act.h"
#include "statistics.h"

// The environment that is asked for, of which queues need nothing.
struct roce_env {
  uint64_t now;
};
struct roce_frame {
  uint8_t *bytes;
};
[[maybe_unused]] static roce_rule_count *roce_rule_count_at(roce_env *, __u32) { return nullptr; }
[[maybe_unused]] static __u32 roce_rule_point(roce_env *, __u32, __u32) { return 0; }
[[maybe_unused]] static __u64 roce_clock(roce_env *env) { return env->now; }
[[maybe_unused]] static int roce_frame_load(roce_frame *, __u32, __u8 *) { return -1; }
[[maybe_unused]] static int roce_frame_store(roce_frame *, __u32, __u8) { return -1; }

namespace xr::test::queue_test {
namespace {

constexpr double kUnit = 1.0 / (1 << ROCE_QUEUE_SHIFT); // nanoseconds
constexpr uint64_t kSecond = 1'000'000'000;

roce_queue queue_of(const std::string &words) {
  auto rule = impair::parse({words});
  EXPECT_TRUE(rule.ok()) << words << ": " << rule.error().message;
  return rule ? rule->compiled.action.queue : roce_queue{};
}

struct Queue {
  explicit Queue(const std::string &words, uint64_t start = 1000)
      : queue(queue_of(words)), now(start) {}

  // What it held before, in nanoseconds.
  double add(uint32_t length) {
    return static_cast<double>(roce_queue_add(&queue, &state, length, now, queue.most, 0)) * kUnit;
  }
  bool passes(uint32_t length) {
    return roce_queue_add(&queue, &state, length, now, queue.low, 1) != ~0ULL;
  }

  roce_queue queue;
  roce_rule_state state{};
  uint64_t now;
};

TEST(Queue, ThresholdsAreTimes) {
  const roce_queue q = queue_of("red 5k 200k 1% rate 10gbit");
  EXPECT_EQ(q.low, 4000U << ROCE_QUEUE_SHIFT);
  EXPECT_EQ(q.high, 160'000U << ROCE_QUEUE_SHIFT);
  EXPECT_EQ(q.most, 8 * 160'000U << ROCE_QUEUE_SHIFT);
}

TEST(Queue, DrainsAtItsRate) {
  struct Case {
    const char *words;
    double byte; // nanoseconds
    uint32_t overhead;
  };
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  for (const Case &c :
       {Case{"red 5k 200k 1% rate 10gbit", 0.8, 0}, Case{"red 5k 200k 1% rate 10gbit l1", 0.8, 24},
        Case{"red 50k 200k 1% rate 125kbit", 64000, 0}, Case{"red 50k 1M 1% rate 400gbit", 0.02, 0},
        Case{"red 50k 1M 1% rate 3gbit", 8.0 / 3, 0}}) {
    Queue queue(c.words);
    double model = 0, before = 0;
    int added = 0;
    for (int i = 0; i < 100'000; i++) {
      const auto length = static_cast<uint32_t>(64 + random() % 9000);
      const auto pause = static_cast<uint64_t>(static_cast<double>(random() % 12'000) * c.byte);
      queue.now += pause;
      model = std::max(0.0, model - static_cast<double>(pause));
      added = model == 0 ? 0 : added;
      const double held = queue.add(length), most = static_cast<double>(queue.queue.most) * kUnit;
      // each frame's time is rounded down to a unit
      ASSERT_NEAR(held, model, (added + 1) * kUnit * 2) << c.words << " frame " << i;
      model = std::min(most, model + (length + c.overhead) * c.byte);
      added++;
      before = held;
    }
    EXPECT_GE(before, 0);
  }
}

TEST(Queue, HoldsNoMoreThanItsMost) {
  Queue queue("red 5k 10k 1% rate 1gbit max 20k"); // 160 us
  for (int i = 0; i < 100; i++)
    EXPECT_EQ(queue.add(1000), std::min(i, 20) * 8000.0);
  queue.now += 60'000;
  EXPECT_EQ(queue.add(100), 100'000);
  queue.now += 1'000'000'000;
  EXPECT_EQ(queue.add(100), 0);
}

// A box may be up for years.
TEST(Queue, ClockMayPassEveryBoundary) {
  for (const uint64_t start : {(1ULL << 55) - 5000, (1ULL << 56) - 5000, (1ULL << 57) - 5000,
                               3 * (1ULL << 55) - 5000, 1ULL << 60}) {
    Queue red("red 5k 200k 1% rate 1gbit", start), police("police 1gbit burst 10k", start);
    EXPECT_EQ(red.add(1000), 0) << start;
    int passed = 0;
    for (int i = 0; i < 100; i++) {
      red.now += 2000;
      EXPECT_EQ(red.add(500), 8000 - 2000 + i * 2000) << start << " " << i;
      police.now += 2000; // four times what it lets pass
      passed += police.passes(1000);
    }
    EXPECT_EQ(passed, 34) << start; // 278 us: the burst and the time since the first
    police.now += kSecond;
    EXPECT_TRUE(police.passes(10'000)) << start;
  }
}

TEST(Queue, RedMarksByWhatItHolds) {
  for (const double most : {0.01, 0.2, 1.0}) {
    const roce_queue q = queue_of(fmt::format("red 5k 200k {} rate 10gbit", most));
    const auto marks = [&q](uint64_t held, uint64_t seed) {
      double marked = 0;
      for (uint64_t n = 1; n <= 100'000; n++)
        marked += roce_red_marks(&q, held, roce_random(seed, n, ROCE_DRAW_MARK));
      return marked;
    };
    EXPECT_EQ(marks(0, 1), 0);
    EXPECT_EQ(marks(q.low, 1), 0);
    EXPECT_EQ(marks(q.high + 1, 1), 100'000);
    EXPECT_EQ(marks(q.most, 1), 100'000);
    for (int bin = 1; bin <= 20; bin++) { // the last at KMAX
      const uint64_t held = q.low + (q.high - q.low) * static_cast<uint64_t>(bin) / 20;
      const double p = most * bin / 20;
      if (p == 1) {
        EXPECT_EQ(marks(held, 1), 100'000);
        continue;
      }
      expect_usual(fmt::format("PMAX {} at {}/20", most, bin),
                   [&](uint64_t seed) { return z_of_count(marks(held, seed), 100'000, p); });
    }
  }
}

Bytes frame_of(uint32_t length, uint8_t ecn = 2) {
  const Bytes bytes = finished(FrameBuilder(0x04).payload(length - 58).ecn(ecn).build(), false);
  EXPECT_EQ(bytes.size(), length);
  return bytes;
}

bool is_marked(const Bytes &bytes) { return (bytes[ROCE_ETH_LEN + 1] & 3) == 3; }

TEST(Queue, RedMarksFrames) {
  Port port({"red 5k 10k 100% rate 1gbit max 12k"});
  const Bytes frame = frame_of(1000);
  const auto burst = [&](uint64_t now, int unmarked_at_least) {
    for (int i = 0; i < 20; i++) {
      Bytes bytes = frame;
      port.impair(bytes, now);
      if (i < unmarked_at_least) {
        EXPECT_FALSE(is_marked(bytes)) << i; // it held 5000 bytes or fewer
      }
      if (i >= unmarked_at_least + 5) {
        EXPECT_TRUE(is_marked(bytes)) << i; // it held 10000 or more: PMAX is 1
      }
    }
  };
  burst(kSecond, 6);
  burst(kSecond + 96'000, 6); // 12000 bytes have drained
  burst(2 * kSecond, 6);
  // Half of what the port can take, and twice: none and all, once the queue has grown.
  Port calm({"red 5k 10k 1% rate 1gbit"}), busy({"red 5k 10k 1% rate 1gbit"});
  for (uint64_t i = 0; i < 10'000; i++) {
    Bytes a = frame, b = frame;
    calm.impair(a, kSecond + i * 16'000);
    busy.impair(b, kSecond + i * 4'000);
    EXPECT_FALSE(is_marked(a));
    if (i > 22) {
      EXPECT_TRUE(is_marked(b)) << i;
    }
  }
}

TEST(Queue, RedCountsWhatCannotBeMarked) {
  Port port({"red 5k 10k 100% rate 1gbit"});
  const Bytes plain = frame_of(1000, 0), capable = frame_of(1000);
  for (int i = 0; i < 20; i++) {
    Bytes bytes = plain;
    port.impair(bytes, kSecond);
    EXPECT_EQ(bytes, plain);
  }
  EXPECT_EQ(port.acted(), 0U);
  Bytes bytes = capable;
  port.impair(bytes, kSecond);
  EXPECT_TRUE(is_marked(bytes));
  EXPECT_EQ(port.acted(), 1U);
}

// Twice as much is offered as may pass.
TEST(Queue, PolicerPassesItsRate) {
  struct Case {
    const char *words;
    double bits; // a second
    uint32_t length, overhead;
  };
  for (const Case &c : {Case{"police 100mbit burst 16k", 1e8, 1000, 0},
                        Case{"police 100mbit burst 16k l1", 1e8, 1000, 24},
                        Case{"police 100mbit burst 16k l2", 1e8, 64, 0},
                        Case{"police 100mbit burst 16k l1", 1e8, 64, 24},
                        Case{"police 1gbit burst 64k", 1e9, 4170, 0}}) {
    Port port({c.words});
    const Bytes frame = frame_of(c.length);
    const double bits = 8.0 * (c.length + c.overhead), step = 1e9 * bits / c.bits / 2;
    const double seconds = c.length < 1000 ? 0.5 : 3;
    double passed = 0;
    for (double t = 0; t < seconds * 1e9; t += step) {
      Bytes bytes = frame;
      passed += port.impair(bytes, kSecond + static_cast<uint64_t>(t)) == Fate::GoOn;
    }
    EXPECT_NEAR(passed * bits / (c.bits * seconds), 1, 0.01) << c.words << " " << c.length;
  }
}

TEST(Queue, PolicerPassesItsRateAtAnyRate) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  for (const auto &[word, rate] : {std::pair{"125kbit", 1.25e5},
                                   {"1mbit", 1e6},
                                   {"3gbit", 3e9},
                                   {"100gbit", 1e11},
                                   {"400gbit", 4e11},
                                   {"10tbit", 1e13}})
    for (const uint32_t length : {64U, 1500U, 9018U}) {
      Queue queue(fmt::format("police {} burst 1M", word));
      const double time = 8e9 * length / rate; // of a frame
      double t = 0, passed = 0;
      for (int i = 0; i < 400'000; i++) {
        t += time / 2 * 2 * static_cast<double>(random() % 1000) / 1000;
        queue.now = kSecond + static_cast<uint64_t>(t);
        passed += queue.passes(length);
      }
      EXPECT_NEAR((passed * length - 1e6) * 8 / (rate * t / 1e9), 1, 0.01) << word << " " << length;
    }
}

TEST(Queue, PolicerPassesABurst) {
  for (const uint32_t length : {64U, 100U, 1000U, 9018U, 64'000U})
    for (const char *rate : {"125kbit", "1gbit", "7gbit", "400gbit"}) {
      Queue queue(fmt::format("police {} burst 64k", rate));
      for (int round = 0; round < 3; round++) {
        uint32_t passed = 0;
        for (int i = 0; i < 2000; i++)
          passed += queue.passes(length);
        // at 400 Gb/s a byte is 5 units of time
        const uint32_t room = 64'000 / length;
        EXPECT_GE(passed, room) << rate << " " << length;
        EXPECT_LE(passed, room + room / 300) << rate << " " << length;
        queue.now += 100 * kSecond; // idle for long: no more than the burst is there
      }
    }
  Queue layer1("police 1gbit burst 10k l1");
  int passed = 0;
  for (int i = 0; i < 100; i++)
    passed += layer1.passes(976);
  EXPECT_EQ(passed, 10);
  EXPECT_FALSE(Queue("police 1gbit burst 1k").passes(1001)); // more than a burst never passes
}

TEST(Queue, PolicerRefillsAtItsRate) {
  Queue queue("police 1gbit burst 10k");
  while (queue.passes(1000)) {
  }
  queue.now += 7999;
  EXPECT_FALSE(queue.passes(1000));
  queue.now += 1;
  EXPECT_TRUE(queue.passes(1000));
  EXPECT_FALSE(queue.passes(64));
  queue.now += 40'000;
  for (int i = 0; i < 5; i++)
    EXPECT_TRUE(queue.passes(1000));
  EXPECT_FALSE(queue.passes(64));
}

TEST(Queue, PolicerMarksExcess) {
  Port port({"police 1gbit burst 2000 excess ce"});
  const Bytes frame = frame_of(1000);
  for (int i = 0; i < 5; i++) {
    Bytes bytes = frame;
    EXPECT_EQ(port.impair(bytes, kSecond), Fate::GoOn);
    EXPECT_EQ(is_marked(bytes), i >= 2);
  }
  EXPECT_EQ(port.totals().marked, 3U);
  EXPECT_EQ(port.totals().dropped_policed, 0U);
}

} // namespace
} // namespace xr::test::queue_test
