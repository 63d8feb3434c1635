// SPDX-License-Identifier: Apache-2.0
// Port counters, events and their rate limit, and the information in a stream's record.
#include <gtest/gtest.h>

#include "steps.h"

namespace xr::test::account_test {
namespace {

std::vector<int> types(const roce_env &env) {
  std::vector<int> seen;
  for (const roce_event &e : env.events)
    seen.push_back(e.type);
  return seen;
}

TEST(Totals, OpcodesByEcnAndVersion) {
  MemoryTable table(8);
  roce_env env(table);
  uint64_t bytes = 0;
  for (uint8_t ecn = 0; ecn < 4; ecn++)
    for (int i = 0; i <= ecn; i++) {
      const Frame frame = FrameBuilder(0x0a).ecn(ecn).payload(ecn * 10).trailer(2).build();
      bytes += frame.length;
      feed(env, frame);
    }
  const Frame v1 = FrameBuilder(0x0a).v1().ecn(3).build();
  feed(env, v1);
  for (uint32_t ecn = 0; ecn < 4; ecn++)
    EXPECT_EQ(env.opcodes[0x0a].packets[ecn], ecn + 1);
  EXPECT_EQ(env.opcodes[0x0a].bytes, bytes);
  EXPECT_EQ(env.opcodes[0x10a].packets[0], 1u) << "RoCEv1 has no ECN, whatever its GRH says";
  EXPECT_EQ(env.opcodes[0x10a].bytes, v1.length);
  for (uint64_t frames : env.totals.frames)
    EXPECT_EQ(frames, 0u);
  EXPECT_EQ(env.totals.bytes, 0u);
}

TEST(Totals, ClassesOfTheRest) {
  MemoryTable table(8);
  roce_env env(table);
  const Frame other = FrameBuilder(0x04).port(53).build();
  const Frame fragment = FrameBuilder(0x04).ip_fragment(0x2000).build();
  const Frame malformed = FrameBuilder(0x04).tver(1).build();
  const Frame cut = FrameBuilder(0x04).snap(40).build();
  Frame runt = cut; // as short on the wire: nothing was cut
  runt.bytes.resize(30);
  runt.length = 30;
  for (const Frame &f : {other, other, fragment, malformed, cut, runt})
    feed(env, f);
  EXPECT_EQ(env.totals.frames[ROCE_CLASS_OTHER], 4u);
  EXPECT_EQ(env.totals.frames[ROCE_CLASS_FRAGMENT], 1u);
  EXPECT_EQ(env.totals.frames[ROCE_CLASS_MALFORMED], 1u);
  EXPECT_EQ(env.totals.cut, 1u);
  EXPECT_EQ(env.totals.bytes,
            2 * other.length + fragment.length + malformed.length + cut.length + runt.length);
  EXPECT_EQ(table.used(), 0u);
}

TEST(Totals, Syndromes) {
  MemoryTable table(8);
  roce_env env(table);
  for (uint8_t syndrome : {0x00, 0x1f, 0x05, 0x20, 0x3f, 0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x80})
    feed(env, FrameBuilder(0x11).syndrome(syndrome).build());
  feed(env, FrameBuilder(0x12).syndrome(0x1f).build());
  feed(env, FrameBuilder(0x10).syndrome(0x1f).build()); // READ RESPONSEs are not counted here
  feed(env, FrameBuilder(0x11).syndrome(0x60).snap(54).build()); // nor what was cut off
  const __u64 want[ROCE_AETH_COUNTS] = {4, 2, 1, 1, 1, 1, 1, 2};
  for (int i = 0; i < ROCE_AETH_COUNTS; i++)
    EXPECT_EQ(env.totals.aeth[i], want[i]) << i;
}

TEST(Events, AGapSaysWhereAndHowMany) {
  Tracked tracked;
  tracked.steps(onlys({7, 8, 20}));
  ASSERT_EQ(types(tracked.env), (std::vector<int>{ROCE_EVENT_STREAM_NEW, ROCE_EVENT_GAP}));
  const roce_event &added = tracked.env.events[0], &gap = tracked.env.events[1];
  EXPECT_EQ(added.psn, 7u);
  EXPECT_EQ(gap.psn, 20u);
  EXPECT_EQ(gap.expected, 9u);
  EXPECT_EQ(gap.skipped, 11u);
  EXPECT_EQ(gap.opcode, ROCE_RC_SEND_ONLY);
  EXPECT_TRUE(roce_key_equal(&gap.key, &tracked.stream().key));
  EXPECT_EQ(gap.key.src[2], ROCE_MAPPED_PREFIX) << "events carry whole keys";
}

TEST(Events, OneForEachKindOfTrouble) {
  Tracked tracked;
  tracked.steps({only(0), only(1), only(2), only(1), only(2), only(3)});
  EXPECT_EQ(types(tracked.env), (std::vector<int>{ROCE_EVENT_STREAM_NEW, ROCE_EVENT_REWIND}));
  EXPECT_EQ(tracked.env.events[1].psn, 2u) << "known only with the second packet of the round";

  Tracked answers;
  answers.steps({ack(1), ack(2, 0x63), ack(2, 0x2c), op(ROCE_OPCODE_CNP, 0, 16), ack(3)});
  EXPECT_EQ(types(answers.env), (std::vector<int>{ROCE_EVENT_STREAM_NEW, ROCE_EVENT_NAK,
                                                  ROCE_EVENT_RNR_NAK, ROCE_EVENT_CNP}));
  EXPECT_EQ(answers.env.events[1].syndrome, 0x63);
  EXPECT_EQ(answers.env.events[2].syndrome, 0x2c);
}

TEST(Events, ARunOfCeIsOne) {
  Tracked tracked;
  int psn = 0;
  for (int ecn : {2, 3, 3, 3, 2, 2, 3, 2})
    feed(tracked.env, frame_of(only(psn++), 0, static_cast<uint8_t>(ecn)));
  EXPECT_EQ(types(tracked.env),
            (std::vector<int>{ROCE_EVENT_STREAM_NEW, ROCE_EVENT_CE_RUN, ROCE_EVENT_CE_RUN}));
}

// ACKs have a fast path of their own.
TEST(Events, ARunOfCeAmongAcksIsOne) {
  Tracked tracked;
  int psn = 0;
  for (int ecn : {2, 3, 3, 3, 2, 2, 3, 2})
    feed(tracked.env, frame_of(ack(psn++), 0, static_cast<uint8_t>(ecn)));
  EXPECT_EQ(types(tracked.env),
            (std::vector<int>{ROCE_EVENT_STREAM_NEW, ROCE_EVENT_CE_RUN, ROCE_EVENT_CE_RUN}));
}

TEST(Events, AreLimitedPerStreamAndWindow) {
  Tracked tracked;
  const auto gaps = [&tracked](int from, int n) {
    for (int i = 0; i < n; i++)
      feed(tracked.env, frame_of(only(from + 2 * i)));
  };
  tracked.env.now = 5ull << 30;
  gaps(0, 1 + ROCE_EVENTS_PER_WINDOW + 7); // the first packet is no gap
  EXPECT_EQ(tracked.env.events.size(), 1u + ROCE_EVENTS_PER_WINDOW);
  EXPECT_EQ(tracked.env.totals.events_limited, 7u);
  EXPECT_EQ(counts_of(tracked.stream()).gaps, ROCE_EVENTS_PER_WINDOW + 7u)
      << "counted all the same";

  feed(tracked.env, FrameBuilder(0x04).qp(0x12).build()); // another stream has its own
  feed(tracked.env, FrameBuilder(0x04).qp(0x12).psn(9).build());
  EXPECT_EQ(tracked.env.events.size(), 3u + ROCE_EVENTS_PER_WINDOW);

  tracked.env.now = 6ull << 30;
  gaps(1000, 3);
  EXPECT_EQ(tracked.env.events.size(), 6u + ROCE_EVENTS_PER_WINDOW);
  EXPECT_EQ(tracked.env.totals.events_limited, 7u);
}

TEST(Events, LostOnesAreCounted) {
  Tracked tracked;
  tracked.env.ring_full = true;
  tracked.steps(onlys({0, 5, 10}));
  EXPECT_TRUE(tracked.env.events.empty());
  EXPECT_EQ(tracked.env.totals.events_dropped, 3u);
}

int transport(const roce_stream &s) {
  return static_cast<int>(s.flags >> ROCE_STREAM_TRANSPORT_SHIFT) - 1;
}

TEST(Stream, SaysItsTransport) {
  for (uint8_t opcode : {0x04, 0x24, 0x44, 0x64, 0xa4, 0x11, 0xb1}) {
    Tracked tracked;
    feed(tracked.env, FrameBuilder(opcode).build());
    EXPECT_EQ(transport(tracked.stream()), opcode >> 5);
  }
}

// A CNP's opcode says nothing of its QP's transport; the next packet of the stream does.
TEST(Stream, SaysItsTransportAfterACnp) {
  for (uint8_t opcode : {0x0d, 0x10, 0x11, 0x12, 0xb1}) {
    Tracked tracked;
    feed(tracked.env, FrameBuilder(ROCE_OPCODE_CNP).payload(16).build());
    EXPECT_EQ(transport(tracked.stream()), -1);
    feed(tracked.env, FrameBuilder(opcode).build());
    EXPECT_EQ(transport(tracked.stream()), opcode >> 5) << "opcode " << int(opcode);
  }
}

} // namespace
} // namespace xr::test::account_test
