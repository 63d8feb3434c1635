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

Status check_topology(const Topology &topology);

std::vector<std::string> host_names(const Topology &topology);
// Hosts that send by their name: all but receivers; in a leaf-spine all hosts.
std::vector<std::string> sender_names(const Topology &topology);
// Queues of switches, then the ports of hosts: "HOST:SWITCH".
std::vector<std::string> queue_names(const Topology &topology);
// The queue with the alias "bottleneck": of a star towards the receiver, of a dumbbell from left to
// right; none in others.
std::optional<std::string> bottleneck(const Topology &topology);

// Nodes are numbered, hosts first. Each pair of neighbours has one link a direction.
struct Wire {
  uint32_t from = 0, to = 0; // nodes
  uint64_t rate = 0, delay = 0;
};
struct Network {
  std::vector<std::string> nodes;
  uint32_t hosts = 0;
  std::vector<Wire> wires; // wire 2i + 1 is the other direction of wire 2i
  // next_hops[node][host]: wires on shortest paths, ascending; empty for hosts.
  std::vector<std::vector<std::vector<uint32_t>>> next_hops;

  std::string queue_name(uint32_t wire) const {
    return nodes[wires[wire].from] + ":" + nodes[wires[wire].to];
  }
};
// `topology` has passed check_topology().
Network build_network(const Topology &topology);

} // namespace xr::simulate
