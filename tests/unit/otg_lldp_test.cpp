// SPDX-License-Identifier: Apache-2.0
// lldp[] of a configuration: values and defaults, and errors by the path of their key.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "otg/config.h"
#include "otg_read.h"

namespace xr::test::otg_lldp_test {
namespace {

using otg::Config;
using otg::Json;
using otg::LldpIdKind;
using Bytes = std::vector<uint8_t>;

// Port a with every key, port b with the least.
Json configuration() {
  return {{"ports", {{{"name", "a"}, {"location", "a"}}, {{"name", "b"}, {"location", "b"}}}},
          {"lldp",
           {{{"name", "x"},
             {"connection", {{"choice", "port_name"}, {"port_name", "a"}}},
             {"chassis_id", {{"choice", "local_subtype"}, {"local_subtype", "box"}}},
             {"port_id",
              {{"choice", "mac_address_subtype"}, {"mac_address_subtype", "02:00:00:00:00:07"}}},
             {"system_name", {{"choice", "value"}, {"value", "tester"}}},
             {"hold_time", 20},
             {"advertisement_interval", 6},
             {"org_infos",
              {{{"oui", "aabbCC"},
                {"subtype", 5},
                {"information", {{"choice", "info"}, {"info", "0a1B"}}}},
               Json::object()}}},
            {{"name", "y"}, {"connection", {{"port_name", "b"}}}}}}};
}

TEST(OtgLldp, Values) {
  Json json = configuration();
  const Config config = read_valid(json);
  EXPECT_EQ(warnings_of(json), std::vector<std::string>());
  ASSERT_EQ(config.lldp.size(), 2U);
  const otg::Lldp &x = config.lldp[0];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.port, 0U);
  EXPECT_EQ(x.chassis.kind, LldpIdKind::Local);
  EXPECT_EQ(x.chassis.value, (Bytes{'b', 'o', 'x'}));
  EXPECT_EQ(x.port_id.kind, LldpIdKind::Mac);
  EXPECT_EQ(x.port_id.value, (Bytes{2, 0, 0, 0, 0, 7}));
  EXPECT_EQ(x.system_name, "tester");
  EXPECT_EQ(x.hold_s, 20);
  EXPECT_EQ(x.interval_s, 6);
  ASSERT_EQ(x.org_infos.size(), 2U);
  EXPECT_EQ(x.org_infos[0].oui, (std::array<uint8_t, 3>{0xaa, 0xbb, 0xcc}));
  EXPECT_EQ(x.org_infos[0].subtype, 5);
  EXPECT_EQ(x.org_infos[0].information, (Bytes{0x0a, 0x1b}));
  EXPECT_EQ(x.org_infos[1].oui, (std::array<uint8_t, 3>{0x00, 0x80, 0xc2}));
  EXPECT_EQ(x.org_infos[1].subtype, 1);
  EXPECT_TRUE(x.org_infos[1].information.empty());
}

TEST(OtgLldp, Defaults) {
  Json json = configuration();
  const Config config = read_valid(json);
  const otg::Lldp &y = config.lldp[1];
  EXPECT_EQ(y.port, 1U);
  EXPECT_EQ(y.chassis.kind, LldpIdKind::Mac);
  EXPECT_FALSE(y.chassis.value);
  EXPECT_EQ(y.port_id.kind, LldpIdKind::InterfaceName);
  EXPECT_FALSE(y.port_id.value);
  EXPECT_FALSE(y.system_name);
  EXPECT_EQ(y.hold_s, 120);
  EXPECT_EQ(y.interval_s, 30);
  const Json shown = {
      {"name", "y"},
      {"connection", {{"choice", "port_name"}, {"port_name", "b"}}},
      {"chassis_id",
       {{"choice", "mac_address_subtype"}, {"mac_address_subtype", {{"choice", "auto"}}}}},
      {"port_id",
       {{"choice", "interface_name_subtype"}, {"interface_name_subtype", {{"choice", "auto"}}}}},
      {"hold_time", 120},
      {"advertisement_interval", 30}};
  EXPECT_EQ(json["lldp"][1], shown);
  EXPECT_EQ(json["lldp"][0]["org_infos"][1], (Json{{"oui", "0080C2"}, {"subtype", 1}}));
}

TEST(OtgLldp, NamesOfThePort) {
  Json json = configuration();
  json["lldp"][0]["chassis_id"] = {
      {"mac_address_subtype", {{"choice", "value"}, {"value", "02:00:00:00:00:09"}}}};
  json["lldp"][0]["port_id"] = {{"interface_name_subtype", {{"value", "eth7"}}}};
  // GET /config shows it so.
  json["lldp"][0]["system_name"] = {{"choice", "auto"}, {"auto", "host"}};
  json["lldp"][1]["chassis_id"] = {{"choice", "interface_name_subtype"},
                                   {"interface_name_subtype", "eth8"}};
  json["lldp"][1]["port_id"] = {{"local_subtype", "eight"}};
  const Config config = read_valid(json);
  EXPECT_EQ(config.lldp[0].chassis.value, (Bytes{2, 0, 0, 0, 0, 9}));
  EXPECT_EQ(config.lldp[0].port_id.value, (Bytes{'e', 't', 'h', '7'}));
  EXPECT_EQ(config.lldp[0].system_name, "");
  EXPECT_EQ(config.lldp[1].chassis.kind, LldpIdKind::InterfaceName);
  EXPECT_EQ(config.lldp[1].chassis.value, (Bytes{'e', 't', 'h', '8'}));
  EXPECT_EQ(config.lldp[1].port_id.kind, LldpIdKind::Local);
}

std::string error_of(const char *at, const Json &value) {
  Json json = configuration();
  json[Json::json_pointer(at)] = value;
  const auto errors = errors_of(json);
  return errors.size() == 1 ? errors.front() : fmt::format("{}", fmt::join(errors, "\n"));
}

TEST(OtgLldp, Errors) {
  const std::string many(256, 'n');
  EXPECT_EQ(error_of("/lldp/1/name", "x"),
            "lldp[1].name: there are two LLDPs 'x' (each has a name of its own)");
  EXPECT_EQ(error_of("/lldp/1/name", nullptr), "lldp[1].name: LLDP needs it (\"...\")");
  EXPECT_EQ(error_of("/lldp/1/connection", nullptr),
            "lldp[1].connection: LLDP needs it ({\"port_name\": \"...\"})");
  EXPECT_EQ(error_of("/lldp/1/connection/port_name", "a"),
            "lldp[1].connection.port_name: port 'a' has LLDP already (once for each port)");
  EXPECT_EQ(error_of("/lldp/1/connection/port_name", "c").substr(0, 50),
            "lldp[1].connection.port_name: there is no port 'c'");
  EXPECT_EQ(error_of("/lldp/1/hold_time", 9),
            "lldp[1].hold_time: 9 is not a whole number from 10 to 65535");
  EXPECT_EQ(error_of("/lldp/1/advertisement_interval", 65535).substr(0, 42),
            "lldp[1].advertisement_interval: 65535 is n");
  EXPECT_EQ(error_of("/lldp/0/chassis_id/local_subtype", ""),
            "lldp[0].chassis_id.local_subtype: chassis_id needs it (\"...\")");
  EXPECT_EQ(error_of("/lldp/0/chassis_id/local_subtype", many),
            "lldp[0].chassis_id.local_subtype: it has 256 bytes (at most 255)");
  EXPECT_EQ(error_of("/lldp/0/system_name", {{"choice", "value"}}),
            "lldp[0].system_name.value: system_name needs it (\"...\")");
  EXPECT_EQ(error_of("/lldp/0/port_id", {{"choice", "mac_address_subtype"}}),
            "lldp[0].port_id.mac_address_subtype: a MAC address is needed (like "
            "02:00:00:00:00:01)");
  EXPECT_EQ(error_of("/lldp/0/port_id/mac_address_subtype", "2:0").substr(0, 60),
            "lldp[0].port_id.mac_address_subtype: '2:0' is not a MAC addr");
  for (const char *const oui : {"", "0080C", "0080C2F", "0080CG", "0x80C2"})
    EXPECT_EQ(error_of("/lldp/0/org_infos/0/oui", oui),
              fmt::format("lldp[0].org_infos[0].oui: '{}' is not a text of 6 hexadecimal digits "
                          "(like \"0080C2\")",
                          oui));
  EXPECT_EQ(error_of("/lldp/0/org_infos/0/subtype", 0).substr(0, 32),
            "lldp[0].org_infos[0].subtype: 0 ");
  for (const std::string &info : {std::string("abc"), std::string("0x0a"), std::string(1016, 'a')})
    EXPECT_NE(error_of("/lldp/0/org_infos/0/information/info", info)
                  .find("is not a text of two hexadecimal digits for each of at most 507 bytes "
                        "(like \"0a1b\")"),
              std::string::npos)
        << info;
  Json large = Json::array();
  for (int i = 0; i < 3; i++)
    large.push_back({{"information", {{"info", std::string(1014, 'a')}}}});
  EXPECT_EQ(error_of("/lldp/0/org_infos", large).substr(0, 42),
            "lldp[0].org_infos: an LLDPDU of 1568 bytes");
  EXPECT_EQ(error_of("/lldp/0/holdtime", 9).substr(0, 42),
            "lldp[0]: 'holdtime' is not a key of LLDP (");
}

TEST(OtgLldp, AHoldTimeShorterThanTheIntervalIsAWarning) {
  Json json = configuration();
  json["lldp"][1]["hold_time"] = 30;
  EXPECT_EQ(warnings_of(json),
            (std::vector<std::string>{"lldp[1].hold_time: neighbours forget it after 30 s, and "
                                      "hear of it every 30 s"}));
}

} // namespace
} // namespace xr::test::otg_lldp_test
