// SPDX-License-Identifier: Apache-2.0
// FrameMerger orders the records of several CPUs and joins each frame with its outcome; comments
// describe them.
#include <gtest/gtest.h>

#include "port_capture/comment.h"
#include "port_capture/frame_merger.h"

namespace xr::port_capture::port_capture_test {
namespace {

roce_capture record(uint64_t time, uint64_t number, uint8_t parts, uint32_t captured = 0) {
  roce_capture c{};
  c.time_ns = time;
  c.number = number;
  c.parts = parts;
  c.captured = captured;
  c.length = 100;
  return c;
}

std::vector<TracedFrame> released(FrameMerger &merger, uint64_t horizon = UINT64_MAX) {
  std::vector<TracedFrame> all;
  merger.release(horizon, [&](TracedFrame frame) { all.push_back(std::move(frame)); });
  return all;
}

constexpr uint8_t kBoth = ROCE_CAPTURE_FRAME | ROCE_CAPTURE_OUTCOME;

TEST(FrameMerger, OrdersByTimeUpToTheHorizon) {
  FrameMerger merger;
  const uint8_t bytes[4] = {1, 2, 3, 4};
  for (uint64_t i = 0; i < 4; i++) {
    merger.add(3, record(10 * i, i + 1, kBoth, 4), bytes);
    merger.add(0, record(10 * i + 5, i + 1, kBoth, 4), bytes);
  }
  const auto first = released(merger, 20);
  ASSERT_EQ(first.size(), 4u);
  for (size_t i = 0; i < 4; i++)
    EXPECT_EQ(first[i].record.time_ns, 5 * i);
  EXPECT_EQ(first[0].bytes, std::vector<uint8_t>(bytes, bytes + 4));
  EXPECT_EQ(released(merger).size(), 4u);
  EXPECT_EQ(merger.late(), 0u);
  merger.add(1, record(7, 1, kBoth), bytes);
  EXPECT_EQ(released(merger).size(), 1u);
  EXPECT_EQ(merger.late(), 1u);
}

TEST(FrameMerger, JoinsOutcomesWithFrames) {
  FrameMerger merger;
  const uint8_t bytes[2] = {7, 8};
  const auto outcome = [](uint64_t time, uint64_t number, uint32_t rule) {
    roce_capture c = record(time, number, ROCE_CAPTURE_OUTCOME);
    c.trace.rule = rule;
    return c;
  };
  merger.add(0, outcome(1, 4, 9), bytes); // of a frame that was lost
  merger.add(0, record(2, 5, ROCE_CAPTURE_FRAME, 2), bytes);
  merger.add(1, record(3, 5, ROCE_CAPTURE_FRAME, 2), bytes);
  merger.add(0, outcome(2, 5, 6), bytes);
  merger.add(1, record(4, 6, ROCE_CAPTURE_FRAME, 2), bytes); // 5's outcome was lost
  merger.add(1, outcome(4, 6, 7), bytes);
  const auto all = released(merger);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_TRUE(all[0].known());
  EXPECT_EQ(all[0].record.trace.rule, 6u);
  EXPECT_EQ(all[0].record.captured, 2u);
  EXPECT_EQ(all[0].bytes.size(), 2u);
  EXPECT_FALSE(all[1].known());
  EXPECT_NE(comment(all[1], true).find("was lost"), std::string::npos);
  EXPECT_TRUE(all[2].known());
  EXPECT_EQ(all[2].record.trace.rule, 7u);
}

struct Said {
  const char *text;
  uint32_t kinds, found = 0, rule = 0, act = 0, fate = ROCE_CAPTURE_PASSED;
  uint8_t opcode = ROCE_RC | 0x04, syndrome = 0;
  bool tracked = true;
};

TEST(Comment, DescribesTheRecord) {
  constexpr uint32_t kSlow = ROCE_FOUND_SLOW;
  const Said all[] = {
      {"in order; to the host", ROCE_CAPTURE_DATA},
      {"in order; to the host", ROCE_CAPTURE_DATA, kSlow},
      {"to the host", ROCE_CAPTURE_DATA, 0, 0, 0, ROCE_CAPTURE_PASSED, 4, 0, false},
      {"ACK; to a socket", ROCE_CAPTURE_ACK, 0, 0, 0, ROCE_CAPTURE_TO_SOCKET},
      {"no RoCE; forwarded", ROCE_CAPTURE_OTHER, 0, 0, 0, ROCE_CAPTURE_FORWARDED},
      {"first of its stream; to the host", ROCE_CAPTURE_DATA, kSlow | ROCE_FOUND_NEW},
      {"gap: 2 PSNs 5..6; to the host", ROCE_CAPTURE_DATA,
       kSlow | ROCE_FOUND_GAP | ROCE_FOUND_JUMP},
      {"late: 1 missing PSN; rewind: the stream continues before PSN 5; to the host",
       ROCE_CAPTURE_DATA, kSlow | ROCE_FOUND_FILLED | ROCE_FOUND_REWIND},
      {"duplicate: PSN 7, 5 was expected; to the host", ROCE_CAPTURE_DATA,
       kSlow | ROCE_FOUND_DUPLICATE},
      {"the QPN was reused: PSN 5 was expected; to the host", ROCE_CAPTURE_DATA,
       kSlow | ROCE_FOUND_RESYNC},
      {"not tracked: the stream table is full; to the host", ROCE_CAPTURE_DATA, ROCE_FOUND_FULL},
      {"in order; received with CE; to the host", ROCE_CAPTURE_DATA | ROCE_CAPTURE_CE,
       kSlow | ROCE_FOUND_CE_RUN},
      {"CNP after a CE mark; to the host", ROCE_CAPTURE_CNP,
       kSlow | ROCE_FOUND_CNP | ROCE_FOUND_CNP_AFTER_CE},
      {"NAK: PSN sequence error; to the host", ROCE_CAPTURE_NAK, kSlow | ROCE_FOUND_NAK, 0, 0, 0,
       ROCE_RC | 0x11, 0x60},
      {"in order; rule 3: no action; to the host", ROCE_CAPTURE_DATA, 0, 3},
      {"in order; rule 3: dropped; gone", ROCE_CAPTURE_DATA, 0, 3, ROCE_ACT_DROP,
       ROCE_CAPTURE_DROPPED},
      {"in order; rule 3: dropped, in excess of its rate; gone", ROCE_CAPTURE_DATA, 0, 3,
       ROCE_ACT_DROP | ROCE_ACT_POLICE, ROCE_CAPTURE_DROPPED},
      {"in order; rule 3: corrupted a header, duplicated; forwarded twice", ROCE_CAPTURE_DATA, 0, 3,
       ROCE_ACT_CORRUPT_HEADER | ROCE_ACT_DUPLICATE, ROCE_CAPTURE_FORWARDED_TWICE},
      {"in order; rule 3: answered by a CNP, dropped, in excess of its rate; sent back as a CNP",
       ROCE_CAPTURE_DATA, 0, 3, ROCE_ACT_DROP | ROCE_ACT_POLICE | ROCE_ACT_CNP,
       ROCE_CAPTURE_BACK_AS_CNP},
      {"in order; rule 3: marked CE, set DSCP; forwarded", ROCE_CAPTURE_DATA, 0, 3,
       ROCE_ACT_CE | ROCE_ACT_RED | ROCE_ACT_SET_DSCP, ROCE_CAPTURE_FORWARDED},
      {"in order; rule 3: marked CE, delayed; forwarded", ROCE_CAPTURE_DATA, 0, 3,
       ROCE_ACT_CE | ROCE_ACT_DELAY, ROCE_CAPTURE_FORWARDED},
      {"in order; rule 3: accumulated, reordered, shaped; forwarded", ROCE_CAPTURE_DATA, 0, 3,
       ROCE_ACT_ACCUMULATE | ROCE_ACT_REORDER | ROCE_ACT_SHAPE, ROCE_CAPTURE_FORWARDED},
      {"an opcode without a stream; to the host", ROCE_CAPTURE_DATA, 0, 0, 0, ROCE_CAPTURE_PASSED,
       0x18},
  };
  for (const Said &said : all) {
    TracedFrame frame;
    frame.record = record(1, 1, kBoth);
    frame.record.kinds = said.kinds;
    frame.record.trace = {said.found, said.rule, said.act, 0};
    frame.record.fate = said.fate;
    frame.record.opcode = said.opcode;
    frame.record.syndrome = said.syndrome;
    frame.record.psn = 7;
    frame.record.expected = 5;
    frame.record.skipped = frame.record.jumped = 2;
    frame.record.filled = 1;
    EXPECT_EQ(comment(frame, said.tracked), said.text);
  }
}

TEST(Comment, CopiesNeedTheOtherPort) {
  const auto fate = [](int of_frame, int went) {
    TracedFrame frame;
    frame.record = record(1, 1, kBoth);
    frame.record.kinds = ROCE_CAPTURE_DATA;
    frame.record.opcode = ROCE_RC | 0x04;
    frame.record.fate = roce_capture_fate(ROCE_FEATURE_FORWARD, of_frame, went);
    return comment(frame, false);
  };
  EXPECT_EQ(fate(ROCE_TWICE, 1), "forwarded twice");
  EXPECT_EQ(fate(ROCE_GO_ON_WITH_CNP, 1), "forwarded, and a CNP sent back");
  for (const int of_frame : {ROCE_GO_ON, ROCE_TWICE, ROCE_GO_ON_WITH_CNP})
    EXPECT_EQ(fate(of_frame, 0), "gone: the other port does not exist");
}

} // namespace
} // namespace xr::port_capture::port_capture_test
