// SPDX-License-Identifier: Apache-2.0
// Graphs and fat trees: names, paths, refusals; and for each network that no frame is lost without
// being counted, and that one seed gives one result.
#include <functional>

#include <fmt/format.h>

#include "simulate/graph.h"
#include "simulate/topology.h"
#include "simulate_scenarios.h"

namespace xr::simulate {
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
  EXPECT_GT(t.received, t.sent / 3);
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
  EXPECT_EQ(network.next_hops[16][15].size(), 2U); // to the aggregation switches
  EXPECT_EQ(network.next_hops[16][0].size(), 1U);
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

} // namespace
} // namespace xr::simulate
