// SPDX-License-Identifier: Apache-2.0
// DCTCP and HPCC as HPCC's simulator has them, Swift as htsim has it, Copa and Patched TIMELY as
// their papers have them: worked out by hand from the formulas.
#include <cmath>

#include <gtest/gtest.h>

#include "congestion/copa.h"
#include "congestion/dctcp.h"
#include "congestion/hpcc.h"
#include "congestion/swift.h"
#include "congestion/timely.h"
#include "rate/control.h"

namespace xr::congestion::controls_test {
namespace {

constexpr uint64_t kUs = 1000;
constexpr double kLine = 100e9;
constexpr xdp_roce_qp kQp{
    .line = kLine, .base_rtt_ns = 10 * kUs, .switches = 1, .payload = 1000, .frame = 1058};

Ack ack(uint64_t now, uint64_t acked, uint64_t sent, bool marked = false, uint64_t rtt = 0) {
  return {.now_ns = now,
          .rtt_ns = rtt,
          .bytes = 1000,
          .acked = acked,
          .sent = sent,
          .packets = 1,
          .marked = marked,
          .hops = nullptr,
          .hop_count = 0};
}

template <class C, class S>
C make(std::span<const ParameterRow> rows, S (*settings)(const TableParameters &, double),
       const std::vector<std::string> &words = {}) {
  TableParameters parameters(rows);
  for (const std::string &word : words)
    EXPECT_TRUE(parameters.set(word).ok()) << word;
  return C(std::make_shared<const S>(settings(parameters, kLine)), kQp);
}

TEST(Dctcp, AlphaIsTheShareOfMarkedPacketsAndCutsOnceAnRtt) {
  Dctcp dctcp = make<Dctcp>(dctcp_rows(), dctcp_settings, {"alpha-initial=0", "ai=100mbit"});
  double alpha = 0, rate = kLine;
  dctcp.acked(ack(1, 1000, 4000)); // the first RTT begins
  // Of the 4 packets of the next RTT one is marked: the rate is cut at once, by the old alpha.
  dctcp.acked(ack(2, 2000, 5000, true));
  EXPECT_NEAR(dctcp.rate() * 8, rate, 1);
  dctcp.acked(ack(3, 3000, 6000, true)); // no second cut
  dctcp.acked(ack(4, 4000, 7000));
  EXPECT_EQ(dctcp.state(4).cuts, 1U);
  dctcp.acked(ack(5, 5000, 8000)); // beyond 4000: alpha of 2 marked packets of 4, this one included
  alpha = 1.0 / 16 * (2.0 / 4);
  EXPECT_NEAR(dctcp.state(5).alpha, alpha, 1e-12);
  dctcp.acked(ack(6, 9000, 12000, true)); // recovered: another cut
  EXPECT_EQ(dctcp.state(6).cuts, 2U);
  alpha = 15.0 / 16 * alpha + 1.0 / 16 * 1;
  EXPECT_NEAR(dctcp.state(6).alpha, alpha, 1e-12);
  rate *= 1 - alpha / 2;
  EXPECT_NEAR(dctcp.rate() * 8, rate, 1);
  dctcp.acked(ack(7, 12001, 15000)); // an RTT without a mark
  EXPECT_NEAR(dctcp.rate() * 8, rate + 100e6, 1);
}

TEST(Dctcp, BoundsOfTheRate) {
  Dctcp dctcp = make<Dctcp>(dctcp_rows(), dctcp_settings);
  for (uint64_t i = 1; i < 200; i++)
    dctcp.acked(ack(i, i * 10'000, i * 10'000 + 5'000, true));
  EXPECT_EQ(dctcp.rate() * 8, 100e6);
  for (uint64_t i = 200; i < 800; i++)
    dctcp.acked(ack(i, i * 10'000, i * 10'000 + 5'000));
  EXPECT_EQ(dctcp.rate() * 8, kLine);
}

struct HpccTest : testing::Test {
  Hpcc hpcc = make<Hpcc>(hpcc_rows(), hpcc_settings, {"ai=50mbit", "int=exact"});
  // After `tau` ns in which the port sent `bytes`, with a queue of `queue`.
  void hop(uint64_t tau, uint64_t bytes, uint64_t queue, uint64_t acked, uint64_t sent) {
    now += tau;
    tx += bytes;
    const xdp_roce_hop one{.time_ns = now, .tx_bytes = tx, .queue_bytes = queue, .rate = kLine};
    Ack a = ack(now, acked, sent);
    a.hops = &one;
    a.hop_count = 1;
    hpcc.acked(a);
  }
  uint64_t now = 0, tx = 0;
};

TEST_F(HpccTest, TheUtilisationOfTheBusiestHopSetsTheRate) {
  hop(0, 0, 50'000, 1000, 100'000); // the first one is only stored
  EXPECT_EQ(hpcc.rate() * 8, kLine);
  EXPECT_EQ(hpcc.window(), 125'000U); // 100 Gbit/s in 10 us
  // 2 us at the line's rate with 25,000 bytes in the queue (the lesser): U = 1 + 25/125 = 1.2
  hop(2 * kUs, 25'000, 25'000, 2000, 101'000);
  double u = 1.2 * 2 / 10;
  // within the RTT: from the base rate, which stays
  double rate = std::min(kLine, kLine / (u / .95) + 50e6);
  EXPECT_NEAR(hpcc.rate() * 8, rate, 1);
  // 10 us and more count as T: the old u is gone
  hop(20 * kUs, 300'000, 25'000, 3000, 102'000);
  u = 1.2 + 25'000.0 / 125'000;
  rate = kLine / (u / .95) + 50e6;
  EXPECT_NEAR(hpcc.rate() * 8, rate, 1);
  EXPECT_NEAR(static_cast<double>(hpcc.window()), 125'000 * rate / kLine, 1);
  // a new RTT: now this rate is the base
  hop(20 * kUs, 237'500, 0, 100'001, 200'000); // u = .95: as aimed at
  EXPECT_NEAR(hpcc.rate() * 8, kLine, 1);
  EXPECT_NEAR(hpcc.state(now).target, kLine, 1);
  hop(20 * kUs, 475'000, 0, 200'001, 300'000); // twice as much
  EXPECT_NEAR(hpcc.rate() * 8, kLine / 2 + 50e6, 1);
  EXPECT_NEAR(hpcc.state(now).target, kLine / 2 + 50e6, 1);
}

// HPCC, section 3.3: W_AI = Winit (1 - eta) / N; run.py has 0.04 % of the line.
TEST(Hpcc, TheStepIsForTheExpectedFlows) {
  TableParameters parameters(hpcc_rows());
  EXPECT_NEAR(hpcc_settings(parameters, kLine).ai, kLine * .05 / 16, 1);
  ASSERT_TRUE(parameters.set("flows=100").ok());
  EXPECT_NEAR(hpcc_settings(parameters, kLine).ai, kLine * .05 / 100, 1);
  ASSERT_TRUE(parameters.set("ai=0.04%").ok());
  EXPECT_NEAR(hpcc_settings(parameters, kLine).ai, 40e6, 1);
}

// At 100 Gbit/s INT counts bytes in 512 and a queue in 320, rounded down (int-header.h, run.py).
TEST(Hpcc, TelemetryIsInThePublishedUnits) {
  const auto rate_with = [](const std::vector<std::string> &words, uint64_t wrapped) {
    Hpcc hpcc = make<Hpcc>(hpcc_rows(), hpcc_settings, words);
    const xdp_roce_hop first{
        .time_ns = wrapped, .tx_bytes = 1000, .queue_bytes = 50'000, .rate = kLine};
    const xdp_roce_hop second{.time_ns = wrapped + 10 * kUs,
                              .tx_bytes = 1000 + 125'000,
                              .queue_bytes = 1599,
                              .rate = kLine};
    for (const xdp_roce_hop *hop : {&first, &second}) {
      Ack a = ack(hop->time_ns, hop == &first ? 1000 : 100'001, 100'000);
      a.hops = hop;
      a.hop_count = 1;
      hpcc.acked(a);
    }
    return hpcc.rate() * 8;
  };
  const auto rate = [](double bytes, double queue) {
    return kLine / ((bytes / 125'000 + queue / 125'000) / .95) + 50e6;
  };
  EXPECT_NEAR(rate_with({"ai=50mbit", "int=exact"}, 0), rate(125'000, 1599), 1);
  // 1000 / 512 is 1, 126,000 / 512 is 246; 1599 / 320 is 4. The time wraps after 2^24 ns.
  for (const uint64_t time : {uint64_t{0}, (uint64_t{1} << 24) - 5000})
    EXPECT_NEAR(rate_with({"ai=50mbit"}, time), rate(245 * 512, 4 * 320), 1);
  EXPECT_NEAR(rate_with({"ai=50mbit", "int-multi=1"}, 0), rate((984 - 7) * 128, 19 * 80), 1);
}

TEST(Hpcc, StagesAddBeforeTheyMultiply) {
  Hpcc hpcc = make<Hpcc>(hpcc_rows(), hpcc_settings, {"ai=50mbit", "max-stage=2", "int=exact"});
  uint64_t tx = 0;
  const auto round = [&](uint64_t i, uint64_t bytes) {
    tx += bytes;
    const xdp_roce_hop one{
        .time_ns = i * 20 * kUs, .tx_bytes = tx, .queue_bytes = 0, .rate = kLine};
    Ack a = ack(i * 20 * kUs, i * 100'000 + 1, (i + 1) * 100'000);
    a.hops = &one;
    a.hop_count = 1;
    hpcc.acked(a);
  };
  round(0, 0);
  round(1, 475'000); // u = 1.9: half, stage 0
  double rate = kLine / 2 + 50e6;
  EXPECT_NEAR(hpcc.rate() * 8, rate, 1);
  for (uint64_t i = 2; i <= 3; i++) { // u = .475, but it only adds
    round(i, 118'750);
    EXPECT_NEAR(hpcc.rate() * 8, rate += 50e6, 1) << i;
  }
  round(4, 118'750);
  EXPECT_NEAR(hpcc.rate() * 8, kLine, 1); // rate / .5, at most the line
}

TEST(Swift, AWindowThatFollowsTheTarget) {
  Swift swift = make<Swift>(swift_rows(), swift_settings, {"start-window=10", "hop-scale=3us"});
  // alpha = 100 / (1/sqrt(.1) - 1/sqrt(100)) us
  const double alpha = 100e3 / (1 / std::sqrt(.1) - .1);
  const double target = 23e3 + alpha / std::sqrt(10) - alpha / 10;
  EXPECT_NEAR(swift.target_ns(10), target, 1e-6);
  EXPECT_NEAR(swift.target_ns(100), 23e3, 1e-6);
  EXPECT_NEAR(swift.target_ns(.1), 123e3, 1e-6);
  EXPECT_EQ(swift.window(), 10'000U);
  swift.acked(ack(1 * kUs, 1000, 10'000, false, 20 * kUs)); // one packet of ten
  EXPECT_EQ(swift.window(), 10'100U);
  const uint64_t slow = 100 * kUs;
  const double now = 10.1, t = swift.target_ns(now);
  swift.acked(ack(2 * kUs, 2000, 11'000, false, slow));
  const double cut = std::max(1 - .8 * (100e3 - t) / 100e3, .5);
  EXPECT_NEAR(static_cast<double>(swift.window()), now * cut * 1000, 1);
  swift.acked(ack(3 * kUs, 3000, 12'000, false, slow)); // once an RTT
  EXPECT_EQ(swift.state(3 * kUs).cuts, 1U);
}

// A window below one packet is a pause: rate = window x frame / RTT.
TEST(Swift, BelowOnePacketItPaces) {
  Swift swift = make<Swift>(swift_rows(), swift_settings, {"start-window=1", "plb-after=0"});
  for (uint64_t i = 1; i <= 20; i++)
    swift.acked(ack(i * 1000 * kUs, i * 1000, i * 1000, false, 1000 * kUs));
  EXPECT_EQ(swift.window(), 1U); // one packet in flight
  EXPECT_NEAR(swift.rate() * 8, .1 * 1058 * 8 / 1000e-6, 10);
  EXPECT_EQ(swift.path(), 0U);
}

TEST(Swift, AnotherPathAfterCongestedRtts) {
  Swift swift = make<Swift>(swift_rows(), swift_settings, {"plb-after=3"});
  for (uint64_t i = 1; i <= 4; i++) // the first RTT only begins
    swift.acked(ack(i * 1000 * kUs, i * 1000, i * 1000, false, 1000 * kUs));
  EXPECT_EQ(swift.path(), 1U);
  swift.acked(ack(9000 * kUs, 9000, 9000, false, 1 * kUs)); // a good delay
  for (uint64_t i = 10; i <= 11; i++)
    swift.acked(ack(i * 1000 * kUs, i * 1000, i * 1000, false, 1000 * kUs));
  EXPECT_EQ(swift.path(), 1U);
}

TEST(Swift, TimeoutsEndAtTheLeastWindow) {
  Swift swift = make<Swift>(swift_rows(), swift_settings, {"start-window=64"});
  for (unsigned i = 1; i <= 4; i++)
    swift.lost(i * 1000 * kUs, XDP_ROCE_TIMEOUT);
  EXPECT_EQ(swift.window(), 4'000U); // halved four times
  swift.lost(5000 * kUs, XDP_ROCE_TIMEOUT);
  double values[3];
  swift.read(0, values);
  EXPECT_EQ(values[0], .1);
}

TEST(Copa, TheWindowMovesToTheTargetRate) {
  Copa copa = make<Copa>(copa_rows(), copa_settings, {"start-window=10"});
  copa.acked(ack(100 * kUs, 1000, 10'000, false, 100 * kUs)); // no queue: slow start adds a packet
  EXPECT_EQ(copa.window(), 11'000U);
  EXPECT_NEAR(copa.rate() * 8, 2 * 11 * 1058 * 8 / 100e-6, 1);
  // 20 us of queue: target 1 / (.5 x 20 us) = 100,000 packets/s; 11 / 120 us = 91,667 is below
  copa.acked(ack(300 * kUs, 2000, 11'000, false, 120 * kUs));
  EXPECT_EQ(copa.window(), 12'000U);
  // 12 / 120 us = 100,000 is not above it; 13 / 120 us is: down by 1 / (delta cwnd)
  copa.acked(ack(500 * kUs, 3000, 12'000, false, 120 * kUs));
  copa.acked(ack(700 * kUs, 4000, 13'000, false, 120 * kUs));
  EXPECT_NEAR(static_cast<double>(copa.window()), 1000 * (13 - 1 / (.5 * 13)), 1);
}

// Alone on its host's link a flow meets no queue that would stop it: the window stays near what is
// in flight.
TEST(WindowGrowth, EndsWhereTheWindowLimitsNothing) {
  Copa copa = make<Copa>(copa_rows(), copa_settings);
  Swift swift = make<Swift>(swift_rows(), swift_settings, {"max-window=1000000"});
  constexpr uint64_t kFlight = 50'000;
  for (uint64_t i = 1; i <= 100'000; i++) {
    const Ack a = ack(i * 100, i * 1000, i * 1000 + kFlight, false, 5 * kUs);
    copa.acked(a);
    swift.acked(a);
  }
  EXPECT_LE(copa.window(), 2 * (kFlight + 4'000));
  EXPECT_GE(copa.window(), kFlight);
  EXPECT_LE(swift.window(), kFlight + 4'000);
  EXPECT_GE(swift.window(), kFlight);
}

// Where the bytes in flight follow the window, the RTT without queues bounds it: 4 BDPs + 1/delta.
TEST(WindowGrowth, EndsAtSomeBdps) {
  Copa copa = make<Copa>(copa_rows(), copa_settings);
  for (uint64_t i = 1; i <= 10'000; i++)
    copa.acked(ack(i * 100, i * 1000, i * 1000 + copa.window(), false, 5 * kUs));
  const double bdp = kLine / 8 * 5e-6 / kQp.frame;
  EXPECT_NEAR(static_cast<double>(copa.window()), (4 * bdp + 2) * 1000, 1000);
}

TEST(Copa, TheLeastOfASlidingWindow) {
  SlidingMinimum least;
  least.add(0, 5, 10);
  least.add(4, 3, 10);
  least.add(5, 7, 10);
  EXPECT_EQ(least.least(), 3U);
  least.add(15, 9, 10);
  EXPECT_EQ(least.least(), 7U);
  least.add(16, 8, 10);
  EXPECT_EQ(least.least(), 8U);
}

// Between the thresholds: delta (1 - w) + rate (1 - beta w error), w = 2 g + 1/2 within 0 to 1.
TEST(TimelyPatched, WeighsStepAndCut) {
  Timely timely =
      make<Timely>(patched_timely_rows(), timely_settings, {"delta=10mbit", "start-rate=10gbit"});
  timely.rtt(0, 100 * kUs);
  timely.rtt(1000 * kUs, 100 * kUs); // gradient 0: w = 1/2; error (100 - 50) / 50 = 1
  double rate = 10e6 / 2 + 10e9 * (1 - .008 / 2);
  EXPECT_NEAR(timely.rate() * 8, rate, 1);
  timely.rtt(2000 * kUs, 104 * kUs); // .875 x 4 / 20 = .175: w = .85, error 1.08
  rate = 10e6 * .15 + rate * (1 - .008 * .85 * 1.08);
  EXPECT_NEAR(timely.rate() * 8, rate, 1);
  timely.rtt(3000 * kUs, 40 * kUs); // below T_low
  EXPECT_NEAR(timely.rate() * 8, rate + 10e6, 1);
}

} // namespace
} // namespace xr::congestion::controls_test
