// SPDX-License-Identifier: Apache-2.0
// The sixteen records of skipped PSNs per stream; and counters that exceed 24 or 32 bits.
#include <algorithm>

#include <gtest/gtest.h>

#include "steps.h"

namespace xr::test::holes_test {
namespace {

void expect_agree(Tracked &tracked) {
  EXPECT_EQ(counts_of(tracked.stream()), tracked.reference.counts());
  EXPECT_EQ(tracked.stream().word & ROCE_WORD_PSN, tracked.reference.expected());
}

// Every order of filling 1..5 of a hole: heads, tails, middles, all the splits there are.
TEST(Holes, FilledInEveryOrder) {
  std::vector<int> order = {1, 2, 3, 4, 5};
  do {
    Tracked tracked(0xfffffd); // the hole lies over the wrap
    tracked.steps(onlys({0, 6}));
    for (size_t i = 0; i < order.size(); i++) {
      tracked.step(only(order[i]));
      ASSERT_EQ(roce_stream_counter(&tracked.stream(), ROCE_FILLED), i + 1);
      tracked.step(only(order[i])); // and is no hole any more
      ASSERT_EQ(roce_stream_counter(&tracked.stream(), ROCE_DUPLICATES), i + 1);
    }
    expect_agree(tracked);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Holes, SplitInTheMiddle) {
  Tracked tracked;
  tracked.steps(onlys({0, 10, 5, 5, 4, 6, 11}));
  EXPECT_EQ(counts_of(tracked.stream()), (Counts{.packets = 7,
                                                 .messages = 6,
                                                 .gaps = 1,
                                                 .skipped = 9,
                                                 .filled = 3,
                                                 .duplicates = 1,
                                                 .rewinds = 1, // 4 and then 6: a stream continues
                                                 .reordered = 1,
                                                 .jumps = 3,
                                                 .jumped = 9 + 1 + 4,
                                                 .lost = 6,
                                                 .unsure = 3}));
  expect_agree(tracked);
}

// Odd PSNs missing up to 31: sixteen holes.
Steps sixteen_holes() {
  Steps steps;
  for (int psn = 0; psn <= 32; psn += 2)
    steps.push_back(only(psn));
  return steps;
}

TEST(Holes, SixteenAreRemembered) {
  Tracked tracked(0xfffff0);
  tracked.steps(sixteen_holes());
  for (int psn = 31; psn > 0; psn -= 2)
    tracked.step(only(psn));
  EXPECT_EQ(roce_stream_counter(&tracked.stream(), ROCE_FILLED), 16u);
  EXPECT_EQ(roce_stream_counter(&tracked.stream(), ROCE_HOLES_FORGOTTEN), 0u);
  expect_agree(tracked);
}

TEST(Holes, TheSeventeenthCostsTheOldest) {
  Tracked tracked(0xfffff0);
  tracked.steps(sixteen_holes());
  tracked.step(only(34));
  EXPECT_EQ(roce_stream_counter(&tracked.stream(), ROCE_HOLES_FORGOTTEN), 1u);
  tracked.step(only(1)); // forgotten
  EXPECT_EQ(roce_stream_counter(&tracked.stream(), ROCE_DUPLICATES), 1u);
  for (int psn = 33; psn > 1; psn -= 2)
    tracked.step(only(psn));
  EXPECT_EQ(roce_stream_counter(&tracked.stream(), ROCE_FILLED), 16u);
  EXPECT_EQ(roce_stream_counter(&tracked.stream(), ROCE_DUPLICATES), 1u);
  expect_agree(tracked);
}

// A place that was filled is free again: the next hole forgets nothing.
TEST(Holes, FilledPlacesAreUsedAgain) {
  Tracked tracked;
  tracked.steps(sixteen_holes());
  for (int i = 0; i < 40; i++) {
    tracked.step(only(2 * i + 1 + (i % 3 ? 0 : 2) - (i % 3 == 1 ? 2 : 0)));
    tracked.step(only(34 + 2 * i));
  }
  expect_agree(tracked);
}

TEST(Holes, ASplitCanBeTheSeventeenth) {
  Tracked tracked(0xfffff8);
  for (int psn = 0; psn <= 64; psn += 4) // sixteen holes of three
    tracked.step(only(psn));
  tracked.step(only(62));
  EXPECT_EQ(roce_stream_counter(&tracked.stream(), ROCE_HOLES_FORGOTTEN), 1u);
  tracked.steps(onlys({1, 2, 3}));
  EXPECT_EQ(roce_stream_counter(&tracked.stream(), ROCE_DUPLICATES), 3u);
  tracked.steps(onlys({61, 63, 5, 6, 7}));
  EXPECT_EQ(roce_stream_counter(&tracked.stream(), ROCE_FILLED), 6u);
  expect_agree(tracked);
}

// UC never fills a hole: the oldest of sixteen is forgotten for each new one.
TEST(Holes, AStreamThatFillsNone) {
  Tracked tracked(0xffff00);
  for (int psn = 0; psn < 1000; psn += 3)
    tracked.step(op(ROCE_UC_SEND_ONLY, psn));
  EXPECT_EQ(roce_stream_counter(&tracked.stream(), ROCE_GAPS), 333u);
  EXPECT_EQ(roce_stream_counter(&tracked.stream(), ROCE_HOLES_FORGOTTEN), 333u - 16u);
  expect_agree(tracked);
}

TEST(Holes, TheLongest) {
  Tracked tracked(0xff8000);
  tracked.steps(onlys({0, 65536, 2, 65535, 32768, 32767, 65537}));
  EXPECT_EQ(roce_stream_counter(&tracked.stream(), ROCE_SKIPPED), 65535u);
  EXPECT_EQ(roce_stream_counter(&tracked.stream(), ROCE_FILLED), 4u);
  expect_agree(tracked);
}

// A READ of many PSNs is the quick way around the 24 bits: n PSNs of 256 bytes.
Step read_psns(int psn, uint32_t n) { return read(psn, n * 256); }

/*
 * Around the space and back to a hole's number, by strides of different length: packets that repeat
 * what this round has seen are duplicates, whatever the round before left open there.
 */
TEST(Holes, OfTheLastRoundAreNotFilled) {
  for (uint32_t stride : {0x1000u, 0x20000u, 0x100000u, 0x3fffffu}) {
    SCOPED_TRACE(testing::Message() << "strides of " << stride);
    Tracked tracked(0xfff000);
    int psn = 2;
    tracked.steps({first(0, 256), first(1, 256), only(12)}); // missing: 2..11
    psn = 13;
    const int around = (1 << 24) + 20;
    while (psn < around) {
      const uint32_t n = std::min<uint32_t>(stride, static_cast<uint32_t>(around - psn));
      tracked.step(read_psns(psn, n));
      psn += static_cast<int>(n);
    }
    tracked.step(only((1 << 24) + 5));
    EXPECT_EQ(roce_stream_counter(&tracked.stream(), ROCE_FILLED), 0u);
    EXPECT_EQ(roce_stream_counter(&tracked.stream(), ROCE_DUPLICATES), 1u);
    EXPECT_EQ(roce_stream_counter(&tracked.stream(), ROCE_RESYNCS), 0u);
    expect_agree(tracked);
  }
}

// Packets alone, one parsed frame with its PSN counted on.
TEST(Counts, MoreThanTwentyFourBitsOfPacketsAndThirtyTwoOfBytes) {
  MemoryTable table(4);
  roce_env env(table);
  roce_packet p = parse(FrameBuilder(ROCE_RC_SEND_ONLY).build()).packet;
  constexpr uint64_t kPackets = (1u << 24) + 1000;
  constexpr uint32_t kLength = 4154;
  for (uint64_t i = 0; i < kPackets; i++) {
    p.psn = static_cast<__u32>((0xabcdef + i) & 0xffffff);
    roce_track(&env, &p, kLength);
  }
  const roce_stream &s = table.streams[0];
  EXPECT_EQ(counts_of(s), (Counts{.packets = kPackets, .messages = kPackets}));
  EXPECT_EQ(roce_stream_bytes(&s), kPackets * kLength);
  EXPECT_GT(roce_stream_bytes(&s), 1ull << 32);
  EXPECT_EQ(s.word & ROCE_WORD_PSN, (0xabcdef + kPackets) & 0xffffff);
}

// The counters of rare events have 48 bits; 65535 skipped PSNs at a time pass 32.
TEST(Counts, RareOnesPassThirtyTwoBits) {
  MemoryTable table(4);
  roce_env env(table);
  roce_packet p = parse(FrameBuilder(ROCE_UC_SEND_ONLY).build()).packet;
  constexpr uint64_t kGaps = 70000;
  for (uint64_t i = 0; i <= kGaps; i++) {
    p.psn = static_cast<__u32>((i * 65536) & 0xffffff);
    roce_track(&env, &p, 62);
    env.events.clear();
  }
  const Counts got = counts_of(table.streams[0]);
  EXPECT_EQ(got.gaps, kGaps);
  EXPECT_EQ(got.skipped, kGaps * 65535);
  EXPECT_EQ(got.jumped, kGaps * 65535);
  EXPECT_EQ(got.packets, kGaps + 1);
}

// Taking back what a rewind made no reordering of, over the low word's edge.
TEST(Counts, CountAndUncountOverTheLowWord) {
  roce_stream s{};
  roce_stream_count(&s, ROCE_REORDERED, 0xfffffffe);
  roce_stream_count(&s, ROCE_REORDERED, 5);
  EXPECT_EQ(roce_stream_counter(&s, ROCE_REORDERED), 0x100000003u);
  roce_stream_uncount(&s, ROCE_REORDERED, 4);
  EXPECT_EQ(roce_stream_counter(&s, ROCE_REORDERED), 0xffffffffu);
  roce_stream_count(&s, ROCE_REORDERED, 1);
  EXPECT_EQ(roce_stream_counter(&s, ROCE_REORDERED), 0x100000000u);
}

} // namespace
} // namespace xr::test::holes_test
