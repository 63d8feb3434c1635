// SPDX-License-Identifier: Apache-2.0
// compare over captures made frame by frame, with results worked out by hand.
#include <fmt/format.h>

#include "taps.h"

namespace xr::test::compare_test {
namespace {

TEST(Compare, ACaptureWithItself) {
  Tap a;
  for (uint32_t i = 0; i < 500; i++) {
    a.see(i, send(i));
    a.see(i + 0.5, FrameBuilder(0x11).from(2).to(1).qp(0x22).psn(i));
  }
  const Comparison c = compared(a, a);
  ASSERT_EQ(c.streams.size(), 2u);
  for (const ComparedStream &row : c.streams) {
    EXPECT_EQ(row.counts.matched, 500u);
    EXPECT_EQ(row.counts.lost + row.counts.duplicated + row.counts.reordered + row.counts.only_to +
                  row.counts.outside_from + row.counts.outside_to + row.counts.corrupted,
              0u);
    EXPECT_EQ(row.latency.max, 0);
    EXPECT_EQ(row.latency.min, 0);
    EXPECT_EQ(row.lost_after, 0u);
  }
}

TEST(Compare, LostDuplicatedReordered) {
  Tap a, b;
  frame_in(a, b, 0, 1000);
  for (uint32_t i = 0; i < 100; i++) {
    a.see(10 + i, send(i));
    if (i == 7 || i == 50 || i == 51)
      continue;
    b.see(10 + i + kDelay + (i == 20 ? 3.5 : 0), send(i)); // 20 arrives after 21, 22 and 23
    if (i == 30)
      b.see(10 + i + kDelay + 0.2, send(i));
  }
  const Comparison c = compared(a, b);
  const ComparedStream &row = row_of(c, 0x11);
  EXPECT_EQ(row.counts.seen_from, 100u);
  EXPECT_EQ(row.counts.seen_to, 98u);
  EXPECT_EQ(row.counts.matched, 97u);
  EXPECT_EQ(row.counts.lost, 3u);
  EXPECT_EQ(row.counts.duplicated, 1u);
  EXPECT_EQ(row.counts.reordered, 1u);
  EXPECT_EQ(row.latency.min, 5000);
  EXPECT_EQ(row.latency.max, 8500);
  EXPECT_EQ(row.lost_from, (std::vector<uint32_t>{0}));
  EXPECT_EQ(row.lost_before, 0u);
  EXPECT_EQ(row.lost_after, 0u);
  EXPECT_EQ(c.legs[0].clock, ComparedLeg::Clock::Unknown);
}

TEST(Compare, MarkedCorruptedRewritten) {
  Tap a, b;
  frame_in(a, b, 0, 1000);
  for (uint32_t i = 0; i < 40; i++) {
    a.see(10 + i, send(i).ecn(i == 5 ? 3 : 2).tags(i == 9 ? 1 : 0));
    Bytes bytes = bytes_of(send(i).ecn(i == 5 || i == 6 || i == 7 ? 3 : i == 8 ? 1 : 2));
    if (i == 10)
      bytes[15] = static_cast<uint8_t>(46 << 2 | 2); // DSCP
    if (i == 11)
      bytes[60] ^= 1; // payload
    if (i == 12)
      bytes.back() ^= 1; // iCRC
    b.see(10 + i + kDelay, bytes);
  }
  const ComparedCounts &n = row_of(compared(a, b), 0x11).counts;
  EXPECT_EQ(n.matched, 40u);
  EXPECT_EQ(n.ce, 2u);
  EXPECT_EQ(n.ecn, 1u);
  EXPECT_EQ(n.dscp, 1u);
  EXPECT_EQ(n.vlan, 1u);
  EXPECT_EQ(n.corrupted, 2u);
  EXPECT_EQ(n.lost + n.only_to, 0u);
}

// A header that no longer says what packet it was.
TEST(Compare, CorruptedBeyondRecognition) {
  Tap a, b;
  frame_in(a, b, 0, 1000);
  for (uint32_t i = 0; i < 20; i++) {
    a.see(10 + i, send(i));
    Bytes bytes = bytes_of(send(i));
    if (i == 11)
      bytes[14 + 20 + 8 + 9] ^= 0x40; // PSN
    b.see(10 + i + kDelay, bytes);
  }
  const ComparedCounts &n = row_of(compared(a, b), 0x11).counts;
  EXPECT_EQ(n.lost, 1u);
  EXPECT_EQ(n.only_to, 1u);
  EXPECT_EQ(n.only_to_bad, 1u);
  EXPECT_EQ(n.corrupted, 0u);
}

// Go-back-N with the same bytes: 5 is lost, then 5 to 9 are sent again, 5 is lost again, and again.
TEST(Compare, RetransmissionsOfTheSameBytes) {
  Tap a, b;
  frame_in(a, b, 0, 100'000);
  const auto round = [&](double at, uint32_t from, bool arrives) {
    for (uint32_t i = from; i < 10; i++) {
      a.see(at + i, send(i));
      if (i != 5 || arrives)
        b.see(at + i + kDelay, send(i));
    }
  };
  round(10, 0, false);
  round(1000, 5, false);
  round(3000, 5, true);
  const Comparison c = compared(a, b);
  const ComparedStream &row = row_of(c, 0x11);
  EXPECT_EQ(row.counts.seen_from, 20u);
  EXPECT_EQ(row.counts.lost, 2u);
  EXPECT_EQ(row.counts.duplicated, 0u);
  EXPECT_EQ(row.counts.reordered, 0u);
  EXPECT_EQ(row.latency.min, 5000);
  EXPECT_EQ(row.latency.max, 5000); // each sight at B belongs to the right transmission
  EXPECT_EQ(row.lost_after, 0u);    // what was gone back to had been lost between
}

// The first transmission is delayed for so long that the second one is sent meanwhile: none is
// lost.
TEST(Compare, TheNthSightBelongsToTheNth) {
  Tap a, b;
  frame_in(a, b, 0, 100'000);
  for (uint32_t i = 0; i < 20; i++)
    pass(a, b, 10 + i, send(i));
  a.see(100, send(20)).see(200, send(20));
  b.see(190, send(20)).see(290, send(20));
  const ComparedStream row = row_of(compared(a, b), 0x11);
  EXPECT_EQ(row.counts.lost, 0u);
  EXPECT_EQ(row.counts.duplicated, 0u);
  EXPECT_EQ(row.latency.max, 90'000);
}

// Retransmissions that differ in content (IP ID): the content says which one arrived.
TEST(Compare, ContentTellsTransmissionsApart) {
  Tap a, b;
  frame_in(a, b, 0, 100'000);
  for (uint32_t i = 0; i < 20; i++)
    pass(a, b, 10 + i, send(i));
  a.see(100, send(20, 1)).see(101, send(20, 2)).see(102, send(20, 3));
  b.see(101 + kDelay, send(20, 2)).see(110, send(20, 2)).see(111, send(20, 1));
  const ComparedStream row = row_of(compared(a, b), 0x11);
  EXPECT_EQ(row.counts.lost, 1u);       // the third
  EXPECT_EQ(row.counts.duplicated, 1u); // the second
  EXPECT_EQ(row.counts.reordered, 1u);  // the first
  EXPECT_EQ(row.latency.max, 11'000);
}

TEST(Compare, PsnWrap) {
  Tap a, b;
  frame_in(a, b, 0, 10'000);
  for (uint32_t i = 0; i < 100; i++) {
    const uint32_t psn = 0xffffce + i;
    a.see(10 + i, send(psn));
    if (i != 49 && i != 50) // the last PSN and the first
      b.see(10 + i + kDelay, send(psn));
  }
  const ComparedStream row = row_of(compared(a, b), 0x11);
  EXPECT_EQ(row.counts.lost, 2u);
  EXPECT_EQ(row.counts.matched, 98u);
  EXPECT_EQ(row.counts.reordered, 0u);
  EXPECT_EQ(row.lost_before + row.lost_after, 0u);
}

TEST(Compare, PartialOverlap) {
  Tap a, b;
  for (uint32_t i = 0; i < 300; i++) {
    if (i < 200)
      a.see(10 + 10.0 * i, send(i));
    if (i >= 100 && i != 150)
      b.see(10 + 10.0 * i + kDelay, send(i));
  }
  const Comparison c = compared(a, b);
  const ComparedCounts &n = row_of(c, 0x11).counts;
  EXPECT_EQ(n.matched, 99u);
  EXPECT_EQ(n.lost, 1u);
  EXPECT_EQ(n.outside_from, 100u);
  EXPECT_EQ(n.outside_to, 100u);
  EXPECT_EQ(n.only_to, 0u);
  EXPECT_EQ(c.legs[0].span_ns, 990'000u);
}

// Requests and answers over both IP versions.
struct Family {
  const char *name;
  FrameBuilder (*data)(uint32_t psn);
  FrameBuilder (*ack)(uint32_t psn);
};
const Family kFamilies[] = {
    {"IPv4", [](uint32_t psn) { return send(psn); },
     [](uint32_t psn) { return FrameBuilder(0x11).from(2).to(1).qp(0x22).psn(psn); }},
    {"IPv6", [](uint32_t psn) { return send(psn).ipv6(); },
     [](uint32_t psn) { return FrameBuilder(0x11).ipv6().from(2).to(1).qp(0x22).psn(psn); }},
};

Bytes with_bad_icrc(const FrameBuilder &builder, uint8_t flip = 1) {
  Bytes bytes = bytes_of(builder);
  bytes.back() ^= flip;
  return bytes;
}

// Requests 0 to 19 and their answers, so that the clocks are known to agree; PSN 20 is the test's.
void converse(Tap &a, Tap &b, const Family &family) {
  for (uint32_t i = 0; i < 20; i++) {
    pass(a, b, 10.0 * i, family.data(i));
    b.see(10.0 * i + 6, family.ack(i));
    a.see(10.0 * i + 6 + kDelay, family.ack(i));
  }
  pass(a, b, 100'000, family.data(21));
  b.see(100'001, family.ack(21));
  a.see(100'001 + kDelay, family.ack(21));
}

struct Expected {
  uint64_t matched, lost, duplicated, corrupted;
};
void expect_counts(const Tap &a, const Tap &b, const Expected &expected) {
  const ComparedStream row = row_of(compared(a, b), 0x11);
  EXPECT_EQ(row.counts.matched, 21 + expected.matched);
  EXPECT_EQ(row.counts.lost, expected.lost);
  EXPECT_EQ(row.counts.duplicated, expected.duplicated);
  EXPECT_EQ(row.counts.corrupted, expected.corrupted);
  EXPECT_EQ(row.counts.only_to, 0u);
  EXPECT_EQ(row.counts.reordered, 0u);
  EXPECT_EQ(row.latency.min, 5000);
  EXPECT_EQ(row.latency.max, 5000);
}

// The first transmission arrives with another iCRC, and its retransmission is whole.
TEST(Compare, ARetransmissionIsNotTheCorruptedPacket) {
  for (const Family &family : kFamilies) {
    SCOPED_TRACE(family.name);
    Tap a, b;
    converse(a, b, family);
    a.see(1000, family.data(20)).see(2000, family.data(20));
    b.see(1000 + kDelay, with_bad_icrc(family.data(20))).see(2000 + kDelay, family.data(20));
    expect_counts(a, b, {2, 0, 0, 1});
  }
}

TEST(Compare, ACorruptedPacketThatIsNotSentAgain) {
  for (const Family &family : kFamilies) {
    SCOPED_TRACE(family.name);
    Tap a, b;
    converse(a, b, family);
    a.see(1000, family.data(20));
    b.see(1000 + kDelay, with_bad_icrc(family.data(20)));
    expect_counts(a, b, {1, 0, 0, 1});
  }
}

// Sent four times: corrupted, lost, corrupted otherwise, whole.
TEST(Compare, CorruptedTwiceAndLostOnce) {
  Tap a, b;
  converse(a, b, kFamilies[0]);
  for (const double at : {1000.0, 2000.0, 3000.0, 4000.0})
    a.see(at, send(20));
  b.see(1000 + kDelay, with_bad_icrc(send(20), 1)).see(3000 + kDelay, with_bad_icrc(send(20), 2));
  b.see(4000 + kDelay, send(20));
  expect_counts(a, b, {3, 1, 0, 2});
}

// What was corrupted is copied, too.
TEST(Compare, ACopyOfACorruptedPacket) {
  Tap a, b;
  converse(a, b, kFamilies[0]);
  a.see(1000, send(20)).see(2000, send(20));
  b.see(1000 + kDelay, with_bad_icrc(send(20))).see(1000.3 + kDelay, with_bad_icrc(send(20)));
  b.see(2000 + kDelay, send(20));
  expect_counts(a, b, {2, 0, 1, 1});
}

// Two copies of the first transmission; the second is lost. With both directions, and one.
TEST(Compare, ACopyIsNotTheRetransmissionThatWasLost) {
  for (const Family &family : kFamilies)
    for (const int copies : {1, 2, 3}) {
      SCOPED_TRACE(fmt::format("{}, {} copies", family.name, copies));
      Tap a, b;
      converse(a, b, family);
      a.see(1000, family.data(20)).see(2000, family.data(20));
      for (int i = 0; i <= copies; i++)
        b.see(1000 + kDelay + 0.3 * i, family.data(20));
      expect_counts(a, b, {1, 1, static_cast<uint64_t>(copies), 0});
    }
}

TEST(Compare, ACopyIsNotTheLostRetransmissionWithUnknownClocks) {
  Tap a, b;
  frame_in(a, b, 0, 100'000);
  for (uint32_t i = 0; i < 20; i++)
    pass(a, b, 10 + i, send(i));
  a.see(1000, send(20)).see(2000, send(20));
  b.see(1000 + kDelay, send(20)).see(1000.3 + kDelay, send(20));
  const Comparison c = compared(a, b);
  EXPECT_EQ(c.legs[0].clock, ComparedLeg::Clock::Unknown);
  const ComparedStream row = row_of(c, 0x11);
  EXPECT_EQ(row.counts.lost, 1u);
  EXPECT_EQ(row.counts.duplicated, 1u);
  EXPECT_EQ(row.latency.min, 5000);
}

// The requests travel from the second place to the first.
TEST(Compare, ACopyIsNotTheLostRetransmissionBackward) {
  Tap a, b;
  converse(b, a, kFamilies[0]);
  b.see(1000, send(20)).see(2000, send(20));
  a.see(1000 + kDelay, send(20)).see(1000.3 + kDelay, send(20));
  const ComparedStream row = row_of(compared(a, b), 0x11);
  EXPECT_EQ(row.from, 1u);
  EXPECT_EQ(row.counts.lost, 1u);
  EXPECT_EQ(row.counts.duplicated, 1u);
  EXPECT_EQ(row.latency.min, 5000);
}

// Two captures without a common packet show nothing: not that all was lost between.
TEST(Compare, NoPacketInCommon) {
  Tap a, b;
  for (uint32_t i = 0; i < 20; i++) {
    a.see(i, send(i));
    b.see(i, send(1000 + i));
  }
  const Comparison c = compared(a, b);
  const ComparedCounts &n = row_of(c, 0x11).counts;
  EXPECT_EQ(c.legs[0].anchors, 0u);
  EXPECT_EQ(c.legs[0].apart, ComparedLeg::Apart::Unknown);
  EXPECT_EQ(n.outside_from, 20u);
  EXPECT_EQ(n.outside_to, 20u);
  EXPECT_EQ(n.lost + n.only_to, 0u);
}

TEST(Compare, NoPacketInCommonAtDifferentTimes) {
  Tap a, b;
  for (uint32_t i = 0; i < 20; i++) {
    a.see(i, send(i));
    b.see(1e6 + i, send(1000 + i));
  }
  EXPECT_EQ(compared(a, b).legs[0].apart, ComparedLeg::Apart::Times);
}

TEST(Compare, NoPacketsAtOnePlace) {
  Tap a, b;
  for (uint32_t i = 0; i < 20; i++)
    a.see(i, send(i));
  b.see(0, Bytes(60, 0)).see(1000, Bytes(60, 0)); // other frames
  const Comparison c = compared(a, b);
  EXPECT_EQ(c.legs[0].apart, ComparedLeg::Apart::NoPackets);
  EXPECT_EQ(row_of(c, 0x11).counts.lost, 0u);
}

// Two ports captured the same time, and one saw nothing: a black hole, not unknown.
TEST(Compare, ABlackHoleBetweenPorts) {
  Tap left, right;
  for (uint32_t i = 0; i < 20; i++)
    left.see(1000.0 + i, send(i));
  right.see(0, Bytes(60, 0)); // another frame
  Files files;
  const compare::Span whole{kStart - 1'000'000'000, kStart + 1'000'000'000};
  std::vector<compare::Input> inputs = {{files.add(left.pcap()), "left", true, 0, whole},
                                        {files.add(right.pcap()), "right", true, 0, whole}};
  compare::Options options;
  options.clock_offset_ns = 0;
  auto outcome = compare::compare(inputs, options);
  ASSERT_TRUE(outcome.ok());
  const Comparison &c = outcome->comparison;
  EXPECT_EQ(c.legs[0].apart, ComparedLeg::Apart::No);
  EXPECT_EQ(c.legs[0].ways[0].counts.lost, 20u);
  EXPECT_EQ(row_of(c, 0x11).counts.lost, 20u);
}

// Each port of a bridge sees what enters it: the requests, and the answers.
TEST(Compare, TheTwoPortsOfOneBridge) {
  for (const Family &family : kFamilies) {
    SCOPED_TRACE(family.name);
    Tap left, right;
    for (uint32_t i = 0; i < 20; i++) {
      left.see(10.0 * i, family.data(i));
      right.see(10.0 * i + 5, family.ack(i));
    }
    compare::Options options;
    options.clock_offset_ns = 0; // as of two ports
    const Comparison c = compared(left, right, options);
    EXPECT_EQ(c.legs[0].apart, ComparedLeg::Apart::Directions);
    for (const ComparedStream &row : c.streams) {
      EXPECT_EQ(row.counts.lost + row.counts.only_to, 0u);
      EXPECT_TRUE(row.lost_from.empty());
    }
    EXPECT_TRUE(c.legs[0].over_time.empty());
  }
}

// The first two of three places have nothing in common: the other leg's losses are known.
TEST(Compare, OneLegWithoutAPacketInCommon) {
  Tap a, b, c;
  for (uint32_t i = 0; i < 20; i++)
    a.see(i, send(1000 + i));
  for (uint32_t i = 0; i < 20; i++) {
    b.see(i, send(i));
    if (i != 10)
      c.see(i + kDelay, send(i));
  }
  const Comparison all = compared({a.pcap(), b.pcap(), c.pcap()});
  EXPECT_EQ(all.legs[0].apart, ComparedLeg::Apart::Unknown);
  EXPECT_EQ(all.legs[1].apart, ComparedLeg::Apart::No);
  EXPECT_EQ(row_of(all, 0x11, 0, 1).counts.lost, 1u);
  EXPECT_EQ(row_of(all, 0x11, 0, 1).lost_from, (std::vector<uint32_t>{1}));
}

// Requests from A to B, answers from B to A; B's clock is three hours ahead. One answer is lost,
// one is not seen before the loss.
TEST(Compare, BothDirectionsAndTwoClocks) {
  constexpr int64_t kClock = 3 * 3600 * int64_t{1'000'000'000};
  Tap a, b;
  for (uint32_t i = 0; i < 200; i++) {
    a.see(10.0 * i, send(i));
    b.see(10.0 * i + 7, send(i));
    const auto ack = FrameBuilder(0x11).from(2).to(1).qp(0x22).psn(i);
    b.see(10.0 * i + 8, ack);
    if (i != 60)
      a.see(10.0 * i + 8 + (i % 2 ? 7 : 9), ack);
  }
  for (const bool given : {false, true}) {
    compare::Options options;
    if (given)
      options.clock_offset_ns = kClock;
    const Comparison c = compared({a.pcap(), b.pcap(kClock)}, options);
    EXPECT_EQ(c.legs[0].clock, given ? ComparedLeg::Clock::Given : ComparedLeg::Clock::BothWays);
    EXPECT_EQ(c.legs[0].offset_ns, kClock);
    const ComparedStream &requests = row_of(c, 0x11),
                         &answers = row_of(c, 0x22, ROCE_KIND_RESPONSE);
    EXPECT_EQ(requests.from, 0u);
    EXPECT_EQ(answers.from, 1u);
    EXPECT_EQ(answers.to, 0u);
    EXPECT_FALSE(answers.assumed);
    EXPECT_EQ(requests.counts.lost, 0u);
    EXPECT_EQ(answers.counts.lost, 1u);
    EXPECT_EQ(requests.latency.min, 7000);
    EXPECT_EQ(requests.latency.max, 7000);
    EXPECT_EQ(answers.latency.min, 7000);
    EXPECT_EQ(answers.latency.max, 9000);
    EXPECT_EQ(c.legs[0].ways[1].counts.matched, 199u);
  }
}

// Two taps of the same frames. The second gets them 300 ms later, and from the middle on 1 ms later
// still. Most requests are before that and most answers after it: their differences do not show
// which way they go.
TEST(Compare, TimesThatVaryShowNoDirection) {
  Tap a, b;
  frame_in(a, b, 0, 20'000);
  const auto tap = [&](double at, const FrameBuilder &builder, double early = 0) {
    a.see(at, builder);
    b.see(at + (at < 7000 ? 300'000 : 301'000) - early, builder);
  };
  for (uint32_t i = 0; i < 1000; i++) {
    const double at = 1000 + 10.0 * i;
    if (i == 200 || i == 300)
      a.see(at, send(i)); // lost
    else
      tap(at, send(i));
    if (i < 500)
      continue;
    const auto ack = FrameBuilder(0x11).from(2).to(1).qp(0x22).psn(i);
    tap(at + 3, ack);
    tap(at + 6, ack, i == 520 ? 5 : 0); // earlier than 99 % of them
  }
  const Comparison c = compared(a, b);
  const ComparedStream &requests = row_of(c, 0x11), &answers = row_of(c, 0x22, ROCE_KIND_RESPONSE);
  EXPECT_TRUE(requests.assumed);
  EXPECT_EQ(requests.from, 0u);
  EXPECT_EQ(answers.from, 0u);
  EXPECT_EQ(requests.counts.lost, 2u);
  EXPECT_EQ(answers.counts.matched, 1000u);
  for (const ComparedStream *row : {&requests, &answers})
    EXPECT_EQ(row->counts.only_to + row->counts.outside_from + row->counts.outside_to +
                  row->counts.duplicated + row->counts.reordered,
              0u);
}

// A router between: the TTL shows the direction where only one is seen.
TEST(Compare, TheTtlShowsTheDirection) {
  Tap a, b;
  for (uint32_t i = 0; i < 50; i++) {
    Bytes bytes = bytes_of(send(i));
    if (i != 20)
      a.see(i + 3, bytes);
    bytes[22]++; // what B sees has one hop more to go
    b.see(i, bytes);
  }
  const ComparedStream row = row_of(compared(a, b), 0x11);
  EXPECT_EQ(row.from, 1u);
  EXPECT_FALSE(row.assumed);
  EXPECT_EQ(row.counts.lost, 1u);
}

// CNPs have no PSN: all are alike.
TEST(Compare, AllAlike) {
  Tap a, b;
  frame_in(a, b, 0, 100'000);
  uint32_t lost = 0;
  for (uint32_t i = 0; i < 1000; i++) {
    const auto cnp = FrameBuilder(0x81).qp(0x33).payload(16);
    a.see(10 + 50.0 * i, cnp);
    if (i % 97 == 5)
      lost++;
    else
      b.see(10 + 50.0 * i + kDelay, cnp);
  }
  const ComparedStream row = row_of(compared(a, b), 0x33, ROCE_KIND_RESPONSE);
  EXPECT_EQ(row.counts.lost, lost);
  EXPECT_EQ(row.counts.duplicated + row.counts.only_to, 0u);
  EXPECT_EQ(row.counts.reordered, 0u);
  EXPECT_EQ(row.latency.max, 5000);
}

// Two senders of one host to one UD QP, with the same PSNs.
TEST(Compare, SendersOfDatagramsCountForThemselves) {
  Tap a, b;
  frame_in(a, b, 0, 1000);
  for (uint32_t i = 0; i < 30; i++)
    for (const uint32_t sender : {7U, 8U}) {
      const auto datagram = FrameBuilder(0x64).psn(i).src_qp(sender).payload(32);
      a.see(10 + i + sender / 100.0, datagram);
      if (sender == 8 || i % 10)
        b.see(10 + i + kDelay + (sender == 7 ? 0.2 : 0), datagram);
    }
  const ComparedStream row = row_of(compared(a, b), 0x11, ROCE_KIND_DATAGRAM);
  EXPECT_EQ(row.counts.lost, 3u);
  EXPECT_EQ(row.counts.only_to + row.counts.duplicated, 0u);
}

} // namespace
} // namespace xr::test::compare_test
