// SPDX-License-Identifier: Apache-2.0
// stateful_flows: which QP sends what, and at which share of the line.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "otg/reading.h"
#include "otg/words.h"

namespace xr::otg {

namespace {

constexpr uint64_t kMostMessage = 1ULL << 31; // IBTA 9.4.1

class FlowReader {
public:
  explicit FlowReader(Reading &reading) : reading_(reading) {}

  void port(Object &object) {
    const auto port = reading_.ports.refer(object, "port_name");
    object.object("transmit_type", "transmit_type", [&](Object &type) {
      (void)type.choice({"target_line_rate"}, 0);
      type.object(
          "target_line_rate", "target_line_rate",
          [&](Object &rate) {
            const auto percent = rate.integer("value", 0, 100, 98);
            check_share(rate, port, percent);
            rate.each("flows", "a flow",
                      [&](Object &each) { flow(each, port, static_cast<double>(percent)); });
          },
          true);
    });
  }

private:
  // A port has one share for all of its flows.
  void check_share(const Object &rate, std::optional<size_t> port, uint64_t percent) {
    if (!port)
      return;
    if (const auto [at, fresh] = shares_.emplace(*port, percent); !fresh && at->second != percent)
      rate.error("value", {fmt::format("{} is not the {} that port {} has before", percent,
                                       at->second, shown(Json(reading_.config.ports[*port].name))),
                           "one target_line_rate a port"});
  }

  void flow(Object &object, std::optional<size_t> port, double percent) {
    StatefulFlow made;
    made.name = object.needed_text("name");
    reading_.flows.add(object, "name", made.name, reading_.config.flows.size());
    const auto qp = reading_.qps.refer(object, "tx_endpoint");
    made.rx = object.text("rx_endpoint");
    if (!made.rx.empty() && !reading_.qps.knows(made.rx) && !reading_.ports.knows(made.rx))
      object.error("rx_endpoint",
                   {fmt::format("{} is neither a QP nor a port", shown(Json(made.rx))),
                    "a qp_name of the devices, or a name of ports"});
    made.verb = verb(object, made);
    made.bytes = bytes(object);
    made.percent = percent;
    if (!qp || !port)
      return;
    made.qp = *qp;
    made.port = *port;
    check_sender(object, made);
    reading_.config.flows.push_back(std::move(made));
  }

  void check_sender(const Object &object, StatefulFlow &made) {
    const Config &config = reading_.config;
    const std::string name = shown(Json(config.qps[made.qp].name));
    if (const size_t own = reading_.port_of_qp(made.qp); own != made.port) {
      object.warning("tx_endpoint",
                     fmt::format("QP {} is of port {}, not of {}: the flow is sent there", name,
                                 shown(Json(config.ports[own].name)),
                                 shown(Json(config.ports[made.port].name))));
      made.port = own;
    }
    const Peer &peer = config.peers[config.qps[made.qp].peer];
    // SONiC gives a port that only receives flows to 0.0.0.0.
    if (peer.destination == Address{}) {
      made.percent = 0;
      object.warning("tx_endpoint", fmt::format("peer {} of QP {} has no destination: the flow "
                                                "sends nothing",
                                                shown(Json(peer.name)), name));
    }
    if (const auto [at, fresh] = senders_.emplace(made.qp, made.name); !fresh) {
      object.warning("tx_endpoint",
                     fmt::format("QP {} sends flow {} already: this flow has another QP like it",
                                 name, shown(Json(at->second))));
      made.qp = another(made.qp);
    }
  }

  // A QP of the same peer, with the next number that is free at its port.
  size_t another(size_t like) {
    Config &config = reading_.config;
    Qp made = config.qps[like];
    if (made.number != kQpNotSet)
      for (size_t i = 0; i < config.qps.size(); i++)
        if (reading_.port_of_qp(i) == reading_.port_of_qp(like))
          made.number = std::max(made.number, config.qps[i].number + 1);
    config.peers[made.peer].qps.push_back(config.qps.size());
    config.qps.push_back(std::move(made));
    reading_.qpn_paths.emplace_back();
    return config.qps.size() - 1;
  }

  static Verb verb(Object &object, StatefulFlow &flow) {
    size_t verb = 0;
    const auto immediate = [&flow](Object &data) {
      flow.immediate = static_cast<uint32_t>(data.hexadecimal("immediate_data", 8, 0));
      data.set_default("immediate_data", "00000000");
    };
    object.object(
        "rocev2_verb", "rocev2_verb",
        [&](Object &given) {
          const std::vector<std::string_view> verbs(std::begin(kVerbs), std::end(kVerbs));
          verb = given.choice(verbs, 0);
          if (verb == 1 || verb == 3)
            given.object(verbs[verb].data(), verbs[verb].data(), immediate, true);
        },
        true);
    return static_cast<Verb>(verb);
  }

  static uint64_t bytes(Object &object) {
    std::vector<std::string_view> units;
    for (const SizeUnit &unit : kSizeUnits)
      units.push_back(unit.word);
    const uint64_t size = object.integer("message_size", 0, kMostUnits, 1);
    const uint64_t bytes = size * kSizeUnits[object.word("message_size_unit", units, 2)].bytes;
    if (bytes > kMostMessage)
      object.error("message_size", {fmt::format("{} bytes are more than a message can have", bytes),
                                    fmt::format("up to {} bytes", kMostMessage)});
    return bytes;
  }

  Reading &reading_;
  std::map<size_t, uint64_t> shares_;     // of ports
  std::map<size_t, std::string> senders_; // flows of QPs
};

} // namespace

void read_stateful_flows(Object &root, Reading &reading) {
  FlowReader reader(reading);
  root.object("stateful_flows", "stateful_flows", [&](Object &flows) {
    (void)flows.choice({"rocev2"}, 0);
    flows.each("rocev2", "rocev2", [&](Object &group) {
      group.each("tx_ports", "a port that sends", [&](Object &port) { reader.port(port); });
    });
  });
}

} // namespace xr::otg
