// SPDX-License-Identifier: Apache-2.0
// POST /control/state.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counted.h"
#include "generator/generator.h"
#include "host/link.h"
#include "parse/words.h"

namespace xr::generator {

using otg::Object;

namespace {

// From a request to the moment at which flows start on all ports: each gets the time within some
// 20 ms.
constexpr uint64_t kStartNs = 40'000'000, kStartPerPortNs = 25'000'000;
constexpr uint64_t kSettleNs = 5'000'000; // until the first packets have left

// In the order of `state`'s words.
enum Transmit : size_t { kStart, kStop, kPause, kResume };

} // namespace

http::Answer Generator::set_state(const std::string &body) {
  if (!setup_)
    return failure(400, {"there is no configuration", "POST /config"});
  Findings findings;
  Json json = parsed(body, findings, "{\"choice\": \"traffic\", ...}");
  Object object(json, findings, "a control state");
  if (!object.has("choice") && !object.has("port") && !object.has("protocol") &&
      !object.has("traffic"))
    object.error("choice", {"a control state needs it", "port, protocol or traffic"});
  const size_t choice = object.choice({"port", "protocol", "traffic"}, 2);
  object.object("port", "port", [&](Object &port) {
    if (choice == 0)
      set_port(port);
  });
  object.object("protocol", "protocol", [&](Object &protocol) {
    if (choice == 1)
      set_protocol(protocol);
  });
  object.object("traffic", "traffic", [&](Object &traffic) {
    if (choice == 2)
      set_traffic(traffic, findings);
  });
  object.done();
  return findings.ok() ? success(findings.all_warnings()) : failures(400, findings.all_errors());
}

std::vector<size_t> Generator::choose_ports(const std::vector<std::string> &names,
                                            Object &object) const {
  std::vector<size_t> all;
  std::vector<std::string_view> known;
  for (const otg::Port &port : setup_->config.ports)
    known.emplace_back(port.name);
  for (size_t i = 0; names.empty() && i < known.size(); i++)
    all.push_back(i);
  for (const std::string &name : names) {
    const auto found = std::ranges::find(known, name);
    if (found == known.end())
      object.error("port_names",
                   {fmt::format("there is no port '{}'", name), parse::hint_from(name, known)});
    else
      all.push_back(static_cast<size_t>(found - known.begin()));
  }
  return all;
}

// Flows by their names, or all. A plain flow between several devices is several of one name. What
// sends nothing is in no place.
Generator::Chosen Generator::choose(const std::vector<std::string> &names, Object &object) const {
  Chosen chosen;
  chosen.places.resize(setup_->units.size());
  std::set<std::string_view> known;
  for (const otg::StatefulFlow &flow : setup_->config.flows)
    known.insert(flow.name);
  for (const otg::PlainFlow &flow : setup_->config.plain_flows)
    if (!flow.removed)
      known.insert(flow.name);
  const std::vector<std::string_view> all(known.begin(), known.end());
  std::set<std::string_view> wanted;
  for (const std::string &name : names)
    if (known.contains(name))
      wanted.insert(name);
    else
      object.error("flow_names",
                   {fmt::format("there is no flow '{}'", name), parse::hint_from(name, all)});
  const auto is_wanted = [&](const std::string &name) {
    return names.empty() || wanted.contains(name);
  };
  for (size_t port = 0; port < chosen.places.size(); port++) {
    const PortPlan &plan = setup_->plan.ports[port];
    for (size_t place = 0; place < plan.flows.size(); place++)
      if (is_wanted(setup_->config.flows[plan.flows[place]].name)) {
        chosen.places[port].flows.push_back(place);
        chosen.flows.push_back(plan.flows[place]);
      }
    for (size_t place = 0; place < plan.plain_flows.size(); place++)
      if (const otg::PlainFlow &flow = setup_->config.plain_flows[plan.plain_flows[place]];
          !flow.removed && !flow.tx_lag && is_wanted(flow.name)) {
        chosen.places[port].plain.push_back(place);
        chosen.plain.push_back(plan.plain_flows[place]);
      }
  }
  for (size_t i = 0; i < setup_->lags->flows(); i++)
    if (!setup_->lags->removed(i) && is_wanted(setup_->lags->name(i)))
      chosen.of_lags.push_back(i);
  return chosen;
}

void Generator::set_traffic(Object &object, Findings &findings) {
  const std::vector<std::string_view> words = {"start", "stop", "pause", "resume"};
  (void)object.choice({"flow_transmit"}, 0);
  object.object("flow_transmit", "flow_transmit", [&](Object &transmitted) {
    const auto names = transmitted.texts("flow_names");
    if (!transmitted.has("state"))
      transmitted.error("state", {"flow_transmit needs it", parse::hint_from("", words)});
    const size_t state = transmitted.word("state", words, kStop);
    const Chosen chosen = choose(names, transmitted);
    if (!findings.ok())
      return;
    if (state == kStart)
      return start_flows(chosen, transmitted);
    if (state == kStop)
      return change_flows(chosen, &Unit::stop, &Lags::stop);
    if (state == kPause)
      return change_flows(chosen, &Unit::pause, &Lags::pause);
    change_flows(chosen, &Unit::resume, &Lags::resume);
  });
}

void Generator::change_flows(const Chosen &chosen, void (Unit::*of_port)(const Unit::Places &),
                             void (Lags::*of_lag)(size_t)) {
  for (size_t i = 0; i < setup_->units.size(); i++)
    if (!chosen.places[i].empty())
      (setup_->units[i].get()->*of_port)(chosen.places[i]);
  for (const size_t flow : chosen.of_lags)
    (setup_->lags.get()->*of_lag)(flow);
}

// What is started stays as it is.
void Generator::leave_out_started(Chosen &chosen) {
  sample_all();
  chosen.flows.clear();
  chosen.plain.clear();
  for (size_t port = 0; port < chosen.places.size(); port++) {
    const Sample &now = setup_->units[port]->now();
    const PortPlan &plan = setup_->plan.ports[port];
    Unit::Places &places = chosen.places[port];
    std::erase_if(places.flows, [&](size_t place) {
      return place >= now.sent.size() || now.sent[place].state != station::FlowState::Stopped;
    });
    std::erase_if(places.plain, [&](size_t place) {
      return place >= now.plain_sent.size() ||
             now.plain_sent[place].state != requester::PlainState::Stopped;
    });
    for (const size_t place : places.flows)
      chosen.flows.push_back(plan.flows[place]);
    for (const size_t place : places.plain)
      chosen.plain.push_back(plan.plain_flows[place]);
  }
  std::erase_if(chosen.of_lags, [&](size_t flow) {
    return setup_->lags->state(flow) != requester::PlainState::Stopped;
  });
}

void Generator::start_flows(Chosen chosen, Object &object) {
  // A neighbour may have come up since.
  const bool missing =
      !unresolved().empty() ||
      std::ranges::any_of(setup_->units, [](const auto &unit) { return !unit->protocols(); });
  if (missing)
    for (const std::string &error : start_protocols().errors)
      object.error("flow_names", {error, ""});
  if (!object.findings().ok())
    return;
  leave_out_started(chosen);
  std::set<std::string> lost;
  for (const size_t flow : chosen.flows) {
    const size_t peer = setup_->config.qps[setup_->config.flows[flow].qp].peer;
    const otg::Peer &own = setup_->config.peers[peer];
    if (peers_down_[peer])
      lost.insert(fmt::format("flow '{}': its peer '{}' is down", setup_->config.flows[flow].name,
                              own.name));
    else if (!setup_->units[setup_->config.flows[flow].port]->mac_of(
                 next_hop(setup_->config, own.interface, own.destination)))
      lost.insert(fmt::format("flow '{}': no neighbour answers", setup_->config.flows[flow].name));
  }
  if (!lost.empty()) {
    for (const std::string &each : lost)
      object.error("flow_names", {each, "POST /monitor/states shows neighbours"});
    return;
  }
  const std::set<size_t> started(chosen.flows.begin(), chosen.flows.end());
  std::vector<bool> sends(setup_->units.size()); // by port
  std::vector<size_t> plain = chosen.plain;      // with those of LAGs
  for (const size_t flow : chosen.of_lags) {
    const auto own = setup_->lags->plain_flows(flow);
    plain.insert(plain.end(), own.begin(), own.end());
    for (const size_t each : own)
      sends[setup_->config.plain_flows[each].tx_port] = true;
  }
  size_t ports = 0;
  for (size_t i = 0; i < setup_->units.size(); i++) {
    std::vector<size_t> arriving;
    const auto &all = setup_->units[i]->arriving();
    for (size_t place = 0; place < all.size(); place++)
      if (started.contains(all[place]))
        arriving.push_back(place);
    if (!arriving.empty() || !plain.empty())
      setup_->units[i]->clear_arrived(arriving, plain);
    sends[i] = sends[i] || !chosen.places[i].empty();
    ports += sends[i];
  }
  const uint64_t at = options_.now() + kStartNs + kStartPerPortNs * ports;
  for (size_t i = 0; i < setup_->units.size(); i++)
    if (!chosen.places[i].empty())
      setup_->units[i]->start(chosen.places[i], at);
  setup_->lags->watch();
  for (const size_t flow : chosen.of_lags)
    setup_->lags->start(flow, at);
  // How far apart they were.
  options_.wait_until(at + kSettleNs);
  uint64_t first = UINT64_MAX, last = 0;
  for (size_t i = 0; i < setup_->units.size(); i++)
    if (sends[i])
      if (const auto [sent, due] = setup_->units[i]->started(); sent) {
        first = std::min(first, sent);
        last = std::max(last, sent);
      }
  const size_t flows = chosen.flows.size() + chosen.plain.size() + chosen.of_lags.size();
  if (last)
    options_.note(fmt::format("{} of {} began within {} us", counted(flows, "flow"),
                              counted(ports, "port"), (last - first) / 1000));
}

void Generator::set_protocol(Object &object) {
  // `rocev2` is in the model, and not among its choices.
  const std::vector<std::string_view> members = {"all",  "route",  "lacp",   "bgp",
                                                 "isis", "ospfv2", "ospfv3", "rocev2"};
  const size_t choice = object.choice(members, 0);
  constexpr size_t kLacp = 2;
  for (size_t i = 1; i + 1 < members.size(); i++)
    if (i != kLacp)
      object.unsupported(members[i].data(), "all, lacp or rocev2");
  object.object("lacp", "lacp", [&](Object &lacp) { set_lacp(lacp); });
  if (choice > 0 && choice != kLacp && choice + 1 < members.size() && object.findings().ok())
    object.error("choice",
                 {fmt::format("'{}' is not supported", members[choice]), "all, lacp or rocev2"});
  object.object("all", "all", [&](Object &all) {
    const size_t state = all.word("state", {"start", "stop"}, 0);
    if (!object.findings().ok())
      return;
    if (state)
      return stop_protocols();
    const Started started = start_protocols();
    for (const std::string &error : started.errors)
      all.error(nullptr, {error, ""});
    for (const std::string &warning : started.warnings)
      all.warning(nullptr, warning);
  });
  object.object("rocev2", "rocev2", [&](Object &rocev2) {
    (void)rocev2.choice({"peers"}, 0);
    rocev2.object("peers", "peers", [&](Object &peers) { set_peers(peers); });
  });
}

void Generator::set_peers(Object &object) {
  const auto names = object.texts("peer_names");
  const bool down = object.word("state", {"up", "down"}, 0) == 1;
  std::vector<std::string_view> known;
  for (const otg::Peer &peer : setup_->config.peers)
    known.emplace_back(peer.name);
  std::set<size_t> chosen;
  for (const std::string &name : names) {
    const auto found = std::ranges::find(known, name);
    if (found == known.end())
      object.error("peer_names",
                   {fmt::format("there is no peer '{}'", name), parse::hint_from(name, known)});
    else
      chosen.insert(static_cast<size_t>(found - known.begin()));
  }
  if (!object.findings().ok())
    return;
  for (size_t i = 0; i < known.size(); i++)
    if (names.empty() || chosen.contains(i))
      peers_down_[i] = down;
  for (size_t port = 0; port < setup_->units.size(); port++) {
    Unit::Places places;
    const auto &flows = setup_->plan.ports[port].flows;
    for (size_t place = 0; place < flows.size(); place++)
      if (peers_down_[setup_->config.qps[setup_->config.flows[flows[place]].qp].peer])
        places.flows.push_back(place);
    if (!places.empty())
      setup_->units[port]->stop(places);
  }
}

void Generator::set_port(Object &object) {
  const size_t choice = object.choice({"link", "capture"}, 0);
  object.object("capture", "capture", [&](Object &capture) {
    if (choice == 1)
      set_capture(capture);
  });
  object.object("link", "link", [&](Object &link) {
    if (choice == 0)
      set_link(link);
  });
}

void Generator::set_link(Object &object) {
  const auto ports = choose_ports(object.texts("port_names"), object);
  const bool down = object.word("state", {"up", "down"}, 0) == 1;
  if (!object.findings().ok())
    return;
  for (const size_t port : ports) {
    const Unit &unit = *setup_->units[port];
    const auto inside = host::enter_netns(unit.netns());
    const Status done = inside.ok() ? host::set_up(unit.ifname(), !down) : inside.error();
    if (!done)
      object.error("port_names", done.error());
  }
}

} // namespace xr::generator
