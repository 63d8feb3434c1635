// SPDX-License-Identifier: Apache-2.0
#include "endpoint/session.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "afxdp/zero_copy.h"
#include "base/clock.h"
#include "endpoint/rates.h"
#include "host/netns.h"

namespace xr::endpoint {

using namespace std::chrono_literals;

namespace {

constexpr std::chrono::nanoseconds kPublish = 500ms;

// The host answers ARP and ND for its own addresses, unless they are to have another MAC.
std::vector<datapath::Endpoint> endpoints_of(const PortFacts &port,
                                             const std::vector<packet::Address> &addresses,
                                             const packet::Mac &mac) {
  std::vector<datapath::Endpoint> all;
  for (const packet::Address &address : addresses) {
    const bool hosts =
        std::find(port.addresses.begin(), port.addresses.end(), address) != port.addresses.end();
    all.push_back({address, !hosts || mac != port.mac});
  }
  return all;
}

std::string other_queues(const PortFacts &port, const QueueOptions &queues) {
  return fmt::format(
      "frames on other queues than {}-{} go to the host, answers too: the port has {} "
      "(--queues {}, --steer, or `ethtool -L {} combined {}`)",
      queues.first, queues.first + queues.count - 1, port.queues, port.queues, port.ifname,
      queues.count);
}

// Attach already noted that the driver has no native XDP; then it has no zero-copy either.
bool skb_mode_noted(const std::vector<std::string> &notes) {
  return std::any_of(notes.begin(), notes.end(), [](const std::string &note) {
    return note.find("skb mode") != std::string::npos;
  });
}

} // namespace

Status Session::open(const PortName &name, const std::vector<uint32_t> &cpus) {
  XR_TRY(host::check_processors(cpus));
  placement = host::Placement(cpus);
  port = XR_TRY(read_port_facts(name));
  topology = host::Topology::read(host::Files(), port.bus);
  drops_before = read_port_drops(port);
  return {};
}

void Session::add(std::unique_ptr<Worker> worker, bool stays, const host::ThreadNeeds &needs) {
  workers.add(std::move(worker), stays || placement.is_asked()
                                     ? placement.place(topology, needs)
                                     : PlacedThread{{}, "one queue: where the kernel puts it"});
}

void Session::add_queue(std::unique_ptr<Worker> worker, const QueueOptions &queues, size_t i) {
  add(std::move(worker), queues.count > 1, {.queue = queues.first + static_cast<uint32_t>(i)});
}

Status Session::listen(const datapath::AttachOptions &attach,
                       const std::vector<packet::Address> &addresses, const packet::Mac &mac,
                       bool promiscuous) {
  return listen(attach, endpoints_of(port, addresses, mac), promiscuous);
}

Status Session::listen(const datapath::AttachOptions &attach,
                       const std::vector<datapath::Endpoint> &endpoints, bool promiscuous) {
  auto open = datapath::Steering::open({port.ifname, port.netns}, attach, endpoints);
  if (!open)
    return open.error();
  steering.emplace(std::move(*open));
  udp_port = attach.udp_port;
  rates_file.emplace(steering->rates_file());
  notes = steering->notes();
  return promiscuous ? steering->go_promiscuous() : Status{};
}

Result<std::vector<std::unique_ptr<afxdp::Socket>>> Session::sockets(const QueueOptions &queues) {
  if (queues.first + queues.count > port.queues)
    return Error{fmt::format("there is no queue {}: the port has {}",
                             queues.first + queues.count - 1, port.queues),
                 fmt::format("`ethtool -l {}` shows them; they are numbered from 0", port.ifname)};
  const auto inside = XR_TRY(host::enter_netns(port.netns));
  const auto xdp = host::read_xdp_features(port.ifindex);
  const bool skb_mode = steering && steering->mode() == Mode::Skb;
  afxdp::SocketOptions options;
  options.ifname = port.ifname;
  options.longest = port.longest();
  options.kilobytes = afxdp::takes_kilobytes(port.driver);
  options.copy = queues.copy || skb_mode;
  options.receive = steering ? queues.receive : 0;
  options.rx_ring = afxdp::zero_copy_ring(port.ifname, xdp);
  const afxdp::ZeroCopyPort facts{port.ifname, port.driver, port.mtu, port.longest()};
  std::optional<Error> copies =
      skb_mode ? Error{"the port's program is in skb mode"} : afxdp::known_to_copy(facts, xdp);
  std::vector<std::unique_ptr<afxdp::Socket>> sockets;
  for (uint32_t i = 0; i < queues.count && !(queues.zero_copy && copies); i++) {
    options.queue = queues.first + i;
    auto socket = XR_TRY(afxdp::Socket::open(options));
    if (!(socket)->zero_copy() && !copies)
      copies = afxdp::why_copied(facts, xdp, (socket)->zero_copy_cannot_send());
    if (steering)
      XR_TRY(steering->add(options.queue, (socket)->fd()));
    sockets.push_back(std::move(socket));
  }
  if (queues.zero_copy && copies)
    return Error{"zero-copy is not possible: " + copies->message,
                 copies->hint.empty() ? "without --zero-copy frames are copied" : copies->hint};
  if (copies && !queues.copy && !skb_mode_noted(notes))
    notes.push_back("frames are copied: " + copies->message);
  if (queues.steer) {
    flow_rules.emplace(XR_TRY(
        host::FlowRules::make({{port.ifname, port.netns}, port.driver, udp_port, queues.first})));
    const auto &said = flow_rules->notes();
    notes.insert(notes.end(), said.begin(), said.end());
  } else if (steering && queues.count < port.queues)
    notes.push_back(other_queues(port, queues));
  return sockets;
}

void Session::obey_pfc(uint64_t line_bits, const packet::ObeyedPauses &obeyed) {
  pauses = std::make_unique<packet::Pauses>(line_bits ? line_bits : port.line_bits, obeyed);
}

WorkerThreads::Periodic Session::publish_rates(bool dynamic, bool responder, size_t top,
                                               CollectRates collect) {
  return {dynamic ? kPublish : 0ns, [this, responder, top, collect = std::move(collect)] {
            EndpointRates rates;
            rates.responder = responder;
            std::vector<QpRate> qps;
            workers.read_counts(
                [&](size_t i, const EngineCounts &engine) { collect(i, engine, qps); });
            fill_rates(rates, std::move(qps), top);
            rates.time_ns = monotonic_ns();
            if (Status s = rates_file->write(rates); !s && !rates_noted) {
              notes.push_back("other commands do not see the rates: " + s.error().message);
              rates_noted = true;
            }
            return true;
          }};
}

void Session::fill_report(RunReport &report,
                          const std::function<void(size_t, const EngineCounts &)> &use) {
  report.ifname = port.ifname;
  if (steering)
    report.xdp_mode = mode_name(steering->mode());
  report.queues = static_cast<uint32_t>(workers.all().size());
  report.processors = workers.places();
  report.zero_copy_queues =
      static_cast<uint32_t>(std::count_if(workers.all().begin(), workers.all().end(),
                                          [](const auto &worker) { return worker->zero_copy(); }));
  report.engine = workers.read_counts(use);
  if (pauses) {
    const packet::PauseCounts counts = pauses->counts(report.engine.now_ns);
    report.pauses = {counts.pfc, counts.pause, counts.refused, counts.paused_ns};
  }
  const PortDrops drops = read_port_drops(port);
  const auto since = [](uint64_t now, uint64_t before) { return now > before ? now - before : 0; };
  report.engine.port_drops = since(drops.sent, drops_before.sent);
  report.engine.port_missed = since(drops.missed, drops_before.missed);
  report.engine.port_sent = since(drops.transmitted, drops_before.transmitted);
  report.seconds = static_cast<double>(report.engine.now_ns - report.engine.begun_ns) / 1e9;
}

void Session::settle() {
  uint64_t sent = 0;
  for (const auto &worker : workers.all())
    worker->read_counts([&](const EngineCounts &counts) { sent += counts.sent; });
  for (int i = 0; i < 20; i++) {
    const PortDrops now = read_port_drops(port);
    if (now.transmitted + now.sent - drops_before.transmitted - drops_before.sent >= sent)
      return;
    std::this_thread::sleep_for(5ms);
  }
}

Status Session::close() {
  if (!steering)
    return {};
  const Status unsteered = flow_rules ? flow_rules->remove() : Status();
  rates_file.reset();
  const size_t noted = steering->notes().size();
  auto done = steering->close();
  notes.insert(notes.end(), steering->notes().begin() + static_cast<ptrdiff_t>(noted),
               steering->notes().end());
  return done ? unsteered : done;
}

} // namespace xr::endpoint
