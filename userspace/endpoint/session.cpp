// SPDX-License-Identifier: Apache-2.0
#include "endpoint/session.h"

#include <algorithm>

#include "datapath/netns.h"

namespace xr::endpoint {

namespace {

// The host answers for the neighbours of the addresses that it has, unless another MAC is to.
std::vector<datapath::Endpoint> endpoints_of(const Port &port,
                                             const std::vector<packet::Address> &addresses,
                                             const packet::Mac &mac) {
  std::vector<datapath::Endpoint> all;
  for (const packet::Address &one : addresses) {
    const bool hosts =
        std::find(port.addresses.begin(), port.addresses.end(), one) != port.addresses.end();
    all.push_back({one, !hosts || mac != port.mac});
  }
  return all;
}

std::string other_queues(const Port &port, const Lanes &lanes) {
  return fmt::format("what comes in on other queues than {}-{} goes to the host: the port has {} "
                     "(`ethtool -L {} combined {}`, or --queues {})",
                     lanes.first, lanes.first + lanes.count - 1, port.queues, port.ifname,
                     lanes.count, port.queues);
}

} // namespace

Status Session::open(const std::string &ifname, const std::string &netns) {
  auto opened = open_port(ifname, netns);
  if (!opened)
    return opened.error();
  port = std::move(*opened);
  drops_before = port_drops(port);
  return {};
}

Status Session::listen(const datapath::AttachOptions &attach,
                       const std::vector<packet::Address> &addresses, const packet::Mac &mac,
                       bool promiscuous) {
  auto open =
      datapath::Steering::open(port.ifname, port.netns, attach, endpoints_of(port, addresses, mac));
  if (!open)
    return open.error();
  steering.emplace(std::move(*open));
  notes = steering->notes();
  return promiscuous ? steering->go_promiscuous() : Status{};
}

Result<std::vector<std::unique_ptr<afxdp::Socket>>> Session::sockets(const Lanes &lanes) {
  if (lanes.first + lanes.count > port.queues)
    return Error{fmt::format("there is no queue {}: the port has {}", lanes.first + lanes.count - 1,
                             port.queues),
                 fmt::format("`ethtool -l {}` tells; they are counted from 0", port.ifname)};
  auto inside = datapath::enter_netns(port.netns);
  if (!inside)
    return inside.error();
  std::vector<std::unique_ptr<afxdp::Socket>> all;
  for (uint32_t i = 0; i < lanes.count; i++) {
    afxdp::SocketOptions options;
    options.ifname = port.ifname;
    options.queue = lanes.first + i;
    options.longest = port.longest();
    options.copy = lanes.copy;
    options.receive = steering ? lanes.receive : 0;
    auto socket = afxdp::Socket::open(options);
    if (!socket)
      return socket.error();
    if (steering)
      if (auto done = steering->add(options.queue, (*socket)->fd()); !done)
        return done.error();
    all.push_back(std::move(*socket));
  }
  if (steering && lanes.count < port.queues)
    notes.push_back(other_queues(port, lanes));
  return all;
}

void Session::look(RunReport &report, const std::function<void(traffic::Source &)> &use) {
  report.ifname = port.ifname;
  if (steering)
    report.xdp_mode = datapath::mode_name(steering->mode());
  report.queues = static_cast<uint32_t>(crew.engines().size());
  report.zero_copy = crew.engines().front()->socket().zero_copy();
  report.engine = crew.look(use);
  const uint64_t drops = port_drops(port);
  report.engine.port_drops = drops > drops_before ? drops - drops_before : 0;
  report.seconds = static_cast<double>(report.engine.now_ns - report.engine.begun_ns) / 1e9;
}

Status Session::close() {
  if (!steering)
    return {};
  const size_t told = steering->notes().size();
  auto done = steering->close();
  notes.insert(notes.end(), steering->notes().begin() + static_cast<ptrdiff_t>(told),
               steering->notes().end());
  return done;
}

} // namespace xr::endpoint
