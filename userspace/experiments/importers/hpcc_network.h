// SPDX-License-Identifier: Apache-2.0
// For this folder only: topology.txt and flow.txt of HPCC's simulator, and what it computes of
// them: base RTTs, windows, completion times without other traffic.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xr::importers {

struct HpccNetwork {
  struct Link {
    uint32_t a = 0, b = 0;
    uint64_t rate = 0, delay_ns = 0; // bit/s
    double error = 0;                // probability of a loss
    uint32_t number = 1;             // among the links between the two
  };

  std::vector<bool> is_switch, is_nvswitch; // by node; an NVSwitch, of SimAI, is a switch too
  std::vector<Link> links;
  uint32_t nvswitches = 0; // of SimAI: the first of the switches
  // By the first line: SimAI's has six words, the last a name; inet-tub's four, or six numbers.
  bool simai = false, inet_tub = false;
  size_t ignored = 0; // words after the last link

  size_t unlinked() const;                  // nodes
  uint32_t hosts() const;                   // that have links
  std::string name_of(uint32_t node) const; // n0 ... hosts, s64 ... switches
  // The queue of the link from that end, like "s64:n0" or "s64:s65/2".
  std::string queue_name(const Link &link, uint32_t from) const;
};
Result<HpccNetwork> read_hpcc_network(std::string_view text, const std::string &name);
// The key `topology` of an experiment, of the nodes that have links.
std::string hpcc_topology(const HpccNetwork &network);

struct HpccFlow {
  uint32_t src = 0, dst = 0, priority = 0, port = 0;
  uint64_t bytes = 0, start_ns = 0;
};
struct HpccFlows {
  std::vector<HpccFlow> flows;
  size_t ignored = 0; // words after the last flow
};
Result<HpccFlows> read_hpcc_flows(std::string_view text, const std::string &name,
                                  const HpccNetwork &network);

// Base RTT and least rate of a pair of hosts. 0: there is no path.
struct HpccPath {
  uint64_t rtt_ns = 0, rate = 0;
  uint64_t bdp() const; // bytes
};

class HpccPaths {
public:
  HpccPaths(const HpccNetwork &network, uint64_t payload);
  // To each node from `source`, by the paths with the fewest links.
  std::vector<HpccPath> from(uint32_t source) const;
  // The largest RTT and the largest BDP of all pairs of hosts, which may be of two pairs.
  struct Largest {
    uint64_t rtt_ns = 0, bdp = 0;
  };
  Largest largest() const;

private:
  const HpccNetwork &network_;
  uint64_t payload_;
  std::vector<std::vector<uint32_t>> links_of_; // by node
};

// Column 8 of fct.txt, ns.
uint64_t hpcc_standalone_ns(uint64_t bytes, uint64_t payload, const HpccPath &path);

} // namespace xr::importers
