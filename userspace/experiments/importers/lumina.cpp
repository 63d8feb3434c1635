// SPDX-License-Identifier: Apache-2.0
#include "importers/lumina.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "importers/experiment_text.h"
#include "importers/lumina_file.h"
#include "parse/value.h"

namespace xr::importers {

namespace {

using Type = LuminaEvent::Type;

constexpr size_t kMostRules = 64; // of a port
constexpr uint64_t kMostWindow = 1U << 20;
constexpr uint64_t kBuffer = 16'000'000;    // of the experiment's switches
constexpr double kRoundTrip = 4e-6;         // s: there and back, over two links each way
constexpr double kLuminaFrameOverhead = 82; // bytes of headers and FCS of a packet

Error at(const std::string &name, const LuminaEvent &event, const std::string &what,
         std::string hint = {}) {
  return {fmt::format("{}:{}: data-pkt-events: {}", name, event.line, what), std::move(hint)};
}

class LuminaImporter {
public:
  LuminaImporter(const LuminaFile &file, std::string name) : file_(file), name_(std::move(name)) {}

  Result<ImportedExperiment> make() {
    XR_TRY(check());
    out_.name = "Lumina: " + name_.substr(name_.rfind('/') + 1);
    out_.comments = {
        "Imported from Lumina's configuration. Its QP q is the flow qp-q; its events are rules,",
        "with its numbers plus 1: its qpn and psn count from 0, `qp` and `psn` from 1."};
    traffic();
    XR_TRY(rules());
    times();
    expectations();
    out_.captures = {"left", "right"};
    out_.analyze = true;
    notes();
    return ImportedExperiment{out_.yaml(), std::move(notes_)};
  }

private:
  // Lumina's own conditions, and what has no equivalent.
  Status check() const {
    std::set<std::tuple<uint64_t, uint64_t, uint64_t>> places;
    for (const LuminaEvent &event : file_.events) {
      if (event.qpn >= file_.qps)
        return at(name_, event, fmt::format("qpn {}: there are {} QPs", event.qpn, file_.qps),
                  "qpn counts from 0");
      if (event.psn != LuminaEvent::kAll && event.psn >= file_.packets())
        return at(name_, event,
                  fmt::format("psn {}: a message has {} packets", event.psn, file_.packets()),
                  "psn counts from 0");
      if (event.loses() && file_.tx_depth > 1)
        return at(name_, event, "with a tx-depth above 1 only ecn is possible", "tx-depth: 1");
      if (event.psn == LuminaEvent::kAll && file_.messages > 1 && loses(event.qpn))
        return at(name_, event, "psn all: with losses the QP can have one message only",
                  "num-msgs-per-qp: 1");
      if (!places.emplace(event.qpn, event.psn, event.iter).second)
        return at(name_, event, "there are two events at one packet", "one of them");
      if (event.type == Type::Ecn && !file_.responder.np.value_or(true))
        return Error{fmt::format("{}: dcqcn-np-enable: false: our receivers answer each ECN mark "
                                 "by their notification point",
                                 name_),
                     "dcqcn-np-enable: true, or no event of type ecn"};
    }
    if (file_.barrier_sync && file_.qps > 1 && file_.messages > 1)
      return Error{fmt::format("{}: barrier-sync: our senders do not wait for one another", name_),
                   "barrier-sync: false, or num-msgs-per-qp: 1"};
    return {};
  }
  bool loses(uint64_t qpn) const {
    return std::any_of(file_.events.begin(), file_.events.end(),
                       [&](const LuminaEvent &event) { return event.qpn == qpn && event.loses(); });
  }

  size_t gids() const {
    const size_t both =
        std::min(file_.requester.addresses.size(), file_.responder.addresses.size());
    return file_.multi_gid ? std::max<size_t>(both, 1) : 1;
  }

  void traffic() {
    out_.senders = static_cast<unsigned>(std::min<uint64_t>(gids(), file_.qps));
    out_.star = out_.senders == 1;
    out_.rate = rate_text();
    if (file_.requester.rp.value_or(false))
      out_.congestion = "dcqcn preset nvidia";
    if (file_.responder.cnp_interval_us)
      out_.cnp = fmt::format("interval: {}us", *file_.responder.cnp_interval_us);
    out_.reliability =
        fmt::format("timeout: {}, retries: {}, window: {}", file_.timeout, file_.retries,
                    std::min(kMostWindow, file_.tx_depth * file_.packets()));
    for (uint64_t qp = 0; qp < file_.qps; qp++) {
      const uint64_t gid = qp % out_.senders + 1;
      std::string words = fmt::format("{} size {} pmtu {} messages {}", file_.verb,
                                      file_.message_size, file_.mtu, file_.messages);
      if (!file_.dscps.empty())
        words += fmt::format(" dscp {}", file_.dscps[qp % file_.dscps.size()]);
      out_.flows.push_back({fmt::format("qp-{}", qp), fmt::format("sender-{}", gid),
                            out_.star ? "receiver" : fmt::format("receiver-{}", gid), words});
    }
  }

  // "100G"; "NONE" or nothing: that of the example.
  std::string rate_text() {
    std::string digits = file_.port_speed;
    if (digits.ends_with('G'))
      digits.pop_back();
    const auto gbit = parse::integer(digits, 1, 800);
    if (!gbit && !file_.port_speed.empty())
      notes_.push_back(fmt::format("port-speed {}: 100gbit", file_.port_speed));
    return fmt::format("{}gbit", gbit ? gbit.get() : 100);
  }
  double bits_per_second() const {
    const auto rate = parse::rate(out_.rate);
    return static_cast<double>(rate ? rate.get() : 1);
  }

  // How many rounds of retransmission the losses of a message make: Lumina's iter restarts with
  // each message, a stream's transmissions do not.
  uint64_t rounds(uint64_t qpn) const {
    uint64_t next = 1;
    for (bool found = true; found;) {
      found = std::any_of(file_.events.begin(), file_.events.end(), [&](const LuminaEvent &event) {
        return event.qpn == qpn && event.loses() && event.iter == next;
      });
      next += found;
    }
    return next - 1;
  }

  static const char *words_of(Type type) {
    switch (type) {
    case Type::Drop:
      return "drop";
    case Type::Ecn:
      return "ce force";
    default:
      return "corrupt icrc"; // which it does in the same way, by the IP identification
    }
  }

  Status rules() {
    for (uint64_t message = 0; message < file_.messages; message++)
      for (const LuminaEvent &event : file_.events) {
        const bool all = event.psn == LuminaEvent::kAll;
        if (all && message)
          continue; // the rule is for all packets of the QP
        const std::string psn =
            all ? "all" : fmt::format("{}", event.psn + 1 + message * file_.packets());
        const uint64_t iter = event.iter + (all ? 0 : message * rounds(event.qpn));
        if (out_.rules.size() == kMostRules)
          return at(name_, event,
                    fmt::format("the events of all messages are more than {} rules", kMostRules),
                    "fewer messages or events");
        out_.rules.push_back(fmt::format("qp {} psn {} iter {} {} name event-{}", event.qpn + 1,
                                         psn, iter, words_of(event.type), out_.rules.size() + 1));
        exact_.push_back(all ? 0 : event.psn + 1 + message * file_.packets());
      }
    return {};
  }

  // A lost retransmission, and a loss at the end of a message, wait for the timer. Any other loss
  // may: a QP needs the time of all its retries, and so does a switch whose buffer overflows.
  void times() {
    double most = 0;
    for (uint64_t qpn = 0; qpn < file_.qps; qpn++) {
      double timeouts = 0;
      for (const LuminaEvent &event : file_.events)
        timeouts +=
            event.qpn == qpn && event.loses() &&
            (event.iter > 1 || event.psn == LuminaEvent::kAll || event.psn + 1 == file_.packets());
      if (loses(qpn) || may_overflow())
        timeouts = std::max({timeouts, static_cast<double>(file_.retries), 1.0});
      most = std::max(most, timeouts * static_cast<double>(file_.messages));
    }
    const double timer = 4.096e-6 * std::pow(2, static_cast<double>(file_.timeout));
    const double bytes = static_cast<double>(file_.message_size) +
                         kLuminaFrameOverhead * static_cast<double>(file_.packets());
    const auto messages = static_cast<double>(file_.messages);
    const double sent = bytes * messages * static_cast<double>(file_.qps) * 8 / bits_per_second();
    const double waits = kRoundTrip * messages * static_cast<double>(3 + file_.events.size());
    const double seconds = 3 * sent + 2 * waits + 1.5 * most * timer;
    const double step = std::pow(10, std::floor(std::log10(seconds)));
    out_.duration_ns = static_cast<uint64_t>(std::llround(std::ceil(seconds / step) * step * 1e9));
    out_.sample_ns = std::max<uint64_t>(out_.duration_ns / 100, 1000);
  }

  bool may_overflow() const {
    const uint64_t window = std::min(kMostWindow, file_.tx_depth * file_.packets());
    return out_.senders > 1 && file_.qps * window * (file_.mtu + 82) > kBuffer;
  }

  void expectations() {
    out_.expect.push_back(fmt::format("count(flows.fct_ns) == {}", file_.qps));
    out_.expect.emplace_back("sum(flows.failed) == 0");
    for (size_t i = 0; i < exact_.size(); i++)
      if (exact_[i]) {
        out_.expect.push_back(fmt::format("rule('event-{}').acted == 1", i + 1));
        out_.expect.push_back(
            fmt::format("all(events('event-{}'), packet == {})", i + 1, exact_[i]));
      }
    if (std::any_of(file_.events.begin(), file_.events.end(),
                    [](const LuminaEvent &event) { return event.loses(); }))
      out_.expect.emplace_back("min(events.recovered) == 1");
    for (const Type type : {Type::Ecn, Type::Drop})
      if (std::any_of(file_.events.begin(), file_.events.end(), [&](const LuminaEvent &e) {
            return (e.type == Type::Ecn) == (type == Type::Ecn);
          }))
        out_.expect.emplace_back(type == Type::Ecn ? "sum(flows.cnps) > 0"
                                                   : "sum(flows.retransmitted) > 0");
  }

  // Settings of a host that only the other one's role has.
  void role_notes() {
    const LuminaHost &requester = file_.requester, &responder = file_.responder;
    std::vector<std::string> unused;
    const auto add = [&](bool given, const char *what) {
      if (given)
        unused.emplace_back(what);
    };
    add(requester.np.has_value(), "requester dcqcn-np-enable");
    add(requester.cnp_interval_us.has_value(), "requester min-time-between-cnps");
    add(responder.rp.has_value(), "responder dcqcn-rp-enable");
    add(!file_.multi_gid && (!requester.addresses.empty() || !responder.addresses.empty()),
        "ip-list");
    if (!unused.empty())
      notes_.push_back(fmt::format("without an effect here: {}", fmt::join(unused, ", ")));
  }

  void notes() {
    if (!file_.unused.empty())
      notes_.push_back(
          fmt::format("of Lumina's testbed, and not used: {}", fmt::join(file_.unused, ", ")));
    if (file_.repeats > 1)
      notes_.push_back(fmt::format("num-repeats: {}: run it as often", file_.repeats));
    if (file_.requester.slow_restart || file_.responder.slow_restart || file_.requester.adaptive ||
        file_.responder.adaptive)
      notes_.emplace_back("slow-restart and adaptive-retrans are of ConnectX NICs: our requester "
                          "and responder do not have them");
    if (file_.multi_gid && gids() == 1)
      notes_.emplace_back("multi-gid: there is one address in the ip-list of both hosts");
    if (file_.tx_depth > 1 || file_.messages > 1)
      notes_.emplace_back("tx-depth: a window of as many packets; a message may begin while the "
                          "last one of the window is not complete");
    role_notes();
  }

  const LuminaFile &file_;
  std::string name_;
  ExperimentText out_;
  std::vector<uint64_t> exact_; // by rule: the packet of its QP on which it acts; 0: several
  std::vector<std::string> notes_;
};

} // namespace

Result<ImportedExperiment> lumina(const std::string &text, const std::string &name) {
  const auto file = XR_TRY(read_lumina(text, name));
  return LuminaImporter(file, name).make();
}

} // namespace xr::importers
