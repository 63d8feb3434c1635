// SPDX-License-Identifier: Apache-2.0
// PFC between switches and hosts: nothing is dropped, and exactly the class is paused.
#include "simulate_scenarios.h"

namespace xr::simulate::simulate_pfc_test {
namespace {

constexpr const char *kLossless =
    "buffer 500k pfc xoff 60k xon 50k headroom 30k priorities 3 map 24-31:3";

TEST(SimulatePfc, NothingIsDropped) {
  Scenario scenario = star(4, 40 * kGbit, 4 * kMs, kLossless);
  add_senders(scenario, "write size 1G pmtu 1024 dscp 26");
  const auto simulation = make(scenario);
  simulation->run_until(scenario.duration_ns);
  const ExperimentMeasurement all = simulation->measure();
  EXPECT_EQ(simulation->totals().dropped, 0U);
  EXPECT_GT(simulation->totals().pauses, 10U);
  const ExperimentQueue &queue = queue_of(all, "switch:receiver");
  EXPECT_NEAR(queue.utilisation, 1, 1e-3);
  EXPECT_LE(queue.backlog_bytes.max(), 4U * (60'000 + 30'000));
  for (unsigned i = 1; i <= 4; i++) {
    const ExperimentQueue &port = queue_of(all, "sender-" + std::to_string(i) + ":switch");
    EXPECT_GT(port.pauses, 0U);
    EXPECT_NEAR(static_cast<double>(port.paused_ns), 1.5e6, 0.2e6); // 3/4 of 2 ms
  }
  EXPECT_GT(all.jain.value(), 0.99);

  scenario.queue.pfc = {}; // the same without PFC
  const auto lossy = make(scenario);
  lossy->run_until(scenario.duration_ns);
  EXPECT_GT(lossy->totals().dropped, 1000U);
  EXPECT_EQ(lossy->totals().pauses, 0U);
}

// sender-1 fills a lossless class together with three others; its second flow goes elsewhere.
double other_flow(const std::string &dscp) {
  Scenario scenario = star(5, 40 * kGbit, 4 * kMs, kLossless);
  for (unsigned i = 1; i <= 4; i++)
    add_flow(scenario, "sender-" + std::to_string(i), "receiver",
             "write size 1G pmtu 1024 dscp 26");
  add_flow(scenario, "sender-1", "sender-5", "write size 1G pmtu 1024 rate 20gbit l2 dscp " + dscp);
  const auto simulation = make(scenario);
  simulation->run_until(scenario.duration_ns);
  EXPECT_EQ(simulation->totals().dropped, 0U);
  EXPECT_GT(simulation->totals().pauses, 10U);
  return simulation->measure().flows[4].wire_bps;
}

TEST(SimulatePfc, PausesExactlyTheClass) {
  EXPECT_NEAR(other_flow("0"), 20e9, 0.3e9);
  EXPECT_LT(other_flow("26"), 12e9); // it is held with the other: a victim
}

// Eight priorities for 2 of 10 ms: 2 ms, not 16.
TEST(SimulatePfc, TimePausedIsOfAllPrioritiesTogether) {
  Scenario scenario = star(1, 10 * kGbit, 10 * kMs, "buffer 10M");
  scenario.measure_from_ns = 0;
  scenario.sample_ns = kMs;
  add_flow(scenario, "sender-1", "receiver", "write size 1G pmtu 1024");
  scenario.schedule = {{.at_ns = 5 * kMs,
                        .kind = Event::Kind::Pause,
                        .target = "bottleneck",
                        .duration_ns = 2 * kMs,
                        .priorities = 0xff}};
  const auto simulation = make(scenario);
  simulation->run_until(scenario.duration_ns);
  const auto paused =
      static_cast<double>(queue_of(simulation->measure(), "switch:receiver").paused_ns);
  EXPECT_NEAR(paused, 2e6, 1e3);
  double sum = 0;
  for (const ExperimentSample &sample : simulation->take_samples())
    if (sample.column == std::string("paused_ns")) {
      EXPECT_LE(sample.value, kMs);
      sum += sample.value;
    }
  EXPECT_EQ(sum, paused);
}

// The pause spreads from the last switch to the first, and from there to the hosts.
TEST(SimulatePfc, SpreadsFromSwitchToSwitch) {
  Scenario scenario;
  scenario.topology = {
      .kind = Topology::Kind::Dumbbell, .senders = 4, .rate = 10 * kGbit, .core_rate = 40 * kGbit};
  scenario.duration_ns = 6 * kMs;
  scenario.measure_from_ns = 3 * kMs;
  scenario.queue = queue_words(kLossless);
  for (unsigned i = 1; i <= 4; i++)
    add_flow(scenario, "sender-" + std::to_string(i), "receiver-1",
             "write size 1G pmtu 1024 dscp 26");
  const auto simulation = make(scenario);
  simulation->run_until(scenario.duration_ns);
  const ExperimentMeasurement all = simulation->measure();
  EXPECT_EQ(simulation->totals().dropped, 0U);
  EXPECT_GT(queue_of(all, "left:right").paused_ns, kMs);
  for (unsigned i = 1; i <= 4; i++)
    EXPECT_GT(queue_of(all, "sender-" + std::to_string(i) + ":left").paused_ns, kMs);
  EXPECT_NEAR(queue_of(all, "right:receiver-1").utilisation, 1, 1e-3);
}

} // namespace
} // namespace xr::simulate::simulate_pfc_test
