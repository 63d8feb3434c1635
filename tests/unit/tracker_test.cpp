// SPDX-License-Identifier: Apache-2.0
// The rules of include/roce/README.md 7, each with a stream short enough to count by hand.
#include <gtest/gtest.h>

#include "steps.h"

namespace xr::test::tracker_test {
namespace {

// Nothing may depend on where the PSNs start, so every table also runs over both wraps (of the PSN
// and of its sign); nor on the fast path, so each runs once more with every packet marked CE, which
// takes none.
void check(const Steps &steps, Counts want) {
  want.packets = steps.size();
  for (uint32_t base : {0x100u, 0u, 0xffffffu, 0xfffffeu, 0xfffffau, 0x7ffffeu})
    for (uint8_t ecn : {2, 3}) {
      SCOPED_TRACE(testing::Message() << "from PSN " << base << ", ECN " << int(ecn));
      Tracked tracked(base, ecn);
      tracked.steps(steps);
      want.ce = ecn == 3 ? want.packets : 0;
      EXPECT_EQ(counts_of(tracked.stream()), want);
      EXPECT_EQ(tracked.reference.counts(), want) << "the reference itself";
      EXPECT_EQ(tracked.stream().word & ROCE_WORD_PSN, tracked.reference.expected());
      EXPECT_EQ(tracked.stream().first_psn, tracked.reference.first_psn());
      EXPECT_EQ(roce_stream_bytes(&tracked.stream()), tracked.reference.bytes());
      if (testing::Test::HasFailure())
        return;
    }
}

TEST(Tracker, FirstPacketIsAdopted) {
  check(onlys({1234}), {.messages = 1});
  Tracked tracked;
  tracked.step(only(1234));
  EXPECT_EQ(tracked.stream().first_psn, 1234u);
  EXPECT_EQ(tracked.stream().word & ROCE_WORD_PSN, 1235u);
}

TEST(Tracker, InOrder) { check(onlys({0, 1, 2, 3, 4, 5, 6, 7}), {.messages = 8}); }

TEST(Tracker, Gap) {
  check(onlys({0, 1, 4, 5}),
        {.messages = 4, .gaps = 1, .skipped = 2, .jumps = 1, .jumped = 2, .lost = 2});
  check(onlys({0, 2, 4, 6}),
        {.messages = 4, .gaps = 3, .skipped = 3, .jumps = 3, .jumped = 3, .lost = 3});
}

// "each reordered packet makes two jumps and no gap that stays"
TEST(Tracker, LatePacketIsReordered) {
  check(onlys({0, 1, 3, 2, 4}), {.messages = 5,
                                 .gaps = 1,
                                 .skipped = 1,
                                 .filled = 1,
                                 .reordered = 1,
                                 .jumps = 2,
                                 .jumped = 2,
                                 .unsure = 1});
}

TEST(Tracker, LatePacketsInWrongOrderAreEachReordered) {
  check(onlys({0, 3, 2, 1, 4}), {.messages = 5,
                                 .gaps = 1,
                                 .skipped = 2,
                                 .filled = 2,
                                 .reordered = 2,
                                 .jumps = 2,
                                 .jumped = 4,
                                 .unsure = 2});
}

TEST(Tracker, Duplicate) {
  check(onlys({0, 1, 1, 2}), {.messages = 3, .duplicates = 1});
  check(onlys({0, 1, 2, 0, 3}), {.messages = 4, .duplicates = 1, .jumps = 1, .jumped = 2});
  check(onlys({0, 0, 0, 1}), {.messages = 2, .duplicates = 2}); // each copy starts a run of its own
}

TEST(Tracker, BeforeTheFirst) {
  check(onlys({0, -1, 1}), {.messages = 2, .duplicates = 1, .jumps = 1, .jumped = 1});
}

TEST(Tracker, GoBackN) {
  check(onlys({0, 1, 3, 2, 3, 4}), {.messages = 5,
                                    .gaps = 1,
                                    .skipped = 1,
                                    .filled = 1,
                                    .duplicates = 1,
                                    .rewinds = 1,
                                    .jumps = 1,
                                    .jumped = 1,
                                    .lost = 1,
                                    .go_backs = 1});
}

TEST(Tracker, OneRoundIsOneRewind) {
  check(onlys({0, 1, 2, 3, 4, 5, 2, 3, 4, 5, 6}),
        {.messages = 7, .duplicates = 4, .rewinds = 1, .go_backs = 1});
}

TEST(Tracker, ARoundInsideARound) {
  check(onlys({0, 1, 2, 3, 4, 1, 2, 3, 1, 2, 3, 4, 5}),
        {.messages = 6, .duplicates = 7, .rewinds = 2, .go_backs = 2});
}

TEST(Tracker, ReorderedIsTakenBackByARewind) {
  check(onlys({0, 5, 1, 2, 3, 4, 6}), {.messages = 7,
                                       .gaps = 1,
                                       .skipped = 4,
                                       .filled = 4,
                                       .rewinds = 1,
                                       .jumps = 2,
                                       .jumped = 5,
                                       .unsure = 4});
}

// What is lost again inside a round is before expected: no gap sees it, a jump does.
TEST(Tracker, LossInsideARound) {
  check(onlys({0, 1, 2, 3, 4, 5, 1, 2, 4, 5, 6}), {.messages = 7,
                                                   .duplicates = 4,
                                                   .rewinds = 1,
                                                   .jumps = 1,
                                                   .jumped = 1,
                                                   .unsure = 1,
                                                   .go_backs = 1});
}

TEST(Tracker, ResyncDistance) {
  check(onlys({0, 1 + 65535}),
        {.messages = 2, .gaps = 1, .skipped = 65535, .jumps = 1, .jumped = 65535, .lost = 65535});
  check(onlys({0, 1 + 65536, 2 + 65536}), {.messages = 3, .resyncs = 1});
  check(onlys({0, 1 - 65535}), {.messages = 1, .duplicates = 1});
  check(onlys({0, 1 - 65536, 2 - 65536}), {.messages = 3, .resyncs = 1});
}

// Holes 1..9, then another life of the QPN that comes to the same PSNs: 7 is no hole of this life.
TEST(Tracker, ResyncForgetsHoles) {
  check(onlys({0, 10, 11 - 65536, 6, 7, 7}), {.messages = 5,
                                              .gaps = 2,
                                              .skipped = 9 + 65530,
                                              .duplicates = 1,
                                              .resyncs = 1,
                                              .jumps = 2,
                                              .jumped = 9 + 65530,
                                              .lost = 65539});
}

TEST(Tracker, ResyncEndsARun) {
  check(onlys({0, 1, 2, 0, 200000, 200000}), {.messages = 4, .duplicates = 2, .resyncs = 1});
}

TEST(Tracker, MessagesEndInRequests) {
  check({first(0, 1024), op(ROCE_RC_SEND_MIDDLE, 1, 1024), last(2),
         op(ROCE_RC_RDMA_WRITE_FIRST, 3, 1024), op(ROCE_RC_RDMA_WRITE_LAST_WITH_IMMEDIATE, 4, 8),
         op(ROCE_RC_COMPARE_SWAP, 5), op(ROCE_RC_FETCH_ADD, 6), op(ROCE_RC_FLUSH, 7),
         op(ROCE_RC_ATOMIC_WRITE, 8, 8), read(9, 100), op(ROCE_RC_SEND_ONLY_WITH_INVALIDATE, 10)},
        {.messages = 8});
}

TEST(Tracker, OtherTransportsHaveTheSameRules) {
  for (int transport : {ROCE_UC, ROCE_XRC}) {
    const uint8_t opcode = static_cast<uint8_t>(transport | 4);
    check({op(opcode, 0), op(opcode, 2), op(opcode, 1)}, {.messages = 3,
                                                          .gaps = 1,
                                                          .skipped = 1,
                                                          .filled = 1,
                                                          .reordered = 1,
                                                          .jumps = 1,
                                                          .jumped = 1,
                                                          .lost = transport == ROCE_XRC});
  }
}

// UC never goes back: packets in a row with PSNs before the newest are late.
TEST(Tracker, UcIsReorderedOrRepeated) {
  const auto uc = [](uint32_t psn) { return op(ROCE_UC_SEND_ONLY, psn); };
  check({uc(0), uc(1), uc(2), uc(5), uc(3), uc(4), uc(6)}, {.messages = 7,
                                                            .gaps = 1,
                                                            .skipped = 2,
                                                            .filled = 2,
                                                            .reordered = 2,
                                                            .jumps = 2,
                                                            .jumped = 3});
  check({uc(0), uc(1), uc(2), uc(0), uc(1), uc(2), uc(3)}, {.messages = 4, .duplicates = 3});
}

TEST(Tracker, DatagramsAreCountedAndNotTracked) {
  for (uint8_t opcode : {0x64, 0x65, 0x40, 0x41, 0x4c, 0x51}) {
    MemoryTable table(4);
    roce_env env(table);
    for (uint32_t psn : {5u, 9u, 9u, 1u})
      feed(env, FrameBuilder(opcode).psn(psn).src_qp(0x777).build());
    ASSERT_EQ(table.used(), 1u);
    EXPECT_EQ(counts_of(table.streams[0]), (Counts{.packets = 4, .messages = 4}))
        << "opcode " << int(opcode);
    if ((opcode & 0xe0) == ROCE_UD) {
      EXPECT_TRUE(table.streams[0].flags & ROCE_STREAM_SRC_QP);
      EXPECT_EQ(table.streams[0].src_qp, 0x777u);
    }
  }
}

TEST(Tracker, UnassignedOpcodesBelongToNoStream) {
  for (uint8_t opcode : {0x15, 0x18, 0x2c, 0x66, 0x80, 0x82, 0xb5, 0xc0, 0xff}) {
    MemoryTable table(4);
    roce_env env(table);
    feed(env, FrameBuilder(opcode).build());
    EXPECT_EQ(table.used(), 0u) << int(opcode);
    EXPECT_EQ(env.opcodes[opcode].packets[2], 1u);
  }
}

TEST(Tracker, ResponsesMayRunAhead) {
  check({read_only(0), read_only(5), read_only(6)}, {.messages = 3});
  check({read_first(0), read_middle(1), read_last(2), read_first(7), read_last(8)},
        {.messages = 2});
  check({atomic_ack(0), atomic_ack(9), read_only(12), atomic_ack(20)}, {.messages = 4});
}

TEST(Tracker, LossInsideAReadResponse) {
  check({read_first(0), read_middle(2), read_last(3)},
        {.messages = 1, .gaps = 1, .skipped = 1, .jumps = 1, .jumped = 1, .lost = 1});
  check({read_only(0), read_middle(2), read_last(3)}, // its FIRST was lost
        {.messages = 2, .gaps = 1, .skipped = 1, .jumps = 1, .jumped = 1, .lost = 1});
}

// A LAST that was lost leaves the READ open: what comes ahead of it then is a gap.
TEST(Tracker, OpenReadResponse) {
  const Counts want = {.messages = 1, .gaps = 1, .skipped = 1, .jumps = 1, .jumped = 1, .lost = 1};
  Counts two = want;
  check({read_first(0), read_middle(1), read_only(3)}, want);
  check({read_first(0), read_middle(1), atomic_ack(3)}, want);
  check({read_first(0), read_first(2), read_last(3)}, want);
  two.messages = 2; // the LAST closed it, so the second jump is legal
  check({read_first(0), read_middle(1), read_only(3), read_only(9)}, two);
  // an ATOMIC ACKNOWLEDGE is no READ RESPONSE and closes none
  check({read_first(0), atomic_ack(1), read_only(3)},
        {.messages = 2, .gaps = 1, .skipped = 1, .jumps = 1, .jumped = 1, .lost = 1});
}

TEST(Tracker, ReplayedResponses) {
  check({read_first(0), read_middle(1), read_last(2), read_first(1), read_last(2), read_only(3)},
        {.messages = 2, .duplicates = 2, .rewinds = 1, .go_backs = 1});
}

TEST(Tracker, AnswersMoveNoTracker) {
  check({read_only(0), ack(50), ack(3), ack(900, 0x60), ack(7, 0x22), read_only(1), read_middle(2)},
        {.messages = 2});
  check({read_first(0), op(ROCE_OPCODE_CNP, 0, 16), ack(1), read_last(1),
         op(ROCE_OPCODE_CNP, 70000, 16)},
        {.messages = 1, .cnps = 2});
}

TEST(Tracker, RequestsAndResponsesToOneQpAreTwoStreams) {
  Tracked tracked;
  tracked.steps({only(0), ack(700), only(1), ack(701), read_only(5), only(2)});
  ASSERT_EQ(tracked.table.used(), 2u);
  EXPECT_EQ(counts_of(tracked.table.streams[0]), (Counts{.packets = 3, .messages = 3}));
  EXPECT_EQ(counts_of(tracked.table.streams[1]), (Counts{.packets = 3, .messages = 1}));
  EXPECT_EQ(roce_key_kind(&tracked.table.streams[0].key), (__u32)ROCE_KIND_REQUEST);
  EXPECT_EQ(roce_key_kind(&tracked.table.streams[1].key), (__u32)ROCE_KIND_RESPONSE);
}

// Whatever disturbed a stream, in order again it is back on the path that needs no lock.
TEST(Tracker, DisturbedStreamsReturnToTheFastPath) {
  for (const Steps &disturbance :
       {onlys({1, 9}), onlys({1, 0, 1, 2}), onlys({1, 3, 2}), onlys({1, 1}), onlys({1, 500000}),
        onlys({1, 1, 500000}), Steps{read(1, 5000)}, Steps{first(1, 1024), read(2, 5000)},
        Steps{first(1, 512), first(2, 1024)}}) {
    Tracked tracked;
    tracked.step(only(0));
    tracked.steps(disturbance);
    for (int i = 0; i < 2; i++) // before expected, or not: the next two in order
      tracked.step(only(static_cast<int>(tracked.stream().word & ROCE_WORD_PSN)));
    EXPECT_TRUE(tracked.stream().word & ROCE_WORD_FAST)
        << disturbance.size() << " steps, the last to PSN " << disturbance.back().psn;
    EXPECT_EQ(counts_of(tracked.stream()), tracked.reference.counts());
  }
}

TEST(Tracker, CeIsCountedPerPacket) {
  Tracked tracked;
  for (int psn = 0; psn < 10; psn++)
    feed(tracked.env, frame_of(only(psn), 0, psn % 3 ? 3 : 1));
  EXPECT_EQ(counts_of(tracked.stream()), (Counts{.packets = 10, .messages = 10, .ce = 6}));
}

} // namespace
} // namespace xr::test::tracker_test
