// SPDX-License-Identifier: Apache-2.0
// Experiments as configurations of OTG: what is read back is the same, and what OTG does not have
// is refused or noted by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "experiment/experiment.h"
#include "importers/otg.h"
#include "importers/otg_export.h"
#include "otg/config.h"
#include "otg/json_text.h"

namespace importers_otg_export_test {
namespace {

using namespace xr;
using congestion::DcqcnParameter;
using experiment::Experiment;

Experiment read(const std::string &yaml) {
  auto made = experiment::ExperimentFile(yaml, "x.yaml", "").read({});
  EXPECT_TRUE(made.ok()) << (made ? "" : made.error().message) << "\n" << yaml;
  return made ? std::move(made).get() : Experiment();
}

// A star of `senders` whose flows these are; `more`: further parts.
std::string star(const std::string &flows, const std::string &more = "", unsigned senders = 3,
                 const std::string &rate = "100gbit") {
  return fmt::format("experiment: x\nduration: 1ms\ntopology: {{star: {{senders: {}, rate: {}, "
                     "delay: 1us}}}}\n{}flows:\n{}",
                     senders, rate, more, flows);
}

importers::ExportedConfiguration exported(const Experiment &experiment) {
  auto made = importers::export_otg(experiment);
  EXPECT_TRUE(made.ok()) << (made ? "" : made.error().message);
  return made ? std::move(made).get() : importers::ExportedConfiguration();
}

otg::Config config_of(const std::string &json) {
  otg::Findings findings;
  otg::Json parsed = otg::parse_json(json, findings);
  EXPECT_FALSE(parsed.is_discarded()) << json;
  const otg::Config config = otg::read_config(parsed, findings);
  for (const std::string &error : findings.errors)
    ADD_FAILURE() << error;
  for (const std::string &warning : findings.warnings)
    ADD_FAILURE() << warning;
  return config;
}

Experiment there_and_back(const Experiment &experiment) {
  const auto imported = importers::otg(exported(experiment).json, "o.json");
  EXPECT_TRUE(imported.ok()) << (imported ? "" : imported.error().message);
  return imported ? read(imported.get().yaml) : Experiment();
}

bool has(const std::vector<std::string> &notes, const std::string &note) {
  return std::ranges::find(notes, note) != notes.end();
}

const simulate::FlowSetup &flow_named(const Experiment &experiment, const std::string &name) {
  const auto &flows = experiment.scenario.flows;
  const auto at = std::ranges::find(flows, name, &simulate::FlowSetup::name);
  EXPECT_NE(at, flows.end()) << name;
  return at == flows.end() ? flows.front() : *at;
}

TEST(OtgExport, FlowsAreReadBack) {
  const Experiment before = read(star(
      R"(  - {name: a, from: sender-1, to: receiver, words: "write size 4k pmtu 2048 dscp 26 ecn ect1 port 50000 psn 77 rate 30%"}
  - {name: b, from: sender-2, to: receiver, words: "send-imm size 65535 pmtu 2048 imm 0xbb dscp 3 rate 25gbit"}
  - {name: c, from: sender-3, to: receiver, words: "read size 2M pmtu 2048 va 0x123456789 rkey 0xabc ecn not-ect qps 4 rate 80%"}
  - {name: d, from: sender-4, to: receiver, words: "write-imm size 1G pmtu 2048 imm 0x12345678"}
  - {name: e, from: sender-5, to: receiver, words: "send size 66k pmtu 2048 cc fixed 7gbit qps 3"}
)",
      "reliability: {timeout: 18, retries: 5}\ncnp: {interval: 20us}\n", 5));
  const Experiment after = there_and_back(before);
  ASSERT_EQ(after.scenario.flows.size(), 10U);
  EXPECT_EQ(after.scenario.topology.rate, before.scenario.topology.rate);
  EXPECT_EQ(after.scenario.topology.senders, 5U);
  EXPECT_EQ(after.scenario.reliability.timeout_code, 18);
  EXPECT_EQ(after.scenario.reliability.retries, 5);
  EXPECT_EQ(after.scenario.cnp.interval_ns, 20'000U);
  EXPECT_EQ(after.scenario.cnp.mode, congestion::NpMode::HoldOff);
  const std::map<std::string, std::pair<unsigned, double>> all = {// QPs, percent of each
                                                                  {"a", {1, 30}},
                                                                  {"b", {1, 25}},
                                                                  {"c", {4, 20}},
                                                                  {"d", {1, 100}},
                                                                  {"e", {3, 7}}};
  for (const auto &[name, expected] : all)
    for (unsigned i = 1; i <= expected.first; i++) {
      const std::string own = expected.first == 1 ? name : fmt::format("{}-{}", name, i);
      const simulate::FlowSetup &was = flow_named(before, name), &is = flow_named(after, own);
      EXPECT_EQ(is.src, was.src) << own;
      EXPECT_EQ(is.dst, was.dst) << own;
      EXPECT_EQ(is.flow.verb, was.flow.verb) << own;
      EXPECT_EQ(is.flow.size.of(0, 0), was.flow.size.of(0, 0)) << own;
      EXPECT_EQ(is.flow.pmtu, was.flow.pmtu) << own;
      EXPECT_EQ(is.flow.path.tos, was.flow.path.tos) << own;
      EXPECT_EQ(is.flow.psn.value_or(9), was.flow.psn.value_or(0)) << own; // OTG's default
      EXPECT_EQ(is.flow.immediate, was.flow.immediate) << own;
      EXPECT_EQ(is.flow.va, was.flow.va) << own;
      EXPECT_EQ(is.flow.rkey, was.flow.rkey) << own;
      EXPECT_EQ(is.flow.pacing.rate.kind, congestion::Rate::Kind::Percent) << own;
      EXPECT_NEAR(is.flow.pacing.rate.value, expected.second, 1e-4) << own;
      if (was.flow.port == flow::PortChoice::Fixed) {
        EXPECT_EQ(is.flow.path.src_port, was.flow.path.src_port) << own;
      }
    }
  EXPECT_TRUE(has(exported(before).notes, "retransmission_timeout_value: 1073.74 ms is 1073"));
}

// Each sender has a peer at the receiver with as many QPs, in the same order; both ways are of one
// peer.
TEST(OtgExport, PeersHaveTheSameQps) {
  const auto made = exported(
      read(star(R"(  - {name: a, from: sender-1, to: receiver, words: "size 4k qps 2 rate 10%"}
  - {name: back, from: receiver, to: sender-1, words: "size 4k rate 40%"}
  - {name: b, from: sender-2, to: receiver, words: "size 4k"}
)",
                "", 3, "25gbit")));
  EXPECT_TRUE(has(made.notes, "hosts without a flow are no ports: sender-3"));
  EXPECT_TRUE(
      has(made.notes, "location of a port is the name of its host: the port's own is needed"));
  const otg::Config config = config_of(made.json);
  ASSERT_EQ(config.ports.size(), 3U);
  EXPECT_EQ(config.ports[1].name, "sender-2");
  EXPECT_EQ(config.ports[1].location, "sender-2");
  EXPECT_EQ(config.ports[2].line_mbit, 25'000U);
  std::map<std::string, std::vector<std::string>> qps;
  for (const otg::Peer &peer : config.peers)
    for (const size_t qp : peer.qps)
      qps[peer.name].push_back(config.qps[qp].name);
  using Names = std::vector<std::string>;
  EXPECT_EQ(qps["sender-1 to receiver"], (Names{"a-1", "a-2", "back rx"}));
  EXPECT_EQ(qps["receiver to sender-1"], (Names{"a-1 rx", "a-2 rx", "back"}));
  EXPECT_EQ(qps["sender-2 to receiver"], (Names{"b"}));
  EXPECT_EQ(qps["receiver to sender-2"], (Names{"b rx"}));
  for (const otg::Peer &peer : config.peers) // each has the address of the other's device
    EXPECT_TRUE(std::ranges::any_of(config.interfaces, [&](const otg::Interface &there) {
      return there.address == peer.destination &&
             config.ports[config.ethernets[there.ethernet].port].name ==
                 peer.name.substr(peer.name.find(" to ") + 4);
    })) << peer.name;
  std::map<std::string, double> percent;
  for (const otg::StatefulFlow &flow : config.flows)
    percent[flow.name] = flow.percent;
  EXPECT_EQ(percent,
            (std::map<std::string, double>{{"a-1", 10}, {"a-2", 10}, {"back", 40}, {"b", 100}}));
}

congestion::DcqcnSettings settings_of(const Experiment &experiment) {
  const auto &control = experiment.scenario.flows.front().flow.control;
  EXPECT_EQ(control.kind, congestion::Control::Kind::Dcqcn);
  return congestion::resolve(control.dcqcn, static_cast<double>(experiment.scenario.topology.rate));
}

// All parameters of OTG, each other than its default.
TEST(OtgExport, DcqcnKeepsItsParameters) {
  const std::string words =
      "dcqcn preset otg line 60% g=4/1024 alpha-initial=512/1024 alpha-timer=21 monitor-period=7 "
      "first-cnp=50% min-rate=0.01% max-cut=40 clamp=1 rate-timer=300 byte-counter=100 threshold=3 "
      "rai=50mbit rhai=0.5%";
  const Experiment before = read(
      star("  - {name: a, from: sender-1, to: receiver, words: \"size 1M cc " + words + "\"}\n", "",
           1, "400gbit"));
  const Experiment after = there_and_back(before);
  for (const std::string &note : exported(before).notes)
    for (const char *key : {"alpha_", "initial_", "rate_", "limmit", "does not have"})
      EXPECT_EQ(note.find(key), std::string::npos) << note;
  const auto was = settings_of(before), is = settings_of(after);
  EXPECT_EQ(is.weight_1024, 1020U);
  EXPECT_EQ(is.alpha_initial_1024, 512U);
  EXPECT_EQ(is.alpha_timer_ns, 21'000U);
  EXPECT_EQ(is.monitor_ns, 7'000U);
  EXPECT_DOUBLE_EQ(is.first_part, 0.5);
  EXPECT_EQ(is.first_rate, 0);
  EXPECT_NEAR(is.min_rate, 40e6, 1);
  EXPECT_NEAR(is.keep, 0.6, 1e-12);
  EXPECT_TRUE(is.clamp);
  EXPECT_EQ(is.timer_ns, 300'000U);
  EXPECT_EQ(is.bytes, 6'400);
  EXPECT_EQ(is.threshold, 3U);
  EXPECT_NEAR(is.rai, 50e6, 1);
  EXPECT_NEAR(is.rhai, 2e9, 1);
  EXPECT_EQ(is.bytes, was.bytes);
  EXPECT_NEAR(is.rai, was.rai, 1);
  const congestion::Control &control = after.scenario.flows.front().flow.control;
  EXPECT_EQ(control.rate.kind, congestion::Rate::Kind::Percent);
  EXPECT_NEAR(control.rate.value, 60, 1e-9);
}

// What OTG's whole numbers and limits change is in a note with both values.
TEST(OtgExport, DcqcnOfOtherPresetsIsNoted) {
  const std::string flow =
      "  - {name: a, from: all, to: receiver, words: \"size 1M cc dcqcn preset paper\"}\n";
  const Experiment before = read(star(flow, "", 2, "40gbit"));
  const auto notes = exported(before).notes;
  EXPECT_TRUE(has(notes, "flow 'a-1' and 1 more: alpha-initial: initial_alpha 1024 is 1023, the "
                         "limit of OTG"));
  EXPECT_TRUE(has(notes, "flow 'a-1' and 1 more: byte-counter: rate_increment_byte_counter 156250 "
                         "is 32767, the limit of OTG"));
  EXPECT_TRUE(has(notes, "flow 'a-1' and 1 more: parameters that OTG does not have: "
                         "alpha-arithmetic=real"));
  EXPECT_TRUE(has(notes,
                  "cnp: mode: OTG's is hold-off, a CNP at once and then none for the time of "
                  "cnp_delay_timer"));
  const auto is = settings_of(there_and_back(before)), was = settings_of(before);
  EXPECT_EQ(is.weight_1024, 1020U);
  EXPECT_NEAR(is.rai, was.rai, 1);
  EXPECT_NEAR(is.min_rate, was.min_rate, 1);
  EXPECT_EQ(is.timer_ns, was.timer_ns);
  EXPECT_EQ(is.monitor_ns, 0U);
  EXPECT_EQ(is.first_part, 0);
  EXPECT_EQ(is.first_rate, 0);
  const auto hpcc = exported(
      read(star("  - {name: a, from: sender-1, to: receiver, words: \"size 1M cc dcqcn preset hpcc "
                "first-cnp=5gbit\"}\n")));
  EXPECT_TRUE(has(hpcc.notes, "flow 'a': byte-counter 0, which is none: "
                              "rate_increment_byte_counter 32767"));
  EXPECT_TRUE(has(hpcc.notes, "flow 'a': first-cnp 5000 Mbit/s: initial_rate_after_first_cnp is a "
                              "part of the rate before, here of the line's"));
  EXPECT_NE(hpcc.json.find("\"initial_rate_after_first_cnp\": 5.0,"), std::string::npos);
  const auto two = exported(read(star("  - {name: a, from: sender-1, to: receiver, words: \"size "
                                      "1M cc dcqcn preset otg qps 2\"}\n")));
  EXPECT_TRUE(has(two.notes,
                  "sender-1: its 2 QPs share target_line_rate 100; here each begins with "
                  "the line's rate"));
}

// The timer is a code, OTG's a number of milliseconds: the code is read back where OTG has it.
TEST(OtgExport, TimersAreReadBack) {
  for (unsigned code = 0; code <= 24; code++) {
    const Experiment before = read(star("  - {from: sender-1, to: receiver, words: \"size 1M\"}\n",
                                        fmt::format("reliability: {{timeout: {}}}\n", code)));
    const unsigned is = there_and_back(before).scenario.reliability.timeout_code;
    EXPECT_EQ(is, code == 0 ? 0 : std::clamp(code, 8U, 21U)) << code;
  }
  const auto longest = exported(read(star(
      "  - {from: sender-1, to: receiver, words: \"size 1M\"}\n", "reliability: {timeout: 22}\n")));
  EXPECT_TRUE(has(longest.notes, "retransmission_timeout_value: 17179.9 ms is 5369"));
}

TEST(OtgExport, RatesAreWholePercentagesOfTheLine) {
  const auto of = [](const std::string &words, const std::string &rate = "10gbit") {
    return exported(read(star(
        "  - {from: sender-1, to: receiver, words: \"size 1M " + words + "\"}\n", "", 1, rate)));
  };
  const auto third = of("rate 33.4%");
  EXPECT_TRUE(has(third.notes, "sender-1: its flows have 33.4 % of the line: target_line_rate 33"));
  EXPECT_NE(third.json.find("\"value\": 33\n"), std::string::npos);
  EXPECT_TRUE(has(of("rate 1mbit").notes,
                  "sender-1: its flows have 0.01 % of the line: target_line_rate 1"));
  EXPECT_TRUE(has(of("qps 5 cc fixed 3gbit").notes,
                  "sender-1: its flows have 150 % of the line: target_line_rate 100"));
  // 1,082 bytes of a full packet: 1,106 with FCS, preamble and gap.
  EXPECT_TRUE(has(of("rate 1106mbit l1").notes,
                  "sender-1: its flows have 10.82 % of the line: target_line_rate 11"));
  EXPECT_NE(of("rate 200kpps").json.find("\"value\": 17\n"), std::string::npos);
}

TEST(OtgExport, PrioritiesOfPfc) {
  const std::string flow = "  - {from: sender-1, to: receiver, words: \"size 1M\"}\n";
  const Experiment before =
      read(star(flow, "queue: {words: \"buffer 1MB pfc xoff 200k xon 150k priorities 3,4\"}\n"));
  const otg::Config config = config_of(exported(before).json);
  for (const otg::Port &port : config.ports)
    EXPECT_EQ(port.flow_control, (otg::FlowControl{false, 1 << 3 | 1 << 4})) << port.name;
  EXPECT_EQ(there_and_back(before).scenario.queue.pfc.priorities, 1 << 3 | 1 << 4);
  EXPECT_FALSE(config_of(exported(read(star(flow))).json).ports.front().flow_control);
}

TEST(OtgExport, PacketsThatAreNotOfInfiniBandBecomeTheNearest) {
  const auto made = exported(
      read(star("  - {from: sender-1, to: receiver, words: \"write size 1M frame-size 1062\"}\n")));
  EXPECT_TRUE(has(made.notes,
                  "flow 'flow-1': packets of 1000 bytes: ib_mtu 1024, the nearest of InfiniBand"));
  EXPECT_EQ(config_of(made.json).peers.front().pmtu, 1024U);
  const otg::Config large = config_of(
      exported(read(star("  - {from: sender-1, to: receiver, words: \"size 1M pmtu 4096\"}\n")))
          .json);
  EXPECT_EQ(large.ethernets.front().mtu, 9000U);
  EXPECT_EQ(large.ports.front().mtu, 9000U);
}

TEST(OtgExport, PartsOfTheNetworkAreNoted) {
  const auto made = exported(read(
      star("  - {from: sender-1, to: receiver, words: \"size 1M ack-every 8\"}\n"
           "  - {from: sender-2, to: receiver, start: 100us, words: \"size 1M\"}\n",
           "queue: {words: \"buffer 1MB red 5k 200k 1%\"}\nreliability: {retransmit: selective}\n"
           "schedule:\n  - {at: 500us, do: \"stop flow-1\"}\nexpect: []\n")));
  EXPECT_TRUE(has(made.notes,
                  "not in OTG: duration, topology (star, but for the rate of its hosts), "
                  "queue, schedule, expect"));
  EXPECT_TRUE(has(made.notes, "flow 'flow-1': ack-every 8: OTG's ports ask for ACKs as they like"));
  EXPECT_TRUE(has(made.notes,
                  "flow 'flow-2': when it starts and stops: traffic.flow_transmit takes "
                  "its name"));
  EXPECT_TRUE(has(made.notes, "reliability: retransmit selective: OTG's ports do as they like"));
}

// More hosts than 192.0.2.0/24 has; each has an address and a MAC of its own, and no gateway is
// used.
TEST(OtgExport, ManyHosts) {
  const Experiment before =
      read("experiment: x\nduration: 1ms\ntopology: {leaf-spine: {leaves: 8, spines: 4, hosts: 40, "
           "rate: 200gbit, delay: 1us}}\nflows:\n  - {from: [host-1, host-2], to: host-320, words: "
           "\"size 1M\"}\n  - {from: all, to: host-300, words: \"size 1M\"}\n");
  const auto made = exported(before);
  EXPECT_TRUE(has(made.notes, "not in OTG: duration, topology (leaf-spine, but for the rate of its "
                              "hosts)"));
  const otg::Config config = config_of(made.json);
  EXPECT_EQ(config.ports.size(), 320U);
  EXPECT_EQ(config.flows.size(), 321U);
  std::set<packet::Mac> macs;
  for (const otg::Ethernet &ethernet : config.ethernets)
    macs.insert(*ethernet.mac);
  EXPECT_EQ(macs.size(), 320U);
  EXPECT_EQ(config.interfaces.front().prefix, 15U);
}

TEST(OtgExport, RefusesByName) {
  const auto one = [](const std::string &words) {
    return star("  - {name: f, from: sender-1, to: receiver, words: \"" + words + "\"}\n");
  };
  const auto two = [](const std::string &words, const std::string &others) {
    return star("  - {name: f, from: sender-1, to: receiver, words: \"size 1M " + words +
                "\"}\n  - {name: g, from: sender-1, to: receiver, words: \"size 1M " + others +
                "\"}\n");
  };
  const char *const one_rate =
      "one rate for all QPs of a host: OTG has one target_line_rate a port";
  struct Case {
    std::string yaml;
    const char *message, *hint;
  };
  for (const Case &each : std::initializer_list<Case>{
           {one("fetch-add"), "flow 'f': OTG has no fetch-add",
            "write, write-imm, send, send-imm, read"},
           {one("size 4k,8k"), "flow 'f': OTG has no messages of several sizes",
            "size with one number"},
           {one("size 65536"), "flow 'f': OTG has no messages of 65536 bytes",
            "size up to 65535, or whole thousands, like 66k"},
           {one("size 1M messages 3"), "flow 'f': OTG's flows do not end: messages 3",
            "a flow without messages, which ends when it is stopped"},
           {one("size 1M cc timely"), "flow 'f': OTG has no cc timely",
            "cc dcqcn, cc fixed, or none"},
           {one("size 1M cc dcqcn rate 1gbit"), "flow 'f': OTG has no rate 1gbit beside cc dcqcn",
            "one of both"},
           {one("size 1M cc dcqcn window bdp"), "flow 'f': OTG has no window", "a flow without it"},
           {one("size 1M cc fixed 1gbit burst=4"), "flow 'f': OTG has no bursts of a QP: burst=4",
            "burst=1"},
           {one("size 1M rate 1gbit poisson vlan 7/3 ttl 3"),
            "flow 'f': OTG has no 'vlan 7/3 ttl 3 poisson'", "a flow without these words"},
           {one("size 1M port vary"), "flow 'f': OTG has no 'port vary'",
            "a flow without these words"},
           {two("rate 10%", "rate 20%"),
            "flow 'g': its QPs have 20 % of the line, those of flow 'f' 10 % of the line",
            one_rate},
           {two("rate 10%", ""),
            "flow 'g': its QPs have no rate, those of flow 'f' 10 % of the line", one_rate},
           {two("cc dcqcn preset otg", "cc dcqcn preset otg threshold=3"),
            "flow 'g': it has another cc dcqcn than flow 'f' of the same host",
            "one for all flows of a host: OTG has one dcqcn_settings a port"},
           {two("pmtu 1024", "pmtu 512"),
            "flow 'g': pmtu 512, and 1024 in a flow before it of sender-1",
            "one pmtu for all flows of a host: OTG has one ib_mtu"},
           {star("  - {name: f, from: sender-1, to: receiver, reliable: false, words: \"size "
                 "1M\"}\n"),
            "flow 'f': OTG has no flows without a reliable connection", "reliable: true"},
           {star("  - {name: f, from: sender-1, to: receiver, words: \"size 1M qps 2\"}\n"
                 "  - {name: f-2, from: sender-2, to: receiver, words: \"size 1M\"}\n"),
            "flow 'f-2': there are two flows 'f-2'", "each has a name of its own"},
           {star("  - {from: sender-1, to: receiver, words: \"size 1M\"}\n", "", 1, "30gbit"),
            "sender-1: OTG has no speed of 30gbit", "--set topology.star.rate=25gbit, the nearest"},
       }) {
    const auto made = importers::export_otg(read(each.yaml));
    ASSERT_FALSE(made.ok()) << each.message;
    EXPECT_EQ(made.error().message, each.message);
    EXPECT_EQ(made.error().hint, each.hint) << each.message;
  }
}

// Each is a configuration that is read without a finding, or refused for what is named here.
TEST(OtgExport, InstalledExperiments) {
  constexpr const char *kOpen = "flow 'flow-1': OTG has no flows without a reliable connection";
  const std::map<std::string, std::string> refused = {
      {"dcqcn-eight", "sender-1: OTG has no speed of 40mbit"},
      {"drop-nth", "flow 'whole': OTG's flows do not end: messages 1"},
      {"drop-nth-reads", "flow 'read': OTG's flows do not end: messages 1"},
      {"hpcc-fig11", "flow 'hadoop-1': OTG's flows do not end: messages 1"},
      {"jitter", "sender-1: OTG has no speed of 20mbit"},
      {"late-rank", "collective 'train': OTG has no messages that wait for others"},
      {"ring-1024", "collective 'ring': OTG has no messages that wait for others"},
      {"ring-frames", "collective 'train': OTG has no messages that wait for others"},
      {"lossless-incast", "flow 'flow-1': OTG's flows do not end: messages 1"},
      {"rfc2544-throughput", kOpen},
      {"rfc2544-loss", kOpen},
      {"rfc2544-back-to-back", kOpen},
      {"rfc2889-many-to-one", kOpen},
      {"nic-incast", "flow 'flow-1': OTG's flows do not end: messages 1"},
      {"mark-response", "sender-1: OTG has no speed of 200mbit"},
      {"retransmit", "sender-1: OTG has no speed of 50mbit"},
      {"timely-7-3", "flow 'flow-1': OTG has no cc timely"},
      {"timely-patched-7-3", "flow 'flow-1': OTG has no cc timely-patched"}};
  size_t exports = 0;
  for (const auto &entry :
       std::filesystem::directory_iterator(XR_TEST_DATA "/../../tools/experiments")) {
    if (entry.path().extension() != ".yaml")
      continue;
    const std::string name = entry.path().stem();
    const auto file = experiment::ExperimentFile::load(entry.path());
    ASSERT_TRUE(file.ok()) << name;
    const auto experiment = file.get().read({});
    ASSERT_TRUE(experiment.ok()) << name;
    const auto made = importers::export_otg(experiment.get());
    if (const auto at = refused.find(name); at != refused.end()) {
      ASSERT_FALSE(made.ok()) << name;
      EXPECT_EQ(made.error().message, at->second) << name;
      continue;
    }
    ASSERT_TRUE(made.ok()) << name << ": " << made.error().message;
    exports++;
    size_t qps = 0;
    for (const simulate::FlowSetup &flow : experiment.get().scenario.flows)
      qps += flow.flow.qps;
    EXPECT_EQ(config_of(made.get().json).flows.size(), qps) << name;
    EXPECT_TRUE(importers::otg(made.get().json, name).ok()) << name;
  }
  EXPECT_GE(exports, 8U);
}

TEST(OtgJsonText, HasNoExponentsAndIsReadBack) {
  const otg::Json json = {{"tiny", 1e-7},
                          {"large", 1e15},
                          {"half", 0.5},
                          {"count", 7},
                          {"list", {1, "a\"b"}},
                          {"none", nullptr},
                          {"empty", otg::Json::object()}};
  EXPECT_EQ(otg::json_text(json), "{\"count\": 7, \"empty\": {}, \"half\": 0.5, \"large\": "
                                  "1000000000000000.0, \"list\": [1, \"a\\\"b\"], \"none\": null, "
                                  "\"tiny\": 0.0000001}");
  const std::string lines = otg::json_text(json, 2);
  EXPECT_EQ(lines.find("\n  \"list\": [\n    1,\n    \"a\\\"b\"\n  ],\n"),
            lines.find("\n  \"list\""));
  EXPECT_NE(lines.find("\n  \"list\""), std::string::npos);
  EXPECT_EQ(otg::Json::parse(lines), json);
}

} // namespace
} // namespace importers_otg_export_test
