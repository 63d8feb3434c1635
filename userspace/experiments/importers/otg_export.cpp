// SPDX-License-Identifier: Apache-2.0
#include "importers/otg_export.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "importers/otg_export_flow.h"
#include "otg/json_text.h"
#include "otg/words.h"
#include "parse/value.h"
#include "parse/yaml.h"
#include "simulate/topology.h"

namespace xr::importers {

namespace {

using otg::Json;
using simulate::FlowSetup;

constexpr size_t kDocumentation = 254; // hosts of 192.0.2.0/24; more are in 198.18.0.0/15
constexpr size_t kBenchmarking = (1 << 17) - 2;
constexpr uint32_t kMostHeaders = 64; // of IP and RoCE, at most (otg/read_rocev2.cpp)
constexpr uint64_t kPlainMtu = 1500, kJumboMtu = 9000;
constexpr uint64_t kMostTimeout = 5369, kMostRetries = 254, kMostCnpTime = 255;

class Exporter {
public:
  explicit Exporter(const experiment::Experiment &experiment)
      : experiment_(experiment), scenario_(experiment.scenario) {}

  Result<ExportedConfiguration> make() {
    XR_TRY(hosts());
    for (const FlowSetup &setup : scenario_.flows)
      XR_TRY(flow(setup).in(fmt::format("flow '{}'", setup.name)));
    network_notes();
    XR_TRY(ports());
    devices();
    options();
    XR_TRY(senders());
    flow_notes();
    return ExportedConfiguration{otg::json_text(config_, 2) + "\n", std::move(notes_)};
  }

private:
  struct Peer {
    std::string destination; // a host
    Json qps = Json::array();
  };
  struct Host {
    uint64_t rate = 0;
    uint32_t pmtu = 0; // 0: no flow yet
    std::vector<Peer> peers;
    // The port as a sender.
    Json flows = Json::array(), dcqcn;
    std::string first; // flow
    unsigned qps = 0;
    double share = 0; // of a QP, percent
    bool top = true;
  };

  // Hosts with a flow, in the topology's order.
  Status hosts() {
    const simulate::Network network = simulate::build_network(scenario_.topology);
    std::set<std::string> used;
    for (const FlowSetup &setup : scenario_.flows)
      used.insert({setup.src, setup.dst});
    std::vector<std::string> idle;
    for (uint32_t node = 0; node < network.hosts; node++) {
      const std::string &name = network.nodes[node];
      if (!used.contains(name)) {
        idle.push_back(name);
        continue;
      }
      size_t links = 0;
      for (const simulate::Wire &wire : network.wires)
        if (wire.from == node) {
          links++;
          hosts_[name].rate = wire.rate;
        }
      if (links != 1)
        return Error{fmt::format("host {} has {} links", name, links), "a port of OTG is one link"};
      names_.push_back(name);
    }
    if (names_.size() > kBenchmarking)
      return Error{fmt::format("{} hosts have a flow", names_.size()),
                   fmt::format("at most {}, the addresses of 198.18.0.0/15", kBenchmarking)};
    if (!idle.empty())
      notes_.push_back(fmt::format("hosts without a flow are no ports: {}", fmt::join(idle, ", ")));
    return {};
  }

  static Peer &peer(Host &host, const std::string &destination) {
    const auto at = std::ranges::find(host.peers, destination, &Peer::destination);
    return at == host.peers.end() ? host.peers.emplace_back(Peer{.destination = destination}) : *at;
  }
  static Json qp(const std::string &name, const Json &connection) {
    return {{"qp_name", name},
            {"connection_type",
             {{"choice", "reliable_connection"}, {"reliable_connection", connection}}}};
  }

  // Each QP is a flow of OTG, with a QP of the same name, and one at the other end. The N-th QP of
  // a peer is connected with the N-th of the peer there.
  Status flow(const FlowSetup &setup) {
    Host &from = hosts_[setup.src], &to = hosts_[setup.dst];
    const OtgFlow made = XR_TRY(otg_flow(setup, {from.rate, scenario_.topology.layer1}));
    XR_TRY(one_pmtu(from, setup.src, made));
    XR_TRY(one_pmtu(to, setup.dst, made));
    XR_TRY(beside(from, setup, made));
    for (const std::string &text : made.notes)
      flow_notes_[text].push_back(setup.name);
    for (uint32_t i = 0; i < setup.flow.qps; i++) {
      const std::string name =
          setup.flow.qps == 1 ? setup.name : fmt::format("{}-{}", setup.name, i + 1);
      if (!flow_names_.insert(name).second)
        return Error{fmt::format("there are two flows '{}'", name), "each has a name of its own"};
      const Json connection = otg_connection(setup.flow, i);
      peer(from, setup.dst).qps.push_back(qp(name, connection));
      peer(to, setup.src).qps.push_back(qp(name + " rx", connection));
      from.flows.push_back({{"name", name},
                            {"tx_endpoint", name},
                            {"rx_endpoint", name + " rx"},
                            {"rocev2_verb", made.verb},
                            {"message_size", made.size},
                            {"message_size_unit", made.unit}});
    }
    return {};
  }

  static Status one_pmtu(Host &host, const std::string &name, const OtgFlow &made) {
    if (host.pmtu && host.pmtu != made.pmtu)
      return Error{
          fmt::format("pmtu {}, and {} in a flow before it of {}", made.pmtu, host.pmtu, name),
          "one pmtu for all flows of a host: OTG has one ib_mtu"};
    host.pmtu = made.pmtu;
    return {};
  }

  // Flows of a port have one target_line_rate, in equal parts, and one DCQCN.
  static Status beside(Host &host, const FlowSetup &setup, const OtgFlow &made) {
    const double share = made.top ? 100 : made.percent / setup.flow.qps;
    host.qps += setup.flow.qps;
    if (host.first.empty()) {
      host.first = setup.name;
      host.share = share;
      host.top = made.top;
      host.dcqcn = made.dcqcn;
      return {};
    }
    if (host.top != made.top || std::abs(host.share - share) > 1e-9 * share)
      return Error{fmt::format("its QPs have {}, those of flow '{}' {}",
                               share_text(made.top, share), host.first,
                               share_text(host.top, host.share)),
                   "one rate for all QPs of a host: OTG has one target_line_rate a port"};
    if (host.dcqcn != made.dcqcn)
      return Error{
          fmt::format("it has another cc dcqcn than flow '{}' of the same host", host.first),
          "one for all flows of a host: OTG has one dcqcn_settings a port"};
    return {};
  }
  static std::string share_text(bool top, double share) {
    return top ? "no rate" : fmt::format("{:.6g} % of the line", share);
  }

  uint64_t mtu_of(const Host &host) const {
    return host.pmtu + kMostHeaders <= kPlainMtu ? kPlainMtu : kJumboMtu;
  }

  // One layer1 for ports of the same speed and MTU.
  Status ports() {
    std::map<std::pair<std::string_view, uint64_t>, std::vector<std::string>> layers;
    for (const std::string &name : names_) {
      const Host &host = hosts_[name];
      config_["ports"].push_back({{"name", name}, {"location", name}});
      layers[{XR_TRY(speed(name, host.rate)), mtu_of(host)}].push_back(name);
    }
    notes_.emplace_back("location of a port is the name of its host: the port's own is needed");
    for (const auto &[of, members] : layers) {
      Json layer = {{"name", fmt::format("layer1 {}", config_["layer1"].size() + 1)},
                    {"port_names", members},
                    {"speed", of.first},
                    {"mtu", of.second}};
      if (const auto control = flow_control())
        layer["flow_control"] = *control;
      config_["layer1"].push_back(std::move(layer));
    }
    return {};
  }

  Result<std::string_view> speed(const std::string &host, uint64_t rate) const {
    const otg::Speed *nearest = otg::kSpeeds;
    for (const otg::Speed &speed : otg::kSpeeds) {
      const uint64_t bits = speed.mbit * 1'000'000;
      if (bits == rate)
        return speed.word;
      const auto far = [rate](uint64_t mbit) {
        return std::abs(std::log(static_cast<double>(mbit) * 1e6 / static_cast<double>(rate)));
      };
      if (far(speed.mbit) < far(nearest->mbit))
        nearest = &speed;
    }
    const std::string there = parse::rate_text(nearest->mbit * 1'000'000);
    const auto kind = scenario_.topology.kind;
    return Error{fmt::format("{}: OTG has no speed of {}", host, parse::rate_text(rate)),
                 kind == simulate::Topology::Kind::Graph
                     ? fmt::format("rate {}, the nearest", there)
                     : fmt::format("--set topology.{}.rate={}, the nearest",
                                   simulate::kind_name(kind), there)};
  }

  // Priorities that are not lossless are null, which is how OTG's model switches one off.
  std::optional<Json> flow_control() const {
    const LinkPfc &pfc = scenario_.queue.pfc;
    if (!pfc.on)
      return {};
    Json classes = Json::object();
    for (unsigned i = 0; i < kLinkClasses; i++)
      classes[fmt::format("pfc_class_{}", i)] = pfc.priorities >> i & 1 ? Json(i) : Json();
    return Json{{"choice", "ieee_802_1qbb"}, {"ieee_802_1qbb", classes}};
  }

  size_t index_of(const std::string &host) const {
    return static_cast<size_t>(std::ranges::find(names_, host) - names_.begin());
  }
  std::string address_of(size_t index) const {
    const size_t number = index + 1;
    if (names_.size() <= kDocumentation)
      return fmt::format("192.0.2.{}", number);
    return fmt::format("198.{}.{}.{}", 18 + (number >> 16), number >> 8 & 0xff, number & 0xff);
  }

  static std::string mac_of(size_t number) {
    return fmt::format("02:00:00:{:02x}:{:02x}:{:02x}", number >> 16 & 0xff, number >> 8 & 0xff,
                       number & 0xff);
  }

  void devices() {
    for (size_t i = 0; i < names_.size(); i++) {
      const std::string &name = names_[i];
      const Host &host = hosts_[name];
      const std::string address = name + " ipv4";
      Json peers = Json::array();
      for (const Peer &peer : host.peers)
        peers.push_back({{"name", fmt::format("{} to {}", name, peer.destination)},
                         {"destination_ip_address", address_of(index_of(peer.destination))},
                         {"qps", peer.qps}});
      // All are on one network: the gateway, which the model requires, is not used.
      const Json ipv4 = {{"name", address},
                         {"address", address_of(i)},
                         {"gateway", address_of(index_of(host.peers.front().destination))},
                         {"prefix", names_.size() <= kDocumentation ? 24 : 15}};
      const Json ethernet = {{"name", name + " ethernet"},
                             {"connection", {{"choice", "port_name"}, {"port_name", name}}},
                             {"mac", mac_of(i + 1)},
                             {"mtu", mtu_of(host)},
                             {"ipv4_addresses", Json::array({ipv4})}};
      const Json interface = {{"ipv4_name", address}, {"ib_mtu", host.pmtu}, {"peers", peers}};
      config_["devices"].push_back({{"name", name + " device"},
                                    {"ethernets", Json::array({ethernet})},
                                    {"rocev2", {{"ipv4_interfaces", Json::array({interface})}}}});
    }
  }

  // `exact` as a whole number of `unit`.
  uint64_t whole(const char *key, double exact, uint64_t least, uint64_t most, const char *unit) {
    const auto there = static_cast<uint64_t>(
        std::clamp(std::floor(exact), static_cast<double>(least), static_cast<double>(most)));
    if (static_cast<double>(there) != exact)
      notes_.push_back(fmt::format("{}: {:.6g} {} is {}", key, exact, unit, there));
    return there;
  }

  // The timer of an RNIC is 4.096 us x 2^code. The whole number below is read as that code again.
  Json reliable_connection() {
    const requester::Reliability &own = scenario_.reliability;
    Json made = {
        {"enable_retransmission_timeout", own.timeout_code != 0},
        {"retransmission_retry_count", whole("retries", own.retries, 0, kMostRetries, "retries")}};
    if (own.timeout_code)
      made["retransmission_timeout_value"] =
          whole("retransmission_timeout_value", 4.096e-3 * std::pow(2, own.timeout_code), 1,
                kMostTimeout, "ms");
    if (own.selective)
      notes_.emplace_back("reliability: retransmit selective: OTG's ports do as they like");
    if (scenario_.reorder)
      notes_.emplace_back("reliability: reorder accept: OTG's ports do as they like");
    return made;
  }

  Json cnp() {
    const congestion::CnpPacing &own = scenario_.cnp;
    if (own.mode != congestion::NpMode::HoldOff)
      notes_.emplace_back("cnp: mode: OTG's is hold-off, a CNP at once and then none for the time "
                          "of cnp_delay_timer");
    if (own.scope != congestion::CnpScope::Stream)
      notes_.emplace_back("cnp: scope: OTG's ports do as they like");
    const double us = static_cast<double>(own.interval_ns) / 1e3;
    return {{"cnp_delay_timer", whole("cnp_delay_timer", us, 0, kMostCnpTime, "us")}};
  }

  void options() {
    const Json connection = {{"choice", "reliable_connection"},
                             {"reliable_connection", reliable_connection()}};
    const Json notification = cnp();
    for (const std::string &name : names_) {
      const Host &host = hosts_[name];
      const Json dcqcn = host.dcqcn.is_null() ? Json{{"enable_dcqcn", false}} : host.dcqcn;
      const Json rocev2 = {
          {"cnp", notification}, {"connection_type", connection}, {"dcqcn_settings", dcqcn}};
      config_["options"]["per_port_options"].push_back(
          {{"port_name", name},
           {"protocols", Json::array({{{"choice", "rocev2"}, {"rocev2", rocev2}}})}});
    }
  }

  uint64_t target(const std::string &name, const Host &host) {
    if (host.top) {
      if (host.qps > 1 && host.dcqcn.value("enable_dcqcn", false))
        notes_.push_back(fmt::format("{}: its {} QPs share target_line_rate 100; here each begins "
                                     "with the line's rate",
                                     name, host.qps));
      return 100;
    }
    const double exact = host.share * host.qps;
    const auto there = static_cast<uint64_t>(std::clamp(std::round(exact), 1.0, 100.0));
    if (std::abs(static_cast<double>(there) - exact) > 1e-6)
      notes_.push_back(fmt::format("{}: its flows have {:.6g} % of the line: target_line_rate {}",
                                   name, exact, there));
    return there;
  }

  Status senders() {
    Json tx_ports = Json::array();
    for (const std::string &name : names_)
      if (const Host &host = hosts_[name]; !host.flows.empty())
        tx_ports.push_back(
            {{"port_name", name},
             {"transmit_type",
              {{"choice", "target_line_rate"},
               {"target_line_rate", {{"value", target(name, host)}, {"flows", host.flows}}}}}});
    config_["stateful_flows"]["rocev2"].push_back({{"tx_ports", tx_ports}});
    return {};
  }

  // Parts of the file that say nothing of ports and flows.
  void network_notes() {
    const std::set<std::string> ours = {"experiment", "vars",        "congestion",
                                        "cnp",        "reliability", "flows"};
    std::vector<std::string> others;
    (void)parse::with_yaml(experiment_.text, "", [&](const YAML::Node &root) -> Status {
      for (const auto &part : root)
        if (const std::string key = parse::scalar(part.first); !ours.contains(key))
          others.push_back(
              key == "topology" ? fmt::format("topology ({}, but for the rate of its hosts)",
                                              simulate::kind_name(scenario_.topology.kind))
              : key == "queue" && scenario_.queue.pfc.on ? "queue (but for the priorities of pfc)"
              : key == "sweep"                           ? "sweep (the values are the file's own)"
                                                         : key);
      return {};
    });
    notes_.push_back(fmt::format("not in OTG: {}", fmt::join(others, ", ")));
  }

  void flow_notes() {
    for (const auto &[text, flows] : flow_notes_)
      notes_.push_back(fmt::format(
          "flow '{}'{}: {}", flows.front(),
          flows.size() == 1 ? "" : fmt::format(" and {} more", flows.size() - 1), text));
  }

  const experiment::Experiment &experiment_;
  const simulate::Scenario &scenario_;
  std::vector<std::string> names_; // of hosts
  std::map<std::string, Host> hosts_;
  std::set<std::string> flow_names_;
  std::map<std::string, std::vector<std::string>> flow_notes_; // the flows of a note
  std::vector<std::string> notes_;
  Json config_ = {{"ports", Json::array()}, {"layer1", Json::array()}};
};

} // namespace

Result<ExportedConfiguration> export_otg(const experiment::Experiment &experiment) {
  if (const auto &jobs = experiment.scenario.jobs; !jobs.empty())
    return Error{fmt::format("collective '{}': OTG has no messages that wait for others",
                             jobs.front().job.name),
                 "flows"};
  return Exporter(experiment).make();
}

} // namespace xr::importers
