// SPDX-License-Identifier: Apache-2.0
// htsim's connection matrices and topologies as experiments: what a connection and its triggers
// become, when a trigger starts them, and what is refused with its line. Numbers of topologies are
// those of the .topo files in Broadcom/csg-htsim, the switches those that its simulator makes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "experiment/experiment.h"
#include "importers/cm.h"
#include "places/run.h"

namespace importers_cm_test {
namespace {

using namespace xr;
using importers::ImportedExperiment;

// leaf_spine_tiny.topo has these numbers.
constexpr const char *kLeafSpine = R"(Nodes 32
Tiers 2
Podsize 32

Tier 0
Downlink_speed_Gbps 100
Radix_Down 8
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 0
Oversubscribed 4

Tier 1
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 1000
Switch_Latency_ns 0
)";

Result<ImportedExperiment> import(const std::string &matrix, const std::string &topology = "") {
  return importers::cm({.matrix = matrix,
                        .matrix_name = "a.cm",
                        .topology = topology,
                        .topology_name = topology.empty() ? "" : "a.topo"});
}

experiment::Experiment read(const Result<ImportedExperiment> &imported) {
  EXPECT_TRUE(imported) << (imported ? "" : imported.error().message);
  if (!imported)
    return {};
  auto experiment = experiment::ExperimentFile(imported.get().yaml, "imported", "").read({});
  EXPECT_TRUE(experiment) << (experiment ? "" : experiment.error().message) << "\n"
                          << imported.get().yaml;
  return experiment ? std::move(experiment).get() : experiment::Experiment();
}

bool has(const std::string &yaml, const std::string &part) {
  return yaml.find(part) != std::string::npos;
}

bool notes(const Result<ImportedExperiment> &imported, const std::string &part) {
  return imported && std::ranges::any_of(imported.get().notes, [&part](const std::string &note) {
           return has(note, part);
         });
}

void refused(const Result<ImportedExperiment> &imported, const std::string &why) {
  ASSERT_FALSE(imported) << why;
  EXPECT_EQ(imported.error().message, why);
  EXPECT_NE(imported.error().hint, "");
}

void body_refused(const std::string &body, const std::string &why) {
  refused(import("Nodes 16\nConnections 1\n" + body), why);
}

// one.cm, and the fat tree that htsim makes of 16 nodes: k = 4.
TEST(ImportCm, OneConnectionAndNoTopology) {
  const auto imported = import("Nodes 16\nConnections 1\n0->13 start 0 size 2000000\n\n");
  const auto experiment = read(imported);
  ASSERT_EQ(experiment.scenario.flows.size(), 1U);
  EXPECT_EQ(experiment.scenario.flows[0].src, "host-1");
  EXPECT_EQ(experiment.scenario.flows[0].dst, "host-14");
  EXPECT_EQ(experiment.scenario.topology.k, 4U);
  EXPECT_TRUE(notes(imported, "without a .topo: a fat tree of k = 4 with 16 hosts"));
  EXPECT_TRUE(notes(imported, "htsim's congestion control"));
}

TEST(ImportCm, StartsArePicoseconds) {
  const auto imported = import("# comment\nNodes 4\nConnections 3\n"
                               "0->1 start 1000000 size 1\n1->2 start 1500 size 5000\n"
                               "2->3 start 2e6 size 2147483647 prio 7\n");
  const auto experiment = read(imported);
  ASSERT_EQ(experiment.scenario.flows.size(), 3U);
  EXPECT_EQ(experiment.scenario.flows[0].start_ns, 1000U);
  EXPECT_EQ(experiment.scenario.flows[1].start_ns, 2U); // 1.5 ns
  EXPECT_EQ(experiment.scenario.flows[2].start_ns, 2000U);
  EXPECT_TRUE(has(imported.get().yaml, "host-3 host-4 2147483647 2000ns"));
  EXPECT_TRUE(notes(imported, "start of 1 connection: rounded"));
  EXPECT_TRUE(notes(imported, "prio of 1 connection"));
}

// Like csg-htsim's EXAMPLES: long-lived flows in the background.
TEST(ImportCm, SizeZeroNeverEnds) {
  const auto imported = import("Nodes 16\nConnections 2\n0->1 start 0.000000 size 0\n"
                               "2->3 start 0.000000 size 90000\n");
  const auto experiment = read(imported);
  ASSERT_EQ(experiment.scenario.flows.size(), 2U);
  EXPECT_EQ(experiment.scenario.flows[0].flow.messages, 0U); // unlimited
  EXPECT_EQ(experiment.scenario.flows[1].flow.messages, 1U);
  EXPECT_GE(experiment.scenario.duration_ns, 10'000'000U);
}

// spcl/HTSIM's a2a.cm says 3600, and has 240.
TEST(ImportCm, AHeaderThatPromisesMoreIsNoted) {
  const auto imported = import("Nodes 16\nConnections 3600\nTriggers 9\n0->1 start 0 size 1000\n");
  EXPECT_EQ(read(imported).scenario.flows.size(), 1U);
  EXPECT_TRUE(notes(imported, "a.cm: Connections is 3600, and there are 1"));
  EXPECT_TRUE(notes(imported, "a.cm: Triggers is 9, and there are 0"));
  const auto waits = import("Nodes 16\nConnections 2\nTriggers 1\n"
                            "7->15 id 1 start 0 size 9 send_done_trigger 1\n"
                            "7->0 id 2 trigger 1 size 9\n");
  EXPECT_TRUE(has(waits.get().yaml, "name: id-2, from: host-8, to: host-1")) << waits.get().yaml;
  EXPECT_TRUE(notes(waits, "1 trigger has no line of its own"));
}

// test_cr_*.cm of spcl/HTSIM.
TEST(ImportCm, MessagesOfAConnection) {
  const auto imported = import("Nodes 2\nConnections 4\n0->1 id 1 msg start 0 size 40860\n"
                               "0->1 id 1 msg start 0 size 40860\n"
                               "0->1 id 1 msg 7 start 0 size 40860\n"
                               "0->1 id 1 msg start 1000 size 1\n");
  const auto experiment = read(imported);
  ASSERT_EQ(experiment.scenario.flows.size(), 2U);
  EXPECT_EQ(experiment.scenario.flows[0].name, "id-1");
  EXPECT_EQ(experiment.scenario.flows[0].flow.messages, 3U);
  EXPECT_EQ(experiment.scenario.flows[1].name, "id-1.4");
  EXPECT_TRUE(notes(imported, "1 more message of connections"));
}

TEST(ImportCm, FlowsHaveTheIdsOfConnectionsInTheFilesOrder) {
  const auto imported = import("Nodes 16\nConnections 4\nTriggers 1\n0->1 id 7 start 0 size 9\n"
                               "1->2 id 3 start 0 size 9 send_done_trigger 1\n"
                               "2->3 id 5 trigger 1 size 9\n3->4 start 0 size 9\n"
                               "trigger id 1 oneshot\n");
  std::string names;
  for (const auto &flow : read(imported).scenario.flows)
    names += flow.name + " ";
  EXPECT_EQ(names, "id-7 id-3 id-5 flow-4 ");
}

TEST(ImportCm, LeafSpine) {
  const auto topology =
      read(import("Nodes 32\nConnections 1\n0->31 start 0 size 1000\n", kLeafSpine))
          .scenario.topology;
  EXPECT_EQ(topology.leaves, 4U);
  EXPECT_EQ(topology.spines, 2U);
  EXPECT_EQ(topology.hosts, 8U);
  EXPECT_EQ(topology.rate, 100'000'000'000U);
}

// fat_tree_1024.topo: 16 pods, so k = 16.
TEST(ImportCm, FatTree) {
  const std::string text = "Nodes 1024\nTiers 3\nPodsize 64\n"
                           "Tier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\nRadix_Up 8\n"
                           "Downlink_Latency_ns 1000\n"
                           "Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 8\nRadix_Up 8\n"
                           "Downlink_Latency_ns 1000\nBundle 1\n"
                           "Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 16\n"
                           "Downlink_Latency_ns 1000\nBundle 1\n";
  const std::string matrix = "Nodes 1024\nConnections 1\n0->1023 start 0 size 1000\n";
  EXPECT_EQ(read(import(matrix, text)).scenario.topology.k, 16U);
}

// 2 pods of 4 hosts at 2 switches, 2 above them, 2 links between each two, cores of 200 Gbit/s.
TEST(ImportCm, OtherTopologiesAreGraphs) {
  const std::string text = "Nodes 8\nTiers 3\nPodsize 4\n"
                           "Tier 0\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 4\n"
                           "Downlink_Latency_ns 1000\nSwitch_Latency_ns 300\nQueue_Up 5\n"
                           "Tier 1\nDownlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 1\n"
                           "Downlink_Latency_ns 1000\nSwitch_Latency_ns 301\nBundle 2\n"
                           "Oversubscribed 2\n"
                           "Tier 2\nDownlink_speed_Gbps 200\nRadix_Down 2\n"
                           "Downlink_Latency_ns 2000\n";
  const auto imported = import("Nodes 8\nConnections 1\n0->7 start 0 size 1000\n", text);
  const auto experiment = read(imported);
  const auto &graph = experiment.scenario.topology.graph;
  EXPECT_EQ(graph.hosts.size(), 8U);
  EXPECT_EQ(graph.switches.size(), 4U + 4 + 2);
  EXPECT_EQ(graph.links.size(), 8U + 4 * 2 * 2 + 4);
  EXPECT_TRUE(has(imported.get().yaml, "[host-8, tor-4, 200gbit, 1150ns]")) << imported.get().yaml;
  EXPECT_TRUE(has(imported.get().yaml, "[tor-3, agg-3, 100gbit, 1301ns]")); // 1000 + 300.5
  EXPECT_TRUE(has(imported.get().yaml, "[agg-4, core-2, 200gbit, 2151ns]"));
  EXPECT_TRUE(notes(imported, "half of it at each end, rounded up"));
  EXPECT_TRUE(notes(imported, "Queue_Down and Queue_Up"));
}

// Starts in the simulator by name.
std::map<std::string, double> starts(const Result<ImportedExperiment> &imported) {
  auto result = places::run_virtual(read(imported), {}, "");
  EXPECT_TRUE(result) << result.error().message;
  std::map<std::string, double> out;
  if (result)
    for (const auto &flow : result->measured.flows)
      out[flow.name] = flow.fct_ns ? static_cast<double>(flow.start_ns) : -1;
  return out;
}

// A WRITE of one packet: 14 + 20 + 8 + 12 + 16 + 4096 + 4 bytes, its ACK 14 + 20 + 8 + 12 + 4 + 4,
// over 4 links of 100 Gbit/s and 1 us. Each link may round to whole nanoseconds.
constexpr double kThere = 4 * (1000 + 4170 * 0.08), kBack = 4 * (1000 + 62 * 0.08);
constexpr double kRounding = 8;

TEST(ImportCm, ATriggerStartsAConnection) {
  const std::string body = "Nodes 32\nConnections 3\nTriggers 2\n"
                           "31->1 id 3 trigger 8 size 4096\n" // above what it waits for
                           "0->31 id 1 start 1000000 size 4096 recv_done_trigger 7\n"
                           "31->0 id 2 trigger 7 size 4096 send_done_trigger 8\n"
                           "trigger id 7 oneshot\ntrigger id 8 oneshot\n";
  const auto imported = import(body, kLeafSpine);
  EXPECT_TRUE(has(imported.get().yaml, "after: [id-1 received]")) << imported.get().yaml;
  EXPECT_TRUE(has(imported.get().yaml, "after: [id-2 sent]"));
  auto start = starts(imported);
  EXPECT_EQ(start["id-1"], 1000);
  EXPECT_NEAR(start["id-2"], 1000 + kThere, kRounding);
  EXPECT_NEAR(start["id-3"], 1000 + 2 * kThere + kBack, 2 * kRounding);
}

TEST(ImportCm, ABarrierWaitsForTheLastAndAShotForTheFirst) {
  const std::string body = "Nodes 32\nConnections 4\nTriggers 2\n"
                           "0->31 id 1 start 0 size 4096 recv_done_trigger 1 send_done_trigger 2\n"
                           "8->30 id 2 start 5000000 size 4096 recv_done_trigger 1 "
                           "send_done_trigger 2\n"
                           "16->17 id 3 trigger 1 size 4096\n18->19 id 4 trigger 2 size 4096\n"
                           "trigger id 1 barrier count 2\ntrigger id 2 oneshot\n";
  const auto imported = import(body, kLeafSpine);
  auto start = starts(imported);
  EXPECT_NEAR(start["id-3"], 5000 + kThere, kRounding);
  EXPECT_NEAR(start["id-4"], kThere + kBack, kRounding);
  EXPECT_TRUE(notes(imported, "trigger 2: the first of its 2 activators"));
}

TEST(ImportCm, BarriersAndShots) {
  const std::string body = "Nodes 16\nConnections 6\nTriggers 3\n"
                           "0->1 id 1 start 0 size 9 recv_done_trigger 5\n"
                           "2->3 id 2 start 0 size 9 send_done_trigger 5 recv_done_trigger 6\n"
                           "4->5 start 0 size 9 send_done_trigger 6\n"
                           "6->7 id 4 trigger 5 size 9\n"
                           "8->9 id 5 trigger 6 size 9\n"
                           "1->9 id 6 trigger 6 size 9\n"
                           "trigger id 5 barrier count 2\ntrigger id 6 multishot\n"
                           "trigger id 9 barrier count 1\n";
  const auto imported = import(body);
  const auto experiment = read(imported);
  const std::string &yaml = imported.get().yaml;
  EXPECT_TRUE(has(yaml, "name: id-4, from: host-7")) << yaml;
  EXPECT_TRUE(has(yaml, "after: [id-1 received, id-2 sent]"));
  EXPECT_TRUE(has(yaml, "after: [any, id-2 received, flow-3 sent]"));
  EXPECT_TRUE(has(yaml, "after: [id-2 received, flow-3 sent]")); // the second shot
  EXPECT_TRUE(notes(imported, "trigger 9 starts no connection"));
  EXPECT_EQ(experiment.scenario.flows.size(), 6U);
}

TEST(ImportCm, RefusesWithTheLine) {
  refused(import(""), "a.cm: Nodes is missing");
  refused(import("Nodes 1\n"), "a.cm:1: Nodes: '1' is not a whole number from 2 to 100000");
  refused(import("Nodes 4\nNodes 4\n"), "a.cm:2: Nodes is there twice");
  refused(import("Nodes 4 5\n"), "a.cm:1: unexpected '5'");
  refused(import("Node 4\n"), "a.cm:1: 'Node' is not a key of a connection matrix");
  refused(import("Nodes 4\nConnections 0\n"), "a.cm: there is no connection");
  refused(import("Nodes 4\nConnections 1\n0->1 start 0 size 1\n0->2 start 0 size 1\n"),
          "a.cm: Connections is 1, and there are 2");
  refused(import("Nodes 17000\nConnections 1\n0->1 start 0 size 1\n"),
          "a.cm: 17000 hosts are too many for the fat tree that is made without a .topo");
  refused(import("Nodes 33\nConnections 1\n0->1 start 0 size 1\n", kLeafSpine),
          "a.cm: Nodes is 33, and a.topo has 32");
  body_refused("0->16 start 0 size 1\n",
               "a.cm:3: the destination: '16' is not a whole number from 0 to 15");
  body_refused("3->3 start 0 size 1\n", "a.cm:3: a connection from host 3 to itself");
  refused(import("Nodes 16\nConnections 2\nTriggers 1\n"
                 "0->1 id 1 start 0 size 0 send_done_trigger 1\n2->3 id 2 trigger 1 size 1\n"
                 "trigger id 1 oneshot\n"),
          "a.cm:6: trigger 1 waits for a connection of size 0, which never ends");
  body_refused("0->1 start 0\n", "a.cm:3: size is missing");
  body_refused("0->1 size 1\n", "a.cm:3: neither start nor trigger is given");
  body_refused("0->1 start 0 id 1 trigger 1 size 1\n", "a.cm:3: both start and trigger are given");
  body_refused("0->1 start -1 size 1\n", "a.cm:3: start: '-1' is not a time in picoseconds");
  body_refused("0->1 start nan size 1\n", "a.cm:3: start: 'nan' is not a time in picoseconds");
  body_refused("0->1 start 0 size 1 size 2\n", "a.cm:3: size is there twice");
  body_refused("0->1 start 0 size 1 speed 2\n", "a.cm:3: 'speed' is not a word of a connection");
  body_refused("0->1 start 0 size 1 msg 2\n", "a.cm:3: a message has no id of its connection");
  body_refused("0->1 id 1 msg start 0 size 1\n0->1 id 1 start 0 size 1\n",
               "a.cm:4: there are two connections with id 1");
  body_refused("0->1 id 1 msg start 0 size 1\n0->2 id 1 msg start 0 size 1\n",
               "a.cm:4: the messages of connection 1 are of two pairs");
  body_refused("0->1 start 0 size 1 addon\n",
               "a.cm:3: addon: a flow that a trigger makes longer is not here");
  body_refused("0->1 trigger 1 size 1\n", "a.cm:3: a connection with a trigger has no id");
  body_refused("0->1 id 2 start 0 size 1\n0->1 id 2 start 0 size 1\n",
               "a.cm:4: there are two connections with id 2");
  body_refused("0->1 start 0 size 1\n# late\n", "a.cm:4: a comment below the first connection");
  body_refused("0->1 start 0 size 1\nmore\n", "a.cm:4: 'more' is not a connection");
  body_refused("0->1 start 0 size 1\nfailure switch_type TOR switch_id 0 link_id 0\n",
               "a.cm:4: failure: a link that fails is not read");
  body_refused("0->1 start 0 size 1\ntrigger id 1\n", "a.cm:4: the trigger has no kind");
  body_refused("0->1 start 0 size 1\ntrigger oneshot\n", "a.cm:4: the trigger has no id");
  body_refused("0->1 start 0 size 1\ntrigger id 1 barrier\n", "a.cm:4: a barrier has no count");
  body_refused("0->1 start 0 size 1\ntrigger id 1 often\n", "a.cm:4: unexpected 'often'");
  body_refused("0->1 start 0 size 1\ntrigger id 1 oneshot\ntrigger id 1 oneshot\n",
               "a.cm:5: trigger 1 is there twice");
  body_refused("0->1 start 0 size 1 send_done_trigger 4\n", "a.cm:3: there is no trigger 4");
}

TEST(ImportCm, RefusesTriggersThatNeverHappen) {
  const std::string head = "Nodes 16\nConnections 2\nTriggers 1\n";
  refused(import(head + "0->1 start 0 size 1 send_done_trigger 1\n2->3 id 1 trigger 1 size 1\n"
                        "trigger id 1 barrier count 2\n"),
          "a.cm:6: trigger 1 happens 1 times, and id-1 waits for 2");
  refused(import(head + "0->1 id 2 trigger 1 size 1 send_done_trigger 1\n"
                        "2->3 start 0 size 1\ntrigger id 1 oneshot\n"),
          "a.cm: 1 connections wait for one another");
}

TEST(ImportCm, RefusesTopologies) {
  const auto with = [](const std::string &from, const std::string &to) {
    std::string text = kLeafSpine;
    text.replace(text.find(from), from.size(), to);
    return import("Nodes 32\nConnections 1\n0->1 start 0 size 1\n", text);
  };
  refused(with("Nodes 32\n", ""), "a.topo: nodes is missing");
  refused(with("Tiers 2", "Tiers 4"), "a.topo:2: Tiers: '4' is not a whole number from 2 to 3");
  refused(with("Tiers 2", "Tiers 3"), "a.topo: radix_up of tier 1 is missing");
  refused(with("Tiers 2", "Colour 2"), "a.topo:2: 'Colour' is not a key before the first tier");
  refused(with("Tier 1", "Tier 0"), "a.topo:13: Tier 0 is there twice");
  refused(with("Radix_Down 8", "Radix 8"), "a.topo:7: 'Radix' is not a key of a tier");
  refused(with("Radix_Up 2", "Radix_Down 2"), "a.topo:8: Radix_Down of tier 0 is there twice");
  refused(
      with("Oversubscribed 4", "Oversubscribed 2"),
      "a.topo: a switch of tier 0 has 800gbit below and 200gbit above, and Oversubscribed is 2");
  refused(with("Radix_Down 4", "Radix_Down 5"),
          "a.topo: Radix_Down 5 of tier 1 does not fit 4 switches of tier 0 with 2 uplinks in "
          "bundles of 1");
  refused(import("Nodes 2\nConnections 1\n0->1 start 0 size 1\n",
                 "Nodes 50\nTiers 3\nPodsize 2\n"
                 "Tier 0\nDownlink_speed_Gbps 200\nRadix_Down 1\nRadix_Up 200\n"
                 "Downlink_Latency_ns 1\n"
                 "Tier 1\nDownlink_speed_Gbps 1\nRadix_Down 2\nRadix_Up 200\n"
                 "Downlink_Latency_ns 1\nOversubscribed 1\n"
                 "Tier 2\nDownlink_speed_Gbps 1\nRadix_Down 25\nDownlink_Latency_ns 1\n"),
          "a.topo: a switch of tier 1 has 2gbit below and 200gbit above, and Oversubscribed is 1");
  refused(import("Nodes 2\nConnections 1\n0->1 start 0 size 1\n",
                 "Nodes 10000\nTiers 3\nPodsize 200\n"
                 "Tier 0\nDownlink_speed_Gbps 200\nRadix_Down 1\nRadix_Up 200\n"
                 "Downlink_Latency_ns 1\n"
                 "Tier 1\nDownlink_speed_Gbps 1\nRadix_Down 200\nRadix_Up 200\n"
                 "Downlink_Latency_ns 1\n"
                 "Tier 2\nDownlink_speed_Gbps 1\nRadix_Down 50\nDownlink_Latency_ns 1\n"),
          "a.topo: the topology has 4010000 links"); // 10,000 + 10,000 x 200 + 10,000 x 200
  refused(with("Podsize 32", "Podsize 33"), "a.topo: Podsize is no part of Nodes");
}

} // namespace
} // namespace importers_cm_test
