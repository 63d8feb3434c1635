// SPDX-License-Identifier: Apache-2.0
// Topologies as graphs: what a graph must fulfil, and graphs that are made.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "simulate/scenario.h"

namespace xr::simulate {

// Hosts in their order: those of Graph::hosts, then as the links name them.
std::vector<std::string> hosts_of(const Graph &graph);

// Names, links and ports. Whether all are connected: check_topology().
Status check_graph(const Graph &graph, uint64_t rate);

// Pods 1 ... k, each with k/2 edge and k/2 aggregation switches; (k/2)^2 core switches; k/2 hosts
// at each edge switch. The topology is of Kind::FatTree.
Graph fat_tree(const Topology &topology);

// The rate of links between switches, bits per second.
uint64_t core_rate(const Topology &topology);

} // namespace xr::simulate
