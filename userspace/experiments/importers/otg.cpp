// SPDX-License-Identifier: Apache-2.0
#include "importers/otg.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "importers/experiment_text.h"
#include "importers/otg_text.h"
#include "otg/config.h"
#include "parse/address.h"
#include "parse/value.h"
#include "parse/words.h"

namespace xr::importers {

namespace {

constexpr uint64_t kDuration = 20'000'000; // ns: flows of OTG run until they are stopped
constexpr uint64_t kMbit = 100'000;
constexpr uint16_t kPort = 49152; // OTG's default of udp_source_port
constexpr const char *kVerbs[] = {"write", "write-imm", "send", "send-imm", "read"};
constexpr const char *kEcn[] = {"not-ect", "ect1", "ect0", "ce"}; // by the two bits
constexpr unsigned kMostTimeoutExponent = 31;                     // of the code

class OtgImporter {
public:
  OtgImporter(const otg::Config &config, std::string name, std::vector<std::string> notes)
      : config_(config), name_(std::move(name)), notes_(std::move(notes)) {}

  Result<ImportedExperiment> make() {
    out_.comments = {"Imported from OTG. Flows of OTG run until they are stopped: duration is "
                     "not from there."};
    out_.name = "OTG: " + name_.substr(name_.rfind('/') + 1);
    out_.duration_ns = kDuration;
    out_.sample_ns = kDuration / 200;
    XR_TRY(possible());
    XR_TRY(hosts());
    XR_TRY(port());
    XR_TRY(flows());
    out_.expect = {"sum(flows.drops) == 0", "sum(flows.failed) == 0"};
    return ImportedExperiment{out_.yaml(), std::move(notes_)};
  }

private:
  Error wrong(const std::string &what, std::string hint = {}) const {
    return {fmt::format("{}: {}", name_, what), std::move(hint)};
  }

  // What a configuration may have and an experiment does not.
  Status possible() {
    if (config_.flows.empty())
      return wrong("there is no flow of RoCEv2", "stateful_flows: {rocev2: [{tx_ports: [...]}]}");
    for (const otg::Ethernet &ethernet : config_.ethernets)
      if (!ethernet.vlans.empty())
        return wrong(fmt::format("ethernet '{}': vlans: an experiment has none", ethernet.name),
                     "an ethernet without vlans");
    for (const otg::Peer &peer : config_.peers)
      if (!config_.interfaces[peer.interface].ipv4)
        return wrong(fmt::format("peer '{}': ipv6_interfaces: an experiment is of IPv4", peer.name),
                     "ipv4_interfaces");
    if (!config_.plain_flows.empty()) {
      std::vector<std::string> names;
      for (const otg::PlainFlow &flow : config_.plain_flows)
        names.push_back(flow.name);
      notes_.push_back(
          fmt::format("flows: only those of RoCEv2 are read: without {}", fmt::join(names, ", ")));
    }
    return {};
  }

  const otg::Peer &peer_of(const otg::StatefulFlow &flow) const {
    return config_.peers[config_.qps[flow.qp].peer];
  }

  // A host is a port of OTG. An address that no device has is a host of its own, unless a flow says
  // by its rx_endpoint at which port it arrives.
  std::string sending(const otg::StatefulFlow &flow) const { return config_.ports[flow.port].name; }
  std::string receiving(const otg::StatefulFlow &flow) const {
    const Address &address = peer_of(flow).destination;
    if (const auto own = ports_of_addresses_.find(address); own != ports_of_addresses_.end())
      return own->second;
    for (const otg::StatefulFlow &other : config_.flows)
      if (peer_of(other).destination == address && !other.rx.empty()) {
        if (const auto qp = ports_of_qps_.find(other.rx); qp != ports_of_qps_.end())
          return qp->second;
        return other.rx;
      }
    return parse::address_text(address);
  }
  void find_ports() {
    const auto port_of = [this](const otg::Interface &interface) {
      return config_.ports[config_.ethernets[interface.ethernet].port].name;
    };
    for (const otg::Interface &interface : config_.interfaces)
      ports_of_addresses_[interface.address] = port_of(interface);
    for (const otg::Qp &qp : config_.qps)
      ports_of_qps_[qp.name] = port_of(config_.interfaces[config_.peers[qp.peer].interface]);
  }

  static bool is_in(const std::vector<std::string> &all, const std::string &name) {
    return std::find(all.begin(), all.end(), name) != all.end();
  }
  static void add(std::vector<std::string> &all, const std::string &name) {
    if (!is_in(all, name))
      all.push_back(name);
  }
  static unsigned index_of(const std::vector<std::string> &all, const std::string &name) {
    return static_cast<unsigned>(std::find(all.begin(), all.end(), name) - all.begin());
  }

  // target_line_rate 0 is a port that sends nothing.
  Status senders() {
    std::vector<std::string> silent;
    find_ports();
    for (const otg::StatefulFlow &flow : config_.flows) {
      if (sending(flow) == receiving(flow))
        return wrong(
            fmt::format("flow '{}': both of its ends are port '{}'", flow.name, sending(flow)),
            "a destination_ip_address of another port");
      if (flow.percent > 0)
        flows_.push_back(&flow);
      else
        silent.push_back(flow.name);
    }
    if (flows_.empty())
      return wrong("no flow sends: target_line_rate is 0", "a value from 1 to 100");
    if (!silent.empty())
      notes_.push_back(
          fmt::format("target_line_rate 0 sends nothing: without {}", fmt::join(silent, ", ")));
    return {};
  }

  Status hosts() {
    if (Status s = senders(); !s)
      return s;
    uint64_t mbit = 0;
    for (const otg::StatefulFlow *flow : flows_) {
      add(senders_, sending(*flow));
      add(receivers_, receiving(*flow));
      for (const std::string &port : {sending(*flow), receiving(*flow)}) {
        const otg::Port *own = port_named(port);
        if (!own || !own->line_mbit)
          continue;
        if (mbit && mbit != own->line_mbit)
          return wrong("the ports have different speeds", "an experiment has one rate of hosts");
        mbit = own->line_mbit;
      }
    }
    line_mbit_ = mbit ? mbit : kMbit;
    out_.rate = parse::rate_text(line_mbit_ * 1'000'000);
    if (!mbit)
      notes_.push_back(fmt::format("there is no layer1 with a speed: {}", out_.rate));
    place();
    return flow_control();
  }

  // A port is full duplex: each direction has a queue of its own. Ports that only send or only
  // receive are two sides; with others, all are at one switch.
  void place() {
    const bool both = std::ranges::any_of(
        senders_, [this](const std::string &port) { return is_in(receivers_, port); });
    out_.star = both || receivers_.size() == 1;
    if (!both) {
      out_.senders = static_cast<unsigned>(
          out_.star ? senders_.size() : std::max(senders_.size(), receivers_.size()));
      // No port shares its line with another.
      out_.core_rate = parse::rate_text(line_mbit_ * 1'000'000 * out_.senders);
      return;
    }
    notes_.emplace_back("ports send and receive: they are hosts of one switch, which --on virtual "
                        "has (namespaces have one direction)");
    receiver_ = receivers_.front();
    for (const std::string &port : receivers_)
      add(senders_, port);
    std::erase(senders_, receiver_);
    out_.senders = static_cast<unsigned>(senders_.size());
  }
  std::string host_of(const std::string &port, bool sends) const {
    if (!receiver_.empty())
      return port == receiver_ ? "receiver"
                               : fmt::format("sender-{}", index_of(senders_, port) + 1);
    if (sends)
      return fmt::format("sender-{}", index_of(senders_, port) + 1);
    return out_.star ? "receiver" : fmt::format("receiver-{}", index_of(receivers_, port) + 1);
  }

  // PFC of the switch towards all ports.
  Status flow_control() {
    std::optional<otg::FlowControl> control;
    for (const otg::Port &port : config_.ports) {
      if (control && port.flow_control && *control != *port.flow_control)
        return wrong("the ports have different flow_control", "the same layer1 for all ports");
      if (port.flow_control)
        control = port.flow_control;
    }
    if (!control || !control->priorities)
      return {};
    out_.queue += " pfc xoff 200k xon 150k";
    std::vector<unsigned> priorities;
    for (unsigned i = 0; i < 8; i++)
      if (control->priorities >> i & 1)
        priorities.push_back(i);
    if (priorities.size() < 8)
      out_.queue += fmt::format(" priorities {}", fmt::join(priorities, ","));
    notes_.push_back(fmt::format(
        "flow_control {}: pfc of the links, priorities {}; its thresholds are not from "
        "there",
        control->whole_port ? "ieee_802_3x" : "ieee_802_1qbb", fmt::join(priorities, ",")));
    return {};
  }

  const otg::Port *port_named(const std::string &name) const {
    const auto at = std::ranges::find(config_.ports, name, &otg::Port::name);
    return at == config_.ports.end() ? nullptr : &*at;
  }
  // nullptr: it has none.
  const otg::PortOptions *options_of(const std::string &name) const {
    const otg::Port *port = port_named(name);
    return port && port->options.given ? &port->options : nullptr;
  }

  // An experiment has one timer and one notification point; DCQCN is of each flow.
  Status port() {
    const otg::PortOptions *first = nullptr;
    for (const std::string &port : sorted_senders()) {
      const otg::PortOptions *own = options_of(port);
      if (first && own && !same(*first, *own))
        return wrong(fmt::format("{} has other options than a port before it", port),
                     "the same CNP and retransmission options for all ports");
      first = first ? first : own;
      if (own)
        sender_notes(port, *own);
    }
    if (first)
      reliability(*first);
    return cnps(first);
  }

  // CNPs are sent by the ports that receive; without options there, as the first sender's.
  Status cnps(const otg::PortOptions *sender) {
    std::optional<uint64_t> interval;
    for (const otg::Port &each : config_.ports) {
      const std::string &port = each.name;
      const otg::PortOptions &own = each.options;
      const bool sends = is_in(sorted_senders(), port);
      if (own.given && !sends)
        notes_.push_back(fmt::format("options of {}, which sends nothing: only cnp_delay_timer, if "
                                     "it receives",
                                     port));
      if (!is_in(receivers_, port) || !own.interval_given)
        continue;
      if (interval && *interval != own.cnp_interval_us)
        return wrong(fmt::format("{} has other options than a port before it", port),
                     "the same cnp_delay_timer for all ports");
      interval = own.cnp_interval_us;
    }
    if (!interval && sender && sender->interval_given)
      interval = sender->cnp_interval_us;
    if (interval)
      out_.cnp = fmt::format("interval: {}us", *interval);
    return {};
  }

  void sender_notes(const std::string &port, const otg::PortOptions &own) {
    if (!own.dcqcn && !own.parameters.empty())
      notes_.push_back(fmt::format("dcqcn_settings of {}: DCQCN is not enabled", port));
    if (!own.timer && (own.timeout_ms || own.retries))
      notes_.push_back(
          fmt::format("retransmission_timeout_value of {}: the timer is not enabled", port));
  }
  std::vector<std::string> sorted_senders() const {
    std::vector<std::string> ports;
    for (const otg::StatefulFlow *flow : flows_)
      add(ports, sending(*flow));
    return ports;
  }
  static bool same(const otg::PortOptions &a, const otg::PortOptions &b) {
    return a.interval_given == b.interval_given && a.cnp_interval_us == b.cnp_interval_us &&
           a.timeout_ms == b.timeout_ms && a.retries == b.retries && a.timer == b.timer;
  }

  // The timer of an RNIC is 4.096 us x 2^code: the next one above.
  void reliability(const otg::PortOptions &port) {
    std::vector<std::string> words;
    if (!port.timer) {
      words.emplace_back("timeout: 0");
    } else if (port.timeout_ms) {
      unsigned code = 1;
      while (code < kMostTimeoutExponent &&
             4.096e-3 * std::pow(2, code) < static_cast<double>(*port.timeout_ms))
        code++;
      words.push_back(fmt::format("timeout: {}", code));
      notes_.push_back(fmt::format("retransmission_timeout_value: {} ms is {:.4g} ms, the next of "
                                   "4.096 us x 2^N",
                                   *port.timeout_ms, 4.096e-3 * std::pow(2, code)));
    }
    if (port.retries)
      words.push_back(fmt::format("retries: {}", *port.retries));
    out_.reliability = fmt::format("{}", fmt::join(words, ", "));
  }

  // The port's share of the line is for all of its flows: their rate, or with DCQCN the rate that
  // it begins with and does not exceed.
  std::string pace(const otg::StatefulFlow &flow) const {
    const auto beside = std::ranges::count_if(
        flows_, [&](const otg::StatefulFlow *other) { return other->port == flow.port; });
    const std::string share = fmt::format("{:.6g}%", flow.percent / static_cast<double>(beside));
    const otg::PortOptions *options = options_of(sending(flow));
    if (!options || !options->dcqcn)
      return " rate " + share;
    std::string words = " cc dcqcn preset otg line " + share;
    for (const otg::DcqcnParameter &parameter : options->parameters)
      words += parameter.value.empty()
                   ? fmt::format(" {}={:.10g}mbit", parameter.name,
                                 parameter.of_line / 100 * static_cast<double>(line_mbit_))
                   : fmt::format(" {}={}", parameter.name, parameter.value);
    return words;
  }

  // Names here are shorter, and without blanks.
  Result<std::string> name_of(const otg::StatefulFlow &flow) {
    std::string ours = flow.name;
    for (char &c : ours)
      if (!parse::name(std::string(1, c)))
        c = '-';
    if (const auto name = parse::name(ours); !name)
      return wrong(fmt::format("flow '{}': {}", flow.name, name.error().message),
                   name.error().hint);
    if (!names_.insert(ours).second)
      return wrong(fmt::format("there are two flows '{}'", ours), "each has a name of its own");
    if (ours != flow.name)
      notes_.push_back(fmt::format("flow '{}' is {}", flow.name, ours));
    return ours;
  }

  Status flows() {
    for (const otg::StatefulFlow *otg_flow : flows_) {
      const otg::StatefulFlow &flow = *otg_flow;
      const otg::Qp &qp = config_.qps[flow.qp];
      const auto name = XR_TRY(name_of(flow));
      const bool immediate =
          flow.verb == otg::Verb::WriteImmediate || flow.verb == otg::Verb::SendImmediate;
      std::string words =
          fmt::format("{} size {} pmtu {} dscp {} ecn {} port {} psn {}",
                      kVerbs[static_cast<size_t>(flow.verb)], flow.bytes, peer_of(flow).pmtu,
                      qp.dscp, kEcn[qp.ecn], qp.udp_port.value_or(kPort), qp.psn);
      if (qp.va)
        words += fmt::format(" va {:#x}", qp.va);
      if (qp.rkey)
        words += fmt::format(" rkey {:#x}", qp.rkey);
      if (immediate)
        words += fmt::format(" imm {:#x}", flow.immediate);
      words += pace(flow);
      out_.flows.push_back(
          {name, host_of(sending(flow), true), host_of(receiving(flow), false), words});
      if (qp.number != 2) // it is set
        numbers_.push_back(fmt::format("{}: {}", name, qp.number));
    }
    if (!numbers_.empty())
      notes_.push_back(
          fmt::format("source_qp_number: QPNs are those of the place where it runs, not {}",
                      fmt::join(numbers_, ", ")));
    return {};
  }

  const otg::Config &config_;
  std::string name_;
  std::map<Address, std::string> ports_of_addresses_;
  std::map<std::string, std::string> ports_of_qps_;
  ExperimentText out_;
  uint64_t line_mbit_ = kMbit;
  std::vector<const otg::StatefulFlow *> flows_; // that send
  std::vector<std::string> senders_, receivers_, numbers_, notes_;
  std::string receiver_; // the port that is the star's receiver where ports send and receive
  std::set<std::string> names_;
};

} // namespace

Result<ImportedExperiment> otg(const std::string &text, const std::string &name) {
  otg::Json json = XR_TRY(otg_json(text, name));
  const std::vector<std::string> unused = keys_without_effect(json);
  otg::Findings findings;
  const otg::Config config = otg::read_config(json, findings);
  if (!config.lags.empty())
    findings.error("lags", {"LAGs are not simulated", "ports"});
  if (!config.lldp.empty())
    findings.error("lldp", {"LLDP is not simulated", "without it"});
  if (!findings.ok())
    return Error{fmt::format("{}: {}", name, fmt::join(findings.all_errors(), "\n  ")), "",
                 Error::Kind::Other, name};
  std::vector<std::string> notes = findings.all_warnings();
  if (!unused.empty())
    notes.push_back(fmt::format("without an effect here: {}", fmt::join(unused, ", ")));
  return OtgImporter(config, name, std::move(notes)).make();
}

} // namespace xr::importers
