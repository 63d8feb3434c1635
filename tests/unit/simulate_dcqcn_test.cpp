// SPDX-License-Identifier: Apache-2.0
// Congestion control in the simulator against runs of others: N senders into one receiver, 40
// Gbit/s links of 1 us, the same start, RED of 5 KB, 200 KB and 1 %. Means of the last 100 of 200
// ms, in KB: bobzhuyb/ns3-rdma (e8a27d0), alibaba-edu/HPCC (9f4be2a, CC_MODE 1) and a packet-level
// simulator written from SIGCOMM'15. Their frames are of 1,044 bytes; these of 1,042 bytes without
// FCS.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "simulate_scenarios.h"

namespace xr::simulate::simulate_dcqcn_test {
namespace {

using congestion::NpMode;

constexpr uint64_t kLine = 40 * kGbit;
constexpr const char *kP40 =
    " g=0.00390625 alpha-timer=55us rate-timer=55us threshold=5 rai=40mbit "
    "rhai=200mbit min-rate=100mbit clamp=on";

Scenario p40(unsigned senders, const std::string &preset, NpMode np, const std::string &more) {
  Scenario scenario = star(senders, kLine, 200 * kMs, "buffer 12M red 5k 200k 1%");
  scenario.cnp = {.interval_ns = 50 * kUs, .mode = np};
  add_senders(scenario, "write size 1G pmtu 1024 cc dcqcn preset " + preset + kP40 + more);
  for (FlowSetup &flow : scenario.flows)
    flow.flow.pmtu = 984;
  return scenario;
}

struct Outcome {
  double queue_kb = 0, cnps = 0, worst_share = 0; // a second; largest distance from C/N
};

// The last 100 ms.
Outcome outcome(const Scenario &scenario) {
  const auto simulation = make(scenario);
  const auto cnps = [&] {
    double sum = 0;
    for (const ExperimentFlow &flow : simulation->measure().flows)
      sum += static_cast<double>(flow.cuts);
    return sum;
  };
  simulation->run_until(100 * kMs);
  Outcome out;
  const double before = cnps();
  simulation->run_until(200 * kMs);
  out.cnps = (cnps() - before) * 10;
  const ExperimentMeasurement all = simulation->measure();
  out.queue_kb = queue_of(all, "switch:receiver").backlog_bytes.mean() / 1000;
  const double share = static_cast<double>(kLine) / static_cast<double>(scenario.flows.size());
  for (const ExperimentFlow &flow : all.flows)
    out.worst_share = std::max(out.worst_share, std::abs(flow.wire_bps / share - 1));
  return out;
}

TEST(SimulateDcqcn, P40PaperOf2Flows) {
  const Outcome out = outcome(p40(2, "paper", NpMode::Window, " byte-counter=10M"));
  EXPECT_NEAR(out.queue_kb, 18.4, 0.15 * 18.4);
  EXPECT_NEAR(out.cnps, 3544, 0.1 * 3544);
  EXPECT_LT(out.worst_share, 0.05);
}

TEST(SimulateDcqcn, P40Ns3RdmaOf2Flows) {
  const Outcome out = outcome(p40(2, "ns3-rdma", NpMode::Grid, " byte-counter=10M"));
  EXPECT_NEAR(out.queue_kb, 18.8, 0.15 * 18.8);
  EXPECT_NEAR(out.cnps, 3463, 0.1 * 3463);
}

TEST(SimulateDcqcn, P40HpccOf2Flows) {
  const Outcome out = outcome(p40(2, "hpcc", NpMode::Echo, " monitor-period=50us"));
  EXPECT_NEAR(out.queue_kb, 29.7, 0.15 * 29.7);
  EXPECT_NEAR(out.cnps, 5383, 0.1 * 5383); // cuts
  EXPECT_LT(out.worst_share, 0.05);
}

// With 8 flows the two readings of the NP differ.
TEST(SimulateDcqcn, P40Of8FlowsByWindowAndHoldOff) {
  const Outcome window = outcome(p40(8, "paper", NpMode::Window, " byte-counter=10M"));
  const Outcome hold = outcome(p40(8, "paper", NpMode::HoldOff, " byte-counter=10M"));
  EXPECT_NEAR(window.queue_kb, 84.5, 0.15 * 84.5);
  EXPECT_NEAR(hold.queue_kb, 125, 0.15 * 125);
}

TEST(SimulateDcqcn, TheThirdFlowGetsItsShareWithin100Ms) {
  Scenario scenario = p40(3, "paper", NpMode::Window, " byte-counter=10M");
  scenario.flows[2].start_ns = 100 * kMs;
  scenario.sample_ns = 10 * kMs;
  const auto simulation = make(scenario);
  simulation->run_until(scenario.duration_ns);
  std::map<uint64_t, unsigned> fair; // by time: flows within 10 % of a third
  for (const ExperimentSample &sample : simulation->take_samples())
    if (sample.column == std::string("wire_bps") && sample.t_ns > 100 * kMs)
      fair[sample.t_ns] += std::abs(sample.value / (40e9 / 3) - 1) < 0.1;
  ASSERT_EQ(fair.size(), 10U);
  EXPECT_TRUE(std::any_of(fair.begin(), fair.end(), [](const auto &at) { return at.second == 3; }));
}

// Samples have the CNPs of each flow, as its row does, and each ACK's round trip is counted.
TEST(SimulateDcqcn, SamplesHaveCnps) {
  Scenario scenario = star(2, 10 * kGbit, 20 * kMs, "buffer 12M red 5k 200k 10%");
  scenario.measure_from_ns = 0;
  scenario.sample_ns = kMs;
  add_flow(scenario, "sender-1", "receiver", "write size 1M pmtu 1024 cc dcqcn", true);
  add_flow(scenario, "sender-2", "receiver", "write size 1M pmtu 1024 cc dcqcn", true);
  const auto simulation = make(scenario);
  simulation->run_until(scenario.duration_ns);
  const ExperimentMeasurement all = simulation->measure();
  std::array<double, 2> cnps{};
  for (const ExperimentSample &sample : simulation->take_samples())
    if (sample.column == std::string("cnps"))
      cnps.at(sample.row) += sample.value;
  for (size_t i = 0; i < 2; i++) {
    EXPECT_GT(cnps[i], 10);
    EXPECT_EQ(cnps[i], static_cast<double>(all.flows[i].cnps));
    uint64_t acks = 0;
    for (const ExperimentFlow::Rtt &one : all.flows[i].rtt) {
      EXPECT_GE(one.ns, 4 * scenario.topology.delay);
      acks += one.count;
    }
    EXPECT_GT(acks, 10U);
    EXPECT_LE(acks, all.flows[i].acks);
  }
}

// Ratio of two flows' rates at 10 Gbit/s that begin with 7 and 3.
double seven_to_three(const std::string &first, const std::string &second) {
  Scenario scenario = star(2, 10 * kGbit, 300 * kMs, "buffer 12M red 5k 200k 1%");
  scenario.topology.delay = 4 * kUs;
  scenario.measure_from_ns = 250 * kMs;
  scenario.reliability.window = 4096;
  add_flow(scenario, "sender-1", "receiver", "write size 1M pmtu 1024 ack-every 16 " + first, true);
  add_flow(scenario, "sender-2", "receiver", "write size 1M pmtu 1024 ack-every 16 " + second,
           true);
  const ExperimentMeasurement all = run(scenario);
  EXPECT_GT(all.flows[0].wire_bps + all.flows[1].wire_bps, 8.5e9);
  return all.flows[0].wire_bps / all.flows[1].wire_bps;
}

TEST(SimulateDcqcn, TimelyStaysUnfairWhereDcqcnBecomesFair) {
  EXPECT_GT(seven_to_three("cc timely start-rate=7gbit", "cc timely start-rate=3gbit"), 1.5);
  EXPECT_NEAR(seven_to_three("cc dcqcn preset paper first-cnp=7gbit",
                             "cc dcqcn preset paper first-cnp=3gbit"),
              1, 0.15);
}

} // namespace
} // namespace xr::simulate::simulate_dcqcn_test
