// SPDX-License-Identifier: Apache-2.0
// PATCH /config... of an OTG server in virtual time: flows that are appended to ports of RoCEv2
// alone, and what is refused leaves all as it was. Pings.
#include "unit/virtual_server.h"

namespace xr::generator::generator_changes_test {
namespace {

const Json kUdp = Json::array(
    {{{"ethernet", Json::object()}}, {{"ipv4", Json::object()}}, {{"udp", Json::object()}}});

Json plain_flow(const char *name, const char *tx, const char *rx) {
  return {{"name", name},
          {"tx_rx", {{"port", {{"tx_name", tx}, {"rx_names", {rx}}}}}},
          {"packet", kUdp},
          {"rate", {{"pps", 1000}}},
          {"metrics", {{"enable", true}, {"loss", true}}}};
}

class Changes : public VirtualServer {
protected:
  http::Answer ask(const char *method, const char *path, const Json &body = Json()) {
    return generator_.answer({method, path, body.is_null() ? "" : body.dump()});
  }
  void right(const http::Answer &answer) { ASSERT_EQ(answer.status, 200) << answer.body; }
  void refused(const http::Answer &answer, const std::string &words) {
    EXPECT_EQ(answer.status, 400);
    EXPECT_NE(answer.body.find(words), std::string::npos) << answer.body;
  }
  http::Answer append(const std::vector<Json> &flows) {
    return ask("PATCH", "/config/append", Json::array({{{"choice", "flows"}, {"flows", flows}}}));
  }
  void transmit(const char *state) {
    right(ask("POST", "/control/state",
              {{"choice", "traffic"}, {"traffic", {{"flow_transmit", {{"state", state}}}}}}));
  }
  void run(uint64_t ms) { net_.run_until(net_.now + ms * 1'000'000); }
  std::map<std::string, Json> rows(const char *choice, const char *list, const char *name) {
    const auto answer =
        ask("POST", "/monitor/metrics", {{"choice", choice}, {choice, Json::object()}});
    EXPECT_EQ(answer.status, 200) << answer.body;
    const Json body = Json::parse(answer.body);
    std::map<std::string, Json> all;
    for (const Json &row : body[list])
      all[row[name]] = row;
    return all;
  }
  std::map<std::string, Json> flows() { return rows("flow", "flow_metrics", "name"); }
  std::map<std::string, Json> qps() {
    return rows("rocev2_flow", "rocev2_flow_per_qp_metrics", "flow_name");
  }
  // RoCEv2 alone; `both_ways`: the right sends, too.
  void configure(bool both_ways = true) {
    Json json = configuration();
    json.erase("flows");
    json.erase("captures");
    if (!both_ways)
      json["stateful_flows"]["rocev2"][0]["tx_ports"].erase(1);
    right(ask("POST", "/config", json));
  }
};

TEST_F(Changes, FlowsAreAppendedToPortsOfRoceAlone) {
  configure();
  right(append({plain_flow("there", "left", "right"), plain_flow("back", "right", "left")}));
  right(append({plain_flow("more", "left", "right")}));
  transmit("start");
  run(100);
  transmit("stop");
  run(10);
  const auto found = flows();
  ASSERT_EQ(found.size(), 3U);
  for (const auto &[name, row] : found) {
    EXPECT_NEAR(row["frames_tx"].get<double>(), 105, 10) << row;
    EXPECT_EQ(row["frames_rx"], row["frames_tx"]) << row;
  }
  for (const auto &[name, row] : qps())
    EXPECT_GT(row["data_frames_rx"], 0) << row;
}

// A port that sends, or is sent to, keeps what it knows of its connections.
TEST_F(Changes, APortInUseIsNotOpenedOnceMore) {
  for (const bool both_ways : {true, false}) {
    configure(both_ways);
    const Json before = Json::parse(ask("GET", "/config").body);
    transmit("start");
    run(50);
    for (const auto &[name, rx] : {std::pair{"there", "right"}, {"back", "left"}})
      refused(append({plain_flow(name, rx[0] == 'r' ? "left" : "right", rx)}),
              std::string(rx) + " takes no frames but RoCE");
    EXPECT_EQ(Json::parse(ask("GET", "/config").body), before);
    EXPECT_TRUE(flows().empty());
    run(50);
    for (const auto &[name, row] : qps()) {
      EXPECT_GT(row["data_frames_rx"], 0) << row;
      EXPECT_EQ(row["message_fail"], 0) << row;
    }
    transmit("stop");
    run(100);
    right(append({plain_flow("back", "right", "left")}));
    transmit("start");
    run(50);
    EXPECT_GT(flows().at("back")["frames_rx"], 40);
    for (const auto &[name, row] : qps())
      EXPECT_EQ(row["message_fail"], 0) << row;
  }
}

TEST_F(Changes, WhatIsRefusedLeavesNothing) {
  Json json = configuration();
  json.erase("layer1"); // the rate of the line is not known
  json.erase("stateful_flows");
  json.erase("flows");
  right(ask("POST", "/config", json));
  const Json before = Json::parse(ask("GET", "/config").body);
  Json percent = plain_flow("p", "left", "right");
  percent["rate"] = {{"percentage", 10}};
  refused(append({plain_flow("there", "left", "right"), percent}), "flow 'p': a percentage");
  refused(
      ask("PATCH", "/config/delete", Json::array({{{"choice", "flows"}, {"flows", {"there"}}}})),
      "there is no flow 'there'");
  refused(ask("PATCH", "/config",
              {{"choice", "flows"},
               {"flows", {{"property_names", {"rate"}}, {"flows", {{{"name", "there"}}}}}}}),
          "there is no flow");
  EXPECT_EQ(Json::parse(ask("GET", "/config").body), before);
  Json there = plain_flow("there", "left", "right");
  there["size"] = nullptr;
  right(append({there}));
  EXPECT_FALSE(Json::parse(ask("GET", "/config").body)["flows"][0]["size"].is_null());
  transmit("start");
  run(20);
  EXPECT_GT(flows().at("there")["frames_rx"], 10);
}

TEST_F(Changes, APortThatCannotBeOpenedOnceMoreEndsAll) {
  configure();
  opening_ = [](const std::string &ifname) {
    return ifname == "right0" ? Status(Error{"no such interface"}) : Status();
  };
  refused(append({plain_flow("there", "left", "right")}),
          "right: no such interface; the configuration is gone");
  EXPECT_EQ(Json::parse(ask("GET", "/config").body), Json::object());
  opening_ = [](const std::string &) { return Status(); };
  configure();
  right(append({plain_flow("there", "left", "right")}));
}

TEST_F(Changes, PingsHaveAnEnd) {
  configure();
  Json requests = Json::array();
  for (int i = 0; i < 1001; i++)
    requests.push_back({{"src_name", "I0"}, {"dst_ip", "192.0.2.2"}});
  const auto ping = [&] {
    return ask("POST", "/control/action",
               {{"choice", "protocol"},
                {"protocol",
                 {{"choice", "ipv4"},
                  {"ipv4", {{"choice", "ping"}, {"ping", {{"requests", requests}}}}}}}});
  };
  refused(ping(), "at most 1000 at once, not 1001");
}

} // namespace
} // namespace xr::generator::generator_changes_test
