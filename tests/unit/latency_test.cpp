// SPDX-License-Identifier: Apache-2.0
// Times between requests and answers, against arithmetic (include/roce/README.md 11). Times of
// frames are in microseconds.
#include <gtest/gtest.h>

#include "base/histogram.h"
#include "frames.h"
#include "native/native_datapath.h"
#include "roce/times.h"

namespace xr::test::latency_test {
namespace {

constexpr uint8_t kSendFirst = 0x00, kSendMiddle = 0x01, kSendLast = 0x02, kSendOnly = 0x04,
                  kReadRequest = 0x0c, kReadFirst = 0x0d, kReadMiddle = 0x0e, kReadLast = 0x0f,
                  kReadOnly = 0x10, kAck = 0x11, kAtomicAck = 0x12, kFetchAdd = 0x14,
                  kUcSendOnly = 0x24, kAtomicWrite = 0x1d, kCnp = 0x81;
constexpr uint8_t kNak = 0x60, kRnr = 0x21;
constexpr uint32_t kPmtu = 1024, kResync = 65536;

// The requests of host 1 to QP 0x11 of host 2, whose answers go to QP 0x22.
class Timed {
public:
  void frame(uint64_t us, const FrameBuilder &builder) {
    const Frame f = builder.build();
    const NativeDatapath::FrameView view{f.bytes.data(), static_cast<uint32_t>(f.bytes.size()),
                                         f.length, 1'000'000 + us * 1000};
    roce_packet packet;
    const roce_class class_ = datapath_.parse(view, packet);
    datapath_.account(view, class_, packet);
  }
  void request(uint64_t us, uint8_t opcode, uint32_t psn, bool ack_req = false, uint8_t ecn = 2) {
    frame(us, FrameBuilder(opcode)
                  .psn(psn)
                  .payload(opcode == kReadRequest || opcode == kFetchAdd ? 0 : kPmtu)
                  .ack(ack_req ? 0x80 : 0)
                  .ecn(ecn));
  }
  void read(uint64_t us, uint32_t psn, uint32_t packets) {
    frame(us, FrameBuilder(kReadRequest).psn(psn).dma_len(packets * kPmtu).ack(0x80));
  }
  void answer(uint64_t us, uint8_t opcode, uint32_t psn, uint8_t syndrome = 0, uint8_t ecn = 2) {
    const bool data = opcode >= kReadFirst && opcode <= kReadOnly;
    frame(us, FrameBuilder(opcode)
                  .from(2)
                  .to(1)
                  .qp(0x22)
                  .psn(psn)
                  .syndrome(syndrome)
                  .payload(data ? kPmtu : 0)
                  .ack(0)
                  .ecn(ecn));
  }
  void cnp(uint64_t us) { frame(us, FrameBuilder(kCnp).from(2).to(1).qp(0x22).payload(16).ack(0)); }

  PassiveLatency result() const {
    PassiveLatency found;
    datapath_.latency(found);
    return found;
  }
  // The times of a kind in us: count, least, most.
  void expect(roce_latency kind, bool bound, uint64_t count, uint64_t min, uint64_t max) const {
    PassiveTimes times;
    for (const PassiveTimes &of : result().port)
      if (of.kind == kind && of.bound == bound)
        times = of;
    EXPECT_EQ(times.count, count) << kind << bound;
    EXPECT_EQ(times.min, min * 1000) << kind << bound;
    EXPECT_EQ(times.max, max * 1000) << kind << bound;
  }
  void expect_none(roce_latency kind) const {
    expect(kind, false, 0, 0, 0);
    expect(kind, true, 0, 0, 0);
  }

private:
  static constexpr NativeDatapath::Options kOptions{.latency = true};
  NativeDatapath datapath_{kOptions};
};

TEST(Latency, AckReqToItsAck) {
  Timed t;
  t.request(0, kSendOnly, 5, true);
  t.answer(7, kAck, 5);
  t.request(10, kSendOnly, 6, true);
  t.answer(19, kAck, 6);
  t.answer(25, kAck, 6); // again: answers nothing
  t.expect(ROCE_LATENCY_ACK, false, 2, 7, 9);
  t.expect(ROCE_LATENCY_ACK, true, 0, 0, 0);
  t.expect(ROCE_LATENCY_MESSAGE, false, 2, 7, 9);
  const PassiveLatency found = t.result();
  ASSERT_EQ(found.streams.size(), 2u);
  EXPECT_EQ(roce_key_qp(&found.streams[0].name.key), 0x11u);
  EXPECT_EQ(found.streams[0].name.src_qp, 0x22u);
  EXPECT_EQ(found.streams[0].times.mean, 8000);
  uint64_t counted = 0;
  for (const PassiveBucket &bucket : found.histogram)
    counted += bucket.kind == ROCE_LATENCY_ACK && bucket.from <= 9000 ? bucket.count : 0;
  EXPECT_EQ(counted, 2u);
}

TEST(Latency, AnAckForALaterPsnIsAnUpperBound) {
  Timed t;
  t.request(0, kSendOnly, 0xffffff, true);
  t.request(1, kSendOnly, 0, false); // no AckReq: a message, no round trip
  t.request(2, kSendOnly, 1, true);
  t.answer(10, kAck, 1);
  t.expect(ROCE_LATENCY_ACK, true, 1, 10, 10);
  t.expect(ROCE_LATENCY_ACK, false, 1, 8, 8);
  t.expect(ROCE_LATENCY_MESSAGE, true, 2, 9, 10);
  t.expect(ROCE_LATENCY_MESSAGE, false, 1, 8, 8);
}

TEST(Latency, ANakCoversWhatIsBeforeIt) {
  for (const uint8_t syndrome : {kNak, kRnr}) {
    Timed t;
    t.request(0, kSendOnly, 5, true);
    t.request(1, kSendOnly, 6, true);
    t.answer(10, kAck, 6, syndrome);
    t.expect(ROCE_LATENCY_ACK, true, 1, 10, 10);
    t.expect(ROCE_LATENCY_ACK, false, 0, 0, 0);
    // What is sent again is no round trip, but the message is complete with its answer.
    t.request(20, kSendOnly, 6, true);
    t.answer(31, kAck, 6);
    t.expect(ROCE_LATENCY_ACK, false, 0, 0, 0);
    t.expect(ROCE_LATENCY_MESSAGE, false, 1, 30, 30);
    EXPECT_EQ(t.result().ambiguous, 1u);
  }
}

TEST(Latency, AMessageIsFromItsFirstToTheAnswerThatCoversItsLast) {
  Timed t;
  t.request(0, kSendFirst, 5);
  t.request(1, kSendMiddle, 6, true);
  t.request(2, kSendLast, 7);
  t.answer(5, kAck, 6);
  t.expect(ROCE_LATENCY_ACK, false, 1, 4, 4);
  t.expect_none(ROCE_LATENCY_MESSAGE);
  t.answer(9, kAck, 7);
  t.expect(ROCE_LATENCY_MESSAGE, false, 1, 9, 9);
  // Its beginning was lost and sent again: from the first time on.
  t.request(20, kSendFirst, 8);
  t.request(22, kSendFirst, 8);
  t.request(23, kSendLast, 9);
  t.answer(26, kAck, 9);
  t.expect(ROCE_LATENCY_MESSAGE, false, 2, 6, 9);
}

TEST(Latency, AMessageOfWhichPsnsAreMissingIsNotTimed) {
  Timed t;
  t.request(0, kSendFirst, 5);
  t.request(2, kSendLast, 7, true); // of this message, or of another
  t.answer(9, kAck, 7);
  t.expect_none(ROCE_LATENCY_MESSAGE);
  t.expect(ROCE_LATENCY_ACK, false, 1, 7, 7);
  EXPECT_EQ(t.result().broken, 1u);
}

TEST(Latency, AReadToItsFirstAndLastResponse) {
  Timed t;
  t.read(0, 5, 3);
  t.answer(4, kReadFirst, 5);
  t.answer(6, kReadMiddle, 6);
  t.expect_none(ROCE_LATENCY_READ);
  t.answer(8, kReadLast, 7);
  t.read(20, 8, 1);
  t.answer(23, kReadOnly, 8);
  t.expect(ROCE_LATENCY_READ_FIRST, false, 2, 3, 4);
  t.expect(ROCE_LATENCY_READ, false, 2, 3, 8);
  t.expect_none(ROCE_LATENCY_ACK);
  t.expect_none(ROCE_LATENCY_MESSAGE);
}

TEST(Latency, AReadWhoseResponseIsLostIsCompleteWhenItCameAgain) {
  Timed t;
  t.read(0, 5, 3);
  t.answer(4, kReadFirst, 5);
  t.answer(8, kReadLast, 7); // 6 is missing
  t.expect_none(ROCE_LATENCY_READ);
  t.read(10, 6, 2);
  t.answer(14, kReadFirst, 6);
  t.answer(15, kReadLast, 7);
  t.expect(ROCE_LATENCY_READ_FIRST, false, 1, 4, 4);
  t.expect(ROCE_LATENCY_READ, false, 1, 15, 15);

  // Requested again before any response: the first is ambiguous.
  t.read(20, 8, 2);
  t.read(30, 8, 2);
  t.answer(33, kReadFirst, 8);
  t.answer(34, kReadLast, 9);
  t.expect(ROCE_LATENCY_READ_FIRST, false, 1, 4, 4);
  t.expect(ROCE_LATENCY_READ, false, 2, 14, 15);
  EXPECT_EQ(t.result().ambiguous, 1u);
}

TEST(Latency, ResponsesCoverTheRequestsBefore) {
  Timed t;
  t.request(0, kSendOnly, 5, true);
  t.read(1, 6, 1);
  t.request(2, kAtomicWrite, 7);
  t.answer(9, kReadOnly, 6);
  t.expect(ROCE_LATENCY_ACK, true, 1, 9, 9);
  t.expect(ROCE_LATENCY_READ, false, 1, 8, 8);
  t.answer(12, kReadOnly, 7); // ATOMIC WRITE is answered so
  t.expect(ROCE_LATENCY_MESSAGE, false, 1, 10, 10);
}

TEST(Latency, AtomicToItsAck) {
  Timed t;
  t.request(0, kFetchAdd, 5);
  t.request(1, kFetchAdd, 6);
  t.answer(5, kAtomicAck, 5);
  t.answer(7, kAtomicAck, 6);
  t.request(10, kFetchAdd, 7);
  t.request(20, kFetchAdd, 7);
  t.answer(25, kAtomicAck, 7);
  t.expect(ROCE_LATENCY_ATOMIC, false, 2, 5, 6);
  t.expect_none(ROCE_LATENCY_MESSAGE);
  EXPECT_EQ(t.result().ambiguous, 1u);
}

TEST(Latency, FirstMarkToCnp) {
  Timed t;
  t.request(0, kSendOnly, 5, true);
  t.answer(1, kAck, 5);
  t.cnp(2); // no mark before it
  t.expect_none(ROCE_LATENCY_CNP);
  t.request(10, kSendOnly, 6, false, 3);
  t.cnp(13);
  t.expect(ROCE_LATENCY_CNP, false, 1, 3, 3);
  t.request(20, kSendOnly, 7, false, 3);
  t.request(22, kSendOnly, 8, false, 3);
  t.cnp(27); // for the first, or for the second
  t.cnp(28);
  t.expect(ROCE_LATENCY_CNP, false, 1, 3, 3);
  t.expect(ROCE_LATENCY_CNP, true, 1, 7, 7);
}

TEST(Latency, MarksOfReadResponsesAndTheCnpOfTheirReceiver) {
  Timed t;
  t.read(0, 5, 2);
  t.answer(4, kReadFirst, 5, 0, 3);
  t.answer(6, kReadLast, 6);
  t.frame(9, FrameBuilder(kCnp).from(1).to(2).qp(0x11).payload(16).ack(0));
  t.expect(ROCE_LATENCY_CNP, false, 1, 5, 5);
}

TEST(Latency, RequestsBeyondTheRoomAreCounted) {
  Timed t;
  for (uint32_t i = 0; i < ROCE_AWAITED + 2; i++)
    t.request(i, kSendOnly, i, true);
  EXPECT_EQ(t.result().full, 2u);
  t.answer(1000, kAck, ROCE_AWAITED + 1);
  t.expect(ROCE_LATENCY_ACK, true, ROCE_AWAITED, 1000 - (ROCE_AWAITED - 1), 1000);
  t.expect(ROCE_LATENCY_ACK, false, 0, 0, 0);
  // All places are free again.
  t.request(2000, kSendOnly, ROCE_AWAITED + 2, true);
  t.answer(2003, kAck, ROCE_AWAITED + 2);
  t.expect(ROCE_LATENCY_ACK, false, 1, 3, 3);
}

TEST(Latency, WhatWasPassedOverMakesWay) {
  Timed t;
  t.read(0, 0, 1); // never answered here
  for (uint32_t psn = 1; psn < 3 * ROCE_AWAITED; psn++) {
    t.request(10 * psn, kSendOnly, psn, true);
    t.answer(10 * psn + 4, kAck, psn);
  }
  t.expect(ROCE_LATENCY_ACK, false, 3 * ROCE_AWAITED - 1, 4, 4);
  EXPECT_EQ(t.result().unanswered, 1u);
  EXPECT_EQ(t.result().full, 0u);
}

TEST(Latency, ANewUseOfTheQpnForgetsWhatWaits) {
  Timed t;
  t.request(0, kSendOnly, 5, true);
  t.request(10, kSendOnly, 6 + kResync, true);
  t.answer(13, kAck, 6 + kResync);
  t.expect(ROCE_LATENCY_ACK, false, 1, 3, 3);
  t.expect(ROCE_LATENCY_ACK, true, 0, 0, 0);
  EXPECT_EQ(t.result().unanswered, 1u);
}

TEST(Latency, OnlyConnectionsThatAcknowledge) {
  Timed t;
  t.request(0, kUcSendOnly, 5, true);
  t.answer(3, kAck, 99); // to no request
  EXPECT_TRUE(t.result().port.empty());
  EXPECT_EQ(t.result().unpaired, 1u);
}

// Ports keep their times in the buckets that userspace knows.
TEST(Latency, BucketsOfPorts) {
  using Port = LogBuckets<ROCE_PORT_TIME_BITS, ROCE_TIME_WIDTH>;
  using Pair = LogBuckets<ROCE_PAIR_TIME_BITS, ROCE_TIME_WIDTH>;
  for (uint64_t ns = 1; ns; ns *= 2)
    for (const uint64_t value : {ns - 1, ns, ns + ns / 3, ns + ns / 2 + 1}) {
      EXPECT_EQ(roce_time_bucket(value, ROCE_PORT_TIME_BITS), Port::bucket(value)) << value;
      EXPECT_EQ(roce_time_bucket(value, ROCE_PAIR_TIME_BITS), Pair::bucket(value)) << value;
    }
}

// A WRITE of many packets; the FIRST links requests and answers by an ACK of the message before.
class Paced : public Timed {
public:
  Paced() {
    request(0, kSendOnly, psn_++, true);
    answer(1, kAck, psn_ - 1);
    request(at_, kSendFirst, psn_++);
  }
  // So many packets, each `us` after the one before.
  void packets(int count, uint64_t us) {
    for (; count; count--)
      request(at_ += us, kSendMiddle, psn_++);
  }
  // 1 us after the last packet.
  void cnp_now() { cnp(at_ + 1); }
  // `before` packets, a CNP, and `after` packets; each `us` after the one before.
  void cnp_between(int before, uint64_t us_before, int after, uint64_t us_after) {
    packets(before, us_before);
    cnp_now();
    packets(after, us_after);
  }
  uint64_t at() const { return at_; }
  void skip(uint64_t us) { at_ += us; }
  void again(uint32_t back) { request(++at_, kSendMiddle, psn_ - back); }
  void expect_untimed(uint64_t steady, uint64_t unmeasured, uint64_t close) const {
    const PassiveLatency found = result();
    EXPECT_EQ(found.cnps_steady, steady);
    EXPECT_EQ(found.cnps_unmeasured, unmeasured);
    EXPECT_EQ(found.cnps_close, close);
  }
  void expect_no_fall(uint64_t steady, uint64_t unmeasured) const {
    expect_none(ROCE_LATENCY_FALL);
    expect_untimed(steady, unmeasured, 0);
  }

private:
  uint64_t at_ = 100;
  uint32_t psn_ = 0xfffff0; // wraps
};

TEST(Latency, FromACnpToTheFallOfTheRate) {
  Paced t;
  t.cnp_between(20, 2, 3,
                2); // the third is due 6 us later, the first late one 8 us: 7 us after the CNP
  t.packets(40, 4);
  t.expect(ROCE_LATENCY_FALL, false, 1, 7, 7);
  t.expect(ROCE_LATENCY_FALL, true, 0, 0, 0);
  t.expect_untimed(0, 0, 0);
}

TEST(Latency, ARateThatDoesNotFallIsSteady) {
  for (const uint64_t after : {4, 3, 2}) { // the same, and faster
    Paced t;
    t.cnp_between(20, 4, 40, after);
    t.expect_no_fall(1, 0);
  }
  Paced pause; // one late packet is no rate
  pause.cnp_between(20, 4, 5, 4);
  pause.packets(1, 40);
  pause.packets(26, 4);
  pause.expect_no_fall(1, 0);
}

TEST(Latency, AFallAfterAnotherCnpIsAnUpperBound) {
  Paced t;
  t.cnp_between(20, 2, 2, 2);
  t.cnp_now(); // 4 us after the first
  t.packets(2, 2);
  t.packets(40, 4);
  t.expect(ROCE_LATENCY_FALL, true, 1, 9, 9);
  t.expect(ROCE_LATENCY_FALL, false, 0, 0, 0);
  t.expect_untimed(0, 0, 1);
  // one after it is of no account
  Paced later;
  later.cnp_between(20, 2, 10, 4);
  later.cnp_now();
  later.packets(40, 4);
  later.expect(ROCE_LATENCY_FALL, false, 1, 1, 1);
  later.expect_untimed(0, 0, 1);
}

TEST(Latency, ACnpIsMeasuredAgain200usAfterAnother) {
  Paced t;
  t.cnp_between(20, 2, 40, 3);
  t.packets(30, 2);
  t.cnp_now(); // 181 us after
  t.packets(100, 2);
  t.cnp_now(); // 200 us after that
  t.packets(40, 3);
  t.expect(ROCE_LATENCY_FALL, false, 2, 1, 1);
  t.expect_untimed(0, 0, 1);
}

TEST(Latency, TooFewPacketsAroundACnp) {
  Paced few;
  few.cnp_between(15, 2, 40, 4);
  few.expect_no_fall(0, 1);
  Paced end; // of the capture
  end.cnp_between(16, 2, 31, 4);
  end.expect_no_fall(0, 1);
  Paced idle; // before the CNP
  idle.packets(20, 2);
  idle.skip(250);
  idle.cnp(idle.at());
  idle.packets(40, 4);
  idle.expect_no_fall(0, 1);
  Paced slow; // 5 packets in 200 us after it; the next shows that they have passed
  slow.cnp_between(20, 20, 8, 40);
  slow.expect_no_fall(0, 1);
  Paced enough; // 9 packets
  enough.cnp_between(20, 10, 14, 20);
  enough.expect(ROCE_LATENCY_FALL, false, 1, 9, 9);
  Paced again; // go-back-N disturbs the pace
  again.cnp_between(20, 2, 10, 4);
  again.again(5);
  again.packets(40, 4);
  again.expect_no_fall(0, 1);
}

TEST(Latency, WhatFellBeforeTheCnpIsNotItsEffect) {
  Paced t;
  t.packets(20, 2);
  t.cnp(t.at() + 3); // the next packet is late already
  t.packets(40, 4);
  t.expect_no_fall(0, 1);
}

} // namespace
} // namespace xr::test::latency_test
