// SPDX-License-Identifier: Apache-2.0
#include "importers/otg.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "importers/experiment_text.h"
#include "importers/otg_file.h"
#include "parse/value.h"
#include "parse/words.h"

namespace xr::importers {

namespace {

constexpr uint64_t kDuration = 20'000'000; // ns: flows of OTG run until they are stopped
constexpr uint64_t kMbit = 100'000;
constexpr unsigned kMostTimeout = 31; // of the code

class Importer {
public:
  Importer(const OtgFile &file, std::string name) : file_(file), name_(std::move(name)) {}

  Result<ImportedExperiment> make() {
    out_.comments = {"Imported from OTG. Flows of OTG run until they are stopped: duration is "
                     "not from there."};
    out_.name = "OTG: " + name_.substr(name_.rfind('/') + 1);
    out_.duration_ns = kDuration;
    out_.sample_ns = kDuration / 200;
    XR_TRY(hosts());
    XR_TRY(port());
    XR_TRY(flows());
    out_.expect = {"sum(flows.drops) == 0", "sum(flows.failed) == 0"};
    const std::set<std::string> notes(file_.notes.begin(), file_.notes.end());
    notes_.insert(notes_.end(), notes.begin(), notes.end());
    const std::set<std::string> unused(file_.unused.begin(), file_.unused.end());
    if (!unused.empty())
      notes_.push_back(fmt::format("without an effect here: {}", fmt::join(unused, ", ")));
    return ImportedExperiment{out_.yaml(), std::move(notes_)};
  }

private:
  Error wrong(const std::string &what, std::string hint = {}) const {
    return {fmt::format("{}: {}", name_, what), std::move(hint)};
  }

  // A host is a port of OTG. An address that no device has is a host of its own, unless a flow says
  // by its rx_endpoint at which port it arrives.
  std::string sending(const OtgFlow &flow) const { return file_.qps.at(flow.tx).port; }
  std::string receiving(const OtgFlow &flow) const {
    const std::string &address = file_.qps.at(flow.tx).destination;
    if (const auto own = file_.port_of_address.find(address); own != file_.port_of_address.end())
      return own->second;
    for (const OtgFlow &other : file_.flows)
      if (file_.qps.at(other.tx).destination == address && !other.rx.empty()) {
        if (const auto qp = file_.qps.find(other.rx); qp != file_.qps.end())
          return qp->second.port;
        return other.rx;
      }
    return address;
  }

  Status check_flow(const OtgFlow &flow) const {
    if (flow.port != sending(flow))
      return wrong(fmt::format("flow '{}': its QP '{}' is of port '{}', not of '{}'", flow.name,
                               flow.tx, sending(flow), flow.port),
                   "the tx_ports entry of the QP's own port");
    if (!flow.rx.empty() && !file_.qps.contains(flow.rx) && !is_in(file_.port_names, flow.rx))
      return wrong(
          fmt::format("flow '{}': rx_endpoint '{}' is neither a QP nor a port", flow.name, flow.rx),
          "a qp_name of the devices, or a name of ports");
    if (sending(flow) == receiving(flow))
      return wrong(fmt::format("flow '{}': both of its ends are port '{}'", flow.name, flow.port),
                   "a destination_ip_address of another port");
    return {};
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
    for (const OtgFlow &flow : file_.flows) {
      if (Status s = check_flow(flow); !s)
        return s;
      if (flow.percent)
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
    for (const OtgFlow *flow : flows_) {
      add(senders_, sending(*flow));
      add(receivers_, receiving(*flow));
      for (const std::string &port : {sending(*flow), receiving(*flow)}) {
        const auto speed = file_.mbit.find(port);
        if (speed != file_.mbit.end() && mbit && mbit != speed->second)
          return wrong("the ports have different speeds", "an experiment has one rate of hosts");
        if (speed != file_.mbit.end())
          mbit = speed->second;
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
    std::optional<OtgFlowControl> control;
    for (const auto &[port, own] : file_.flow_control) {
      if (control && *control != own)
        return wrong("the ports have different flow_control", "the same layer1 for all ports");
      control = own;
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

  const OtgPort *options_of(const std::string &port) const {
    const auto at = file_.ports.find(port);
    return at == file_.ports.end() ? nullptr : &at->second;
  }

  // An experiment has one timer and one notification point; DCQCN is of each flow.
  Status port() {
    const OtgPort *first = nullptr;
    for (const std::string &port : sorted_senders()) {
      const OtgPort *own = options_of(port);
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
  Status cnps(const OtgPort *sender) {
    std::optional<uint64_t> interval;
    for (const auto &[port, own] : file_.ports) {
      const bool sends = is_in(sorted_senders(), port);
      if (own.given && !sends)
        notes_.push_back(fmt::format("options of {}, which sends nothing: only cnp_delay_timer, if "
                                     "it receives",
                                     port));
      if (!is_in(receivers_, port) || !own.cnp_interval_us)
        continue;
      if (interval && *interval != *own.cnp_interval_us)
        return wrong(fmt::format("{} has other options than a port before it", port),
                     "the same cnp_delay_timer for all ports");
      interval = own.cnp_interval_us;
    }
    if (!interval && sender)
      interval = sender->cnp_interval_us;
    if (interval)
      out_.cnp = fmt::format("interval: {}us", *interval);
    return {};
  }

  void sender_notes(const std::string &port, const OtgPort &own) {
    if (!own.dcqcn && !own.parameters.empty())
      notes_.push_back(fmt::format("dcqcn_settings of {}: DCQCN is not enabled", port));
    if (!own.timer && (own.timeout_ms || own.retries))
      notes_.push_back(
          fmt::format("retransmission_timeout_value of {}: the timer is not enabled", port));
  }
  std::vector<std::string> sorted_senders() const {
    std::vector<std::string> ports;
    for (const OtgFlow *flow : flows_)
      add(ports, flow->port);
    return ports;
  }
  static bool same(const OtgPort &a, const OtgPort &b) {
    return a.cnp_interval_us == b.cnp_interval_us && a.timeout_ms == b.timeout_ms &&
           a.retries == b.retries && a.timer == b.timer;
  }

  // The timer of an RNIC is 4.096 us x 2^code: the next one above.
  void reliability(const OtgPort &port) {
    std::vector<std::string> words;
    if (!port.timer) {
      words.emplace_back("timeout: 0");
    } else if (port.timeout_ms) {
      unsigned code = 1;
      while (code < kMostTimeout &&
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
  std::string pace(const OtgFlow &flow) const {
    const auto beside = std::ranges::count_if(
        flows_, [&](const OtgFlow *other) { return other->port == flow.port; });
    const std::string share =
        fmt::format("{:.6g}%", static_cast<double>(flow.percent) / static_cast<double>(beside));
    const OtgPort *options = options_of(flow.port);
    if (!options || !options->dcqcn)
      return " rate " + share;
    std::string words = " cc dcqcn preset otg line " + share;
    for (const OtgDcqcn &otg_dcqcn : options->parameters)
      words += otg_dcqcn.value.empty()
                   ? fmt::format(" {}={:.10g}mbit", otg_dcqcn.name,
                                 otg_dcqcn.of_line / 100 * static_cast<double>(line_mbit_))
                   : fmt::format(" {}={}", otg_dcqcn.name, otg_dcqcn.value);
    return words;
  }

  // Names here are shorter, and without blanks.
  Result<std::string> name_of(const OtgFlow &flow) {
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
    for (const OtgFlow *otg_flow : flows_) {
      const OtgFlow &flow = *otg_flow;
      const OtgQp &qp = file_.qps.at(flow.tx);
      const auto name = XR_TRY(name_of(flow));
      std::string words =
          fmt::format("{} size {} pmtu {} dscp {} ecn {} port {} psn {}", flow.verb,
                      flow.size * flow.unit, qp.mtu, qp.dscp, qp.ecn, qp.udp_port, qp.psn);
      if (!qp.va.empty())
        words += " va 0x" + qp.va;
      if (!qp.rkey.empty())
        words += " rkey 0x" + qp.rkey;
      if (!flow.immediate.empty())
        words += " imm 0x" + flow.immediate;
      words += pace(flow);
      out_.flows.push_back(
          {name, host_of(flow.port, true), host_of(receiving(flow), false), words});
      numbers_.push_back(fmt::format("{}: {}", name, qp.number));
    }
    notes_.push_back(
        fmt::format("source_qp_number: QPNs are those of the place where it runs, not {}",
                    fmt::join(numbers_, ", ")));
    return {};
  }

  const OtgFile &file_;
  std::string name_;
  ExperimentText out_;
  uint64_t line_mbit_ = kMbit;
  std::vector<const OtgFlow *> flows_; // that send
  std::vector<std::string> senders_, receivers_, numbers_, notes_;
  std::string receiver_; // the port that is the star's receiver where ports send and receive
  std::set<std::string> names_;
};

} // namespace

Result<ImportedExperiment> otg(const std::string &text, const std::string &name) {
  const auto file = XR_TRY(read_otg(text, name));
  return Importer(file, name).make();
}

} // namespace xr::importers
