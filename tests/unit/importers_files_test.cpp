// SPDX-License-Identifier: Apache-2.0
// Configurations of Lumina and OTG as experiments: what each key becomes, events at exact packets,
// and what is refused by name. The files are written for these tests, in the formats that the
// projects publish.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "experiment/experiment.h"
#include "importers/lumina.h"
#include "importers/otg.h"
#include "places/run.h"

namespace importers_files_test {
namespace {

using namespace xr;
using importers::ImportedExperiment;

constexpr const char *kLumina = R"(local-workspace: /a/
result-path: /b/
aggregate-pcap-filename: m.pcap
rewrite-udp-dst-port: 9741
num-repeats: 5
switch: {sde-path: /s/, workspace: /w/, control-ip: 192.0.2.1, username: u, ssh-key-filepath: /k, port-speed: 40G, fec-type: RS,
  listen-port: 12345, local-switch-config-path: /c}
requester:
  workspace: /w/
  control-ip: 192.0.2.2
  username: u
  ssh-key-filepath: /k
  nic: {type: CX6, if-name: ens1, pci-addr: "03:00.0", ib-device: mlx5_0, ib-port: 1, switch-port: 132,
    ip-list: [198.51.100.1/24, 198.51.100.3/24]}
  roce-parameters: {dcqcn-rp-enable: True, dcqcn-np-enable: True, min-time-between-cnps: 4, adaptive-retrans: False, slow-restart: True}
responder:
  nic: {type: CX6, ip-list: [198.51.100.2/24, 198.51.100.4/24]}
  roce-parameters: {dcqcn-rp-enable: True, dcqcn-np-enable: True, min-time-between-cnps: 8}
requester-mirror:
  control-ip: 192.0.2.3
  pkt-dump-conf: {dump-filename: r.pcap, snap-len: 128, num-pkts: 16383}
  nic: {if-name: ens1, pci-addr: "03:00.0", switch-port: 148, rte-port-id: 0}
traffic:
  num-qps: 3
  rdma-verb: send
  num-msgs-per-qp: 2
  mtu: 1024
  message-size: 10000
  listen-port: 13579
  multi-gid: true
  barrier-sync: false
  tx-depth: 1
  min-retransmit-timeout: 12
  max-retransmit-retry: 3
  dscp-list: "26,30-31"
  data-pkt-events:
)";
const std::string kEvents = R"(    - {qpn: 0, psn: 4, type: ecn, iter: 1}
    - {qpn: 1, psn: 2, type: drop, iter: 1}
    - {qpn: 1, psn: 7, type: bit-error, iter: 2}
)";

experiment::Experiment read(const ImportedExperiment &imported) {
  auto made = experiment::ExperimentFile(imported.yaml, "x.yaml", "").read({});
  EXPECT_TRUE(made.ok()) << made.error().message << "\n" << imported.yaml;
  return made ? std::move(made).get() : experiment::Experiment();
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::vector<std::string> words_of(const experiment::Experiment &e) {
  std::vector<std::string> words;
  for (const experiment::RuleSetup &rule : e.rules.all)
    words.push_back(rule.spec.text());
  return words;
}

TEST(Lumina, TrafficIsFlowsAndEventsAreRulesAtExactPackets) {
  auto imported = importers::lumina(kLumina + kEvents, "dir/example.yml");
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  const experiment::Experiment e = read(imported.get());
  const simulate::Scenario &s = e.scenario;
  EXPECT_EQ(e.name, "Lumina: example.yml");
  EXPECT_EQ(s.topology.kind, simulate::Topology::Kind::Dumbbell); // two GIDs
  EXPECT_EQ(s.topology.senders, 2U);
  EXPECT_EQ(s.topology.rate, 40'000'000'000U);
  EXPECT_EQ(s.reliability.timeout_code, 12U);
  EXPECT_EQ(s.reliability.retries, 3U);
  EXPECT_EQ(s.reliability.window, 10U); // the packets of one message
  EXPECT_EQ(s.cnp.interval_ns, 8000U);  // the responder's
  ASSERT_EQ(s.flows.size(), 3U);
  EXPECT_EQ(s.flows[2].name, "qp-2");
  EXPECT_EQ(s.flows[2].src, "sender-1");
  EXPECT_EQ(s.flows[1].dst, "receiver-2");
  EXPECT_EQ(s.flows[0].flow.verb, packet::Verb::Send);
  EXPECT_EQ(s.flows[0].flow.messages, 2U);
  EXPECT_EQ(s.flows[0].flow.size.largest(), 10'000U);
  EXPECT_EQ(s.flows[0].flow.path.tos >> 2, 26);
  EXPECT_EQ(s.flows[2].flow.path.tos >> 2, 31);
  EXPECT_EQ(s.flows[0].flow.control.kind, congestion::Control::Kind::Dcqcn);
  // Numbers from 1; the second message has the next ten packets, and its transmissions follow the
  // two rounds of retransmission of the first one.
  EXPECT_EQ(
      words_of(e),
      (std::vector<std::string>{
          "qp 1 psn 5 iter 1 ce force name event-1", "qp 2 psn 3 iter 1 drop name event-2",
          "qp 2 psn 8 iter 2 corrupt icrc name event-3", "qp 1 psn 15 iter 1 ce force name event-4",
          "qp 2 psn 13 iter 3 drop name event-5", "qp 2 psn 18 iter 4 corrupt icrc name event-6"}));
  EXPECT_EQ(e.captures.size(), 2U);
  EXPECT_TRUE(e.analyze);
  EXPECT_GE(e.expectations.size(), 8U);
  ASSERT_FALSE(imported->notes.empty());
  for (const char *key : {"local-workspace", "switch.fec-type", "requester-mirror.nic.rte-port-id",
                          "traffic.listen-port"})
    EXPECT_NE(imported->notes[0].find(key), std::string::npos) << key;
}

TEST(Lumina, AllPacketsOfAMessage) {
  std::string text = replaced(kLumina, "num-msgs-per-qp: 2", "num-msgs-per-qp: 1");
  text = replaced(text, "multi-gid: true", "multi-gid: false") +
         "    - {qpn: 2, psn: all, type: drop, iter: 1}\n";
  auto imported = importers::lumina(text, "x.yml");
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  const experiment::Experiment e = read(imported.get());
  EXPECT_EQ(words_of(e), std::vector<std::string>{"qp 3 psn all iter 1 drop name event-1"});
  EXPECT_EQ(e.scenario.topology.kind, simulate::Topology::Kind::Star);
  // All of a message lost: the timer, 16.8 ms, is within the duration.
  EXPECT_GT(e.scenario.duration_ns, 17'000'000U);
}

TEST(Lumina, RefusesByName) {
  const std::string all = kLumina + kEvents;
  struct Case {
    std::string text;
    const char *message, *hint = "";
  };
  for (const Case &one : std::initializer_list<Case>{
           {replaced(all, "tx-depth", "tx-dept"), "'tx-dept' is not a key of traffic",
            "did you mean tx-depth?"},
           {replaced(all, "port-speed", "speed"), "'speed' is not a key of switch"},
           {replaced(all, "rte-port-id", "port"), "'port' is not a key of nic"},
           {replaced(all, "traffic:", "trafic:"), "'trafic' is not a key of Lumina",
            "did you mean traffic?"},
           {replaced(all, "rdma-verb: send", "rdma-verb: read"), "rdma-verb: read is not possible"},
           {replaced(all, "rdma-verb: send", "rdma-verb: atomic"), "'atomic' is not a verb"},
           {replaced(all, "num-qps: 3", "num-qps: \"2,2\""), "two numbers are of send_read"},
           {replaced(all, "mtu: 1024", "mtu: 1500"), "mtu: '1500' is not an MTU"},
           {replaced(all, "tx-depth: 1", "tx-depth: 2"),
            "x.yml:38: data-pkt-events: with a tx-depth above 1"},
           {replaced(all, "barrier-sync: false", "barrier-sync: true"), "barrier-sync"},
           {replaced(all, "qpn: 1, psn: 2", "qpn: 3, psn: 2"), "qpn 3: there are 3 QPs", "from 0"},
           {replaced(all, "psn: 2", "psn: 10"), "psn 10: a message has 10 packets"},
           {replaced(all, "psn: 2", "psn: all"),
            "psn all: with losses the QP can have one message only"},
           {replaced(all, "type: drop", "type: delay"), "type: 'delay' is not a type of event"},
           {replaced(all, "type: drop, ", ""), "the event has no type"},
           {replaced(all, "psn: 7, type: bit-error, iter: 2", "psn: 2, type: ecn, iter: 1"),
            "two events at one packet"},
           {replaced(all, "num-msgs-per-qp: 2", "num-msgs-per-qp: 30"), "more than 64 rules"},
           {"local-workspace: x\n", "there is no traffic"},
       }) {
    const auto made = importers::lumina(one.text, "x.yml");
    ASSERT_FALSE(made.ok()) << one.message;
    EXPECT_NE(made.error().message.find(one.message), std::string::npos) << made.error().message;
    EXPECT_NE(made.error().hint.find(one.hint), std::string::npos) << made.error().hint;
    EXPECT_EQ(made.error().message.rfind("x.yml:", 0), 0U) << made.error().message;
  }
  // Nobody answers the mark.
  const std::string quiet =
      replaced(all, "dcqcn-np-enable: True, min-time-between-cnps: 8", "dcqcn-np-enable: False");
  const auto made = importers::lumina(quiet, "x.yml");
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("dcqcn-np-enable"), std::string::npos);
}

// Every key of Lumina's configuration, with another value than kLumina has: something changes, a
// note names it, or it is refused by name.
TEST(Lumina, NoKeyIsDroppedSilently) {
  const std::string all = kLumina + kEvents;
  const auto before = importers::lumina(all, "x.yml");
  ASSERT_TRUE(before.ok());
  struct Case {
    const char *from, *to, *key;
  };
  for (const Case &one : std::initializer_list<Case>{
           {"port-speed: 40G", "port-speed: 100G", "port-speed"},
           {"port-speed: 40G", "port-speed: NONE", "port-speed"},
           {"num-repeats: 5", "num-repeats: 6", "num-repeats"},
           {"dcqcn-rp-enable: True, dcqcn-np-enable: True, min-time-between-cnps: 4",
            "dcqcn-rp-enable: False, dcqcn-np-enable: True, min-time-between-cnps: 4",
            "dcqcn-rp-enable"},
           {"min-time-between-cnps: 8", "min-time-between-cnps: 9", "min-time-between-cnps"},
           {"slow-restart: True", "slow-restart: False", "slow-restart"},
           {"num-qps: 3", "num-qps: 4", "num-qps"},
           {"rdma-verb: send", "rdma-verb: write", "rdma-verb"},
           {"num-msgs-per-qp: 2", "num-msgs-per-qp: 3", "num-msgs-per-qp"},
           {"mtu: 1024", "mtu: 512", "mtu"},
           {"message-size: 10000", "message-size: 9999", "message-size"},
           {"multi-gid: true", "multi-gid: false", "multi-gid"},
           {"barrier-sync: false", "barrier-sync: true", "barrier-sync"},
           {"tx-depth: 1", "tx-depth: 2", "tx-depth"},
           {"min-retransmit-timeout: 12", "min-retransmit-timeout: 13", "min-retransmit-timeout"},
           {"max-retransmit-retry: 3", "max-retransmit-retry: 4", "max-retransmit-retry"},
           {"26,30-31", "26,30", "dscp-list"},
           {"psn: 4, type: ecn", "psn: 5, type: ecn", "psn"},
           {"iter: 2", "iter: 3", "iter"}}) {
    const auto after = importers::lumina(replaced(all, one.from, one.to), "x.yml");
    if (!after) {
      EXPECT_NE(after.error().message.find(one.key), std::string::npos) << after.error().message;
      continue;
    }
    EXPECT_TRUE(before.get().yaml != after.get().yaml || before.get().notes != after.get().notes)
        << one.to;
  }
  std::string notes;
  for (const std::string &note : before.get().notes)
    notes += note + "\n";
  for (const char *key : {"local-workspace",           "result-path",
                          "aggregate-pcap-filename",   "rewrite-udp-dst-port",
                          "switch.sde-path",           "switch.workspace",
                          "switch.control-ip",         "switch.username",
                          "switch.ssh-key-filepath",   "switch.fec-type",
                          "switch.listen-port",        "switch.local-switch-config-path",
                          "requester.workspace",       "requester.control-ip",
                          "requester.nic.type",        "requester.nic.if-name",
                          "requester.nic.pci-addr",    "requester.nic.ib-device",
                          "requester.nic.ib-port",     "requester.nic.switch-port",
                          "requester dcqcn-np-enable", "requester min-time-between-cnps",
                          "responder dcqcn-rp-enable", "requester-mirror.pkt-dump-conf.snap-len",
                          "traffic.listen-port"})
    EXPECT_NE(notes.find(key), std::string::npos) << key;
}

// 4.096 us x 2^14 = 67.1 ms, seven times, where a packet is lost.
TEST(Lumina, TheDurationHasRoomForItsTimers) {
  const std::string text = R"(traffic:
  num-qps: 64
  rdma-verb: write
  num-msgs-per-qp: 1
  mtu: 1024
  message-size: 102400
  min-retransmit-timeout: 14
  max-retransmit-retry: 7
)";
  const auto duration = [&](const std::string &events) {
    const auto imported = importers::lumina(text + events, "x.yml");
    EXPECT_TRUE(imported.ok()) << imported.error().message;
    return imported ? read(imported.get()).scenario.duration_ns : 0;
  };
  EXPECT_LT(duration(""), 20'000'000U); // nothing is lost
  EXPECT_GT(duration("  data-pkt-events: [{qpn: 3, psn: 5, type: drop, iter: 1}]\n"),
            7 * 67'100'000U);
}

const std::string kOtg = R"({
 "ports": [{"name": "p1", "location": "10.0.0.1/1"}, {"name": "p2", "location": "10.0.0.1/2"}, {"name": "p3"}],
 "layer1": [{"name": "l1", "port_names": ["p1", "p2", "p3"], "speed": "speed_400_gbps", "mtu": 9000}],
 "devices": [
  {"name": "d1", "ethernets": [{"name": "e1", "mac": "02:00:00:00:00:01", "mtu": 9000,
     "connection": {"choice": "port_name", "port_name": "p1"},
     "ipv4_addresses": [{"name": "a1", "address": "192.0.2.1", "gateway": "192.0.2.9", "prefix": 24}]}],
   "rocev2": {"ipv4_interfaces": [{"ipv4_name": "a1", "ib_mtu": 4096, "peers": [{"name": "r1", "destination_ip_address": "192.0.2.9",
     "qps": [{"qp_name": "q1", "connection_type": {"choice": "reliable_connection", "reliable_connection": {"source_qp_number": 100,
         "dscp": 26, "ecn": "ect_0", "udp_source_port": 50000, "initial_psn": 7, "virtual_address": "1000", "remote_key": "ab"}}},
       {"qp_name": "q2"}]}]}]}},
  {"name": "d2", "ethernets": [{"name": "e2", "connection": {"choice": "port_name", "port_name": "p2"},
     "ipv4_addresses": [{"name": "a2", "address": "192.0.2.2", "gateway": "192.0.2.9"}]}],
   "rocev2": {"ipv4_interfaces": [{"ipv4_name": "a2", "peers": [{"name": "r2", "destination_ip_address": "192.0.2.9",
     "qps": [{"qp_name": "q3"}]}]}]}}],
 "stateful_flows": {"choice": "rocev2", "rocev2": [{"tx_ports": [
   {"port_name": "p1", "transmit_type": {"choice": "target_line_rate", "target_line_rate": {"value": 80, "flows": [
     {"name": "f1", "tx_endpoint": "q1", "rx_endpoint": "p3", "rocev2_verb": {"choice": "send"}, "message_size": 4, "message_size_unit": "kb"},
     {"name": "f2", "tx_endpoint": "q2", "message_size": 2}]}}},
   {"port_name": "p2", "transmit_type": {"target_line_rate": {"flows": [{"name": "f3", "tx_endpoint": "q3"}]}}}]}]},
 "options": {"per_port_options": [)";
const std::string kSettings = R"("protocols": [{"choice": "rocev2", "rocev2": {
   "cnp": {"choice": "ip_dscp", "ip_dscp": {"value": 48}, "cnp_delay_timer": 20},
   "connection_type": {"choice": "reliable_connection", "reliable_connection": {"ack": {"ip_dscp": {"value": 48}},
     "enable_retransmission_timeout": true, "retransmission_timeout_value": 5, "retransmission_retry_count": 9}},
   "dcqcn_settings": {"enable_dcqcn": DCQCN, "alpha_g": 1019, "initial_alpha": 512, "alpha_update_period": 21,
     "rate_reduction_time_period": 4, "minimum_rate_limmit": 0.01, "maximum_rate_decrement_at_time": 50, "clamp_target_rate": true,
     "rate_increment_time": 300, "rate_increment_byte_counter": 32767, "rate_increment_threshold": 5,
     "additive_increment_rate": 0.05, "hyper_increment_rate": 0.5}}}]}
)";

std::string otg(const char *dcqcn) {
  const std::string settings = replaced(kSettings, "DCQCN", dcqcn);
  return kOtg + "{\"port_name\": \"p1\", " + settings + ", {\"port_name\": \"p2\", " + settings +
         "]}}";
}

TEST(Otg, DevicesAreHostsAndPercentagesAreOfTheLine) {
  auto imported = importers::otg(otg("false"), "o.json");
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  const experiment::Experiment e = read(imported.get());
  const simulate::Scenario &s = e.scenario;
  EXPECT_EQ(s.topology.kind, simulate::Topology::Kind::Star); // one destination
  EXPECT_EQ(s.topology.senders, 2U);
  EXPECT_EQ(s.topology.rate, 400'000'000'000U);
  ASSERT_EQ(s.flows.size(), 3U);
  const flow::Flow &f1 = s.flows[0].flow;
  EXPECT_EQ(s.flows[0].src, "sender-1");
  EXPECT_EQ(s.flows[2].src, "sender-2");
  EXPECT_EQ(f1.verb, packet::Verb::Send);
  EXPECT_EQ(f1.size.largest(), 4000U);
  EXPECT_EQ(f1.pmtu, 4096U);
  EXPECT_EQ(f1.path.tos, 26 << 2 | 2);
  EXPECT_EQ(f1.path.src_port, 50000);
  EXPECT_EQ(f1.psn, 7U);
  EXPECT_EQ(f1.va, 0x1000U);
  EXPECT_EQ(f1.rkey, 0xabU);
  EXPECT_EQ(f1.pacing.rate.value, 40); // half of the port's 80 %
  const flow::Flow &f2 = s.flows[1].flow;
  EXPECT_EQ(f2.verb, packet::Verb::Write); // defaults of OTG
  EXPECT_EQ(f2.size.largest(), 2'000'000U);
  EXPECT_EQ(f2.path.tos, 24 << 2 | 1);
  EXPECT_EQ(s.flows[2].flow.pacing.rate.value, 98);
  EXPECT_EQ(s.flows[2].flow.pmtu, 1024U);
  EXPECT_EQ(s.cnp.interval_ns, 20'000U);
  EXPECT_EQ(s.reliability.timeout_code, 11U); // 8.4 ms, not below 5 ms
  EXPECT_EQ(s.reliability.retries, 9U);
  EXPECT_EQ(f1.control.kind, congestion::Control::Kind::None);
}

TEST(Otg, ParametersOfDcqcnKeepTheirUnits) {
  auto imported = importers::otg(otg("true"), "o.json");
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  const experiment::Experiment e = read(imported.get());
  const congestion::Control &control = e.scenario.flows[0].flow.control;
  ASSERT_EQ(control.kind, congestion::Control::Kind::Dcqcn);
  const auto settings = congestion::resolve(control.dcqcn, 400e9);
  EXPECT_NEAR(settings.g, 5.0 / 1024, 1e-9); // 1019 is the weight of the old alpha
  EXPECT_DOUBLE_EQ(settings.rai, 0.05e-2 * 400e9);
  EXPECT_DOUBLE_EQ(settings.rhai, 0.5e-2 * 400e9);
  EXPECT_DOUBLE_EQ(settings.min_rate, 0.01e-2 * 400e9);
  EXPECT_EQ(settings.timer_ns, 300'000U);
  EXPECT_EQ(settings.alpha_timer_ns, 21'000U);
  EXPECT_EQ(e.scenario.cnp.interval_ns, 20'000U);
}

TEST(Otg, RefusesByName) {
  const std::string all = otg("true");
  struct Case {
    std::string text;
    const char *message;
  };
  for (const Case &one : std::initializer_list<Case>{
           {replaced(all, "\"dscp\"", "\"dcsp\""), "'dcsp' is not a key of reliable_connection"},
           {replaced(all, "\"source_qp_number\": 100", "\"source_qp_number\": 16777216"),
            "source_qp_number"},
           {replaced(all, "\"ib_mtu\": 4096", "\"ib_mtu\": 255"),
            "ipv4_interfaces[0].ib_mtu: 255 is not a whole number from 256"},
           {R"({"stateful_flows": [{"rocev2": []}]})",
            "stateful_flows: [{\"rocev2\":[]}] is not an object"},
           {replaced(all, "\"rx_endpoint\": \"p3\"", "\"rx_endpoint\": \"p1\""),
            "flow 'f1': both of its ends are port 'p1'"},
           {replaced(all, "\"rx_endpoint\": \"p3\"", "\"rx_endpoint\": \"p9\""),
            "rx_endpoint: 'p9' is neither a QP nor a port"},
           {replaced(all, "{\"choice\": \"send\"}", "{\"choice\": \"fetch\"}"),
            "rocev2_verb.choice: 'fetch' is not a value of it"},
           {replaced(all, "\"choice\": \"target_line_rate\"", "\"choice\": \"line_rate\""),
            "transmit_type.choice: 'line_rate' is not a value of it"},
           {replaced(all, "\"message_size\": 4, \"message_size_unit\": \"kb\"",
                     "\"message_size\": 3, \"message_size_unit\": \"gb\""),
            "3000000000 bytes are more than a message can have"},
           {replaced(all, "\"tx_endpoint\": \"q2\"", "\"tx_endpoint\": \"q9\""),
            "there is no QP 'q9'"},
           {replaced(all, "\"qp_name\": \"q2\"", "\"qp_name\": \"q1\""), "there are two QPs 'q1'"},
           {replaced(all, "\"alpha_g\"", "\"alpha\""), "'alpha' is not a key of dcqcn_settings"},
           {replaced(all, "speed_400_gbps", "speed_fast"),
            "layer1[0].speed: 'speed_fast' is not a value of it"},
           {replaced(all, "\"ports\"", "\"flows\": [{}], \"ports\""), "flows"},
           {replaced(all, "\"cnp_delay_timer\": 20", "\"cnp_delay_timer\": 21"),
            "p2 has other options"},
           {replaced(all, "\"value\": 80", "\"value\": 101"),
            "value: 101 is not a whole number from 0 to 100"},
           {replaced(replaced(all, "\"value\": 80", "\"value\": 0"),
                     "\"target_line_rate\": {\"flows\"",
                     "\"target_line_rate\": {\"value\": \"0\", \"flows\""),
            "no flow sends: target_line_rate is 0"},
           {"{\"ports\": []}", "there is no flow of RoCEv2"},
           {"{", "the file must be YAML"},
       }) {
    const auto made = importers::otg(one.text, "o.json");
    ASSERT_FALSE(made.ok()) << one.message;
    EXPECT_NE((made.error().message + made.error().hint).find(one.message), std::string::npos)
        << made.error().message;
  }
}

std::string file_text(const std::filesystem::path &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool has_note(const ImportedExperiment &imported, const std::string &text) {
  return std::ranges::any_of(imported.notes, [&](const std::string &note) {
    return note.find(text) != std::string::npos;
  });
}

// Runs the file and returns the flows.
std::vector<ExperimentFlow> run(const std::filesystem::path &path) {
  const auto imported = importers::otg(file_text(path), path.filename());
  EXPECT_TRUE(imported.ok()) << imported.error().message;
  if (!imported)
    return {};
  auto result = places::run_virtual(read(imported.get()), {}, "");
  EXPECT_TRUE(result.ok()) << result.error().message;
  if (!result)
    return {};
  EXPECT_EQ(result->verdict, Verdict::Pass) << path;
  for (const ExperimentFlow &flow : result->measured.flows)
    EXPECT_EQ(flow.drops, 0U) << flow.name;
  return result->measured.flows;
}

// 98 % of 40 Gbit/s each way, of which frames of 4,162 bytes without FCS have 4,096 of payload.
TEST(Otg, APortIsFullDuplex) {
  const std::filesystem::path path = XR_TEST_DATA "/otg/two_ways.json";
  const auto flows = run(path);
  ASSERT_EQ(flows.size(), 2U);
  for (const ExperimentFlow &flow : flows)
    EXPECT_NEAR(static_cast<double>(flow.bytes) * 8 / 20e-3, 0.98 * 40e9 * 4096 / 4162, 0.4e9)
        << flow.name;
  EXPECT_EQ(flows[0].src, flows[1].dst);
  EXPECT_EQ(flows[0].dst, flows[1].src);

  const auto imported = importers::otg(file_text(path), "two_ways.json");
  ASSERT_TRUE(imported.ok());
  const simulate::Scenario s = read(imported.get()).scenario;
  EXPECT_EQ(s.flows[0].flow.verb, packet::Verb::SendImmediate); // `choice` is absent
  EXPECT_EQ(s.flows[0].flow.psn, 100U);                         // "100"
  EXPECT_EQ(s.flows[0].flow.pmtu, 4096U);
  EXPECT_TRUE(s.queue.pfc.on);
  EXPECT_EQ(s.queue.pfc.priorities, 0xff); // classes that are not given keep the schema's default
  EXPECT_TRUE(has_note(imported.get(), "ib_mtu: 5000: the PMTU is 4096"));
  EXPECT_TRUE(has_note(imported.get(), "ib_mtu: 9100: the PMTU is 4096"));
  EXPECT_TRUE(has_note(imported.get(), "flow 'to right' is to-right"));
}

// What the simulator counts of OTG's columns.
TEST(Otg, ColumnsOfOtgHaveTheSimulatorsNumbers) {
  auto imported = importers::otg(file_text(XR_TEST_DATA "/otg/two_ways.json"), "two_ways.json");
  ASSERT_TRUE(imported.ok());
  const auto made =
      experiment::ExperimentFile(imported->yaml, "x.yaml", "")
          .read({{"expect", "[\"all(flows, data_frames_rx between data_frames_tx - 100 and "
                            "data_frames_tx)\", \"flow('to-right').message_complete_rx * 128000 "
                            "between 0.95 * 98e6 * 4096 / 4162 and 98e6 * 4096 / 4162\", "
                            "\"all(flows, ack_rx >= message_complete_rx and ack_rx > 90)\", "
                            "\"flow('to-right').port_tx in "
                            "['sender-1']\", \"none(flows, nak_rx in [1, 2])\"]"}});
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto result = places::run_virtual(made.get(), {}, "");
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result.get().checks.size(), 5U);
  for (const ExperimentCheck &check : result.get().checks)
    EXPECT_EQ(check.outcome, ExperimentCheck::Outcome::Holds)
        << check.text << ": " << check.value.value_or(-1) << " " << check.why;
}

// Ports that do not share a line have no queue in common.
TEST(Otg, PairsOfPortsDoNotShareALine) {
  const std::filesystem::path path = XR_TEST_DATA "/otg/pairs.json";
  const auto flows = run(path);
  ASSERT_EQ(flows.size(), 2U); // f5 is of a port with target_line_rate 0
  for (const ExperimentFlow &flow : flows)
    EXPECT_NEAR(static_cast<double>(flow.bytes) * 8 / 20e-3, 0.98 * 100e9 * 1024 / 1090, 3e9)
        << flow.name;
  const auto imported = importers::otg(file_text(path), "pairs.json");
  ASSERT_TRUE(imported.ok());
  EXPECT_TRUE(has_note(imported.get(), "target_line_rate 0 sends nothing: without f5"));
  EXPECT_TRUE(has_note(imported.get(), "flow_control ieee_802_3x: pfc of the links"));
  EXPECT_TRUE(has_note(imported.get(), "ib_mtu: 1500: the PMTU is 1024"));
}

// What an experiment does not have; and all errors of a file at once.
TEST(Otg, WhatAnExperimentLacksIsSaid) {
  const std::string all = file_text(XR_TEST_DATA "/otg/two_ways.json");
  const auto imported = importers::otg(all, "o.json");
  ASSERT_TRUE(imported.ok());
  EXPECT_TRUE(has_note(imported.get(), "without an effect here: ports.location, layer1.mtu, "
                                       "devices.ethernets.mac, devices.ethernets.mtu"));
  EXPECT_TRUE(has_note(imported.get(), "port_options.location_preemption: it has no effect here"));
  const auto message = [](const std::string &text) {
    const auto refused = importers::otg(text, "o.json");
    EXPECT_FALSE(refused.ok());
    return refused ? "" : refused.error().message + refused.error().hint;
  };
  EXPECT_NE(message(replaced(all, "\"mtu\": 9000", "\"mtu\": 9000, \"vlans\": [{\"name\": \"v\"}]"))
                .find("ethernet 'ethernet 1': vlans"),
            std::string::npos);
  EXPECT_EQ(message(replaced(replaced(all, "\"dscp\"", "\"dcsp\""), "\"q-left\"", "\"q\"")),
            "o.json: devices[0].rocev2.ipv4_interfaces[0].peers[0].qps[0].connection_type."
            "reliable_connection: 'dcsp' is not a key of reliable_connection (did you mean dscp?)\n"
            "  stateful_flows.rocev2[0].tx_ports[0].transmit_type.target_line_rate.flows[0]."
            "tx_endpoint: there is no QP 'q-left' (one of q, q-right)");
}

TEST(Otg, YamlIsReadAsJson) {
  const auto made = importers::otg(R"(ports: [{name: left}, {name: "2"}]
devices:
- name: d1
  ethernets:
  - {name: e1, mac: 02:00:00:00:00:01, connection: {port_name: left},
     ipv4_addresses: [{name: a1, address: 192.0.2.1, gateway: 192.0.2.2}]}
  rocev2:
    ipv4_interfaces:
    - ipv4_name: a1
      peers:
      - name: r1
        destination_ip_address: 192.0.2.2
        qps: [{qp_name: q1, connection_type: {reliable_connection: {dscp: 0x1a, remote_key: "10", initial_psn: "9"}}}]
stateful_flows:
  rocev2: [{tx_ports: [{port_name: left, transmit_type: {target_line_rate: {value: 50, flows: [
    {name: f1, tx_endpoint: q1, rx_endpoint: "2", message_size_unit: ~}]}}}]}]
options: {per_port_options: [{port_name: left, protocols: [{rocev2: {dcqcn_settings: {enable_dcqcn: true, minimum_rate_limmit: 5e-1}}}]}]}
)",
                                   "o.yaml");
  ASSERT_TRUE(made.ok()) << made.error().message;
  const simulate::Scenario s = read(made.get()).scenario;
  ASSERT_EQ(s.flows.size(), 1U);
  EXPECT_EQ(s.flows[0].flow.path.tos >> 2, 26);
  EXPECT_EQ(s.flows[0].flow.rkey, 0x10U);
  EXPECT_EQ(s.flows[0].flow.psn, 9U);
  EXPECT_EQ(s.flows[0].flow.size.largest(), 1'000'000U);
  EXPECT_DOUBLE_EQ(congestion::resolve(s.flows[0].flow.control.dcqcn, 100e9).min_rate, 0.5e9);

  for (const auto &[text, message] : std::initializer_list<std::pair<const char *, const char *>>{
           {"ports: [{name: 2}]", "o.yaml: ports[0].name: 2 is not a text"},
           {"ports: [{name: a, name: b}]", "o.yaml:1: 'name' is there twice"},
           {"? [a]\n: 1", "o.yaml:1: a key is not a text"},
           {"- 1", "o.yaml: [1] is not an object"},
           {"{\"ports\": [{\"name\": \"a\", \"name\": \"b\"}]}",
            "o.yaml: an object has the key 'name' twice"},
           {"lags: [.5]", "o.yaml: lags[0]: 0.5 is not an object"},
           {"{ports: [{name: a}], lags: [{name: l, ports: [{port_name: a, ethernet: {name: e}}]}]}",
            "o.yaml: lags: LAGs are not simulated (ports)"}}) {
    const auto refused = importers::otg(text, "o.yaml");
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.error().message.substr(0, std::string(message).size()), message);
  }
}

TEST(Otg, PfcClassesAndSpeeds) {
  const std::string all = file_text(XR_TEST_DATA "/otg/two_ways.json");
  const auto queue_of = [](const std::string &text) {
    const auto imported = importers::otg(text, "o.json");
    EXPECT_TRUE(imported.ok()) << imported.error().message;
    return imported ? read(imported.get()).scenario.queue : LinkSpec();
  };
  const std::string off = replaced(
      all, "\"pfc_class_3\": 3", "\"pfc_class_0\": null, \"pfc_class_7\": null, \"pfc_delay\": 4");
  EXPECT_EQ(queue_of(off).pfc.priorities, 0x7e);
  const auto imported = importers::otg(replaced(off, "speed_40_gbps", "speed_100_fd_mbps"), "o");
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  EXPECT_TRUE(has_note(imported.get(), "flow_control.ieee_802_1qbb.pfc_delay: it has no effect"));
  EXPECT_EQ(read(imported.get()).scenario.topology.rate, 100'000'000U);
  const auto wrong = importers::otg(replaced(all, "\"pfc_class_3\": 3", "\"pfc_class_8\": 3"), "o");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("'pfc_class_8' is not a key of ieee_802_1qbb"),
            std::string::npos);
}

// The published model and configurations as its clients send them; not part of the project.
std::filesystem::path published() {
  const char *set = std::getenv("XR_OTG_SCHEMA");
  return set ? std::filesystem::path(set)
             : std::filesystem::path(XR_TEST_DATA "/../../../shared/otg").lexically_normal();
}

TEST(Otg, PublishedConfigurationsRun) {
  const std::filesystem::path folder = published() / "fixtures";
  if (!std::filesystem::is_directory(folder))
    GTEST_SKIP() << "there is no " << folder << ": XR_OTG_SCHEMA names the folder of OTG's model";
  size_t files = 0;
  for (const auto &entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json")
      continue;
    files++;
    const std::string text = file_text(entry.path());
    if (text.find("\"flows\"") == std::string::npos) { // set-up only, for the API
      const auto imported = importers::otg(text, entry.path().filename());
      ASSERT_FALSE(imported.ok()) << entry.path();
      EXPECT_NE(imported.error().message.find("no flow of RoCEv2"), std::string::npos)
          << imported.error().message;
      continue;
    }
    for (const ExperimentFlow &flow : run(entry.path()))
      EXPECT_GT(flow.packets, 10'000U) << entry.path() << " " << flow.name;
  }
  EXPECT_GT(files, 0U);
}

} // namespace
} // namespace importers_files_test
