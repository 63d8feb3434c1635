// SPDX-License-Identifier: Apache-2.0
// Graphs and fat trees: names, paths, refusals; routings and failures; and for each network that no
// frame is lost without being counted, and that one seed gives one result.
#include <functional>

#include <fmt/format.h>

#include "impair/spec.h"
#include "simulate/graph.h"
#include "simulate/topology.h"
#include "simulate_scenarios.h"

namespace xr::simulate::simulate_topology_test {
namespace {

using Kind = Topology::Kind;

Topology graph_of(Graph graph) {
  Topology topology;
  topology.kind = Kind::Graph;
  topology.rate = 10 * kGbit;
  topology.graph = std::move(graph);
  return topology;
}

// Two paths of two hops between s1 and s4; h1 has a link to each of s1 and s2.
Topology diamond() {
  return graph_of({.switches = {"s1", "s2", "s3", "s4"},
                   .links = {{"h1", "s1"},
                             {"h2", "s1"},
                             {"s1", "s2"},
                             {"s1", "s3"},
                             {"s2", "s4"},
                             {"s3", "s4"},
                             {"h3", "s4"},
                             {"h4", "s4"}}});
}

Topology two_links() {
  return graph_of({.switches = {"s1", "s2"},
                   .links = {{"a", "s1"},
                             {"a", "s2"},
                             {"b", "s1"},
                             {"b", "s2"},
                             {"c", "s2", 40 * kGbit, 2 * kUs},
                             {"s1", "s2"},
                             {"s1", "s2", 40 * kGbit, 1 * kUs}}});
}

Topology tree(unsigned k, unsigned oversubscription) {
  Topology topology;
  topology.kind = Kind::FatTree;
  topology.k = k;
  topology.rate = 10 * kGbit;
  topology.oversubscription = oversubscription;
  return topology;
}

// Each host sends `messages` to the next but one, of four sizes.
Scenario busy(const Topology &topology, bool reliable, unsigned messages = 20) {
  Scenario scenario;
  scenario.topology = topology;
  scenario.duration_ns = 2 * kMs;
  scenario.queue = queue_words("buffer 60k");
  const std::vector<std::string> hosts = host_names(topology);
  for (size_t i = 0; i < hosts.size(); i++)
    for (const size_t far : {1, 2})
      add_flow(
          scenario, hosts[i], hosts[(i + far) % hosts.size()],
          fmt::format("write size {} pmtu 1024 messages {}", 1000 * (i % 4 + 1) * 16, messages),
          reliable);
  return scenario;
}

struct Outcome {
  std::string text; // of flows and queues
  FrameTotals totals;
};

Outcome outcome(const Scenario &scenario) {
  const auto simulation = make(scenario);
  simulation->run_until(scenario.duration_ns);
  Outcome out;
  const ExperimentMeasurement all = simulation->measure();
  for (const ExperimentFlow &flow : all.flows)
    out.text += fmt::format("{} {} {} {}\n", flow.whole.packets, flow.whole.bytes, flow.whole.drops,
                            flow.end_ns.value_or(0));
  for (const ExperimentQueue &queue : all.queues)
    out.text += fmt::format("{} {} {}\n", queue.name, queue.packets, queue.dropped);
  out.totals = simulation->totals();
  return out;
}

void expect_sound(const Scenario &scenario) {
  const Outcome first = outcome(scenario), again = outcome(scenario);
  EXPECT_EQ(first.text, again.text);
  const FrameTotals &t = first.totals;
  EXPECT_EQ(t.sent + t.made, t.received + t.dropped + t.in_flight);
  EXPECT_GT(t.received, t.sent / 4);
}

std::string refusal(const Topology &topology) {
  const Status checked = check_topology(topology);
  return checked ? "" : checked.error().message;
}

TEST(SimulateTopology, GraphsNameHostsAndQueues) {
  EXPECT_EQ(host_names(two_links()), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(
      queue_names(two_links()),
      (std::vector<std::string>{"s1:a", "s2:a", "s1:b", "s2:b", "s2:c", "s1:s2", "s2:s1", "s1:s2/2",
                                "s2:s1/2", "a:s1", "a:s2", "b:s1", "b:s2", "c:s2"}));
  Topology ordered = two_links();
  ordered.graph.hosts = {"c", "a"};
  EXPECT_EQ(host_names(ordered), (std::vector<std::string>{"c", "a", "b"}));
  EXPECT_FALSE(bottleneck(ordered));
}

TEST(SimulateTopology, GraphsAreRefusedWithTheirReason) {
  const auto changed = [](const std::function<void(Graph &)> &change) {
    Topology topology = diamond();
    change(topology.graph);
    return refusal(topology);
  };
  EXPECT_EQ(changed([](Graph &) {}), "");
  EXPECT_EQ(changed([](Graph &g) {
              g.links.push_back({"s1", "s1"});
            }),
            "a link joins s1 to itself");
  EXPECT_EQ(changed([](Graph &g) { g.switches.push_back("s1"); }), "s1 is named twice");
  EXPECT_EQ(changed([](Graph &g) { g.hosts = {"s1"}; }), "s1 is named twice");
  EXPECT_EQ(changed([](Graph &g) { g.switches.push_back("s5"); }), "s5 has no link");
  EXPECT_EQ(changed([](Graph &g) {
              g.links.push_back({"a b", "s1"});
            }),
            "'a b' is not a name of a switch or host");
  EXPECT_EQ(changed([](Graph &g) {
              g.links.resize(1);
              g.switches = {"s1"};
            }),
            "the graph has fewer than two hosts");
  EXPECT_EQ(changed([](Graph &g) {
              g.switches.push_back("s5");
              g.links.push_back({"h5", "s5"});
            }),
            "the graph is not connected: there is no path from h1 to h5");
  // h4 has a link to both parts, and forwards nothing
  EXPECT_EQ(changed([](Graph &g) {
              g.switches.push_back("s5");
              g.links.push_back({"h5", "s5"});
              g.links.push_back({"h4", "s5"});
            }),
            "the graph is not connected: there is no path from h1 to h5");
  // a switch within a server, as NVSwitches are in SimAI's topologies: it reaches h1 and h2 alone
  EXPECT_EQ(changed([](Graph &g) {
              g.switches.push_back("nv");
              g.links.push_back({"h1", "nv"});
              g.links.push_back({"h2", "nv"});
            }),
            "");
  Topology slow = diamond();
  slow.rate = 0;
  EXPECT_EQ(refusal(slow), "the link h1-s1 has no rate");
}

TEST(SimulateTopology, FatTreesHaveTheirSize) {
  for (const unsigned k : {2U, 4U, 8U}) {
    const Network network = build_network(tree(k, 0));
    EXPECT_EQ(network.hosts, k * k * k / 4);
    EXPECT_EQ(network.nodes.size() - network.hosts, k * k + k * k / 4);
    EXPECT_EQ(network.wires.size(), 2 * 3 * k * k * k / 4);
  }
  const Network network = build_network(tree(4, 0));
  EXPECT_EQ(network.nodes[0], "host-1");
  EXPECT_EQ(network.nodes[16], "edge-1-1");
  EXPECT_EQ(network.next_hops[16].to(15).size(), 2U); // to the aggregation switches
  EXPECT_EQ(network.next_hops[16].to(0).size(), 1U);
  EXPECT_EQ(refusal(tree(3, 0)), "a fat-tree of k: 3 is not possible");
}

TEST(SimulateTopology, OversubscriptionGivesTheRateOfTheCore) {
  EXPECT_EQ(core_rate(tree(4, 4)), 10 * kGbit / 4);
  Topology leaves;
  leaves.kind = Kind::LeafSpine;
  leaves.rate = 10 * kGbit; // 4 leaves, 2 spines, 8 hosts at each leaf
  EXPECT_EQ(core_rate(leaves), 10 * kGbit);
  leaves.oversubscription = 2;
  EXPECT_EQ(core_rate(leaves), 20 * kGbit);
  leaves.core_rate = kGbit;
  EXPECT_EQ(refusal(leaves), "core-rate and oversubscription are both given");
}

TEST(SimulateTopology, ALinkHasItsRateAndDelay) {
  Scenario scenario;
  scenario.topology = graph_of(
      {.switches = {"s"}, .links = {{"a", "s", 40 * kGbit, 5 * kUs}, {"s", "b", 0, 3 * kUs}}});
  scenario.duration_ns = kMs;
  scenario.queue = queue_words("buffer 1M");
  add_flow(scenario, "a", "b", "write size 1024 pmtu 1024 messages 1");
  const ExperimentMeasurement all = run(scenario);
  // 1098 bytes at 40 and at 10 Gbit/s
  ASSERT_TRUE(all.flows[0].fct_ns);
  EXPECT_NEAR(static_cast<double>(*all.flows[0].fct_ns), 1098 * (0.2 + 0.8) + 8000, 2);
}

TEST(SimulateTopology, AHostUsesBothOfItsLinks) {
  Scenario scenario;
  scenario.topology = two_links();
  scenario.duration_ns = 10 * kMs;
  scenario.queue = queue_words("buffer 10M");
  for (unsigned i = 0; i < 64; i++)
    add_flow(scenario, "a", "b", "write size 64k pmtu 1024", true);
  const ExperimentMeasurement all = run(scenario);
  for (const char *queue : {"s1:b", "s2:b"})
    EXPECT_GT(queue_of(all, queue).utilisation, 0.95) << queue;
  EXPECT_EQ(queue_of(all, "s1:s2").packets, 0U); // no shortest path
}

TEST(SimulateTopology, EveryNetworkKeepsItsFrames) {
  for (const bool reliable : {false, true})
    for (const Topology &topology : {diamond(), two_links(), tree(4, 0), tree(4, 2)}) {
      SCOPED_TRACE(std::string(kind_name(topology.kind)));
      expect_sound(busy(topology, reliable));
    }
}

// The ECMP hash has the scenario's seed.
TEST(SimulateTopology, AnotherSeedChoosesOtherPaths) {
  Scenario scenario = busy(tree(4, 0), true);
  const std::string first = outcome(scenario).text;
  scenario.seed = 2;
  EXPECT_NE(outcome(scenario).text, first);
}

Scenario sprayed(Routing::Kind kind) {
  Scenario scenario = busy(tree(4, 0), true);
  scenario.queue = queue_words("buffer 10M");
  scenario.routing.kind = kind;
  scenario.routing.gap_ns = 5 * kUs;
  return scenario;
}

constexpr Routing::Kind kRoutings[] = {Routing::Kind::Ecmp, Routing::Kind::SprayRandom,
                                       Routing::Kind::SprayRoundRobin, Routing::Kind::Flowlet};

TEST(SimulateRouting, EveryRoutingKeepsItsFrames) {
  for (const Routing::Kind kind : kRoutings)
    for (const bool reorder : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", static_cast<int>(kind), reorder));
      Scenario scenario = sprayed(kind);
      scenario.reorder = reorder;
      expect_sound(scenario);
      const std::string first = outcome(scenario).text;
      scenario.routing.seed = 1;
      EXPECT_EQ(outcome(scenario).text, first); // the scenario's seed
      scenario.routing.seed = 7;
      const bool same = outcome(scenario).text == first;
      EXPECT_EQ(same, kind == Routing::Kind::SprayRoundRobin);
    }
}

// Whole flows collide with ECMP; packets in turn share the paths evenly.
TEST(SimulateRouting, SprayUsesAllPathsOfOneFlow) {
  for (const Routing::Kind kind : {Routing::Kind::SprayRandom, Routing::Kind::SprayRoundRobin}) {
    Scenario scenario;
    scenario.topology = {
        .kind = Kind::LeafSpine, .leaves = 2, .spines = 4, .hosts = 1, .rate = 10 * kGbit};
    scenario.duration_ns = 10 * kMs;
    scenario.queue = queue_words("buffer 10M");
    scenario.routing.kind = kind;
    scenario.reorder = true;
    add_flow(scenario, "host-1", "host-2", "write size 1024000 pmtu 1024 messages 4", true);
    const ExperimentMeasurement all = run(scenario);
    EXPECT_TRUE(all.flows[0].end_ns);
    EXPECT_EQ(all.flows[0].retransmitted, 0U);
    for (unsigned spine = 1; spine <= 4; spine++)
      EXPECT_NEAR(static_cast<double>(queue_of(all, fmt::format("leaf-1:spine-{}", spine)).packets),
                  1000, kind == Routing::Kind::SprayRandom ? 120 : 0);
  }
}

TEST(SimulateRouting, AReceiverThatAcceptsAnyOrderSendsNoNak) {
  Scenario scenario = sprayed(Routing::Kind::SprayRandom);
  const auto naks = [&scenario] {
    uint64_t sum = 0;
    const ExperimentMeasurement all = run(scenario);
    for (const ExperimentFlow &flow : all.flows)
      sum += flow.whole.naks + flow.whole.retransmitted;
    return sum;
  };
  EXPECT_GT(naks(), 100U);
  scenario.reorder = true;
  EXPECT_EQ(naks(), 0U);
}

// One packet is lost: only a timeout brings it.
TEST(SimulateRouting, ATimeoutSendsAgainWhatIsLost) {
  Scenario scenario = star(1, 10 * kGbit, 200 * kMs, "buffer 10M");
  scenario.reliability.timeout_code = 10; // 4.2 ms
  scenario.reorder = true;
  scenario.rules.all.push_back(
      {"lost", "switch:receiver", impair::parse_spec({"qp 0x11 psn 10 iter 1 drop"}).get()});
  add_flow(scenario, "sender-1", "receiver", "write size 100k pmtu 1024 messages 1", true);
  const ExperimentMeasurement all = run(scenario);
  EXPECT_TRUE(all.flows[0].end_ns);
  EXPECT_EQ(all.flows[0].whole.naks, 0U);
  EXPECT_GE(all.flows[0].whole.timeouts, 1U);
}

TEST(SimulateRouting, TheHashHasTheStatedFields) {
  Scenario scenario;
  scenario.topology = {
      .kind = Kind::LeafSpine, .leaves = 2, .spines = 4, .hosts = 1, .rate = 10 * kGbit};
  scenario.duration_ns = 5 * kMs;
  scenario.queue = queue_words("buffer 10M");
  add_flow(scenario, "host-1", "host-2", "write size 1k pmtu 1024 messages 4 qps 64 port 50000",
           true);
  const auto used = [&scenario] {
    unsigned paths = 0;
    const ExperimentMeasurement all = run(scenario);
    for (unsigned spine = 1; spine <= 4; spine++)
      paths += queue_of(all, fmt::format("leaf-1:spine-{}", spine)).packets > 0;
    return paths;
  };
  EXPECT_EQ(used(), 1U); // one UDP port for all QPs
  scenario.routing.fields = Routing::Fields::Qpn;
  EXPECT_EQ(used(), 4U);
}

// Both paths of a pair of leaves, one of which fails for 4 ms of 10.
TEST(SimulateFailures, PathsFollowAfterTheStatedTime) {
  Scenario scenario;
  scenario.topology = {
      .kind = Kind::LeafSpine, .leaves = 2, .spines = 2, .hosts = 1, .rate = 10 * kGbit};
  scenario.duration_ns = 10 * kMs;
  scenario.measure_from_ns = 0;
  scenario.queue = queue_words("buffer 10M");
  scenario.routing = {.kind = Routing::Kind::SprayRoundRobin, .reroute_ns = kMs};
  scenario.schedule = {{.at_ns = 2 * kMs, .kind = Event::Kind::Down, .target = "leaf-1:spine-1"},
                       {.at_ns = 6 * kMs, .kind = Event::Kind::Up, .target = "spine-1:leaf-1"}};
  add_flow(scenario, "host-1", "host-2", "write size 1024 pmtu 1024");
  expect_sound(scenario);
  const ExperimentMeasurement all = run(scenario);
  const double packets = 10e9 / 8 / 1098;                                             // a second
  EXPECT_NEAR(static_cast<double>(all.flows[0].whole.drops), packets * 1e-3 / 2, 10); // 2 to 3 ms
  // 2 ms half, until 7 ms none, then half; the other one has the rest but what is lost
  EXPECT_NEAR(static_cast<double>(queue_of(all, "leaf-1:spine-1").packets), packets * 5e-3 / 2, 20);
  EXPECT_NEAR(static_cast<double>(queue_of(all, "leaf-1:spine-2").packets), packets * 7e-3, 40);
}

TEST(SimulateFailures, FramesOnTheLinkAreLostAndCounted) {
  Scenario scenario = star(1, 10 * kGbit, 3 * kMs, "buffer 10M");
  scenario.topology.delay = 100 * kUs;
  scenario.measure_from_ns = 0;
  scenario.schedule = {{.at_ns = kMs, .kind = Event::Kind::Down, .target = "switch:receiver"},
                       {.at_ns = kMs + 1, .kind = Event::Kind::Up, .target = "switch:receiver"}};
  add_flow(scenario, "sender-1", "receiver", "write size 1024 pmtu 1024");
  expect_sound(scenario);
  // 100 us of frames, and as many answers
  EXPECT_NEAR(static_cast<double>(run(scenario).flows[0].whole.drops), 2 * 100e-6 * 10e9 / 8 / 1098,
              4);
}

TEST(SimulateFailures, AHostWithoutLinkLosesItsFrames) {
  for (const bool reliable : {false, true}) {
    Scenario scenario = star(2, 10 * kGbit, 20 * kMs, "buffer 10M");
    scenario.reliability.timeout_code = 6; // 262 us
    scenario.schedule = {{.at_ns = kMs, .kind = Event::Kind::Down, .target = "sender-1:switch"},
                         {.at_ns = 2 * kMs, .kind = Event::Kind::Up, .target = "sender-1:switch"}};
    add_senders(scenario, "write size 1024 pmtu 1024", reliable);
    expect_sound(scenario);
    EXPECT_GT(run(scenario).flows[0].whole.drops, 100U);
    EXPECT_EQ(run(scenario).flows[0].whole.failed, 0U);
    EXPECT_GT(run(scenario).flows[0].wire_bps, 1e9); // of the second half
  }
}

} // namespace
} // namespace xr::simulate::simulate_topology_test
