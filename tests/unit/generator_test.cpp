// SPDX-License-Identifier: Apache-2.0
// The OTG server without ports: what a configuration becomes on the wire, and how answers look.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "generator/answer.h"
#include "generator/generator.h"
#include "generator/plan.h"
#include "generator/record_file.h"
#include "packet/fcs.h"
#include "parse/address.h"

namespace xr::generator::generator_test {
namespace {

Json config_of(const char *name) {
  std::ifstream file(std::string(XR_TEST_DATA "/otg/") + name);
  std::stringstream text;
  text << file.rdbuf();
  return Json::parse(text.str());
}

otg::Config read(Json json) {
  Findings findings;
  otg::Config config = otg::read_config(json, findings);
  EXPECT_TRUE(findings.ok()) << (findings.ok() ? "" : findings.errors.front());
  return config;
}

// Two ports, whose devices have these QPs.
Json pair_of(const std::vector<uint32_t> &left, const std::vector<uint32_t> &right) {
  const auto device = [](int number, const std::vector<uint32_t> &qps) {
    const std::string own = "192.0.2." + std::to_string(number),
                      other = "192.0.2." + std::to_string(3 - number), id = std::to_string(number);
    Json list = Json::array();
    for (size_t i = 0; i < qps.size(); i++)
      list.push_back(
          {{"qp_name", "QP" + id + "_" + std::to_string(i)},
           {"connection_type",
            {{"reliable_connection", {{"source_qp_number", qps[i]}, {"initial_psn", 7}}}}}});
    return Json{
        {"name", "D" + id},
        {"ethernets",
         {{{"name", "E" + id},
           {"mac", "02:00:00:00:00:0" + id},
           {"connection", {{"port_name", "P" + id}}},
           {"ipv4_addresses",
            {{{"name", "I" + id}, {"address", own}, {"gateway", "192.0.2.254"}}}}}}},
        {"rocev2",
         {{"ipv4_interfaces",
           {{{"ipv4_name", "I" + id},
             {"peers",
              {{{"name", "R" + id}, {"destination_ip_address", other}, {"qps", list}}}}}}}}}};
  };
  Json flows = Json::array();
  for (size_t i = 0; i < left.size(); i++)
    flows.push_back({{"name", "F" + std::to_string(i)},
                     {"tx_endpoint", "QP1_" + std::to_string(i)},
                     {"message_size", 64},
                     {"message_size_unit", "kb"}});
  return {
      {"ports", {{{"name", "P1"}, {"location", "lab/a"}}, {{"name", "P2"}, {"location", "b"}}}},
      {"layer1", {{{"name", "L"}, {"port_names", {"P1", "P2"}}, {"speed", "speed_10_gbps"}}}},
      {"devices", {device(1, left), device(2, right)}},
      {"stateful_flows",
       {{"rocev2",
         {{{"tx_ports",
            {{{"port_name", "P1"},
              {"transmit_type", {{"target_line_rate", {{"value", 50}, {"flows", flows}}}}}}}}}}}}}};
}

TEST(Plan, QpsArePairsByTheirPlace) {
  const otg::Config config = read(pair_of({33, 34}, {50, 51}));
  const Plan plan = make_plan(config, "here");
  EXPECT_EQ(plan.qps[0].own, 33U);
  EXPECT_EQ(plan.qps[0].dest, 50U);
  EXPECT_EQ(plan.qps[1].dest, 51U);
  EXPECT_EQ(plan.qps[3].own, 51U);
  EXPECT_EQ(plan.qps[3].dest, 34U);
  EXPECT_EQ(plan.ports[0].netns, "lab");
  EXPECT_EQ(plan.ports[1].netns, "here");
  EXPECT_EQ(plan.ports[1].ifname, "b");
  EXPECT_EQ(plan.rx_ports, (std::vector<std::optional<size_t>>{1, 1}));
  // The receiver knows whom to answer, and where they begin.
  const responder::ResponderOptions &there = plan.ports[1].request.responder;
  EXPECT_EQ(there.peer_of(50), 33U);
  EXPECT_EQ(there.peer_of(51), 34U);
  EXPECT_FALSE(there.peer_of(52));
  EXPECT_EQ(there.first_psn(50), 7U);
}

TEST(Plan, NumbersThatDoNotTellQpsApartAreReplaced) {
  for (const auto &left : {std::vector<uint32_t>{2, 2, 2}, {9, 9, 9}, {9, 10, 9}}) {
    Findings findings;
    Json json = pair_of(left, {33, 34, 35});
    const otg::Config config = otg::read_config(json, findings);
    if (!findings.ok()) // the reader refuses some of them by name
      continue;
    const Plan plan = make_plan(config, "");
    EXPECT_EQ(plan.qps[0].own, 0x11U);
    EXPECT_EQ(plan.qps[2].own, 0x13U);
    EXPECT_EQ(plan.notes.size(), 1U);
  }
}

TEST(Plan, APeerWithoutQpsAnswersTheSendersNumber) {
  const Plan plan = make_plan(read(pair_of({33}, {})), "");
  EXPECT_EQ(plan.qps[0].dest, 33U);
}

TEST(Plan, FlowsShareTheLineAndHaveTheirPaths) {
  const otg::Config config = read(pair_of({33, 34}, {50, 51}));
  const Plan plan = make_plan(config, "");
  endpoint::PortFacts facts;
  facts.mac = {2, 0, 0, 0, 0, 9};
  facts.mtu = 1500;
  const NextHop hop = next_hop(config, 0, parse::address("192.0.2.2").get());
  const HopMacs macs = {{hop, {2, 0, 0, 0, 0, 2}}};
  const auto flows = station_flows(config, plan, 0, facts, macs);
  ASSERT_TRUE(flows.ok()) << flows.error().message;
  ASSERT_EQ(flows.get().size(), 2U);
  const flow::Flow &flow = flows.get()[1].flow;
  EXPECT_EQ(flow.pacing.rate.kind, congestion::Rate::Kind::Percent);
  EXPECT_DOUBLE_EQ(flow.pacing.rate.value, 25); // of 50 % for two
  EXPECT_EQ(flow.path.dst_mac, (packet::Mac{2, 0, 0, 0, 0, 2}));
  EXPECT_EQ(flow.path.src_mac, (packet::Mac{2, 0, 0, 0, 0, 1})); // the device's
  EXPECT_EQ(flow.qp, 51U);
  EXPECT_EQ(flow.own_qp(0), 34U);
  EXPECT_EQ(flow.size.largest(), 64'000U);
  EXPECT_TRUE(flow.stamp);
  facts.mtu = 600; // a PMTU of 1024 does not fit
  facts.ifname = "a";
  EXPECT_EQ(station_flows(config, plan, 0, facts, macs).get()[0].flow.pmtu, 512U);
  EXPECT_EQ(narrowed(config, 0, facts),
            (std::vector<std::string>{"peer 'R1': packets of 1024 bytes do not fit the MTU 600 of "
                                      "a: the PMTU is 512, as 1024 needs an MTU of 1088"}));
  facts.mtu = 1500;
  EXPECT_TRUE(narrowed(config, 0, facts).empty());
  facts.mtu = 300; // nor does any
  const auto refused = station_flows(config, plan, 0, facts, macs);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message.rfind("flow 'F0'", 0), 0U) << refused.error().message;
}

TEST(Plan, WhatIsNotInTheSubnetGoesToTheGateway) {
  const otg::Config config = read(pair_of({33}, {50}));
  const auto to = [&](const char *address) {
    return parse::address_text(next_hop(config, 0, parse::address(address).get()).address);
  };
  EXPECT_EQ(to("192.0.2.77"), "192.0.2.77");
  EXPECT_EQ(to("192.0.3.1"), "192.0.2.254");
  EXPECT_EQ(to("10.0.0.1"), "192.0.2.254");
}

TEST(Plan, ConfigurationsOfOursAreTaken) {
  for (const char *name : {"two_ways.json", "pairs.json", "everything.json"}) {
    SCOPED_TRACE(name);
    Findings findings;
    Json json = config_of(name);
    const otg::Config config = otg::read_config(json, findings);
    ASSERT_TRUE(findings.ok()) << findings.errors.front();
    const Plan plan = make_plan(config, "");
    EXPECT_EQ(plan.ports.size(), config.ports.size());
    EXPECT_EQ(plan.rx_ports.size(), config.flows.size());
  }
}

TEST(Answers, HaveNoExponentsAndNoTabs) {
  EXPECT_EQ(text(1e-5), "0.00001");
  EXPECT_EQ(text(1.5e15), "1500000000000000.0");
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(text(98.0), "98.0");
  EXPECT_EQ(text(-0.25), "-0.25");
  EXPECT_EQ(text(Json(18446744073709551615ULL)), "18446744073709551615");
  EXPECT_EQ(text({{"a\tb", "\"\\\x01"}, {"n", nullptr}, {"l", {1, true}}}),
            R"({"a\tb": "\"\\\u0001", "l": [1, true], "n": null})");
  EXPECT_EQ(Json::parse(text("\xff\xc3\xa4")).get<std::string>(), "\xef\xbf\xbd\xc3\xa4");
}

TEST(Answers, SuccessAndFailure) {
  EXPECT_EQ(success().body, R"({"warnings": []})");
  EXPECT_EQ(success({"w"}).body, R"({"warnings": ["w"]})");
  const http::Answer wrong = failure(400, Error{"what", "hint"});
  EXPECT_EQ(wrong.status, 400);
  const Json shape = {{"code", 400}, {"errors", {"what (hint)"}}, {"kind", "validation"}};
  EXPECT_EQ(Json::parse(wrong.body), shape);
  EXPECT_NE(failure(500, Error{"x", ""}).body.find("internal"), std::string::npos);
}

class Server : public testing::Test {
protected:
  Generator generator_{{.netns = "",
                        .ports = {"a", "lab/b"},
                        .attach = {},
                        .version = "1",
                        .note = [](const std::string &) {}}};
  http::Answer ask(const char *method, const char *path, const std::string &body = "{}") {
    return generator_.answer({method, path, body});
  }
};

TEST_F(Server, KnowsItsPathsAndMethods) {
  EXPECT_EQ(ask("GET", "/capabilities/version").status, 200);
  EXPECT_EQ(ask("GET", "/config").body, "{}");
  EXPECT_EQ(ask("DELETE", "/config").status, 405);
  EXPECT_EQ(ask("POST", "/config/append").status, 405);
  const http::Answer unknown = ask("GET", "/confg");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_NE(unknown.body.find("/config"), std::string::npos) << unknown.body;
}

TEST_F(Server, RefusesWithoutAConfiguration) {
  for (const char *path :
       {"/control/state", "/monitor/metrics", "/monitor/states", "/monitor/capture"}) {
    const http::Answer answer = ask("POST", path);
    EXPECT_EQ(answer.status, 400) << path;
    EXPECT_NE(answer.body.find("there is no configuration"), std::string::npos) << answer.body;
  }
  for (const char *path : {"/config", "/config/append", "/config/delete"})
    EXPECT_EQ(ask("PATCH", path).status, 400) << path;
}

TEST_F(Server, RefusesPortsOfOthersAndWhatIsNoJson) {
  const http::Answer other =
      ask("POST", "/config", R"({"ports": [{"name": "p", "location": "c"}, {"name": "q"}]})");
  EXPECT_EQ(other.status, 400);
  EXPECT_NE(other.body.find("ports[0].location: 'c' is not a port of this server (the server has "
                            "a, lab/b)"),
            std::string::npos)
      << other.body;
  EXPECT_NE(other.body.find("ports[1].location"), std::string::npos) << other.body;
  EXPECT_NE(ask("POST", "/config", "{\"ports\": [").body.find("not JSON"), std::string::npos);
  EXPECT_NE(ask("POST", "/config", "{\"prots\": []}").body.find("ports"), std::string::npos);
}

TEST(RecordFile, IsAPcapOrPcapng) {
  station::FrameRecord record({.snaplen = 0, .most_bytes = 1 << 20, .overwrite = true});
  for (int i = 0; i < 5; i++)
    record.add(static_cast<uint64_t>(i) * 1000, std::vector<uint8_t>(60, static_cast<uint8_t>(i)));
  const auto pcap =
      record_file(record, {.first = 1, .count = 3, .pcapng = false, .snaplen = 0, .name = "p"});
  ASSERT_TRUE(pcap.ok());
  EXPECT_EQ(pcap.get().size(), 24 + 3 * (16 + 64U));
  EXPECT_EQ(pcap.get().substr(0, 4), "\x4d\x3c\xb2\xa1");              // ns, little-endian
  EXPECT_EQ(pcap.get().substr(20, 4), std::string("\x01\0\0\x24", 4)); // an FCS of 2 words
  EXPECT_EQ(pcap.get()[24 + 16], 1);
  const auto pcapng =
      record_file(record, {.first = 0, .count = 5, .pcapng = true, .snaplen = 0, .name = "p"});
  ASSERT_TRUE(pcapng.ok());
  EXPECT_EQ(pcapng.get().substr(0, 4), "\x0a\x0d\x0d\x0a");
  // Cut within the FCS.
  const auto cut =
      record_file(record, {.first = 0, .count = 1, .pcapng = false, .snaplen = 62, .name = "p"});
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(cut.get().size(), 24 + 16 + 62U);
}

// The check value of CRC-32 in catalogues of CRCs, of "123456789".
TEST(Fcs, IsTheCrcOfEthernet) {
  const std::string_view digits = "123456789";
  EXPECT_EQ(packet::fcs_of({reinterpret_cast<const uint8_t *>(digits.data()), digits.size()}),
            (std::array<uint8_t, 4>{0x26, 0x39, 0xf4, 0xcb}));
}

} // namespace
} // namespace xr::generator::generator_test
