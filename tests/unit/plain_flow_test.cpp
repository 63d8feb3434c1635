// SPDX-License-Identifier: Apache-2.0
// Plain flows: when their frames leave, how large they are, which bytes vary, and what a receiver
// makes of what arrives.
#include "packet/header_match.h"
#include "requester/plain.h"
#include "requester/plain_receiver.h"

#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

namespace xr::requester::plain_flow_test {
namespace {

using packet::ChecksumField;
using packet::FrameRate;
using packet::FrameShape;
using packet::FrameSizes;
using packet::FrameSpan;
using packet::Variation;
using packet::VariedFrame;
using packet::Wide;
using Bytes = std::vector<uint8_t>;

constexpr uint64_t kStart = 1'700'000'000'123'456'789, kSecond = 1'000'000'000;
constexpr uint64_t kGbit = 1'000'000'000;

PlainFlow flow_of(uint64_t pps) {
  PlainFlow flow;
  flow.frame.headers.assign(14, 0x11);
  flow.rate.value = pps;
  return flow;
}

struct Sent {
  uint64_t due = 0;
  size_t bytes = 0;
};

// Drives the source at each time that it asks for, until `end` or until nothing is due.
std::vector<Sent> drive(PlainSource &source, uint64_t end, size_t batch = 8) {
  std::vector<Sent> sent;
  std::vector<packet::Outgoing> out(batch);
  while (source.wake_at() <= end) {
    const uint64_t now = source.wake_at();
    while (const size_t made = source.next(now, out)) {
      for (size_t i = 0; i < made; i++)
        sent.push_back({out[i].due, out[i].raw.size()});
      if (made < batch)
        break;
    }
  }
  return sent;
}

TEST(PlainSchedule, PacketsASecondDoNotDrift) {
  for (const uint64_t pps : {1U, 3U, 7U, 999U, 1000U, 30011U}) {
    PlainFlow flow = flow_of(pps);
    flow.span.kind = FrameSpan::Kind::Time;
    flow.span.ns = 5 * kSecond;
    PlainSource source({flow});
    ASSERT_TRUE(check_plain(flow).ok());
    EXPECT_EQ(source.wake_at(), kNever);
    source.start(0, kStart);
    const auto sent = drive(source, kNever - 1);
    ASSERT_EQ(sent.size(), 5 * pps) << pps;
    for (uint64_t k = 0; k < sent.size(); k++)
      ASSERT_EQ(sent[k].due, kStart + k * kSecond / pps) << pps << ", frame " << k;
    EXPECT_EQ(source.counts(0).state, PlainState::Stopped);
    EXPECT_EQ(source.counts(0).frames, 5 * pps);
    EXPECT_EQ(source.counts(0).bytes, 5 * pps * 64);
    EXPECT_EQ(source.counts(0).first_ns, kStart);
    EXPECT_EQ(source.counts(0).last_ns, sent.back().due);
    EXPECT_EQ(source.counts(0).slipped_ns, 0U);
  }
}

// 20 flows of 50 packets a second: one each millisecond, also after a stall.
TEST(PlainSchedule, FlowsDoNotSendInStep) {
  PlainSource source(std::vector(20, flow_of(50)));
  std::vector<size_t> all(20);
  std::iota(all.begin(), all.end(), 0);
  source.start(all, kStart);
  constexpr uint64_t kStall = kStart + 200'000'000;
  std::vector<Sent> sent = drive(source, kStall);
  EXPECT_EQ(sent.size(), 201U);
  std::vector<packet::Outgoing> out(64);
  const size_t late =
      source.next(kStall + 47'000'000, out); // what is a whole interval late is lost
  EXPECT_EQ(late, 21U);                      // flow 7 is due now, too
  for (const Sent &each : drive(source, kStall + 500'000'000))
    sent.push_back(each);
  for (size_t i = 1; i < 201; i++)
    EXPECT_EQ(sent[i].due - sent[i - 1].due, 1'000'000U);
  for (size_t i = 202; i < sent.size(); i++)
    EXPECT_EQ(sent[i].due - sent[i - 1].due, 1'000'000U);
  uint64_t slipped = 0;
  for (const size_t flow : all)
    slipped += source.counts(flow).slipped_ns;
  EXPECT_EQ(slipped % 20'000'000, 0U);
  EXPECT_GT(slipped, 0U);
}

// The next frame is due by the new rate after the last one, also where that was long ago; counts
// and tags continue.
TEST(PlainSchedule, ARunningFlowChanges) {
  PlainFlow slow = flow_of(1), fast = flow_of(1000);
  slow.frame.variations = {
      {.bit = 40, .bits = 8, .kind = Variation::Kind::Values, .values = {7, 8, 9}, .count = 3}};
  slow.tags = {{40, 8}};
  fast.tags = slow.tags; // the frame stays that of before
  fast.sizes.from = 200;
  PlainSource source({slow});
  source.start(0, kStart);
  EXPECT_EQ(drive(source, kStart).size(), 1U);
  source.update(0, fast, kStart + 500'000'000);
  auto sent = drive(source, kStart + 510'000'000);
  ASSERT_EQ(sent.size(), 11U);
  EXPECT_EQ(sent[0].due, kStart + 500'000'000);
  EXPECT_EQ(sent[10].due, kStart + 510'000'000);
  EXPECT_EQ(sent[0].bytes, 196U);
  EXPECT_EQ(source.tagged(0).by_values().size(), 3U);
  source.update(0, slow, kStart + 510'000'000);
  EXPECT_EQ(source.wake_at(), kStart + 1'510'000'000);
  EXPECT_EQ(source.counts(0).frames, 12U);
  EXPECT_EQ(source.counts(0).bytes, 64 + 11 * 200U);
  const auto tagged = source.tagged(0).by_values();
  ASSERT_EQ(tagged.size(), 3U);
  for (const auto &[values, counts] : tagged)
    EXPECT_EQ(counts.frames, 4U);
  source.pause(0, kStart + 510'000'000);
  source.update(0, fast, kStart + 600'000'000);
  EXPECT_EQ(source.wake_at(), kNever);
  source.resume(0, kStart + 700'000'000);
  EXPECT_EQ(source.wake_at(), kStart + 701'000'000);
}

TEST(PlainSchedule, AStartThatIsAskedForIsKept) {
  PlainFlow delayed = flow_of(50), one = flow_of(1);
  delayed.span.delay = {.value = 3000, .bytes = false};
  one.span.kind = FrameSpan::Kind::Packets;
  one.span.packets = 1;
  PlainSource source({flow_of(50), delayed, one, flow_of(50)});
  source.start(std::vector<size_t>{0, 1, 2, 3}, kStart);
  const auto sent = drive(source, kStart + 19'000'000);
  ASSERT_EQ(sent.size(), 4U);
  EXPECT_EQ(sent[0].due, kStart);
  EXPECT_EQ(sent[1].due, kStart);
  EXPECT_EQ(sent[2].due, kStart + 3000);
  EXPECT_EQ(sent[3].due, kStart + 15'000'000);
}

TEST(PlainSchedule, BitsAreOfLayer2AndPercentOfLayer1) {
  PlainFlow flow = flow_of(1);
  flow.sizes.from = 1000;
  flow.line_bits = 10 * kGbit;
  flow.span.kind = FrameSpan::Kind::Time;
  flow.span.ns = kSecond / 10;
  flow.rate = {.kind = FrameRate::Kind::Bits, .value = 8'000'000, .percent = 0};
  PlainSource bits({flow});
  bits.start(0, kStart);
  EXPECT_EQ(drive(bits, kNever - 1).size(), 100U); // 1000 bytes of 8 bits each ms

  flow.rate = {.kind = FrameRate::Kind::Percent, .value = 0, .percent = 10.2};
  PlainSource percent({flow});
  percent.start(0, kStart);
  // 10.2 % of 10 Gbit/s are 1.02 Gbit/s: 1020 bytes each 8 us
  const auto sent = drive(percent, kNever - 1);
  ASSERT_EQ(sent.size(), 12500U);
  EXPECT_EQ(sent[1].due - sent[0].due, 8000U);
  EXPECT_EQ(sent[1].bytes, 996U);
}

TEST(PlainSchedule, GapDelayAndBursts) {
  PlainFlow flow = flow_of(100'000'000); // more than the line can
  flow.line_bits = kGbit;
  flow.span.kind = FrameSpan::Kind::Packets;
  flow.span.packets = 3;
  flow.span.gap = 28;
  flow.span.delay = {.value = 1000, .bytes = true};
  PlainSource source({flow});
  source.start(0, kStart);
  auto sent = drive(source, kNever - 1);
  ASSERT_EQ(sent.size(), 3U);
  for (uint64_t k = 0; k < 3; k++) // 64 + 8 + 28 bytes at 1 Gbit/s
    EXPECT_EQ(sent[k].due, kStart + 8000 + 800 * k);
  EXPECT_EQ(source.counts(0).state, PlainState::Stopped);

  flow.span = {.kind = FrameSpan::Kind::Bursts, .packets = 2, .bursts = 3};
  flow.span.between = {.value = 5000, .bytes = false};
  PlainSource bursts({flow});
  bursts.start(0, kStart);
  sent = drive(bursts, kNever - 1);
  ASSERT_EQ(sent.size(), 6U);
  for (uint64_t k = 0; k < 6; k++) // 84 bytes within a burst; 72 bytes and the gap after it
    EXPECT_EQ(sent[k].due, kStart + k / 2 * (672 + 576 + 5000) + k % 2 * 672) << k;
  EXPECT_EQ(bursts.counts(0).state, PlainState::Stopped);
}

// Like a port of a LAG, it stops and continues with another rate, and more or fewer frames.
TEST(PlainSchedule, ContinuesWithAnotherShare) {
  PlainFlow flow = flow_of(1000);
  flow.span.kind = FrameSpan::Kind::Packets;
  flow.span.packets = 100;
  PlainSource source({flow});
  source.start(0, kStart);
  source.stop(0);
  source.go_on(0, kStart + kSecond, {.rate = 500, .packets = 50});
  auto sent = drive(source, kStart + kSecond + 9'000'000);
  ASSERT_EQ(sent.size(), 5U);
  EXPECT_EQ(sent[4].due, kStart + kSecond + 8'000'000);
  source.go_on(0, kStart, {}); // it is started
  source.stop(0);
  source.go_on(0, kStart + 2 * kSecond, {.packets = 7}); // the flow's own rate
  sent = drive(source, kNever - 1);
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[1].due, kStart + 2 * kSecond + 1'000'000);
  EXPECT_EQ(source.counts(0).state, PlainState::Stopped);
  source.go_on(0, kStart + 3 * kSecond, {.packets = 10}); // it was over
  EXPECT_EQ(drive(source, kNever - 1).size(), 3U);
  EXPECT_EQ(source.counts(0).frames, 10U);

  flow.span.kind = FrameSpan::Kind::Time;
  flow.span.ns = kSecond;
  PlainSource timed({flow});
  timed.start(0, kStart);
  timed.stop(0);
  timed.go_on(0, kStart + 995'000'000, {.end = kStart + kSecond});
  EXPECT_EQ(drive(timed, kNever - 1).size(), 5U);
  EXPECT_EQ(timed.counts(0).state, PlainState::Stopped);
}

TEST(PlainSchedule, PauseStopAndRestart) {
  PlainFlow flow = flow_of(1000);
  flow.span.kind = FrameSpan::Kind::Time;
  flow.span.ns = 10'000'000; // 10 frames
  PlainSource source({flow, flow_of(1000)});
  source.start(0, kStart);
  EXPECT_EQ(drive(source, kStart + 2'500'000).size(), 3U);
  source.pause(0, kStart + 2'500'000);
  EXPECT_EQ(source.counts(0).state, PlainState::Paused);
  EXPECT_EQ(source.wake_at(), kNever);
  source.resume(0, kStart + 102'500'000);
  EXPECT_EQ(source.wake_at(), kStart + 103'000'000);
  EXPECT_EQ(drive(source, kNever - 1).size(), 7U);
  EXPECT_EQ(source.counts(0).state, PlainState::Stopped);
  source.resume(0, kStart + kSecond); // it is not paused
  EXPECT_EQ(source.counts(0).state, PlainState::Stopped);

  source.start(0, kStart + kSecond); // counts are those of this start
  EXPECT_EQ(source.counts(0).frames, 0U);
  EXPECT_EQ(drive(source, kStart + kSecond).size(), 1U);
  source.stop(0);
  EXPECT_EQ(source.wake_at(), kNever);
  EXPECT_EQ(source.counts(0).frames, 1U); // stop keeps them
  EXPECT_EQ(source.counts(1).frames, 0U);
}

TEST(PlainSchedule, LateTimeIsCaughtUpWithinItsPatience) {
  PlainSource source({flow_of(10'000)}); // each 100 us
  std::vector<packet::Outgoing> out(64);
  source.start(0, kStart);
  EXPECT_EQ(source.next(kStart + 900'000, out), 10U);
  EXPECT_EQ(source.counts(0).slipped_ns, 0U);
  // next is due at 1 ms: of 5 ms, 4 are lost
  EXPECT_EQ(source.next(kStart + 6'000'000, out), 11U);
  EXPECT_EQ(source.counts(0).slipped_ns, 4'000'000U);
  EXPECT_EQ(source.counts(0).frames, 21U);
}

TEST(PlainSchedule, FlowsTakeTurns) {
  PlainFlow large = flow_of(2000);
  large.sizes.from = 128;
  PlainSource source({flow_of(1000), large});
  source.start(0, kStart);
  source.start(1, kStart);
  const auto sent = drive(source, kStart + 999'999, 1);
  ASSERT_EQ(sent.size(), 3U);
  EXPECT_EQ(sent[0].bytes, 60U);
  EXPECT_EQ(sent[1].bytes, 124U);
  EXPECT_EQ(sent[2].due, kStart + 500'000);
  source.stop(0);
  EXPECT_EQ(source.wake_at(), kStart + 1'000'000);
  EXPECT_EQ(drive(source, kStart + 1'000'000).size(), 1U);
}

TEST(PlainSchedule, WhatItNeedsIsSaid) {
  PlainFlow flow = flow_of(1);
  flow.rate.kind = FrameRate::Kind::Percent;
  EXPECT_FALSE(check_plain(flow).ok());
  flow.line_bits = kGbit;
  EXPECT_TRUE(check_plain(flow).ok());
  flow.rate.percent = 0;
  flow.span.kind = FrameSpan::Kind::Time;
  flow.span.ns = kSecond;
  PlainSource silent({flow});
  silent.start(0, kStart);
  EXPECT_TRUE(drive(silent, kStart + kSecond).empty());
  EXPECT_EQ(silent.counts(0).state, PlainState::Stopped);
  flow.frame.headers.resize(61);
  EXPECT_FALSE(check_plain(flow).ok());
  EXPECT_FALSE(check_plain(flow_of(0)).ok());
}

TEST(PlainSizes, Kinds) {
  FrameSizes up{.kind = FrameSizes::Kind::Increment, .from = 64, .to = 70, .step = 3};
  for (const uint32_t size : {64U, 67U, 70U, 64U})
    EXPECT_EQ(up.of(size == 64U ? 3 : (size - 64) / 3), size);
  EXPECT_EQ(up.of(4), 67U);

  FrameSizes any{.kind = FrameSizes::Kind::Random, .from = 100, .to = 103};
  std::map<uint32_t, int> drawn;
  for (uint64_t i = 0; i < 4000; i++)
    drawn[any.of(i)]++;
  ASSERT_EQ(drawn.size(), 4U);
  EXPECT_EQ(drawn.begin()->first, 100U);
  for (const auto &one : drawn)
    EXPECT_NEAR(one.second, 1000, 150);

  FrameSizes imix{.kind = FrameSizes::Kind::Weighted};
  imix.weighted = {{64, 7}, {570, 4}, {1518, 1}};
  drawn.clear();
  for (uint64_t i = 0; i < 12000; i++)
    drawn[imix.of(i)]++;
  EXPECT_NEAR(drawn[64], 7000, 300);
  EXPECT_NEAR(drawn[570], 4000, 300);
  EXPECT_NEAR(drawn[1518], 1000, 200);
  EXPECT_EQ(imix.largest(), 1518U);
  EXPECT_EQ(imix.smallest(), 64U);
}

TEST(VariedFrame, FieldsOfAnyWidth) {
  Bytes bytes(20, 0xff);
  packet::set_bits(bytes, 3, 7, 0);
  EXPECT_EQ(bytes[0], 0xe0);
  EXPECT_EQ(bytes[1], 0x3f);
  const Wide wide = Wide{0x0123456789abcdef} << 64 | 0xfedcba9876543210;
  packet::set_bits(bytes, 13, 128, wide);
  EXPECT_TRUE(packet::get_bits(bytes, 13, 128) == wide);
  EXPECT_EQ(bytes[1], 0x38); // the bits before it are as they were
  EXPECT_EQ(bytes[17] & 7, 7);
}

Bytes written(const VariedFrame &frame, uint64_t number, uint32_t size) {
  Bytes out(size);
  frame.write(number, size, out);
  return out;
}

TEST(VariedFrame, Patterns) {
  FrameShape shape;
  shape.headers.assign(8, 0);
  Variation list{.bit = 0, .bits = 8, .kind = Variation::Kind::Values, .values = {5, 9}};
  list.count = 2;
  const Variation up{.bit = 8, .bits = 8, .start = 250, .step = 3, .count = 4};
  const Variation down{.bit = 16, .bits = 12, .start = 1, .step = Wide{0} - 1, .count = 3};
  Variation any{.bit = 32, .bits = 16, .kind = Variation::Kind::Random, .start = 10, .span = 5};
  any.seed = 7;
  any.count = 50;
  shape.variations = {list, up, down, any};
  shape.fill.kind = packet::Fill::Kind::WordDown;
  const VariedFrame frame(shape, 60);
  std::set<int> drawn;
  for (uint64_t n = 0; n < 200; n++) {
    const Bytes bytes = written(frame, n, 60);
    EXPECT_EQ(bytes[0], n % 2 ? 9 : 5);
    EXPECT_EQ(bytes[1], static_cast<uint8_t>(250 + n % 4 * 3));
    const int low = bytes[2] << 4 | bytes[3] >> 4;
    EXPECT_EQ(low, (1 - static_cast<int>(n % 3)) & 0xfff);
    const int value = bytes[4] << 8 | bytes[5];
    EXPECT_GE(value, 10);
    EXPECT_LE(value, 15);
    drawn.insert(value);
    EXPECT_EQ(value, written(frame, n + 50, 60)[4] << 8 | written(frame, n + 50, 60)[5]);
    EXPECT_EQ((Bytes{bytes.begin() + 8, bytes.begin() + 12}), (Bytes{0xff, 0xff, 0xff, 0xfe}));
  }
  EXPECT_EQ(drawn.size(), 6U);
}

// RFC 1071 word by word, unlike the sender's.
uint16_t plain_sum(const Bytes &bytes, size_t from, size_t to, uint32_t sum) {
  for (size_t i = from; i < to; i++) {
    sum += static_cast<uint32_t>((i - from) % 2 ? bytes[i] : bytes[i] << 8);
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return static_cast<uint16_t>(sum);
}

TEST(VariedFrame, LengthsAndChecksumsOfAllSizes) {
  FrameShape shape;
  shape.headers.assign(14 + 20 + 8, 0x5a);
  shape.lengths = {{16, 14}, {38, 34}};
  ChecksumField ip{.at = 24, .from = 14, .to = 34};
  ChecksumField udp{.at = 40, .from = 34, .addresses = 26, .addresses_of = 8, .protocol = 17};
  udp.never_zero = true;
  shape.checksums = {udp, ip};
  shape.variations = {{.bit = 8 * 37, .bits = 8, .start = 0, .step = 1, .count = 256}};
  shape.fill = {packet::Fill::Kind::ByteUp, {}};
  const VariedFrame frame(shape, 300);
  for (uint32_t size = 42; size <= 300; size++) {
    const Bytes bytes = written(frame, size, size);
    EXPECT_EQ(bytes[16] << 8 | bytes[17], static_cast<int>(size - 14));
    EXPECT_EQ(bytes[38] << 8 | bytes[39], static_cast<int>(size - 34));
    EXPECT_EQ(plain_sum(bytes, 14, 34, 0), 0xffff);
    EXPECT_EQ(plain_sum(bytes, 34, size, plain_sum(bytes, 26, 34, 17 + size - 34)), 0xffff) << size;
  }
  shape.checksums[0].bad = true;
  const Bytes bad = written(VariedFrame(shape, 300), 0, 100);
  EXPECT_NE(plain_sum(bad, 34, 100, plain_sum(bad, 26, 34, 17 + 66)), 0xffff);
}

// Frames with a stamp, sent at `times`.
std::vector<Bytes> stamped_frames(size_t count, uint16_t id, uint32_t size = 64) {
  PlainFlow flow = flow_of(1'000'000);
  flow.frame.headers.assign(42, 0);
  flow.frame.stamped = true;
  flow.sizes.from = size;
  flow.id = id;
  flow.span.kind = FrameSpan::Kind::Packets;
  flow.span.packets = count;
  PlainSource source({flow}, 37);
  EXPECT_TRUE(source.stamped(0));
  source.start(0, kStart);
  std::vector<Bytes> frames;
  std::vector<packet::Outgoing> out(3);
  while (source.wake_at() != kNever) {
    const size_t made = source.next(source.wake_at(), out);
    for (size_t i = 0; i < made; i++)
      frames.emplace_back(out[i].raw.begin(), out[i].raw.end());
  }
  EXPECT_EQ(source.counts(0).stamped, count);
  return frames;
}

TEST(PlainReceiver, LatencyAndLoss) {
  const auto frames = stamped_frames(10, 3);
  PlainReceiver receiver(4);
  for (size_t i = 0; i < frames.size(); i++)
    if (i != 4 && i != 9) {
      EXPECT_TRUE(receiver.receive(kStart + 37 + 1000 * i + 500 + 10 * i, frames[i]));
    }
  const PlainReceived &counts = receiver.counts(3);
  EXPECT_EQ(counts.frames, 8U);
  EXPECT_EQ(counts.bytes, 8 * 64U);
  EXPECT_EQ(counts.missing, 1U); // the last is not known to be sent
  EXPECT_EQ(counts.lost(10), 2U);
  EXPECT_EQ(counts.late + counts.duplicates + counts.before, 0U);
  EXPECT_EQ(counts.latency_min_ns, 500U);
  EXPECT_EQ(counts.latency_max_ns, 580U);
  EXPECT_EQ(counts.latency_average_ns(), (8 * 500 + 10 * (0 + 1 + 2 + 3 + 5 + 6 + 7 + 8)) / 8U);
  EXPECT_EQ(counts.first_ns, kStart + 537);
  EXPECT_EQ(counts.last_ns, kStart + 37 + 8580);
  EXPECT_EQ(receiver.counts(0).frames, 0U);
  receiver.clear(3);
  EXPECT_EQ(receiver.counts(3).frames, 0U);
  EXPECT_FALSE(PlainReceiver(3).receive(kStart, frames[0])); // not one of its flows
}

TEST(PlainReceiver, OrderDuplicatesAndClocks) {
  const auto frames = stamped_frames(8, 0, 100);
  PlainReceiver receiver(1);
  for (const size_t i : {0U, 3U, 1U, 1U, 3U, 2U, 7U})
    EXPECT_TRUE(receiver.receive(kStart + kSecond, frames[i]));
  EXPECT_EQ(receiver.counts(0).duplicates, 2U);
  EXPECT_EQ(receiver.counts(0).late, 2U);
  EXPECT_EQ(receiver.counts(0).missing, 3U);
  EXPECT_EQ(receiver.counts(0).lost(8), 3U);
  EXPECT_TRUE(receiver.receive(kStart, frames[5])); // before it was sent
  EXPECT_EQ(receiver.counts(0).before, 1U);
  EXPECT_EQ(receiver.counts(0).timed, 7U);
  EXPECT_FALSE(receiver.receive(kStart, Bytes(60, 0)));
  EXPECT_FALSE(receiver.receive(kStart, Bytes(10, 0)));
}

TEST(PlainReceiver, LongLossAndWrap) {
  Bytes frame(60);
  PlainReceiver receiver(1);
  const auto arrive = [&](uint32_t sequence) {
    packet::write_trailer(frame.data() + 60 - packet::kTrailerBytes, {0, sequence, 1});
    EXPECT_TRUE(receiver.receive(2, frame));
  };
  constexpr uint32_t kFar = 2'000'000'000;
  arrive(0);
  arrive(kFar);
  arrive(2 * kFar);
  arrive(2 * kFar);      // a duplicate after a window that is new
  arrive(1'000'000'000); // after the wrap
  arrive(UINT32_MAX);    // late, and too long ago to know whether it is a duplicate
  const PlainReceived &counts = receiver.counts(0);
  EXPECT_EQ(counts.duplicates, 1U);
  EXPECT_EQ(counts.late, 1U);
  EXPECT_EQ(counts.missing, (uint64_t{1} << 32) + 1'000'000'001 - 5);
}

// 14 bytes of Ethernet, 20 of IPv4, 8 of UDP.
FrameShape udp_shape(uint16_t port) {
  FrameShape shape;
  shape.headers.assign(42, 0);
  std::span<uint8_t> bytes = shape.headers;
  packet::set_bits(bytes, 0, 48, 0x020000000001);
  packet::set_bits(bytes, 96, 16, 0x0800);
  bytes[14] = 0x45;
  bytes[15] = 26 << 2;
  bytes[22] = 64; // TTL
  bytes[23] = 17;
  packet::set_bits(bytes, 208, 32, 0xc0000201);
  packet::set_bits(bytes, 240, 32, 0xc0000202);
  packet::set_bits(bytes, 272, 16, port);
  shape.lengths = {{16, 14}, {38, 34}};
  shape.checksums = {{.at = 40, .from = 34, .addresses = 26, .addresses_of = 8, .protocol = 17},
                     {.at = 24, .from = 14, .to = 34}};
  return shape;
}

Bytes written(const FrameShape &shape, uint64_t number, uint32_t size = 60) {
  Bytes bytes(size);
  VariedFrame(shape, size).write(number, size, bytes);
  return bytes;
}

TEST(HeaderMatch, WhatNetworksChangeDoesNotCount) {
  const FrameShape shape = udp_shape(7);
  const packet::HeaderMatch match(shape);
  Bytes frame = written(shape, 0);
  EXPECT_TRUE(match.holds(frame));
  EXPECT_TRUE(match.holds(written(shape, 0, 1500)));
  frame[5]++;     // MAC
  frame[22]--;    // TTL
  frame[15] |= 3; // CE
  EXPECT_TRUE(match.holds(frame));
  frame.insert(frame.begin() + 12, {0x81, 0, 0x60, 5}); // a tag
  EXPECT_TRUE(match.holds(frame));
  for (const size_t byte : {15U, 23U, 29U, 33U, 35U}) { // DSCP, protocol, addresses, port
    Bytes other = written(shape, 0);
    other[byte] ^= 4;
    EXPECT_FALSE(match.holds(other)) << byte;
  }
  EXPECT_FALSE(match.holds(Bytes(frame.begin(), frame.begin() + 40)));
  EXPECT_FALSE(match.holds(Bytes(60)));
}

TEST(HeaderMatch, WithoutIpTheWholeHeaderCounts) {
  FrameShape shape;
  shape.headers.assign(34, 0x11);
  packet::set_bits(shape.headers, 96, 16, 0x8808);
  const packet::HeaderMatch match(shape), any_macs(shape, false);
  Bytes frame = written(shape, 0);
  EXPECT_TRUE(match.holds(frame) && any_macs.holds(frame));
  frame[3]++;
  EXPECT_FALSE(match.holds(frame));
  EXPECT_TRUE(any_macs.holds(frame));
  frame[20]++;
  EXPECT_FALSE(any_macs.holds(frame));
}

TEST(HeaderMatch, VaryingFieldsHaveOneOfTheirValues) {
  using Kind = Variation::Kind;
  const std::vector<std::pair<Variation, std::pair<Wide, Wide>>> fields{
      // one of its values, and one that is not
      {{.bit = 272, .bits = 16, .kind = Kind::Values, .values = {5, 9}, .count = 2}, {9, 6}},
      {{.bit = 272, .bits = 16, .start = 10, .step = 3, .count = 4}, {19, 22}},
      {{.bit = 272, .bits = 16, .start = 10, .step = Wide{0} - 3, .count = 4}, {1, 13}},
      {{.bit = 272, .bits = 16, .start = 65'535, .step = 2, .count = 3}, {3, 5}}, // wraps
      {{.bit = 272, .bits = 16, .start = 10, .step = 0, .count = 4}, {10, 11}},
      {{.bit = 272, .bits = 16, .kind = Kind::Random, .start = 100, .span = 20, .count = 8},
       {120, 121}}};
  for (const auto &[field, values] : fields) {
    FrameShape shape = udp_shape(0);
    shape.variations = {field};
    const packet::HeaderMatch match(shape);
    for (uint64_t number = 0; number < 20; number++)
      EXPECT_TRUE(match.holds(written(shape, number))) << number;
    Bytes frame = written(shape, 0);
    packet::set_bits(frame, 272, 16, values.first);
    EXPECT_TRUE(match.holds(frame)) << static_cast<uint64_t>(values.first);
    packet::set_bits(frame, 272, 16, values.second);
    EXPECT_FALSE(match.holds(frame)) << static_cast<uint64_t>(values.second);
  }
}

TEST(PlainReceiver, HeadersCountWhereThereIsNoStamp) {
  PlainReceiver receiver(2, {{1, packet::HeaderMatch(udp_shape(7))}});
  EXPECT_TRUE(receiver.receive(kStart, written(udp_shape(7), 0)));
  EXPECT_TRUE(receiver.receive(kStart + 5, written(udp_shape(7), 1)));
  EXPECT_FALSE(receiver.receive(kStart, written(udp_shape(8), 0)));
  const PlainReceived &counts = receiver.counts(1);
  EXPECT_EQ(counts.frames, 2U);
  EXPECT_EQ(counts.unstamped, 2U);
  EXPECT_EQ(counts.bytes, 128U);
  EXPECT_EQ(counts.last_ns - counts.first_ns, 5U);
  EXPECT_EQ(counts.timed + counts.duplicates, 0U);
  EXPECT_EQ(counts.lost(5), 3U);
}

TEST(PlainSchedule, AStoppedFlowGetsOtherFrames) {
  PlainFlow flow = flow_of(1000);
  flow.span.packets = 2;
  flow.span.kind = FrameSpan::Kind::Packets;
  PlainSource source({flow});
  source.start(0, kStart);
  EXPECT_EQ(drive(source, kStart + kSecond).size(), 2U);
  flow.frame.headers.assign(14, 0x22);
  flow.sizes.from = flow.sizes.to = 1518;
  source.replace(0, flow);
  EXPECT_EQ(source.counts(0).frames, 2U);
  source.start(0, kStart + kSecond);
  std::vector<packet::Outgoing> out(4);
  ASSERT_EQ(source.next(kStart + kSecond, out), 1U);
  EXPECT_EQ(out[0].raw.size(), 1514U);
  EXPECT_EQ(out[0].raw[0], 0x22);
}

TEST(PlainReceiver, FramesTooShortHaveNoStamp) {
  PlainFlow flow = flow_of(1000);
  flow.frame.headers.assign(43, 0);
  flow.frame.stamped = true;
  PlainSource source({flow});
  EXPECT_FALSE(source.stamped(0));
  source.start(0, kStart);
  EXPECT_EQ(drive(source, kStart).size(), 1U);
  EXPECT_EQ(source.counts(0).stamped, 0U);
}

} // namespace
} // namespace xr::requester::plain_flow_test
