// SPDX-License-Identifier: Apache-2.0
// The loop of `send` and `respond`, in virtual time, on a socket in memory.
#include "endpoint/engine_loop.h"

#include <random>

#include <gtest/gtest.h>

#include "frames.h"
#include "packet/icrc.h"
#include "packet/stamp.h"
#include "unit/fake_socket.h"
#include "unit/responder_requests.h"

namespace xr::test::engine_test {
namespace {

using packet::Damage;
using packet::Outgoing;
using Bytes = std::vector<uint8_t>;

constexpr uint64_t kUs = 1000, kMs = 1'000'000;
constexpr uint64_t kRound = 2 * kUs; // a loop that has something to do looks at the clock sooner
constexpr unsigned kPriority = 3;

// Sends what the test gave it, in order, and keeps what it receives.
class Script : public packet::Source {
public:
  struct Got {
    uint64_t now;
    Bytes bytes;
    roce_class class_;
  };

  std::deque<Outgoing> frames; // with `due` 0: at once
  std::deque<Outgoing> at_end; // for last()
  std::vector<Got> received;
  std::vector<uint64_t> flushes;
  const packet::Pauses *pauses = nullptr; // stop all frames while they pause kPriority
  std::function<void(uint64_t)> on_next = [](uint64_t) {};
  bool endless = false; // until `stop`
  size_t longest_batch = 0;

  void receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
               const roce_packet &) override {
    received.push_back({now, Bytes(frame.begin(), frame.end()), class_});
  }
  size_t next(uint64_t now, std::span<Outgoing> out) override {
    on_next(now);
    size_t count = 0;
    if (!pauses || !pauses->paused(kPriority, now))
      for (; count < out.size() && !frames.empty() && frames.front().due <= now; count++)
        take(frames, out[count]);
    longest_batch = std::max(longest_batch, count);
    return count;
  }
  uint64_t wake_at() const override {
    const uint64_t due = frames.empty() ? kNever : frames.front().due;
    return pauses ? std::max(due, pauses->until(kPriority)) : due;
  }
  bool done() const override { return frames.empty() && !endless; }
  void flushed(uint64_t now) override { flushes.push_back(now); }
  size_t last(std::span<Outgoing> out) override {
    size_t count = 0;
    for (; count < out.size() && !at_end.empty(); count++)
      take(at_end, out[count]);
    return count;
  }

private:
  static void take(std::deque<Outgoing> &from, Outgoing &out) {
    out = from.front();
    from.pop_front();
  }
};

struct Loop {
  FakeTime time;
  FakeSocket *socket;
  Script *source;
  std::unique_ptr<endpoint::BasicEngine<FakeSocket, FakeClock>> engine;
  std::atomic<bool> stop{false};
  std::deque<Bytes> bytes; // of the frames to send
  const uint64_t start = time.now;

  explicit Loop(uint32_t slots = 1024, uint32_t receive = 4096) {
    auto own_socket = std::make_unique<FakeSocket>(time, slots, receive);
    auto own_source = std::make_unique<Script>();
    socket = own_socket.get();
    source = own_source.get();
    engine = std::make_unique<endpoint::BasicEngine<FakeSocket, FakeClock>>(
        std::move(own_socket), std::move(own_source), ROCE_UDP_PORT, FakeClock(time));
  }

  Outgoing made(Bytes frame, uint64_t due = 0) {
    bytes.push_back(std::move(frame));
    Outgoing out;
    out.raw = bytes.back();
    out.due = due;
    return out;
  }
  // `count` frames from 1 ms on, each with its number.
  void send_each(uint64_t interval, uint32_t count, uint32_t length = 100) {
    for (uint32_t i = 0; i < count; i++)
      source->frames.push_back(made(numbered(i, length), start + kMs + i * interval));
  }
  static Bytes numbered(uint32_t number, uint32_t length = 100) {
    Bytes frame(length);
    memcpy(frame.data() + 20, &number, sizeof(number));
    return frame;
  }
  void stop_at(uint64_t time_ns) {
    source->endless = true;
    socket->on_receive = [this, time_ns] { stop = time.now >= time_ns; };
  }
  Status run() { return engine->run(stop); }
  EngineCounts counts() {
    EngineCounts all;
    engine->read_counts([&](const EngineCounts &counts) { all = counts; });
    return all;
  }
};

TEST(Engine, SendsAtTheAskedTimes) {
  Loop loop;
  loop.send_each(10 * kUs, 1000);
  ASSERT_TRUE(loop.run());
  ASSERT_EQ(loop.socket->sent.size(), 1000U);
  for (uint32_t i = 0; i < 1000; i++) {
    const FakeSocket::Sent &sent = loop.socket->sent[i];
    EXPECT_EQ(sent.bytes, Loop::numbered(i));
    const uint64_t due = loop.start + kMs + i * 10 * kUs;
    EXPECT_GE(sent.flushed, due);
    EXPECT_LE(sent.flushed, due + kRound);
  }
  const EngineCounts counts = loop.counts();
  EXPECT_EQ(counts.sent, 1000U);
  EXPECT_EQ(counts.sent_bytes, 100'000U);
  EXPECT_EQ(counts.not_sent + counts.too_long + counts.received, 0U);
  EXPECT_EQ(counts.late_ns.count(), 1000U);
  EXPECT_LE(counts.late_ns.max(), kRound);
  EXPECT_EQ(counts.jitter_ns.count(), 999U);
  EXPECT_LE(counts.jitter_ns.max(), kRound);
  EXPECT_EQ(counts.begun_ns, loop.start + loop.time.look);
  EXPECT_NEAR(static_cast<double>(counts.now_ns),
              static_cast<double>(loop.start + kMs + 9990 * kUs), 2.0 * kRound);
  EXPECT_FALSE(loop.engine->zero_copy());
}

// It spins for the last 60 us before a frame, so that a late end of a sleep does not delay it.
TEST(Engine, SleepsUntilShortlyBeforeAFrame) {
  Loop loop;
  loop.send_each(kMs, 100);
  ASSERT_TRUE(loop.run());
  EXPECT_EQ(loop.socket->waits, 100U);
  EXPECT_LE(loop.socket->longest_wait, kMs - 60 * kUs);
  EXPECT_GE(loop.socket->longest_wait, kMs - 70 * kUs);
}

TEST(Engine, LatenessAndJitterAreCounted) {
  Loop loop;
  loop.send_each(10 * kUs, 1000);
  bool slept = false;
  loop.source->on_next = [&](uint64_t now) {
    if (now >= loop.start + 5 * kMs && !std::exchange(slept, true))
      loop.time.now += kMs; // the scheduler took the processor away, after the time was read
  };
  ASSERT_TRUE(loop.run());
  EngineCounts counts = loop.counts();
  EXPECT_EQ(counts.sent, 1000U);
  EXPECT_NEAR(static_cast<double>(counts.late_ns.max()), kMs - 10.0 * kUs, kRound);
  EXPECT_NEAR(static_cast<double>(counts.jitter_ns.max()), kMs - 10.0 * kUs, kRound);
  uint64_t late = 0;
  counts.late_ns.each(
      [&](uint64_t low, uint64_t, uint64_t count) { late += low > kRound ? count : 0; });
  EXPECT_NEAR(static_cast<double>(late), 100, 2);
  EXPECT_LE(counts.last_late_ns, kRound);
}

TEST(Engine, AFullRingDelaysAndLosesNothing) {
  Loop loop(64);
  loop.socket->frame_ns = 10 * kUs;
  loop.send_each(kUs, 1000);
  ASSERT_TRUE(loop.run());
  EXPECT_EQ(loop.socket->sent.size(), 1000U);
  for (uint32_t i = 0; i < loop.socket->sent.size(); i++)
    EXPECT_EQ(loop.socket->sent[i].bytes, Loop::numbered(i));
  const EngineCounts counts = loop.counts();
  EXPECT_EQ(counts.sent, 1000U);
  EXPECT_EQ(counts.not_sent, 0U);
  // the last frame is put when 64 are before it, 10 us each, and 935 have left
  EXPECT_NEAR(static_cast<double>(counts.late_ns.max()), (936 * 10.0 - 999) * kUs, 70.0 * kUs);
  EXPECT_LE(loop.source->longest_batch, 32U);
}

TEST(Engine, FramesThatNeverLeaveAreNotSent) {
  Loop loop(64);
  loop.socket->stopped_until = kNever - kMs; // no carrier
  loop.send_each(kUs, 1000, 200);
  loop.stop_at(loop.start + 10 * kMs);
  ASSERT_TRUE(loop.run());
  const EngineCounts counts = loop.counts();
  EXPECT_EQ(counts.not_sent, 64U);
  EXPECT_EQ(counts.sent, 0U);
  EXPECT_EQ(counts.sent_bytes, 0U);
  EXPECT_EQ(loop.source->frames.size(), 1000U - 64);
  // it waited 500 ms for the ring
  EXPECT_NEAR(static_cast<double>(loop.time.now - loop.start), 1010.0 * kMs, 1.0 * kMs);
}

TEST(Engine, WhatKernelAndDriverLoseIsCounted) {
  Loop loop;
  loop.send_each(kUs, 100);
  uint32_t number = 0;
  loop.socket->taken = [&](const Bytes &) {
    number++;
    return number % 10 == 0 ? Taken::Dropped : number % 10 == 5 ? Taken::Invalid : Taken::Sent;
  };
  ASSERT_TRUE(loop.run());
  const EngineCounts counts = loop.counts();
  EXPECT_EQ(counts.sent, 100U); // given to the kernel
  EXPECT_EQ(counts.socket.tx_dropped, 10U);
  EXPECT_EQ(counts.socket.tx_invalid, 10U);
  EXPECT_EQ(loop.socket->sent.size(), 80U);
}

TEST(Engine, TooLongFramesAreCounted) {
  Loop loop;
  loop.source->frames = {loop.made(Bytes(1514)), loop.made(Bytes(1515)), loop.made(Bytes(60))};
  ASSERT_TRUE(loop.run());
  const EngineCounts counts = loop.counts();
  EXPECT_EQ(counts.too_long, 1U);
  EXPECT_EQ(counts.sent, 2U);
  EXPECT_EQ(counts.sent_bytes, 1574U);
}

TEST(Engine, WhatIsReceivedReachesTheSourceWithItsTime) {
  Loop loop;
  for (uint32_t i = 0; i < 100; i++)
    loop.socket->arrive(loop.start + i * 100 * kUs, Loop::numbered(i));
  const Bytes roce = FrameBuilder(ROCE_RC_SEND_ONLY).build().bytes;
  loop.socket->arrive(loop.start + 10 * kMs, roce);
  loop.stop_at(loop.start + 11 * kMs);
  ASSERT_TRUE(loop.run());
  ASSERT_EQ(loop.source->received.size(), 101U);
  for (uint32_t i = 0; i < 100; i++) {
    const Script::Got &got = loop.source->received[i];
    EXPECT_EQ(got.bytes, Loop::numbered(i));
    EXPECT_EQ(got.class_, ROCE_CLASS_OTHER);
    EXPECT_GE(got.now, loop.start + i * 100 * kUs);
    EXPECT_LE(got.now, loop.start + i * 100 * kUs + kRound);
  }
  EXPECT_EQ(loop.source->received[100].class_, ROCE_CLASS_V2);
  EXPECT_EQ(loop.counts().received, 101U);
  EXPECT_EQ(loop.counts().received_bytes, 100 * 100 + roce.size());
}

TEST(Engine, TheTimeOfArrivalMayBeOfAnotherClock) {
  Loop loop;
  loop.engine->receive_clock(CLOCK_TAI);
  loop.socket->arrive(loop.start + kMs, Loop::numbered(0));
  loop.stop_at(loop.start + 2 * kMs);
  ASSERT_TRUE(loop.run());
  ASSERT_EQ(loop.source->received.size(), 1U);
  const uint64_t monotonic = loop.source->received[0].now - FakeClock::ahead(CLOCK_TAI);
  EXPECT_GE(monotonic, loop.start + kMs);
  EXPECT_LE(monotonic, loop.start + kMs + kRound);
}

TEST(Engine, AnOverflowOfTheReceiveRingIsCounted) {
  Loop loop(1024, 256);
  for (uint32_t i = 0; i < 300; i++)
    loop.socket->arrive(loop.start + kMs, Loop::numbered(i));
  loop.stop_at(loop.start + 2 * kMs);
  ASSERT_TRUE(loop.run());
  EXPECT_EQ(loop.counts().received, 256U);
  EXPECT_EQ(loop.counts().socket.rx_ring_full, 44U);
}

TEST(Engine, AnswersForItsAddresses) {
  using packet::ipv4;
  const packet::Mac own{2, 0, 0, 0, 0, 2}, peer{2, 0, 0, 0, 0, 1};
  const auto question = [&](uint8_t host) {
    return packet::neighbour_question(ipv4(1), peer, ipv4(host), {});
  };
  for (const bool answers : {true, false}) {
    Loop loop;
    if (answers)
      loop.engine->answer_for({ipv4(7), ipv4(5)}, own);
    for (const uint8_t host : {5, 6, 7})
      loop.socket->arrive(loop.start + kMs, question(host));
    loop.stop_at(loop.start + 2 * kMs);
    ASSERT_TRUE(loop.run());
    EXPECT_EQ(loop.source->received.size(), 3U); // the source sees them too
    ASSERT_EQ(loop.socket->sent.size(), answers ? 2U : 0U);
    for (const FakeSocket::Sent &sent : loop.socket->sent) {
      const auto reply = packet::parse_neighbour(sent.bytes);
      ASSERT_TRUE(reply);
      EXPECT_FALSE(reply->question);
      EXPECT_EQ(reply->sender_mac, own);
      EXPECT_EQ(reply->sender, ipv4(&sent == &loop.socket->sent[0] ? 5 : 7));
    }
  }
}

TEST(Engine, WithoutAFreeFrameAQuestionIsNotAnswered) {
  Loop loop(1);
  loop.engine->answer_for({packet::ipv4(5)}, {2, 0, 0, 0, 0, 2});
  loop.socket->frame_ns = 10 * kMs;
  loop.source->frames = {loop.made(Bytes(100))};
  const Bytes question =
      packet::neighbour_question(packet::ipv4(1), {2, 0, 0, 0, 0, 1}, packet::ipv4(5), {});
  loop.socket->arrive(loop.start + kMs, question);
  loop.socket->arrive(loop.start + 20 * kMs, question);
  loop.stop_at(loop.start + 30 * kMs);
  ASSERT_TRUE(loop.run());
  EXPECT_EQ(loop.socket->sent.size(), 2U);
  EXPECT_EQ(loop.counts().received, 2U);
}

Bytes pfc(uint16_t quanta) {
  packet::Pause pause{.enable = 1 << kPriority};
  pause.quanta[kPriority] = quanta;
  return packet::build_pause(pause);
}

TEST(Engine, PausesStopAndResume) {
  Loop loop;
  constexpr uint64_t kLine = 100'000'000'000; // 65,535 quanta: 335 us
  packet::Pauses pauses(kLine);
  loop.source->pauses = &pauses;
  loop.engine->obey(pauses);
  loop.send_each(10 * kUs, 200);
  const uint64_t stop = loop.start + kMs + 500 * kUs, again = stop + kMs;
  loop.socket->arrive(stop, pfc(0xffff));
  loop.socket->arrive(again, pfc(0xffff));
  loop.socket->arrive(again + 100 * kUs, pfc(0)); // XON
  ASSERT_TRUE(loop.run());
  ASSERT_EQ(loop.socket->sent.size(), 200U);
  uint64_t first = 0, second = 0, before = 0;
  for (const FakeSocket::Sent &sent : loop.socket->sent) {
    if (before && before <= stop + kRound)
      first = sent.flushed - before;
    else if (before && before <= again + kRound)
      second = sent.flushed - before;
    before = sent.flushed;
  }
  EXPECT_NEAR(static_cast<double>(first), 335.5 * kUs, 12.0 * kUs);
  EXPECT_NEAR(static_cast<double>(second), 100.0 * kUs, 12.0 * kUs);
  EXPECT_EQ(pauses.counts(loop.time.now).pfc, 3U);
  EXPECT_EQ(loop.source->received.size(), 3U);
}

// Another queue may receive the XON, which does not wake this one.
TEST(Engine, SleepsShortlyWhilePaused) {
  Loop loop;
  packet::Pauses pauses(1'000'000'000); // 65,535 quanta: 33.5 ms
  loop.source->pauses = &pauses;
  loop.engine->obey(pauses);
  loop.socket->arrive(loop.start, pfc(0xffff));
  loop.stop_at(loop.start + 30 * kMs);
  ASSERT_TRUE(loop.run());
  EXPECT_LE(loop.socket->longest_wait, 200 * kUs);
  EXPECT_GE(loop.socket->longest_wait, 100 * kUs);
}

TEST(Engine, SleepsAtMost20ms) {
  Loop loop;
  loop.stop_at(loop.start + 100 * kMs);
  ASSERT_TRUE(loop.run());
  EXPECT_EQ(loop.socket->longest_wait, 20 * kMs);
}

packet::Template shape(uint8_t fill, bool stamped = false) {
  packet::Path path;
  path.src = packet::ipv4(1);
  path.dst = packet::ipv4(2);
  Bytes payload(64, fill);
  if (stamped)
    packet::write_stamp(payload.data(), {.run = 7});
  return std::move(packet::Template::make(path, {}, payload, -1, stamped).get());
}

// Few slots, so that each has held every kind of frame.
TEST(Engine, ASlotHasWhatTheFrameAsks) {
  Loop loop(3);
  const packet::Template one = shape(1), other = shape(2);
  const Bytes payload(64, 9);
  std::mt19937 rng(1);
  std::vector<Outgoing> asked;
  for (uint32_t i = 0; i < 2000; i++) {
    Outgoing out = loop.made(Bytes(100, static_cast<uint8_t>(i)));
    if (const uint32_t kind = rng() % 8) {
      out = {.shape = kind % 2 ? &one : &other, .fields = {.dest_qp = 5, .psn = i}};
      if (kind == 3)
        out.payload = payload;
      out.damage = kind == 4 ? Damage::Icrc : kind == 5 ? Damage::Pad : Damage::None;
    }
    asked.push_back(out);
    loop.source->frames.push_back(out);
  }
  ASSERT_TRUE(loop.run());
  ASSERT_EQ(loop.socket->sent.size(), asked.size());
  for (size_t i = 0; i < asked.size(); i++) {
    Bytes expected = packet::bytes_of(asked[i]);
    if (asked[i].damage == Damage::Icrc)
      asked[i].shape->spoil_icrc(expected.data());
    if (asked[i].damage == Damage::Pad) {
      const uint32_t at = asked[i].shape->layout().bth + 1;
      asked[i].shape->set_byte(expected.data(), at, expected[at] ^ 0x10);
    }
    ASSERT_EQ(loop.socket->sent[i].bytes, expected) << i;
  }
}

TEST(Engine, StampsHaveTheTimeOfTheFrame) {
  Loop loop;
  const packet::Template stamped = shape(0, true);
  for (uint32_t i = 0; i < 10; i++)
    loop.source->frames.push_back(
        {.shape = &stamped, .fields = {.sequence = i}, .due = loop.start + kMs + i * kMs});
  ASSERT_TRUE(loop.run());
  ASSERT_EQ(loop.socket->sent.size(), 10U);
  for (uint32_t i = 0; i < 10; i++) {
    const responder::Wire wire = responder::parsed(loop.socket->sent[i].bytes);
    const auto stamp = packet::read_stamp(wire.bytes, wire.packet);
    ASSERT_TRUE(stamp);
    EXPECT_EQ(stamp->run, 7U);
    EXPECT_EQ(stamp->sequence, i);
    const uint64_t monotonic = stamp->time_ns - FakeClock::ahead(CLOCK_TAI);
    EXPECT_GE(monotonic, loop.start + kMs + i * kMs);
    EXPECT_LE(monotonic, loop.socket->sent[i].flushed);
    EXPECT_EQ(icrc_check(wire.bytes.data(), static_cast<uint32_t>(wire.bytes.size()), wire.packet),
              Icrc::Good);
  }
}

// Answers come within what the engine lingers after the last one.
TEST(Engine, LingersUntilNothingArrives) {
  for (const uint64_t linger : {uint64_t{0}, 2 * kMs}) {
    Loop loop;
    loop.engine->linger(linger);
    loop.source->frames = {loop.made(Bytes(100))};
    for (uint32_t i = 1; i <= 5; i++)
      loop.socket->arrive(loop.start + i * kMs, Loop::numbered(i));
    loop.socket->arrive(loop.start + 10 * kMs, Loop::numbered(9)); // too late
    ASSERT_TRUE(loop.run());
    EXPECT_EQ(loop.source->received.size(), linger ? 5U : 0U);
    if (linger) {
      EXPECT_NEAR(static_cast<double>(loop.time.now - loop.start), 7.0 * kMs, 100.0 * kUs);
    }
    EXPECT_LT(loop.counts().now_ns, loop.start + kMs); // the time to send ends before
  }
}

TEST(Engine, LingersTenTimesAtMost) {
  Loop loop;
  loop.engine->linger(2 * kMs);
  for (uint32_t i = 1; i <= 100; i++)
    loop.socket->arrive(loop.start + i * kMs, Loop::numbered(i));
  ASSERT_TRUE(loop.run());
  EXPECT_NEAR(static_cast<double>(loop.time.now - loop.start), 20.0 * kMs, 100.0 * kUs);
}

TEST(Engine, SendsWhatMustBeSentAtTheEnd) {
  Loop loop(50);
  loop.socket->frame_ns = 10 * kUs;
  loop.engine->report_flushes();
  for (uint32_t i = 0; i < 200; i++)
    loop.source->at_end.push_back(loop.made(Loop::numbered(i)));
  loop.stop_at(loop.start + kMs);
  ASSERT_TRUE(loop.run());
  ASSERT_EQ(loop.socket->sent.size(), 200U);
  for (uint32_t i = 0; i < 200; i++)
    EXPECT_EQ(loop.socket->sent[i].bytes, Loop::numbered(i));
  EXPECT_EQ(loop.counts().sent, 200U);
  EXPECT_EQ(loop.counts().late_ns.count(), 0U);
  EXPECT_GE(loop.source->flushes.size(), 200U / 32);
}

TEST(Engine, TellsWhenFramesWereGivenToTheKernel) {
  for (const bool asked : {false, true}) {
    Loop loop;
    if (asked)
      loop.engine->report_flushes();
    loop.send_each(100 * kUs, 10);
    ASSERT_TRUE(loop.run());
    ASSERT_EQ(loop.source->flushes.size(), asked ? 10U : 0U);
    for (size_t i = 0; asked && i < 10; i++)
      EXPECT_EQ(loop.source->flushes[i], loop.socket->sent[i].flushed + loop.time.look);
  }
}

// Otherwise many frames would wait until all their answers are sent.
TEST(Engine, TwoBatchesAreSentBeforeItReceivesAgain) {
  Loop loop;
  loop.time.look = 1000;
  for (uint32_t i = 0; i < 100; i++)
    loop.source->frames.push_back(loop.made(Loop::numbered(i)));
  ASSERT_TRUE(loop.run());
  const auto &sent = loop.socket->sent;
  ASSERT_EQ(sent.size(), 100U);
  EXPECT_EQ(loop.source->longest_batch, 32U);
  EXPECT_EQ(sent[0].flushed, sent[63].flushed);
  EXPECT_LT(sent[63].flushed, sent[64].flushed);
  EXPECT_EQ(sent[64].flushed, sent[99].flushed);
}

TEST(Engine, EndsWhenThePortIsGone) {
  Loop sending;
  sending.send_each(10 * kUs, 1000);
  sending.socket->gone_at = sending.start + 2 * kMs;
  const Status cannot_send = sending.run();
  ASSERT_FALSE(cannot_send);
  EXPECT_EQ(cannot_send.error().message, "the port can no longer send");
  EXPECT_NEAR(static_cast<double>(sending.counts().now_ns - sending.start), 2.0 * kMs, 20.0 * kUs);

  Loop idle; // only a look at the port shows it
  idle.source->endless = true;
  idle.socket->gone_at = idle.start + 150 * kMs;
  const Status gone = idle.run();
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().message, "the port is gone");
  EXPECT_LE(idle.counts().now_ns - idle.start, 250 * kMs);
}

TEST(Engine, CountsAreReadBeforeDuringAndAfterARun) {
  Loop loop;
  loop.send_each(10 * kUs, 10);
  loop.source->endless = true;
  EXPECT_EQ(loop.counts().sent, 0U);
  std::thread runs([&] { EXPECT_TRUE(loop.run()); });
  while (loop.counts().sent < 10)
    std::this_thread::yield();
  const uint64_t earlier = loop.counts().now_ns;
  EXPECT_GE(loop.counts().now_ns, earlier);
  loop.stop = true;
  runs.join();
  const uint64_t end = loop.counts().now_ns;
  loop.time.now += kMs;
  EXPECT_EQ(loop.counts().now_ns, end); // final
  EXPECT_EQ(loop.counts().sent, 10U);
}

// Every frame that was asked for, and every one that came, is somewhere.
TEST(Engine, WhatGoesInComesOutOrIsCounted) {
  for (const uint64_t seed : {1, 2, 3, 4}) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    Loop loop(1 + rng() % 100, 64 + rng() % 64);
    constexpr uint32_t kSteps = 10'000;
    uint64_t at = loop.start, came = 0, came_bytes = 0, asked_bytes = 0;
    for (uint32_t i = 0; i < kSteps; i++) {
      at += rng() % 50 ? rng() % (2 * kUs) : rng() % (200 * kUs);
      const uint32_t length = 60 + rng() % (rng() % 8 ? 100 : 1500);
      if (rng() % 2) {
        loop.source->frames.push_back(loop.made(Loop::numbered(i, length), at));
        asked_bytes += length;
      } else {
        loop.socket->arrive(at, Loop::numbered(i, length));
        came++;
        came_bytes += length;
      }
    }
    const uint64_t asked = loop.source->frames.size();
    loop.source->on_next = [&](uint64_t now) {
      loop.socket->frame_ns = rng() % (2 * kUs);
      if (rng() % 1000 == 0)
        loop.socket->stopped_until = now + rng() % kMs;
      if (rng() % 1000 == 0)
        loop.time.now += rng() % kMs;
    };
    loop.socket->taken = [&](const Bytes &) {
      const uint64_t drawn = rng() % 100;
      return drawn == 0 ? Taken::Dropped : drawn == 1 ? Taken::Invalid : Taken::Sent;
    };
    loop.engine->linger(10 * kMs);
    ASSERT_TRUE(loop.run());
    const EngineCounts counts = loop.counts();
    EXPECT_EQ(counts.sent + counts.not_sent + counts.too_long, asked);
    EXPECT_EQ(loop.socket->sent.size() + counts.socket.tx_dropped + counts.socket.tx_invalid,
              counts.sent);
    EXPECT_EQ(counts.received, loop.source->received.size());
    EXPECT_EQ(counts.received + counts.socket.rx_ring_full + counts.socket.rx_no_chunk +
                  loop.socket->not_received(),
              came);
    EXPECT_LE(counts.sent_bytes, asked_bytes);
    EXPECT_LE(counts.received_bytes, came_bytes);
    EXPECT_GT(counts.too_long, 0U);
    EXPECT_GT(counts.socket.tx_dropped, 0U);
    EXPECT_GT(counts.socket.rx_ring_full, 0U);
  }
}

} // namespace
} // namespace xr::test::engine_test
