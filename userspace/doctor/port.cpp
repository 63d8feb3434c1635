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

Result<PortFacts> read_port(const PortName &name, bool try_port, bool fix) {
  datapath::silence_libraries();
  PortFacts port;
  auto home = XR_TRY(host::Netns::open(name.netns));
  {
    const auto inside = XR_TRY(home.enter());
    port.link = XR_TRY(host::read_link(name));
    port.netns = name.netns;
    port.xdp = host::read_xdp_features(port.link.ifindex);
  }
  const bool skb_mode = port.xdp && !port.xdp->native;
  port.troubles = datapath::port_preflight(home, name.ifname, skb_mode, fix);
  const auto inside = XR_TRY(home.enter());
  port.queues = host::read_queues(name.ifname);
  port.cpus = static_cast<uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  if (auto addresses = host::read_addresses(port.link.ifindex))
    port.addresses = std::move(*addresses);
  port.features = host::read_features(name.ifname);
  port.receive = host::read_receive_settings(host::ethtool_of(name.ifname));
  port.hook = datapath::read_hook(port.link.ifindex);
  port.pfc = host::read_pfc(name.ifname);
  port.clock = host::read_nic_clock(name.ifname);
  if (port.clock && port.clock->index >= 0)
    port.clock_offset = host::read_clock_offset(port.clock->index);
  if (try_port) {
    port.zero_copy = afxdp::try_zero_copy(port.zero_copy_port(), port.xdp);
    const auto rules = host::FlowRules::make({name, port.link.driver, ROCE_UDP_PORT, 0});
    port.flow_rule = rules ? Status() : Status(rules.error());
  }
  return port;
}

void read_device(const host::Files &files, bool own_sys, PortFacts &port) {
  DeviceFacts &device = port.device = {};
  device.topology = host::Topology::read(files, port.link.bus);
  device.interrupts = host::read_interrupts(files, port.link.bus);
  const std::string queues = "/sys/class/net/" + port.link.ifname + "/queues/";
  for (const std::string &queue : own_sys ? files.list(queues) : std::vector<std::string>()) {
    const std::string file = queues + queue + (queue.starts_with("rx") ? "/rps_cpus" : "/xps_cpus");
    if (files.line(file).value_or("").find_first_not_of("0,") != std::string::npos)
      device.packet_steering.push_back(file);
  }
}

} // namespace xr::doctor
