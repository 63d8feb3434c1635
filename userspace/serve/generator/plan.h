// SPDX-License-Identifier: Apache-2.0
// What the QPs and flows of a configuration become on its ports: numbers, peers, paths, paces. No
// port is touched.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "endpoint/station_run.h"
#include "otg/config.h"
#include "requester/plain.h"

namespace xr::generator {

// Both ends of a QP on the wire.
struct QpEnds {
  uint32_t own = 0, dest = 0;      // QPNs
  std::optional<size_t> interface; // of the destination, if a device here has its address
};

// A neighbour that an interface sends to.
struct NextHop {
  size_t interface = 0;
  Address address{};
  bool operator<(const NextHop &other) const {
    return std::tie(interface, address) < std::tie(other.interface, other.address);
  }
};

struct PortPlan {
  std::string ifname, netns;
  endpoint::StationRequest request; // without AttachOptions
  std::vector<size_t> flows;        // stateful flows that it sends, by their index
  std::vector<size_t> plain_flows;  // plain ones
  std::vector<NextHop> next_hops;
};

struct Plan {
  std::vector<QpEnds> qps;
  std::vector<PortPlan> ports;
  std::vector<std::optional<size_t>> rx_ports; // of each stateful flow
  std::vector<std::string> notes;              // what was chosen
};

// `location`: IF or NETNS/IF.
std::pair<std::string, std::string> netns_and_ifname(const std::string &location);

// `netns`: of locations without one.
Plan make_plan(const otg::Config &config, const std::string &netns);

// Plans the plain flows from `first` on, which were added to the configuration.
void add_plain(const otg::Config &config, Plan &plan, size_t first);

// Whom each port asks for: the neighbours of its flows but for removed ones, and gateways.
void plan_hops(const otg::Config &config, Plan &plan);

// The MAC of a port of the configuration.
using MacOf = std::function<packet::Mac(size_t port)>;

// The MACs of next hops that answered, or that the configuration gives.
using HopMacs = std::map<NextHop, packet::Mac>;
// Whether the port is the first of those that ask for a neighbour: a LAG's ports all do.
inline bool is_first_port(const otg::Config &config, const NextHop &hop, size_t port) {
  return config.ethernets[config.interfaces[hop.interface].ethernet].port == port;
}
// Where frames of an interface go first.
NextHop next_hop(const otg::Config &config, size_t interface, const Address &to);

// What of the port's peers has a larger PMTU than fits its MTU: flows have the largest that does.
std::vector<std::string> narrowed(const otg::Config &config, size_t port,
                                  const endpoint::PortFacts &facts);

// The flows of a port, in the order of PortPlan::flows, for a port with this MAC and MTU. Error:
// one that the port cannot send, by its name.
Result<std::vector<station::StationFlow>> station_flows(const otg::Config &config, const Plan &plan,
                                                        size_t port,
                                                        const endpoint::PortFacts &facts,
                                                        const HopMacs &macs);

// The plain flows of a port, in the order of PortPlan::plain_flows.
Result<std::vector<requester::PlainFlow>> plain_flows(const otg::Config &config, const Plan &plan,
                                                      size_t port, uint64_t line_bits,
                                                      const HopMacs &macs, const MacOf &mac_of);

// Path of frames of an interface, without destination.
packet::Path path_of(const otg::Config &config, size_t interface, const packet::Mac &port_mac);

} // namespace xr::generator
