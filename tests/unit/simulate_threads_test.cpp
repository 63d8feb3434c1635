// SPDX-License-Identifier: Apache-2.0
// Networks in parts: the same result for every number of threads, for every step in which they are
// run, and however often they are asked; no frame is lost without being counted; and beside the
// same network in one part.
#include <algorithm>
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "sanitized.h"
#include "simulate/topology.h"
#include "simulate_scenarios.h"

namespace xr::simulate::simulate_threads_test {
namespace {

using Kind = Topology::Kind;
using EventKind = Event::Kind;

// All that a run says.
std::string text_of(Simulation &simulation) {
  const ExperimentMeasurement all = simulation.measure();
  const FrameTotals &totals = simulation.totals();
  std::string text = fmt::format(
      "now {} sent {} made {} received {} dropped {} in flight {} pauses {} hops {} jain {}\n",
      simulation.now(), totals.sent, totals.made, totals.received, totals.dropped, totals.in_flight,
      totals.pauses, totals.hops, all.jain.value_or(0));
  for (const ExperimentFlow &f : all.flows)
    text += fmt::format("{}: {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}\n", f.name,
                        f.whole.bytes, f.whole.packets, f.whole.marked, f.whole.cnps, f.whole.cuts,
                        f.whole.retransmitted, f.whole.timeouts, f.whole.drops, f.whole.naks,
                        f.whole.failed, f.whole.arrived, f.whole.messages, f.whole.acks,
                        f.goodput_bps, f.wire_bps, f.start_ns, f.end_ns.value_or(0), f.ran_to_ns);
  for (const ExperimentQueue &q : all.queues)
    text += fmt::format("{}: {} {} {} {} {} {} {} {} {}\n", q.name, q.packets, q.marked, q.dropped,
                        q.pauses, q.paused_ns, q.utilisation, q.backlog_bytes.mean(),
                        q.backlog_bytes.quantile(0.99), q.backlog_bytes.max());
  for (const ExperimentSample &s : simulation.take_samples())
    text +=
        fmt::format("{} {} {} {} {}\n", s.t_ns, static_cast<int>(s.kind), s.row, s.column, s.value);
  return text;
}

std::string run_in(Scenario scenario, unsigned threads, uint64_t steps = 1, bool ask = false) {
  scenario.threads = threads;
  const auto simulation = make(scenario);
  for (uint64_t step = 1; step <= steps && !simulation->done(); step++) {
    simulation->run_until(scenario.duration_ns / steps * step);
    const FrameTotals &totals = simulation->totals();
    EXPECT_EQ(totals.sent + totals.made, totals.received + totals.dropped + totals.in_flight);
    if (ask)
      (void)simulation->measure();
  }
  simulation->run_until(scenario.duration_ns);
  return text_of(*simulation);
}

Topology random_topology(std::mt19937_64 &random) {
  Topology topology;
  topology.rate = (random() % 4 ? 10 : 25) * kGbit;
  topology.delay = 500 + random() % 1000;
  topology.core_delay = 300 + random() % 3000;
  topology.layer1 = random() % 2;
  switch (random() % 5) {
  case 0:
    topology.kind = Kind::Dumbbell;
    topology.senders = 2 + random() % 6;
    break;
  case 1:
    topology.kind = Kind::ParkingLot;
    topology.hops = 2 + random() % 3;
    break;
  case 2:
    topology.kind = Kind::FatTree;
    topology.k = 4;
    break;
  default:
    topology.kind = Kind::LeafSpine;
    topology.leaves = 2 + random() % 4;
    topology.spines = 1 + random() % 3;
    topology.hosts = 1 + random() % 5;
  }
  return topology;
}

Scenario random_scenario(uint64_t seed) {
  std::mt19937_64 random(seed);
  Scenario scenario;
  scenario.divide_from = 2;
  scenario.seed = seed;
  scenario.duration_ns = 300 * kUs;
  scenario.measure_from_ns = random() % 2 ? 50 * kUs : 0;
  scenario.sample_ns = random() % 2 ? 37 * kUs : 0;
  scenario.until_done = random() % 4 == 0;
  scenario.topology = random_topology(random);
  static const char *const kQueues[] = {
      "buffer 200k", "buffer 60k", "buffer 300k red 20k 80k 20% ce only",
      "buffer 300k pfc xoff 40k xon 20k headroom 60k priorities 0,3"};
  scenario.queue = queue_words(kQueues[random() % std::size(kQueues)]);
  scenario.routing.kind = static_cast<Routing::Kind>(random() % 4);
  scenario.routing.gap_ns = 20 * kUs;
  scenario.routing.reroute_ns = random() % (30 * kUs);
  scenario.reorder = random() % 3 == 0;
  scenario.reliability.selective = random() % 2;
  scenario.reliability.timeout_code = 3;
  const auto senders = sender_names(scenario.topology), hosts = host_names(scenario.topology);
  static const char *const kWords[] = {"write size 40k messages 3", "send size 9k messages 8",
                                       "write size 1k messages 100", "write size 30k"};
  static const char *const kControls[] = {"dcqcn", "hpcc", "timely", "dctcp", "swift"};
  const size_t flows = 4 + random() % 20;
  for (size_t i = 0; i < flows; i++) {
    const std::string &src = senders[random() % senders.size()];
    const std::string &dst = hosts[random() % hosts.size()];
    if (src == dst)
      continue;
    const bool reliable = random() % 4;
    std::string words = kWords[random() % std::size(kWords)];
    if (reliable && random() % 3)
      words += std::string(" cc ") + kControls[random() % std::size(kControls)];
    FlowSetup &flow = add_flow(scenario, src, dst, words, reliable);
    flow.start_ns = random() % (60 * kUs);
    if (random() % 6 == 0)
      flow.stop_ns = flow.start_ns + random() % (100 * kUs);
  }
  const auto queues = queue_names(scenario.topology);
  for (unsigned i = random() % 4; i > 0; i--) {
    static constexpr EventKind kKinds[] = {EventKind::Flap, EventKind::Pause, EventKind::Down,
                                           EventKind::Up};
    Event event;
    event.at_ns = 20 * kUs + random() % (200 * kUs);
    event.kind = kKinds[random() % std::size(kKinds)];
    event.target = queues[random() % queues.size()];
    event.duration_ns = 1 + random() % (40 * kUs);
    event.priorities = 1;
    scenario.schedule.push_back(event);
  }
  return scenario;
}

TEST(SimulateThreads, EveryNumberGivesTheSameBytes) {
  const uint64_t all = kSanitized ? 20 : 200;
  size_t divided = 0;
  for (uint64_t seed = 1; seed <= all; seed++) {
    const Scenario scenario = random_scenario(seed);
    divided += make(scenario)->whole().empty();
    const std::string one = run_in(scenario, 1);
    for (const unsigned threads : {2U, 3U, 7U})
      ASSERT_EQ(run_in(scenario, threads), one) << "seed " << seed << ", " << threads << " threads";
  }
  EXPECT_GT(divided, all / 2);
}

TEST(SimulateThreads, StepsAndQuestionsChangeNothing) {
  for (uint64_t seed = 1; seed <= (kSanitized ? 10 : 60); seed++) {
    Scenario scenario = random_scenario(seed);
    const std::string one = run_in(scenario, 1);
    ASSERT_EQ(run_in(scenario, 2, 97, true), one) << seed;
    scenario.divide_from = 1000;
    ASSERT_EQ(run_in(scenario, 1, 97, true), run_in(scenario, 1)) << seed << ", whole";
  }
}

// Where no two frames meet, the order of what happens at one ns cannot matter.
TEST(SimulateThreads, WithoutMeetingsPartsAreAsTheWhole) {
  for (const Kind kind : {Kind::LeafSpine, Kind::FatTree}) {
    Scenario scenario;
    scenario.topology.kind = kind;
    scenario.topology.rate = 10 * kGbit;
    scenario.topology.core_rate = 40 * kGbit;
    scenario.duration_ns = kMs;
    scenario.queue = queue_words("buffer 1M red 100k 200k 20% ce only");
    const auto hosts = host_names(scenario.topology);
    add_flow(scenario, hosts.front(), hosts.back(), "write size 100k messages 3", true);
    add_flow(scenario, hosts[1], hosts[hosts.size() / 2], "write size 100k messages 3", false)
        .start_ns = 200 * kUs;
    Scenario parts = scenario;
    parts.divide_from = 2;
    EXPECT_TRUE(make(parts)->whole().empty());
    EXPECT_EQ(run_in(parts, 2), run_in(scenario, 1));
  }
}

// Beside the whole, what many frames do together is about the same.
TEST(SimulateThreads, APermutationInPartsIsAboutAsTheWhole) {
  Scenario scenario;
  scenario.topology.kind = Kind::FatTree;
  scenario.topology.k = 4;
  scenario.topology.rate = 100 * kGbit;
  scenario.duration_ns = 2 * kMs;
  scenario.queue = queue_words("buffer 16M red 400k 1600k 20% ce only");
  const auto hosts = host_names(scenario.topology);
  for (size_t i = 0; i < hosts.size(); i++) {
    FlowSetup &flow = add_flow(scenario, hosts[i], hosts[(i * 7 + 3) % hosts.size()],
                               "write size 1M messages 2 pmtu 4096", true);
    flow.flow.control.kind = congestion::Control::Kind::Dcqcn;
    if (flow.src == flow.dst)
      scenario.flows.pop_back();
  }
  Scenario parts = scenario;
  parts.divide_from = 2;
  const ExperimentMeasurement a = run(scenario), b = run(parts);
  double all_a = 0, all_b = 0;
  for (size_t i = 0; i < a.flows.size(); i++) {
    ASSERT_TRUE(a.flows[i].fct_ns && b.flows[i].fct_ns);
    EXPECT_EQ(a.flows[i].whole.bytes, b.flows[i].whole.bytes);
    all_a += static_cast<double>(*a.flows[i].fct_ns);
    all_b += static_cast<double>(*b.flows[i].fct_ns);
  }
  EXPECT_NEAR(all_b / all_a, 1, 0.05);
}

TEST(SimulateThreads, WhatCannotBeDividedSaysWhy) {
  Scenario scenario = star(4, 10 * kGbit, kMs, "buffer 100k");
  add_senders(scenario, "write size 4k");
  EXPECT_EQ(make(scenario)->whole(), "it has fewer than 65 hosts");
  scenario.divide_from = 2;
  EXPECT_EQ(make(scenario)->whole(), "all its nodes are at one switch");
  scenario.topology.kind = Kind::Dumbbell;
  for (FlowSetup &flow : scenario.flows)
    flow.dst = "receiver-1";
  EXPECT_EQ(make(scenario)->whole(), "");
  scenario.captures.push_back({});
  scenario.capture_directory = testing::TempDir();
  EXPECT_EQ(make(scenario)->whole(),
            "rules and captures see the packets of all links in one order");
}

} // namespace
} // namespace xr::simulate::simulate_threads_test
