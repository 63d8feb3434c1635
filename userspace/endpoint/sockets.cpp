// SPDX-License-Identifier: Apache-2.0
#include "endpoint/sockets.h"

#include <algorithm>

#include "datapath/netns.h"

namespace xr::endpoint {

Result<std::vector<std::unique_ptr<afxdp::Socket>>>
open_sockets(const Port &port, const Lanes &lanes, datapath::Steering *steering) {
  auto space = datapath::Netns::open(port.netns);
  if (!space)
    return space.error();
  auto scope = space->enter();
  if (!scope)
    return scope.error();
  if (lanes.first + lanes.count > port.queues)
    return Error{fmt::format("there is no queue {}: the port has {}", lanes.first + lanes.count - 1,
                             port.queues),
                 fmt::format("`ethtool -l {}` tells; they are counted from 0", port.ifname)};
  std::vector<std::unique_ptr<afxdp::Socket>> sockets;
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
    sockets.push_back(std::move(*socket));
  }
  return sockets;
}

std::string other_queues(const Port &port, const Lanes &lanes) {
  if (lanes.count >= port.queues)
    return "";
  return fmt::format("what comes in on other queues than {}-{} goes to the host: the port has {} "
                     "(`ethtool -L {} combined {}`, or --queues {})",
                     lanes.first, lanes.first + lanes.count - 1, port.queues, port.ifname,
                     lanes.count, port.queues);
}

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

} // namespace xr::endpoint
