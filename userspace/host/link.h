// SPDX-License-Identifier: Apache-2.0
// What the kernel tells of an interface (rtnetlink, ethtool) and what can be set there. All of it
// in the namespace that the thread is in.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"

namespace xr::host {

struct LinkFacts {
  std::string ifname;
  unsigned ifindex = 0;
  std::array<uint8_t, 6> mac{};
  uint32_t mtu = 0;
  bool up = false;
  bool running = false; // up, and has carrier
  bool promiscuous = false;
  std::string driver;        // "": unknown
  std::string kind;          // "veth", "bridge", ...; "" for hardware
  unsigned peer_ifindex = 0; // of a veth; 0: none
  int peer_nsid = -1;        // -1: same namespace, or unknown
  std::string master;        // the bridge or bond that it is a port of
  std::string master_kind;
  uint64_t rx_dropped = 0, tx_dropped = 0, tx_errors = 0; // rtnl_link_stats64
  uint64_t rx_missed = 0; // rx_missed_errors: the NIC had no buffer for them
  bool has_xdp = false;
  bool has_native_xdp = false;
};

// `netns` is the name of the thread's namespace, for who asks about one that is not there.
Result<LinkFacts> read_link(const std::string &ifname, const std::string &netns = "");
Result<LinkFacts> read_link_at(unsigned ifindex);
// "192.0.2.1/24"; without the link-local addresses that IPv6 gives by itself.
Result<std::vector<std::string>> read_addresses(unsigned ifindex);

struct Neighbour {
  Address address{};
  std::array<uint8_t, 6> mac{};
};
// What the kernel knows by ARP and neighbour discovery.
Result<std::vector<Neighbour>> read_neighbours(unsigned ifindex);

// Bits a second; 0 where nobody tells.
uint64_t read_speed(const std::string &ifname);
// Receive queues.
struct Queues {
  uint32_t count = 1;         // 1 where nobody tells
  uint32_t most_combined = 0; // that `ethtool -L IF combined` could set; 0 where nobody tells
};
Queues read_queues(const std::string &ifname);
// Buffers in each receive queue's ring; 0 where nobody tells.
uint32_t read_rx_ring(const std::string &ifname);

// Active ethtool features by the kernel's names: "rx-gro", "tx-tcp-segmentation", ...
using Features = std::map<std::string, bool>;
Result<Features> read_features(const std::string &ifname);
// An error also when the kernel takes the order and the feature stays as it was.
Status set_feature(const std::string &ifname, const std::string &feature, bool on);

Status set_promiscuous(const std::string &ifname, bool on);
Status set_mtu(const std::string &ifname, uint32_t mtu);

// By which number this namespace knows another, that of `netns_fd`; -1 for itself and for one that
// has no number here.
Result<int> nsid_of(int netns_fd);

} // namespace xr::host
