// SPDX-License-Identifier: Apache-2.0
// The pacer in virtual time. Packets leave when they are due, unless a test delays them.
#include "congestion/pacer.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "base/draw.h"
#include "flow/flow.h"
#include "packet/source.h"
#include "parse/words.h"

namespace xr::congestion::pacer_test {
namespace {

constexpr uint64_t kBegin = 1'700'000'000'000'000'123; // as a clock of our days
constexpr double kLine = 25e9;
constexpr double kSecond = 1e9;

Pacing paced(const std::string &word, bool l1 = false) {
  Pacing pacing;
  parse::WordReader words({word, l1 ? "l1" : ""});
  const auto rate = flow::take_rate(words);
  if (!rate)
    ADD_FAILURE() << word << ": " << rate.error().message;
  else
    pacing.rate = rate.get();
  return pacing;
}

Pacer started(const Pacing &pacing, uint64_t seed = 7) {
  Pacer pacer(pacing, kLine, seed);
  pacer.start(kBegin);
  return pacer;
}

// When the packets of a schedule are due, from 0 on.
std::vector<uint64_t> times(Pacer &pacer, size_t packets, uint32_t bytes = 1000) {
  std::vector<uint64_t> result;
  for (size_t i = 0; i < packets && pacer.due() != kNever; i++) {
    result.push_back(pacer.due() - kBegin);
    pacer.sent(pacer.due(), bytes);
  }
  return result;
}

TEST(Pacer, PacketRatesAreExactInTheLongRun) {
  for (const char *word : {"0.5pps", "1kpps", "3kpps", "7.77kpps", "100kpps", "999999pps", "1mpps",
                           "3mpps", "14.88mpps", "33.333mpps", "50mpps"}) {
    Pacer pacer = started(paced(word));
    constexpr size_t kPackets = 300'000;
    const double wanted = kPackets / paced(word).rate.value * kSecond;
    const auto due = times(pacer, kPackets + 1);
    EXPECT_NEAR(static_cast<double>(due.back()), wanted, wanted * 1e-6 + 1) << word;
    EXPECT_NEAR(pacer.asked_pps(1000), paced(word).rate.value, paced(word).rate.value * 1e-6);
    // nowhere further than a nanosecond from the ideal
    for (size_t i = 0; i < kPackets; i += 9973)
      EXPECT_NEAR(static_cast<double>(due[i]), static_cast<double>(i) * wanted / kPackets,
                  1 + wanted * 1e-6)
          << word;
  }
}

TEST(Pacer, BitRatesOfMixedSizes) {
  struct Case {
    const char *word;
    bool l1;
    double bits, extra;
  };
  for (const Case &c : {Case{"125kbit", false, 125e3, 0}, Case{"10mbit", false, 10e6, 0},
                        Case{"1gbit", true, 1e9, 24}, Case{"10gbit", false, 10e9, 0},
                        Case{"10gbit", true, 10e9, 24}, Case{"99.9gbit", false, 99.9e9, 0},
                        Case{"400gbit", true, 400e9, 24}, Case{"10tbit", false, 1e13, 0},
                        Case{"50%", false, kLine / 2, 24}, Case{"100%", false, kLine, 24},
                        Case{"0.1%", false, kLine / 1000, 24}}) {
    Pacer pacer = started(paced(c.word, c.l1));
    std::mt19937 random(5);
    double bits = 0;
    for (int i = 0; i < 200'000; i++) {
      const uint32_t bytes = 60 + random() % 9560;
      bits += 8 * (bytes + c.extra);
      pacer.sent(pacer.due(), bytes);
    }
    const double wanted = bits / c.bits * kSecond;
    EXPECT_NEAR(static_cast<double>(pacer.due() - kBegin), wanted, wanted * 1e-4) << c.word;
    EXPECT_EQ(pacer.slipped_ns(), 0U);
    EXPECT_NEAR(pacer.asked_pps(1000), c.bits / 8 / (1000 + c.extra), c.bits / 8 / 1000 * 1e-4);
  }
}

TEST(Pacer, UnlimitedIsAlwaysDueAndNeverLate) {
  Pacer pacer = started(Pacing());
  for (uint64_t now = kBegin; now < kBegin + 100 * kPatienceNs; now += 12'345'678) {
    EXPECT_LE(pacer.due(), now);
    pacer.sent(now, 1000);
  }
  EXPECT_EQ(pacer.slipped_ns(), 0U);
  EXPECT_EQ(pacer.asked_pps(1000), 0);
}

TEST(Pacer, StartsLater) {
  Pacing pacing = paced("1kpps");
  pacing.start_ns = 5'000'000;
  Pacer pacer = started(pacing);
  EXPECT_EQ(times(pacer, 3), (std::vector<uint64_t>{5'000'000, 6'000'000, 7'000'000}));
  Pacing top;
  top.start_ns = 77;
  EXPECT_EQ(started(top).due(), kBegin + 77);
}

Pacing bursts(const std::string &word, uint64_t packets, uint64_t gap, uint64_t count = 0) {
  Pacing pacing = word == "top" ? Pacing() : paced(word);
  pacing.shape = Pacing::Shape::Burst;
  pacing.burst_packets = packets;
  pacing.burst_gap_ns = gap;
  pacing.bursts = count;
  return pacing;
}

TEST(Pacer, BurstsHaveTheirShape) {
  Pacer pacer = started(bursts("1mpps", 3, 50'000, 2));
  EXPECT_EQ(times(pacer, 100), (std::vector<uint64_t>{0, 1000, 2000, 52'000, 53'000, 54'000}));
  EXPECT_EQ(pacer.due(), kNever);
  Pacer top = started(bursts("top", 3, 50'000, 2));
  EXPECT_EQ(times(top, 100), (std::vector<uint64_t>{0, 0, 0, 50'000, 50'000, 50'000}));
  Pacer single = started(bursts("1mpps", 1, 9'000));
  EXPECT_EQ(times(single, 3), (std::vector<uint64_t>{0, 9'000, 18'000}));
}

TEST(Pacer, UnlimitedBurstsWaitFromTheirLastPacket) {
  Pacer pacer = started(bursts("top", 2, 1000));
  pacer.sent(kBegin + 10, 1000);
  pacer.sent(kBegin + 30, 1000);
  EXPECT_EQ(pacer.due(), kBegin + 1030);
}

TEST(Pacer, BurstsOnTheAverage) {
  EXPECT_NEAR(started(bursts("1mpps", 32, 1'000'000)).asked_pps(99), 32 / 0.001031, 0.01);
  EXPECT_EQ(started(bursts("top", 32, 1'000'000)).asked_pps(99), 0) << "nobody knows";
  EXPECT_EQ(started(bursts("top", 32, 0)).asked_pps(99), 0);
}

std::vector<double> poisson_gaps(size_t count, uint64_t seed, double pps = 1e5) {
  Pacing pacing = paced(std::to_string(pps) + "pps");
  pacing.shape = Pacing::Shape::Poisson;
  Pacer pacer = started(pacing, seed);
  const auto due = times(pacer, count + 1);
  std::vector<double> gaps;
  for (size_t i = 0; i < count; i++)
    gaps.push_back(static_cast<double>(due[i + 1] - due[i]) * pps / kSecond);
  return gaps;
}

TEST(Pacer, PoissonGapsAreExponential) {
  constexpr size_t kCount = 200'000;
  auto gaps = poisson_gaps(kCount, 3);
  double sum = 0, squares = 0;
  for (const double gap : gaps) {
    sum += gap;
    squares += gap * gap;
  }
  const double mean = sum / kCount, variance = squares / kCount - mean * mean;
  EXPECT_NEAR(mean, 1, 4 / std::sqrt(kCount));
  EXPECT_NEAR(variance, 1, 4 * std::sqrt(8.0 / kCount)); // fourth moment 9
  std::sort(gaps.begin(), gaps.end());
  double distance = 0; // Kolmogorov and Smirnov's
  for (size_t i = 0; i < kCount; i++)
    distance = std::max(distance,
                        std::abs(1 - std::exp(-gaps[i]) - (static_cast<double>(i) + 0.5) / kCount));
  EXPECT_LT(distance, 1.95 / std::sqrt(kCount)); // one in a thousand
}

TEST(Pacer, PoissonGapsAreIndependent) {
  const auto gaps = poisson_gaps(100'000, 4);
  double product = 0;
  for (size_t i = 1; i < gaps.size(); i++)
    product += (gaps[i] - 1) * (gaps[i - 1] - 1);
  EXPECT_LT(std::abs(product) / std::sqrt(static_cast<double>(gaps.size())), 4);
}

TEST(Pacer, PoissonFollowsFromItsSeed) {
  EXPECT_EQ(poisson_gaps(100, 3), poisson_gaps(100, 3));
  EXPECT_NE(poisson_gaps(100, 3), poisson_gaps(100, 4));
}

// The integral of the rate: N(t) = r (f t + (1 - f) t^2 / 2T).
TEST(Pacer, RampsAreLinear) {
  for (const double from : {0.0, 0.1, 0.9}) {
    Pacing pacing = paced("100kpps");
    pacing.ramp_ns = 1'000'000'000;
    pacing.ramp_from = from;
    Pacer pacer = started(pacing);
    const auto due = times(pacer, 200'000);
    double sent = 0;
    for (const uint64_t at : due) {
      const double t = static_cast<double>(at) / kSecond, in = std::min(t, 1.0);
      const double wanted = 1e5 * (from * in + (1 - from) * in * in / 2 + (t - in));
      EXPECT_NEAR(sent, wanted, 0.02);
      sent++;
      if (std::abs(sent - 1 - wanted) > 1)
        break;
    }
  }
}

// 3 a second from 0 within a second: 1.5 t^2, then 1.5 + 3 (t - 1).
TEST(Pacer, RampsEndBetweenTwoPackets) {
  Pacing pacing = paced("3pps");
  pacing.ramp_ns = 1'000'000'000;
  Pacer pacer = started(pacing);
  const auto due = times(pacer, 4);
  EXPECT_NEAR(static_cast<double>(due[1]), std::sqrt(1 / 1.5) * kSecond, 2);
  EXPECT_NEAR(static_cast<double>(due[2]), (1 + 0.5 / 3) * kSecond, 2);
  EXPECT_NEAR(static_cast<double>(due[3]), (1 + 1.5 / 3) * kSecond, 2);
}

TEST(Pacer, RestartsIdentically) {
  for (const Pacing &pacing : {bursts("1mpps", 3, 50'000, 2), paced("3mpps")}) {
    Pacer pacer = started(pacing);
    const auto first = times(pacer, 5);
    pacer.start(kBegin);
    EXPECT_EQ(times(pacer, 5), first);
  }
}

TEST(Pacer, RampOfPoissonHasItsMean) {
  Pacing pacing = paced("1mpps");
  pacing.ramp_ns = 1'000'000'000;
  pacing.shape = Pacing::Shape::Poisson;
  Pacer pacer = started(pacing);
  const auto due = times(pacer, 500'000);
  EXPECT_NEAR(static_cast<double>(due.back()), kSecond, kSecond * 4 / std::sqrt(500'000));
}

TEST(Pacer, LatenessIsCaughtUpToALimit) {
  Pacer pacer = started(paced("1mpps"));
  pacer.sent(kBegin, 1000);
  // late within patience: nothing is lost
  pacer.sent(kBegin + kPatienceNs, 1000);
  EXPECT_EQ(pacer.due(), kBegin + 2000);
  EXPECT_EQ(pacer.slipped_ns(), 0U);
  // a second late: all but the patience is
  const uint64_t late = kBegin + 1'000'000'000;
  pacer.sent(late, 1000);
  EXPECT_EQ(pacer.due(), late - kPatienceNs);
  EXPECT_EQ(pacer.slipped_ns(), late - kPatienceNs - (kBegin + 3000));
  size_t caught_up = 0;
  for (; pacer.due() <= late; caught_up++)
    pacer.sent(late, 1000);
  EXPECT_EQ(caught_up, 50'001U);
}

TEST(Pacer, NothingIsGivenUpBeyondTheEnd) {
  Pacer pacer = started(paced("1mpps"));
  const uint64_t end = kBegin + 10'000'000;
  pacer.end_at(end);
  pacer.sent(kBegin + 80'000'000, 1000);
  EXPECT_EQ(pacer.due(), end);
  EXPECT_EQ(pacer.slipped_ns(), end - (kBegin + 1000));
  pacer.sent(kBegin + 90'000'000, 1000);
  EXPECT_EQ(pacer.slipped_ns(), end - (kBegin + 1000));
}

TEST(Pacer, ClocksThatStartAtZero) {
  Pacer pacer(paced("1mpps"), kLine, 0);
  pacer.start(0);
  pacer.sent(0, 1000);
  pacer.sent(5, 1000);
  EXPECT_EQ(pacer.due(), 2000U);
  EXPECT_EQ(pacer.slipped_ns(), 0U);
}

} // namespace
} // namespace xr::congestion::pacer_test
