// SPDX-License-Identifier: Apache-2.0
// The four files of HPCC's simulator as experiments: numbers that its own code computes, what each
// key becomes, and what is refused by name. The files are written for these tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include <fmt/format.h>

#include "directory.h"
#include "experiment/experiment.h"
#include "importers/hpcc.h"
#include "importers/hpcc_network.h"
#include "importers/hpcc_tokens.h"
#include "importers/job_file.h"
#include "places/run.h"

namespace importers_hpcc_test {
namespace {

using namespace xr;
using importers::HpccTexts;
using importers::ImportedExperiment;

// 65 hosts at one switch: 66 nodes.
std::string star_of_66() {
  std::string text = "66 1 65\n0\n";
  for (unsigned host = 1; host < 66; host++)
    text += fmt::format("{} 0 100Gbps 0.001ms 0.000000\n", host);
  return text;
}

constexpr const char *kConfig = R"(ENABLE_QCN 1 {0: off, 1: on}
USE_DYNAMIC_PFC_THRESHOLD 1
PACKET_PAYLOAD_SIZE 1000
SIMULATOR_STOP_TIME 2.001
CC_MODE 1
EWMA_GAIN 0.00390625
RATE_AI 40Mb/s
RATE_HAI 400Mb/s
MIN_RATE 1000Mb/s
RP_TIMER 300
CLAMP_TARGET_RATE 0
HAS_WIN 1
GLOBAL_T 1
VAR_WIN 1
KMAX_MAP 2 100000000000 1600 25000000000 400
KMIN_MAP 2 100000000000 400 25000000000 100
PMAX_MAP 2 100000000000 0.2 25000000000 0.2
BUFFER_SIZE 32
INT_MULTI 4
)";

HpccTexts texts(const std::string &more = "") {
  return {.config = kConfig + more,
          .config_name = "config.txt",
          .topology = "4 1 3\n3\n0 3 100Gbps 1000ns 0\n1 3 100Gbps 1us 0\n2 3 100Gbps 1us 0\n",
          .topology_name = "topology.txt",
          .flows = "2\n0 1 3 100 1000000 2\n2 1 3 100 30000 2.00001\nthe rest is comment\n",
          .flows_name = "flow.txt"};
}

ImportedExperiment import(const HpccTexts &from) {
  auto imported = importers::hpcc(from);
  EXPECT_TRUE(imported) << (imported ? "" : imported.error().message);
  return imported ? std::move(imported).get() : ImportedExperiment();
}

experiment::Experiment read(const ImportedExperiment &imported) {
  auto experiment = experiment::ExperimentFile(imported.yaml, "imported", "").read({});
  EXPECT_TRUE(experiment) << (experiment ? "" : experiment.error().message) << "\n"
                          << imported.yaml;
  return experiment ? std::move(experiment).get() : experiment::Experiment();
}

void refused(const HpccTexts &from, const std::string &why) {
  const auto imported = importers::hpcc(from);
  ASSERT_FALSE(imported) << why;
  EXPECT_EQ(imported.error().message, why);
  EXPECT_NE(imported.error().hint, "");
}

bool notes(const ImportedExperiment &imported, const std::string &part) {
  return std::ranges::any_of(imported.notes, [&part](const std::string &note) {
    return note.find(part) != std::string::npos;
  });
}

bool has(const std::string &yaml, const std::string &part) {
  return yaml.find(part) != std::string::npos;
}

// Values that the simulator computes for its own topology.txt.
TEST(ImportHpcc, BaseRttAndStandaloneTimeAreExact) {
  const auto network = importers::read_hpcc_network(star_of_66(), "topology.txt");
  ASSERT_TRUE(network) << network.error().message;
  const importers::HpccPaths paths(network.get(), 1000);
  EXPECT_EQ(paths.largest().rtt_ns, 4160U);
  EXPECT_EQ(paths.largest().bdp, 52'000U);
  EXPECT_EQ(importers::hpcc_standalone_ns(1'000'000, 1000, paths.from(1)[65]), 88'000U);
}

// Two links of 100 and 25 Gbit/s: 2 x 3 us and 80 + 320 ns.
TEST(ImportHpcc, BaseRttOfLinksWithDifferentRates) {
  const auto network = importers::read_hpcc_network(
      "3 1 2\n2\n0 2 100Gbps 1us 0\n1 2 25Gbps 2us 0\n", "topology.txt");
  ASSERT_TRUE(network) << network.error().message;
  const auto path = importers::HpccPaths(network.get(), 1000).from(0)[1];
  EXPECT_EQ(path.rtt_ns, 6400U);
  EXPECT_EQ(path.rate, 25'000'000'000U);
  EXPECT_EQ(path.bdp(), 20'000U);
}

TEST(ImportHpcc, RatesAndTimesOfNs3) {
  for (const auto &[word, bits] :
       std::initializer_list<std::pair<const char *, uint64_t>>{{"100Gbps", 100'000'000'000},
                                                                {"50Mb/s", 50'000'000},
                                                                {"1000bps", 1000},
                                                                {"1.5kbps", 1500},
                                                                {"2MB/s", 16'000'000},
                                                                {"1Kib/s", 1024},
                                                                {"25000000000.0", 25'000'000'000}})
    EXPECT_EQ(importers::ns3_rate(word).get(), bits) << word;
  for (const char *word : {"", "100Gbit", "bps", "Gbps", "-1Gbps", "1Xbps", "1e300Gbps"})
    EXPECT_EQ(importers::ns3_rate(word).ok(), false) << word;
  for (const auto &[word, ns] : std::initializer_list<std::pair<const char *, uint64_t>>{
           {"1000ns", 1000}, {"0.001ms", 1000}, {"1us", 1000}, {"2", 2'000'000'000}, {"1500ps", 2}})
    EXPECT_EQ(importers::ns3_time(word).get(), ns) << word;
  for (const char *word : {"us", "1 us", "1week", "-1us"})
    EXPECT_EQ(importers::ns3_time(word).ok(), false) << word;
}

TEST(ImportHpcc, TheFilesBecomeAnExperiment) {
  const auto imported = import(texts());
  const auto experiment = read(imported);
  EXPECT_EQ(experiment.name, "HPCC: config.txt");
  EXPECT_EQ(experiment.scenario.duration_ns, 1'000'000U);
  ASSERT_EQ(experiment.scenario.flows.size(), 2U);
  EXPECT_EQ(experiment.scenario.flows[1].src, "n2");
  EXPECT_EQ(experiment.scenario.flows[1].dst, "n1");
  EXPECT_EQ(experiment.scenario.flows[1].start_ns, 10'000U);
  EXPECT_EQ(experiment.scenario.queue.aqm.low, 400'000U);
  EXPECT_EQ(experiment.scenario.queue.aqm.high, 1'600'000U);
  // 32 MiB, without 300 bytes x 3 of headroom (100 Gbit/s x 1 us x 3/8 = 37,500) and 3 ports
  EXPECT_EQ(experiment.scenario.queue.buffer, (32U << 20) - 3 * (37'500 + 4096));
  EXPECT_EQ(experiment.scenario.queue.pfc.headroom, 37'500U);
  EXPECT_EQ(experiment.scenario.queue.pfc.priorities, 1U << 3);
  EXPECT_TRUE(has(imported.yaml,
                  "dcqcn preset hpcc g=0.00390625 alpha-timer=55us monitor-period=4us "
                  "clamp=off rate-timer=300us threshold=5 rai=40mbit rhai=400mbit "
                  "min-rate=1000mbit window 52000 vary"))
      << imported.yaml;
  for (const char *part :
       {"dialect: HPCC", "the flow file has 4 more words", "the run begins at 2 s",
        "base RTT 4160 ns, window 52000 bytes", "without an effect here: INT_MULTI",
        "not in config.txt, so a default: ALPHA_RESUME_INTERVAL: 55"})
    EXPECT_TRUE(notes(imported, part)) << part;
}

TEST(ImportHpcc, ModesOfCongestionControl) {
  const auto hpcc = import(texts("CC_MODE 3 U_TARGET 0.95 MI_THRESH 0 FAST_REACT 1\n"));
  EXPECT_TRUE(has(hpcc.yaml, "hpcc eta=0.95 max-stage=0 ai=40mbit min-rate=1000mbit fast-react=on "
                             "vary-window=on window 52000 vary base-rtt=4160ns int-multi=4"))
      << hpcc.yaml;
  EXPECT_TRUE(notes(hpcc, "config.txt:20: CC_MODE replaces the value of line 5"));
  read(hpcc);
  const auto timely = import(texts("CC_MODE 7 HAS_WIN 0\n"));
  EXPECT_TRUE(has(timely.yaml, "\"timely delta=40mbit hyper=400mbit min-rate=1000mbit\""));
  read(timely);
  const auto dctcp = import(texts("CC_MODE 8 DCTCP_RATE_AI 615Mb/s VAR_WIN 0\n"));
  EXPECT_TRUE(has(dctcp.yaml, "dctcp g=0.00390625 ai=615mbit min-rate=1000mbit window 52000\""));
  read(dctcp);
}

TEST(ImportHpcc, PathsAndFailures) {
  HpccTexts from = texts("LINK_DOWN 100 3 0\nGLOBAL_T 0\n");
  from.topology = "4 1 4\n3\n0 3 100Gbps 1us 0\n1 3 25Gbps 1us 0.001\n2 3 100Gbps 2us 0\n"
                  "1 3 25Gbps 1us 0\n";
  const auto imported = import(from);
  const auto experiment = read(imported);
  EXPECT_TRUE(has(imported.yaml, "  - {at: 100us, do: \"link s3-n0 down\"}\n"));
  EXPECT_TRUE(has(imported.yaml, "{link: \"n1:s3\", words: \"probability 0.001 drop\"}"));
  EXPECT_TRUE(has(imported.yaml, "  \"s3:n1/2\": \"buffer"));
  EXPECT_EQ(experiment.scenario.queues.at("s3:n1").aqm.high, 400'000U);
  EXPECT_TRUE(notes(imported, "PFC's alpha is 1/8 for ports of any rate"));
  // by pair: 2 x 2 us + 400 ns, and 2 x 3 us + 400 ns
  EXPECT_TRUE(has(imported.yaml, "window 13750 vary"));
  EXPECT_TRUE(has(imported.yaml, "window 20000 vary"));
}

TEST(ImportHpcc, Dialects) {
  EXPECT_TRUE(notes(import(texts("LB_MODE 6 ENABLE_IRN 1 CONWEAVE_TX_EXPIRY_TIME 300\n")),
                    "dialect: conweave-ns3"));
  EXPECT_TRUE(notes(import(texts("HEADROOM_FACTOR 4\n")), "dialect: astra-sim"));
  EXPECT_TRUE(notes(import(texts("MON_START 0\n")), "dialect: SimAI"));
  HpccTexts from = texts();
  from.config.erase(from.config.find("USE_DYNAMIC"), sizeof("USE_DYNAMIC_PFC_THRESHOLD 1"));
  EXPECT_TRUE(notes(import(from), "dialect: inet-tub"));
  from = texts();
  from.topology = "5 2 1 1 3 H100\n4 3\n0 3 100Gbps 1000ns 0\n1 3 100Gbps 1us 0\n"
                  "2 4 100Gbps 1us 0\n";
  from.flows = "1\n0 1 3 100 1000 2\n";
  const auto simai = importers::hpcc(from);
  ASSERT_TRUE(simai) << simai.error().message;
  EXPECT_TRUE(notes(simai.get(), "dialect: SimAI"));
  EXPECT_TRUE(notes(simai.get(), "1 NVSwitches are switches"));
  const auto flowlets = import(texts("LB_MODE 6\n"));
  EXPECT_TRUE(has(flowlets.yaml, "routing: flowlet 100us"));
}

// Each simulator's files as its repository publishes them, in small: first lines, keys, units, and
// what is missing.

// mix/ of HPCC: its trace.txt has 348 nodes, its topology 66, and more lines than they say.
TEST(ImportHpcc, AsHpccIsPublished) {
  HpccTexts from = texts("TRACE_FILE mix/trace.txt\nL2_CHUNK_SIZE 4000\nLINK_DOWN 0 0 0\n");
  from.flows = "2\n2 1 3 100 200000000 2\n0 1 3 100 200000000 2\n1 0 3 100 150000000 2\n";
  const auto imported = import(from);
  EXPECT_EQ(read(imported).scenario.flows.size(), 2U);
  EXPECT_TRUE(notes(imported, "TRACE_FILE mix/trace.txt: nothing is traced here"));
  EXPECT_TRUE(notes(imported, "the flow file has 6 more words"));
}

// run.py of conweave-ns3: no SIMULATOR_STOP_TIME, and flows without a port.
TEST(ImportHpcc, AsConweaveIsPublished) {
  HpccTexts from = texts("FLOWGEN_START_TIME 2.0\nFLOWGEN_STOP_TIME 2.1\nLB_MODE 0\n"
                         "ENABLE_PFC 1\nENABLE_IRN 0\nCONWEAVE_REPLY_TIMEOUT_EXTRA 4\nLOAD 40\n");
  from.config.erase(from.config.find("SIMULATOR_STOP"), sizeof("SIMULATOR_STOP_TIME 2.001"));
  from.flows = "2 \n0 1 3 21233 2.000000315\n2 1 3 1 2.000005000\n";
  const auto imported = import(from);
  EXPECT_TRUE(has(imported.yaml, "until: done")) << imported.yaml;
  EXPECT_TRUE(has(imported.yaml, "n0 n1 21233 315ns"));
  EXPECT_TRUE(notes(imported, "conweave-ns3 has no SIMULATOR_STOP_TIME"));
  const auto experiment = read(imported);
  auto outcome = places::run_virtual(experiment, {}, "");
  ASSERT_TRUE(outcome) << outcome.error().message;
  // it ends with its last flow
  EXPECT_LT(outcome->measured.duration_ns, 100'000U);
  for (const ExperimentFlow &flow : outcome->measured.flows)
    EXPECT_TRUE(flow.end_ns) << flow.name;
}

// PowerTCP of inet-tub: four words, rates without a unit, flows of 10^12 bytes.
TEST(ImportHpcc, AsInetTubIsPublished) {
  HpccTexts from = texts("SIMULATOR_STOP_TIME 0.4\n");
  from.topology = "4 1 1 3\n3 \n0 3 25000000000.0 1us 0\n1 3 25000000000.0 1us 0\n"
                  "2 3 100000000000.0 1us 0\n";
  from.flows = "3\n0 2 3 10000 1000000000000 0.001\n1 2 3 10001 1000000000000 0.1\n"
               "1 0 3 10001 500000 0.15\n";
  const auto imported = import(from);
  const auto experiment = read(imported);
  ASSERT_EQ(experiment.scenario.flows.size(), 3U);
  EXPECT_EQ(experiment.scenario.flows[0].flow.messages, 0U); // unlimited
  EXPECT_EQ(experiment.scenario.topology.graph.links[0].rate, 25'000'000'000U);
  EXPECT_EQ(experiment.scenario.duration_ns, 399'000'000U);
  EXPECT_TRUE(notes(imported, "dialect: inet-tub"));
  EXPECT_TRUE(notes(imported, "2 flows of 4 GiB or more never end"));
  // Reverie: six numbers, and maps with more pairs than they say
  from.topology = "4 1 1 3 25000000000 25000000000\n3\n0 3 25000000000 2us 0\n"
                  "1 3 25000000000 2us 0\n2 3 25000000000 2us 0\n";
  from.config += "KMAX_MAP 1 25000000000 400 100000000000 1600\n";
  EXPECT_TRUE(notes(import(from), "dialect: inet-tub"));
  EXPECT_TRUE(notes(import(from), "100000000000 belongs to no key"));
}

// SimAI.conf: no end, packets of 9000 bytes, the topology an argument.
TEST(ImportHpcc, AsSimAiIsPublished) {
  HpccTexts from = texts("SIMULATOR_STOP_TIME 40000000000000.00\nPACKET_PAYLOAD_SIZE 9000\n"
                         "NIC_TOTAL_PAUSE_TIME 0\nMON_START 0\nBW_MON_INTERVAL 10000\n");
  from.topology = "6 2 1 1 4 H100\n4 5\n0 4 2900Gbps 0.000025ms 0\n1 4 2900Gbps 0.000025ms 0\n"
                  "2 5 100Gbps 0.0005ms 0\n3 5 100Gbps 0.0005ms 0\n";
  from.flows = "1\n2 3 3 100 1000000 0\n";
  const auto imported = import(from);
  EXPECT_TRUE(has(imported.yaml, "until: done"));
  EXPECT_TRUE(notes(imported, "dialect: SimAI"));
  EXPECT_TRUE(notes(imported, "packets carry 4096 bytes here, the largest PMTU"));
  EXPECT_TRUE(notes(imported, "1 NVSwitch"));
  EXPECT_TRUE(has(imported.yaml, "\"s5:n2\": \"buffer")) << imported.yaml; // it marks, s4 does not
  from.flows = "1\n2 3 3 100 1000000000000 0\n";
  refused(from, "config.txt: no flow ends, and neither does the simulator");
}

// astra-sim: a mode that its code does not have.
TEST(ImportHpcc, AsAstraSimIsPublished) {
  HpccTexts from = texts("SIMULATOR_STOP_TIME 40000000000000.00\nCC_MODE 12\n"
                         "NIC_TOTAL_PAUSE_TIME 0\nHEADROOM_FACTOR 4\n");
  from.config.erase(from.config.find("NIC_TOTAL"), sizeof("NIC_TOTAL_PAUSE_TIME 0"));
  const auto imported = import(from);
  EXPECT_TRUE(has(imported.yaml, "congestion: \"none\"")) << imported.yaml;
  EXPECT_TRUE(notes(imported, "CC_MODE 12: no mode of astra-sim"));
  EXPECT_EQ(read(imported).scenario.flows.size(), 2U);
}

TEST(ImportHpcc, KeysInCommentsAreRead) {
  const auto imported = import(texts("{set RATE_AI 50Mb/s here}\n"));
  EXPECT_TRUE(has(imported.yaml, "rai=50mbit"));
  EXPECT_TRUE(
      notes(imported, "config.txt:20: RATE_AI is in a {comment}, and is read all the same"));
}

TEST(ImportHpcc, RefusesKeysAndValuesByName) {
  refused(texts("RATE_AIM 1\n"), "config.txt:20: 'RATE_AIM' is not a key");
  refused(texts("CC_MODE 10\n"), "config.txt:20: CC_MODE: 10 (PINT) of HPCC is not here");
  refused(texts("CC_MODE 3 MULTI_RATE 1\n"),
          "config.txt:20: MULTI_RATE: our HPCC does not have this variant");
  refused(texts("CC_MODE 3 RATE_BOUND 0\n"),
          "config.txt:20: RATE_BOUND: our HPCC does not have this variant");
  refused(texts("CC_MODE 3 SAMPLE_FEEDBACK 1\n"),
          "config.txt:20: SAMPLE_FEEDBACK: our HPCC does not have this variant");
  refused(texts("EWMA_GAIN 2\n"), "config.txt:20: EWMA_GAIN: g: '2' is outside 0 to 1");
  refused(texts("LB_MODE 9\n"), "config.txt:20: LB_MODE: 9 (ConWeave) is not here");
  refused(texts("LB_MODE 5\n"), "config.txt:20: LB_MODE: 5 is not here");
  refused(texts("L2_BACK_TO_ZERO 1\n"),
          "config.txt:20: L2_BACK_TO_ZERO: our requesters do not return to the chunk's start");
  refused(texts("HAS_WIN 2\n"), "config.txt:20: HAS_WIN: '2' is not a whole number from 0 to 1");
  refused(texts("RATE_AI 50Mbit\n"), "config.txt:20: RATE_AI: '50Mbit' is not a rate");
  refused(texts("KMAX_MAP 1 100000000000 300\n"), "config.txt:16: KMIN_MAP: Kmin 400000 is above "
                                                  "Kmax 300000");
  refused(texts("KMAX_MAP 1 25000000000 400\n"),
          "config.txt:20: KMAX_MAP: there is no value for ports of 100000000000 bit/s");
  refused(texts("PMAX_MAP 1 100000000000 2\n"), "config.txt:20: PMAX_MAP: 2 is not a probability");
  refused(texts("BUFFER_SIZE 0\n"),
          "config.txt:20: BUFFER_SIZE: headroom and ports of a switch need 124788 bytes");
  refused(texts("BUFFER_SIZE 4096\n"), "config.txt:20: BUFFER_SIZE: it is 4 GiB or more");
  refused(texts("PACKET_PAYLOAD_SIZE 65537\n"), "config.txt:20: PACKET_PAYLOAD_SIZE: 65537 bytes");
  refused(texts("L2_ACK_INTERVAL 0\n"), "config.txt:20: L2_ACK_INTERVAL: 0 packets");
  refused(texts("SIMULATOR_STOP_TIME 1\n"),
          "config.txt:20: SIMULATOR_STOP_TIME: 1 s: no flow has begun");
  refused(texts("LINK_DOWN 1 0 1\n"), "config.txt:20: LINK_DOWN: no link joins 0 and 1");
  refused(texts("LOAD 0.3 MON_END 5\n"),
          "config.txt:20: MON_END: it is a key of SimAI, and LOAD is one of conweave-ns3");
  refused(texts("KMAX_MAP 2 5\n"), "config.txt:20: the file ends: KMAX_MAP is missing");
  HpccTexts from = texts();
  from.config.erase(from.config.find("CC_MODE"), sizeof("CC_MODE 1"));
  refused(from, "config.txt: CC_MODE is missing");
}

TEST(ImportHpcc, RefusesTopologiesAndFlows) {
  const auto refuses = [](std::string HpccTexts::*file, const std::string &name) {
    return [file, name](const std::string &text, const std::string &why) {
      HpccTexts from = texts();
      from.*file = text;
      refused(from, name + ":" + why);
    };
  };
  const auto topology = refuses(&HpccTexts::topology, "topology.txt");
  topology("", "1: the topology is empty");
  topology("4 1\n", "1: the first line has 2 words");
  topology("4 5 3\n", "1: switches: '5' is not a whole number from 0 to 4");
  topology("4 1 3\n9\n", "2: a switch: '9' is not a whole number from 0 to 3");
  topology("4 1 1\n3\n0 0 1Gbps 1us 0\n", "3: a link joins node 0 to itself");
  topology("4 1 1\n3\n0 3 1G 1us 0\n", "3: a link's rate: '1G' is not a rate");
  topology("4 1 1\n3\n0 3 1kbps 1us 0\n", "3: a link's rate is not from 1 Mbit/s to 10 Tbit/s");
  topology("4 1 1\n3\n0 3 1Gbps 11s 0\n", "3: a link's delay is above 1 s");
  topology("4 1 1\n3\n0 3 1Gbps 1y 0\n", "3: a link's delay: '1y' is not a time");
  topology("4 1 1\n3\n0 3 1Gbps 1us 2\n",
           "3: a link's error rate: '2' is not a number from 0 to 1");
  topology("4 1 2\n3\n0 3 1Gbps 1us 0\n", "3: the file ends: a node of a link is missing");
  const auto flows = refuses(&HpccTexts::flows, "flow.txt");
  flows("", "1: the file ends: the number of flows is missing");
  flows("1\n0 3 3 100 5 2\n", "2: node 3 is a switch");
  flows("1\n0 0 3 100 5 2\n", "2: a flow from host 0 to itself");
  flows("1\n0 1 8 100 5 2\n", "2: a flow's pg: '8' is not a whole number from 0 to 7");
  flows("2\n0 1 3 100 5 2.1\n0 1 3 100 5 2\n", "3: a flow starts before the one above it");
}

// Both flows end, the small one first.
TEST(ImportHpcc, FctIsWrittenAsScriptsReadIt) {
  const auto imported = import(texts());
  const auto experiment = read(imported);
  auto result = places::run_virtual(experiment, {}, "");
  ASSERT_TRUE(result) << result.error().message;
  auto text = importers::fct_text(imported, result->measured);
  ASSERT_TRUE(text) << text.error().message;
  // The flow of 30,000 bytes ends first.
  EXPECT_TRUE(text->starts_with("0b000201 0b000101 10000 100 30000 2000010000 ")) << text.get();
  EXPECT_NE(text->find("\n0b000001 0b000101 10000 100 1000000 2000000000 "), std::string::npos);
  EXPECT_TRUE(text->ends_with(" 88000\n")) << text.get();
  EXPECT_EQ(importers::fct_text(imported, {}).ok(), false);
}

// The simulator's time, but for the difference of headers: below 1 %.
TEST(ImportHpcc, ALoneFlowEndsWhenArithmeticSays) {
  HpccTexts from = texts();
  from.flows = "1\n0 1 3 100 1000000 2\n";
  const auto imported = import(from);
  auto result = places::run_virtual(read(imported), {}, "");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(imported.fct_flows.at(0).standalone_ns, 88'000U);
  EXPECT_NEAR(static_cast<double>(result->measured.flows.at(0).fct_ns.value_or(0)), 88'000, 880);
}

// mix/config.txt names its files from the directory above.
TEST(ImportHpcc, FindsTheFilesAboveTheConfig) {
  const std::filesystem::path top =
      std::filesystem::path(testing::TempDir()) / fmt::format("hpcc-{}", getpid());
  std::filesystem::create_directories(top / "mix");
  const HpccTexts from = texts();
  std::ofstream(top / "mix/t.txt") << from.topology;
  std::ofstream(top / "mix/f.txt") << from.flows;
  std::ofstream(top / "mix/trace.txt") << "2\n0 3\n";
  const std::string config = (top / "mix/config.txt").string();
  std::ofstream(config) << from.config << "TOPOLOGY_FILE mix/t.txt FLOW_FILE f.txt\n"
                        << "TRACE_FILE mix/trace.txt\n";
  const auto imported = importers::hpcc(config);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_TRUE(notes(imported.get(), "TRACE_FILE mix/trace.txt: nothing is traced here"));
  std::ofstream(config, std::ios::app) << "FLOW_FILE none.txt\n";
  const auto missing = importers::hpcc(config);
  ASSERT_FALSE(missing);
  EXPECT_TRUE(
      missing.error().message.ends_with("config.txt:22: FLOW_FILE: there is no file none.txt"))
      << missing.error().message;
  std::filesystem::remove_all(top);
}

// SimAI's topology beside its workload: GPU i is host ni, and those of a server meet at its
// NVSwitch.
TEST(ImportHpcc, ATopologyBesideAWorkload) {
  const test::Directory directory;
  const std::string topology = directory.file("topology"),
                    workload = directory.file("workload.txt");
  std::ofstream(topology) << "8 2 2 2 9 H100\n4 5 6 7\n"
                             "0 4 400Gbps 1us 0\n1 4 400Gbps 1us 0\n2 5 400Gbps 1us 0\n"
                             "3 5 400Gbps 1us 0\n0 6 100Gbps 1us 0\n1 7 100Gbps 1us 0\n"
                             "2 6 100Gbps 1us 0\n3 7 100Gbps 1us 0\n6 7 100Gbps 1us 0\n";
  std::ofstream(workload) << "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 "
                             "all_gpus: 4\n1\nl -1 1 ALLREDUCE 400000 1 NONE 0 1 NONE 0 1\n";
  EXPECT_TRUE(importers::is_hpcc_topology("\n9 2 2"));
  EXPECT_FALSE(importers::is_hpcc_topology("MICRO\n9"));
  const auto imported = importers::job_file("simai", workload, topology);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_TRUE(notes(imported.get(), "4 ranks"));
  const auto experiment = read(imported.get());
  auto result = places::run_virtual(experiment, {}, "");
  ASSERT_TRUE(result) << result.error().message;
  // by way of the NVSwitches alone: 2 x 200,000 bytes at 400 Gbit/s, and 4 us of links
  ASSERT_EQ(result->measured.jobs.size(), 1U);
  EXPECT_EQ(result->measured.jobs[0].left, 0U);
  EXPECT_LT(result->measured.duration_ns, 30'000U);
  for (const ExperimentQueue &queue : result->measured.queues)
    if (queue.name.starts_with("s6:") || queue.name.starts_with("s7:")) {
      EXPECT_EQ(queue.packets, 0U) << queue.name;
    }
  std::ofstream(workload) << "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 "
                             "all_gpus: 8\n1\nl -1 1 ALLREDUCE 400000 1 NONE 0 1 NONE 0 1\n";
  const auto larger = importers::job_file("simai", workload, topology);
  ASSERT_FALSE(larger);
  EXPECT_TRUE(larger.error().message.find("the job has 8 ranks") != std::string::npos)
      << larger.error().message;
}

} // namespace
} // namespace importers_hpcc_test
