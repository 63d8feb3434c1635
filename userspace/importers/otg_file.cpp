// SPDX-License-Identifier: Apache-2.0
#include "importers/otg_file.h"

#include <initializer_list>

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
        {"stateful_flows",
         list("stateful_flows", [this](const YAML::Node &node) { return stateful(node); })},
        {"options", [this](const YAML::Node &node) { return options(node); }}};
    for (const char *other :
         {"lags", "captures", "flows", "events", "lldp", "egress_only_tracking"})
      keys.push_back({other, refused(other)});
    if (Status s = reader_.map(root, "a key of OTG", keys); !s)
      return s.error();
    if (file_.flows.empty())
      return reader_.at(
          root, {"there is no flow of RoCEv2", "stateful_flows: [{rocev2: [{tx_ports: [...]}]}]"});
    return std::move(file_);
  }

private:
  YamlReader::Read refused(std::string key) {
    return [this, key = std::move(key)](const YAML::Node &node) -> Status {
      if (node.IsNull() || node.size() == 0)
        return {};
      return reader_.in(node, key, {"only RoCEv2 is read: devices, stateful_flows, options", ""});
    };
  }
  YamlReader::Read list(std::string key, YamlReader::Read each) {
    return [this, key = std::move(key), each = std::move(each)](const YAML::Node &node) -> Status {
      if (!node.IsSequence())
        return reader_.in(node, key, {"it is not a list", {}});
      for (const YAML::Node &one : node)
        if (Status s = each(one); !s)
          return s;
      return {};
    };
  }
  YamlReader::Read unused(std::string key) {
    return [this, key = std::move(key)](const YAML::Node &) {
      file_.unused.push_back(key);
      return Status();
    };
  }
  YamlReader::Read any(std::string key, std::string &value) {
    return reader_.text(std::move(key), value);
  }

  Status port(const YAML::Node &node) {
    std::string name;
    return reader_.map(node, "a key of ports",
                       {{"name", any("name", name)}, {"location", unused("ports.location")}});
  }

  // speed_100_gbps
  Status layer1(const YAML::Node &node) {
    std::vector<std::string> names;
    std::string speed, name;
    std::vector<Key> keys = {{"name", any("name", name)},
                             {"speed", any("speed", speed)},
                             {"port_names", list("port_names", [&](const YAML::Node &one) {
                                names.push_back(parse::scalar(one));
                                return Status();
                              })}};
    for (const char *other : {"media", "promiscuous", "mtu", "ieee_media_defaults",
                              "auto_negotiate", "auto_negotiation"})
      keys.push_back({other, unused(fmt::format("layer1.{}", other))});
    keys.push_back({"flow_control", refused("flow_control")});
    if (Status s = reader_.map(node, "a key of layer1", keys); !s)
      return s;
    uint64_t gbit = 0;
    if (speed.starts_with("speed_") && speed.ends_with("_gbps"))
      if (const auto number = parse::integer(speed.substr(6, speed.size() - 11), 1, 1600))
        gbit = number.get();
    if (!gbit)
      return reader_.in(node["speed"] ? node["speed"] : node, "speed",
                        parse::wrong(speed, "a speed", "like speed_100_gbps"));
    for (const std::string &one : names)
      file_.gbit[one] = gbit;
    return {};
  }

  Status device(const YAML::Node &node) {
    std::string name;
    std::map<std::string, std::pair<std::string, std::string>> addresses; // by name: port, address
    return reader_.map(
        node, "a key of devices",
        {{"name", any("name", name)},
         {"ethernets",
          list("ethernets", [&](const YAML::Node &one) { return ethernet(one, addresses); })},
         {"rocev2", [&](const YAML::Node &one) {
            return reader_.map(one, "a key of rocev2",
                               {{"ipv4_interfaces", list("ipv4_interfaces",
                                                         [&](const YAML::Node &each) {
                                                           return interface(each, addresses);
                                                         })},
                                {"ipv6_interfaces", refused("ipv6_interfaces")}});
          }}});
  }

  Status ethernet(const YAML::Node &node,
                  std::map<std::string, std::pair<std::string, std::string>> &addresses) {
    std::string name, port_name;
    const auto address = [&](const YAML::Node &one) -> Status {
      std::string called, address;
      if (Status s = reader_.map(one, "a key of ipv4_addresses",
                                 {{"name", any("name", called)},
                                  {"address", any("address", address)},
                                  {"gateway", unused("ipv4_addresses.gateway")},
                                  {"gateway_mac", unused("ipv4_addresses.gateway_mac")},
                                  {"prefix", unused("ipv4_addresses.prefix")}});
          !s)
        return s;
      addresses[called] = {port_name, address};
      return {};
    };
    return reader_.map(node, "a key of ethernets",
                       {{"name", any("name", name)},
                        {"mac", unused("ethernets.mac")},
                        {"mtu", unused("ethernets.mtu")},
                        {"connection",
                         [&](const YAML::Node &one) {
                           return reader_.map(one, "a key of connection",
                                              {{"choice", unused("choice")},
                                               {"port_name", any("port_name", port_name)}});
                         }},
                        {"vlans", refused("vlans")},
                        {"ipv6_addresses", refused("ipv6_addresses")},
                        {"ipv4_addresses", list("ipv4_addresses", address)}});
  }

  Status interface(const YAML::Node &node,
                   const std::map<std::string, std::pair<std::string, std::string>> &addresses) {
    std::string of;
    uint64_t mtu = 1024;
    const auto peer = [&](const YAML::Node &one) -> Status {
      std::string name, destination;
      const auto at = addresses.find(of);
      if (at == addresses.end())
        return reader_.in(node, "ipv4_name",
                          {fmt::format("there is no address '{}' in the device", of), {}});
      return reader_.map(one, "a key of peers",
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
                        {"ib_mtu",
                         [&](const YAML::Node &one) -> Status {
                           const auto size = parse::choice(parse::scalar(one),
                                                           {"256", "512", "1024", "2048", "4096"},
                                                           "an MTU that our packets can have");
                           if (!size)
                             return reader_.in(one, "ib_mtu", size.error());
                           mtu = 256ULL << size.get();
                           return {};
                         }},
                        {"peers", list("peers", peer)}});
  }

  Status qp(const YAML::Node &node, OtgQp qp) {
    std::string name;
    const auto ecn = [&](const YAML::Node &one) -> Status {
      const auto point = parse::choice(parse::scalar(one), {"non_ect", "ect_1", "ect_0", "ce"},
                                       "an ECN codepoint");
      if (!point)
        return reader_.in(one, "ecn", point.error());
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
                                 [&](const YAML::Node &one) {
                                   return reader_.map(
                                       one, "a key of connection_type",
                                       {{"choice", unused("choice")},
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
    const auto ports = [this](const YAML::Node &one) { return tx_port(one); };
    const auto groups = [this, ports](const YAML::Node &one) {
      return reader_.map(one, "a key of rocev2", {{"tx_ports", list("tx_ports", ports)}});
    };
    return reader_.map(node, "a key of stateful_flows",
                       {{"choice", unused("choice")}, {"rocev2", list("rocev2", groups)}});
  }

  Status tx_port(const YAML::Node &node) {
    std::string name;
    const size_t first = file_.flows.size();
    uint64_t percent = 98;
    const auto rate = [&](const YAML::Node &one) {
      return reader_.map(
          one, "a key of target_line_rate",
          {{"value", reader_.integer("value", 1, 100, percent)},
           {"flows", list("flows", [this](const YAML::Node &each) { return flow(each); })}});
    };
    const Status done = reader_.map(
        node, "a key of tx_ports",
        {{"port_name", any("port_name", name)}, {"transmit_type", [&](const YAML::Node &one) {
                                                   return reader_.map(one, "a key of transmit_type",
                                                                      {{"choice", unused("choice")},
                                                                       {"target_line_rate", rate}});
                                                 }}});
    for (size_t i = first; i < file_.flows.size(); i++)
      file_.flows[i].percent = percent;
    return done;
  }

  Status flow(const YAML::Node &node) {
    OtgFlow flow;
    const auto unit = [&](const YAML::Node &one) -> Status {
      const auto at =
          parse::choice(parse::scalar(one), {"bytes", "kb", "mb", "gb"}, "a unit of sizes");
      if (!at)
        return reader_.in(one, "message_size_unit", at.error());
      constexpr uint64_t kUnits[] = {1, 1000, 1'000'000, 1'000'000'000};
      flow.unit = kUnits[at.get()];
      return {};
    };
    if (Status s =
            reader_.map(node, "a key of a flow",
                        {{"name", any("name", flow.name)},
                         {"tx_endpoint", any("tx_endpoint", flow.tx)},
                         {"rx_endpoint", any("rx_endpoint", flow.rx)},
                         {"rocev2_verb", [&](const YAML::Node &one) { return verb(one, flow); }},
                         {"message_size", reader_.integer("message_size", 1, 65535, flow.size)},
                         {"message_size_unit", unit}});
        !s)
      return s;
    if (!file_.qps.count(flow.tx))
      return reader_.in(node, "tx_endpoint",
                        {fmt::format("there is no QP '{}'", flow.tx), "a qp_name of the devices"});
    file_.flows.push_back(std::move(flow));
    return {};
  }

  Status verb(const YAML::Node &node, OtgFlow &flow) {
    const auto immediate = [&](const YAML::Node &one) {
      return reader_.map(one, "a key of the verb",
                         {{"immediate_data", any("immediate_data", flow.immediate)}});
    };
    return reader_.map(
        node, "a key of rocev2_verb",
        {{"choice",
          [&](const YAML::Node &one) -> Status {
            const auto at = parse::choice(
                parse::scalar(one),
                {"write", "write_with_immediate", "send", "send_with_immediate", "read"}, "a verb");
            if (!at)
              return reader_.in(one, "choice", at.error());
            constexpr const char *kOurs[] = {"write", "write-imm", "send", "send-imm", "read"};
            flow.verb = kOurs[at.get()];
            return {};
          }},
         {"write_with_immediate", immediate},
         {"send_with_immediate", immediate}});
  }

  Status options(const YAML::Node &node) {
    const auto each = [this](const YAML::Node &one) -> Status {
      std::string name;
      OtgPort port;
      const auto protocol = [&](const YAML::Node &two) {
        return reader_.map(two, "a key of protocols",
                           {{"choice", unused("choice")},
                            {"macsec", refused("macsec")},
                            {"rocev2", [&](const YAML::Node &three) {
                               return reader_.map(three, "a key of rocev2",
                                                  otg_port_keys(reader_, port, file_.unused));
                             }}});
      };
      const Status done = reader_.map(
          one, "a key of per_port_options",
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

Result<OtgFile> read_otg(const std::string &text, const std::string &name) {
  const experiment::SetValues none;
  return parse::with_yaml(text, name, [&](const YAML::Node &root) -> Result<OtgFile> {
    return OtgReader(none).read(root);
  });
}

} // namespace xr::importers
