// SPDX-License-Identifier: Apache-2.0
// The accounting of stamps against definitions written once more, over random arrivals.
#include "stamps/one_way.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace xr::stamps::one_way_test {
namespace {

using Verdict = SequenceWindow::Verdict;

roce_packet packet_of(uint32_t qp, uint8_t host = 1) {
  roce_packet packet{};
  packet.key.src[3] = roce_swap32(0xc0000200U | host);
  packet.key.dst[3] = roce_swap32(0xc0000202U);
  packet.key.qp_kind = qp | ROCE_KEY_IPV4;
  return packet;
}

constexpr uint64_t kSent = 1'000'000'000'000;

// A frame that took `latency`.
void arrive(OneWay &one_way, uint64_t sequence, int64_t latency, uint32_t qp = 17,
            uint64_t run = 1) {
  one_way.add(packet_of(qp), {run, sequence, kSent}, kSent + static_cast<uint64_t>(latency));
}

TEST(SequenceWindow, Verdicts) {
  SequenceWindow window;
  EXPECT_EQ(window.add(100), Verdict::InOrder);
  EXPECT_EQ(window.add(100), Verdict::Duplicate);
  EXPECT_EQ(window.add(103), Verdict::InOrder);
  EXPECT_EQ(window.add(101), Verdict::Reordered);
  EXPECT_EQ(window.add(101), Verdict::Duplicate);
  EXPECT_EQ(window.add(99), Verdict::Reordered);
  EXPECT_EQ(window.lowest(), 99U);
  EXPECT_EQ(window.highest(), 103U);
  const uint64_t edge = 103 + SequenceWindow::kSequences - 1;
  EXPECT_EQ(window.add(edge), Verdict::InOrder);
  EXPECT_EQ(window.add(102), Verdict::TooOld);
  EXPECT_EQ(window.add(103), Verdict::Duplicate);
  EXPECT_EQ(window.add(104), Verdict::Reordered);
  EXPECT_EQ(window.lowest(), 99U);
  EXPECT_EQ(window.add(UINT64_MAX), Verdict::InOrder);
  EXPECT_EQ(window.add(UINT64_MAX - 1), Verdict::Reordered);
}

// Each verdict against a set of all that arrived.
TEST(SequenceWindow, RandomArrivals) {
  for (uint64_t seed = 1; seed <= 30; seed++) {
    std::mt19937_64 random(seed);
    SequenceWindow window;
    std::set<uint64_t> seen;
    uint64_t at = 10'000;
    for (int i = 0; i < 5000; i++) {
      at += random() % 100 == 0 ? random() % 5000 : random() % 3;
      const uint64_t sequence = at - random() % (random() % 10 ? 5 : 3000);
      const uint64_t highest = seen.empty() ? 0 : *seen.rbegin();
      const Verdict wanted = seen.empty() || sequence > highest                 ? Verdict::InOrder
                             : highest - sequence >= SequenceWindow::kSequences ? Verdict::TooOld
                             : seen.count(sequence)                             ? Verdict::Duplicate
                                                    : Verdict::Reordered;
      ASSERT_EQ(window.add(sequence), wanted) << "seed " << seed << ", arrival " << i;
      if (wanted != Verdict::TooOld)
        seen.insert(sequence);
    }
    EXPECT_EQ(window.highest(), *seen.rbegin());
    EXPECT_EQ(window.lowest(), *seen.begin());
  }
}

TEST(SignedHistogram, QuantilesOfBothSigns) {
  std::mt19937_64 random(3);
  SignedHistogram histogram;
  std::vector<int64_t> values;
  for (int i = 0; i < 10'000; i++) {
    values.push_back(static_cast<int64_t>(random() % 200'000) - 60'000);
    histogram.add(values.back());
  }
  std::sort(values.begin(), values.end());
  EXPECT_EQ(histogram.count(), 10'000U);
  EXPECT_EQ(histogram.negative(),
            static_cast<uint64_t>(
                std::count_if(values.begin(), values.end(), [](int64_t v) { return v < 0; })));
  for (const double fraction : {0.001, 0.1, 0.25, 0.5, 0.9, 0.99, 1.0}) {
    const auto rank = static_cast<size_t>(std::ceil(fraction * 10'000)) - 1;
    const auto wanted = static_cast<double>(values[rank]);
    EXPECT_NEAR(static_cast<double>(histogram.quantile(fraction)), wanted,
                std::fabs(wanted) * 0.01 + 50)
        << fraction;
  }
}

TEST(OneWay, LatencyAndJitterByHand) {
  OneWay one_way;
  // differences 20, 30, 0 and, after the duplicate, 40
  for (const auto &[sequence, latency] :
       {std::pair{0, 100}, {1, 120}, {2, 90}, {3, 90}, {3, 5000}, {4, 130}})
    arrive(one_way, static_cast<uint64_t>(sequence), latency);
  const LatencyReport report = one_way.report();
  ASSERT_EQ(report.streams.size(), 1U);
  const LatencyRow &row = report.streams[0];
  EXPECT_EQ(row.frames, 6U);
  EXPECT_EQ(row.timed, 5U);
  EXPECT_EQ(row.duplicates, 1U);
  EXPECT_EQ(row.lost, 0U);
  EXPECT_EQ(row.min, 90);
  EXPECT_EQ(row.max, 130);
  EXPECT_DOUBLE_EQ(row.mean, 530.0 / 5);
  EXPECT_EQ(row.p50, 100);
  EXPECT_DOUBLE_EQ(row.jitter, 90.0 / 4);
  double j = 0; // RFC 3550, 6.4.1
  for (const double d : {20, 30, 0, 40})
    j += (d - j) / 16;
  EXPECT_DOUBLE_EQ(row.jitter_rfc3550, j);
  EXPECT_DOUBLE_EQ(report.total.mean, row.mean);
  EXPECT_DOUBLE_EQ(report.total.jitter, row.jitter);
}

TEST(OneWay, NegativeLatenciesAndClockOffset) {
  OneWay plain;
  OneWay corrected({.clock_offset_ns = -1000});
  for (OneWay *one_way : {&plain, &corrected})
    for (uint64_t i = 0; i < 10; i++)
      arrive(*one_way, i, -900 + static_cast<int64_t>(i) * 10);
  EXPECT_EQ(plain.report().negative, 10U);
  EXPECT_EQ(plain.report().total.min, -900);
  EXPECT_EQ(plain.report().total.max, -810);
  EXPECT_FALSE(plain.report().clock_offset_ns.has_value());
  EXPECT_EQ(corrected.report().negative, 0U);
  EXPECT_EQ(corrected.report().total.min, 100);
  EXPECT_EQ(corrected.report().total.max, 190);
}

// Streams differ by addresses, QP and run of the sender.
TEST(OneWay, OneStreamPerSenderQpAndRun) {
  OneWay one_way;
  for (uint64_t i = 0; i < 10; i++) {
    arrive(one_way, i, 5, 17, 1);
    arrive(one_way, 2 * i, 5, 18, 1);
    arrive(one_way, i, 5, 17, 2); // the sender was started again
    one_way.add(packet_of(17, 9), {1, i, kSent}, kSent + 5);
  }
  const LatencyReport report = one_way.report();
  ASSERT_EQ(report.streams.size(), 4U);
  EXPECT_EQ(report.streams[0].run, 1U);
  EXPECT_EQ(report.streams[1].dest_qp, 18U);
  EXPECT_EQ(report.streams[1].lost, 9U);
  EXPECT_EQ(report.streams[2].run, 2U);
  EXPECT_NE(report.streams[3].src, report.streams[0].src);
  EXPECT_EQ(report.total.lost, 9U);
  EXPECT_EQ(report.total.duplicates + report.total.reordered, 0U);
  EXPECT_EQ(report.total.frames, 40U);
}

TEST(OneWay, LimitsAreCounted) {
  OneWay one_way({.streams = 3, .histograms = 1});
  for (uint32_t qp = 1; qp <= 5; qp++)
    for (uint64_t i = 0; i < 10; i++)
      arrive(one_way, i, 70, qp);
  const LatencyReport report = one_way.report();
  EXPECT_EQ(report.streams.size(), 3U);
  EXPECT_EQ(report.streams_full, 20U);
  EXPECT_TRUE(report.streams[0].quantiles);
  EXPECT_FALSE(report.streams[1].quantiles);
  EXPECT_EQ(report.streams[1].min, 70);
  EXPECT_EQ(report.total.p50, 70); // of all streams
  EXPECT_EQ(report.total.timed, 30U);
}

// Frames of one stream divided over queues: counts, loss and latencies as without queues.
TEST(OneWay, MergeOfQueues) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    std::mt19937_64 random(seed);
    OneWay whole, queues[3], merged;
    for (uint64_t i = 0; i < 3000; i++) {
      if (i % 3000 && random() % 10 == 0)
        continue;
      const auto qp = static_cast<uint32_t>(random() % 4);
      const auto latency = static_cast<int64_t>(random() % 10'000) - 100;
      arrive(whole, i, latency, qp);
      arrive(queues[random() % 3], i, latency, qp);
    }
    for (const OneWay &queue : queues)
      merged.merge(queue);
    const LatencyReport a = whole.report(), b = merged.report();
    ASSERT_EQ(a.streams.size(), b.streams.size());
    EXPECT_EQ(a.negative, b.negative);
    for (const LatencyRow &row : a.streams) {
      const auto other = std::find_if(b.streams.begin(), b.streams.end(),
                                      [&](const auto &one) { return one.dest_qp == row.dest_qp; });
      ASSERT_NE(other, b.streams.end());
      EXPECT_EQ(row.frames, other->frames);
      EXPECT_EQ(row.lost, other->lost);
      EXPECT_EQ(row.min, other->min);
      EXPECT_EQ(row.max, other->max);
      EXPECT_EQ(row.p50, other->p50);
      EXPECT_EQ(row.p999, other->p999);
      EXPECT_NEAR(row.mean, other->mean, 1e-6);
    }
  }
}

} // namespace
} // namespace xr::stamps::one_way_test
