// SPDX-License-Identifier: Apache-2.0
// flows[] of a configuration of the Open Traffic Generator: each stack of headers becomes frames
// that tshark and scapy read as the JSON says, with lengths and checksums that scapy computes, too;
// and what is wrong is named with its path.
#include "otg/header_fields.h"
#include "otg/read_flows.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "packet/icrc.h"
#include "packet/varied_frame.h"
#include "unit/frame_readers.h"

namespace xr::otg::otg_flows_test {
namespace {

using Bytes = std::vector<uint8_t>;

Config two_ports() {
  Config config;
  for (const char *name : {"tx", "rx", "third"}) {
    Port &port = config.ports.emplace_back();
    port.name = name;
    Ethernet &ethernet = config.ethernets.emplace_back();
    ethernet.name = std::string("eth ") + name;
    ethernet.port = config.ports.size() - 1;
    Interface &interface = config.interfaces.emplace_back();
    interface.name = std::string("ip ") + name;
    interface.ethernet = config.ports.size() - 1;
  }
  return config;
}

struct Read {
  Json json;
  Findings findings;
  Config config;
};

Read read(Json flows) {
  Read made{Json{{"flows", std::move(flows)}}, {}, two_ports()};
  Object root(made.json, made.findings, "a configuration");
  read_flows(root, made.config);
  root.done();
  return made;
}

Json flow_json(const std::string &packet, const std::string &more = "{}") {
  Json flow = Json::parse(more);
  if (!flow.contains("name"))
    flow["name"] = "f";
  if (!flow.contains("tx_rx"))
    flow["tx_rx"] = Json::parse(R"({"port": {"tx_name": "tx", "rx_names": ["rx"]}})");
  flow["packet"] = Json::parse(packet);
  return flow;
}

PlainFlow good(const std::string &packet, const std::string &more = "{}") {
  const Read made = read(Json::array({flow_json(packet, more)}));
  for (const std::string &error : made.findings.errors)
    ADD_FAILURE() << error;
  EXPECT_FALSE(made.config.plain_flows.empty());
  return made.config.plain_flows.empty() ? PlainFlow{} : made.config.plain_flows.front();
}

Bytes frame_of(const PlainFlow &flow, uint64_t number = 0) {
  const uint32_t size = flow.sizes.of(number) - packet::kFcsBytes;
  Bytes bytes(size);
  packet::VariedFrame(flow.frame, flow.sizes.largest() - packet::kFcsBytes)
      .write(number, size, bytes);
  return bytes;
}

// tshark's names of fields; "a;b" where a frame has the field twice.
using Fields = std::map<std::string, std::string>;
struct Case {
  const char *name;
  std::string packet, more;
  uint64_t number; // of the frame
  Fields fields;
  const char *layers; // by scapy
};

// From tshark's proto_checksum_enum_e.
constexpr const char *kBad = "0", *kGood = "1";

const std::string kEthernet = R"({"ethernet": {"dst": {"value": "02:00:00:00:00:02"},
  "src": {"choice": "value", "value": "02:00:00:00:00:01"}}})";

std::vector<Case> cases() {
  const std::string e = kEthernet;
  return {
      {"udp",
       "[" + e + R"(, {"choice": "ipv4", "ipv4": {"src": {"value": "192.0.2.1"},
         "dst": {"increment": {"start": "192.0.2.255", "step": "0.0.0.2", "count": 5}},
         "priority": {"dscp": {"phb": {"value": 26}, "ecn": {"value": 1}}},
         "time_to_live": {"value": 3}, "identification": {"value": 4660},
         "dont_fragment": {"value": 1}}},
         {"udp": {"src_port": {"values": [1000, 2000, 3000]},
         "dst_port": {"decrement": {"start": 1, "step": 3, "count": 3}}}}])",
       R"({"size": {"fixed": 128}})",
       1,
       {{"eth.dst", "02:00:00:00:00:02"},
        {"eth.src", "02:00:00:00:00:01"},
        {"eth.type", "0x0800"},
        {"ip.src", "192.0.2.1"},
        {"ip.dst", "192.0.3.1"},
        {"ip.dsfield.dscp", "26"},
        {"ip.dsfield.ecn", "1"},
        {"ip.len", "110"},
        {"ip.ttl", "3"},
        {"ip.proto", "17"},
        {"ip.id", "0x1234"},
        {"ip.flags.df", "1"},
        {"ip.checksum.status", kGood},
        {"udp.srcport", "2000"},
        {"udp.dstport", "65534"},
        {"udp.length", "90"},
        {"udp.checksum.status", kGood}},
       "Ethernet IP UDP"},
      {"two tags",
       "[" + e + R"(, {"vlan": {"id": {"value": 100}, "priority": {"value": 5}}},
         {"vlan": {"id": {"value": 4094}, "cfi": {"value": 1}}},
         {"ipv6": {"src": {"value": "2001:db8::1"}, "dst": {"increment": {"start": "2001:db8::ff",
         "count": 9}}, "traffic_class": {"value": 97}, "flow_label": {"value": 703710},
         "hop_limit": {"value": 9}}}, {"udp": {"src_port": {"value": 7}}}])",
       R"({"size": {"fixed": 111}, "payload": {"choice": "increment_byte"}})",
       2,
       {{"eth.type", "0x8100"},
        {"vlan.id", "100;4094"},
        {"vlan.priority", "5;0"},
        {"vlan.etype", "0x8100;0x86dd"},
        {"ipv6.src", "2001:db8::1"},
        {"ipv6.dst", "2001:db8::101"},
        {"ipv6.tclass", "0x00000061"},
        {"ipv6.flow", "0x0abcde"},
        {"ipv6.hlim", "9"},
        {"ipv6.plen", "45"},
        {"ipv6.nxt", "17"},
        {"udp.checksum.status", kGood}},
       "Ethernet 802.1Q 802.1Q IPv6 UDP"},
      {"tcp",
       "[" + e + R"(, {"ipv4": {"priority": {"tos": {"precedence": {"value": 5},
         "reliability": {"value": 1}}}, "options": [{"choice": "router_alert"}]}},
         {"tcp": {"src_port": {"value": 4000}, "dst_port": {"value": 80}, "seq_num": {"value": 4000000000},
         "ack_num": {"value": 77}, "ctl_syn": {"value": 1}, "ecn_echo": {"value": 1},
         "window": {"value": 512}}}])",
       R"({"size": {"fixed": 99}, "payload": {"fixed": {"pattern": "a5b6", "repeat": false}}})",
       0,
       {{"ip.dsfield", "0xa4"},
        {"ip.hdr_len", "24"},
        {"ip.proto", "6"},
        {"ip.checksum.status", kGood},
        {"tcp.srcport", "4000"},
        {"tcp.seq_raw", "4000000000"},
        {"tcp.ack_raw", "77"},
        {"tcp.flags", "0x0042"},
        {"tcp.hdr_len", "20"},
        {"tcp.window_size_value", "512"},
        {"tcp.checksum.status", kGood}},
       "Ethernet IP TCP"},
      {"vxlan",
       "[" + e + R"(, {"ipv4": {"src": {"value": "192.0.2.1"}}},
         {"udp": {"dst_port": {"value": 4789}}}, {"vxlan": {"vni": {"value": 74565}}}, )" +
           e +
           R"(, {"ipv4": {"dst": {"value": "198.51.100.1"}}}, {"udp": {"src_port": {"value": 9}}}])",
       "{}",
       0,
       {{"vxlan.vni", "74565"},
        {"ip.dst", "0.0.0.0;198.51.100.1"},
        {"ip.len", "78;28"}, // 92 bytes of headers: larger than the size
        {"ip.checksum.status", "1;1"},
        {"udp.checksum.status", "1;1"}},
       "Ethernet IP UDP VXLAN Ethernet IP UDP"},
      {"gre",
       "[" + e + R"(, {"ipv4": {}}, {"gre": {"checksum_present": {"value": 1}}}, {"ipv6": {}},
         {"tcp": {}}])",
       R"({"size": {"fixed": 301}})",
       0,
       {{"ip.proto", "47"},
        {"gre.proto", "0x86dd"},
        {"gre.flags.checksum", "1"},
        {"ipv6.nxt", "6"},
        {"tcp.checksum.status", kGood}},
       "Ethernet IP GRE IPv6 TCP"},
      {"arp",
       "[" + e + R"(, {"arp": {"operation": {"value": 2}, "sender_hardware_addr": {"value":
         "02:00:00:00:00:09"}, "sender_protocol_addr": {"value": "192.0.2.9"},
         "target_protocol_addr": {"value": "192.0.2.8"}}}])",
       "{}",
       0,
       {{"eth.type", "0x0806"},
        {"arp.opcode", "2"},
        {"arp.src.hw_mac", "02:00:00:00:00:09"},
        {"arp.src.proto_ipv4", "192.0.2.9"},
        {"arp.dst.proto_ipv4", "192.0.2.8"}},
       "Ethernet ARP"},
      {"icmp",
       "[" + e + R"(, {"ipv4": {}}, {"icmp": {"echo": {"identifier": {"value": 7},
         "sequence_number": {"increment": {"start": 1, "count": 100}}}}}])",
       "{}",
       41,
       {{"ip.proto", "1"},
        {"icmp.type", "8"},
        {"icmp.ident", "7"},
        {"icmp.seq", "42"},
        {"icmp.checksum.status", kGood}},
       "Ethernet IP ICMP"},
      {"wrong sums",
       "[" + e + R"(, {"ipv4": {"header_checksum": {"generated": "bad"}}},
         {"udp": {"checksum": {"custom": 4660}, "length": {"value": 20}}}])",
       "{}",
       0,
       {{"ip.checksum.status", kBad}, {"udp.checksum", "0x1234"}, {"udp.length", "20"}},
       nullptr},
      {"pfc",
       R"([{"pfcpause": {"src": {"value": "02:00:00:00:00:07"}, "class_enable_vector": {"value": 24},
         "pause_class_3": {"value": 65535}, "pause_class_4": {"value": 9}}}])",
       "{}",
       0,
       {{"eth.dst", "01:80:c2:00:00:01"},
        {"eth.src", "02:00:00:00:00:07"},
        {"macc.opcode", "0x0101"},
        {"macc.cbfc.enbv", "0x0018"},
        {"macc.cbfc.pause_time.c3", "65535"},
        {"macc.cbfc.pause_time.c4", "9"}},
       nullptr},
      {"pause",
       R"([{"ethernetpause": {"time": {"value": 1234}}}])",
       "{}",
       0,
       {{"macc.opcode", "0x0001"}, {"macc.pause_time", "1234"}},
       nullptr},
      {"roce",
       "[" + e + R"(, {"ipv4": {"src": {"value": "192.0.2.1"}, "dst": {"value": "192.0.2.2"}}},
         {"udp": {"src_port": {"value": 49152}, "dst_port": {"value": 4791}}},
         {"custom": {"bytes": "04:00 ff:ff 00:00:00:11 80:00:00:2a", "x_xdp_roce_icrc": true}}])",
       R"({"size": {"fixed": 126}, "payload": {"fixed": {"pattern": "a5"}}})",
       0,
       {{"infiniband.bth.opcode", "4"},
        {"infiniband.bth.destqp", "0x000011"},
        {"infiniband.bth.psn", "42"},
        {"ip.checksum.status", kGood},
        {"udp.checksum.status", kGood}},
       "Ethernet IP UDP BTH"},
      {"segment routing",
       "[" + e + R"(, {"ipv6": {"src": {"value": "2001:db8::1"}, "dst": {"value": "fc00:0:1::"}}},
         {"ipv6_extension_header": {"routing": {"segment_routing": {"flags": {"protected": {"value": 1},
         "alert": {"value": 1}}, "tag": {"value": 66}, "segment_list": [
         {"segment": {"value": "fc00:0:3::"}}, {"segment": {"increment": {"start": "fc00:0:2::", "count": 4}}}],
         "pad_tlv": {}}}}}, {"udp": {"dst_port": {"value": 9}}}])",
       R"({"size": {"fixed": 200}})",
       3,
       {{"ipv6.nxt", "43"},
        {"ipv6.routing.nxt", "17"},
        {"ipv6.routing.len", "5"},
        {"ipv6.routing.type", "4"},
        {"ipv6.routing.segleft", "2"},
        {"ipv6.routing.srh.last_entry", "1"},
        {"ipv6.routing.srh.flags", "0x50"},
        {"ipv6.routing.srh.tag", "0042"},
        {"ipv6.routing.srh.addr", "fc00:0:3::;fc00:0:2::3"},
        {"udp.checksum.status", kGood}},
       "Ethernet IPv6 IPv6 Option Header Segment Routing UDP"},
      {"segment routing with padding",
       "[" + e + R"(, {"ipv6": {}}, {"ipv6_extension_header": {"routing": {"segment_routing": {
         "segments_left": {"value": 0}, "segment_list": [{"segment": {"value": "fc00:0:1:1::"}}],
         "pad_tlv": {"type": {"value": 5}, "length": {"value": 3}}}}}}, {"ipv4": {}}, {"tcp": {}}])",
       R"({"size": {"fixed": 200}})",
       0,
       {{"ipv6.routing.nxt", "4"},
        {"ipv6.routing.len", "3"},
        {"ipv6.routing.segleft", "0"},
        {"ip.checksum.status", kGood},
        {"tcp.checksum.status", kGood}},
       nullptr},
      {"micro SIDs",
       "[" + e +
           R"(, {"ipv6": {"dst_usids": {"locator": {"value": "fc00::"}, "usids": ["0001", "0002"]}}},
         {"ipv6_extension_header": {"routing": {"segment_routing_usid": {"segments_left": {"value": 1},
         "segment_list": [{"locator": {"value": "fc00::"}, "usids": ["0003", "0004", "0005"]},
         {"locator_length": {"value": 0}, "usids": ["00000000", "00000000", "00030004", "00010002"]}]}}}},
         {"ipv6": {"dst": {"value": "2001:db8::9"}}}, {"udp": {}}])",
       R"({"size": {"fixed": 200}})",
       0,
       {{"ipv6.dst", "fc00:0:1:2::;2001:db8::9"},
        {"ipv6.routing.nxt", "41"},
        {"ipv6.routing.srh.addr", "fc00:0:3:4:5::;::3:4:1:2"},
        {"udp.checksum.status", kGood}},
       nullptr},
      {"icmpv6",
       "[" + e + R"(, {"ipv6": {"src": {"value": "2001:db8::1"}, "dst": {"value": "2001:db8::2"}}},
         {"icmpv6": {"echo": {"identifier": {"value": 7}, "sequence_number": {"value": 3}}}}])",
       R"({"size": {"fixed": 100}})",
       0,
       {{"ipv6.nxt", "58"},
        {"icmpv6.type", "128"},
        {"icmpv6.echo.identifier", "7"},
        {"icmpv6.echo.sequence_number", "3"},
        {"icmpv6.checksum.status", kGood}},
       nullptr},
      {"igmpv1",
       "[" + e + R"(, {"ipv4": {"dst": {"value": "224.0.0.9"}}}, {"igmpv1": {"type": {"value": 2},
         "group_address": {"value": "224.0.0.9"}}}])",
       "{}",
       0,
       {{"ip.proto", "2"}, {"igmp.version", "1"}, {"igmp.maddr", "224.0.0.9"}},
       nullptr},
      {"labels",
       "[" + e + R"(, {"mpls": {"label": {"value": 1000}, "traffic_class": {"value": 3}}},
         {"mpls": {"label": {"increment": {"start": 16, "count": 9}}, "time_to_live": {"value": 2}}},
         {"ipv4": {}}, {"udp": {}}])",
       "{}",
       5,
       {{"eth.type", "0x8847"},
        {"mpls.label", "1000;21"},
        {"mpls.exp", "3;0"},
        {"mpls.bottom", "0;1"},
        {"mpls.ttl", "64;2"},
        {"udp.checksum.status", kGood}},
       nullptr},
      {"ppp",
       "[" + e + R"(, {"ipv4": {}}, {"gre": {}}, {"ppp": {}}, {"ipv6": {}}, {"udp": {}}])",
       R"({"size": {"fixed": 120}})",
       0,
       {{"gre.proto", "0x880b"},
        {"ppp.address", "0xff"},
        {"ppp.control", "0x03"},
        {"ppp.protocol", "0x0057"},
        {"udp.checksum.status", kGood}},
       nullptr},
      {"gtpv2",
       "[" + e + R"(, {"ipv4": {}}, {"udp": {"dst_port": {"value": 2123}}}, {"gtpv2": {
         "teid_flag": {"value": 1}, "message_type": {"value": 1}, "teid": {"value": 9},
         "sequence_number": {"value": 77}}}])",
       "{}",
       0,
       {{"gtpv2.version", "2"},
        {"gtpv2.t", "1"},
        {"gtpv2.message_type", "1"},
        {"gtpv2.msg_length", "14"}, // to the end of a frame of 60 bytes
        {"gtpv2.teid", "9"},
        {"gtpv2.seq", "77"}},
       nullptr},
      {"lacp",
       R"([{"ethernet": {"dst": {"value": "01:80:c2:00:00:02"}}}, {"lacp": {"lacpdu": {"actor": {
         "system_priority": {"value": 5}, "system_id": {"value": "02:00:00:00:00:07"}, "key": {"value": 8},
         "port_number": {"value": 3}, "actor_state": {"activity": {"value": 1}, "expired": {"value": 1}}}}}}])",
       R"({"size": {"fixed": 128}})",
       0,
       {{"eth.type", "0x8809"},
        {"lacp.version", "1"},
        {"lacp.actor.sysid", "02:00:00:00:00:07"},
        {"lacp.actor.key", "8"},
        {"lacp.actor.port", "3"},
        {"lacp.actor.state", "0x81"},
        {"lacp.tlv_length", "20;20;16;0"}},
       nullptr},
  };
}

// Versions of tshark differ in zeros of hexadecimal numbers and in words for bits.
std::string plain(const std::string &text) {
  std::string made, word;
  for (const char c : text + ";")
    if (c != ';') {
      word += c;
    } else {
      char *end = nullptr;
      const unsigned long long value = strtoull(word.c_str(), &end, 0);
      made += word == "True" ? "1" : !word.empty() && !*end ? std::to_string(value) : word;
      made += ';';
      word.clear();
    }
  return made;
}

class OtgFrames : public test::FrameReaders {
protected:
  void SetUp() override {
    std::vector<Bytes> frames;
    for (const Case &one : cases_)
      frames.push_back(frame_of(good(one.packet, one.more), one.number));
    write_pcap(frames);
  }

  const std::vector<Case> cases_ = cases();
};

TEST_F(OtgFrames, TsharkReadsWhatTheFlowSays) {
  if (!test::has_tshark())
    GTEST_SKIP() << "SKIP: there is no tshark";
  std::map<std::string, size_t> columns{{"_ws.malformed", 0}};
  for (const Case &one : cases_)
    for (const auto &field : one.fields)
      columns.emplace(field.first, 0);
  std::string command = "tshark -n -r " + pcap() +
                        " -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE"
                        " -o tcp.check_checksum:TRUE -T fields -E separator=, -E occurrence=a"
                        " -E 'aggregator=;'";
  size_t column = 0;
  for (auto &one : columns) {
    one.second = column++;
    command += " -e " + one.first;
  }
  const auto [status, lines] = test::run_command(command);
  ASSERT_EQ(status, 0) << command;
  ASSERT_EQ(lines.size(), cases_.size());
  for (size_t i = 0; i < cases_.size(); i++) {
    std::vector<std::string> words(1);
    for (const char c : lines[i])
      if (c == ',')
        words.emplace_back();
      else
        words.back() += c;
    ASSERT_EQ(words.size(), columns.size());
    if (cases_[i].layers) {
      EXPECT_EQ(words[columns.at("_ws.malformed")], "") << cases_[i].name;
    }
    for (const auto &field : cases_[i].fields)
      EXPECT_EQ(plain(words[columns.at(field.first)]), plain(field.second))
          << cases_[i].name << ": " << field.first;
  }
}

// Layers, then whether scapy's own lengths and checksums make the same bytes.
constexpr const char *kScript = R"(
import sys
from scapy.all import rdpcap, Ether, Raw, Padding
from scapy.contrib.roce import BTH
for frame in rdpcap(sys.argv[1]):
    layers, again = [], Ether(bytes(frame))
    layer = again
    while layer and layer.name not in ("NoPayload", "Raw", "Padding"):
        layers.append(layer.name)
        for key in ("len", "plen", "chksum"):
            if key in layer.fields and layer.name != "802.1Q":
                del layer.fields[key]
        layer = layer.payload
    if BTH in again:
        same = "%08x" % frame[BTH].icrc == frame[BTH].compute_icrc(None).hex()
    else:
        same = bytes(again) == bytes(frame)
    print(" ".join(layers) + (": same" if same else ": different"))
)";

TEST_F(OtgFrames, ScapyComputesTheSame) {
  if (!test::has_scapy_roce())
    GTEST_SKIP() << "SKIP: " << test::kPython << " has no scapy with scapy.contrib.roce";
  const auto [status, lines] = run_python(kScript);
  ASSERT_EQ(status, 0);
  ASSERT_EQ(lines.size(), cases_.size());
  for (size_t i = 0; i < cases_.size(); i++)
    if (cases_[i].layers) {
      EXPECT_EQ(lines[i], cases_[i].layers + std::string(": same")) << cases_[i].name;
    } else {
      EXPECT_NE(lines[i], "") << cases_[i].name;
    }
}

// docs/otg.md has the table of headers; XR_UPDATE_GOLDENS=1 writes it.
TEST(OtgFlows, TheDocumentationHasTheHeaders) {
  const std::string path = XR_TEST_DATA "/../../docs/otg.md";
  const std::string begin = "<!-- headers -->\n", end = "<!-- /headers -->";
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  const std::string page = text.str();
  const size_t from = page.find(begin), to = page.find(end);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos);
  const std::string made = page.substr(0, from) + begin + header_table() + page.substr(to);
  if (getenv("XR_UPDATE_GOLDENS"))
    std::ofstream(path) << made;
  else
    EXPECT_EQ(page, made);
}

// What a configuration is shown as is read as the same.
TEST(OtgFlows, DefaultsAreWrittenAndReadAgain) {
  for (const Case &one : cases()) {
    const Read first = read(Json::array({flow_json(one.packet, one.more)}));
    Read again = read(first.json["flows"]);
    EXPECT_EQ(again.findings.errors, std::vector<std::string>{}) << one.name;
    EXPECT_EQ(again.json, first.json) << one.name;
    ASSERT_EQ(again.config.plain_flows.size(), 1U);
    EXPECT_EQ(again.config.plain_flows[0].frame, first.config.plain_flows[0].frame) << one.name;
  }
  const Read made = read(Json::array({flow_json("[{}]")}));
  const Json &flow = made.json["flows"][0];
  EXPECT_EQ(flow["rate"], (Json{{"choice", "pps"}, {"pps", 1000}}));
  EXPECT_EQ(flow["size"], (Json{{"choice", "fixed"}, {"fixed", 64}}));
  EXPECT_EQ(flow["duration"]["continuous"]["gap"], 12);
  EXPECT_EQ(flow["packet"][0]["choice"], "ethernet");
  EXPECT_EQ(flow["packet"][0]["ethernet"]["dst"], (Json{{"choice", "auto"}}));
  EXPECT_TRUE(made.config.plain_flows[0].resolve_dst_mac);
  const Bytes frame = frame_of(made.config.plain_flows[0]);
  EXPECT_EQ(frame[12] << 8 | frame[13], 0xffff); // the model's
}

TEST(OtgFlows, SizesRatesAndDurations) {
  const std::string packet = "[" + kEthernet + "]";
  PlainFlow flow = good(packet, R"({"size": {"random": {"min": 100, "max": 900}},
    "rate": {"mbps": "250"}, "duration": {"fixed_seconds": {"seconds": 1.5, "gap": 20,
    "delay": {"microseconds": 2.5}}}})");
  EXPECT_EQ(flow.sizes.kind, packet::FrameSizes::Kind::Random);
  EXPECT_EQ(flow.sizes.from, 100U);
  EXPECT_EQ(flow.sizes.to, 900U);
  EXPECT_EQ(flow.rate.kind, packet::FrameRate::Kind::Bits);
  EXPECT_EQ(flow.rate.value, 250'000'000U);
  EXPECT_EQ(flow.span.kind, packet::FrameSpan::Kind::Time);
  EXPECT_EQ(flow.span.ns, 1'500'000'000U);
  EXPECT_EQ(flow.span.gap, 20U);
  EXPECT_EQ(flow.span.delay.ns(0), 2500U);

  flow = good(packet,
              R"({"size": {"weight_pairs": {"predefined": "imix"}}, "rate": {"percentage": 12.5},
    "duration": {"burst": {"bursts": 4, "packets": 9, "inter_burst_gap": {"bytes": 1000}}}})");
  EXPECT_EQ(flow.sizes.weighted, (std::vector<packet::WeightedSize>{{64, 7}, {570, 4}, {1518, 1}}));
  EXPECT_EQ(flow.rate.kind, packet::FrameRate::Kind::Percent);
  EXPECT_EQ(flow.rate.percent, 12.5);
  EXPECT_EQ(flow.span.kind, packet::FrameSpan::Kind::Bursts);
  EXPECT_EQ(flow.span.bursts, 4U);
  EXPECT_EQ(flow.span.packets, 9U);
  EXPECT_EQ(flow.span.between.ns(8'000'000'000), 1000U);

  for (const auto &[word, bits] : std::map<std::string, uint64_t>{
           {"bps", 1'000'000'000}, {"kbps", 1'000'000'000}, {"gbps", 1'000'000'000}})
    EXPECT_EQ(good(packet, R"({"rate": {"choice": ")" + word + "\"}}").rate.value, bits) << word;
  flow = good(packet, R"({"size": {"increment": {"start": 70, "end": 90, "step": 5}},
    "duration": {"fixed_packets": {"packets": 7}}})");
  EXPECT_EQ(flow.sizes.of(4), 90U);
  EXPECT_EQ(flow.sizes.of(5), 70U);
  EXPECT_EQ(flow.span.kind, packet::FrameSpan::Kind::Packets);
  EXPECT_EQ(flow.span.packets, 7U);
}

TEST(OtgFlows, DevicesAndTheWayBack) {
  const std::string packet = R"([{"ethernet": {"src": {"value": "02:00:00:00:00:01"}}},
    {"ipv4": {"src": {"value": "192.0.2.1"}, "dst": {"increment": {"start": "192.0.2.2", "count": 4}}}},
    {"udp": {"src_port": {"value": 1}, "dst_port": {"value": 2}}}])";
  const char *const both_ways = R"({"tx_rx": {"device": {
    "tx_names": ["ip tx"], "rx_names": ["eth rx", "ip third"], "bidirectional": true}}})";
  const auto made = read(Json::array({flow_json(packet, both_ways)}));
  ASSERT_EQ(made.findings.errors, std::vector<std::string>{});
  // Pairs with the same sender take turns.
  const auto &flows = made.config.plain_flows;
  ASSERT_EQ(flows.size(), 3U);
  EXPECT_EQ(flows[0].tx_port, 0U);
  EXPECT_EQ(flows[0].rx_ports, (std::vector<size_t>{1, 2}));
  EXPECT_EQ(flows[1].tx_port, 1U);
  EXPECT_EQ(flows[1].rx_ports, std::vector<size_t>{0});
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(flows[0].pairs, (Pairs{{"ip tx", "eth rx"}, {"ip tx", "ip third"}}));
  EXPECT_EQ(flows[2].pairs, (Pairs{{"ip third", "ip tx"}}));
  EXPECT_TRUE(flows[0].resolve_dst_mac && flows[1].resolve_dst_mac && flows[1].resolve_src_mac);
  EXPECT_FALSE(flows[0].resolve_src_mac);
  const Bytes there = frame_of(flows[0], 2), back = frame_of(flows[1], 2);
  EXPECT_EQ(Bytes(there.begin() + 26, there.begin() + 34), (Bytes{192, 0, 2, 1, 192, 0, 2, 4}));
  EXPECT_EQ(Bytes(back.begin() + 26, back.begin() + 34), (Bytes{192, 0, 2, 4, 192, 0, 2, 1}));
  EXPECT_EQ(Bytes(back.begin() + 34, back.begin() + 38), (Bytes{0, 2, 0, 1}));
  std::string tcp = packet;
  tcp.replace(tcp.find("udp"), 3, "tcp");
  const auto of_tcp = read(Json::array({flow_json(tcp, both_ways)}));
  ASSERT_EQ(of_tcp.config.plain_flows.size(), 3U);
  const Bytes segment = frame_of(of_tcp.config.plain_flows[1]);
  EXPECT_EQ(Bytes(segment.begin() + 34, segment.begin() + 38), (Bytes{0, 2, 0, 1}));
}

// The model: a flow stops after its packets, which have the values of its pairs in turn.
TEST(OtgFlows, PairsShareWhatTheFlowSends) {
  const auto made = read(Json::array({flow_json("[{}]", R"({"tx_rx": {"device": {
    "tx_names": ["ip tx", "ip rx", "ip tx"], "rx_names": ["ip rx", "ip third", "ip third"], "mode": "one_to_one"}},
    "duration": {"fixed_packets": {"packets": 100}}, "rate": {"pps": 30}})")}));
  const auto &flows = made.config.plain_flows;
  ASSERT_EQ(flows.size(), 2U);
  EXPECT_EQ(flows[0].pairs.size(), 2U);
  EXPECT_EQ(flows[0].span.packets + flows[1].span.packets, 100U);
  EXPECT_EQ(flows[0].span.packets, 66U);
  EXPECT_EQ(flows[0].rate.value, 20U);
  EXPECT_EQ(flows[1].rate.value, 10U);
}

TEST(OtgFlows, ADevicesNameIsThatOfItsFirstInterface) {
  Config config = two_ports();
  config.ethernets[0].device = "one";
  config.ethernets[1].device = "two";
  Json json = {{"flows", {flow_json("[{}]", R"({"tx_rx": {"device": {
    "tx_names": ["one"], "rx_names": ["two"]}}})")}}};
  Findings findings;
  Object root(json, findings, "a configuration");
  read_flows(root, config);
  ASSERT_TRUE(findings.ok());
  EXPECT_EQ(config.plain_flows[0].pairs.front(),
            (std::pair<std::string, std::string>("ip tx", "ip rx")));
}

// What a script leaves out is of the pairs, so that frames can be routed.
TEST(OtgFlows, FramesBetweenDevicesHaveTheirAddresses) {
  Config config = two_ports();
  for (size_t i = 0; i < 3; i++) {
    config.ethernets[i].mac = packet::Mac{2, 0, 0, 0, 0, static_cast<uint8_t>(i)};
    config.interfaces[i].address = {0, 0, ROCE_MAPPED_PREFIX,
                                    roce_swap32(0xc0000201U + static_cast<uint32_t>(i))};
  }
  const auto read_with = [&](const char *packet) {
    Config made = config;
    Json flow = Json::parse(R"({"name": "f", "tx_rx": {"device": {"tx_names": ["ip tx", "ip tx"],
      "rx_names": ["ip rx", "ip third"], "mode": "one_to_one", "bidirectional": true}}})");
    if (*packet)
      flow["packet"] = Json::parse(packet);
    Json json = {{"flows", {flow}}};
    Findings findings;
    Object root(json, findings, "a configuration");
    read_flows(root, made);
    EXPECT_TRUE(findings.ok());
    Json again = json; // what GET shows is the same flow
    Config other = config;
    Object second(again, findings, "a configuration");
    read_flows(second, other);
    EXPECT_EQ(again, json);
    EXPECT_EQ(other.plain_flows[0].frame, made.plain_flows[0].frame);
    return made.plain_flows;
  };
  for (const char *packet : {"", "[]", R"([{"ethernet": {}}, {"ipv4": {}}, {"tcp": {}}])"}) {
    const auto flows = read_with(packet);
    const Bytes first = frame_of(flows[0], 0), second = frame_of(flows[0], 1);
    EXPECT_EQ(first[11], 0) << packet;
    EXPECT_EQ(Bytes(first.begin() + 26, first.begin() + 34), (Bytes{192, 0, 2, 1, 192, 0, 2, 2}));
    EXPECT_EQ(Bytes(second.begin() + 26, second.begin() + 34), (Bytes{192, 0, 2, 1, 192, 0, 2, 3}));
  }
  const auto given = read_with(R"([{"ethernet": {}}, {"ipv4": {"src": {"value": "10.0.0.1"}}}])");
  const Bytes frame = frame_of(given[0], 1);
  EXPECT_EQ(Bytes(frame.begin() + 26, frame.begin() + 34), (Bytes{10, 0, 0, 1, 192, 0, 2, 3}));
}

TEST(OtgFlows, GtpHasItsLengthAndItsOptions) {
  const std::string before = "[" + kEthernet + R"(, {"ipv4": {}}, {"udp": {}}, )";
  Bytes frame = frame_of(good(before + R"({"gtpv1": {"teid": {"value": 7}, "message_type":
    {"value": 255}}}, {"ipv4": {}}])"));
  EXPECT_EQ(Bytes(frame.begin() + 42, frame.begin() + 50), (Bytes{0x30, 255, 0, 20, 0, 0, 0, 7}));
  EXPECT_EQ(frame[50], 0x45);
  frame = frame_of(good(before + R"({"gtpv1": {"s_flag": {"value": 1}, "squence_number":
    {"value": 258}, "message_length": {"value": 9}}}])"));
  EXPECT_EQ(Bytes(frame.begin() + 42, frame.begin() + 54),
            (Bytes{0x32, 0, 0, 9, 0, 0, 0, 0, 1, 2, 0, 0}));
}

TEST(OtgFlows, StampsWhereThereIsRoom) {
  const std::string udp = "[" + kEthernet + R"(, {"ipv4": {}}, {"udp": {}}])";
  const std::string metrics =
      R"("metrics": {"enable": true, "loss": true, "latency": {"enable": true,
    "mode": "cut_through"}})";
  PlainFlow flow = good(udp, "{" + metrics + "}");
  EXPECT_TRUE(flow.frame.stamped && flow.enabled && flow.loss && flow.latency && flow.cut_through);
  EXPECT_FALSE(flow.timestamps);
  Bytes bytes(60);
  packet::VariedFrame(flow.frame, 60).write(0, 60, bytes, {.flow = 5, .sequence = 6, .time_ns = 7});
  const auto stamp = packet::read_trailer(bytes);
  ASSERT_TRUE(stamp);
  EXPECT_EQ(stamp->flow, 5);
  EXPECT_EQ(stamp->sequence, 6U);
  EXPECT_EQ(stamp->time_ns, 7U);

  // before an iCRC, which counts it
  const std::string roce =
      "[" + kEthernet + R"(, {"ipv4": {}}, {"udp": {"dst_port": {"value": 4791}}},
    {"custom": {"bytes": "0x0400ffff0000001100000001", "x_xdp_roce_icrc": true}}])";
  flow = good(roce, R"({"size": {"fixed": 100}, )" + metrics + "}");
  bytes.assign(96, 0);
  packet::VariedFrame(flow.frame, 96).write(0, 96, bytes, {.flow = 1, .sequence = 2, .time_ns = 3});
  EXPECT_EQ(packet::read_trailer(bytes).value_or(packet::Trailer{}).sequence, 2U);
  const uint32_t icrc = icrc_value(bytes.data(), 14, 42, 96);
  EXPECT_EQ(bytes[92] | bytes[93] << 8 | bytes[94] << 16 | uint32_t{bytes[95]} << 24, icrc);

  const std::string tcp = "[" + kEthernet + R"(, {"ipv4": {}}, {"tcp": {}}])";
  const Read small = read(Json::array({flow_json(tcp, "{" + metrics + "}")}));
  EXPECT_FALSE(small.config.plain_flows[0].frame.stamped);
  ASSERT_EQ(small.findings.warnings.size(), 1U);
  EXPECT_EQ(small.findings.warnings[0].rfind("flows[0].size: frames of less than 76 bytes", 0), 0U)
      << small.findings.warnings[0];
  const PlainFlow pause = good(R"([{"pfcpause": {}}])", "{" + metrics + "}");
  EXPECT_TRUE(!pause.frame.stamped && pause.unstamped);
  EXPECT_TRUE(small.config.plain_flows[0].unstamped);
  EXPECT_FALSE(good(udp, "{" + metrics + "}").unstamped);
  EXPECT_FALSE(good(tcp).unstamped);
}

TEST(OtgFlows, FlowsWhoseFramesCannotBeToldApartAreSaid) {
  const std::string tcp = "[" + kEthernet + R"(, {"ipv4": {}}, {"tcp": {}}])";
  const auto warnings = [&](const std::string &rx, const std::string &other) {
    const std::string metrics = R"("metrics": {"enable": true})";
    const Read made = read(Json::array(
        {flow_json(tcp, "{" + metrics + "}"),
         flow_json(other, R"({"name": "g", "tx_rx": {"port": {"tx_name": "tx", "rx_names": [")" +
                              rx + R"("]}}, )" + metrics + "}")}));
    return made.findings.warnings.size();
  };
  EXPECT_EQ(warnings("rx", tcp), 3U); // each has no room, and both are the same
  EXPECT_EQ(warnings("tx", tcp), 2U);
  EXPECT_EQ(warnings("rx", "[" + kEthernet + R"(, {"ipv4": {"dst": {"value": "192.0.2.9"}}},
    {"tcp": {}}])"),
            2U);
}

TEST(OtgFlows, TheModelsDefaultHeaderIsEthernet) {
  for (const char *packet : {"[]", "[{}]", R"([{"ethernet": {}}])"}) {
    const PlainFlow flow = good(packet);
    EXPECT_EQ(flow.frame.headers.size(), 14U) << packet;
    EXPECT_TRUE(flow.resolve_dst_mac) << packet;
  }
  Json flow = flow_json("[]");
  flow.erase("packet");
  const Read made = read(Json::array({flow}));
  EXPECT_TRUE(made.findings.ok());
  EXPECT_TRUE(made.json["flows"][0]["packet"][0].contains("ethernet"));
}

TEST(OtgFlows, TheTagsOwnTpid) {
  const std::string packet =
      "[" + kEthernet + R"(, {"vlan": {"tpid": {"value": 34984}}}, {"ipv4": {}}])";
  const Read made = read(Json::array({flow_json(packet)}));
  ASSERT_EQ(made.findings.warnings.size(), 1U);
  EXPECT_NE(made.findings.warnings[0].find("flows[0].packet[1].vlan.tpid"), std::string::npos);
  const Bytes bytes = frame_of(made.config.plain_flows[0]);
  EXPECT_EQ(Bytes(bytes.begin() + 12, bytes.begin() + 18), (Bytes{0x88, 0xa8, 0, 0, 8, 0}));
}

TEST(OtgFlows, FindingsNameTheKey) {
  struct Wrong {
    const char *packet, *more, *expected; // the start of the finding
  };
  const std::string e = kEthernet;
  const std::vector<Wrong> errors{
      {R"([{"ethernet": {}}, {"rsvp": {"version": 1}}])", "{}", "flows[0].packet[1].rsvp: "},
      {R"([{"ethernet": {}}, {"ipv6": {}}, {"ipv6_extension_header": {}}])", "{}",
       "flows[0].packet[2].ipv6_extension_header.routing.segment_routing.segment_list: "},
      {R"([{"ethernet": {}}, {"ipv6": {"dst_usids": {"locator": {}, "usids": ["01"]}}}])", "{}",
       "flows[0].packet[1].ipv6.dst_usids.usids: '01' is not a uSID"},
      {R"([{"ethernet": {}}, {"ipv6": {"dst_usids": {"locator_length": {"value": 113}, "usids": ["0001"]}}}])",
       "{}", "flows[0].packet[1].ipv6.dst_usids.locator_length: 113 bits"},
      {R"([{"ethernet": {}}, {"ipv6": {"dst_usids": {"locator": {"metric_tags": [{"name": "t"}]}, "usids": ["0001"]}}}])",
       "{}", "flows[0].packet[1].ipv6.dst_usids.locator: it has no metric tags"},
      {R"([{"ethernet": {}}, {"ipv6": {"dst_usids": {"locator_length": {"metric_tags": [{"name": "t"}]}, "usids": ["0001"]}}}])",
       "{}", "flows[0].packet[1].ipv6.dst_usids.locator_length: it has no metric tags"},
      {R"([{"ethernet": {}}, {"ipv6": {"dst_usids": {"usids": ["00000001", "00000002", "00000003", "0001", "0002", "0003"]}}}])",
       "{}", "flows[0].packet[1].ipv6.dst_usids.usids: they do not fit"},
      {R"([{"ethernet": {}}, {"gtpv2": {"teid_flag": {"values": [0, 1]}}}])", "{}",
       "flows[0].packet[1].gtpv2.teid_flag: "},
      {R"([{"ethernet": {}}, {"lacp": {"lacpdu": {"collector": {"reserved": "00"}}}}])", "{}",
       "flows[0].packet[1].lacp.lacpdu.collector.reserved: '00' is not 12 bytes"},
      {R"([{"ethernet": {"src": {"metric_tags": [{"name": "t", "offset": 40, "length": 9}]}}}])",
       "{}", "flows[0].packet[0].ethernet.src.metric_tags[0].length: "},
      {R"([{"custom": {"bytes": "0102030405060708090a0b0c0d0e0f1011",
        "metric_tags": [{"name": "t", "length": 129}]}}])",
       "{}", "flows[0].packet[0].custom.metric_tags[0].length: 129 is not"},
      {R"([{"ipv4": {}}])", "{}", "flows[0].packet[0]: a frame does not start with ipv4"},
      {R"([{"vlan": {"tpid": {"value": 33024}}}])", "{}", "flows[0].packet[0]: "},
      {R"([{"ethernet": {"dst": {"value": "02:00"}}}])", "{}",
       "flows[0].packet[0].ethernet.dst.value: '02:00' is not a MAC"},
      {R"([{"ethernet": {"src": {"choice": "auto"}}}])", "{}",
       "flows[0].packet[0].ethernet.src.choice: "},
      {R"([{"ethernet": {"dsst": {}}}])", "{}", "flows[0].packet[0].ethernet: 'dsst' is not a key"},
      {R"([{"ethernet": {}}, {"ipv4": {"src": {"values": ["192.0.2.1", "::1"]}}}])", "{}",
       "flows[0].packet[1].ipv4.src.values[1]: "},
      {R"([{"ethernet": {}}, {"ipv4": {"src": {"auto": {"choice": "dhcp"}}}}])", "{}",
       "flows[0].packet[1].ipv4.src.choice: addresses that DHCP"},
      {R"([{"ethernet": {}}, {"ipv4": {"priority": {"dscp": {"phb": {"value": 64}}}}}])", "{}",
       "flows[0].packet[1].ipv4.priority.dscp.phb.value: 64 is not a whole number from 0 to 63"},
      {R"([{"ethernet": {}}, {"ipv4": {"options": [{"choice": "timestamp"}]}}])", "{}",
       "flows[0].packet[1].ipv4.options[0]: "},
      {R"([{"ethernet": {}}, {"udp": {"src_port": {"random": {"min": 9, "max": 3}}}}])", "{}",
       "flows[0].packet[1].udp.src_port.random.min: "},
      {R"([{"ethernet": {}}, {"udp": {"src_port": {"increment": {"count": 0}}}}])", "{}",
       "flows[0].packet[1].udp.src_port.increment.count: "},
      {R"([{"custom": {"bytes": "0 1 2"}}])", "{}", "flows[0].packet[0].custom.bytes: "},
      {R"([{"custom": {"bytes": "0102", "x_xdp_roce_icrc": true}}])", "{}",
       "flows[0].packet[0].custom.x_xdp_roce_icrc: "},
      {R"([{"ethernet": {}}, {"ipv4": {}}, {"udp": {}}, {"custom": {"bytes": "01",
        "x_xdp_roce_icrc": true}}, {"custom": {"bytes": "01"}}])",
       "{}", "flows[0].packet: x_xdp_roce_icrc"},
      {R"([{"ethernet": {}}])", R"({"tx_rx": {"port": {"tx_name": "tz"}}})",
       "flows[0].tx_rx.port.tx_name: there is no port 'tz'"},
      {R"([{"ethernet": {}}])",
       R"({"tx_rx": {"port": {"tx_name": "tx", "rx_names": ["rx", "q"]}}})",
       "flows[0].tx_rx.port.rx_names: "},
      {R"([{"ethernet": {}}])",
       R"({"tx_rx": {"device": {"tx_names": ["eth tx"], "rx_names": ["eth tx"]}}})",
       "flows[0].tx_rx.device.rx_names: 'eth tx' would send to itself"},
      {R"([{"ethernet": {}}])",
       R"({"tx_rx": {"device": {"mode": "one_to_one", "tx_names": ["eth tx"],
         "rx_names": ["ip rx", "ip third"]}}})",
       "flows[0].tx_rx.device.rx_names: one_to_one"},
      {R"([{"ethernet": {}}])", R"({"rate": {"pps": 0}})", "flows[0].rate.pps: "},
      {R"([{"ethernet": {}}])", R"({"size": {"random": {"min": 200, "max": 100}}})",
       "flows[0].size.random.max: "},
      {R"([{"ethernet": {}}])", R"({"size": {"weight_pairs": {"custom": []}}})",
       "flows[0].size.weight_pairs.custom: "},
      {R"([{"ethernet": {}}])", R"({"payload": {"fixed": {"pattern": "xy"}}})",
       "flows[0].payload.fixed.pattern: "},
  };
  for (const Wrong &one : errors) {
    const Read made = read(Json::array({flow_json(one.packet, one.more)}));
    ASSERT_FALSE(made.findings.errors.empty()) << one.expected;
    EXPECT_EQ(made.findings.errors[0].rfind(one.expected, 0), 0U) << made.findings.errors[0];
    EXPECT_EQ(made.findings.errors.size(), 1U) << one.expected << made.findings.errors.back();
  }
  const Read automatic =
      read(Json::array({flow_json(R"([{"ethernet": {"dst": {"metric_tags": [{"name": "t"}]}}}])",
                                  R"({"metrics": {"enable": true}})")}));
  ASSERT_FALSE(automatic.findings.errors.empty());
  EXPECT_NE(automatic.findings.errors[0].find("'t' is of a MAC"), std::string::npos);
  const Read twice = read(Json::array({flow_json("[{}]"), flow_json("[{}]")}));
  ASSERT_EQ(twice.findings.errors.size(), 1U);
  EXPECT_EQ(twice.findings.errors[0].rfind("flows[1].name: 'f' is a flow already", 0), 0U);

  const std::vector<Wrong> warnings{
      {R"([{"ethernet": {"pfc_queue": {"value": 3}}}])", "{}",
       "flows[0].packet[0].ethernet.pfc_queue: "},
      {R"([{"ethernet": {"src": {"metric_tags": [{"name": "t"}]}}}])", "{}",
       "flows[0].metrics.enable: "},
      {R"([{"ethernet": {}}])", R"({"metrics": {"loss": true}})", "flows[0].metrics.enable: "},
      {R"([{"ethernet": {}}])", R"({"size": {"fixed": 60}})", "flows[0].size: "},
      {R"([{"ethernet": {}}, {"udp": {}}])", "{}", "flows[0].packet[1].udp.checksum: "},
      {R"([{"ethernet": {}}, {"ipv4": {}}, {"udp": {}}, {"vxlan": {}}])", "{}",
       "flows[0].packet[3].vxlan: "},
      {R"([{"ethernet": {}}, {"ipv6": {"dst_usids": {"locator": {"value": "fc00:0:1::"}, "usids": ["0001"]}}}])",
       "{}", "flows[0].packet[1].ipv6.dst_usids.locator: only its first 32 bits"},
      {R"([{"ethernet": {}}, {"ipv6": {"dst_usids": {"locator": {"value": "fc00::"}, "locator_length": {"value": 0}, "usids": ["0001"]}}}])",
       "{}", "flows[0].packet[1].ipv6.dst_usids.locator: only its first 0 bits"},
      {R"([{"ethernet": {}}])", R"({"tx_rx": {"port": {"tx_name": "tx"}},
        "metrics": {"enable": true}, "size": {"fixed": 100}})",
       "flows[0].tx_rx.port.rx_names: "},
  };
  for (const Wrong &one : warnings) {
    const Read made = read(Json::array({flow_json(one.packet, one.more)}));
    EXPECT_EQ(made.findings.errors, std::vector<std::string>{}) << one.expected;
    ASSERT_EQ(made.findings.warnings.size(), 1U) << one.expected;
    EXPECT_EQ(made.findings.warnings[0].rfind(one.expected, 0), 0U) << made.findings.warnings[0];
  }
}

TEST(OtgFlows, AMetricTagHasAtMost128Bits) {
  const PlainFlow flow = good(R"([{"custom": {"bytes": "0102030405060708090a0b0c0d0e0f1011",
    "metric_tags": [{"name": "a"}, {"name": "b", "offset": 100}, {"name": "c", "offset": 8, "length": 128}]}}])");
  EXPECT_EQ(ranges_of(flow.tags), (std::vector<packet::BitRange>{{0, 128}, {100, 36}, {8, 128}}));
}

// A public suite does that.
TEST(OtgFlows, CustomBytesAreTaggedBeyondTheirEnd) {
  const PlainFlow flow = good(
      R"([{"custom": {"bytes": "64", "metric_tags": [{"name": "a", "offset": 32, "length": 32}]}}])",
      R"({"payload": {"choice": "fixed", "fixed": {"pattern": "4B6579736967687420", "repeat": true}}})");
  const packet::FrameTags tags(flow.frame, ranges_of(flow.tags));
  EXPECT_EQ(tags.of(0), packet::TagValues{0x73696768});
}

// On the way back, the tag of the source is of what was the destination.
TEST(OtgFlows, MetricTagsRepeatBothWays) {
  const auto errors = [](const char *both) {
    return read(Json::array({flow_json(
                    R"([{"ethernet": {}}, {"ipv4": {"src": {"value": "192.0.2.1",
                    "metric_tags": [{"name": "t"}]}, "dst": {"increment": {"count": 70000}}}}])",
                    fmt::format(R"({{"tx_rx": {{"device": {{"tx_names": ["ip tx"],
                    "rx_names": ["ip rx"], "bidirectional": {}}}}}}})",
                                both))}))
        .findings.all_errors();
  };
  EXPECT_EQ(errors("false"), std::vector<std::string>{});
  ASSERT_EQ(errors("true").size(), 1U);
  EXPECT_NE(errors("true")[0].find("repeat after more than 65536"), std::string::npos);
}

TEST(OtgFlows, SegmentsLeftAsTheModelHasThem) {
  const auto left_and_last = [](const char *routing) {
    const Bytes headers =
        good("[" + kEthernet + R"(, {"ipv6": {}}, {"ipv6_extension_header": {"routing": {)" +
             routing + "}}}]")
            .frame.headers;
    return Bytes(headers.begin() + 57, headers.begin() + 59);
  };
  EXPECT_EQ(left_and_last(R"("segment_routing": {"segment_list": [{}, {}, {}]})"), (Bytes{3, 2}));
  EXPECT_EQ(left_and_last(R"("segment_routing_usid": {"segment_list": [{"usids": ["0001"]},
    {"usids": ["0002"]}, {"usids": ["0003"]}]})"),
            (Bytes{2, 2}));
}

TEST(OtgFlows, TagsOfLengthsAreOfFramesAsTheyCome) {
  const std::string tagged = "[" + kEthernet + R"(, {"ipv4": {"total_length": {%
    "metric_tags": [{"name": "t", "offset": 3}]}}}])";
  const auto with = [&](const std::string &value) {
    std::string packet = tagged;
    return packet.replace(packet.find('%'), 1, value);
  };
  const Read made = read(Json::array({flow_json(with(""))}));
  ASSERT_EQ(made.findings.errors.size(), 1U);
  EXPECT_EQ(made.findings.errors[0].rfind("flows[0].packet: metric tag 't' is of a length", 0), 0U)
      << made.findings.errors[0];
  EXPECT_EQ(good(with(R"("value": 46,)")).tags.size(), 1U);

  const PlainFlow flow = good("[" + kEthernet + R"(, {"ipv4": {}}])",
                              R"({"size": {"fixed": 100}, "metrics": {"enable": true},
                              "egress_packet": )" +
                                  with("") + "}");
  ASSERT_EQ(flow.egress_tags.size(), 1U);
  EXPECT_EQ(packet::tag_values(ranges_of(flow.egress_tags), frame_of(flow)), packet::TagValues{82});
}

TEST(OtgFlows, HeadersFitTheirFieldsAndTheFrame) {
  const auto repeated = [](const char *text, size_t count) {
    std::string all = text;
    for (size_t i = 1; i < count; i++)
      all += std::string(", ") + text;
    return all;
  };
  const auto errors = [](const std::string &headers) {
    return read(Json::array({flow_json("[" + kEthernet + ", " + headers + "]")}))
        .findings.all_errors();
  };
  using Errors = std::vector<std::string>;
  const auto options = [&](const char *length, size_t count) {
    return fmt::format(R"({{"ipv4": {{{}"options": [{}]}}}})", length,
                       repeated(R"({"choice": "router_alert"})", count));
  };
  EXPECT_EQ(errors(options("", 10)), Errors{});
  EXPECT_EQ(errors(options("", 11)),
            Errors{"flows[0].packet[1].ipv4: 64 bytes are more than header_length can say (fewer, "
                   "or a value in header_length)"});
  EXPECT_EQ(errors(options(R"("header_length": {"value": 15}, )", 11)), Errors{});
  const auto segments = [&](const char *given, size_t count) {
    return fmt::format(R"({{"ipv6": {{}}}}, {{"ipv6_extension_header": {{{} "routing":
      {{"segment_routing": {{"segment_list": [{}]}}}}}}}})",
                       given, repeated("{}", count));
  };
  EXPECT_EQ(errors(segments("", 127)), Errors{});
  EXPECT_EQ(errors(segments("", 128)),
            Errors{"flows[0].packet[2].ipv6_extension_header: 2056 bytes are more than hdr_ext_len "
                   "can say (fewer, or a value in hdr_ext_len)"});
  const std::string place = "flows[0].packet[2].ipv6_extension_header.routing.segment_routing.";
  EXPECT_EQ(errors(segments(R"("hdr_ext_len": {"value": 1},)", 257)),
            (Errors{place + "segments_left: 257 does not fit in it (fewer elements, or a value)",
                    place + "last_entry: 256 does not fit in it (fewer elements, or a value)"}));
  const auto bytes = [&](size_t count) {
    std::string text;
    for (size_t i = 0; i < count; i++)
      text += "00";
    return R"({"custom": {"bytes": ")" + text + "\"}}";
  };
  EXPECT_EQ(errors(bytes(65517)), Errors{});
  EXPECT_EQ(errors(bytes(65518)), Errors{"flows[0].packet: its headers make frames of 65536 bytes "
                                         "(at most 65535)"});
}

// Instead of tags of a locator, as their error says.
TEST(OtgFlows, LocatorsAreTaggedAsTheyCome) {
  const PlainFlow flow = good(
      "[" + kEthernet +
          R"(, {"ipv6": {"dst_usids": {"locator": {"value": "fc00::"}, "usids": ["0001"]}}},
      {"ipv6_extension_header": {"routing": {"segment_routing_usid": {"segment_list": [
      {"locator": {"value": "fc01::"}, "usids": ["0002"]}]}}}}])",
      R"({"metrics": {"enable": true}, "size": {"fixed": 200}, "egress_packet": [{"ethernet": {}},
      {"ipv6": {"dst": {"metric_tags": [{"name": "a", "length": 32}]}}},
      {"ipv6_extension_header": {"routing": {"segment_routing": {"segment_list": [
      {"segment": {"metric_tags": [{"name": "b", "length": 32}]}}]}}}}]})");
  EXPECT_EQ(packet::tag_values(ranges_of(flow.egress_tags), frame_of(flow)),
            (packet::TagValues{0xfc000000, 0xfc010000}));
}

} // namespace
} // namespace xr::otg::otg_flows_test
