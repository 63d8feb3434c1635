// SPDX-License-Identifier: Apache-2.0
#include "doctor/port.h"

#include <algorithm>

#include <unistd.h>

#include <fmt/format.h>

#include "datapath/log.h"
#include "host/netns.h"
#include "roce/parse.h"

namespace xr::doctor {

std::string PortFacts::our(const std::string &words) const {
  return fmt::format("{} {}{}", program, netns.empty() ? "" : "--netns " + netns + " ", words);
}

afxdp::ZeroCopyPort PortFacts::zero_copy_port() const {
  return {link.ifname, link.driver, link.mtu,
          link.mtu + ROCE_ETH_LEN + ROCE_VLAN_MAX * ROCE_VLAN_LEN};
}

Result<PortFacts> read_port(const PortName &name, bool try_port) {
  datapath::silence_libraries();
  PortFacts port;
  auto home = XR_TRY(host::Netns::open(name.netns));
  {
    const auto inside = XR_TRY(home.enter());
    auto link = XR_TRY(host::read_link(name));
    port.link = link;
    port.netns = name.netns;
    port.queues = host::read_queues(name.ifname);
    port.cpus = static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
    if (auto addresses = host::read_addresses(link.ifindex))
      port.addresses = std::move(*addresses);
    port.xdp = host::read_xdp_features(link.ifindex);
    port.features = host::read_features(name.ifname);
    port.hook = datapath::read_hook(link.ifindex);
    port.pfc = host::read_pfc(name.ifname);
    if (try_port)
      port.zero_copy = afxdp::try_zero_copy(port.zero_copy_port(), port.xdp);
  }
  const bool skb_mode = port.xdp && !port.xdp->native;
  port.troubles = datapath::port_preflight(home, name.ifname, skb_mode);
  return port;
}

} // namespace xr::doctor
