// SPDX-License-Identifier: Apache-2.0
#include "importers/lumina_file.h"

#include <initializer_list>
#include <map>

#include <fmt/format.h>

#include "experiment/yaml_map.h"
#include "parse/value.h"
#include "parse/words.h"

namespace xr::importers {

namespace {

using experiment::YamlReader;
using Key = YamlReader::Key;
using Type = LuminaEvent::Type;

constexpr uint64_t kMostQps = 1024, kMostMessage = 1ULL << 31;

class LuminaReader {
public:
  explicit LuminaReader(const experiment::ValueOrigins &none) : reader_(none) {}

  Result<LuminaFile> read(const YAML::Node &root) {
    XR_TRY(reader_.map(root, "a key of Lumina", top()));
    if (!root["traffic"])
      return reader_.at(root, {"there is no traffic", "traffic: {num-qps: 1, ...}"});
    return std::move(file_);
  }

private:
  YamlReader::Read unused(const std::string &key) {
    return [this, key](const YAML::Node &) {
      file_.unused.push_back(key);
      return Status();
    };
  }
  std::vector<Key> unused(const std::string &section, std::initializer_list<const char *> names) {
    std::vector<Key> keys;
    for (const char *name : names)
      keys.push_back({name, unused(section + "." + name)});
    return keys;
  }
  YamlReader::Read section(std::string what, std::vector<Key> keys) {
    return [this, what = std::move(what), keys = std::move(keys)](const YAML::Node &node) {
      return reader_.map(node, what, keys);
    };
  }
  static std::vector<Key> joined(std::vector<Key> first, std::vector<Key> second) {
    for (Key &key : second)
      first.push_back(std::move(key));
    return first;
  }

  YamlReader::Read flag(std::string key, auto &value) {
    return [this, key = std::move(key), &value](const YAML::Node &node) -> Status {
      const std::string word = parse::lower(parse::scalar(node));
      const bool on = word == "true" || word == "yes" || word == "on" || word == "1";
      if (!on && word != "false" && word != "no" && word != "off" && word != "0")
        return reader_.in(node, key, parse::wrong(word, "true or false"));
      value = on;
      return {};
    };
  }

  std::vector<Key> top() {
    std::vector<Key> keys = {
        {"local-workspace", unused("local-workspace")},
        {"result-path", unused("result-path")},
        {"aggregate-pcap-filename", unused("aggregate-pcap-filename")},
        {"rewrite-udp-dst-port", unused("rewrite-udp-dst-port")},
        {"num-repeats", reader_.integer("num-repeats", 1, UINT32_MAX, file_.repeats)}};
    keys.push_back(
        {"switch",
         section("a key of switch",
                 joined(unused("switch", {"sde-path", "workspace", "control-ip", "username",
                                          "ssh-key-filepath", "fec-type", "listen-port",
                                          "local-switch-config-path"}),
                        {{"port-speed", reader_.text("port-speed", file_.port_speed)}}))});
    keys.push_back({"requester", host("requester", file_.requester)});
    keys.push_back({"responder", host("responder", file_.responder)});
    for (const char *mirror : {"requester-mirror", "responder-mirror"})
      keys.push_back({mirror, this->mirror(mirror)});
    keys.push_back({"traffic", section("a key of traffic", traffic())});
    return keys;
  }

  YamlReader::Read mirror(const std::string &name) {
    return section(
        "a key of " + name,
        joined(unused(name, {"workspace", "control-ip", "username", "ssh-key-filepath"}),
               {{"pkt-dump-conf", section("a key of pkt-dump-conf",
                                          unused(name + ".pkt-dump-conf",
                                                 {"dump-filename", "snap-len", "num-pkts"}))},
                {"nic",
                 section("a key of nic", unused(name + ".nic", {"type", "if-name", "pci-addr",
                                                                "switch-port", "rte-port-id"}))}}));
  }

  YamlReader::Read host(const std::string &name, LuminaHost &host) {
    const std::string nic = name + ".nic";
    std::vector<Key> parameters = {{"dcqcn-rp-enable", flag("dcqcn-rp-enable", host.rp)},
                                   {"dcqcn-np-enable", flag("dcqcn-np-enable", host.np)},
                                   {"dcqcn-enable",
                                    [this, &host](const YAML::Node &node) { // Intel's: both
                                      if (Status s = flag("dcqcn-enable", host.rp)(node); !s)
                                        return s;
                                      return flag("dcqcn-enable", host.np)(node);
                                    }},
                                   {"min-time-between-cnps",
                                    [this, &host](const YAML::Node &node) -> Status {
                                      uint64_t us = 0;
                                      Status done = reader_.integer("min-time-between-cnps", 0,
                                                                    4095, us)(node);
                                      host.cnp_interval_us = us;
                                      return done;
                                    }},
                                   {"adaptive-retrans", flag("adaptive-retrans", host.adaptive)},
                                   {"slow-restart", flag("slow-restart", host.slow_restart)}};
    return section(
        "a key of " + name,
        joined(unused(name, {"workspace", "control-ip", "username", "ssh-key-filepath"}),
               {{"nic", section("a key of nic",
                                joined(unused(nic, {"type", "if-name", "pci-addr", "ib-device",
                                                    "ib-port", "switch-port", "prio-dscp-map"}),
                                       {{"ip-list", addresses(host)}}))},
                {"roce-parameters", section("a key of roce-parameters", std::move(parameters))}}));
  }

  YamlReader::Read addresses(LuminaHost &host) {
    return [this, &host](const YAML::Node &node) -> Status {
      if (!node.IsSequence())
        return reader_.in(node, "ip-list", {"it is not a list", "- 10.0.0.1/24"});
      for (const YAML::Node &item : node)
        host.addresses.push_back(parse::scalar(item));
      return {};
    };
  }

  std::vector<Key> traffic() {
    return {
        {"num-qps",
         [this](const YAML::Node &node) -> Status {
           if (parse::scalar(node).find(',') != std::string::npos)
             return reader_.in(node, "num-qps",
                               {"two numbers are of send_read, which is not possible",
                                "rdma-verb: send or write"});
           return reader_.integer("num-qps", 1, kMostQps, file_.qps)(node);
         }},
        {"rdma-verb", [this](const YAML::Node &node) { return verb(node); }},
        {"num-msgs-per-qp", reader_.integer("num-msgs-per-qp", 1, UINT32_MAX, file_.messages)},
        {"mtu",
         [this](const YAML::Node &node) -> Status {
           const auto at =
               parse::choice(parse::scalar(node), {"256", "512", "1024", "2048", "4096"}, "an MTU");
           if (!at)
             return reader_.in(node, "mtu", at.error());
           file_.mtu = 256ULL << at.get();
           return {};
         }},
        {"message-size", reader_.integer("message-size", 1, kMostMessage, file_.message_size)},
        {"listen-port", unused("traffic.listen-port")},
        {"multi-gid", flag("multi-gid", file_.multi_gid)},
        {"barrier-sync", flag("barrier-sync", file_.barrier_sync)},
        {"tx-depth", reader_.integer("tx-depth", 1, UINT32_MAX, file_.tx_depth)},
        {"min-retransmit-timeout", reader_.integer("min-retransmit-timeout", 0, 31, file_.timeout)},
        {"max-retransmit-retry", reader_.integer("max-retransmit-retry", 0, 7, file_.retries)},
        {"dscp-list", [this](const YAML::Node &node) { return dscps(node); }},
        {"data-pkt-events", [this](const YAML::Node &node) { return events(node); }}};
  }

  Status verb(const YAML::Node &node) {
    const std::string word = parse::lower(parse::scalar(node));
    if (word == "read" || word == "send_read")
      return reader_.in(node, "rdma-verb",
                        {fmt::format("{} is not possible: its events are on responses of READs, "
                                     "and namespaces have none",
                                     word),
                         "send or write"});
    if (word != "send" && word != "write")
      return reader_.in(node, "rdma-verb", parse::wrong(word, "a verb", "send or write"));
    file_.verb = word;
    return {};
  }

  // "0-7,26"
  Status dscps(const YAML::Node &node) {
    for (const std::string &part : parse::parts(parse::scalar(node))) {
      auto range = parse::range(part, 0, 63, "a DSCP");
      if (!range)
        return reader_.in(node, "dscp-list", range.error());
      for (uint32_t dscp = range->from; dscp <= range->to; dscp++)
        file_.dscps.push_back(dscp);
    }
    return {};
  }

  Status events(const YAML::Node &node) {
    if (node.IsNull())
      return {};
    if (!node.IsSequence())
      return reader_.in(node, "data-pkt-events",
                        {"it is not a list", "- {qpn: 0, psn: 4, type: drop, iter: 1}"});
    for (const YAML::Node &entry : node)
      if (Status s = event(entry); !s)
        return s;
    return {};
  }

  Status event(const YAML::Node &node) {
    LuminaEvent event;
    event.line = static_cast<unsigned>(node.Mark().line + 1);
    const auto type = [&](const YAML::Node &word) -> Status {
      const auto index =
          parse::choice(parse::scalar(word), {"drop", "ecn", "bit-error"}, "a type of event");
      if (!index)
        return reader_.in(word, "type", index.error());
      event.type = static_cast<Type>(index.get());
      return {};
    };
    const auto psn = [&](const YAML::Node &word) -> Status {
      if (parse::lower(parse::scalar(word)) == "all") {
        event.psn = LuminaEvent::kAll;
        return {};
      }
      return reader_.integer("psn", 0, 0xffffff, event.psn)(word);
    };
    if (Status s = reader_.map(node, "a key of an event",
                               {{"qpn", reader_.integer("qpn", 0, kMostQps - 1, event.qpn)},
                                {"psn", psn},
                                {"type", type},
                                {"iter", reader_.integer("iter", 1, 65535, event.iter)}});
        !s)
      return s;
    for (const char *key : {"qpn", "psn", "type", "iter"})
      if (!node[key])
        return reader_.at(node, {fmt::format("the event has no {}", key),
                                 "{qpn: 0, psn: 4, type: drop, iter: 1}"});
    file_.events.push_back(event);
    return {};
  }

  YamlReader reader_;
  LuminaFile file_;
};

} // namespace

// To read another key: here and in lumina.cpp; importers_test, run_lumina.sh.
Result<LuminaFile> read_lumina(const std::string &text, const std::string &name) {
  const experiment::ValueOrigins none;
  return parse::with_yaml(text, name, [&](const YAML::Node &root) -> Result<LuminaFile> {
    return LuminaReader(none).read(root);
  });
}

} // namespace xr::importers
