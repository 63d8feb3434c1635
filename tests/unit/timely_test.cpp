// SPDX-License-Identifier: Apache-2.0
// TIMELY as HPCC's UpdateRateTimely computes it (rdma-hw.cc): worked out by hand.
#include "congestion/timely.h"

#include <gtest/gtest.h>

namespace xr::congestion::timely_test {
namespace {

constexpr uint64_t kUs = 1000;

Timely make(double line = 10e9) {
  TableParameters parameters(timely_rows());
  EXPECT_TRUE(parameters.set("delta=10mbit").ok());
  EXPECT_TRUE(parameters.set("hyper=50mbit").ok());
  return Timely(std::make_shared<const TimelySettings>(timely_settings(parameters, line)));
}

TEST(Timely, AGradientAboveZeroDecreases) {
  Timely timely = make();
  timely.start(0);
  timely.rtt(100 * kUs, 100 * kUs); // the first RTT only begins
  EXPECT_EQ(timely.rate() * 8, 10e9);
  timely.rtt(300 * kUs, 104 * kUs); // difference .875 x 4 us, of 20 us
  EXPECT_NEAR(timely.rate() * 8, 10e9 * (1 - .8 * .875 * 4 / 20), 1);
  EXPECT_EQ(timely.state(300 * kUs).cuts, 1U);
}

TEST(Timely, ThresholdsOverruleTheGradient) {
  Timely low = make();
  low.rtt(0, 40 * kUs);
  low.rtt(100 * kUs, 600 * kUs); // above T_high: by 1 - beta (1 - T_high / RTT)
  const double cut = 10e9 * (1 - .8 * (1 - 500.0 / 600));
  EXPECT_NEAR(low.rate() * 8, cut, 1);
  low.rtt(900 * kUs, 30 * kUs); // below T_low
  EXPECT_NEAR(low.rate() * 8, cut + 10e6, 1);
}

TEST(Timely, HyperIncreaseAfterFive) {
  Timely timely = make();
  timely.rtt(0, 100 * kUs);
  timely.rtt(100 * kUs, 600 * kUs);
  double rate = timely.rate() * 8;
  for (uint64_t i = 1; i <= 7; i++) {
    timely.rtt(i * 1000 * kUs, 30 * kUs);
    rate += i <= 5 ? 10e6 : 50e6;
    EXPECT_NEAR(timely.rate() * 8, rate, 1) << i;
  }
  const ControlState state = timely.state(10'000 * kUs);
  EXPECT_EQ(state.additive, 5U);
  EXPECT_EQ(state.hyper, 2U);
}

TEST(Timely, StartRate) {
  TableParameters parameters(timely_rows());
  ASSERT_TRUE(parameters.set("start-rate=30%").ok());
  EXPECT_EQ(
      Timely(std::make_shared<const TimelySettings>(timely_settings(parameters, 10e9))).rate() * 8,
      3e9);
  EXPECT_EQ(parameters.words(), "start-rate=30%");
  ASSERT_TRUE(parameters.set("start-rate=7gbit").ok());
  EXPECT_EQ(timely_settings(parameters, 10e9).start, 7e9);
  EXPECT_EQ(timely_settings(parameters, 5e9).start, 5e9); // at most the line
}

TEST(Timely, OnceAnRtt) {
  Timely timely = make();
  timely.rtt(0, 100 * kUs);
  timely.rtt(50 * kUs, 600 * kUs);
  EXPECT_EQ(timely.rate() * 8, 10e9);
  timely.rtt(100 * kUs, 600 * kUs);
  EXPECT_LT(timely.rate() * 8, 10e9);
}

TEST(Timely, BoundsOfTheRate) {
  Timely timely = make();
  timely.rtt(0, 100 * kUs);
  for (uint64_t i = 1; i < 60; i++)
    timely.rtt(i * 100'000 * kUs, 50'000 * kUs);
  EXPECT_EQ(timely.rate() * 8, 100e6);
  for (uint64_t i = 60; i < 1000; i++)
    timely.rtt(i * 100'000 * kUs, 20 * kUs);
  EXPECT_EQ(timely.rate() * 8, 10e9);
}

} // namespace
} // namespace xr::congestion::timely_test
