// SPDX-License-Identifier: Apache-2.0
// lags[]: ports that are one link, and what cannot be on them.
#include <algorithm>

#include <fmt/format.h>

#include "otg/reading.h"

namespace xr::otg {

namespace {

constexpr uint64_t kMostLagPorts = 32, kMostOf16 = 65535;
constexpr uint64_t kOrdinaryMtu = 1500; // the model's default

void read_lag_ethernet(Object &object, LagPort &made, Reading &reading) {
  const std::string name = object.needed_text("name");
  reading.ethernets.add(object, "name", name, Names::kBroken);
  made.mac = object.mac("mac");
  if (made.mac && (((*made.mac)[0] & 1) || *made.mac == packet::Mac{})) {
    object.error("mac",
                 {fmt::format("{} is not the address of an interface", shown(*object.value("mac"))),
                  "like 02:00:00:00:00:01"});
    made.mac.reset();
  }
  if (object.integer("mtu", 0, kMostOf16, kOrdinaryMtu) != kOrdinaryMtu)
    object.warning("mtu", "it has no effect here: the interface's own decides");
  object.unused("vlans", "those of devices are used");
}

void read_lag_lacp(Object &object, LagPort &made) {
  made.number = static_cast<uint16_t>(object.integer("actor_port_number", 0, kMostOf16, 0));
  made.priority = static_cast<uint16_t>(object.integer("actor_port_priority", 0, kMostOf16, 1));
  made.active = object.word("actor_activity", {"passive", "active"}, 1) == 1;
  made.interval_s = object.integer("lacpdu_periodic_time_interval", 0, kMostOf16, 0);
  made.timeout_s = object.integer("lacpdu_timeout", 0, kMostOf16, 0);
}

class LagReader {
public:
  explicit LagReader(Reading &reading) : reading_(reading) {}

  void read(Object &object) {
    Lag made;
    made.name = object.needed_text("name");
    if (!made.name.empty() && reading_.ports.knows(made.name))
      object.error("name", {fmt::format("there is a port {} too", shown(Json(made.name))),
                            "each has a name of its own"});
    object.object(
        "protocol", "the protocol of a LAG", [&](Object &each) { protocol(each, made); }, true);
    made.min_links = object.integer("min_links", 0, kMostLagPorts, 1);
    const size_t errors = object.findings().count();
    object.each("ports", "a port of a LAG", [&](Object &each) { port(each, made); });
    if (made.ports.empty() && object.findings().count() == errors)
      object.error("ports", {"a LAG needs at least one", "[{\"port_name\": \"...\"}]"});
    if (made.ports.size() > kMostLagPorts)
      object.error("ports", {fmt::format("there are {}", made.ports.size()),
                             fmt::format("at most {}", kMostLagPorts)});
    else if (made.min_links > made.ports.size() && !made.ports.empty())
      object.warning("min_links", fmt::format("{} of {} ports: the LAG is always down",
                                              made.min_links, made.ports.size()));
    const bool kept = !made.ports.empty();
    reading_.lags.add(object, "name", made.name,
                      kept ? reading_.config.lags.size() : Names::kBroken);
    if (!kept)
      return;
    for (const Lag &other : reading_.config.lags)
      if (is_same_to_others(made, other))
        object.warning("protocol.lacp.actor_key",
                       fmt::format("LAG {} has this key in the same system: others take the ports "
                                   "of both for those of one LAG",
                                   shown(Json(other.name))));
    reading_.config.lags.push_back(std::move(made));
  }

private:
  // Where the system is known.
  static bool is_same_to_others(const Lag &a, const Lag &b) {
    const auto system = [](const Lag &lag) {
      return lag.system == packet::Mac{} ? lag.ports.front().mac : lag.system;
    };
    return a.lacp && b.lacp && system(a) && system(a) == system(b) && a.key == b.key &&
           a.system_priority == b.system_priority;
  }

  static void protocol(Object &object, Lag &made) {
    made.lacp = object.choice({"lacp", "static"}, 0) == 0;
    if (!made.lacp) {
      object.object("static", "static", [](Object &fixed) {
        if (fixed.integer("lag_id", 0, kMostOf16, 0))
          fixed.warning("lag_id", "it has no effect here: ports are named");
      });
      return;
    }
    object.object(
        "lacp", "lacp",
        [&](Object &lacp) {
          if (const auto system = lacp.mac("actor_system_id"))
            made.system = *system;
          lacp.set_default("actor_system_id", "00:00:00:00:00:00");
          if (made.system[0] & 1)
            lacp.error("actor_system_id",
                       {"it is the address of a group", "like 02:00:00:00:00:01"});
          made.system_priority =
              static_cast<uint16_t>(lacp.integer("actor_system_priority", 0, kMostOf16, 0));
          made.key = static_cast<uint16_t>(lacp.integer("actor_key", 0, kMostOf16, 0));
        },
        true);
  }

  void port(Object &object, Lag &lag) {
    LagPort made;
    const auto index = reading_.ports.refer(object, "port_name");
    if (!object.has("ethernet"))
      object.error("ethernet", {"a port of a LAG needs it", "{\"name\": \"...\"}"});
    object.object("ethernet", "an ethernet",
                  [&](Object &each) { read_lag_ethernet(each, made, reading_); });
    if (lag.lacp)
      object.object(
          "lacp", "lacp", [&](Object &each) { read_lag_lacp(each, made); }, true);
    else
      object.unused("lacp", "the LAG's protocol is static");
    object.unsupported("macsec", "ethernet, lacp");
    if (!index)
      return;
    made.port = *index;
    const auto has_it = [&](const Lag &each) {
      return std::ranges::any_of(each.ports, [&](const LagPort &p) { return p.port == *index; });
    };
    if (has_it(lag) || std::ranges::any_of(reading_.config.lags, has_it))
      object.error("port_name", {fmt::format("port {} is in a LAG already",
                                             shown(Json(reading_.config.ports[*index].name))),
                                 "a port is in one LAG, once"});
    const auto number = [](const LagPort &each, size_t place) {
      return each.number ? each.number : place + 1;
    };
    for (size_t i = 0; lag.lacp && i < lag.ports.size(); i++)
      if (number(lag.ports[i], i) == number(made, lag.ports.size())) {
        object.error("lacp.actor_port_number",
                     {fmt::format("{} is the number of port {} too", number(lag.ports[i], i),
                                  shown(Json(reading_.config.ports[lag.ports[i].port].name))),
                      "each has its own; 0 is its place in the LAG, from 1"});
        break;
      }
    lag.ports.push_back(made);
  }

  Reading &reading_;
};

} // namespace

std::vector<size_t> ports_of(const Config &config, const Ethernet &ethernet) {
  return ethernet.lag ? ports_of(config.lags[*ethernet.lag]) : std::vector<size_t>{ethernet.port};
}

std::vector<size_t> ports_of(const Lag &lag) {
  std::vector<size_t> all;
  for (const LagPort &each : lag.ports)
    all.push_back(each.port);
  return all;
}

const Lag *lag_of_port(const Config &config, size_t port) {
  for (const Lag &lag : config.lags)
    if (std::ranges::any_of(lag.ports, [&](const LagPort &each) { return each.port == port; }))
      return &lag;
  return nullptr;
}

void read_lags(Object &root, Reading &reading) {
  LagReader reader(reading);
  root.each("lags", "a LAG", [&](Object &lag) { reader.read(lag); });
}

// A QP sends and expects all its packets at one port.
void check_lag_peers(const Reading &reading, Findings &findings) {
  const Config &config = reading.config;
  const auto wide_lag = [&](size_t interface) -> const Lag * {
    const auto &lag = config.ethernets[config.interfaces[interface].ethernet].lag;
    return lag && config.lags[*lag].ports.size() > 1 ? &config.lags[*lag] : nullptr;
  };
  for (const Peer &peer : config.peers) {
    const Lag *lag = wide_lag(peer.interface);
    for (size_t i = 0; !lag && i < config.interfaces.size(); i++)
      if (peer.destination != Address{} && config.interfaces[i].address == peer.destination)
        lag = wide_lag(i);
    if (lag)
      findings.error("devices", {fmt::format("peer {}: its packets would arrive at any of the {} "
                                             "ports of LAG {}, and a QP is of one",
                                             shown(Json(peer.name)), lag->ports.size(),
                                             shown(Json(lag->name))),
                                 "RoCEv2 over a LAG of one port, or connection.port_name"});
  }
}

} // namespace xr::otg
