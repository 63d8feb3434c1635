// SPDX-License-Identifier: Apache-2.0
#include "host/port.h"

#include <algorithm>

#include <unistd.h>

#include "datapath/log.h"
#include "datapath/netns.h"
#include "roce/parse.h"

namespace xr::host {

ZeroCopyPort PortFacts::zero_copy_port() const {
  return {link.ifname, link.driver, link.mtu,
          link.mtu + ROCE_ETH_LEN + ROCE_VLAN_MAX * ROCE_VLAN_LEN};
}

Result<PortFacts> read_port(const std::string &ifname, const std::string &netns, bool try_port) {
  datapath::silence_libraries();
  PortFacts port;
  auto home = datapath::Netns::open(netns);
  if (!home)
    return std::move(home).error();
  {
    auto scope = home->enter();
    if (!scope)
      return std::move(scope).error();
    auto link = datapath::read_link(ifname, netns);
    if (!link)
      return std::move(link).error();
    port.link = *link;
    port.netns = netns;
    port.queues = datapath::read_queues(ifname);
    port.cpus = static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
    port.xdp = read_xdp_features(link->ifindex);
    port.features = datapath::read_features(ifname);
    port.hook = datapath::read_hook(link->ifindex);
    port.pfc = read_pfc(ifname);
    if (try_port)
      port.zero_copy = try_zero_copy(port.zero_copy_port(), port.xdp);
  }
  const bool skb_mode = port.xdp && !port.xdp->native;
  port.troubles = datapath::port_preflight(*home, ifname, skb_mode);
  return port;
}

} // namespace xr::host
