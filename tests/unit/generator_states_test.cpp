// SPDX-License-Identifier: Apache-2.0
// The OTG server with ports in virtual time: control calls in every order, against a model of the
// states of flows.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "unit/virtual_server.h"

namespace xr::generator::generator_states_test {
namespace {

const std::vector<std::string> kStateful = {"Q00", "Q01", "Q10", "Q11"};
const std::vector<std::string> kPlain = {"there", "back", "few"};

// What a flow is by the calls so far.
enum class Is { Stopped, Started, Paused };
struct Model {
  std::map<std::string, Is> flows;
  std::set<int> down;    // peers
  bool protocols = true; // auto_start
  bool configured = false;

  Model() {
    for (const auto *names : {&kStateful, &kPlain})
      for (const std::string &name : *names)
        flows[name] = Is::Stopped;
  }
  static bool stateful(const std::string &name) { return name[0] == 'Q'; }
  static int peer(const std::string &name) { return name[1] - '0'; }
};

class States : public VirtualServer {
protected:
  const std::string configuration_ = configuration().dump();
  std::mt19937 random_;
  Model model_;
  std::string calls_; // of this sequence

  size_t below(size_t count) { return random_() % count; }
  http::Answer ask(const char *path, const Json &body) {
    calls_ += fmt::format("\n  {} {}", path, body.dump());
    return generator_.answer({"POST", path, body.dump()});
  }
  // 200, or 400 with these words.
  void expect(const http::Answer &answer, const std::string &words) {
    if (words.empty()) {
      ASSERT_EQ(answer.status, 200) << answer.body << calls_;
    } else {
      ASSERT_EQ(answer.status, 400) << words << calls_;
      ASSERT_NE(answer.body.find(words), std::string::npos) << answer.body << calls_;
    }
  }

  void configure() {
    calls_ += "\n  /config";
    expect(generator_.answer({"POST", "/config", configuration_}), "");
    model_ = {};
    model_.configured = true;
  }

  std::vector<std::string> names() {
    std::vector<std::string> chosen;
    if (below(3) == 0)
      return chosen; // all
    for (const auto &[name, is] : model_.flows)
      if (below(3) == 0)
        chosen.push_back(name);
    return chosen;
  }
  void transmit() {
    const auto chosen = names();
    const size_t what = below(4);
    const char *kWords[] = {"start", "stop", "pause", "resume"};
    const auto answer =
        ask("/control/state",
            {{"choice", "traffic"},
             {"traffic",
              {{"choice", "flow_transmit"},
               {"flow_transmit", {{"flow_names", chosen}, {"state", kWords[what]}}}}}});
    std::vector<std::string> which = chosen;
    if (chosen.empty())
      for (const auto &[name, is] : model_.flows)
        which.push_back(name);
    if (what == 0) {
      model_.protocols = true; // a start needs neighbours
      for (const std::string &name : which)
        if (Model::stateful(name) && model_.flows[name] == Is::Stopped &&
            model_.down.contains(Model::peer(name)))
          return expect(answer, "is down");
    }
    expect(answer, "");
    for (const std::string &name : which) {
      Is &is = model_.flows[name];
      if (what == 0)
        is = is == Is::Stopped ? Is::Started : is;
      else if (what == 1)
        is = Is::Stopped;
      else if (is == (what == 2 ? Is::Started : Is::Paused))
        is = what == 2 ? Is::Paused : Is::Started;
    }
  }
  void protocols() {
    const bool start = below(2);
    expect(ask("/control/state",
               {{"choice", "protocol"},
                {"protocol", {{"choice", "all"}, {"all", {{"state", start ? "start" : "stop"}}}}}}),
           "");
    model_.protocols = start;
    if (!start)
      for (auto &[name, is] : model_.flows)
        if (Model::stateful(name))
          is = Is::Stopped;
  }
  void peers() {
    const bool up = below(2), all = below(2);
    const int one = static_cast<int>(below(2));
    Json list = Json::array();
    if (!all)
      list.push_back("P" + std::to_string(one));
    expect(
        ask("/control/state",
            {{"choice", "protocol"},
             {"protocol",
              {{"rocev2", {{"peers", {{"peer_names", list}, {"state", up ? "up" : "down"}}}}}}}}),
        "");
    for (int peer = 0; peer < 2; peer++)
      if (all || peer == one) {
        if (up)
          model_.down.erase(peer);
        else
          model_.down.insert(peer);
      }
    for (auto &[name, is] : model_.flows)
      if (Model::stateful(name) && model_.down.contains(Model::peer(name)))
        is = Is::Stopped;
  }
  void captures() {
    const bool start = below(2);
    expect(ask("/control/state",
               {{"choice", "port"},
                {"port",
                 {{"choice", "capture"}, {"capture", {{"state", start ? "start" : "stop"}}}}}}),
           "");
    if (below(2))
      (void)ask("/monitor/capture", {{"port_name", "right"}});
  }
  void wrong() {
    expect(ask("/control/state",
               {{"choice", "traffic"},
                {"traffic", {{"flow_transmit", {{"flow_names", {"nobody"}}, {"state", "stop"}}}}}}),
           "there is no flow 'nobody'");
    expect(
        ask("/control/state", {{"choice", "protocol"},
                               {"protocol", {{"rocev2", {{"peers", {{"peer_names", {"D0x"}}}}}}}}}),
        "there is no peer 'D0x'");
  }

  Json metrics(const char *choice, const char *list) {
    const auto answer = ask("/monitor/metrics", {{"choice", choice}, {choice, Json::object()}});
    EXPECT_EQ(answer.status, 200) << answer.body << calls_;
    return Json::parse(answer.body)[list];
  }
  // The states that clients see, and that no more arrived than was sent.
  void check() {
    std::map<std::string, bool> sends; // ports
    for (const Json &row : metrics("flow", "flow_metrics")) {
      const std::string name = row["name"], transmit = row["transmit"];
      const char *kWords[] = {"stopped", "started", "paused"};
      if (name != "few") { // which may have ended before a call
        ASSERT_EQ(transmit, kWords[static_cast<int>(model_.flows[name])]) << name << calls_;
      }
      ASSERT_LE(row["frames_rx"], row["frames_tx"]) << name << calls_;
      if (transmit == "started")
        sends[row["port_tx"]] = true;
    }
    const Json qps = metrics("rocev2_flow", "rocev2_flow_per_qp_metrics");
    ASSERT_EQ(qps.size(), kStateful.size());
    for (const Json &row : qps) {
      ASSERT_LE(row["data_frames_rx"], row["data_frames_tx"]) << row << calls_;
      ASSERT_EQ(row["message_fail"], 0) << row << calls_;
      if (model_.flows[row["flow_name"]] == Is::Started)
        sends[row["port_tx"]] = true;
    }
    for (const Json &row : metrics("port", "port_metrics"))
      ASSERT_EQ(row["transmit"], sends[row["name"]] ? "started" : "stopped") << row << calls_;
    for (const Json &row : metrics("rocev2_ipv4", "rocev2_ipv4_per_peer_metrics")) {
      const bool up =
          model_.protocols && !model_.down.contains(row["name"].get<std::string>()[1] - '0');
      ASSERT_EQ(row["qp_up"], up ? 2 : 0) << row << calls_;
    }
  }

  void sequence(unsigned seed) {
    random_.seed(seed);
    calls_ = fmt::format("\nsequence {}:", seed);
    configure();
    for (size_t i = 4 + below(8); i > 0 && !HasFatalFailure(); i--) {
      switch (below(9)) {
      case 0:
      case 1:
      case 2:
      case 3:
        transmit();
        break;
      case 4:
      case 5:
        protocols();
        break;
      case 6:
        peers();
        break;
      case 7:
        captures();
        break;
      default:
        wrong();
      }
      if (below(2))
        net_.run_until(net_.now + 20'000'000 * below(5));
      if (below(3) == 0 && !HasFatalFailure())
        check();
    }
    if (!HasFatalFailure())
      check();
  }
};

size_t sequences() {
  const char *given = std::getenv("XR_SEQUENCES");
  return given ? std::strtoul(given, nullptr, 10) : 1'000; // 10,000 were tried
}

TEST_F(States, AnyOrderOfControlCallsIsAnswered) {
  for (unsigned seed = 0; seed < sequences() && !HasFatalFailure(); seed++)
    sequence(seed);
}

// Clients that do not wait for each other, while time passes and the server samples. Also run under
// ThreadSanitizer (tools/test thread).
TEST_F(States, SeveralClientsAtOnce) {
  configure();
  const std::pair<const char *, Json> requests[] = {
      {"/control/state",
       {{"choice", "traffic"}, {"traffic", {{"flow_transmit", {{"state", "start"}}}}}}},
      {"/control/state",
       {{"choice", "traffic"}, {"traffic", {{"flow_transmit", {{"state", "pause"}}}}}}},
      {"/monitor/metrics", {{"choice", "flow"}, {"flow", Json::object()}}},
      {"/monitor/metrics", {{"choice", "port"}, {"port", Json::object()}}},
      {"/control/state",
       {{"choice", "protocol"}, {"protocol", {{"choice", "all"}, {"all", {{"state", "start"}}}}}}},
      {"/monitor/states", {{"choice", "ipv4_neighbors"}}}};
  std::atomic<bool> asked = false;
  std::atomic<int> answered = 0;
  constexpr int kClients = 3, kRequests = 60;
  std::vector<std::thread> clients;
  for (int client = 0; client < kClients; client++)
    clients.emplace_back([&, client] {
      for (int i = 0; i < kRequests; i++) {
        const auto &[path, body] = requests[static_cast<size_t>(client + i) % std::size(requests)];
        answered += generator_.answer({"POST", path, body.dump()}).status == 200;
        if (client == 0 && i % 20 == 19)
          answered += generator_.answer({"POST", "/config", configuration_}).status == 200;
      }
    });
  std::thread time([&] {
    for (uint64_t at = 1; !asked; at++) {
      net_.run_until(1'000'000'000 + at * 5'000'000);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  for (std::thread &client : clients)
    client.join();
  asked = true;
  time.join();
  EXPECT_EQ(answered, kClients * kRequests + kRequests / 20);
}

} // namespace
} // namespace xr::generator::generator_states_test
