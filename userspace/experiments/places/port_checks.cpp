// SPDX-License-Identifier: Apache-2.0
#include "places/port_checks.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/clock.h"
#include "datapath/status.h"
#include "endpoint/port_facts.h"
#include "parse/address.h"
#include "parse/value.h"

namespace xr::places {

namespace {

using experiment::CaptureSetup;
using simulate::Event;

Error at_port(const RunPort &port, const Error &error) {
  return {fmt::format("{}: {}", port.ifname, error.message), error.hint};
}

Status check_speed_of(const RunPort &port, uint64_t reported, uint64_t given, uint64_t needed,
                      const char *what) {
  const uint64_t speed = reported ? reported : given;
  if (!needed)
    return {};
  if (!speed)
    return at_port(port, {"its driver does not report its speed", "speed=RATE in --on ports"});
  if (needed <= speed)
    return {};
  return at_port(port, {fmt::format("{} of {} is more than its {}", what, parse::rate_text(needed),
                                    parse::rate_text(speed)),
                        fmt::format("--scale 1/{}, or lower rates", (needed + speed - 1) / speed)});
}

Status check_port(const RunPort &port, uint64_t given, uint64_t needed, const char *what) {
  if (!port.here())
    return {};
  const auto facts = endpoint::read_port_facts({port.ifname, port.netns});
  if (!facts)
    return at_port(port, facts.error());
  const auto status = datapath::status_of({port.ifname, port.netns});
  if (!status)
    return at_port(port, status.error());
  if (status.get().state != AttachState::NotAttached)
    return at_port(port, {"it is attached already, and a run counts from zero",
                          fmt::format("xdp-roce detach {}", port.ifname)});
  return check_speed_of(port, facts.get().line_bits, given, needed, what);
}

// The senders' links together, at most.
uint64_t offered(const Plan &plan) {
  uint64_t sum = 0;
  for (const PlannedFlow &flow : plan.flows)
    sum += flow.peak_bps;
  return sum;
}

Status check_schedule(const experiment::Experiment &experiment, const Plan &plan,
                      const RunPorts &named) {
  for (const Event &event : experiment.scenario.schedule) {
    const bool of_flow = event.kind == Event::Kind::Start || event.kind == Event::Kind::Stop;
    if (of_flow && !plan.ours)
      return Error{fmt::format("schedule: {} is not started or stopped here", event.target),
                   "send=IF; other hosts start their flows by themselves"};
    if (!of_flow && !named.wire())
      return Error{fmt::format("schedule: {} has no queue here", event.target), "left=IF,right=IF"};
  }
  return {};
}

} // namespace

Status check_experiment(const experiment::Experiment &experiment, const Plan &plan,
                        const RunPorts &named) {
  if (named.sender.here() && named.sender.ifname == named.receiver.ifname)
    return Error{fmt::format("{} cannot be both send and respond", named.sender.ifname),
                 "two ports, or two roles on two machines"};
  for (const RunPort *end : {&named.sender, &named.receiver})
    if (end->here() && (end->ifname == named.left.ifname || end->ifname == named.right.ifname))
      return Error{fmt::format("{} cannot be both a port of the wire and an end", end->ifname),
                   "a port of its own"};
  if (Status s = check_schedule(experiment, plan, named); !s)
    return s;
  for (const CaptureSetup &capture : plan.captures) {
    using enum CaptureSetup::Point;
    const bool there = capture.port == Senders     ? named.sender.here()
                       : capture.port == Receivers ? named.receiver.here()
                                                   : named.wire();
    if (!there)
      return Error{
          fmt::format("capture: there is no port {}", experiment::capture_port_name(capture.port)),
          "senders: send=IF; left, right: left=IF,right=IF; receivers: respond=IF"};
  }
  return {};
}

Status check_ports(const Plan &plan, const RunPorts &ports, uint64_t speed) {
  if (Status s = check_port(ports.left, speed, 0, ""); !s)
    return s;
  if (Status s = check_port(ports.right, speed, plan.forward.rate, "the link's rate"); !s)
    return s;
  if (Status s = check_port(ports.sender, speed, offered(plan), "the senders' rate"); !s)
    return s;
  return check_port(ports.receiver, speed, 0, "");
}

std::vector<Address> addresses_of(const RunPort &port) {
  std::vector<Address> all;
  if (!port.here())
    return all;
  if (const auto facts = endpoint::read_port_facts({port.ifname, port.netns}))
    std::ranges::copy_if(facts.get().addresses, std::back_inserter(all), packet::is_mapped);
  return all;
}

Status announce(const RunPort &port, const Address &own) {
  const auto facts = endpoint::read_port_facts({port.ifname, port.netns});
  if (!facts)
    return at_port(port, facts.error());
  Status done = endpoint::announce(facts.get(), own);
  return done ? done : Status(at_port(port, done.error()));
}

Result<std::optional<packet::Mac>> find_mac(const RunPort &sender, const Plan &plan,
                                            uint64_t patience_ns,
                                            const std::function<bool()> &go_on) {
  const auto port = endpoint::read_port_facts({sender.ifname, sender.netns});
  if (!port)
    return at_port(sender, port.error());
  const packet::Path &path = plan.flows.front().flow.path;
  const uint64_t until = monotonic_ns() + patience_ns;
  while (true) {
    const auto mac = endpoint::resolve(port.get(), path.src, path.dst, {}, port.get().mac);
    if (mac)
      return std::optional(mac.get());
    if (monotonic_ns() >= until)
      return at_port(sender, {fmt::format("{} does not answer ARP", parse::address_text(path.dst)),
                              "dst-mac=MAC, dst=IP, or start the role respond before"});
    if (!go_on())
      return Error{"interrupted before the start"};
  }
}

} // namespace xr::places
