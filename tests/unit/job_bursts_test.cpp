// SPDX-License-Identifier: Apache-2.0
// Bursts by pair of hosts (include/roce/job.h), natively: their times to the nanosecond.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "frames.h"
#include "native/native_datapath.h"

namespace xr::test::job_bursts_test {
namespace {

using B = FrameBuilder;
using Burst = JobBursts::Burst;

constexpr uint8_t kSendFirst = 0x00, kSendMiddle = 0x01, kSendLast = 0x02, kSendOnly = 0x04,
                  kWriteFirst = 0x06, kWriteMiddle = 0x07, kWriteLast = 0x08, kWriteOnly = 0x0a,
                  kWriteOnlyImmediate = 0x0b, kReadRequest = 0x0c, kReadResponseOnly = 0x10,
                  kAck = 0x11;

NativeDatapath::Options with_job() { return {.hash_seed = 3, .features = ROCE_FEATURE_JOB}; }

// By both ways that frames take; they must agree.
class Tap {
public:
  explicit Tap(const NativeDatapath::Options &options = with_job())
      : whole_(options), steps_(options) {}

  void pass(uint64_t ns, const B &builder) {
    const Frame frame = builder.build();
    const NativeDatapath::FrameView view{.data = frame.bytes.data(),
                                         .captured = static_cast<uint32_t>(frame.bytes.size()),
                                         .length = frame.length,
                                         .time_ns = ns,
                                         .number = 0,
                                         .order = 0,
                                         .damaged = false};
    whole_.frame(view);
    roce_packet packet;
    const roce_class class_ = steps_.parse(view, packet);
    steps_.account(view, class_, packet);
  }

  const NativeDatapath &steps() const { return steps_; }

  JobBursts job() const {
    JobBursts one = whole_.job();
    const JobBursts other = steps_.job();
    EXPECT_EQ(one.full, other.full);
    EXPECT_EQ(one.pairs.size(), other.pairs.size());
    for (size_t i = 0; i < std::min(one.pairs.size(), other.pairs.size()); i++) {
      EXPECT_EQ(one.pairs[i].src, other.pairs[i].src);
      EXPECT_EQ(one.pairs[i].dst, other.pairs[i].dst);
      EXPECT_EQ(one.pairs[i].count, other.pairs[i].count);
      EXPECT_EQ(one.pairs[i].cts, other.pairs[i].cts);
      EXPECT_EQ(one.pairs[i].ended, other.pairs[i].ended);
      EXPECT_EQ(one.pairs[i].open, other.pairs[i].open);
    }
    return one;
  }

private:
  NativeDatapath whole_, steps_;
};

Burst burst(uint64_t first_ns, uint64_t last_ns, uint64_t bytes, uint64_t messages) {
  return {.first_ns = first_ns, .last_ns = last_ns, .bytes = bytes, .messages = messages};
}

// The only pair.
JobBursts::Pair pair_of(const JobBursts &job) {
  EXPECT_EQ(job.pairs.size(), 1u);
  return job.pairs.empty() ? JobBursts::Pair{} : job.pairs.front();
}

TEST(JobTap, TimesBurstsToTheNanosecond) {
  Tap tap;
  tap.pass(1'000'000, B(kWriteFirst).psn(1).payload(1024));
  tap.pass(1'000'300, B(kWriteMiddle).psn(2).payload(1024));
  tap.pass(1'000'600, B(kWriteLast).psn(3).payload(100));
  tap.pass(1'010'599, B(kSendOnly).psn(4).payload(64));    // 9,999 ns later: the same burst
  tap.pass(1'020'599, B(kSendFirst).psn(5).payload(1024)); // 10,000 ns later: another
  tap.pass(1'120'599, B(kSendMiddle).psn(6).payload(1024));
  tap.pass(1'220'599, B(kSendLast).psn(7).payload(8)); // the end of a message ends no burst
  const JobBursts::Pair pair = pair_of(tap.job());
  EXPECT_EQ(pair.src[3], roce_swap32(0xc0000201));
  EXPECT_EQ(pair.dst[3], roce_swap32(0xc0000202));
  EXPECT_TRUE(is_mapped(pair.src) && is_mapped(pair.dst));
  EXPECT_EQ(pair.count, 1u);
  EXPECT_EQ(pair.ended, (std::vector{burst(1'000'000, 1'010'599, 2212, 2)}));
  EXPECT_EQ(pair.open, burst(1'020'599, 1'220'599, 2056, 1));
}

TEST(JobTap, CountsQpsOfTwoHostsTogether) {
  Tap tap;
  for (uint32_t qp = 1; qp <= 4; qp++)
    tap.pass(1000 * qp, B(kWriteOnly).qp(qp).payload(1000));
  tap.pass(5000, B(kWriteOnly).qp(1).from(2).to(1).payload(700)); // the other direction
  const JobBursts job = tap.job();
  ASSERT_EQ(job.pairs.size(), 2u);
  const bool first = job.pairs[0].src[3] == roce_swap32(0xc0000201);
  EXPECT_EQ(job.pairs[first ? 0 : 1].open, burst(1000, 4000, 4000, 4));
  EXPECT_EQ(job.pairs[first ? 1 : 0].open, burst(5000, 5000, 700, 1));
}

TEST(JobTap, CountsClearsToSendApart) {
  Tap tap;
  tap.pass(1000, B(kWriteOnly).psn(1).payload(512));
  tap.pass(2000, B(kWriteOnly).psn(2).payload(64));
  EXPECT_EQ(pair_of(tap.job()).cts, 2u);
  EXPECT_EQ(pair_of(tap.job()).open, Burst());
  tap.pass(3000, B(kWriteOnly).psn(3).payload(516));
  tap.pass(4000, B(kWriteOnlyImmediate).psn(4).payload(64));
  tap.pass(5000, B(kSendOnly).psn(5).payload(64));
  EXPECT_EQ(pair_of(tap.job()).cts, 2u);
  EXPECT_EQ(pair_of(tap.job()).open, burst(3000, 5000, 644, 3));
}

TEST(JobTap, IgnoresAllElse) {
  Tap tap;
  tap.pass(1000, B(kReadRequest).psn(1).dma_len(4096));
  tap.pass(2000, B(kReadResponseOnly).psn(1).payload(1024));
  tap.pass(3000, B(kAck).psn(1));
  tap.pass(4000, B(ROCE_UD_SEND_ONLY).payload(1024));
  tap.pass(5000, B(kWriteOnlyImmediate).psn(2));
  EXPECT_TRUE(tap.job().pairs.empty());
}

TEST(JobTap, CountsWhatIsSentAgain) {
  Tap tap;
  for (uint64_t i = 0; i < 3; i++)
    tap.pass(1000 + i, B(kSendOnly).psn(1).payload(100));
  EXPECT_EQ(pair_of(tap.job()).open, burst(1000, 1002, 300, 3));
}

// The port was attached in the middle of a message.
TEST(JobTap, BeginsWithTheFirstTime) {
  Tap tap;
  tap.pass(1000, B(kWriteMiddle).psn(1).payload(1024));
  EXPECT_EQ(pair_of(tap.job()).open, burst(0, 0, 1024, 0));
  tap.pass(50'000, B(kWriteLast).psn(2).payload(24));
  EXPECT_EQ(pair_of(tap.job()).open, burst(50'000, 50'000, 1048, 1));
}

TEST(JobTap, KeepsTheNewest) {
  Tap tap;
  for (uint32_t i = 0; i <= 100; i++)
    tap.pass(1'000'000 + i * 20'000, B(kSendOnly).psn(i).payload(100 + i));
  const JobBursts::Pair pair = pair_of(tap.job());
  EXPECT_EQ(pair.count, 100u);
  ASSERT_EQ(pair.ended.size(), JobBursts::kEnded);
  for (size_t i = 0; i < pair.ended.size(); i++) {
    const uint64_t n = 100 - pair.ended.size() + i, ns = 1'000'000 + n * 20'000;
    EXPECT_EQ(pair.ended[i], burst(ns, ns, 100 + n, 1));
  }
  EXPECT_EQ(pair.open, burst(3'000'000, 3'000'000, 200, 1));
}

// IPv6 hosts whose last words are those of IPv4 hosts.
TEST(JobTap, TellsNetworksApart) {
  Tap tap;
  tap.pass(1000, B(kSendOnly).payload(1));
  tap.pass(2000, B(kSendOnly).ipv6().payload(2));
  tap.pass(3000, B(kSendOnly).ipv6().mapped().payload(4)); // the same hosts as by IPv4
  const JobBursts job = tap.job();
  ASSERT_EQ(job.pairs.size(), 2u);
  const bool first = is_mapped(job.pairs[0].src);
  EXPECT_EQ(job.pairs[first ? 0 : 1].open.bytes, 5u);
  EXPECT_EQ(job.pairs[first ? 1 : 0].open.bytes, 2u);
}

// A stream record that another stream takes over is of other hosts. It is taken over by the second
// packet, which comes long after the first.
TEST(JobTap, ChecksTheHostsOfAStream) {
  NativeDatapath::Options options = with_job();
  options.streams = 1;
  Tap tap(options);
  constexpr uint64_t kIdle = 100'000'000'000;
  uint64_t ns = 0;
  for (uint32_t round = 0; round < 3; round++)
    for (const uint8_t host : {uint8_t{1}, uint8_t{3}})
      for (uint32_t psn = 0; psn < 2; psn++)
        tap.pass(ns += kIdle, B(kSendMiddle).from(host).psn(psn).payload(10));
  const JobBursts job = tap.job();
  ASSERT_EQ(job.pairs.size(), 2u);
  const bool first = job.pairs[0].src[3] == roce_swap32(0xc0000201);
  EXPECT_EQ(job.pairs[first ? 0 : 1].open.bytes, 40u); // all of the first round
  EXPECT_EQ(job.pairs[first ? 1 : 0].open.bytes, 30u);
}

TEST(JobTap, CountsPairsWithoutRoom) {
  Tap tap;
  uint64_t bytes = 0;
  for (uint32_t pass = 0; pass < 2; pass++)
    for (uint32_t i = 0; i < 2000; i++)
      tap.pass(1000, B(kSendMiddle)
                         .from(static_cast<uint8_t>(i >> 8))
                         .to(static_cast<uint8_t>(i))
                         .psn(pass)
                         .payload(4));
  const JobBursts job = tap.job();
  EXPECT_LE(job.pairs.size(), size_t{ROCE_JOB_PAIRS});
  EXPECT_GE(job.pairs.size(), size_t{ROCE_JOB_PAIRS} * 9 / 10);
  for (const JobBursts::Pair &pair : job.pairs)
    bytes += pair.open.bytes;
  EXPECT_EQ(bytes + job.full * 4, 16'000u);
  EXPECT_EQ(bytes, job.pairs.size() * 8);
}

// Following leaves out most packets in the middle of a message; they are in the burst.
TEST(JobTap, CountsWhatFollowingSkips) {
  constexpr uint32_t kPackets = 500;
  NativeDatapath::Options options = with_job();
  options.features |= ROCE_FEATURE_FOLLOW | ROCE_FEATURE_SKIP;
  Tap tap(options);
  bool skipped = false;
  tap.pass(1000, B(kWriteFirst).psn(0).ack(0).payload(1024));
  for (uint32_t psn = 1; psn < kPackets; psn++) {
    tap.pass(1000 + psn, B(kWriteMiddle).psn(psn).ack(0).payload(1024));
    skipped |= (tap.steps().stream(0).word & ROCE_WORD_SKIPPED) != 0;
  }
  EXPECT_TRUE(skipped);
  EXPECT_EQ(pair_of(tap.job()).open, burst(1000, 1000, kPackets * 1024, 0));
}

TEST(JobTap, IsOffByDefault) {
  Tap tap(NativeDatapath::Options{});
  tap.pass(1000, B(kSendOnly).payload(100));
  EXPECT_TRUE(tap.job().pairs.empty());
}

} // namespace
} // namespace xr::test::job_bursts_test
