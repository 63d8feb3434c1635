// SPDX-License-Identifier: Apache-2.0
// The theory of DCQCN against the figures of CoNEXT'16 ("ECN or Delay") and of its authors'
// repository (jitupadhye-zz/rdma), and against itself: the fixed point, and the differential
// equations that it is the fixed point of.
#include "congestion/fluid.h"
#include "congestion/theory.h"

#include <cmath>

#include <gtest/gtest.h>

#include "congestion/prediction.h"
#include "congestion/steady_state.h"

namespace xr::congestion::theory_test {
namespace {

Bottleneck path(uint32_t flows, uint64_t delay_ns = 4000, double kmax = 200e3, double pmax = 0.01) {
  Bottleneck path;
  path.line_bits = 40e9;
  path.flows = flows;
  path.delay_ns = delay_ns;
  path.kmin = 5e3;
  path.kmax = kmax;
  path.pmax = pmax;
  return path;
}

DcqcnSettings paper(const char *word = nullptr) {
  DcqcnParameters parameters;
  if (word) {
    EXPECT_TRUE(parameters.set(word).ok());
  }
  return resolve(parameters, 40e9);
}

// 40 Gbit/s, packets of 1000 B: worked out by bisection of the paper's equation elsewhere.
TEST(Theory, FixedPointsOfThePaper) {
  struct Case {
    uint32_t flows;
    double exact, closed, alpha, queue_kb;
  };
  for (const Case &c :
       {Case{2, 7.77e-4, 9.25e-4, .101, 20.2}, Case{4, 1.89e-3, 2.32e-3, .122, 41.8},
        Case{8, 4.55e-3, 5.83e-3, .145, 93.8}, Case{10, 6.03e-3, 7.85e-3, .153, 122.6}}) {
    const FixedPoint point = fixed_point(paper(), path(c.flows));
    EXPECT_EQ(point.applies, Applies::FixedPoint);
    EXPECT_NEAR(point.mark_probability / c.exact, 1, 0.003) << c.flows;
    EXPECT_NEAR(point.closed_form / c.closed, 1, 0.003) << c.flows;
    EXPECT_NEAR(point.alpha, c.alpha, 0.0006) << c.flows;
    EXPECT_NEAR(point.queue_bytes / 1000, c.queue_kb, 0.06) << c.flows;
    EXPECT_DOUBLE_EQ(point.share_bits, 40e9 / c.flows);
  }
}

TEST(Theory, BeyondPmaxTheQueueSitsOnKmax) {
  for (const auto &[flows, p, alpha] :
       {std::tuple(16U, 1.09e-2, .171), std::tuple(20U, 1.43e-2, .180)}) {
    const FixedPoint point = fixed_point(paper(), path(flows));
    EXPECT_EQ(point.applies, Applies::Kmax);
    EXPECT_NEAR(point.mark_probability / p, 1, 0.005);
    EXPECT_NEAR(point.alpha, alpha, 0.0006);
    EXPECT_EQ(point.queue_bytes, 200e3);
  }
}

TEST(Theory, NoFixedPointBelowTheLeastRate) {
  EXPECT_EQ(fixed_point(paper("min-rate=30gbit"), path(2)).applies, Applies::None);
  EXPECT_EQ(fixed_point(paper("min-rate=10gbit"), path(2)).applies, Applies::FixedPoint);
}

// conext2016/figures: the data of the figure of convergence, "default" and convergence_rai10.txt.
TEST(Theory, BoundsOfConvergence) {
  EXPECT_NEAR(*convergence_bound(paper(), path(2)), 0.0969, 5e-5);
  EXPECT_NEAR(*convergence_bound(paper(), path(10)), 0.0359, 5e-5);
  EXPECT_NEAR(*convergence_bound(paper("rai=10mbit"), path(2)), 0.35817, 2e-5);
  EXPECT_NEAR(*convergence_bound(paper("rai=10mbit"), path(10)), 0.12137, 2e-5);
  EXPECT_NEAR(*convergence_bound(paper("rai=10mbit"), path(100)), 0.025873, 2e-5);
  EXPECT_FALSE(convergence_bound(paper(), path(1)).has_value());
}

// The data of the figures of stability: pm_rai40_delay1.txt, pm_rai40_delay100.txt.
TEST(Theory, PhaseMargins) {
  EXPECT_NEAR(*phase_margin(paper(), path(2, 1000)), 26.3, 0.1);
  EXPECT_NEAR(*phase_margin(paper(), path(4, 1000)), 13.1, 0.1);
  EXPECT_NEAR(*phase_margin(paper(), path(10, 1000)), 4.5, 0.1);
  EXPECT_NEAR(*phase_margin(paper(), path(30, 1000)), 18.2, 0.1);
  EXPECT_NEAR(*phase_margin(paper(), path(2, 100'000)), -10.1, 0.1);
  EXPECT_NEAR(*phase_margin(paper(), path(10, 100'000)), -17.9, 0.1);
}

// The differential equations must come to rest at the point that the algebra gives.
TEST(Fluid, SettlesAtTheFixedPoint) {
  for (const uint32_t flows : {2U, 4U, 8U}) {
    const FixedPoint point = fixed_point(paper(), path(flows));
    const FluidResult run = integrate(paper(), path(flows), {});
    EXPECT_TRUE(run.settles) << flows;
    EXPECT_NEAR(run.queue_mean / point.queue_bytes, 1, 0.02) << flows;
    EXPECT_NEAR(run.samples.back().alphas[0], point.alpha, 0.002) << flows;
    EXPECT_NEAR(run.rates[0] / point.share_bits, 1, 0.001) << flows;
    EXPECT_NEAR(run.utilisation, 1, 0.001);
  }
}

TEST(Fluid, UnequalFlowsBecomeFair) {
  FluidRun run;
  run.groups = {{1, 40e9}, {1, 5e9}};
  run.duration_ns = 200'000'000;
  const FluidResult result = integrate(paper(), path(2, 50'000), run);
  EXPECT_NEAR(result.rates[0] / 20e9, 1, 0.02);
  EXPECT_NEAR(result.rates[1] / 20e9, 1, 0.02);
  EXPECT_GT(result.samples.front().rates[0], 7 * result.samples.front().rates[1]);
}

// SIGCOMM'15: QCN's parameters do not converge.
TEST(Fluid, TheStrawmanStaysUnfair) {
  DcqcnParameters strawman;
  for (const char *word : {"rate-timer=1500us", "byte-counter=150k", "g=1/16"})
    ASSERT_TRUE(strawman.set(word).ok());
  FluidRun run;
  run.groups = {{1, 40e9}, {1, 5e9}};
  run.duration_ns = 300'000'000;
  Bottleneck cut_off = path(2, 50'000, 40.001e3, 1); // all at 40 KB
  cut_off.kmin = 40e3;
  const FluidResult result = integrate(resolve(strawman, 40e9), cut_off, run);
  EXPECT_GT(result.rates[0], 3 * result.rates[1]);
}

// The paper states Kmax 200 KB and Pmax 1 %; the program that drew its figure of stability has
// 2000 KB and 10 %: the same slope. 64 flows settle at 1181 KB with the second only.
TEST(Fluid, BothColumnsOfThePublishedFigure) {
  FluidRun run;
  run.duration_ns = 500'000'000;
  const FluidResult program = integrate(paper(), path(64, 4000, 2000e3, 0.1), run);
  EXPECT_TRUE(program.settles);
  EXPECT_NEAR(program.queue_mean / 1181e3, 1, 0.02);
  const FluidResult stated = integrate(paper(), path(64, 4000), run);
  EXPECT_FALSE(stated.settles);
  EXPECT_EQ(fixed_point(paper(), path(64)).applies, Applies::Kmax);
}

TEST(Fluid, ALongLoopOscillates) {
  FluidRun run;
  run.duration_ns = 500'000'000;
  EXPECT_FALSE(integrate(paper(), path(10, 85'000, 2000e3, 0.1), run).settles);
  EXPECT_TRUE(integrate(paper(), path(10, 4000, 2000e3, 0.1), run).settles);
}

// The words of `cc predict`: the preset counts first wherever it is written.
SteadyState steady(const std::vector<std::string> &words) {
  auto question = parse_steady_question(words);
  EXPECT_TRUE(question.ok());
  return steady_state(question.get());
}

// SIGCOMM'10, section 3.3: windows of (C RTT + K) / N; Qmax = K + N, Qmin = Qmax - A.
TEST(SteadyState, DctcpOfThePaper) {
  const SteadyState state = steady(
      {"dctcp", "flows", "2", "rate", "10gbit", "rtt", "100us", "packet", "1500", "mark", "60k"});
  ASSERT_TRUE(state.windowed);
  const double window = (10e9 / 8 * 100e-6 / 1500 + 40) / 2; // 61.7 packets
  EXPECT_NEAR(state.windowed->alpha, std::sqrt(2 / window), .01);
  const double amplitude = std::sqrt(2 * 2 * (2 * window)) / 2; // 11.1 packets
  EXPECT_NEAR(state.windowed->most, 42 * 1500, 1);
  EXPECT_NEAR(state.windowed->least, (42 - amplitude) * 1500, 1500);
  EXPECT_NEAR(state.windowed->period_ns / (amplitude / 2 * 148e3), 1, .1);
}

TEST(SteadyState, CopaSwiftAndHpcc) {
  const SteadyState copa =
      steady({"copa", "flows", "10", "rate", "100gbit", "packet", "1000", "delta=0.25"});
  EXPECT_DOUBLE_EQ(copa.queue_bytes, 40'000);
  EXPECT_DOUBLE_EQ(copa.share_bits, 10e9);
  // rate x queueing delay is 1 / delta
  EXPECT_NEAR(copa.share_bits / 8000 * (copa.rtt_ns - 4000) * 1e-9, 4, 1e-9);
  const SteadyState swift =
      steady({"swift", "flows", "10", "rate", "100gbit", "hop-scale=0us", "fs-range=0us"});
  EXPECT_NEAR(swift.queue_bytes, 16e-6 * 100e9 / 8, 1);
  EXPECT_NEAR(swift.rtt_ns, *swift.target_ns, 1);
  EXPECT_NEAR(swift.window_packets, 20e-6 * 10e9 / 8000, .01);
  // At the largest window the target is not reached.
  EXPECT_NEAR(steady({"swift", "flows", "1", "rate", "100gbit"}).queue_bytes, 50'000, 1);
  EXPECT_NEAR(steady({"hpcc", "flows", "10", "rate", "100gbit", "ai=0.1%"}).utilisation, .96, 1e-9);
  const SteadyState many = steady({"hpcc", "flows", "100", "rate", "100gbit", "ai=0.1%"});
  EXPECT_EQ(many.utilisation, 1);
  EXPECT_NEAR(many.queue_bytes, (.95 / .9 - 1) * 50'000, 1);
}

TEST(SteadyState, WrongWords) {
  EXPECT_FALSE(parse_steady_question({"dctcp", "rate", "10gbit"}).ok());
  EXPECT_FALSE(parse_steady_question({"copa", "flows", "3"}).ok());
  EXPECT_FALSE(parse_steady_question({"copa", "rate", "10gbit", "kmin", "5k"}).ok());
  EXPECT_FALSE(parse_steady_question({"swift", "rate", "10gbit", "delta=1"}).ok());
  EXPECT_FALSE(asks_for_steady_state({"flows", "2"}));
}

TEST(Prediction, Words) {
  auto question =
      parse_question({"flows", "10", "rate", "40gbit", "rai=10mbit", "kmax", "400k", "delay",
                      "100us", "packet", "500", "preset", "hpcc", "for", "10ms"});
  ASSERT_TRUE(question.ok());
  EXPECT_EQ(question->path.flows, 10U);
  EXPECT_EQ(question->path.delay_ns, 100'000U);
  EXPECT_EQ(question->path.packet_bytes, 500);
  EXPECT_EQ(question->parameters.words(), "preset hpcc rai=10mbit kmax=400000");
  const Answer answer = predict(question.get());
  EXPECT_EQ(answer.stated.path.kmin, 160e3); // 100 KB x 40G/25G
  EXPECT_EQ(answer.stated.path.kmax, 400e3);
  EXPECT_FALSE(answer.published.has_value());
  EXPECT_EQ(answer.stated.fluid.samples.back().t_ns, 9'900'000U);
}

TEST(Prediction, ThePublishedColumnIsOfTheStatedValues) {
  auto question = parse_question({"rate", "40gbit", "for", "5ms", "start", "1", "5gbit"});
  ASSERT_TRUE(question.ok());
  const Answer answer = predict(question.get());
  ASSERT_TRUE(answer.published.has_value());
  EXPECT_EQ(answer.published->path.kmax, 2000e3);
  EXPECT_EQ(answer.published->path.pmax, 0.1);
  EXPECT_EQ(answer.stated.fluid.samples.front().rates, (std::vector<double>{5e9, 40e9}));
}

TEST(Prediction, WrongWords) {
  for (const auto &[words, message] :
       {std::pair(std::vector<std::string>{"flows", "2"}, "the line's rate is missing"),
        std::pair(std::vector<std::string>{"rate", "40gbit", "flow", "2"}, "what is 'flow'?"),
        std::pair(std::vector<std::string>{"rate", "40gbit", "kmin", "300k"},
                  "kmin is not below kmax"),
        std::pair(std::vector<std::string>{"rate", "40gbit", "preset", "x"}, "'x' is not a preset"),
        std::pair(std::vector<std::string>{"rate", "40gbit", "pmax", "200%"},
                  "pmax: '200%' is outside 0 to 1"),
        std::pair(std::vector<std::string>{"rate", "40gbit", "start", "3", "1gbit"},
                  "start: there are 2 flows")}) {
    const auto question = parse_question(words);
    ASSERT_FALSE(question.ok()) << message;
    EXPECT_EQ(question.error().message, message);
    EXPECT_FALSE(question.error().hint.empty());
  }
}

} // namespace
} // namespace xr::congestion::theory_test
