// SPDX-License-Identifier: Apache-2.0
// Configurations of the Open Traffic Generator as values: every field, defaults, and errors by the
// path of their key.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <initializer_list>
#include <limits>

#include <fmt/format.h>

#include "otg/config.h"
#include "otg/json_text.h"
#include "otg_read.h"
#include "parse/address.h"

namespace otg_config_test {
namespace {

using namespace xr;
using otg::Config;
using otg::Findings;
using otg::Json;
using test::errors_of;
using test::read_valid;
using test::warnings_of;

const Json &everything() {
  static const Json kJson = [] {
    std::ifstream file(XR_TEST_DATA "/otg/everything.json");
    Json json = Json::parse(file);
    // Not in the model; it switches PFC of the priority off.
    json["layer1"][0]["flow_control"]["ieee_802_1qbb"]["pfc_class_0"] = nullptr;
    return json;
  }();
  return kJson;
}

using Pointer = Json::json_pointer;

// Places in everything.json.
const std::string kQps = "/devices/0/rocev2/ipv4_interfaces/0/peers/0/qps";
const std::string kFlows =
    "/stateful_flows/rocev2/0/tx_ports/0/transmit_type/target_line_rate/flows";
const std::string kOptions = "/options/per_port_options/0/protocols/0/rocev2";

using Texts = std::vector<std::string>;

TEST(OtgConfig, PortsAndLayer1) {
  Json json = everything();
  const Config config = read_valid(json);
  ASSERT_EQ(config.ports.size(), 2U);
  const otg::Port &left = config.ports[0], &right = config.ports[1];
  EXPECT_EQ(left.name, "left");
  EXPECT_EQ(left.location, "eth1");
  EXPECT_EQ(left.line_mbit, 100'000U);
  EXPECT_EQ(left.mtu, 9100U);
  ASSERT_TRUE(left.flow_control.has_value());
  EXPECT_FALSE(left.flow_control->whole_port);
  EXPECT_EQ(left.flow_control->priorities, 0xfeU); // pfc_class_0 is null
  EXPECT_EQ(right.location, "lab/eth2");
  EXPECT_EQ(right.line_mbit, 25'000U);
  EXPECT_FALSE(right.mtu.has_value());
  ASSERT_TRUE(right.flow_control.has_value());
  EXPECT_TRUE(right.flow_control->whole_port);
}

TEST(OtgConfig, PortOptions) {
  Json json = everything();
  const Config config = read_valid(json);
  EXPECT_FALSE(config.auto_start);
  const otg::PortOptions &left = config.ports[0].options, &right = config.ports[1].options;
  EXPECT_TRUE(left.given);
  EXPECT_EQ(left.cnp.dscp, 46);
  EXPECT_EQ(left.cnp.ecn, 0);
  EXPECT_TRUE(left.cnp.given);
  EXPECT_TRUE(left.interval_given);
  EXPECT_EQ(left.cnp_interval_us, 20U);
  EXPECT_EQ(left.ack.dscp, 30);
  EXPECT_EQ(left.ack.ecn, 1);
  EXPECT_EQ(left.nak.dscp, 48);
  EXPECT_EQ(left.nak.ecn, 2);
  EXPECT_TRUE(left.nak.given);
  EXPECT_FALSE(left.timer);
  EXPECT_EQ(left.timeout_ms, 5000U);
  EXPECT_EQ(left.retries, 254U);
  EXPECT_TRUE(left.dcqcn); // enable_dcqcn is absent
  Texts parameters;
  for (const otg::DcqcnParameter &one : left.parameters)
    parameters.push_back(fmt::format("{} {} {}", one.name, one.value, one.of_line));
  EXPECT_EQ(parameters, (Texts{"g 0.00390625 0", "alpha-initial 0.9765625 0", "first-cnp 12% 0",
                               "clamp 1 0", "rai  0.05"}));
  EXPECT_TRUE(right.given);
  EXPECT_FALSE(right.interval_given || right.cnp.given || right.dcqcn || right.timeout_ms ||
               right.retries);
  EXPECT_TRUE(right.timer);
}

TEST(OtgConfig, DevicesOverIpv4AndIpv6) {
  Json json = everything();
  const Config config = read_valid(json);
  ASSERT_EQ(config.ethernets.size(), 2U);
  const otg::Ethernet &e1 = config.ethernets[0];
  EXPECT_EQ(e1.name, "e1");
  EXPECT_EQ(e1.device, "d1");
  EXPECT_EQ(e1.port, 0U);
  EXPECT_EQ(config.ethernets[1].port, 1U);
  EXPECT_EQ(e1.mac, (packet::Mac{2, 0, 0, 0, 0, 10}));
  EXPECT_EQ(e1.mtu, 9000U);
  ASSERT_EQ(e1.vlans.size(), 2U);
  EXPECT_EQ(e1.vlans[0].tpid, 0x88a8);
  EXPECT_EQ(e1.vlans[0].id, 100);
  EXPECT_EQ(e1.vlans[0].priority, 5);
  EXPECT_EQ(e1.vlans[1].tpid, 0x8100);
  EXPECT_EQ(e1.vlans[1].id, 1);
  EXPECT_EQ(e1.vlans[1].priority, 0);

  Texts addresses;
  for (const otg::Interface &one : config.interfaces)
    addresses.push_back(fmt::format("{} {} {} {}/{} via {}", one.name, one.ethernet, one.ipv4,
                                    parse::address_text(one.address), one.prefix,
                                    parse::address_text(one.gateway)));
  EXPECT_EQ(addresses,
            (Texts{"v4-1 0 true 192.0.2.1/25 via 192.0.2.2",
                   "v6-1 0 false 2001:db8::1/64 via ::", "v4-2 1 true 192.0.2.2/25 via 192.0.2.1",
                   "v6-2 1 false 2001:db8::2/64 via ::"}));
  EXPECT_EQ(config.interfaces[0].gateway_mac, (packet::Mac{2, 0, 0, 0, 0, 0x99}));
  EXPECT_FALSE(config.interfaces[1].gateway_mac.has_value());
}

TEST(OtgConfig, PeersAndQps) {
  Json json = everything();
  const Config config = read_valid(json);
  Texts peers;
  for (const otg::Peer &one : config.peers)
    peers.push_back(fmt::format(
        "{} of {} to {} mtu {} pmtu {} qps {}", one.name, config.interfaces[one.interface].name,
        one.destination == Address{} ? "none" : parse::address_text(one.destination), one.ib_mtu,
        one.pmtu, one.qps));
  EXPECT_EQ(peers, (Texts{"p1 of v4-1 to 192.0.2.2 mtu 5000 pmtu 4096 qps [0, 1, 2, 3, 4]",
                          "p1-6 of v6-1 to 2001:db8::2 mtu 1024 pmtu 1024 qps [5]",
                          "p2 of v4-2 to none mtu 4096 pmtu 4096 qps [6, 7]",
                          "p2-6 of v6-2 to 2001:db8::1 mtu 256 pmtu 256 qps [8]",
                          "without QPs of v6-2 to none mtu 256 pmtu 256 qps []"}));
  Texts qps;
  for (const otg::Qp &one : config.qps)
    qps.push_back(fmt::format("{} of {}: {} dscp {} ecn {} port {} psn {} va {:x} rkey {:x}",
                              one.name, config.peers[one.peer].name, one.number, one.dscp, one.ecn,
                              one.udp_port.value_or(0), one.psn, one.va, one.rkey));
  ASSERT_EQ(qps.size(), 9U);
  EXPECT_EQ(qps[0], "q1 of p1: 100 dscp 26 ecn 2 port 50000 psn 16777215 va deadbeef rkey c0ffee");
  EXPECT_EQ(qps[1], "q2 of p1: 2 dscp 24 ecn 1 port 0 psn 0 va 0 rkey 0");
  EXPECT_EQ(qps[2], "q3 of p1: 2 dscp 24 ecn 3 port 0 psn 0 va 0 rkey 0");
  EXPECT_EQ(qps[3], "q4 of p1: 101 dscp 24 ecn 0 port 0 psn 0 va 0 rkey 0");
  EXPECT_FALSE(config.qps[1].udp_port.has_value());
}

TEST(OtgConfig, StatefulFlowsAndCaptures) {
  Json json = everything();
  const Config config = read_valid(json);
  Texts flows;
  for (const otg::StatefulFlow &one : config.flows)
    flows.push_back(fmt::format("{}: {} of {} to '{}' verb {} bytes {} imm {:x} {}%", one.name,
                                config.qps[one.qp].name, config.ports[one.port].name, one.rx,
                                static_cast<int>(one.verb), one.bytes, one.immediate, one.percent));
  EXPECT_EQ(flows, (Texts{"f1: q1 of left to 'r1' verb 3 bytes 128000 imm bb 80%",
                          "f2: q2 of left to 'right' verb 0 bytes 1000000 imm 0 80%",
                          "f3: q3 of left to '' verb 1 bytes 2000000000 imm 0 80%",
                          "f4: q4 of left to '' verb 4 bytes 0 imm 0 80%",
                          "f5: q6 of left to '' verb 2 bytes 1000000 imm 0 80%",
                          "f6: r6 of right to '' verb 0 bytes 1000000 imm 0 0%"}));
  ASSERT_EQ(config.captures.size(), 1U);
  EXPECT_EQ(config.captures[0].name, "c1");
  EXPECT_EQ(config.captures[0].ports, (std::vector<size_t>{1, 0}));
  EXPECT_TRUE(config.captures[0].pcapng);
  EXPECT_EQ(config.captures[0].snaplen, 128U);
  EXPECT_TRUE(config.captures[0].filter.empty());
}

TEST(OtgConfig, DefaultsAreWrittenAndStay) {
  Json json = everything();
  (void)read_valid(json);
  const auto at = [&](const std::string &pointer) { return json.value(Pointer(pointer), Json()); };
  for (const auto &[pointer, value] : std::initializer_list<std::pair<std::string, Json>>{
           {"/devices/1/ethernets/0/ipv6_addresses/0/prefix", 64},
           {"/devices/0/ethernets/0/vlans/1/tpid", "x8100"},
           {"/devices/0/ethernets/0/ipv4_addresses/0/gateway_mac/choice", "value"},
           {kQps + "/1/connection_type/choice", "reliable_connection"},
           {kQps + "/1/connection_type/reliable_connection/ecn", "ect_1"},
           {kQps + "/1/connection_type/reliable_connection/virtual_address", "0000000000000000"},
           {kFlows + "/1/rocev2_verb/choice", "write"},
           {kFlows + "/2/rocev2_verb/choice", "write_with_immediate"},
           {kFlows + "/2/rocev2_verb/write_with_immediate/immediate_data", "00000000"},
           {kFlows + "/1/message_size_unit", "mb"},
           {"/captures/0/format", "pcapng"},
           {"/layer1/1/flow_control/choice", "ieee_802_3x"},
           {"/layer1/0/flow_control/ieee_802_1qbb/pfc_class_5", 5},
           {"/layer1/0/flow_control/ieee_802_1qbb/pfc_class_0", nullptr},
           {kOptions + "/cnp/choice", "ip_dscp"},
           {kOptions + "/connection_type/reliable_connection/nak/ip_dscp/value", 48},
           {kOptions + "/dcqcn_settings/enable_dcqcn", true},
           {"/options/port_options/data_integrity", false},
           {"/stateful_flows/rocev2/0/tx_ports/0/transmit_type/target_line_rate/value", "80"}})
    EXPECT_EQ(at(pointer), value) << pointer;
  // What the machine or our preset decides is not invented.
  for (const std::string pointer :
       {"/layer1/1/mtu", "/options/per_port_options/0/protocols/0/rocev2/dcqcn_settings/clamp"})
    EXPECT_TRUE(at(pointer).is_null()) << pointer;
  EXPECT_FALSE(
      json.contains(Pointer(kQps + "/1/connection_type/reliable_connection/udp_source_port")));

  Json again = json;
  (void)read_valid(again);
  EXPECT_EQ(again, json);
}

// One edit of everything.json. A value that is discarded takes the key away.
struct Edit {
  std::string at;
  Json value;
  std::string error; // the beginning of the only one
};
const Json kGone = Json(Json::value_t::discarded);

Json edited(const Edit &edit) {
  Json json = everything();
  const Pointer at(edit.at);
  if (edit.value.is_discarded())
    json[at.parent_pointer()].erase(at.back());
  else
    json[at] = edit.value;
  return json;
}

void expect_errors(const std::vector<Edit> &edits) {
  for (const Edit &edit : edits) {
    const Texts errors = errors_of(edited(edit));
    ASSERT_EQ(errors.size(), 1U) << edit.at << "\n" << fmt::format("{}", fmt::join(errors, "\n"));
    EXPECT_EQ(errors[0].substr(0, edit.error.size()), edit.error) << edit.at;
  }
}

TEST(OtgConfig, ErrorsOfPortsAndDevices) {
  const std::string ethernet = "/devices/0/ethernets/0";
  const std::string e = "devices[0].ethernets[0].";
  expect_errors({
      {"/ports/1/location", "eth1", "ports[1].location: 'eth1' is of a port before it"},
      {"/ports/1/loc", "x", "ports[1]: 'loc' is not a key of a port (one of name, location)"},
      {"/ports/2", {{"location", "x"}}, "ports[2].name: a port needs it"},
      {"/ports/2", {{"name", "left"}}, "ports[2].name: there are two ports 'left'"},
      {"/lags", {{{"name", "lag"}}}, "lags[0].ports: a LAG needs at least one"},
      {"/lldp", {{{"name", "l"}}}, "lldp[0].connection: LLDP needs it"},
      {"/events", {{"enable", true}}, "events: it is not supported"},
      {"/layer1/0/port_names", Json::array(), "layer1[0].port_names: there is no port in it"},
      {"/layer1/1/port_names/1", "left", "layer1[1].port_names: port 'left' is in a layer1 before"},
      {"/layer1/1/port_names/1", "right", "layer1[1].port_names: 'right' is there twice"},
      {"/layer1/1/port_names/1", "rihgt",
       "layer1[1].port_names: there is no port 'rihgt' (did you"},
      {"/layer1/0/speed", "speed_3_gbps", "layer1[0].speed: 'speed_3_gbps' is not a value of it"},
      {"/layer1/0/mtu", 3000,
       "devices[0].rocev2.ipv4_interfaces[0].ib_mtu: packets of 4096 bytes, "
       "and 64 of headers, do not fit the mtu 3000 of the layer1 of port "
       "'left' (an mtu from 4160 on, or ib_mtu 2048)"},
      {ethernet + "/mtu", 2000, "devices[0].rocev2.ipv4_interfaces[0].ib_mtu: packets of 4096"},
      {ethernet + "/mac", "03:00:00:00:00:01", e + "mac: '03:00:00:00:00:01' is not the address"},
      {ethernet + "/mac", "2:0:0:0:0:1", e + "mac: '2:0:0:0:0:1' is not a MAC address"},
      {ethernet + "/connection", kGone, e + "connection: an ethernet needs it"},
      {ethernet + "/connection",
       {{"lag_name", "l"}},
       e + "connection.lag_name: there is no LAG 'l'"},
      {ethernet + "/connection",
       {{"choice", "vxlan_name"}},
       e + "connection.vxlan_name: it is not"},
      {ethernet + "/connection",
       {{"choice", "port_name"}},
       e + "connection.port_name: connection n"},
      {ethernet + "/connection/port_name", "lift", e + "connection.port_name: there is no port 'l"},
      {ethernet + "/vlans/2", {{"name", "v"}}, e + "vlans: there are 3 tags (at most 2)"},
      {ethernet + "/vlans/0/id", 4095,
       e + "vlans[0].id: 4095 is not a whole number from 0 to 4094"},
      {ethernet + "/ipv4_addresses/0/address", "192.0.2.2",
       "devices[1].ethernets[0].ipv4_addresses[0].address: 192.0.2.2 is that of 'v4-1' too"},
      {ethernet + "/ipv4_addresses/0/address", "0.0.0.0",
       e + "ipv4_addresses[0].address: it is not the address of a host"},
      {ethernet + "/ipv6_addresses/0/address",
       "::", e + "ipv6_addresses[0].address: it is not the address of a host"},
      {ethernet + "/ipv4_addresses/0/address", "2001:db8::5",
       e + "ipv4_addresses[0].address: '2001:db8::5' is not an IPv4 address"},
      {ethernet + "/ipv4_addresses/0/gateway", kGone,
       e + "ipv4_addresses[0].gateway: an address needs it (like 192.0.2.1)"},
      {ethernet + "/ipv4_addresses/0/prefix", 33,
       e + "ipv4_addresses[0].prefix: 33 is not a whole number from 1 to 32"},
      {ethernet + "/ipv4_addresses/0/gateway_mac/value", "00:00:00:00:00:00",
       e + "ipv4_addresses[0].gateway_mac.value: '00:00:00:00:00:00' is not the address of an"},
      {ethernet + "/dhcpv4_interfaces", {{{"name", "x"}}}, e + "dhcpv4_interfaces: it is not supp"},
      {"/devices/1/bgp", {{"router_id", "1.1.1.1"}}, "devices[1].bgp: it is not supported"},
      {"/devices/1/name", "d1", "devices[1].name: there are two devices 'd1'"},
  });
}

TEST(OtgConfig, ErrorsOfQpsAndFlows) {
  const std::string interface = "/devices/0/rocev2/ipv4_interfaces/0";
  const std::string i = "devices[0].rocev2.ipv4_interfaces[0].";
  const std::string q = i + "peers[0].qps[";
  const std::string parameters = "/connection_type/reliable_connection";
  const std::string p = "].connection_type.reliable_connection.";
  const std::string t = "stateful_flows.rocev2[0].tx_ports[0].";
  const std::string f = t + "transmit_type.target_line_rate.flows[";
  expect_errors({
      {interface + "/ipv4_name", "v6-1", i + "ipv4_name: 'v6-1' is an IPv6 address (ipv6_interf"},
      {interface + "/ipv4_name", "v4", i + "ipv4_name: there is no address 'v4'"},
      {interface + "/ib_mtu", 255, i + "ib_mtu: 255 is not a whole number from 256 to 14000"},
      {interface + "/ib_mtu", "1k", i + "ib_mtu: '1k' is not a whole number"},
      {interface + "/peers/0/destination_ip_address", kGone, i + "peers[0].destination_ip_addr"},
      {"/devices/1/rocev2/ipv4_interfaces/0/peers/0/name", "p1",
       "devices[1].rocev2.ipv4_interfaces[0].peers[0].name: there are two peers 'p1'"},
      {kQps + "/4/qp_name", "q1", q + "4].qp_name: there are two QPs 'q1'"},
      {kQps + "/3" + parameters + "/source_qp_number", 100,
       q + "3" + p + "source_qp_number: 100 is that of QP 'q1' of the same port too"},
      {kQps + "/3" + parameters + "/source_qp_number", 0x1000000,
       q + "3" + p + "source_qp_number: 16777216 is not a whole number from 2 to 16777215"},
      {kQps + "/0" + parameters + "/initial_psn", "16777216", q + "0" + p + "initial_psn: '1677"},
      {kQps + "/0" + parameters + "/dscp", 64, q + "0" + p + "dscp: 64 is not a whole number"},
      {kQps + "/0" + parameters + "/ecn", "ect1", q + "0" + p + "ecn: 'ect1' is not a value of it"},
      {kQps + "/0" + parameters + "/remote_key", "123456789",
       q + "0" + p + "remote_key: '123456789' is not a text of 1 to 8 hexadecimal digits"},
      {kQps + "/0/connection_type/choice", "ud", q + "0].connection_type.choice: 'ud' is not a"},
      {kFlows + "/1/name", "f1", f + "1].name: there are two flows 'f1'"},
      {kFlows + "/1/tx_endpoint", "q9", f + "1].tx_endpoint: there is no QP 'q9'"},
      {kFlows + "/1/tx_endpoint", kGone, f + "1].tx_endpoint: a flow needs it"},
      {kFlows + "/1/rx_endpoint", "r9", f + "1].rx_endpoint: 'r9' is neither a QP nor a port"},
      {kFlows + "/2/message_size", 3, f + "2].message_size: 3000000000 bytes are more than a mes"},
      {kFlows + "/2/message_size_unit", "MB", f + "2].message_size_unit: 'MB' is not a value of"},
      {kFlows + "/0/rocev2_verb/send_with_immediate/immediate_data", "",
       f + "0].rocev2_verb.send_with_immediate.immediate_data: '' is not a text of 1 to 8"},
      {"/stateful_flows/rocev2/0/tx_ports/0/port_name", "x", t + "port_name: there is no port 'x'"},
      {"/stateful_flows/rocev2/0/tx_ports/1",
       {{"port_name", "left"}, {"transmit_type", {{"target_line_rate", {{"value", 70}}}}}},
       "stateful_flows.rocev2[0].tx_ports[1].transmit_type.target_line_rate.value: 70 is not the "
       "80 that port 'left' has before"},
  });
}

TEST(OtgConfig, ErrorsOfOptionsAndCaptures) {
  const std::string o = "options.per_port_options[0].protocols[0].rocev2.";
  expect_errors({
      {"/options/per_port_options/1/port_name", "left",
       "options.per_port_options[1].port_name: port 'left' has options before it"},
      {"/options/per_port_options/0/protocols/1",
       {{"choice", "rocev2"}},
       "options.per_port_options[0].protocols[1].rocev2: the port has it already"},
      {"/options/per_port_options/1/protocols/0",
       {{"macsec", {{"x", 1}}}},
       "options.per_port_options[1].protocols[0].macsec: it is not supported"},
      {kOptions + "/dcqcn_settings/alpha", 1,
       o + "dcqcn_settings: 'alpha' is not a key of dcqcn_s"},
      {kOptions + "/dcqcn_settings/alpha_g", 1024, o + "dcqcn_settings.alpha_g: 1024 is not a w"},
      {kOptions + "/dcqcn_settings/alpha_g", "x", o + "dcqcn_settings.alpha_g: 'x' is not a whole"},
      {kOptions + "/dcqcn_settings/hyper_increment_rate", 101,
       o + "dcqcn_settings.hyper_increment_rate: 101 is not a number from 0 to 100"},
      {kOptions + "/dcqcn_settings/enable_dcqcn", 1, o + "dcqcn_settings.enable_dcqcn: 1 is not a"},
      {kOptions + "/cnp/cnp_delay_timer", 256, o + "cnp.cnp_delay_timer: 256 is not a whole numb"},
      {kOptions + "/cnp/ip_dscp/value", 64, o + "cnp.ip_dscp.value: 64 is not a whole number fro"},
      {kOptions + "/connection_type/reliable_connection/retransmission_timeout_value", 5370,
       o + "connection_type.reliable_connection.retransmission_timeout_value: 5370 is not"},
      {"/captures/0/port_names/0", "left", "captures[0].port_names: 'left' is there twice"},
      {"/captures/0/packet_size", 13, "captures[0].packet_size: 13 is not a whole number from 14"},
      {"/captures/0/format", "erf", "captures[0].format: 'erf' is not a value of it (one of pcap,"},
      {"/captures/0/filters",
       {{{"ipv4", {{"src", {{"value", "c00002zz"}}}}}}},
       "captures[0].filters[0].ipv4.src.value: 'c00002zz' is not a hexadecimal number of 32 bits"},
  });
}

// The public RoCEv2 tests of snappi-ixnetwork have both; the model has no rule against them.
TEST(OtgConfig, AFlowIsSentByTheQpThatItNames) {
  const std::string flow = "stateful_flows.rocev2[0].tx_ports[0].transmit_type.target_line_rate."
                           "flows[1].tx_endpoint: ";
  const auto last = [](const Json &json) { return warnings_of(json).at(1); };
  Json json = edited({kFlows + "/1/tx_endpoint", "r1", ""});
  EXPECT_EQ(last(json), flow + "QP 'r1' is of port 'right', not of 'left': the flow is sent there");
  Config config = read_valid(json);
  EXPECT_EQ(config.flows[1].port, 1U);
  json = edited({kFlows + "/1/tx_endpoint", json.at(Pointer(kFlows + "/0/tx_endpoint")), ""});
  EXPECT_EQ(last(json), flow + "QP 'q1' sends flow 'f1' already: this flow has another QP "
                               "like it");
  config = read_valid(json);
  const otg::Qp &one = config.qps[config.flows[0].qp], &other = config.qps[config.flows[1].qp];
  EXPECT_NE(config.flows[0].qp, config.flows[1].qp);
  EXPECT_NE(one.number, other.number);
  EXPECT_EQ(one.dscp, other.dscp);
  EXPECT_EQ(config.peers[one.peer].qps.back(), config.flows[1].qp);
}

// A client sends the defaults of an object that it has used: they do not contradict ib_mtu.
TEST(OtgConfig, AnMtuThatNobodySetIsAWarning) {
  const std::string at = "devices[0].rocev2.ipv4_interfaces[0].ib_mtu: ";
  const auto has = [](const Json &json, const std::string &warning) {
    const Texts all = warnings_of(json);
    EXPECT_NE(std::ranges::find(all, warning), all.end())
        << fmt::format("{}", fmt::join(all, "\n"));
  };
  Json json = edited({"/layer1/0/mtu", 1500, ""});
  has(json, at + "packets of 4096 bytes do not fit the mtu 1500 of the layer1 of port 'left', "
                 "which is the default: the interface's own decides");
  json[Pointer("/devices/0/ethernets/0/mtu")] = 1500;
  json[Pointer("/layer1/0")].erase("mtu");
  has(json, at + "packets of 4096 bytes do not fit the mtu 1500 of ethernet '" +
                json.at(Pointer("/devices/0/ethernets/0/name")).get<std::string>() +
                "', which is the default: the interface's own decides");
}

TEST(OtgConfig, APortMayBeInTwoCaptures) {
  const Json json = edited({"/captures/1", {{"name", "c2"}, {"port_names", {"left"}}}, ""});
  EXPECT_EQ(warnings_of(json).at(2), "captures[1].port_names: port 'left' is of a capture before "
                                     "it: it records the frames of both, as that one says");
}

// SONiC's tests give a port that only receives flows, and its peer no destination.
TEST(OtgConfig, AFlowWithoutDestinationSendsNothing) {
  Json json =
      edited({"/devices/0/rocev2/ipv4_interfaces/0/peers/0/destination_ip_address", "0.0.0.0", ""});
  Findings findings;
  const Config config = read_config(json, findings);
  EXPECT_TRUE(findings.ok());
  ASSERT_FALSE(config.flows.empty());
  EXPECT_EQ(config.flows[0].percent, 0);
  EXPECT_TRUE(std::ranges::any_of(findings.all_warnings(), [](const std::string &each) {
    return each.ends_with("of QP 'q4' has no destination: the flow sends nothing");
  })) << fmt::format("{}", fmt::join(findings.all_warnings(), "\n"));
}

// What refers to an object with an error has no further one; other errors are all there.
TEST(OtgConfig, AllErrorsAreGivenOnce) {
  Json json = everything();
  json["ports"][0]["name"] = "lift"; // the name is used in six places
  json["devices"][1]["isis"]["system_id"] = "1";
  EXPECT_EQ(errors_of(json),
            (Texts{"layer1[0].port_names: there is no port 'left' (did you mean lift?)",
                   "devices[0].ethernets[0].connection.port_name: there is no port 'left' (did you "
                   "mean lift?)",
                   "devices[1].isis: it is not supported (ethernets, rocev2)",
                   "stateful_flows.rocev2[0].tx_ports[0].port_name: there is no port 'left' (did "
                   "you mean lift?)",
                   "options.per_port_options[0].port_name: there is no port 'left' (did you mean "
                   "lift?)",
                   "captures[0].port_names: there is no port 'left' (did you mean lift?)"}));
  Json many = Json::object();
  for (int i = 0; i < 130; i++)
    many["ports"].push_back({{"nmae", "x"}});
  const Texts errors = errors_of(many);
  ASSERT_EQ(errors.size(), Findings::kMost + 1);
  EXPECT_EQ(errors[0], "ports[0].name: a port needs it (\"...\")");
  EXPECT_EQ(errors.back(), "and 160 more");
  EXPECT_EQ(errors_of({{"ports", {7}}}), (Texts{"ports[0]: 7 is not an object ({...})",
                                                "ports[0].name: a port needs it (\"...\")"}));
  EXPECT_EQ(errors_of(Json::array()), (Texts{"[] is not an object ({\"ports\": [...]})"}));
}

TEST(OtgConfig, ErrorsAreTextOfUtf8) {
  std::string name(59, 'a');
  name += "\u00e9\u00e9\u00e9"; // one is cut
  const Texts errors = errors_of({{"ports", {{{name, 1}, {"name", "p"}}}}});
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(Json(errors).dump(-1, ' ', false, Json::error_handler_t::strict).find("\\ufffd"),
            std::string::npos);
  EXPECT_EQ(errors[0].substr(0, 73), "ports[0]: '" + std::string(59, 'a') + "...");
}

TEST(OtgConfig, KeysWithoutEffectAreWarnings) {
  EXPECT_EQ(warnings_of(everything()),
            (Texts{"devices[0].rocev2.ipv4_interfaces[0].ib_mtu: 5000: the PMTU is 4096, the "
                   "largest of InfiniBand that fits",
                   "options.port_options.location_preemption: it has no effect here"}));
  const auto last = [](const std::string &at, const Json &value) {
    const Texts all = warnings_of(edited({at, value, ""}));
    Texts known = warnings_of(everything());
    for (const std::string &one : all)
      if (std::ranges::find(known, one) == known.end())
        return one;
    return std::string("no warning");
  };
  EXPECT_EQ(last("/devices/0/ethernets/0/connection/lag_name", "l"),
            "devices[0].ethernets[0].connection.lag_name: without an effect: the choice is "
            "'port_name'");
  EXPECT_EQ(last("/layer1/0/flow_control/ieee_802_1qbb/pfc_class_3", 4),
            "layer1[0].flow_control.ieee_802_1qbb.pfc_class_3: queue 4 has no effect: a priority "
            "is a queue of its own");
  EXPECT_EQ(last("/layer1/0/promiscuous", false), "layer1[0].promiscuous: it has no effect here");
  EXPECT_EQ(last("/options/flow_options", {{"packet_loss_duration", true}}),
            "options.flow_options.packet_loss_duration: it has no effect here");
}

// Port `number`, with a device that has an address, one peer and these QPs.
void add_port(Json &json, size_t number, const std::string &peer, const Json &qps) {
  const std::string name = std::to_string(number);
  const Json address = {
      {"name", name}, {"address", "192.0.2." + std::to_string(number + 1)}, {"gateway", "0.0.0.0"}};
  const Json interface = {
      {"ipv4_name", name},
      {"peers", {{{"name", name}, {"destination_ip_address", peer}, {"qps", qps}}}}};
  json["ports"].push_back({{"name", name}});
  json["devices"].push_back(
      {{"name", name},
       {"ethernets",
        {{{"name", name}, {"connection", {{"port_name", name}}}, {"ipv4_addresses", {address}}}}},
       {"rocev2", {{"ipv4_interfaces", {interface}}}}});
}

// QPNs that were not chosen: those of a template, for all QPs.
TEST(OtgConfig, EqualQpNumbersAreNotSet) {
  const auto numbers = [](const std::vector<std::vector<uint32_t>> &ports) {
    Json json;
    for (size_t p = 0; p < ports.size(); p++) {
      Json qps = Json::array();
      for (const uint32_t number : ports[p])
        qps.push_back(
            {{"qp_name", fmt::format("q{}-{}", p, qps.size())},
             {"connection_type", {{"reliable_connection", {{"source_qp_number", number}}}}}});
      add_port(json, p, "192.0.2.9", qps);
    }
    std::vector<uint32_t> all;
    for (const otg::Qp &qp : read_valid(json).qps)
      all.push_back(qp.number);
    return all;
  };
  using Numbers = std::vector<uint32_t>;
  EXPECT_EQ(numbers({{33}, {34}}), (Numbers{33, 34}));
  EXPECT_EQ(numbers({{33}, {33}}), (Numbers{2, 2}));
  EXPECT_EQ(numbers({{33}}), (Numbers{33}));
  EXPECT_EQ(numbers({{33, 33}, {7, 8}}), (Numbers{2, 2, 7, 8}));
  EXPECT_EQ(numbers({{33, 2, 34, 2}, {33, 34}}), (Numbers{33, 2, 34, 2, 33, 34}));
}

TEST(OtgConfig, ChoicesMayBeAbsentButNotTwo) {
  EXPECT_EQ(
      errors_of(edited(
          {"/devices/0/ethernets/0/connection", {{"port_name", "left"}, {"lag_name", "l"}}, ""})),
      (Texts{"devices[0].ethernets[0].connection.choice: it is absent, and there are "
             "'port_name' and 'lag_name' (\"choice\": \"port_name\")"}));
  Json json = {{"stateful_flows", Json::object()}, {"options", Json::object()}};
  const Config config = read_valid(json);
  EXPECT_TRUE(config.auto_start);
  EXPECT_TRUE(config.ports.empty() && config.flows.empty());
  EXPECT_EQ(json["stateful_flows"]["choice"], "rocev2");
}

// Every key taken away, and every value replaced by each of another kind: it is read, and then the
// same again, or refused.
TEST(OtgConfig, EveryEditIsReadOrRefused) {
  const Json flat = everything().flatten();
  std::vector<Pointer> all;
  for (const auto &[at, value] : flat.items())
    for (Pointer pointer(at); !pointer.empty(); pointer.pop_back())
      if (std::ranges::find(all, pointer) == all.end())
        all.push_back(pointer);
  ASSERT_GT(all.size(), 200U);
  size_t read = 0, refused = 0;
  for (const Pointer &at : all)
    for (const Json &value : {kGone, Json(), Json(7), Json(-1), Json(1.5), Json("x"), Json(true),
                              Json::array(), Json::object(), Json::array({{{"x", 1}}})}) {
      if (value.is_discarded() && everything()[at.parent_pointer()].is_array())
        continue;
      Json json = edited({at.to_string(), value, ""});
      Findings findings;
      (void)otg::read_config(json, findings);
      if (!findings.ok()) {
        refused++;
        continue;
      }
      read++;
      Json again = json;
      Findings none;
      (void)otg::read_config(again, none);
      EXPECT_TRUE(none.ok()) << at << " " << value;
      EXPECT_EQ(again, json) << at << " " << value;
    }
  EXPECT_GT(read, 200U);
  EXPECT_GT(refused, 1000U);
}

TEST(OtgConfig, AKeyIsThereOnce) {
  Findings findings;
  EXPECT_TRUE(otg::parse_json("{\"a\": ", findings).is_discarded());
  EXPECT_EQ(otg::parse_json(R"({"a": {"b": 1}, "b": [{"b": 2}, {"b": 3}]})", findings).size(), 2U);
  EXPECT_TRUE(findings.ok());
  (void)otg::parse_json(R"({"a": {"b": 1, "c": {}, "b": 1}, "a": 2})", findings);
  EXPECT_EQ(findings.all_errors(), (Texts{"an object has the key 'b' twice (each key once)",
                                          "an object has the key 'a' twice (each key once)"}));
}

TEST(OtgConfig, JsonAsItIs) {
  for (const char *text :
       {"null", "true", "-1", "18446744073709551615", "1.5e3", R"("\u00e9\n")", "[]", "{}",
        R"([[], [1, [2, {}], {"a": [[]]}], null, ""])",
        R"({"a": {"b": {"c": [1, {"d": 2}], "e": false}}, "": [{}, {"a": 1}], "z": -0.5})"}) {
    Findings findings;
    const Json parsed = otg::parse_json(text, findings);
    EXPECT_EQ(parsed, Json::parse(text)) << text;
    EXPECT_EQ(parsed.dump(), Json::parse(text).dump());
    EXPECT_TRUE(findings.ok()) << text;
  }
  for (const char *text : {"", " ", "[1,]", "{} {}", R"({"a" 1})", "[1", "1e999", "\"\xff\"", "nan",
                           "// a\n1", "{1: 2}", R"({"a": [{"b": 1}, {]})"}) {
    Findings findings;
    EXPECT_TRUE(otg::parse_json(text, findings).is_discarded()) << text;
  }
  // The last one wins, whatever it was before.
  Findings findings;
  EXPECT_EQ(otg::parse_json(R"({"a": {"b": [1]}, "a": [{"c": 2}]})", findings),
            Json::parse(R"({"a": [{"c": 2}]})"));
}

// What writes JSON calls itself for each level.
TEST(OtgConfig, LevelsHaveALimit) {
  const auto nested = [](size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  Findings findings;
  EXPECT_EQ(otg::parse_json(nested(100), findings).dump(), nested(100));
  EXPECT_TRUE(findings.ok());
  EXPECT_EQ(otg::parse_json(nested(1'000'000), findings).dump(), nested(100));
  const Json json = otg::parse_json(R"({"ports": [1], "flows": [)" + nested(100'000) +
                                        R"(, {"name": "f"}], "lags": {"a": 2}})",
                                    findings);
  EXPECT_EQ(findings.all_errors(),
            (Texts{"a list has too many levels of lists and objects (at most 100)",
                   "'flows' has too many levels of lists and objects (at most 100)"}));
  EXPECT_EQ(json["flows"][1]["name"], "f");
  EXPECT_EQ(json["lags"]["a"], 2);
}

// Ten times the objects take ten times as long, not a hundred times.
TEST(OtgConfig, LongListsAreReadOnce) {
  const auto time_of = [](size_t objects) { // of the processor
    std::string text = "[{}";
    for (size_t i = 1; i < objects; i++)
      text += ",{}";
    text += "]";
    std::clock_t least = std::numeric_limits<std::clock_t>::max();
    for (int i = 0; i < 3; i++) {
      Findings findings;
      const std::clock_t start = std::clock();
      EXPECT_EQ(otg::parse_json(text, findings).size(), objects);
      least = std::min(least, std::clock() - start);
    }
    return least;
  };
  EXPECT_LT(time_of(200000), 50 * std::max<std::clock_t>(time_of(20000), 1));
}

// Two ports with `each` QPs, all of which send.
Json large(unsigned each) {
  Json json;
  for (unsigned port = 0; port < 2; port++) {
    const std::string name = std::to_string(port), other = std::to_string(2 - port);
    Json qps = Json::array(), flows = Json::array();
    for (unsigned i = 0; i < each; i++) {
      const std::string qp = fmt::format("QP{}_{}", port, i);
      qps.push_back({{"qp_name", qp},
                     {"connection_type",
                      {{"reliable_connection",
                        {{"source_qp_number", 33 + i}, {"initial_psn", std::to_string(i)}}}}}});
      flows.push_back({{"name", qp},
                       {"tx_endpoint", qp},
                       {"rx_endpoint", fmt::format("QP{}_{}", 1 - port, i)}});
    }
    add_port(json, port, "192.0.2." + other, qps);
    json["stateful_flows"]["rocev2"].push_back(
        {{"tx_ports",
          {{{"port_name", name}, {"transmit_type", {{"target_line_rate", {{"flows", flows}}}}}}}}});
  }
  return json;
}

TEST(OtgConfig, ManyQps) {
  for (const unsigned each : {500U, 5000U}) {
    Json json = large(each);
    const Config config = read_valid(json);
    ASSERT_EQ(config.qps.size(), 2 * each);
    ASSERT_EQ(config.flows.size(), 2 * each);
    for (size_t i = 0; i < config.qps.size(); i++) {
      ASSERT_EQ(config.qps[i].number, 33 + i % each);
      ASSERT_EQ(config.qps[i].psn, i % each);
      ASSERT_EQ(config.qps[i].peer, i / each);
      ASSERT_EQ(config.flows[i].qp, i);
      ASSERT_EQ(config.flows[i].port, i / each);
    }
    ASSERT_EQ(config.peers[1].qps.size(), each);
  }
}

} // namespace
} // namespace otg_config_test
