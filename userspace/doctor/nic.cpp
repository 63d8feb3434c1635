// SPDX-License-Identifier: Apache-2.0
#include "doctor/nic.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "doctor/unwrap.h"

namespace xr::doctor {

namespace {

struct Sum {
  uint64_t value = 0;
  bool wrapped = false, restarted = false, known = true;
};

Sum sum_of(const std::vector<const char *> &names, unsigned bits, const Comparison &of) {
  Sum sum;
  for (const char *name : names) {
    const auto now = of.nic_now.counters.find(name);
    if (now == of.nic_now.counters.end()) {
      sum.known = false;
      return sum;
    }
    const auto before = of.nic_before.counters.find(name);
    const bool interval = of.wire_before && before != of.nic_before.counters.end();
    const Step item = interval ? step(before->second, now->second, bits) : Step{now->second};
    sum.value += item.counted;
    sum.wrapped = sum.wrapped || item.wrapped;
    sum.restarted = sum.restarted || item.restarted;
  }
  return sum;
}

double seconds_between(uint64_t a, uint64_t b) {
  return static_cast<double>(a > b ? a - b : b - a) / 1e9;
}

class Judge {
public:
  Judge(const Comparison &of, const WireCounts &wire) : of_(of), wire_(wire) {}

  void judge(NicEquation &e, Wire quantity, const Sum &nic, unsigned bits) const {
    const auto decide = [&](const char *verdict, std::string note) {
      e.verdict = verdict;
      e.note = std::move(note);
      if (nic.wrapped)
        e.note += fmt::format("{}the {}-bit counter began again at 0 meanwhile: undone",
                              e.note.empty() ? "" : "; ", bits);
    };
    if (!e.wire)
      return decide("unseen", unseen(quantity));
    if (*e.wire == e.nic)
      return decide("equal", "");
    if (nic.restarted)
      return decide("explained", "the NIC's counter went back: the driver was restarted meanwhile");
    if (std::string why = nature(e, quantity); !why.empty())
      return decide("explained", std::move(why));
    if (!of_.wire_before && e.nic > *e.wire)
      return decide("uncertain", "counted before the port was attached, or on a way that does not "
                                 "pass it, or lost before it: --interval shows which");
    if (!of_.wire_before && bits < 64 && *e.wire >> bits &&
        (*e.wire & ((uint64_t{1} << bits) - 1)) == e.nic)
      return decide("explained", fmt::format("the NIC's {} bits began again at 0", bits));
    if (within_reading(e))
      return decide("explained", "within what passes between the two readings");
    decide("mismatch", e.nic > *e.wire ? "the NIC had some that did not pass this port"
                                       : "some that passed this port the NIC has not counted");
  }

private:
  std::string unseen(Wire quantity) const {
    if (quantity == Wire::BadIcrcs)
      return "a port checks no iCRCs: `analyze` does, in a capture";
    if (!of_.wire_now.tracked)
      return "streams are not tracked";
    if (!wire_.responses && !wire_.other_responses)
      return "no stream of responses shows which way the NAKs went";
    return "NAKs pass in more than one direction, and are not counted by it";
  }

  // Known reasons why NIC and wire count differently.
  std::string nature(const NicEquation &e, Wire quantity) const {
    const auto between = [&](Wire gaps, Wire jumps) {
      return quantity == gaps && wire_[jumps] && e.nic > *e.wire && e.nic <= *wire_[jumps];
    };
    if (between(Wire::RequestGaps, Wire::RequestJumps))
      return fmt::format("retransmissions were lost again: no gap, but a jump ({} in all)",
                         *wire_[Wire::RequestJumps]);
    if (between(Wire::ResponseGaps, Wire::ResponseJumps))
      return fmt::format("responses were lost again: no gap, but a jump ({} in all)",
                         *wire_[Wire::ResponseJumps]);
    const uint64_t rewinds = wire_[Wire::Rewinds].value_or(0);
    if (quantity == Wire::RequestGaps && e.nic < *e.wire && rewinds && e.nic >= rewinds)
      return fmt::format("gaps of one flight are one to the NIC, which has asked for it all again "
                         "({} rewinds)",
                         rewinds);
    if (quantity == Wire::Duplicates && e.nic < *e.wire &&
        static_cast<double>(*e.wire - e.nic) <= behind_jumps(*e.wire))
      return "packets after a gap came again: new to the NIC, which had dropped them";
    return "";
  }

  // The number of duplicates that may follow jumps. The length of a retransmission round is
  // unknown: after a jump it may be twice the average, but not more than the packets in flight.
  // Without rewinds, each jump has one packet.
  double behind_jumps(uint64_t duplicates) const {
    constexpr double kFlight = 1 << 16; // packets
    const auto jumps = static_cast<double>(wire_[Wire::RequestJumps].value_or(0));
    const auto rewinds = static_cast<double>(wire_[Wire::Rewinds].value_or(0));
    if (rewinds == 0)
      return jumps;
    return jumps * std::min(2 * static_cast<double>(duplicates) / rewinds, kFlight);
  }

  // The readings take time and are not simultaneous, so packets may be in flight at both ends of
  // the interval. A difference below one packet is zero.
  bool within_reading(const NicEquation &e) const {
    if (!of_.wire_before)
      return false;
    const double seconds = seconds_between(of_.wire_now.time_ns, of_.wire_before->time_ns);
    const double apart = seconds_between(of_.nic_now.time_ns, of_.wire_now.time_ns) +
                         seconds_between(of_.nic_before.time_ns, of_.wire_before->time_ns) +
                         2 * static_cast<double>(of_.lifespan_ns) / 1e9;
    const auto more = static_cast<double>(std::max(e.nic, *e.wire));
    const auto less = static_cast<double>(std::min(e.nic, *e.wire));
    return seconds > 0 && more - less <= std::floor(more * apart / seconds);
  }

  const Comparison &of_;
  const WireCounts &wire_;
};

bool is_nak(Wire wire) {
  return wire == Wire::PsnNaks || wire == Wire::RnrNaks || wire == Wire::AccessNaks ||
         wire == Wire::InvalidNaks;
}

// NAKs are counted per port. They belong to this direction if the other one has no responses.
std::optional<uint64_t> naks(const WireCounts &wire, Wire which) {
  if (wire[which] == 0 || (!wire.responses && wire.other_responses))
    return 0;
  return wire.responses && !wire.other_responses ? wire[which] : std::nullopt;
}

WireCounts wire_of(const Comparison &of, Side side, const std::vector<Address> &nic) {
  const WireCounts now = count_wire(of.wire_now, side, nic);
  return of.wire_before ? difference(now, count_wire(*of.wire_before, side, nic)) : now;
}

} // namespace

NicReport compare(const host::RdmaPort &port, const Comparison &of) {
  NicReport report;
  report.device = port.name();
  report.driver = port.driver;
  if (of.wire_before)
    report.seconds = seconds_between(of.wire_now.time_ns, of.wire_before->time_ns);
  const WireCounts to = wire_of(of, Side::ToNic, port.addresses);
  const WireCounts from = wire_of(of, Side::FromNic, port.addresses);
  for (const Equation &equation : equations_of(port.driver)) {
    const bool here = equation.side == Side::ToNic;
    const WireCounts &wire = here ? to : from;
    // Without packets from the NIC, all packets were sent to it.
    if (!wire.packets && (!here || from.packets))
      continue;
    const Sum nic = sum_of(equation.counters, equation.bits, of);
    if (!nic.known)
      continue;
    NicEquation e;
    e.equation = fmt::format("{} = {}", equation.words, fmt::join(equation.counters, " + "));
    e.wire = is_nak(equation.wire) ? naks(wire, equation.wire) : wire[equation.wire];
    e.nic = nic.value;
    Judge(of, wire).judge(e, equation.wire, nic, equation.bits);
    report.equations.push_back(std::move(e));
  }
  if (!to.packets && !from.packets && !port.addresses.empty() && !of.wire_now.streams.empty())
    report.note = "no stream on this port goes to or from an address of " + port.name();
  else if (of.wire_now.totals.streams_forgotten)
    report.note = "idle streams were forgotten, and their counts with them";
  return report;
}

Result<Nic> Nic::open(const host::Files &files, const std::string &name) {
  Nic nic;
  auto port = XR_TRY(host::find_rdma(files, name));
  nic.files_ = files;
  nic.port_ = std::move(port);
  if (nic.port_.iwarp)
    return Error{fmt::format("{} speaks iWARP, which is RDMA over TCP: no RoCE", name),
                 "`xdp-roce doctor` lists what there is"};
  if (equations_of(nic.port_.driver).empty())
    return Error{fmt::format("the counters of {} are not known here (driver: {})", name,
                             nic.port_.driver.empty() ? "unknown" : nic.port_.driver),
                 "those of mlx5, irdma, bnxt_re and rxe are"};
  constexpr uint64_t kUsual = 10; // ms
  nic.lifespan_ns_ =
      files.number(nic.port_.directory() + "/hw_counters/lifespan").value_or(kUsual) * 1'000'000;
  nic.read();
  if (nic.now_.counters.empty())
    return Error{fmt::format("{} has no hw_counters", nic.port_.name())};
  return nic;
}

void Nic::read() {
  before_ = std::move(now_);
  now_ = {host::read_hw_counters(files_, port_), monotonic_ns()};
}

NicReport Nic::compare(const Snapshot &now, const Snapshot *before) const {
  return doctor::compare(port_, {now, before, now_, before_, lifespan_ns_});
}

} // namespace xr::doctor
