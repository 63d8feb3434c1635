// SPDX-License-Identifier: Apache-2.0
// Experiments in virtual time whose right numbers are known beforehand: what a receiver took beside
// what was on the wire, one window for all columns of a row, selective repeat, verdicts.
#include <algorithm>
#include <fstream>
#include <numeric>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "experiment/experiment.h"
#include "places/run.h"

namespace experiment_run_test {
namespace {

using namespace xr;
using namespace xr::experiment;

ExperimentFile file(const std::string &name) {
  auto loaded = ExperimentFile::load(std::string(XR_TEST_DATA "/cases/") + name);
  EXPECT_TRUE(loaded.ok()) << name;
  return std::move(loaded).get();
}

Experiment read(const ExperimentFile &file, const Settings &settings = {}) {
  auto read = file.read(settings);
  EXPECT_TRUE(read.ok()) << read.error().message;
  return std::move(read).get();
}

ExperimentResult run(const ExperimentFile &file, const Settings &settings = {}) {
  auto result = places::run_virtual(read(file, settings), {}, "");
  EXPECT_TRUE(result.ok()) << result.error().message;
  return std::move(result).get();
}

// Go-back-N over a queue that overflows: the receiver throws away most of what arrives.
TEST(ExperimentRuns, GoodputIsWhatWasTaken) {
  const ExperimentResult result = run(file("gbn_collapse.yaml"));
  EXPECT_EQ(result.verdict, Verdict::Pass);
  double wire = 0, goodput = 0;
  for (const ExperimentFlow &flow : result.measured.flows) {
    EXPECT_NEAR(flow.goodput_bps, static_cast<double>(flow.bytes) * 8 / 0.1,
                1e-3 * flow.goodput_bps);
    wire += flow.wire_bps;
    goodput += flow.goodput_bps;
  }
  EXPECT_LE(wire, 25e9); // the line's rate
  EXPECT_GT(wire, 24.9e9);
  EXPECT_LT(goodput, 0.3e9);
}

// A frame that was on the line when the time began does not lift a rate above the line's.
TEST(ExperimentRuns, NothingIsFasterThanTheLine) {
  for (const char *rate : {"40gbit", "40gbit l1"}) {
    const ExperimentFile one(std::string("experiment: x\nduration: 2ms\nsample: 10us\n"
                                         "topology: {star: {senders: 1, rate: ") +
                                 rate +
                                 ", delay: 1us}}\ncongestion: none\n"
                                 "flows: [{from: all, to: receiver, words: write size 1M}]\n",
                             "f.yaml", "");
    std::vector<double> rates;
    places::RunHooks hooks;
    hooks.samples = [&](const std::vector<ExperimentSample> &samples, const Subject &) {
      for (const ExperimentSample &sample : samples)
        if (sample.column == std::string("wire_bps"))
          rates.push_back(sample.value);
      return Status();
    };
    const auto result = places::run_virtual(read(one), hooks, "");
    ASSERT_TRUE(result.ok());
    const ExperimentFlow &flow = result.get().measured.flows[0];
    EXPECT_GT(flow.wire_bps, 39.9e9) << rate;
    EXPECT_LE(flow.wire_bps, 40e9) << rate;
    EXPECT_LT(flow.goodput_bps, flow.wire_bps) << rate;
    EXPECT_EQ(rates.size(), 200U);
    EXPECT_LE(*std::ranges::max_element(rates), 40e9) << rate;
  }
}

// READs and atomics: what the requester took.
TEST(ExperimentRuns, GoodputOfReadsComesBack) {
  const ExperimentFile reads(R"(experiment: x
duration: 4ms
measure: {from: 0s}
topology: {star: {senders: 1, rate: 10gbit, delay: 1us}}
congestion: none
flows:
  - {from: sender-1, to: receiver, words: "read size 100k messages 10"}
  - {from: sender-1, to: receiver, words: "fetch-add messages 25"}
)",
                             "f.yaml", "");
  const ExperimentResult result = run(reads);
  EXPECT_EQ(result.measured.flows[0].bytes, 10 * 100'000U);
  EXPECT_EQ(result.measured.flows[1].bytes, 25 * 8U);
  for (const ExperimentFlow &flow : result.measured.flows) {
    EXPECT_GT(flow.wire_bps, flow.goodput_bps);
    EXPECT_GT(flow.goodput_bps, 0);
  }
}

// 10 s at 1,000 packets a second, a tenth is dropped, the second half is measured.
TEST(ExperimentRuns, ARowHasOneWindow) {
  const ExperimentResult result = run(file("window.yaml"));
  EXPECT_EQ(result.verdict, Verdict::Pass);
  const ExperimentMeasurement &measured = result.measured;
  EXPECT_EQ(measured.from_ns, 5'000'000'000U);
  EXPECT_EQ(measured.duration_ns, 10'000'000'000U);
  EXPECT_NEAR(static_cast<double>(measured.flows[0].packets), 5000, 1);
  EXPECT_EQ(measured.flows[0].drops, 500U);
  EXPECT_EQ(measured.rules[0].acted, 500U);
  EXPECT_NEAR(static_cast<double>(measured.flows[0].whole.packets), 10'000, 1);
  EXPECT_EQ(measured.flows[0].whole.drops, 1000U);
  EXPECT_EQ(measured.rules[0].whole.acted, 1000U);
  const WholeRun whole = whole_run(measured);
  EXPECT_EQ(whole.flows.drops, 1000U);
  EXPECT_EQ(whole.rules_acted, 1000U);
}

// Paths with up to 16 times the packets on the way that a responder kept until 0.9.
TEST(ExperimentRuns, SelectiveRepeatSendsWhatIsMissing) {
  for (const char *delay : {"5us", "100us", "2ms"}) {
    const auto with = [&](const char *way) {
      return run(file("selective.yaml"), {{"reliability.retransmit", way},
                                          {"topology.star.delay", delay},
                                          {"flows.1.words", "write size 1M messages 20"},
                                          {"reliability.timeout", "14"},
                                          {"duration", "9s"}})
          .measured.flows[0];
    };
    const ExperimentFlow selective = with("selective"), all = with("go-back-n");
    EXPECT_EQ(selective.retransmitted, selective.drops) << delay;
    EXPECT_EQ(selective.kept_no_room, 0U) << delay;
    ASSERT_TRUE(selective.fct_ns && all.fct_ns) << delay;
    // A lost retransmission waits for the timer in both; how often differs by chance.
    EXPECT_LE(static_cast<double>(*selective.fct_ns), 1.1 * static_cast<double>(*all.fct_ns))
        << delay;
    EXPECT_LT(selective.packets, all.packets) << delay;
  }
}

// A window that the file gives is what the responder keeps.
TEST(ExperimentRuns, AResponderKeepsTheWindow) {
  for (const char *window : {"64", "65536", "200000"}) {
    const ExperimentFlow flow =
        run(file("selective.yaml"), {{"topology.star.delay", "100ms"},
                                     {"reliability.timeout", "18"},
                                     {"reliability.window", window},
                                     {"flows.1.words", "write size 250M messages 1"},
                                     {"duration", "9s"}})
            .measured.flows[0];
    EXPECT_EQ(flow.kept_no_room, 0U) << window;
    EXPECT_GT(flow.retransmitted, 0U) << window;
    EXPECT_LE(flow.retransmitted, flow.drops) << window;
  }
}

TEST(ExperimentRuns, AStoppedFlowHasRateZero) {
  const ExperimentResult result = run(file("stop-sampled.yaml"));
  EXPECT_EQ(result.verdict, Verdict::Pass);
  for (const ExperimentCheck &check : result.checks)
    EXPECT_EQ(check.outcome, ExperimentCheck::Outcome::Holds) << check.text << check.why;
}

TEST(ExperimentRuns, CnpReplacesTheNotificationPoints) {
  EXPECT_TRUE(file("mixed.yaml").read({}).ok());
  for (const char *cnp : {"{interval: 50us}", "{}"}) {
    const auto refused = file("mixed.yaml").read({{"cnp", cnp}});
    ASSERT_FALSE(refused.ok()) << cnp;
    EXPECT_NE(refused.error().message.find("different notification points"), std::string::npos);
    EXPECT_NE(refused.error().hint.find("cnp: {mode: window, interval: 50us}"), std::string::npos);
  }
}

TEST(ExperimentRuns, TheModelPredictsOnlyWhatItDescribes) {
  const auto predicted = [](const Settings &settings) {
    Settings all = settings;
    all.emplace_back("schedule", "[]");
    return read(file("prediction.yaml"), all).prediction;
  };
  const ExperimentPrediction good = predicted({{"flows.1.words", "write size 1M"}});
  EXPECT_EQ(good.applies, "fixed point");
  EXPECT_EQ(good.why, "");
  for (const auto &[words, why] :
       {std::pair("read size 1M", "READs"), std::pair("fetch-add", "atomics"),
        std::pair("write size 1M ecn not-ect", "not ECN-capable"),
        std::pair("write size 1M rate 1gbit", "a rate of their own"),
        std::pair("write size 64", "shorter than a packet"),
        std::pair("write size 1M messages 2", "end"), std::pair("write size 1M for 5ms", "end")}) {
    const ExperimentPrediction none = predicted({{"flows.1.words", words}});
    EXPECT_EQ(none.applies, "none") << words;
    EXPECT_NE(none.why.find(why), std::string::npos) << words << ": " << none.why;
    EXPECT_FALSE(none.queue_bytes) << words;
  }
  EXPECT_NE(read(file("prediction.yaml")).prediction.why, ""); // a flow stops
  const ExperimentPrediction full = predicted({{"flows.1.words", "write size 1M"},
                                               {"topology.star.senders", "16"},
                                               {"queue.words", "buffer 12MB red 5k 200k 0.1%"}});
  EXPECT_EQ(full.applies, "kmax");
  EXPECT_NE(full.why.find("Pmax"), std::string::npos);
}

// Each flow starts at its start-rate, and the two share the queue.
TEST(ExperimentRuns, EveryAlgorithmHasAStartRate) {
  for (const char *algorithm : {"timely", "dcqcn"}) {
    const ExperimentFile two(std::string(R"(experiment: x
duration: 40ms
sample: 10us
topology: {star: {senders: 2, rate: 10gbit, delay: 1us}}
queue: {words: "buffer 4MB red 5k 200k 1%"}
flows:
  - {from: sender-1, to: receiver, words: "write size 1M", congestion: ")") +
                                 algorithm + R"( start-rate=70%"}
  - {from: sender-2, to: receiver, words: "write size 1M", congestion: ")" +
                                 algorithm + R"( start-rate=30%"}
)",
                             "f.yaml", "");
    std::vector<double> first(2);
    places::RunHooks hooks;
    hooks.samples = [&](const std::vector<ExperimentSample> &samples, const Subject &) {
      for (const ExperimentSample &sample : samples)
        if (sample.t_ns == 10'000 && sample.column == std::string("control_bps"))
          first[sample.row] = sample.value;
      return Status();
    };
    const auto result = places::run_virtual(read(two), hooks, "");
    ASSERT_TRUE(result.ok());
    EXPECT_NEAR(first[0], 7e9, 0.2e9) << algorithm;
    EXPECT_NEAR(first[1], 3e9, 0.2e9) << algorithm;
    EXPECT_GT(result.get().measured.queues[0].utilisation +
                  result.get().measured.queues.back().utilisation,
              0)
        << algorithm;
  }
}

// Reading a point costs the file without its sweep: 10,000 points take about as long as 10,000
// files without one, and 100 times as long as 100 points.
TEST(ExperimentRuns, APointIsReadWithoutTheSweep) {
  const std::string head = "experiment: x\n"
                           "duration: 1ms\n";
  const std::string tail = "topology: {star: {senders: 1, rate: 10gbit, delay: 1us}}\n"
                           "flows: [{from: all, to: receiver, words: write size 1k wrong}]\n";
  const auto sweep = [](size_t points, const char *end) {
    std::string text = "sweep:\n  seed:\n";
    for (size_t i = 1; i <= points; i++)
      text += fmt::format("    - {}\n", i);
    return text + end;
  };
  const ExperimentFile long_one(head + sweep(10'000, "") + tail, "f.yaml", "");
  const auto points = long_one.points({});
  ASSERT_TRUE(points.ok());
  ASSERT_EQ(points.get().size(), 10'000U);
  EXPECT_EQ(points.get().back(), (Settings{{"seed", "10000"}}));
  // Lines keep their numbers, wherever the sweep is.
  const auto wrong = long_one.read(points.get().back());
  ASSERT_FALSE(wrong.ok());
  EXPECT_TRUE(wrong.error().message.starts_with("f.yaml:10006: ")) << wrong.error().message;
  for (const std::string &text :
       {head + tail + sweep(2, ""), sweep(2, "") + head + tail, sweep(2, "# end\n") + head + tail,
        head + "sweep: {seed: [1, 2]}\n" + tail,
        std::string("{experiment: x, sweep: {seed: [1, 2]}}")})
    EXPECT_EQ(ExperimentFile(text, "f.yaml", "").points({}).get().size(), 2U) << text;
  EXPECT_FALSE(ExperimentFile(head + tail + sweep(2, "---\nx: 1\n"), "f.yaml", "").read({}).ok());
  // A setting of the sweep is not of a point.
  const ExperimentFile plain(head + sweep(2, "") + tail.substr(0, tail.find(" wrong")) + "}]\n",
                             "f.yaml", "");
  EXPECT_TRUE(plain.read({{"sweep", "{seed: [7]}"}, {"sweep.seed", "[8]"}}).ok());
  EXPECT_EQ(plain.points({{"sweep.seed", "[8]"}}).get().size(), 1U);
}

TEST(ExperimentRuns, AllToAllIsEachHostToEachOther) {
  const auto flows = [](const std::string &topology, const std::string &from,
                        const std::string &to) {
    const ExperimentFile one("experiment: x\nduration: 1ms\ntopology: " + topology +
                                 "\nflows: [{from: " + from + ", to: " + to +
                                 ", words: write size 1k messages 1}]\n",
                             "f.yaml", "");
    const auto made = one.read({});
    std::vector<std::string> names;
    if (made)
      for (const simulate::FlowSetup &flow : made.get().scenario.flows)
        names.push_back(flow.src + ">" + flow.dst);
    return names;
  };
  const std::string leaves =
      "{leaf-spine: {leaves: 2, spines: 2, hosts: 2, rate: 10gbit, delay: 1us}}";
  const auto all = flows(leaves, "all", "all");
  EXPECT_EQ(all.size(), 12U);
  for (const std::string &name : all)
    EXPECT_NE(name.substr(0, name.find('>')), name.substr(name.find('>') + 1));
  EXPECT_EQ(flows(leaves, "[host-1, host-2]", "[host-2, host-1]").size(), 2U); // in pairs
  EXPECT_EQ(flows(leaves, "[host-1, host-2]", "[host-1, host-2]").size(), 2U);
  EXPECT_EQ(flows("{star: {senders: 2, rate: 10gbit, delay: 1us}}", "all", "all").size(), 4U);
  EXPECT_EQ(flows(leaves, "host-1", "host-1").size(), 0U); // refused
}

} // namespace
} // namespace experiment_run_test
