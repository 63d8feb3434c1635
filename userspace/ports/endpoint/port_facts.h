// SPDX-License-Identifier: Apache-2.0
// Facts that an endpoint needs about its port, and address resolution on its link.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/port_name.h"
#include "base/result.h"
#include "packet/frame.h"

namespace xr::endpoint {

struct PortFacts {
  std::string ifname, netns, driver;
  std::string bus; // LinkFacts::bus
  unsigned ifindex = 0;
  packet::Mac mac{};
  uint32_t mtu = 0;
  uint64_t line_bits = 0; // line rate, bits per second; 0: the driver does not report it
  uint32_t queues = 1;
  std::vector<packet::Address> addresses; // configured in the kernel

  // The first address of this family.
  std::optional<packet::Address> address(bool ipv4) const;
  // Bytes of the longest frame, with VLAN tags, FCS not included.
  uint32_t longest() const { return mtu + ROCE_ETH_LEN + ROCE_VLAN_MAX * ROCE_VLAN_LEN; }
};

// Error without CAP_NET_RAW and CAP_NET_ADMIN, or if the port is down.
Result<PortFacts> read_port_facts(const PortName &port);

// Kernel counters of frames that the port has dropped and transmitted so far; 0 if the port is
// gone.
struct PortDrops {
  uint64_t transmitted = 0;
  uint64_t sent = 0;   // dropped on transmission
  uint64_t missed = 0; // on reception, because the NIC had no buffer
};
PortDrops read_port_drops(const PortFacts &port);

// The MAC of `address`: from the kernel's neighbour table, else by ARP or neighbour solicitations
// from `source`: three within about a second.
Result<packet::Mac> resolve(const PortFacts &port, const packet::Address &source,
                            const packet::Address &address, const std::vector<packet::Tag> &tags,
                            const packet::Mac &source_mac);

// Sends a gratuitous ARP request (IPv6: a neighbour solicitation) for an address of the port, from
// which switches learn where its MAC is.
Status announce(const PortFacts &port, const packet::Address &own);

} // namespace xr::endpoint
