// SPDX-License-Identifier: Apache-2.0
// lags[] of a configuration: values and defaults, devices and flows on them, and errors by the path
// of their key.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "otg/config.h"
#include "otg_read.h"

namespace xr::test::otg_lags_test {
namespace {

using otg::Config;
using otg::Json;

Json member(const std::string &port) {
  return {{"port_name", port},
          {"ethernet", {{"name", port + " eth"}, {"mac", "02:00:00:00:00:01"}}}};
}

// Ports a to d; LAG x of a and b, LAG y of c.
Json configuration() {
  Json json;
  for (const std::string name : {"a", "b", "c", "d"})
    json["ports"].push_back({{"name", name}, {"location", name}});
  json["lags"] = {{{"name", "x"}, {"ports", {member("a"), member("b")}}},
                  {{"name", "y"},
                   {"ports", Json::array({member("c")})},
                   {"protocol", {{"choice", "static"}, {"static", {{"lag_id", 0}}}}}}};
  const auto device = [](int number, const char *lag) {
    const std::string n = std::to_string(number);
    return Json{{"name", "D" + n},
                {"ethernets",
                 {{{"name", "E" + n},
                   {"mac", "02:00:00:00:01:0" + n},
                   {"connection", {{"lag_name", lag}}},
                   {"ipv4_addresses",
                    {{{"name", "I" + n},
                      {"address", "192.0.2." + n},
                      {"gateway", "192.0.2." + std::to_string(3 - number)}}}}}}}};
  };
  json["devices"] = {device(1, "x"), device(2, "y")};
  json["flows"] = {
      {{"name", "f"},
       {"tx_rx", {{"port", {{"tx_name", "x"}, {"rx_names", {"y", "d"}}}}}},
       {"packet", {{{"ethernet", Json::object()}}}},
       {"metrics", {{"enable", true}}}},
      {{"name", "g"},
       {"tx_rx",
        {{"device", {{"tx_names", {"I1"}}, {"rx_names", {"I2"}}, {"bidirectional", true}}}}},
       {"metrics", {{"enable", true}}}}};
  return json;
}

using Ports = std::vector<size_t>;

TEST(OtgLags, ValuesAndDefaults) {
  Json json = configuration();
  json["lags"][0]["min_links"] = 2;
  json["lags"][0]["protocol"]["lacp"] = {
      {"actor_system_id", "02:00:00:00:00:09"}, {"actor_system_priority", 5}, {"actor_key", 6}};
  json["lags"][0]["ports"][1]["lacp"] = {{"actor_port_number", 7},
                                         {"actor_port_priority", 8},
                                         {"actor_activity", "passive"},
                                         {"lacpdu_periodic_time_interval", 30},
                                         {"lacpdu_timeout", 90}};
  const Config config = read_valid(json);
  ASSERT_EQ(config.lags.size(), 2U);
  const otg::Lag &x = config.lags[0], &y = config.lags[1];
  EXPECT_EQ(x.name, "x");
  EXPECT_TRUE(x.lacp);
  EXPECT_EQ(x.min_links, 2U);
  EXPECT_EQ(x.system, (packet::Mac{2, 0, 0, 0, 0, 9}));
  EXPECT_EQ(x.system_priority, 5);
  EXPECT_EQ(x.key, 6);
  EXPECT_EQ(ports_of(x), (Ports{0, 1}));
  EXPECT_TRUE(x.ports[0].active);
  EXPECT_EQ(x.ports[0].number, 0);
  EXPECT_EQ(x.ports[0].priority, 1);
  EXPECT_EQ(x.ports[1].number, 7);
  EXPECT_EQ(x.ports[1].priority, 8);
  EXPECT_FALSE(x.ports[1].active);
  EXPECT_EQ(x.ports[1].interval_s, 30U);
  EXPECT_EQ(x.ports[1].timeout_s, 90U);
  EXPECT_FALSE(y.lacp);
  EXPECT_EQ(y.min_links, 1U);
  EXPECT_EQ(lag_of_port(config, 1), &x);
  EXPECT_EQ(lag_of_port(config, 3), nullptr);
  ASSERT_EQ(config.ethernets.size(), 2U);
  EXPECT_EQ(config.ethernets[0].lag, 0U);
  EXPECT_EQ(ports_of(config, config.ethernets[0]), (Ports{0, 1}));
  EXPECT_EQ(config.ethernets[1].port, 2U);
}

TEST(OtgLags, FlowsAreOfEachPort) {
  Json json = configuration();
  const Config config = read_valid(json);
  std::vector<std::tuple<std::string, size_t, Ports, std::string, std::string>> found;
  for (const otg::PlainFlow &flow : config.plain_flows)
    found.emplace_back(flow.name, flow.tx_port, flow.rx_ports, flow.tx_name, flow.rx_name);
  const decltype(found) wanted = {{"f", 0, {2, 3}, "x", ""},
                                  {"f", 1, {2, 3}, "x", ""},
                                  {"g", 0, {2}, "x", "y"},
                                  {"g", 1, {2}, "x", "y"},
                                  {"g", 2, {0, 1}, "y", "x"}};
  EXPECT_EQ(found, wanted);
}

// The first error of a configuration with this value.
std::string error_of(const std::string &at, const Json &value) {
  Json json = configuration();
  json[Json::json_pointer(at)] = value;
  const auto errors = errors_of(json);
  return errors.empty() ? "none" : errors.front();
}

TEST(OtgLags, Errors) {
  EXPECT_EQ(error_of("/lags/0/ports", Json::array()).substr(0, 40),
            "lags[0].ports: a LAG needs at least one ");
  EXPECT_EQ(error_of("/lags/1/ports/0/port_name", "e"),
            "lags[1].ports[0].port_name: there is no port 'e' (did you mean a?)");
  EXPECT_EQ(
      error_of("/lags/1/ports/0/port_name", "b"),
      "lags[1].ports[0].port_name: port 'b' is in a LAG already (a port is in one LAG, once)");
  EXPECT_EQ(error_of("/lags/0/name", "d").substr(0, 40),
            "lags[0].name: there is a port 'd' too (e");
  EXPECT_EQ(error_of("/lags/0/min_links", 33).substr(0, 21), "lags[0].min_links: 33");
  EXPECT_EQ(error_of("/lags/0/ports/0/macsec", {{"a", 1}}),
            "lags[0].ports[0].macsec: it is not supported (ethernet, lacp)");
  EXPECT_EQ(error_of("/devices/0/ethernets/0/connection", {{"port_name", "a"}}),
            "devices[0].ethernets[0].connection.port_name: port 'a' is in LAG 'x' ({\"lag_name\": "
            "\"...\"})");
  EXPECT_EQ(error_of("/flows/0/tx_rx/port/tx_name", "b"),
            "flows[0].tx_rx.port.tx_name: port 'b' is in LAG 'x', which sends (the LAG's name)");
  EXPECT_EQ(error_of("/flows/0/tx_rx/port/tx_name", "z").substr(0, 58),
            "flows[0].tx_rx.port.tx_name: there is no port or LAG 'z' (");
  EXPECT_EQ(
      error_of("/flows/0/duration", {{"burst", {{"bursts", 2}, {"packets", 3}}}}).substr(0, 64),
      "flows[0].duration: bursts are of one port, and LAG 'x' has sever");
  Json no_mac = configuration()["devices"][0]["ethernets"][0];
  no_mac.erase("mac");
  EXPECT_EQ(error_of("/devices/0/ethernets/0", no_mac),
            "devices[0].ethernets[0].mac: an ethernet on a LAG of several ports needs it (one for "
            "all ports, like 02:00:00:00:00:01)");
  const Json peer = {{"ipv4_interfaces",
                      {{{"ipv4_name", "I1"},
                        {"peers", {{{"name", "P"}, {"destination_ip_address", "192.0.2.9"}}}}}}}};
  EXPECT_EQ(
      error_of("/devices/0/rocev2", peer),
      "devices: peer 'P': its packets would arrive at any of the 2 ports of LAG 'x', and a QP "
      "is of one (RoCEv2 over a LAG of one port, or connection.port_name)");
}

TEST(OtgLags, NumbersOfPortsAreTheirOwn) {
  EXPECT_EQ(error_of("/lags/0/ports/0/lacp", {{"actor_port_number", 2}}),
            "lags[0].ports[1].lacp.actor_port_number: 2 is the number of port 'a' too (each has "
            "its own; 0 is its place in the LAG, from 1)");
  EXPECT_EQ(error_of("/lags/0/ports/1/lacp", {{"actor_port_number", 1}}).substr(0, 43),
            "lags[0].ports[1].lacp.actor_port_number: 1 ");
  EXPECT_EQ(error_of("/lags/0/ports/0/lacp", {{"actor_port_number", 3}}), "none");
}

TEST(OtgLags, LagsOfOneSystemWithOneKeyAreSaid) {
  Json json = configuration();
  const size_t before = warnings_of(json).size();
  json["lags"][1]["protocol"] = {{"lacp", Json::object()}};
  const auto warnings = warnings_of(json);
  ASSERT_EQ(warnings.size(), before + 1);
  EXPECT_EQ(warnings[0], "lags[1].protocol.lacp.actor_key: LAG 'x' has this key in the same "
                         "system: others take the ports of both for those of one LAG");
  json["lags"][1]["protocol"]["lacp"]["actor_key"] = 1;
  EXPECT_EQ(warnings_of(json).size(), before);
  json["lags"][1]["protocol"]["lacp"] = {{"actor_system_id", "02:00:00:00:00:09"}};
  EXPECT_EQ(warnings_of(json).size(), before);
  json["lags"][0]["protocol"]["lacp"] = {{"actor_system_id", "02:00:00:00:00:09"}};
  EXPECT_EQ(warnings_of(json).size(), before + 1);
}

} // namespace
} // namespace xr::test::otg_lags_test
