// SPDX-License-Identifier: Apache-2.0
// Each congestion control on the simulated network: shares, queues against the theory, determinism.
#include <cmath>

#include "congestion/steady_state.h"
#include "simulate_scenarios.h"

namespace xr::simulate::simulate_controls_test {
namespace {

constexpr uint64_t kLine = 100 * kGbit;

Scenario controlled(unsigned senders, const std::string &control, uint64_t duration = 20 * kMs,
                    const std::string &queue = "buffer 16M red 300k 301k 100%") {
  Scenario scenario = star(senders, kLine, duration, queue);
  scenario.reliability.window = 65536;
  add_senders(scenario, "write size 1G pmtu 1024 cc " + control, true);
  return scenario;
}

struct Outcome {
  double least = 0, most = 0, queue = 0, utilisation = 0;
  uint64_t drops = 0;
};
Outcome outcome(const Scenario &scenario) {
  const ExperimentMeasurement all = run(scenario);
  Outcome out{1e300, 0, 0, 0, 0};
  for (const ExperimentFlow &flow : all.flows) {
    out.least = std::min(out.least, flow.wire_bps);
    out.most = std::max(out.most, flow.wire_bps);
    out.drops += flow.drops;
  }
  const ExperimentQueue &queue = queue_of(all, "switch:receiver");
  out.queue = queue.backlog_bytes.mean();
  out.utilisation = queue.utilisation;
  return out;
}

TEST(SimulateControls, FairSharesWithoutLoss) {
  for (const char *control : {"dctcp", "swift", "copa", "timely-patched start-rate=25%"}) {
    const Outcome out = outcome(controlled(4, control, 40 * kMs));
    EXPECT_GT(out.least, .8 * kLine / 4) << control;
    EXPECT_LT(out.most, 1.2 * kLine / 4) << control;
    EXPECT_GT(out.utilisation, .9) << control;
    EXPECT_EQ(out.drops, 0U) << control;
  }
}

// HPCC keeps the hop at eta and its queue almost empty.
TEST(SimulateControls, HpccIsAtEtaWithoutAQueue) {
  const Outcome out = outcome(controlled(4, "hpcc"));
  EXPECT_NEAR(out.utilisation, .95, .01);
  EXPECT_LT(out.queue, 5'000);
  EXPECT_EQ(out.drops, 0U);
}

// HPCC's step is for the expected number of flows, so that equal flows get equal shares, with large
// packets too.
TEST(SimulateControls, HpccIsFair) {
  for (const char *words : {"write size 1G pmtu 1024 cc hpcc", "write size 1G pmtu 4096 cc hpcc"})
    for (const unsigned senders : {2U, 4U, 8U, 16U}) {
      Scenario scenario = star(senders, kLine, 10 * kMs, "buffer 16M");
      scenario.reliability.window = 65536;
      add_senders(scenario, words, true);
      EXPECT_GE(run(scenario).jain, .95) << words << ", " << senders << " senders";
    }
}

// A flow that is alone for a millisecond sees no queue; one that joins gets its share.
TEST(SimulateControls, AFlowThatJoinsGetsItsShare) {
  for (const char *control : {"copa", "swift", "dctcp", "hpcc"}) {
    Scenario scenario = controlled(2, control, 20 * kMs);
    scenario.flows[1].start_ns = kMs;
    const Outcome out = outcome(scenario);
    EXPECT_GT(out.least, .8 * kLine / 2) << control;
    EXPECT_LT(out.most, 1.2 * kLine / 2) << control;
    EXPECT_GT(out.utilisation, .9) << control;
  }
}

// Each flow of Copa keeps about 1/delta packets in the queue (rate x queueing delay = 1/delta).
TEST(SimulateControls, CopaKeepsPacketsOfEachFlow) {
  const double frame = 1082;
  const Outcome out = outcome(controlled(4, "copa delta=0.25", 40 * kMs));
  EXPECT_GT(out.queue, .5 * 4 * 4 * frame);
  EXPECT_LT(out.queue, 2.5 * 4 * 4 * frame);
}

// Swift's delay is its target: the queue is (target - base RTT) x rate, within the sawtooth.
TEST(SimulateControls, SwiftsQueueIsAtItsTarget) {
  const Outcome out =
      outcome(controlled(4, "swift base-target=20us hop-scale=0us fs-range=0us", 40 * kMs));
  const double base = 4 * 1e3 + 2 * (1082 + 62) * 8 / 100.0, full = (20e3 - base) * kLine / 8e9;
  EXPECT_GT(out.queue, .6 * full);
  EXPECT_LT(out.queue, 1.1 * full);
}

// `cc predict` against runs: shares and utilisation within 3 %; the queue within 10 % (Swift,
// DCTCP), 50 % (Copa, whose window swings by several packets). HPCC has none up to eta + N AI.
TEST(SimulateControls, TheTheoryPredictsRatesAndQueues) {
  struct Row {
    const char *control;
    double queue_within;
  };
  for (const Row &row : {Row{"swift", .1}, Row{"dctcp", .1}, Row{"copa", .5}, Row{"hpcc", 0}})
    for (const unsigned senders : {2U, 4U, 8U}) {
      auto question = congestion::parse_steady_question(
          {row.control, "flows", std::to_string(senders), "rate", "100gbit", "rtt", "4.2us",
           "packet", "1086", "mark", "300k"});
      ASSERT_TRUE(question.ok());
      const congestion::SteadyState said = congestion::steady_state(question.get());
      const Outcome out = outcome(controlled(senders, row.control, 40 * kMs));
      const std::string what = std::string(row.control) + ", " + std::to_string(senders);
      EXPECT_NEAR(out.utilisation / said.utilisation, 1, .03) << what;
      EXPECT_NEAR(out.queue, said.queue_bytes,
                  std::max(4'000., row.queue_within * said.queue_bytes))
          << what;
      const double mean = (out.least + out.most) / 2;
      EXPECT_NEAR(mean / said.share_bits, 1, .06) << what;
    }
}

TEST(SimulateControls, AWindowBoundsWhatIsInFlight) {
  // 50,000 bytes of each of two flows: they fill the pipe of some 4.2 us x 100 Gbit/s and the rest
  // waits in the queue.
  const Outcome out = outcome(controlled(2, "dcqcn preset hpcc window 50000", 5 * kMs));
  EXPECT_GT(out.utilisation, .99);
  EXPECT_LT(out.queue, 2 * 50'000 * 1082 / 1024);
  EXPECT_GT(out.queue, 2 * 50'000 * 1082 / 1024 - 60'000);
  const Outcome bdp = outcome(controlled(1, "dcqcn preset hpcc window bdp", 5 * kMs));
  EXPECT_GT(bdp.utilisation, .9);
  EXPECT_LT(bdp.queue, 3'000);
}

TEST(SimulateControls, EqualRunsAreEqual) {
  for (const char *control : {"dctcp", "hpcc", "swift", "copa", "timely-patched"}) {
    const Scenario scenario = controlled(3, control, 2 * kMs);
    const Outcome a = outcome(scenario), b = outcome(scenario);
    EXPECT_EQ(a.least, b.least) << control;
    EXPECT_EQ(a.most, b.most) << control;
    EXPECT_EQ(a.queue, b.queue) << control;
  }
}

} // namespace
} // namespace xr::simulate::simulate_controls_test
