// SPDX-License-Identifier: Apache-2.0
// POST /control/action: ping.
#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "generator/generator.h"
#include "parse/address.h"
#include "parse/words.h"

namespace xr::generator {

using otg::Object;

namespace {

constexpr size_t kMostPings = 1000; // of an action

}

http::Answer Generator::act(const std::string &body) {
  if (!setup_)
    return failure(400, {"there is no configuration", "POST /config"});
  Findings findings;
  Json json = parsed(body, findings, "{\"choice\": \"protocol\", ...}");
  Object object(json, findings, "an action");
  (void)object.choice({"protocol", "port"}, 0);
  object.unsupported("port", "protocol, with ipv4 or ipv6: ping");
  Json made;
  object.object("protocol", "protocol", [&](Object &protocol) {
    const std::vector<std::string_view> families = {"ipv4", "ipv6", "bgp", "isis"};
    const size_t family = protocol.choice(families, 0);
    for (const char *other : {"bgp", "isis"})
      protocol.unsupported(other, "ipv4 or ipv6: ping");
    if (family > 1) {
      protocol.error(
          "choice", {fmt::format("'{}' is not supported", families[family]), "ipv4 or ipv6: ping"});
      return;
    }
    const char *name = families[family].data();
    protocol.object(name, name, [&](Object &ip) {
      (void)ip.choice({"ping"}, 0);
      ip.object("ping", "ping", [&](Object &given) {
        Json responses = ping(given, family == 0);
        made = {{"choice", "protocol"},
                {"protocol",
                 {{"choice", name},
                  {name, {{"choice", "ping"}, {"ping", {{"responses", std::move(responses)}}}}}}}};
      });
    });
  });
  if (made.is_null() && findings.ok())
    object.error("protocol", {"only a ping is supported", "protocol, with ipv4 or ipv6: ping"});
  object.done();
  if (!findings.ok())
    return failures(400, findings.all_errors());
  return generator::answer({{"response", std::move(made)}, {"warnings", findings.all_warnings()}});
}

// The first interface of a name, or of the device of that name.
std::optional<size_t> Generator::interface_of(const std::string &name, bool ipv4) const {
  const otg::Config &config = setup_->config;
  for (const bool device : {false, true})
    for (size_t i = 0; i < config.interfaces.size(); i++)
      if (const otg::Interface &each = config.interfaces[i];
          each.ipv4 == ipv4 &&
          (device ? config.ethernets[each.ethernet].device : each.name) == name)
        return i;
  return {};
}

// The port by which an Ethernet sends: of a LAG the first that is up.
size_t Generator::sending_port(const otg::Ethernet &ethernet) const {
  return ethernet.lag ? setup_->lags->first_up(*ethernet.lag).value_or(ethernet.port)
                      : ethernet.port;
}

Json Generator::ping(Object &given, bool ipv4) {
  const otg::Config &config = setup_->config;
  std::vector<std::string_view> known;
  for (const otg::Interface &each : config.interfaces)
    if (each.ipv4 == ipv4)
      known.emplace_back(each.name);
  struct Asked {
    std::string src_name;
    Address to{};
    size_t interface = 0, port = 0;
    bool answered = false;
  };
  std::vector<Asked> asked;
  given.each("requests", "a request", [&](Object &request) {
    Asked one;
    one.src_name = request.needed_text("src_name");
    one.to = request.needed_address("dst_ip", ipv4);
    const auto found = interface_of(one.src_name, ipv4);
    if (!found && !one.src_name.empty())
      request.error("src_name", {fmt::format("there is no {} interface '{}'",
                                             ipv4 ? "IPv4" : "IPv6", one.src_name),
                                 parse::hint_from(one.src_name, known)});
    one.interface = found.value_or(0);
    if (found) {
      const otg::Ethernet &own = config.ethernets[config.interfaces[*found].ethernet];
      one.port = sending_port(own);
      const Unit &unit = *setup_->units[one.port];
      if (unit.is_hosts(config.interfaces[*found].address))
        request.error(
            "src_name",
            {"its address is the host's, which gets the answer",
             fmt::format("`{}ping -I {} {}`",
                         unit.netns().empty() ? "" : fmt::format("ip netns exec {} ", unit.netns()),
                         unit.ifname(), parse::address_text(one.to))});
    }
    asked.push_back(one);
  });
  if (asked.size() > kMostPings)
    given.error("requests", {fmt::format("at most {} at once, not {}", kMostPings, asked.size()),
                             "several actions"});
  if (asked.empty() && given.findings().ok())
    given.error("requests", {"it needs at least one", "[{\"src_name\": ..., \"dst_ip\": ...}]"});
  if (!given.findings().ok())
    return {};
  std::vector<std::thread> threads; // as one that is not there takes a while
  for (size_t port = 0; port < setup_->units.size(); port++) {
    std::vector<Asked *> own;
    for (Asked &one : asked)
      if (one.port == port)
        own.push_back(&one);
    if (own.empty())
      continue;
    std::vector<Unit *> beside;
    if (const otg::Lag *lag = otg::lag_of_port(config, port))
      for (const size_t other : otg::ports_of(*lag))
        if (other != port)
          beside.push_back(setup_->units[other].get());
    threads.emplace_back([this, port, own = std::move(own), beside = std::move(beside)] {
      std::vector<std::pair<size_t, Address>> pairs;
      for (const Asked *one : own)
        pairs.emplace_back(one->interface, one->to);
      const std::vector<bool> answered = setup_->units[port]->ping(pairs, beside);
      for (size_t i = 0; i < own.size(); i++)
        own[i]->answered = answered[i];
    });
  }
  for (std::thread &thread : threads)
    thread.join();
  Json rows = Json::array();
  for (const Asked &one : asked)
    rows.push_back({{"src_name", one.src_name},
                    {"dst_ip", parse::address_text(one.to)},
                    {"result", one.answered ? "succeeded" : "failed"}});
  return rows;
}

} // namespace xr::generator
