// SPDX-License-Identifier: Apache-2.0
// Names of a topology's hosts, switches and queues. A queue is what leaves a switch towards a
// neighbour: "SWITCH:NEIGHBOUR".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "simulate/scenario.h"

namespace xr::simulate {

inline constexpr unsigned kMostPorts = 256; // of a switch: wire::Frame::ingress has 8 bits

Status check_topology(const Topology &topology);
// The name in experiment files: "star".
std::string_view kind_name(Topology::Kind kind);

std::vector<std::string> host_names(const Topology &topology);
// Hosts that send by their name: all but receivers; in leaf-spines, fat trees and graphs all hosts.
std::vector<std::string> sender_names(const Topology &topology);
// Queues of switches, then the ports of hosts: "HOST:SWITCH".
std::vector<std::string> queue_names(const Topology &topology);
// The queue with the alias "bottleneck": of a star towards the receiver, of a dumbbell from left to
// right; none in others.
std::optional<std::string> bottleneck(const Topology &topology);

// Nodes are numbered, hosts first. Each link is a wire a direction.
struct Wire {
  uint32_t from = 0, to = 0; // nodes
  uint64_t rate = 0, delay = 0;
  uint32_t number = 1; // among the links between the same two nodes
};
inline constexpr unsigned kMostFatTree = 40; // k: 16,000 hosts

struct Network {
  std::vector<std::string> nodes;
  uint32_t hosts = 0;
  std::vector<Wire> wires; // wire 2i + 1 is the other direction of wire 2i
  // The wires of a node that are on shortest paths, ascending: sets[of_host[host]]. Without
  // of_host: a host with one link.
  struct NextHops {
    std::vector<uint32_t> of_host;
    std::vector<std::vector<uint32_t>> sets; // sets[0]: none
    const std::vector<uint32_t> &to(uint32_t host) const { return sets[of_host[host]]; }
  };
  std::vector<NextHops> next_hops; // by node

  // The second link between the same two nodes has the name "A:B/2".
  std::string queue_name(uint32_t wire) const {
    const std::string name = nodes[wires[wire].from] + ":" + nodes[wires[wire].to];
    const uint32_t number = wires[wire].number;
    return number == 1 ? name : name + "/" + std::to_string(number);
  }
};
// `topology` has passed check_topology().
Network build_network(const Topology &topology);
// Sets next_hops. `down`: wires that lead nowhere; empty: none.
void route(Network &network, const std::vector<bool> &down);

} // namespace xr::simulate
