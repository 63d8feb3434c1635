// SPDX-License-Identifier: Apache-2.0
// The number of PSNs of a READ (include/roce/README.md 1.6, 1.7 and "What a packet covers" of 7),
// with a PMTU that is known, learnt from either direction, or unknown.
#include <gtest/gtest.h>

#include "steps.h"

namespace xr::test::read_test {
namespace {

void check(const Steps &steps, Counts want, uint32_t pmtu) {
  want.packets = steps.size();
  for (uint32_t base : {0x100u, 0u, 0xffffffu, 0xfffffau, 0x7ffffeu})
    for (uint8_t ecn : {2, 3}) {
      SCOPED_TRACE(testing::Message() << "from PSN " << base << ", ECN " << int(ecn));
      Tracked tracked(base, ecn);
      tracked.steps(steps);
      want.ce = ecn == 3 ? want.packets : 0;
      const uint32_t code = (tracked.stream().word & ROCE_WORD_PMTU) >> ROCE_WORD_PMTU_SHIFT;
      EXPECT_EQ(counts_of(tracked.stream()), want);
      EXPECT_EQ(tracked.reference.counts(), want) << "the reference itself";
      EXPECT_EQ(tracked.stream().word & ROCE_WORD_PSN, tracked.reference.expected());
      EXPECT_EQ(code ? roce_pmtu_bytes(code) : 0, pmtu);
      EXPECT_EQ(tracked.reference.pmtu(), pmtu);
      if (testing::Test::HasFailure())
        return;
    }
}

TEST(Read, KnownPmtu) {
  for (uint32_t pmtu : {256u, 512u, 1024u, 2048u, 4096u}) {
    const int n = static_cast<int>((65536 + pmtu - 1) / pmtu);
    check({first(0, pmtu), last(1), read(2, 65536), only(2 + n)}, {.messages = 3}, pmtu);
    check({first(0, pmtu), last(1), read(2, 65537), only(3 + n)}, {.messages = 3}, pmtu);
    check({first(0, pmtu), last(1), read(2, 65535), only(2 + n)}, {.messages = 3}, pmtu);
    check({first(0, pmtu), last(1), read(2, 0), read(3, 1), only(4)}, {.messages = 4}, pmtu);
    check({first(0, pmtu), last(1), read(2, pmtu), only(3)}, {.messages = 3}, pmtu);
  }
}

TEST(Read, LostReadIsAGapOfAllItsPsns) {
  check({first(0, 1024), last(1), only(2 + 8)},
        {.messages = 2, .gaps = 1, .skipped = 8, .jumps = 1, .jumped = 8, .lost = 8}, 1024);
  check({first(0, 1024), last(1), only(10), read(2, 8192), only(11)},
        {.messages = 4,
         .gaps = 1,
         .skipped = 8,
         .filled = 8,
         .reordered = 8,
         .jumps = 2,
         .jumped = 9,
         .unsure = 8},
        1024);
}

TEST(Read, LossBehindAKnownRead) {
  check({first(0, 1024), last(1), read(2, 8192), only(12)},
        {.messages = 3, .gaps = 1, .skipped = 2, .jumps = 1, .jumped = 2, .lost = 2}, 1024);
}

// A lost response is asked for again from the middle of the range, and the stream continues
// from there.
TEST(Read, AskedAgainFromTheMiddle) {
  check({first(0, 1024), last(1), read(2, 8192), only(10), read(5, 5120), only(10), only(11)},
        {.messages = 4, .duplicates = 2, .rewinds = 1, .go_backs = 1}, 1024);
}

TEST(Read, FillsSeveralHolesAtOnce) {
  check({first(0, 1024), only(2), only(4), only(6), read(1, 5 * 1024), only(7)},
        {.messages = 5,
         .gaps = 3,
         .skipped = 3,
         .filled = 3,
         .reordered = 3,
         .jumps = 4,
         .jumped = 4,
         .unsure = 3},
        1024);
}

TEST(Read, FillsPartOfAHole) {
  check({first(0, 1024), only(11), read(3, 4 * 1024), only(1), only(12)},
        {.messages = 4,
         .gaps = 1,
         .skipped = 10,
         .filled = 5,
         .reordered = 5,
         .jumps = 2,
         .jumped = 20,
         .lost = 5,
         .unsure = 5},
        1024);
}

// From before expected to after it: the part before was seen, and expected moves on.
TEST(Read, PassesExpected) {
  check({first(0, 1024), last(1), only(2), read(2, 4096), only(6)},
        {.messages = 3, .duplicates = 1}, 1024);
}

TEST(Read, PmtuLearntFromTheFirstJump) {
  for (uint32_t pmtu : {256u, 512u, 1024u, 2048u}) {
    const int n = static_cast<int>(4096 / pmtu);
    check({read(0, 4096), only(n), read(n + 1, 8192), only(3 * n + 1), only(3 * n + 3)},
          {.messages = 5, .gaps = 1, .skipped = 1, .jumps = 1, .jumped = 1, .lost = 1}, pmtu);
  }
}

TEST(Read, UnknownPmtuMakesNoGap) {
  check({read(0, 4096), only(3), only(4)}, {.messages = 3}, 0);
  check({read(0, 4096), only(1), only(2)}, {.messages = 3}, 0);
  check({read(0, 4096), only(3), only(5)}, // only right after the READ
        {.messages = 3, .gaps = 1, .skipped = 1, .jumps = 1, .jumped = 1, .lost = 1}, 0);
}

TEST(Read, UpTo256BytesAreOnePsnWhateverThePmtu) {
  check({read(0, 256), only(1), read(2, 1), read(3, 0), only(5)},
        {.messages = 5, .gaps = 1, .skipped = 1, .jumps = 1, .jumped = 1, .lost = 1}, 0);
}

TEST(Read, OfOnePsnLeavesNoJumpOpen) {
  const Counts want = {.messages = 2, .gaps = 1, .skipped = 1, .jumps = 1, .jumped = 1, .lost = 1};
  check({read(0, 256), only(2)}, want, 0);
  Counts three = want;
  three.messages = 3;
  check({only(0), read(1, 256), only(3)}, three, 0);
  check({read(0, 4096), only(1), only(3)}, three, 0); // one PSN after all, so no more is open
}

// The size of the packet after the READ shows the PMTU, and so where the READ ended.
TEST(Read, PmtuLearntFromTheNextPacket) {
  check({read(0, 4096), first(4, 1024)}, {.messages = 1}, 1024);
  check({read(0, 4096), first(6, 1024)},
        {.messages = 1, .gaps = 1, .skipped = 2, .jumps = 1, .jumped = 2, .lost = 2}, 1024);
  check({read(0, 4096), first(8, 512), last(9)}, {.messages = 2}, 512);
}

TEST(Read, PmtuFollowsTheLatestPayload) {
  check({first(0, 512), last(1), first(2, 1024), last(3), read(4, 4096), only(8)}, {.messages = 4},
        1024);
  check({first(0, 512), first(1, 777), read(2, 4096), only(10)}, {.messages = 2}, 512);
}

TEST(Read, RetransmittedReadOfUnknownLength) {
  check({read(0, 4096), read(0, 4096), only(4)}, {.messages = 2, .duplicates = 1}, 1024);
}

// Its RETH is beyond the snap length: the jump after it says nothing.
TEST(Read, CutRead) {
  Tracked tracked;
  tracked.steps({first(0, 1024), last(1)});
  Frame cut = frame_of(read(2, 65536));
  cut.bytes.resize(cut.ext + 15);
  feed(tracked.env, cut);
  feed(tracked.env, frame_of(only(50)));
  feed(tracked.env, frame_of(only(52)));
  EXPECT_EQ(counts_of(tracked.stream()), (Counts{.packets = 5,
                                                 .messages = 4,
                                                 .gaps = 1,
                                                 .skipped = 1,
                                                 .jumps = 1,
                                                 .jumped = 1,
                                                 .lost = 1}));
}

// Requests from host 1 to QP 0x11 of host 2; their answers go from host 2 to QP 0x99 of host 1.
Frame request(uint8_t opcode, uint32_t psn, uint32_t dma_len = 0) {
  return FrameBuilder(opcode).psn(psn).dma_len(dma_len).build();
}
Frame response_first(uint32_t psn, uint32_t payload, uint32_t qp = 0x99) {
  return FrameBuilder(ROCE_RC_RDMA_READ_RESPONSE_FIRST)
      .from(2)
      .to(1)
      .qp(qp)
      .psn(psn)
      .payload(payload)
      .build();
}

TEST(Read, PmtuLearntFromTheReadResponse) {
  for (bool before_next : {true, false}) {
    Tracked tracked;
    feed(tracked.env, request(0x0c, 0xfffffe, 8192));
    feed(tracked.env, response_first(0xfffffe, 2048));
    EXPECT_EQ((tracked.stream().word & ROCE_WORD_PMTU) >> ROCE_WORD_PMTU_SHIFT, 4u);
    if (before_next) {
      feed(tracked.env, request(0x04, 2));
      EXPECT_EQ(counts_of(tracked.stream()), (Counts{.packets = 2, .messages = 2}));
    } else { // what is lost right after the READ is a gap now that its end is known
      feed(tracked.env, request(0x04, 3));
      EXPECT_EQ(counts_of(tracked.stream()), (Counts{.packets = 2,
                                                     .messages = 2,
                                                     .gaps = 1,
                                                     .skipped = 1,
                                                     .jumps = 1,
                                                     .jumped = 1,
                                                     .lost = 1}));
    }
  }
}

TEST(Read, ResponseToAnotherReadTellsNothing) {
  Tracked tracked;
  feed(tracked.env, request(0x0c, 100, 8192));
  feed(tracked.env, response_first(101, 2048));
  EXPECT_EQ(tracked.stream().word & ROCE_WORD_PMTU, 0u);
}

// Two connections of one pair of hosts read with one PSN: whose response is it?
TEST(Read, ResponseToOneOfTwoReadsTellsNothing) {
  Tracked tracked;
  feed(tracked.env, request(0x0c, 100, 8192));
  feed(tracked.env, FrameBuilder(0x0c).qp(0x12).psn(100).dma_len(8192).build());
  feed(tracked.env, response_first(100, 2048));
  EXPECT_EQ(tracked.table.streams[0].word & ROCE_WORD_PMTU, 0u);
  EXPECT_EQ(tracked.table.streams[1].word & ROCE_WORD_PMTU, 0u);
}

TEST(Read, ResponseDoesNotOverrideWhatIsKnown) {
  Tracked tracked;
  feed(tracked.env, request(0x0c, 0, 8192));
  feed(tracked.env, FrameBuilder(0x00).psn(8).payload(1024).build());
  feed(tracked.env, response_first(0, 2048));
  EXPECT_EQ((tracked.stream().word & ROCE_WORD_PMTU) >> ROCE_WORD_PMTU_SHIFT, 3u);
}

} // namespace
} // namespace xr::test::read_test
