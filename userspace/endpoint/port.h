// SPDX-License-Identifier: Apache-2.0
// What an endpoint wants to know of the port it stands on, and of its neighbours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "packet/frame.h"

namespace xr::endpoint {

struct Port {
  std::string ifname, netns, driver;
  unsigned ifindex = 0;
  packet::Mac mac{};
  uint32_t mtu = 0;
  uint64_t line_bits = 0; // a second; 0: the driver does not tell
  uint32_t queues = 1;
  std::vector<packet::Address> addresses; // that the kernel has there

  // The first of them of that family.
  std::optional<packet::Address> address(bool ipv4) const;
  // Bytes of the longest frame, tags included, FCS not.
  uint32_t longest() const { return mtu + ROCE_ETH_LEN + ROCE_VLAN_MAX * ROCE_VLAN_LEN; }
};

// Needs CAP_NET_RAW and CAP_NET_ADMIN, and says so.
Result<Port> open_port(const std::string &ifname, const std::string &netns);

// Frames that the port itself has dropped, ever; 0 when it is gone.
struct PortDrops {
  uint64_t sent = 0;   // instead of sending them
  uint64_t missed = 0; // that came in: the NIC had no buffer for them
};
PortDrops port_drops(const Port &port);

// The MAC of `address`: from the kernel's table of neighbours, else by asking on the wire as
// `source` (ARP, ND), three times in about a second.
Result<packet::Mac> resolve(const Port &port, const packet::Address &source,
                            const packet::Address &address, const std::vector<packet::Tag> &tags,
                            const packet::Mac &source_mac);

} // namespace xr::endpoint
