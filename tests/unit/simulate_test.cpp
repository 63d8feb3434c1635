// SPDX-License-Identifier: Apache-2.0
// The simulator against arithmetic: what goes in comes out, rates, queues, paths, losses.
#include <cmath>
#include <cstring>
#include <set>

#include "simulate/topology.h"
#include "simulate_scenarios.h"

namespace xr::simulate::simulate_test {
namespace {

uint64_t hash_of(Simulation &simulation) {
  uint64_t hash = 14695981039346656037ULL;
  const auto add = [&hash](double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    hash = (hash ^ bits) * 1099511628211ULL;
  };
  for (const ExperimentSample &sample : simulation.take_samples()) {
    add(static_cast<double>(sample.t_ns));
    add(sample.value);
  }
  const ExperimentMeasurement all = simulation.measure();
  for (const ExperimentFlow &flow : all.flows)
    for (const uint64_t value : {flow.bytes, flow.packets, flow.marked, flow.cnps, flow.cuts})
      add(static_cast<double>(value));
  for (const ExperimentQueue &queue : all.queues) {
    add(queue.backlog_bytes.mean());
    add(queue.utilisation);
  }
  add(static_cast<double>(all.packet_hops));
  return hash;
}

// 4 unpaced senders into a small queue: most frames are dropped.
Scenario lossy() {
  Scenario scenario = star(4, 10 * kGbit, 5 * kMs, "buffer 30k red 5k 20k 10%");
  add_senders(scenario, "write size 64k pmtu 1024 messages 30");
  return scenario;
}

TEST(Simulate, SentIsReceivedDroppedOrInFlight) {
  const auto simulation = make(lossy());
  for (uint64_t at = 0; !simulation->done(); at += 100 * kUs) {
    simulation->run_until(at);
    const FrameTotals &totals = simulation->totals();
    ASSERT_EQ(totals.sent, totals.received + totals.dropped + totals.in_flight) << at;
    ASSERT_LT(totals.in_flight, 200U); // 30 KB in the queue, the rest propagates
  }
  const FrameTotals &totals = simulation->totals();
  EXPECT_EQ(totals.in_flight, 0U); // the flows are over
  EXPECT_GT(totals.dropped, 4000U);
  const ExperimentMeasurement all = simulation->measure();
  uint64_t drops = 0;
  for (const ExperimentFlow &flow : all.flows)
    drops += flow.whole.drops;
  EXPECT_EQ(drops, totals.dropped);
}

TEST(Simulate, OneSeedOneResult) {
  Scenario scenario = star(3, 10 * kGbit, 4 * kMs, "buffer 1M red 5k 50k 10%");
  scenario.sample_ns = 100 * kUs;
  add_senders(scenario, "write size 1M pmtu 1024 cc dcqcn preset paper", true);
  const auto of = [&](uint64_t seed, uint64_t step) {
    scenario.seed = seed;
    const auto simulation = make(scenario);
    for (uint64_t at = 0; !simulation->done(); at += step)
      simulation->run_until(at);
    return hash_of(*simulation);
  };
  const uint64_t first = of(1, kMs);
  EXPECT_EQ(of(1, kMs), first);
  EXPECT_EQ(of(1, 7 * kUs), first); // in other steps
  EXPECT_NE(of(2, kMs), first);
}

// Queues and sums are sampled as before; a flow's samples are of all the time between them.
TEST(Simulate, FlowsCanBeSampledLessOften) {
  Scenario scenario = star(3, 10 * kGbit, 4 * kMs, "buffer 1M");
  scenario.sample_ns = 100 * kUs;
  add_senders(scenario, "write size 1M pmtu 1024");
  using Kind = ExperimentSample::Kind;
  const auto of = [&](uint64_t every) {
    scenario.flow_sample_every = every;
    const auto simulation = make(scenario);
    simulation->run_until(scenario.duration_ns);
    return simulation->take_samples();
  };
  std::vector<std::pair<uint64_t, double>> others[2];
  double bytes[2] = {};
  size_t flows[2] = {};
  for (size_t i = 0; i < 2; i++)
    for (const ExperimentSample &sample : of(i ? 10 : 1)) {
      if (sample.kind != Kind::Flow)
        others[i].emplace_back(sample.t_ns, sample.value);
      else if (std::string_view(sample.column) == "goodput_bps")
        flows[i]++, bytes[i] += sample.value * (i ? 10 : 1);
    }
  EXPECT_EQ(others[0], others[1]);
  EXPECT_EQ(flows[0], 10 * flows[1]);
  EXPECT_NEAR(bytes[0], bytes[1], bytes[0] * 1e-9);
}

TEST(Simulate, ALoneFlowHasTheLineButItsHeaders) {
  for (const bool layer1 : {false, true}) {
    Scenario scenario = star(1, 40 * kGbit, 2 * kMs, "buffer 1M");
    scenario.topology.layer1 = layer1;
    // MIDDLE packets almost alone: 14 + 20 + 8 + 12 + 1024 + 4 bytes
    add_flow(scenario, "sender-1", "receiver", "write size 1G pmtu 1024");
    const ExperimentMeasurement all = run(scenario);
    const double frame = 1082 + (layer1 ? 24 : 0), packets = 40e9 / 8 * 1e-3 / frame;
    EXPECT_NEAR(static_cast<double>(all.flows[0].packets), packets, 1) << layer1;
    EXPECT_NEAR(static_cast<double>(all.flows[0].bytes), packets * 1024, 1024) << layer1;
    EXPECT_NEAR(all.flows[0].wire_bps, 40e9, frame * 8 / 1e-3) << layer1;
    EXPECT_LE(all.flows[0].wire_bps, 40e9) << layer1;
    EXPECT_NEAR(all.flows[0].goodput_bps, packets * 1024 * 8 / 1e-3, 1024 * 8 / 1e-3) << layer1;
    EXPECT_NEAR(queue_of(all, "switch:receiver").utilisation, 1, 1e-4) << layer1;
  }
}

// ACKs come back in time: the window never stops it.
TEST(Simulate, ALoneReliableFlowHasTheLineToo) {
  Scenario scenario = star(1, 40 * kGbit, 2 * kMs, "buffer 1M");
  add_flow(scenario, "sender-1", "receiver", "write size 1G pmtu 1024", true);
  const ExperimentMeasurement all = run(scenario);
  EXPECT_NEAR(static_cast<double>(all.flows[0].packets), 40e9 / 8 * 1e-3 / 1082, 1);
  EXPECT_EQ(all.flows[0].retransmitted, 0U);
}

TEST(Simulate, ALoneFlowNeedsTheIdealTime) {
  for (const bool reliable : {false, true}) {
    Scenario scenario;
    scenario.topology = {.kind = Topology::Kind::ParkingLot, .hops = 2, .rate = 10 * kGbit};
    scenario.duration_ns = kMs;
    scenario.queue = queue_words("buffer 1M");
    add_flow(scenario, "sender-0", "receiver-0", "write size 10000 pmtu 1024 messages 1", reliable);
    const ExperimentMeasurement all = run(scenario);
    // 4 wires of 1 us; the first frame is the longest, with a RETH: stored on each of 4 wires;
    // after it come 8 frames of 1082 bytes and one of 842
    double ns = (4 * 1098 + 8 * 1082 + 842) * 0.8 + 4000;
    if (reliable)
      ns += 4 * (62 * 0.8 + 1000);
    ASSERT_TRUE(all.flows[0].fct_ns) << reliable;
    EXPECT_NEAR(static_cast<double>(*all.flows[0].fct_ns), ns, 8) << reliable;
    EXPECT_NEAR(all.flows[0].slowdown.value(), 1, 1e-3) << reliable;
  }
}

// 20 Poisson senders, whose links are 10 times as fast as the bottleneck.
TEST(Simulate, MD1QueueFollowsPollaczekAndKhinchine) {
  constexpr double kLoad = 0.8, kFrame = 1098, kService = kFrame * 8 / 10e9;
  Scenario scenario = star(20, 100 * kGbit, 300 * kMs, "buffer 100M");
  scenario.measure_from_ns = 10 * kMs;
  scenario.queues["switch:receiver"] = queue_words("rate 10gbit buffer 100M");
  add_senders(scenario, "write size 1024 pmtu 1024 poisson");
  for (FlowSetup &flow : scenario.flows)
    flow.flow.pacing.rate = {congestion::Rate::Kind::Packets, kLoad / kService / 20, ""};
  const ExperimentMeasurement all = run(scenario);
  const ExperimentQueue &queue = queue_of(all, "switch:receiver");
  EXPECT_NEAR(queue.utilisation, kLoad, 0.01);
  const double waiting = kLoad * kLoad / (2 * (1 - kLoad)); // frames, without the one in service
  EXPECT_NEAR(queue.backlog_bytes.mean() / kFrame, waiting, 0.06 * waiting);
}

TEST(Simulate, EcmpSpreadsFlowsAndKeepsTheirOrder) {
  Scenario scenario;
  scenario.topology = {
      .kind = Topology::Kind::LeafSpine, .leaves = 2, .spines = 4, .hosts = 16, .rate = 10 * kGbit};
  scenario.duration_ns = 20 * kMs;
  scenario.queue = queue_words("buffer 100M");
  constexpr unsigned kFlows = 256, kPackets = 10;
  for (unsigned i = 0; i < kFlows; i++)
    add_flow(scenario, "host-" + std::to_string(1 + i % 16), "host-" + std::to_string(17 + i / 16),
             "write size 10000 pmtu 1024 messages 1", true);
  const ExperimentMeasurement all = run(scenario);
  uint64_t sum = 0;
  for (unsigned spine = 1; spine <= 4; spine++) {
    const uint64_t packets = queue_of(all, "leaf-1:spine-" + std::to_string(spine)).packets;
    EXPECT_EQ(packets % kPackets, 0U); // whole flows
    // binomial(256, 1/4): 64, standard deviation 6.9
    EXPECT_NEAR(static_cast<double>(packets) / kPackets, 64, 4 * 6.9) << spine;
    sum += packets;
  }
  EXPECT_EQ(sum, kFlows * kPackets);
  for (const ExperimentFlow &flow : all.flows) {
    EXPECT_EQ(flow.retransmitted, 0U) << flow.name;
    EXPECT_TRUE(flow.end_ns) << flow.name;
  }
}

// The NAK for a lost packet is sent when the next one arrives; until it is back the sender
// continues, and all of that is sent again.
TEST(Simulate, GoBackNCostsARoundTrip) {
  const auto with = [](const std::string &fault) {
    Scenario scenario = star(1, 10 * kGbit, 10 * kMs, "buffer 10M");
    scenario.topology.delay = 5 * kUs;
    scenario.measure_from_ns = 0;
    scenario.reliability.window = 10'000;
    add_flow(scenario, "sender-1", "receiver", "write size 1024000 pmtu 1024 messages 1" + fault,
             true);
    return run(scenario).flows[0];
  };
  const ExperimentFlow clean = with(""), lossy = with(" fault skip at 500");
  // 2 wires there and back of 5 us, a frame of 1082 bytes and a NAK of 62, both stored once
  constexpr double kFrame = 1082 * 0.8, kRtt = 4 * 5000 + 2 * kFrame + 2 * 62 * 0.8;
  const double wasted = std::floor(kRtt / kFrame) + 1;
  EXPECT_EQ(clean.retransmitted, 0U);
  EXPECT_EQ(static_cast<double>(lossy.retransmitted), wasted + 1); // and the lost one
  EXPECT_NEAR(static_cast<double>(*lossy.fct_ns - *clean.fct_ns), wasted * kFrame, 3);
  EXPECT_EQ(lossy.bytes, clean.bytes);
  EXPECT_EQ(lossy.bytes, 1'024'000U);
}

TEST(Simulate, FlowsStartAndStop) {
  Scenario scenario = star(2, 10 * kGbit, 10 * kMs, "buffer 10M");
  scenario.measure_from_ns = 0;
  scenario.sample_ns = kMs;
  FlowSetup &first = add_flow(scenario, "sender-1", "receiver", "write size 1G pmtu 1024");
  first.start_ns = 2 * kMs;
  first.stop_ns = 5 * kMs;
  FlowSetup &second = add_flow(scenario, "sender-2", "receiver", "write size 1G pmtu 1024");
  second.name = "late";
  second.started = false;
  scenario.schedule = {{.at_ns = 6 * kMs, .kind = Event::Kind::Start, .target = "late"},
                       {.at_ns = 8 * kMs, .kind = Event::Kind::Stop, .target = "late"}};
  const auto simulation = make(scenario);
  simulation->run_until(scenario.duration_ns);
  const ExperimentMeasurement all = simulation->measure();
  EXPECT_NEAR(static_cast<double>(all.flows[0].packets), 10e9 / 8 * 3e-3 / 1082, 1);
  EXPECT_NEAR(static_cast<double>(all.flows[1].packets), 10e9 / 8 * 2e-3 / 1082, 1);
  EXPECT_FALSE(all.flows[0].end_ns);
  std::set<std::pair<uint32_t, uint64_t>> busy;
  for (const ExperimentSample &sample : simulation->take_samples())
    if (sample.kind == ExperimentSample::Kind::Flow && sample.value > 5e9 &&
        sample.column == std::string("goodput_bps"))
      busy.insert({sample.row, sample.t_ns / kMs});
  EXPECT_EQ(busy,
            (std::set<std::pair<uint32_t, uint64_t>>{{0, 3}, {0, 4}, {0, 5}, {1, 7}, {1, 8}}));
}

TEST(Simulate, LinksChangeFlapAndPause) {
  Scenario scenario = star(1, 10 * kGbit, 10 * kMs, "buffer 100M");
  scenario.measure_from_ns = 0;
  add_flow(scenario, "sender-1", "receiver", "write size 1G pmtu 1024");
  const auto delivered = [&](const Event &event) {
    scenario.schedule = {event};
    return run(scenario).flows[0].wire_bps * 10e-3 / 8 / 1082; // frames that arrived
  };
  const double all = 10e9 / 8 * 10e-3 / 1082;
  EXPECT_NEAR(delivered({.at_ns = 5 * kMs,
                         .kind = Event::Kind::Link,
                         .target = "bottleneck",
                         .link = queue_words("rate 2gbit buffer 100M")}),
              all * 0.6, 10);
  EXPECT_NEAR(delivered({.at_ns = 5 * kMs,
                         .kind = Event::Kind::Flap,
                         .target = "bottleneck",
                         .duration_ns = 2 * kMs}),
              all * 0.8, 10);
  // class 0 for 4 ms, which needs two PFC frames: what waits does not arrive in time
  EXPECT_NEAR(delivered({.at_ns = 5 * kMs,
                         .kind = Event::Kind::Pause,
                         .target = "bottleneck",
                         .duration_ns = 4 * kMs,
                         .priorities = 1}),
              all * 0.6, 10);
  EXPECT_NEAR(delivered({.at_ns = 5 * kMs,
                         .kind = Event::Kind::Pause,
                         .target = "bottleneck",
                         .duration_ns = 4 * kMs,
                         .priorities = 2}),
              all, 10);
}

// 1500 bytes of IP packets each ms, which packets of 1068 bytes use completely; from 60 ms on one
// opportunity in 2 ms.
TEST(Simulate, ALinkFollowsATrace) {
  Scenario scenario = star(1, 10 * kGbit, 100 * kMs, "buffer 1M");
  scenario.measure_from_ns = 0;
  add_flow(scenario, "sender-1", "receiver", "write size 1G pmtu 1024 rate 20mbit l2");
  scenario.queues["switch:receiver"] = queue_words("trace fast buffer 1M");
  scenario.traces["fast"] = std::make_shared<const wire::DeliveryTrace>(1, kMs);
  scenario.traces["slow"] = std::make_shared<const wire::DeliveryTrace>(1, 2 * kMs);
  const auto packets = [&] { return queue_of(run(scenario), "switch:receiver").packets; };
  EXPECT_NEAR(static_cast<double>(packets()), 100 * 1500 / 1068.0, 2);
  EXPECT_NEAR(queue_of(run(scenario), "switch:receiver").utilisation, 1, 0.02);
  scenario.schedule = {{.at_ns = 60 * kMs,
                        .kind = Event::Kind::Link,
                        .target = "bottleneck",
                        .link = queue_words("trace slow buffer 1M")}};
  EXPECT_NEAR(static_cast<double>(packets()), (60 + 20) * 1500 / 1068.0, 2);
  scenario.schedule = {{.at_ns = 60 * kMs,
                        .kind = Event::Kind::Flap,
                        .target = "bottleneck",
                        .duration_ns = 10 * kMs}}; // drops what is queued; the trace continues
  EXPECT_NEAR(static_cast<double>(packets()), 90 * 1500 / 1068.0, 4);
}

TEST(Simulate, NamesWhatIsWrong) {
  const auto error = [](const auto &change) {
    Scenario scenario = star(2, 10 * kGbit, kMs, "buffer 1M");
    add_flow(scenario, "sender-1", "receiver", "write size 1M");
    change(scenario);
    const auto made = Simulation::make(scenario);
    return made ? "" : made.error().message;
  };
  EXPECT_EQ(error([](Scenario &) {}), "");
  EXPECT_EQ(error([](Scenario &s) { s.topology.rate = 0; }), "the topology's links have no rate");
  EXPECT_EQ(error([](Scenario &s) { s.topology.senders = 300; }),
            "senders is too large for a switch of 256 ports");
  EXPECT_EQ(error([](Scenario &s) { s.flows[0].dst = "sender-9"; }),
            "flow flow-1: there is no host sender-9");
  EXPECT_EQ(error([](Scenario &s) { s.flows[0].dst = "sender-1"; }),
            "flow flow-1: it goes from a host to itself");
  EXPECT_EQ(error([](Scenario &s) { s.queues["left:right"] = {}; }),
            "there is no queue left:right");
  EXPECT_EQ(error([](Scenario &s) { s.queues["switch:receiver"].trace = "f"; }),
            "queue switch:receiver: the trace f is missing");
  EXPECT_EQ(error([](Scenario &s) { s.queues["sender-1:switch"].trace = "f"; }),
            "queue sender-1:switch: the port of a host cannot follow a trace");
  EXPECT_EQ(
      error([](Scenario &s) { s.schedule = {{.kind = Event::Kind::Start, .target = "flow-7"}}; }),
      "schedule: there is no flow flow-7");
  EXPECT_EQ(
      error([](Scenario &s) { s.schedule = {{.kind = Event::Kind::Start, .target = "flow-1"}}; }),
      "schedule: flow flow-1 starts twice");
  EXPECT_EQ(error([](Scenario &s) { s.duration_ns = 0; }), "the scenario has no duration");
}

TEST(Simulate, NamesOfTopologies) {
  Topology topology{.kind = Topology::Kind::Dumbbell, .senders = 2, .rate = 1};
  EXPECT_EQ(queue_names(topology),
            (std::vector<std::string>{"left:right", "right:left", "left:sender-1", "left:sender-2",
                                      "right:receiver-1", "right:receiver-2", "sender-1:left",
                                      "sender-2:left", "receiver-1:right", "receiver-2:right"}));
  EXPECT_EQ(sender_names(topology), (std::vector<std::string>{"sender-1", "sender-2"}));
  EXPECT_EQ(bottleneck(topology), "left:right");
  topology.kind = Topology::Kind::ParkingLot;
  topology.hops = 1;
  EXPECT_EQ(host_names(topology),
            (std::vector<std::string>{"sender-0", "sender-1", "receiver-0", "receiver-1"}));
}

} // namespace
} // namespace xr::simulate::simulate_test
