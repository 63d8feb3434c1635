// SPDX-License-Identifier: Apache-2.0
// Experiment files: every key, names and order of flows, settings and sweeps, every error with its
// line, and what the theory is asked.
#include <algorithm>
#include <array>
#include <fstream>
#include <tuple>

#include <gtest/gtest.h>

#include "experiment/experiment.h"
#include "experiment/read.h"
#include "places/run.h"

namespace experiment_file_test {
namespace {

using namespace xr;
using namespace xr::experiment;

constexpr const char *kTopology = "topology: {star: {senders: 3, rate: 40gbit, delay: 2us}}\n";
constexpr const char *kFlows = "flows: [{from: all, to: receiver, words: write size 1M}]\n";
const std::string kHead = std::string("experiment: x\nduration: 10ms\n") + kTopology;

std::string words_of(const congestion::Control &control) {
  const congestion::ParameterSet *parameters = control.parameters();
  return std::string(control.word()) + (parameters ? " " + parameters->words() : "") + " " +
         control.rate.text;
}

Result<Experiment> read(const std::string &text, const Settings &settings = {}) {
  return ExperimentFile(text, "f.yaml", "").read(settings);
}

Experiment sound(const std::string &text, const Settings &settings = {}) {
  auto made = read(text, settings);
  EXPECT_TRUE(made.ok()) << made.error().message << " | " << made.error().hint;
  return made ? std::move(made).get() : Experiment();
}

std::string names_of(const Experiment &e) {
  std::string names;
  for (const simulate::FlowSetup &flow : e.scenario.flows)
    names += flow.name + ":" + flow.src + ">" + flow.dst + " ";
  return names;
}

TEST(ExperimentFiles, Collectives) {
  const std::string graph =
      "experiment: x\nuntil: done\ntopology: {leaf-spine: {leaves: 2, spines: "
      "2, hosts: 4, rate: 100gbit}}\n";
  const Experiment e =
      sound(graph +
            "collective:\n"
            "  - {kind: all_reduce, ranks: 4, size: 1M, iterations: 3, compute: 1ms, words: pmtu "
            "4096}\n"
            "  - {name: experts, kind: all_to_all, ranks: [host-8, host-7], size: 64k, skew: zipf "
            "1.5 seed 3, cts: {size: 32, slots: 2}}\n");
  ASSERT_EQ(e.scenario.jobs.size(), 2U);
  const job::Job &first = e.scenario.jobs[0].job, &second = e.scenario.jobs[1].job;
  EXPECT_EQ(first.name, "collective");
  EXPECT_EQ(first.kind, "all_reduce ring");
  EXPECT_EQ(first.hosts, (std::vector<std::string>{"host-1", "host-2", "host-3", "host-4"}));
  EXPECT_EQ(first.steps.size(), 3U);
  EXPECT_EQ(e.scenario.jobs[0].like.flow.pmtu, 4096U);
  EXPECT_EQ(e.scenario.jobs[0].like.flow.verb, packet::Verb::WriteImmediate);
  EXPECT_EQ(second.hosts, (std::vector<std::string>{"host-8", "host-7"}));
  EXPECT_EQ(e.subject.jobs, (std::vector<std::string>{"collective", "experts"}));
  EXPECT_TRUE(e.scenario.until_done);
  EXPECT_EQ(e.scenario.measure_from_ns, 0U);
  // of each pair: data and clear-to-sends
  EXPECT_EQ(std::ranges::count(e.subject.flows, "experts:1-0.cts"), 1);
  EXPECT_EQ(e.subject.flows.size(), 4U + 4U);
}

TEST(ExperimentFiles, CollectivesAreRefusedWithLineAndHint) {
  const std::string head = "experiment: x\nuntil: done\ntopology: {star: {senders: 3, rate: "
                           "40gbit}}\ncollective: ";
  for (const auto &[value, message] : std::vector<std::pair<std::string, std::string>>{
           {"{kind: gossip, size: 1M}", "'gossip' is not a kind of collective"},
           {"{kind: all_reduce}", "the collective has no size"},
           {"{kind: all_reduce, size: 1M, ranks: 9}", "9 ranks do not have a host each"},
           {"{kind: all_reduce, size: 1M, ranks: [nobody, receiver]}", "there is no host 'nobody'"},
           {"{kind: all_reduce, size: 1M, algorithm: tree}", "all_reduce has no algorithm 'tree'"},
           {"{kind: all_reduce, size: 1M, ranks: 3, algorithm: halving-doubling}",
            "halving-doubling needs 2, 4, 8, ... ranks"},
           {"{kind: all_reduce, size: 1M, late: [{rank: 7, by: 1us}]}", "late: there is no rank 7"},
           {"{kind: all_reduce, size: 1M, late: [{rank: 1}]}", "by how much is missing"},
           {"{kind: all_to_all, size: 1M, skew: [[1, 2]]}", "the matrix does not have 4 rows of 4"},
           {"{kind: all_reduce, size: 1M, skew: zipf 1}", "only all_to_all parallel"},
           {"{kind: broadcast, size: 1M, root: 4}", "there is no rank 4"},
           {"{kind: broadcast, size: 1M, placement: anywhere}", "'anywhere' is not a placement"},
           {"{kind: all_to_all, size: 1M, node: 3}", "4 ranks do not fill nodes of 3"},
           {"7", "it is not a map or a list of maps"}}) {
    const auto made = read(head + value + "\n");
    ASSERT_FALSE(made.ok()) << value;
    EXPECT_NE(made.error().message.find("f.yaml:4: "), std::string::npos) << made.error().message;
    EXPECT_NE(made.error().message.find(message), std::string::npos) << made.error().message;
    EXPECT_FALSE(made.error().hint.empty()) << value;
  }
}

TEST(ExperimentFiles, FlowsAfterOthers) {
  const std::string flows = kHead + "flows:\n  - {name: a, from: sender-1, to: receiver}\n"
                                    "  - {name: b, from: sender-2, to: receiver}\n"
                                    "  - {name: c, from: sender-3, to: receiver, after: ";
  const Experiment e = sound(flows + "[2 of, a received, b sent, a started, 2ms, 1us]}\n");
  const simulate::FlowSetup &setup = e.scenario.flows[2];
  using When = job::Need::When;
  ASSERT_EQ(setup.after.size(), 3U);
  EXPECT_EQ(setup.after[0].when, When::Complete);
  EXPECT_EQ(setup.after[1].when, When::Sent);
  EXPECT_EQ(setup.after[2].when, When::Begun);
  EXPECT_EQ(setup.fewest, 2U);
  EXPECT_EQ(setup.after_ns, 2'001'000U);
  EXPECT_EQ(sound(flows + "[any, a sent]}\n").scenario.flows[2].fewest, 1U);
  for (const char *wrong : {"[c received]", "[a arrived]", "[2ms]", "[3 of, a sent, b sent]",
                            "[a received b]", "[some]"}) {
    const auto made = read(flows + wrong + "}\n");
    ASSERT_FALSE(made.ok()) << wrong;
    EXPECT_NE(made.error().message.find("f.yaml:7: after: "), std::string::npos)
        << made.error().message;
    EXPECT_FALSE(made.error().hint.empty()) << wrong;
  }
}

// Found beside the experiment, named once or twice.
TEST(ExperimentFiles, Traces) {
  const std::string directory = testing::TempDir();
  std::ofstream(directory + "/opportunities") << "1\n3\n";
  std::ofstream(directory + "/wrong") << "1\nx\n";
  const auto with = [&](const std::string &name) {
    return ExperimentFile(kHead + "queue: {bottleneck: trace opportunities}\n" + kFlows +
                              "schedule: [{at: 1ms, do: link bottleneck trace " + name + "}]\n",
                          "f.yaml", directory)
        .read({});
  };
  Result<Experiment> good = with("opportunities");
  ASSERT_TRUE(good.ok()) << good.error().message;
  ASSERT_EQ(good->scenario.traces.size(), 1U);
  EXPECT_EQ(*good->scenario.traces.at("opportunities"),
            (std::vector<uint64_t>{1'000'000, 3'000'000}));
  EXPECT_EQ(with("wrong").error().message,
            "f.yaml:6: link switch:receiver: wrong: line 2 of the trace is 'x'");
}

TEST(ExperimentFiles, Graphs) {
  const std::string head = "experiment: x\nduration: 10ms\n",
                    flows = "flows: [{from: all, to: b, words: write size 1M}]\n";
  const Experiment e = sound(head +
                             "topology: {graph: {switches: [s, t], delay: 3us, links: [[a, s, "
                             "10gbit], [s, t, 40gbit, 5us], [t, b, 20gbit]]}}\n" +
                             flows);
  const simulate::Topology &t = e.scenario.topology;
  ASSERT_EQ(t.graph.links.size(), 3U);
  EXPECT_EQ(t.graph.links[0].delay, 3000U);
  EXPECT_EQ(t.graph.links[1].delay, 5000U);
  EXPECT_EQ(t.rate, 40'000'000'000U);
  EXPECT_EQ(names_of(e), "flow-1:a>b ");
  const auto error = [&](const std::string &graph) {
    return read(head + "topology: {graph: {" + graph + "}}\n" + flows).error().message;
  };
  EXPECT_EQ(error("switches: [s], links: [[a, s], [b, s]]"), "f.yaml:3: the link a-s has no rate");
  EXPECT_EQ(error("rate: 1gbit, links: [[a]]"),
            "f.yaml:3: links: a link is not a list of 2 to 4 words");
  EXPECT_EQ(error("rate: 1gbit, links: x"), "f.yaml:3: links: it is not a list");
  EXPECT_EQ(error("rate: 1gbit, switches: s"), "f.yaml:3: switches: it is not a list");
  EXPECT_EQ(sound(head + "topology: {fat-tree: {k: 2, rate: 1gbit, oversubscription: 2}}\n" +
                  "flows: [{from: host-1, to: host-2, words: write size 1M}]\n")
                .scenario.topology.oversubscription,
            2U);
}

TEST(ExperimentFiles, Routings) {
  const std::string head = kHead + kFlows;
  using Routing = simulate::Routing;
  const auto routing = [&](const std::string &text) {
    return sound(head + "routing: " + text + "\n").scenario.routing;
  };
  EXPECT_EQ(sound(head).scenario.routing.kind, Routing::Kind::Ecmp);
  for (const char *text : {"ecmp 5-tuple+qpn seed 7", "{ecmp: {fields: 5-tuple+qpn, seed: 7}}"}) {
    EXPECT_EQ(routing(text).fields, Routing::Fields::Qpn) << text;
    EXPECT_EQ(routing(text).seed, 7U) << text;
  }
  EXPECT_EQ(routing("ecmp seed 3").seed, 3U);
  EXPECT_EQ(routing("{spray: random}").kind, Routing::Kind::SprayRandom);
  EXPECT_EQ(routing("spray round-robin").kind, Routing::Kind::SprayRoundRobin);
  EXPECT_EQ(routing("{flowlet: 50us}").gap_ns, 50'000U);
  EXPECT_EQ(routing("flowlet 50us\nreroute: 10ms").reroute_ns, 10'000'000U);
  EXPECT_TRUE(sound(head + "reliability: {reorder: accept}\n").scenario.reorder);
  EXPECT_EQ(read(head + "routing: spry\n").error().message,
            "f.yaml:5: routing: 'spry' is not a routing");
  EXPECT_EQ(read(head + "routing: ecmp 5-tuple 6\n").error().message,
            "f.yaml:5: routing: '6' is not seed N or the end");
}

TEST(ExperimentFiles, LinksFail) {
  const std::string head = kHead + kFlows + "schedule: [{at: 1ms, do: link ";
  const Experiment e = sound(head + "sender-1-switch down}, {at: 2ms, do: link bottleneck up}]\n");
  ASSERT_EQ(e.scenario.schedule.size(), 2U);
  EXPECT_EQ(e.scenario.schedule[0].kind, simulate::Event::Kind::Down);
  EXPECT_EQ(e.scenario.schedule[0].target, "sender-1:switch");
  EXPECT_EQ(e.scenario.schedule[1].kind, simulate::Event::Kind::Up);
  EXPECT_EQ(read(head + "x-y down}]\n").error().message,
            "f.yaml:5: do: link: there is no link 'x-y'");
}

TEST(ExperimentFiles, AllKeys) {
  const Experiment e = sound(R"(experiment: all keys
seed: 7
duration: 40ms
sample: 100us
measure: {from: 30ms}
topology:
  dumbbell: {senders: 2, rate: 10gbit l1, delay: 3us, core-rate: 5gbit, core-delay: 7us}
queue:
  words: "buffer 2MB red 5k 200k 1%"
  bottleneck: "rate 1gbit step 30k"
congestion: dcqcn preset hpcc rai=7
reliability: {window: 99, timeout: 5, retries: 3, rnr-retries: 2, retransmit: selective}
flows:
  - {from: all, to: [receiver-1, receiver-2], words: "write size 1M qps 2"}
  - {name: odd, from: sender-1, to: receiver-2, words: send size 4k start 3ms, congestion: fixed 1gbit,
     reliable: false, stop: 20ms}
rules: ["drop name lose", {link: "receiver-1:right", words: probability 1% ce}]
cnp: {mode: window, interval: 9us, scope: pair}
capture: [{at: right}]
schedule:
  - {at: 20ms, do: "stop odd"}
  - {at: 15ms, do: "impair right:left add every 3 drop"}
  - {at: 10ms, do: "impair del lose"}
  - {at: 5ms, do: "start flow 2"}
  - {at: 6ms, do: "link bottleneck rate 2gbit"}
  - {at: 7ms, do: "flap right:receiver-1 1ms"}
  - {at: 8ms, do: "pfc left:right 3,5-6 for 2ms"}
expect:
  - "jain(flows.goodput_bps) > 0.5"
  - {fail: "drops != 0"}
)");
  const simulate::Scenario &s = e.scenario;
  EXPECT_EQ(e.name, "all keys");
  EXPECT_EQ(s.seed, 7U);
  EXPECT_EQ(s.duration_ns, 40'000'000U);
  EXPECT_EQ(s.sample_ns, 100'000U);
  EXPECT_EQ(s.measure_from_ns, 30'000'000U);
  EXPECT_EQ(s.topology.kind, simulate::Topology::Kind::Dumbbell);
  EXPECT_TRUE(s.topology.layer1);
  EXPECT_EQ(s.topology.core_rate, 5'000'000'000U);
  EXPECT_EQ(s.topology.core_delay, 7000U);
  EXPECT_EQ(s.queue.aqm.high, 200'000U);
  EXPECT_EQ(s.queues.at("left:right").rate, 1'000'000'000U);
  EXPECT_EQ(s.reliability.window, 99U);
  EXPECT_EQ(s.reliability.timeout_code, 5U);
  EXPECT_EQ(s.reliability.retries, 3U);
  EXPECT_EQ(s.reliability.rnr_retries, 2U);
  EXPECT_EQ(names_of(e),
            "flow-1:sender-1>receiver-1 flow-2:sender-2>receiver-2 odd:sender-1>receiver-2 ");
  EXPECT_EQ(s.flows[0].flow.control.kind, congestion::Control::Kind::Dcqcn);
  EXPECT_EQ(s.flows[2].flow.control.kind, congestion::Control::Kind::Fixed);
  EXPECT_EQ(s.flows[2].start_ns, 3'000'000U);
  EXPECT_EQ(s.flows[2].stop_ns, 20'000'000U);
  EXPECT_FALSE(s.flows[2].reliable);
  EXPECT_TRUE(s.flows[0].started);
  EXPECT_FALSE(s.flows[1].started);
  EXPECT_EQ(s.cnp.mode, congestion::NpMode::Window); // HPCC's is echo
  EXPECT_EQ(s.cnp.interval_ns, 9000U);
  EXPECT_EQ(s.cnp.scope, congestion::CnpScope::Pair);
  EXPECT_TRUE(s.reliability.selective);
  ASSERT_EQ(e.rules.all.size(), 3U);
  EXPECT_EQ(e.rules.all[0].name, "lose");
  EXPECT_EQ(e.rules.all[0].link, "left:right");
  EXPECT_EQ(e.rules.all[1].name, "rule-2");
  EXPECT_EQ(e.rules.all[1].link, "receiver-1:right");
  EXPECT_NE(e.rules.all[1].spec.text().find(" seed 9 "), std::string::npos)
      << e.rules.all[1].spec.text();
  EXPECT_FALSE(e.rules.all[2].from_start);
  ASSERT_EQ(e.rules.changes.size(), 2U);
  EXPECT_EQ(e.rules.changes[0].kind, RuleChange::Kind::Delete);
  EXPECT_EQ(e.rules.changes[1].rule, 2U);
  EXPECT_EQ(e.subject.rules, (std::vector<std::string>{"lose", "rule-2", "rule-3"}));
  ASSERT_EQ(e.captures.size(), 1U);
  EXPECT_EQ(e.captures[0].port, CaptureSetup::Point::Right);
  EXPECT_FALSE(e.analyze);
  using Kind = simulate::Event::Kind;
  ASSERT_EQ(s.schedule.size(), 5U);
  EXPECT_EQ(s.schedule[0].kind, Kind::Start); // by time
  EXPECT_EQ(s.schedule[0].target, "flow-2");
  EXPECT_EQ(s.schedule[1].kind, Kind::Link);
  EXPECT_EQ(s.schedule[1].link.rate, 2'000'000'000U);
  EXPECT_EQ(s.schedule[2].kind, Kind::Flap);
  EXPECT_EQ(s.schedule[2].duration_ns, 1'000'000U);
  EXPECT_EQ(s.schedule[3].priorities, 1U << 3 | 1U << 5 | 1U << 6);
  EXPECT_EQ(s.schedule[3].target, "left:right");
  EXPECT_EQ(s.schedule[4].kind, Kind::Stop);
  ASSERT_EQ(e.expectations.size(), 2U);
  EXPECT_EQ(e.expectations[1].text(), "none(flows, drops != 0)");
}

TEST(ExperimentFiles, Defaults) {
  const Experiment e = sound(kHead + kFlows);
  EXPECT_EQ(e.scenario.seed, 1U);
  EXPECT_EQ(e.scenario.measure_from_ns, 5'000'000U); // the second half
  EXPECT_EQ(e.scenario.sample_ns, 0U);
  EXPECT_EQ(names_of(e),
            "flow-1:sender-1>receiver flow-2:sender-2>receiver flow-3:sender-3>receiver ");
  EXPECT_EQ(e.scenario.flows[0].flow.control.kind, congestion::Control::Kind::None);
  EXPECT_EQ(e.subject.aliases.at("bottleneck"), "switch:receiver");
  EXPECT_EQ(e.prediction.why, "the flows are not of dcqcn");
}

TEST(ExperimentFiles, NamesOfFlows) {
  const Experiment e = sound(kHead + R"(flows:
  - {name: a, from: all, to: receiver, words: write}
  - {from: sender-2, to: [sender-1, receiver], words: write}
)");
  EXPECT_EQ(names_of(e), "a-1:sender-1>receiver a-2:sender-2>receiver a-3:sender-3>receiver "
                         "flow-4:sender-2>sender-1 flow-5:sender-2>receiver ");
}

TEST(ExperimentFiles, TheoryOfOneBottleneck) {
  const std::string queue = "queue: {words: buffer 12MB red 5k 200k 1%}\ncongestion: dcqcn\n";
  const ExperimentPrediction p =
      sound("experiment: x\nduration: 10ms\ntopology: {star: {senders: 2, rate: 40gbit, delay: "
            "1us}}\n" +
            queue + "flows: [{from: all, to: receiver, words: write size 1M frame-size 1062}]\n")
          .prediction;
  EXPECT_EQ(p.why, "");
  EXPECT_EQ(p.applies, "fixed point");
  EXPECT_NEAR(p.queue_bytes.value_or(0), 20.8e3, 1.5e3); // congestion.md, reference runs
  EXPECT_NEAR(p.share_bps.value_or(0), 20e9, 1);
  for (const auto &[text, why] : std::initializer_list<std::pair<std::string, const char *>>{
           {kHead + "congestion: dcqcn\n" + kFlows, "does not mark by RED"},
           {kHead + queue + "flows: [{from: all, to: receiver, words: write messages 3}]\n",
            "the flows end"},
           {kHead + queue + "flows: [{from: sender-1, to: sender-2, words: write}]\n",
            "not all flows go to the receiver"},
           {kHead + queue +
                "flows: [{from: all, to: receiver, words: write}, {from: sender-1, to: receiver, "
                "words: write cc dcqcn rai=1}]\n",
            "different congestion control"},
           {"experiment: x\nduration: 1ms\ntopology: {dumbbell: {senders: 2, rate: 10gbit, "
            "core-rate: "
            "100gbit}}\n" +
                queue + "flows: [{from: all, to: [receiver-1, receiver-2], words: write}]\n",
            "narrower than their share"},
           {"experiment: x\nduration: 1ms\ntopology: {leaf-spine: {rate: 1gbit}}\n" + queue +
                "flows: [{from: host-1, to: host-2, words: write}]\n",
            "no single bottleneck"}})
    EXPECT_NE(sound(text).prediction.why.find(why), std::string::npos)
        << sound(text).prediction.why;
}

TEST(ExperimentFiles, SettingsAndSweeps) {
  const std::string text =
      kHead + kFlows + "sweep: {topology.star.senders: [1, 2], seed: [5, 6]}\n";
  const ExperimentFile file(text, "f.yaml", "");
  const auto points = file.points({});
  ASSERT_TRUE(points.ok()) << points.error().message;
  ASSERT_EQ(points.get().size(), 4U);
  EXPECT_EQ(points.get()[1], (Settings{{"topology.star.senders", "1"}, {"seed", "6"}}));
  const auto last = file.read(points.get()[3]);
  ASSERT_TRUE(last.ok()) << last.error().message;
  EXPECT_EQ(last.get().scenario.flows.size(), 2U);
  EXPECT_EQ(last.get().scenario.seed, 6U);
  EXPECT_EQ(file.points({{"sweep", "{}"}}).get().size(), 1U);
  const auto replaced = file.points({{"seed", "9"}});
  ASSERT_FALSE(replaced.ok());
  EXPECT_NE(replaced.error().message.find("seed is also set on the command line"),
            std::string::npos)
      << replaced.error().message;
  EXPECT_TRUE(file.points({{"duration", "9ms"}}).ok());

  const auto texts = [&](const std::string &sweep) {
    std::string all;
    const auto made = ExperimentFile(kHead + kFlows +
                                         "vars: {low: 5mbit, n: 2}\nsample: \"{n}ms\"\n"
                                         "queue: {bottleneck: \"rate {low}\"}\nsweep: {" +
                                         sweep + "}\n",
                                     "f.yaml", "")
                          .points({});
    EXPECT_TRUE(made.ok()) << sweep << ": " << made.error().message;
    if (made)
      for (const Settings &point : made.get()) {
        for (const auto &[key, value] : point)
          all += key + "=" + value + " ";
        all += "| ";
      }
    return all;
  };
  EXPECT_EQ(texts("x: 1..3"), "x=1 | x=2 | x=3 | ");
  EXPECT_EQ(texts("x: 5mbit..250mbit/3"), "x=5mbit | x=127.5mbit | x=250mbit | ");
  EXPECT_EQ(texts("x: 900kbit..1mbit/2"), "x=900kbit | x=1000kbit | ");
  EXPECT_EQ(texts("x: {x2: 1k..5k}"), "x=1k | x=2k | x=4k | ");
  EXPECT_EQ(texts("x: {x10: 1e-6..0.001}"), "x=1e-06 | x=1e-05 | x=0.0001 | x=0.001 | ");
  EXPECT_EQ(texts("seeds: [7, 8], zip: {x: 1..2, y: [a, b]}"),
            "x=1 y=a seed=7 | x=1 y=a seed=8 | x=2 y=b seed=7 | x=2 y=b seed=8 | ");
  EXPECT_EQ(texts("x: \"{low}..{4*low}/2\", n: [1]"), "x=5mbit n=1 | x=20mbit n=1 | ");
  EXPECT_EQ(
      sound(kHead + kFlows + "vars: {n: 2}\nsample: \"{n}ms\"\n", {{"n", "3"}}).scenario.sample_ns,
      3'000'000U);
  EXPECT_EQ(file.points({{"sweep.topology.star.senders", "1..3"}, {"sweep.seed", "[1]"}})->size(),
            3U);

  const Experiment set = sound(kHead + kFlows, {{"flows.1.words", "send size 4k"},
                                                {"duration", "20ms"},
                                                {"measure.from", "15ms"},
                                                {"seed", "3"},
                                                {"seed", "4"}});
  EXPECT_EQ(set.scenario.flows[0].flow.verb, packet::Verb::Send);
  EXPECT_EQ(set.scenario.measure_from_ns, 15'000'000U);
  EXPECT_EQ(set.scenario.seed, 4U);
  EXPECT_EQ(parse_setting("a=b=c").get(), (std::pair<std::string, std::string>("a", "b=c")));
  EXPECT_FALSE(parse_setting("a").ok());
  EXPECT_FALSE(parse_setting("=a").ok());
}

struct Refusal {
  std::string text;
  const char *message, *hint = "";
  Settings settings = {};
};
void refused(const Refusal &one) {
  const auto made = read(one.text, one.settings);
  ASSERT_FALSE(made.ok()) << one.text;
  EXPECT_NE(made.error().message.find(one.message), std::string::npos)
      << one.text << ": " << made.error().message;
  EXPECT_NE(made.error().hint.find(one.hint), std::string::npos)
      << one.text << ": " << made.error().hint;
}

// Variables in texts, alone and in arithmetic, with their units.
TEST(ExperimentFiles, Variables) {
  const std::string text = R"(experiment: "{words} {x y}"
vars:
  rate: 40gbit
  rtt: 8us
  bdp: "{rate}*{rtt}"
  rai: "{rate}/1000"
  words: a test
  n: 3
duration: 10ms
measure: {from: "500*{rtt}"}
topology: {star: {senders: {n}, rate: {rate}, delay: "{rtt}/4"}}
queue: {words: "buffer {2 * bdp + 1k} red 1k {bdp/2} 1%"}
congestion: dcqcn preset paper rai={rai}
reliability: {window: "{bdp}/1000b"}
flows: [{from: all, to: receiver, words: write size 1M, start: {rtt}}]
expect: ["sum(flows.drops) == {n} - 3"]
)";
  const Experiment e = sound(text);
  const simulate::Scenario &s = e.scenario;
  EXPECT_EQ(e.name, "a test {x y}");
  EXPECT_EQ(s.measure_from_ns, 4'000'000U);
  EXPECT_EQ(s.topology.senders, 3U);
  EXPECT_EQ(s.topology.rate, 40'000'000'000U);
  EXPECT_EQ(s.topology.delay, 2000U);
  EXPECT_EQ(s.queue.buffer, 81'000U);
  EXPECT_EQ(s.queue.aqm.high, 20'000U);
  EXPECT_EQ(s.reliability.window, 40U);
  EXPECT_EQ(s.flows[0].start_ns, 8000U);
  EXPECT_EQ(words_of(s.flows[0].flow.control),
            words_of(read_congestion("dcqcn preset paper rai=40mbit").get()));
  EXPECT_EQ(e.expectations[0].text(), "sum(flows.drops) == 3 - 3");
  EXPECT_TRUE(ExperimentFile(text, "f.yaml", "").points({}).ok());

  // Values of --set come first, whatever is computed from them follows.
  const Experiment set = sound(text, {{"rate", "10gbit"}, {"n", "2"}, {"vars.rtt", "4us"}});
  EXPECT_EQ(set.scenario.topology.rate, 10'000'000'000U);
  EXPECT_EQ(set.scenario.flows.size(), 2U);
  EXPECT_EQ(set.scenario.reliability.window, 5U);
  EXPECT_EQ(sound(text, {{"duration", "2000*{rtt}"}}).scenario.duration_ns, 16'000'000U);
  // Without variables braces are a text.
  EXPECT_EQ(sound("experiment: \"{a}\"\nduration: 1ms\n" + std::string(kTopology) + kFlows).name,
            "{a}");
}

TEST(ExperimentFiles, CalculationsKeepUnits) {
  const std::string vars = "vars: {r: 40gbit, t: 8us, s: 10k, n: 3, p: 10%}\n";
  for (const auto &[text, value] : std::initializer_list<std::pair<const char *, const char *>>{
           {"{r}/8", "5gbit"},
           {"{r/1000}", "0.04gbit"},
           {"{r * t}", "40k"},
           {"{s/r}", "2us"},
           {"{s/t}", "10gbit"},
           {"{p*r}", "4gbit"},
           {"{t + 1ms - 500ns}", "1007.5us"},
           {"{r/10gbit}", "4"},
           {"-2*({n}+1.5)", "-9"},
           {"{p} + 2%", "12%"},
           {"{n}/{n-1}", "1.5"},
           {"{n}-{n}x", "3-3x"},
           {"{n} of {s}", "3 of 10k"},
           {"{{n}}", "{3}"},
           {"{3} {n", "{3} {n"}})
    EXPECT_EQ(sound("experiment: \"" + std::string(text) + "\"\nduration: 1ms\n" + kTopology +
                    kFlows + vars)
                  .name,
              value)
        << text;
  // A setting makes and uses variables too.
  EXPECT_EQ(sound(kHead + kFlows,
                  {{"topology.star.senders", "{n}/1"}, {"n", "3"}, {"vars", "{n: 2}"}, {"n", "1"}})
                .scenario.flows.size(),
            1U);
  EXPECT_TRUE(ExperimentFile(kHead + kFlows, "f.yaml", "")
                  .points({{"vars", "{n: 2}"}, {"topology.star.senders", "{n}"}})
                  .ok());
}

TEST(ExperimentFiles, VariablesAreRefusedWithLineAndHint) {
  const auto with = [](const std::string &vars, const std::string &rest) {
    return kHead + kFlows + "vars: {" + vars + "}\n" + rest;
  };
  for (const Refusal &one : std::initializer_list<Refusal>{
           {with("rate: 1gbit", "seed: \"{rat}\"\n"), "f.yaml:6: there is no variable 'rat'",
            "did you mean rate?"},
           {with("a: \"{b}\", b: 1", "seed: \"{a}{b}\"\n"), "f.yaml:5: vars: there is no variable"},
           {with("seed: 1", ""), "f.yaml:5: vars: 'seed' is also a key of the file"},
           {with("a: 1, a: 2", ""), "vars: a is given twice"},
           {with("a-b: 1", ""), "vars: 'a-b' is not a variable's name"},
           {with("a: [1]", ""), "vars: a: a value is needed"},
           {kHead + "vars: 5\n", "f.yaml:4: vars: it is not a map"},
           {with("a: 1", "seed: \"{a}/0\"\n"), "f.yaml:6: 1 / 0: a division by 0"},
           {with("a: 1e300", "seed: \"{a}*{a}\"\n"), "the result is too large"},
           {with("a: 1us", "seed: \"{a} + 1\"\n"), "1us + 1: these units do not fit"},
           {with("a: x", "seed: \"{a} + 1\"\n"), "{a}: 'x' is not a number with a unit"},
           {with("a: x", "seed: {a}\n"), "f.yaml:6: seed: 'x' is not a whole number"},
           {with("rate: 1", "seed: {rate}\n"),
            "--set raet: 'raet' is not a variable",
            "did you mean rate?",
            {{"raet", "2"}}},
       })
    refused(one);
  const auto unused =
      ExperimentFile(with("a: 1, b: \"{a}\"", "seed: {a}\n"), "f.yaml", "").points({});
  ASSERT_FALSE(unused.ok());
  EXPECT_EQ(unused.error().message, "f.yaml:5: vars: b is not used");
}

// Parameters as keys are the words.
TEST(ExperimentFiles, ParametersOfCongestionControl) {
  const auto control = [](const std::string &congestion, const Settings &settings = {}) {
    const auto made = read(
        kHead + (congestion.empty() ? "" : "congestion: " + congestion + "\n") + kFlows, settings);
    return made ? Result(made.get().scenario.flows[0].flow.control)
                : Result<congestion::Control>(made.error());
  };
  const std::string wanted =
      words_of(read_congestion("dcqcn preset nvidia rai=40mbit g=0.01").get());
  for (const auto &[text, settings] : std::initializer_list<std::pair<std::string, Settings>>{
           {"{dcqcn: {rai: 40mbit, preset: nvidia, g: 0.01}}", {}},
           {"dcqcn preset nvidia rai=40mbit g=0.01", {}},
           {"dcqcn rai=40mbit", {{"congestion.g", "0.01"}, {"congestion.preset", "nvidia"}}},
           {"dcqcn preset paper rai=9mbit g=0.01",
            {{"congestion.dcqcn.preset", "nvidia"}, {"congestion.dcqcn.rai", "40mbit"}}},
           {"{dcqcn: {preset: nvidia, rai: 9mbit}}",
            {{"congestion.rai", "40mbit"}, {"congestion.g", "0.01"}}},
           {"",
            {{"congestion.dcqcn.preset", "nvidia"},
             {"congestion.rai", "40mbit"},
             {"congestion.g", "0.01"}}},
           {"timely",
            {{"congestion", "{dcqcn: {preset: nvidia, g: 0.01}}"}, {"congestion.rai", "40mbit"}}},
           {"none",
            {{"flows.1.congestion", "dcqcn preset nvidia g=0.01"},
             {"flows.1.congestion.rai", "40mbit"}}}}) {
    const auto made = control(text, settings);
    ASSERT_TRUE(made.ok()) << text << ": " << made.error().message;
    EXPECT_EQ(words_of(made.get()), wanted) << text;
  }
  EXPECT_EQ(control("{fixed: 1gbit}").get().kind, congestion::Control::Kind::Fixed);
  EXPECT_EQ(control("{timely: }").get().kind, congestion::Control::Kind::Timely);
  EXPECT_EQ(words_of(control("{dcqcn: {line: 5gbit}}").get()),
            words_of(read_congestion("dcqcn line 5gbit").get()));
  for (const auto &[text, settings, message] :
       std::initializer_list<std::tuple<const char *, Settings, const char *>>{
           {"{dcqcn: {raii: 4}}", {}, "f.yaml:4: congestion: "},
           {"{dcqcn: [1]}", {}, "f.yaml:4: congestion: dcqcn: it is not a map of parameters"},
           {"{dcqcn: {}, timely: {}}", {}, "f.yaml:4: congestion: one algorithm is needed"},
           {"{dcqcn: {rai: 4 preset}}", {}, "congestion: rai: '4 preset' is not a value"},
           {"dcqcn", {{"congestion.raii", "4"}}, "f.yaml: --set congestion.raii: congestion: "},
           {"dcqcn",
            {{"congestion.timely.beta", "4"}},
            "the congestion control is dcqcn, not timely"},
           {"", {{"congestion.rai", "4"}}, "there is no congestion control in the file"}}) {
    const auto made = control(text, settings);
    ASSERT_FALSE(made.ok()) << text;
    EXPECT_NE(made.error().message.find(message), std::string::npos) << made.error().message;
  }
}

TEST(ExperimentFiles, AreRefusedWithLineAndHint) {
  const std::string all = kHead + kFlows;
  const auto flow = [](const std::string &keys) { return kHead + "flows: [{" + keys + "}]\n"; };
  const auto schedule = [&](const std::string &what) {
    return all + "schedule: [{at: 1ms, do: \"" + what + "\"}]\n";
  };
  for (const Refusal &one : std::initializer_list<Refusal>{
           {"", "f.yaml:1: it is not an experiment"},
           {"a: [", "f.yaml:", "must be YAML"},
           {"duratoin: 1ms\n", "f.yaml:1: 'duratoin' is not a part of an experiment",
            "did you mean duration?"},
           {"seed: 1\nseed: 2\n", "f.yaml:2: seed is given twice"},
           {"seed: x\n", "f.yaml:1: seed: 'x' is not a whole number"},
           {"duration: 5\n", "f.yaml:1: duration: '5' is not a duration"},
           {"experiment: []\n", "experiment: a text is needed"},
           {"measure: 5ms\n", "'5ms' is not a map of a key of measure", "from"},
           {"topology: star\n", "is not a map"},
           {"topology: {ring: {}}\n", "'ring' is not a topology", "star"},
           {"topology: {}\n", "one topology is needed"},
           {"topology: {star: {rate: 1gbit}, dumbbell: {rate: 1gbit}}\n", "one topology is needed"},
           {"topology: {star: {}}\n", "the topology's links have no rate"},
           {"topology: {star: {rate: 1gbit l3}}\n", "'l3' is not l1 or l2"},
           {"topology: {star: {rate: 1gbit, senders: 0}}\n", "senders: '0' is not a whole number"},
           {"topology: {star: {rate: 1gbit, hops: 3}}\n", "'hops' is not a key of star"},
           {"topology: {parking-lot: {rate: 1gbit, hops: x}}\n", "hops: 'x'"},
           {"queue: {words: red}\n", "there is no topology"},
           {kHead + "queue: 5\n", "f.yaml:4: queue is not a map"},
           {kHead + "queue: {words: bufer 1M}\n", "words: 'bufer' is not a word of a link",
            "did you mean buffer?"},
           {kHead + "queue: {words: rate 1gbit}\n", "rate, delay and trace"},
           {kHead + "queue: {switch:reciever: buffer 1M}\n", "there is no queue 'switch:reciever'",
            "did you mean switch:receiver?"},
           {kHead + "queue: {bottleneck: trace /nowhere/t}\n" + kFlows,
            "f.yaml:4: queue switch:receiver: cannot open /nowhere/t", ""},
           {kHead + "congestion: bbr\n" + kFlows, "copa or plugin is missing", "timely"},
           {kHead + "congestion: dcqcn rai=40 foo\n" + kFlows, "'foo' is not a word of congestion"},
           {kHead + "reliability: {window: 0}\n" + kFlows, "window: '0'"},
           {kHead, "there are no flows"},
           {std::string("experiment: x\n") + kTopology + kFlows, "there is no duration"},
           {std::string("duration: 1ms\n") + kTopology + kFlows, "the experiment has no name"},
           {all + "measure: {from: 10ms}\n", "f.yaml:5: measure: from is not before the end",
            "the run takes 10ms"},
           {all + "sample: 500ns\n", "f.yaml:5: sample: 500ns is too short"},
           {all + "---\nexperiment: another\n", "a second document begins", "one document"},
           {kHead + "flows: 5\n", "flows: it is not a list"},
           {flow("words: write"), "f.yaml:4: there is no sender"},
           {flow("from: all"), "there is no receiver"},
           {flow("from: sender-4, to: receiver"), "from: there is no host 'sender-4'",
            "did you mean sender-"},
           {flow("from: [all], to: receiver"), "there is no host 'all'"},
           {flow("from: all, to: receiver, words: wriet"), "words: 'wriet' is not a word of a flow",
            "did you mean write?"},
           {flow("from: all, to: receiver, words: dst 192.0.2.1"), "src and dst are given"},
           {flow("from: all, to: receiver, reliable: maybe"), "'maybe' is not true or false"},
           {flow("from: all, to: receiver, congestion: none at all"), "'at' is not a word"},
           {flow("from: all, to: receiver, start: soon"), "start: 'soon' is not a duration"},
           {flow("from: all, to: receiver, name: a b"), "name: 'a b' is not a name"},
           {flow("from: receiver, to: receiver"), "it makes no flow"},
           {flow("from: all, to: receiver, colour: red"), "'colour' is not a key of a flow"},
           {flow("from: all, to: receiver, poisson: {load: 2}"), "load: '2' is not a load"},
           {flow("from: all, to: receiver, poisson: {}, incast: {}"), "it has two workloads"},
           {flow("from: all, to: [sender-1, receiver], incast: {size: 1k}"),
            "an incast has one receiver"},
           {flow("from: all, to: receiver, incast: {size: 0}"),
            "size: '0' is not a number of bytes"},
           {kHead +
                "flows: [{name: a, from: sender-1, to: receiver}, {name: a, from: sender-2, to: "
                "receiver}]\n",
            "there are two flows 'a'"},
           {kHead +
                "flows: [{from: sender-1, to: receiver, words: write cc dcqcn}, {from: sender-2, "
                "to: receiver, words: write cc dcqcn preset hpcc}]\n",
            "describe different notification points", "cnp: {mode"},
           {all + "rules: drop\n", "rules: it is not a list"},
           {all + "rules: [dorp]\n", "rules: 'dorp' is not a word of a rule", "did you mean drop?"},
           {all + "rules: [{link: switch:recever, words: drop}]\n",
            "rules: there is no queue 'switch:recever'", "switch:receiver"},
           {all + "rules: [drop name a, drop name a]\n", "there are two rules 'a'"},
           {all + "capture: [middle]\n", "capture: 'middle' is not a port of the run"},
           {all + "capture: [left, {at: left}]\n", "capture: left is given twice"},
           {all + "analyze: none\nexpect: ['count(findings) == 0']\n",
            "expect: findings: the captures are not analyzed"},
           {all + "capture: [left, right]\nanalyze: all\n", "analyze: 'all' is not an analysis"},
           {all + "reliability: {retransmit: all}\n", "'all' is not a way to retransmit"},
           {all + "schedule: 5\n", "schedule: it is not a list"},
           {all + "schedule: [{at: 1ms}]\n", "it has no time or no action"},
           {all + "schedule: [{at: 10ms, do: stop flow-1}]\n", "at: the run ends at 10ms"},
           {schedule("stopp flow-1"), "do: 'stopp' is not an action", "did you mean stop?"},
           {schedule("impair ad drop"), "do: impair: 'ad' is not what impair does", "impair add"},
           {schedule("impair add dorp"), "do: impair: 'dorp' is not a word", "did you mean drop?"},
           {schedule("impair del rule-1"), "do: impair: there is no rule 'rule-1'"},
           {all + "rules: [drop name a]\nschedule:\n  - {at: 1ms, do: impair del a}\n  - {at: 2ms, "
                  "do: impair enable a}\n",
            "schedule: the rule 'a' is not there at 2ms"},
           {schedule("exec x"), "'exec' is not possible in an experiment", "start"},
           {schedule("start flow-7"), "start: there is no flow 'flow-7'", "did you mean flow-"},
           {schedule("start flow-1 now"), "start: what is 'now'?"},
           {schedule("flap hub 1ms"), "flap: there is no queue 'hub'", "switch:"},
           {schedule("flap bottleneck"), "flap: a duration is missing"},
           {schedule("link bottleneck flap 1ms every 9ms carrier"), "needs a port of a wire"},
           {schedule("link bottleneck speed 3"), "link: 'speed' is not a word of a link"},
           {schedule("pfc bottleneck 9 for 1ms"), "pfc: '9' is not a priority"},
           {all + "expect: 5\n", "expect: it is not a list"},
           {all + "expect:\n  - \"jain > 0\"\n  - \"jain >\"\n", "f.yaml:7: expect: it ends"},
           {all + "expect: [\"sum(flows.drosp) == 0\"]\n",
            "f.yaml:5: expect: 'drosp' is not a column of flows", "did you mean drops?"},
           {all + "expect: [{fial: \"drops != 0\"}]\n", "'fial' is not a key of an expectation",
            "did you mean fail?"},
           {all,
            "f.yaml: --set duration: duration: 'x' is not a duration",
            "",
            {{"duration", "x"}}},
           {all, "--set duratoin: 'duratoin' is not a part", "duration", {{"duratoin", "1ms"}}},
           {all,
            "--set topology.ring.senders: there is no 'ring'",
            "",
            {{"topology.ring.senders", "2"}}},
           {all,
            "--set flows.9.words: '9' is not an entry",
            "from 1",
            {{"flows.9.words", "write"}}},
           {all, "--set duration.x: 'x' is below a value", "", {{"duration.x", "1"}}},
           {all, "--set seed: '\"x' is not a value", "", {{"seed", "\"x"}}},
       })
    refused(one);
  for (const auto &[sweep, words] : std::initializer_list<std::pair<const char *, const char *>>{
           {"sweep: 5\n", "sweep: it is not a map"},
           {"sweep: {seed: 5}\n", "sweep: seed: it is not a list or a range"},
           {"sweep: {seed: 5..1}\n", "sweep: seed: 5..1 is empty"},
           {"sweep: {seed: 1..1us}\n", "sweep: seed: 1..1us: the units of its ends do not fit"},
           {"sweep: {duration: 1ms..2ms}\n", "1ms..2ms does not say how many values it has"},
           {"sweep: {seed: 2..2/5}\n", "2..2/5 has one value only"},
           {"sweep: {seed: 1..9/1}\n", "seed: '1' is not a whole number from 2"},
           {"sweep: {seed: 1..x}\n", "seed: 'x' is not a number with a unit"},
           {"sweep: {seed: {2: 1..8}}\n", "seed: '2' is not a factor"},
           {"sweep: {seed: {x2: 0..8}}\n", "seed: 0..8 does not begin above 0"},
           {"sweep: {seed: {x2: 1..8/3}}\n", "a factor and a number of values are given"},
           {"sweep: {seed: 0..100000}\n", "sweep: seed: it has too many points"},
           {"sweep: {seed: 1..1000, sample: 1us..1ms/101}\n", "sweep: it has too many points"},
           {"sweep: {zip: [1]}\n", "sweep: zip: it is not a map of keys"},
           {"sweep: {zip: {seed: [1, 2], sample: [1ms]}}\n",
            "sweep: zip: seed has 2 values, sample has 1"},
           {"sweep: {seeds: 1..2, seed: [3]}\n", "sweep: seed is given twice"},
           {"vars: {a: 1, b: \"{a}\"}\nsample: \"{b}ms\"\nsweep: {a: [1], seed: [\"{b}\"]}\n",
            "sweep: its values use {a}, and it sweeps a"},
           {"sweep: {seed: []}\n", "sweep: seed: it is not a list"},
           {"sweep: {seed: [[1]]}\n", "sweep: seed: a value is not a text"},
           {"sweep: {seed: [1], seed: [2]}\n", "sweep: seed is given twice"},
           {"sweep: {seed: [1, 2, 1]}\n", "sweep: seed: 1 is given twice"}}) {
    const auto points = ExperimentFile(all + sweep, "f.yaml", "").points({});
    ASSERT_FALSE(points.ok()) << sweep;
    EXPECT_NE(points.error().message.find(words), std::string::npos) << points.error().message;
  }
}

TEST(ExperimentFiles, SampleFlows) {
  EXPECT_EQ(sound(kHead + kFlows).sample_flows, 64U);
  EXPECT_EQ(sound(kHead + kFlows + "sample-flows: 200\n").sample_flows, 200U);
  EXPECT_EQ(sound(kHead + kFlows + "sample-flows: all\n").sample_flows, kSampleAllFlows);
}

// A value of --set has no line in the file: the word is named, also for what is inside a map.
TEST(ExperimentFiles, ErrorsInsideValuesOfSetNameTheWord) {
  for (const auto &[key, value, message] : std::initializer_list<std::array<const char *, 3>>{
           {"measure", "{form: 1ms}", "f.yaml: --set measure: 'form' is not a key of measure"},
           {"measure", "{from: 20ms}", "f.yaml: --set measure: measure: from is not before"},
           {"measure.from", "20ms", "f.yaml: --set measure.from: measure: from is not before"},
           {"sample", "10ns", "f.yaml: --set sample: sample: 10ns is too short"},
           {"sample-flows", "some",
            "f.yaml: --set sample-flows: sample-flows: 'some' is not a number of flows, or the "
            "word all"},
           {"sample-flows", "2000000", "f.yaml: --set sample-flows: sample-flows: '2000000'"},
           {"topology", "{star: {rate: 1gbit, senders: x}}",
            "f.yaml: --set topology: senders: 'x' is not a whole number"},
           {"queue", "{words: {a: 1}}", "f.yaml: --set queue: words:"},
           {"expect", "[\"sum(flows.drips) == 0\"]", "f.yaml: --set expect: expect: 'drips'"},
       }) {
    const auto made = read(kHead + kFlows + "measure: {from: 1ms}\n", Settings{{key, value}});
    ASSERT_FALSE(made.ok()) << key << " " << value;
    EXPECT_TRUE(made.error().message.starts_with(message)) << made.error().message;
  }
}

// The line is where a variable is used; the value is from elsewhere.
TEST(ExperimentFiles, ErrorsOfValuesNameTheirVariables) {
  const std::string text = R"(experiment: a test
vars: {rate: 40gbit, n: 2, size: 1M, half: "{rate}/2", rai: 40mbit, who: all}
duration: 10ms
topology: {star: {senders: {n}, rate: {rate}, delay: 1us}}
queue: {words: "buffer {size}", sender-1:switch: "rate {half}"}
congestion: {dcqcn: {preset: paper, rai: {rai}}}
flows:
  - {from: {who}, to: receiver, words: "write size {size} qps 1"}
)";
  sound(text);
  for (const auto &[key, value, message] : std::initializer_list<std::array<const char *, 3>>{
           {"rate", "fast", "{rate}: 'fast' is not a number with a unit (from --set rate=fast)"},
           {"half", "fast", "f.yaml:5: sender-1:switch: 'fast' is not a rate"},
           {"n", "many",
            "f.yaml:4: senders: 'many' is not a whole number from 1 to 100000 (from --set n=many)"},
           {"vars.n", "many",
            "f.yaml:4: senders: 'many' is not a whole number from 1 to 100000 (from --set n=many)"},
           {"n", "0", " (from --set n=0)"},
           {"size", "huge", "(from --set size=huge)"},
           {"rai", "slow", "(from --set rai=slow)"},
           {"congestion.rai", "{who}", "(from vars: who=all)"},
           {"who", "sender-9", "(from --set who=sender-9)"},
           {"flows.1.words", "write size {n}x", "2x"},
           {"seed", "{half}",
            "'20gbit' is not a whole number from 0 on (from vars: half=20gbit, vars: rate=40gbit)"},
       }) {
    const auto made = read(text, Settings{{key, value}});
    ASSERT_FALSE(made.ok()) << key << " " << value;
    EXPECT_NE(made.error().message.find(message), std::string::npos) << made.error().message;
    EXPECT_TRUE(made.error().is_usage()) << made.error().message;
  }
  const auto set = read(text, Settings{{"topology.star.rate", "slow"}});
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.error().message,
            "f.yaml: --set topology.star.rate: rate: 'slow' is not a rate from "
            "125kbit to 10tbit"); // the variable is no longer there
  for (const auto &[from, to, message] : std::initializer_list<std::array<const char *, 3>>{
           {"n: 2", "n: two",
            "f.yaml:4: senders: 'two' is not a whole number from 1 to 100000 (from vars: n=two)"},
           {"rai: 40mbit", "rai: slow",
            "'slow' is not a number in Mbit/s or % of line or MSS (from vars: rai=slow)"},
           // A word that no variable has part in.
           {"qps 1", "qsp 1", "'qsp' is not a word of a flow"}}) {
    std::string wrong = text;
    wrong.replace(wrong.find(from), std::string_view(from).size(), to);
    const auto made = read(wrong);
    ASSERT_FALSE(made.ok()) << to;
    EXPECT_NE(made.error().message.find(message), std::string::npos) << made.error().message;
    EXPECT_EQ(made.error().message.find("(from") != std::string::npos,
              std::string_view(message).find("(from") != std::string_view::npos)
        << made.error().message;
  }
}

// Nothing arrives: the run shows nothing, and is not green.
TEST(ExperimentFiles, DelaysAsLongAsTheRunAreVoid) {
  const std::string slow = "experiment: x\nduration: 10ms\ntopology: {star: {senders: 1, rate: "
                           "40gbit, delay: DELAY}}\n" +
                           std::string(kFlows) + "expect: [\"sum(flows.drops) == 0\"]\n";
  for (const auto &[delay, rules, verdict] :
       std::initializer_list<std::tuple<const char *, const char *, Verdict>>{
           {"10s", "", Verdict::Void},
           {"6ms", "", Verdict::Void}, // two links
           {"1us", "", Verdict::Pass},
           {"1us", "rules: [\"delay 10s\"]\n", Verdict::Void},
           {"1us", "queue: {bottleneck: delay 10s}\n", Verdict::Void}}) {
    std::string text = slow;
    text.replace(text.find("DELAY"), 5, delay);
    const Experiment e = sound(text + rules);
    const auto result = places::run_virtual(e, {}, "");
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result.get().verdict, verdict) << delay << " " << rules;
    if (verdict == Verdict::Pass)
      continue;
    ASSERT_FALSE(result.get().measured.why_void.empty());
    EXPECT_NE(result.get().measured.why_void[0].find("none of its packets arrived"),
              std::string::npos)
        << result.get().measured.why_void[0];
  }
  const std::string expects = "expect: [\"sum(flows.drops) == 0\"]\n";
  for (const auto &[delay, verdict] :
       {std::pair("10s", Verdict::Void), std::pair("10ms", Verdict::Pass)}) {
    std::string text = slow.substr(0, slow.find(expects)); // nothing is expected
    text.replace(text.find("DELAY"), 5, delay);
    EXPECT_EQ(places::run_virtual(sound(text), {}, "").get().verdict, verdict) << delay;
  }
}

} // namespace
} // namespace experiment_file_test
