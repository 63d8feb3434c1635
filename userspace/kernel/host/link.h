// SPDX-License-Identifier: Apache-2.0
// Properties and settings of an interface (rtnetlink, ethtool), in the network namespace of the
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/port_name.h"
#include "base/result.h"

namespace xr::host {

struct LinkFacts {
  std::string ifname;
  unsigned ifindex = 0;
  std::array<uint8_t, 6> mac{};
  uint32_t mtu = 0;
  bool up = false;
  bool running = false; // up, and has carrier
  bool carrier = false; // also of a port that is down
  bool stacked = false; // on top of another interface, like a VLAN device
  bool promiscuous = false;
  std::string driver;        // "": unknown
  std::string bus;           // the device's name on PCI, like 0000:08:00.0; "": none, or unknown
  std::string kind;          // "veth", "bridge", ...; "" for hardware
  unsigned peer_ifindex = 0; // of a veth; 0: none
  int peer_nsid = -1;        // -1: same namespace, or unknown
  std::string master;        // the bridge or bond it belongs to
  std::string master_kind;
  uint64_t tx_packets = 0, rx_dropped = 0, tx_dropped = 0, tx_errors = 0; // rtnl_link_stats64
  uint64_t rx_missed = 0; // rx_missed_errors: no buffer in the NIC
  bool has_xdp = false;
  bool has_native_xdp = false;
};

// `netns` is the name of the thread's namespace, for the error message.
Result<LinkFacts> read_link(const PortName &port);
Result<LinkFacts> read_link_at(unsigned ifindex);
// Like "192.0.2.1/24", without automatic IPv6 link-local addresses.
Result<std::vector<std::string>> read_addresses(unsigned ifindex);

struct Neighbour {
  Address address{};
  std::array<uint8_t, 6> mac{};
};
// The neighbour table of the kernel (ARP and ND).
Result<std::vector<Neighbour>> read_neighbours(unsigned ifindex);

// Bits per second; 0: unknown.
uint64_t read_speed(const std::string &ifname);
// Receive queues.
struct Queues {
  uint32_t count = 1;         // 1 if unknown
  uint32_t most_combined = 0; // limit of `ethtool -L IF combined`; 0: unknown
};
Queues read_queues(const std::string &ifname);
// Buffers in the ring of each receive queue; 0: unknown.
uint32_t read_rx_ring(const std::string &ifname);

// Active ethtool features by kernel name: "rx-gro", "tx-tcp-segmentation", ...
using Features = std::map<std::string, bool>;
Result<Features> read_features(const std::string &ifname);
// Also an error if the kernel accepts the request but the feature does not change.
Status set_feature(const std::string &ifname, const std::string &feature, bool on);

Status set_promiscuous(const std::string &ifname, bool on);
Status set_up(const std::string &ifname, bool up);
Status set_mtu(const std::string &ifname, uint32_t mtu);

// The ID of namespace `netns_fd` in this namespace; -1: the same namespace, or no ID.
Result<int> nsid_of(int netns_fd);

} // namespace xr::host
