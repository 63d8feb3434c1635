// SPDX-License-Identifier: Apache-2.0
#include "importers/otg_file.h"

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "parse/value.h"
#include "parse/words.h"

namespace xr::importers {

namespace {

using experiment::YamlReader;
using Key = YamlReader::Key;

constexpr uint64_t kMostQp = 0xffffff; // OTG's model has 25 bits

class OtgReader {
public:
  explicit OtgReader(const experiment::SetValues &none) : reader_(none) {}

  Result<OtgFile> read(const YAML::Node &root) {
    std::vector<Key> keys = {
        {"ports", list("ports", [this](const YAML::Node &node) { return port(node); })},
        {"layer1", list("layer1", [this](const YAML::Node &node) { return layer1(node); })},
        {"devices", list("devices", [this](const YAML::Node &node) { return device(node); })},
        {"stateful_flows", [this](const YAML::Node &node) { return stateful(node); }},
        {"options", [this](const YAML::Node &node) { return options(node); }}};
    for (const char *other : {"lags", "flows"})
      keys.push_back({other, refused(other)});
    for (const char *other : {"captures", "events", "lldp", "egress_only_tracking"})
      keys.push_back({other, unused(other)});
    XR_TRY(reader_.map(root, "a key of OTG", keys));
    if (file_.flows.empty())
      return reader_.at(
          root, {"there is no flow of RoCEv2", "stateful_flows: {rocev2: [{tx_ports: [...]}]}"});
    return std::move(file_);
  }

private:
  YamlReader::Read refused(std::string key) {
    return [this, key = std::move(key)](const YAML::Node &node) -> Status {
      if (node.IsNull() || (!node.IsScalar() && node.size() == 0))
        return {};
      return reader_.in(node, key, {"only RoCEv2 is read: devices, stateful_flows, options", ""});
    };
  }
  YamlReader::Read list(std::string key, YamlReader::Read each) {
    return [this, key = std::move(key), each = std::move(each)](const YAML::Node &node) -> Status {
      if (!node.IsSequence())
        return reader_.in(node, key, {"it is not a list", {}});
      for (const YAML::Node &item : node)
        if (Status s = each(item); !s)
          return s;
      return {};
    };
  }
  YamlReader::Read unused(std::string key) {
    return [this, key = std::move(key)](const YAML::Node &node) {
      if (!node.IsNull() && (node.IsScalar() || node.size() > 0))
        file_.unused.push_back(key);
      return Status();
    };
  }
  // `choice` names a member that is there anyway.
  YamlReader::Read choice(std::vector<std::string_view> members) {
    return [this, members = std::move(members)](const YAML::Node &node) -> Status {
      const auto at = parse::choice(parse::scalar(node), members, "a choice");
      return at ? Status() : Status(reader_.in(node, "choice", at.error()));
    };
  }
  // Keys of OTG's model that have no effect on RoCEv2 here.
  void add_unused(std::vector<Key> &keys, const std::string &section,
                  std::initializer_list<const char *> names) {
    for (const char *name : names)
      keys.push_back({name, unused(fmt::format("{}.{}", section, name))});
  }
  YamlReader::Read any(std::string key, std::string &value) {
    return reader_.text(std::move(key), value);
  }

  Status port(const YAML::Node &node) {
    std::string name;
    if (Status s =
            reader_.map(node, "a key of ports",
                        {{"name", any("name", name)}, {"location", unused("ports.location")}});
        !s)
      return s;
    file_.port_names.push_back(name);
    return {};
  }

  // speed_100_gbps, speed_100_fd_mbps
  static uint64_t mbit_of(const std::string &speed) {
    for (const auto &[unit, mbit] : {std::pair{"_gbps", 1000}, {"_fd_mbps", 1}, {"_hd_mbps", 1}}) {
      if (!speed.starts_with("speed_") || !speed.ends_with(unit))
        continue;
      const std::string digits = speed.substr(6, speed.size() - 6 - std::string_view(unit).size());
      if (const auto number = parse::integer(digits, 1, 1600))
        return number.get() * static_cast<uint64_t>(mbit);
    }
    return 0;
  }

  // Priorities that are paused: pfc_class_N is N, and null switches it off.
  Status priorities(const YAML::Node &node, OtgFlowControl &control) {
    std::vector<std::string> names;
    for (unsigned i = 0; i < 8; i++)
      names.push_back(fmt::format("pfc_class_{}", i));
    std::vector<Key> keys = {{"pfc_delay", unused("flow_control.pfc_delay")}};
    for (unsigned i = 0; i < 8; i++)
      keys.push_back({names[i], [this, i, &names, &control](const YAML::Node &entry) -> Status {
                        if (entry.IsNull()) {
                          control.priorities &= ~(1U << i);
                          return {};
                        }
                        uint64_t queue = i;
                        const Status done = reader_.integer(names[i], 0, 7, queue)(entry);
                        if (queue != i)
                          file_.unused.push_back(fmt::format("{}: {}", names[i], queue));
                        return done;
                      }});
    return reader_.map(node, "a key of ieee_802_1qbb", keys);
  }

  Status flow_control(const YAML::Node &node, std::optional<OtgFlowControl> &control) {
    control.emplace();
    std::string kind;
    const auto member = [&](const char *name) {
      kind = kind.empty() ? name : kind;
      return kind == name;
    };
    const auto choice = [&](const YAML::Node &given) -> Status {
      if (Status s = this->choice({"ieee_802_1qbb", "ieee_802_3x"})(given); !s)
        return s;
      kind = parse::scalar(given);
      return {};
    };
    if (Status s = reader_.map(node, "a key of flow_control",
                               {{"choice", choice},
                                {"directed_address", unused("flow_control.directed_address")},
                                {"ieee_802_1qbb",
                                 [&](const YAML::Node &given) {
                                   return member("ieee_802_1qbb")
                                              ? priorities(given, *control)
                                              : unused("flow_control.ieee_802_1qbb")(given);
                                 }},
                                {"ieee_802_3x",
                                 [&](const YAML::Node &given) {
                                   return member("ieee_802_3x")
                                              ? reader_.map(given, "a key of ieee_802_3x", {})
                                              : unused("flow_control.ieee_802_3x")(given);
                                 }}});
        !s)
      return s;
    control->whole_port = kind == "ieee_802_3x";
    return {};
  }

  Status layer1(const YAML::Node &node) {
    std::vector<std::string> names;
    std::string speed, name;
    std::vector<Key> keys = {{"name", any("name", name)},
                             {"speed", any("speed", speed)},
                             {"port_names", list("port_names", [&](const YAML::Node &given) {
                                names.push_back(parse::scalar(given));
                                return Status();
                              })}};
    add_unused(keys, "layer1",
               {"media", "promiscuous", "mtu", "ieee_media_defaults", "auto_negotiate",
                "auto_negotiation"});
    std::optional<OtgFlowControl> control;
    keys.push_back(
        {"flow_control", [&](const YAML::Node &given) { return flow_control(given, control); }});
    if (Status s = reader_.map(node, "a key of layer1", keys); !s)
      return s;
    const uint64_t mbit = mbit_of(speed);
    if (!mbit && node["speed"])
      return reader_.in(node["speed"], "speed",
                        parse::wrong(speed, "a speed", "like speed_100_gbps"));
    for (const std::string &word : names) {
      if (mbit)
        file_.mbit[word] = mbit;
      if (control)
        file_.flow_control[word] = *control;
    }
    return {};
  }

  Status device(const YAML::Node &node) {
    std::string name;
    std::map<std::string, std::pair<std::string, std::string>> addresses; // by name: port, address
    std::vector<Key> keys = {
        {"name", any("name", name)},
        {"ethernets",
         list("ethernets", [&](const YAML::Node &given) { return ethernet(given, addresses); })},
        {"rocev2", [&](const YAML::Node &given) {
           return reader_.map(given, "a key of rocev2",
                              {{"ipv4_interfaces", list("ipv4_interfaces",
                                                        [&](const YAML::Node &each) {
                                                          return interface(each, addresses);
                                                        })},
                               {"ipv6_interfaces", refused("ipv6_interfaces")}});
         }}};
    add_unused(keys, "devices",
               {"ipv4_loopbacks", "ipv6_loopbacks", "isis", "bgp", "vxlan", "rsvp", "dhcp_server",
                "ospfv2", "macsec", "ospfv3", "bmp"});
    return reader_.map(node, "a key of devices", keys);
  }

  Status ethernet(const YAML::Node &node,
                  std::map<std::string, std::pair<std::string, std::string>> &addresses) {
    std::string name, port_name;
    const auto address = [&](const YAML::Node &given) -> Status {
      std::string called, address;
      if (Status s = reader_.map(given, "a key of ipv4_addresses",
                                 {{"name", any("name", called)},
                                  {"address", any("address", address)},
                                  {"gateway", unused("ipv4_addresses.gateway")},
                                  {"gateway_mac", unused("ipv4_addresses.gateway_mac")},
                                  {"prefix", unused("ipv4_addresses.prefix")}});
          !s)
        return s;
      addresses[called] = {port_name, address};
      file_.port_of_address[address] = port_name;
      return {};
    };
    return reader_.map(node, "a key of ethernets",
                       {{"name", any("name", name)},
                        {"mac", unused("ethernets.mac")},
                        {"mtu", unused("ethernets.mtu")},
                        {"connection",
                         [&](const YAML::Node &given) {
                           return reader_.map(given, "a key of connection",
                                              {{"choice", choice({"port_name", "lag_name",
                                                                  "vxlan_name", "simulated_link"})},
                                               {"port_name", any("port_name", port_name)},
                                               {"lag_name", refused("lag_name")},
                                               {"vxlan_name", refused("vxlan_name")},
                                               {"simulated_link", refused("simulated_link")}});
                         }},
                        {"vlans", refused("vlans")},
                        {"ipv6_addresses", unused("ethernets.ipv6_addresses")},
                        {"dhcpv4_interfaces", unused("ethernets.dhcpv4_interfaces")},
                        {"dhcpv6_interfaces", unused("ethernets.dhcpv6_interfaces")},
                        {"ipv4_addresses", list("ipv4_addresses", address)}});
  }

  Status interface(const YAML::Node &node,
                   const std::map<std::string, std::pair<std::string, std::string>> &addresses) {
    std::string of;
    uint64_t mtu = 1024;
    const auto peer = [&](const YAML::Node &given) -> Status {
      std::string name, destination;
      const auto at = addresses.find(of);
      if (at == addresses.end())
        return reader_.in(node, "ipv4_name",
                          {fmt::format("there is no address '{}' in the device", of), {}});
      return reader_.map(given, "a key of peers",
                         {{"name", any("name", name)},
                          {"destination_ip_address", any("destination_ip_address", destination)},
                          {"qps", list("qps", [&](const YAML::Node &each) {
                             return qp(each, {.port = at->second.first,
                                              .source = at->second.second,
                                              .destination = destination,
                                              .mtu = mtu});
                           })}});
    };
    return reader_.map(node, "a key of ipv4_interfaces",
                       {{"ipv4_name", any("ipv4_name", of)},
                        {"ib_mtu", [&](const YAML::Node &given) { return ib_mtu(given, mtu); }},
                        {"peers", list("peers", peer)}});
  }

  // InfiniBand has five sizes: the largest that fits.
  Status ib_mtu(const YAML::Node &node, uint64_t &mtu) {
    uint64_t given = 0;
    if (Status s = reader_.integer("ib_mtu", 256, 14000, given)(node); !s)
      return s;
    mtu = std::min<uint64_t>(std::bit_floor(given), 4096);
    if (mtu != given)
      file_.notes.push_back(fmt::format(
          "ib_mtu {}: the PMTU is {}, the largest of InfiniBand that fits", given, mtu));
    return {};
  }

  Status qp(const YAML::Node &node, OtgQp qp) {
    std::string name;
    const auto ecn = [&](const YAML::Node &given) -> Status {
      const auto point = parse::choice(parse::scalar(given), {"non_ect", "ect_1", "ect_0", "ce"},
                                       "an ECN codepoint");
      if (!point)
        return reader_.in(given, "ecn", point.error());
      constexpr const char *kOurs[] = {"not-ect", "ect1", "ect0", "ce"};
      qp.ecn = kOurs[point.get()];
      return {};
    };
    const std::vector<Key> parameters = {
        {"source_qp_number", reader_.integer("source_qp_number", 2, kMostQp, qp.number)},
        {"dscp", reader_.integer("dscp", 0, 63, qp.dscp)},
        {"ecn", ecn},
        {"udp_source_port", reader_.integer("udp_source_port", 0, 65535, qp.udp_port)},
        {"initial_psn", reader_.integer("initial_psn", 0, kMostQp, qp.psn)},
        {"virtual_address", any("virtual_address", qp.va)},
        {"remote_key", any("remote_key", qp.rkey)}};
    if (Status s = reader_.map(node, "a key of qps",
                               {{"qp_name", any("qp_name", name)},
                                {"connection_type",
                                 [&](const YAML::Node &given) {
                                   return reader_.map(
                                       given, "a key of connection_type",
                                       {{"choice", choice({"reliable_connection"})},
                                        {"reliable_connection", [&](const YAML::Node &each) {
                                           return reader_.map(each, "a key of reliable_connection",
                                                              parameters);
                                         }}});
                                 }}});
        !s)
      return s;
    if (!file_.qps.emplace(name, qp).second)
      return reader_.at(node, {fmt::format("there are two QPs '{}'", name), {}});
    return {};
  }

  Status stateful(const YAML::Node &node) {
    const auto ports = [this](const YAML::Node &given) { return tx_port(given); };
    const auto groups = [this, ports](const YAML::Node &given) {
      return reader_.map(given, "a key of rocev2", {{"tx_ports", list("tx_ports", ports)}});
    };
    return reader_.map(node, "a key of stateful_flows",
                       {{"choice", choice({"rocev2"})}, {"rocev2", list("rocev2", groups)}});
  }

  Status tx_port(const YAML::Node &node) {
    std::string name;
    const size_t first = file_.flows.size();
    uint64_t percent = 98;
    const auto rate = [&](const YAML::Node &given) {
      return reader_.map(
          given, "a key of target_line_rate",
          {{"value", reader_.integer("value", 0, 100, percent)},
           {"flows", list("flows", [this](const YAML::Node &each) { return flow(each); })}});
    };
    const Status done =
        reader_.map(node, "a key of tx_ports",
                    {{"port_name", any("port_name", name)},
                     {"transmit_type", [&](const YAML::Node &given) {
                        return reader_.map(
                            given, "a key of transmit_type",
                            {{"choice", choice({"target_line_rate"})}, {"target_line_rate", rate}});
                      }}});
    for (size_t i = first; i < file_.flows.size(); i++) {
      file_.flows[i].percent = percent;
      file_.flows[i].port = name;
    }
    return done;
  }

  Status flow(const YAML::Node &node) {
    OtgFlow flow;
    const auto unit = [&](const YAML::Node &given) -> Status {
      const auto at =
          parse::choice(parse::scalar(given), {"bytes", "kb", "mb", "gb"}, "a unit of sizes");
      if (!at)
        return reader_.in(given, "message_size_unit", at.error());
      constexpr uint64_t kUnits[] = {1, 1000, 1'000'000, 1'000'000'000};
      flow.unit = kUnits[at.get()];
      return {};
    };
    if (Status s = reader_.map(
            node, "a key of a flow",
            {{"name", any("name", flow.name)},
             {"tx_endpoint", any("tx_endpoint", flow.tx)},
             {"rx_endpoint", any("rx_endpoint", flow.rx)},
             {"rocev2_verb", [&](const YAML::Node &given) { return verb(given, flow); }},
             {"message_size", reader_.integer("message_size", 0, 65535, flow.size)},
             {"message_size_unit", unit}});
        !s)
      return s;
    if (!file_.qps.count(flow.tx))
      return reader_.in(node, "tx_endpoint",
                        {fmt::format("there is no QP '{}'", flow.tx), "a qp_name of the devices"});
    constexpr uint64_t kMostMessage = 1ULL << 31; // IBTA 9.4.1
    if (flow.size * flow.unit > kMostMessage)
      return reader_.in(
          node, "message_size",
          {fmt::format("{} bytes are more than a message can have", flow.size * flow.unit),
           "up to 2147483648 bytes"});
    file_.flows.push_back(std::move(flow));
    return {};
  }

  // Without `choice` the member is the verb.
  Status verb(const YAML::Node &node, OtgFlow &flow) {
    bool chosen = false;
    const auto immediate = [&](const char *otg, const char *ours) {
      return [this, &chosen, &flow, otg, ours](const YAML::Node &given) -> Status {
        if (chosen && flow.verb != ours)
          return unused(fmt::format("rocev2_verb.{}", otg))(given);
        flow.verb = ours;
        return reader_.map(given, "a key of the verb",
                           {{"immediate_data", any("immediate_data", flow.immediate)}});
      };
    };
    const auto chosen_verb = [&](const YAML::Node &given) -> Status {
      const auto at = parse::choice(
          parse::scalar(given),
          {"write", "write_with_immediate", "send", "send_with_immediate", "read"}, "a verb");
      if (!at)
        return reader_.in(given, "choice", at.error());
      constexpr const char *kOurs[] = {"write", "write-imm", "send", "send-imm", "read"};
      flow.verb = kOurs[at.get()];
      chosen = true;
      return {};
    };
    if (Status s =
            reader_.map(node, "a key of rocev2_verb",
                        {{"choice", chosen_verb},
                         {"write_with_immediate", immediate("write_with_immediate", "write-imm")},
                         {"send_with_immediate", immediate("send_with_immediate", "send-imm")}});
        !s)
      return s;
    if (flow.verb.ends_with("-imm") && flow.immediate.empty())
      flow.immediate = "00000000";
    return {};
  }

  Status options(const YAML::Node &node) {
    const auto each = [this](const YAML::Node &given) -> Status {
      std::string name;
      OtgPort port;
      const auto protocol = [&](const YAML::Node &two) {
        return reader_.map(two, "a key of protocols",
                           {{"choice", choice({"rocev2", "macsec"})},
                            {"macsec", refused("macsec")},
                            {"rocev2", [&](const YAML::Node &three) {
                               port.given = true;
                               return reader_.map(three, "a key of rocev2",
                                                  otg_port_keys(reader_, port, file_.unused));
                             }}});
      };
      const Status done = reader_.map(
          given, "a key of per_port_options",
          {{"port_name", any("port_name", name)}, {"protocols", list("protocols", protocol)}});
      file_.ports[name] = port;
      return done;
    };
    return reader_.map(node, "a key of options",
                       {{"port_options", unused("options.port_options")},
                        {"protocol_options", unused("options.protocol_options")},
                        {"flow_options", unused("options.flow_options")},
                        {"per_port_options", list("per_port_options", each)}});
  }

  YamlReader reader_;
  OtgFile file_;
};

} // namespace

// To read another key: here, otg_port.cpp, otg.cpp; importers_test, otg_words.py.
Result<OtgFile> read_otg(const std::string &text, const std::string &name) {
  const experiment::SetValues none;
  return parse::with_yaml(text, name, [&](const YAML::Node &root) -> Result<OtgFile> {
    return OtgReader(none).read(root);
  });
}

} // namespace xr::importers
