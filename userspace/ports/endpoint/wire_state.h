// SPDX-License-Identifier: Apache-2.0
// What a run of `wire` has: wire_prepare.cpp makes it, wire.cpp drives it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "afxdp/shared_umem.h"
#include "afxdp/zero_copy.h"
#include "datapath/wire_ports.h"
#include "endpoint/port_carrier.h"
#include "endpoint/port_facts.h"
#include "endpoint/wire.h"
#include "endpoint/wire_direction.h"
#include "host/flow_rules.h"
#include "host/placement.h"
#include "wire/memory_needs.h"

namespace xr::endpoint {

inline constexpr unsigned kPorts = datapath::WirePorts::kPorts;

// Members are destroyed from the last to the first: directions, sockets, their memory, the ports.
struct WireRun::State {
  WireRequest request;
  std::array<PortFacts, kPorts> facts;
  // Both ports share the UMEM and its layout.
  uint32_t longest() const { return std::max(facts[0].longest(), facts[1].longest()); }
  bool kilobytes() const {
    return afxdp::takes_kilobytes(facts[0].driver) || afxdp::takes_kilobytes(facts[1].driver);
  }
  std::optional<datapath::WirePorts> ports;
  std::vector<host::FlowRules> flow_rules; // WireRequest::steer
  std::unique_ptr<afxdp::SharedUmem> umem;
  std::array<std::vector<std::unique_ptr<afxdp::ForwardSocket>>, kPorts> sockets;
  std::array<WirePortCounts *, kPorts> counts{};
  std::optional<PortCarrier> carrier;
  std::array<std::unique_ptr<WireDirection>, kPorts> directions; // by ingress port
  std::array<datapath::RulesInForce, kPorts> rules;              // until the directions have them
  std::array<uint64_t, kPorts> link_changes{};
  std::array<std::string, kPorts> links;
  wire::MemoryPlan memory;
  std::vector<std::string> notes;
  std::array<std::string, kPorts> unread; // why rules of the port cannot be read: noted once
  uint64_t begun_ns = 0;
  uint64_t looked_ns = 0, rules_looked_ns = 0, alive_ns = 0;
  unsigned look_turn = 0;                   // the port whose rules are looked at next
  std::array<bool, kPorts> link_changing{}; // a change was seen and is not read yet
  bool zero_copy = false;
  uint32_t threads = 0;
  host::Placement placement;
  std::vector<PlacedThread> places; // of the threads

  Status read_ports();
  Status size_memory();
  Result<bool> must_copy();
  Status open_sockets();
  Status make_directions();
  Status account_for_former();
  std::optional<datapath::RulesInForce> read_rules(unsigned port);
  void look_for_rules(unsigned port);
  void look_for_links();
  void take_link(unsigned port);
  Status look_at_ports(uint64_t now);
  Status look(uint64_t now);
  Status look_in_turn(uint64_t now);
  Result<bool> turn(uint64_t now);
  void place_threads();
  Status run_here(const std::atomic<bool> &stop, const std::function<bool()> &go_on);
  Status run_threads(const std::atomic<bool> &stop, const std::function<bool()> &go_on);
};

// The link that these words are; none: there is no link.
std::optional<LinkSpec> link_of(const std::string &words);

} // namespace xr::endpoint
