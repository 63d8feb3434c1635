// SPDX-License-Identifier: Apache-2.0
#include "host/flow_rules.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <linux/ethtool.h>

#include <fmt/format.h>

#include "host/command.h"
#include "host/netns.h"

namespace xr::host {

namespace {

const char *network_name(uint32_t flow_type) { return flow_type == UDP_V4_FLOW ? "IPv4" : "IPv6"; }

ethtool_rx_flow_spec rule_of(const SteeredFlow &flow, uint32_t flow_type) {
  ethtool_rx_flow_spec rule{};
  rule.flow_type = flow_type;
  auto &port = flow_type == UDP_V4_FLOW ? rule.h_u.udp_ip4_spec.pdst : rule.h_u.udp_ip6_spec.pdst;
  auto &mask = flow_type == UDP_V4_FLOW ? rule.m_u.udp_ip4_spec.pdst : rule.m_u.udp_ip6_spec.pdst;
  port = htons(flow.udp_port);
  mask = 0xffff;
  rule.ring_cookie = flow.queue;
  return rule;
}

// A union has no members to compare: the bytes that the kernel and we have set, the others are 0.
bool same_bytes(const ethtool_flow_union &a, const ethtool_flow_union &b) {
  return std::ranges::equal(a.hdata, b.hdata);
}

bool same_frames(const ethtool_rx_flow_spec &a, const ethtool_rx_flow_spec &b) {
  return a.flow_type == b.flow_type && same_bytes(a.h_u, b.h_u) && same_bytes(a.m_u, b.m_u);
}

// All rules of a device, and where another can be.
struct Table {
  int error = 0; // a negative errno value: the driver has no rules
  std::vector<ethtool_rx_flow_spec> rules;
  uint32_t free = RX_CLS_LOC_ANY; // the driver chooses, or the last free location
};

Table read_table(const Ethtool &ethtool) {
  Table table;
  ethtool_rxnfc count{};
  count.cmd = ETHTOOL_GRXCLSRLCNT;
  if (table.error = std::min(0, ethtool(&count)); table.error)
    return table;
  EthtoolCommand room(sizeof(ethtool_rxnfc) + count.rule_cnt * sizeof(uint32_t));
  auto *all = room.as<ethtool_rxnfc>();
  all->cmd = ETHTOOL_GRXCLSRLALL;
  all->rule_cnt = count.rule_cnt;
  if (table.error = std::min(0, ethtool(all)); table.error)
    return table;
  const uint32_t *begin = all->rule_locs, *end = begin + std::min(count.rule_cnt, all->rule_cnt);
  for (const uint32_t *location = begin; location != end; location++) {
    ethtool_rxnfc one{};
    one.cmd = ETHTOOL_GRXCLSRULE;
    one.fs.location = *location;
    if (ethtool(&one) >= 0)
      table.rules.push_back(one.fs);
  }
  if (count.data & RX_CLS_LOC_SPECIAL)
    return table;
  for (uint64_t location = all->data; location-- > 0;)
    if (std::find(begin, end, location) == end) {
      table.free = static_cast<uint32_t>(location);
      return table;
    }
  table.error = -ENOSPC;
  return table;
}

} // namespace

Result<FlowRules> FlowRules::make(const SteeredFlow &flow, Ethtool ethtool) {
  FlowRules rules(flow, std::move(ethtool));
  XR_TRY(rules.add(UDP_V4_FLOW));
  if (const Status done = rules.add(UDP_V6_FLOW); !done)
    rules.notes_.push_back("frames over IPv6 are not steered: " + done.error().message);
  return rules;
}

Result<FlowRules> FlowRules::make(const SteeredFlow &flow) {
  return make(flow, [port = flow.port](void *command) {
    const auto inside = enter_netns(port.netns);
    return inside ? ethtool(port.ifname, command) : -ENODEV;
  });
}

std::string FlowRules::removal_of(uint32_t location) const {
  return command_in(flow_.port.netns,
                    fmt::format("ethtool -N {} delete {}", flow_.port.ifname, location));
}

FlowRules::~FlowRules() { (void)remove(); }

Status FlowRules::add(uint32_t flow_type) {
  const Table table = read_table(ethtool_);
  const auto command = [this](const std::string &line) {
    return command_in(flow_.port.netns, line);
  };
  const std::string &ifname = flow_.port.ifname;
  ethtool_rxnfc insert{};
  insert.cmd = ETHTOOL_SRXCLSRLINS;
  insert.fs = rule_of(flow_, flow_type);
  insert.fs.location = table.free;
  for (const ethtool_rx_flow_spec &rule : table.rules) {
    if (!same_frames(rule, insert.fs))
      continue;
    const std::string remove = removal_of(rule.location);
    if (rule.ring_cookie != flow_.queue)
      return Error{fmt::format("{}: rule {} brings UDP port {} over {} to queue {}", ifname,
                               rule.location, flow_.udp_port, network_name(flow_type),
                               rule.ring_cookie),
                   fmt::format("{}, or --queue {}", remove, rule.ring_cookie)};
    notes_.push_back(fmt::format("rule {} of {} was there, and stays: UDP port {} over {} to queue "
                                 "{} ({} removes it)",
                                 rule.location, ifname, flow_.udp_port, network_name(flow_type),
                                 flow_.queue, remove));
    return {};
  }
  const int error = table.error ? table.error : ethtool_(&insert);
  if (error >= 0) {
    made_.push_back(insert.fs.location);
    return {};
  }
  const std::string what =
      fmt::format("{} ({}) cannot bring UDP port {} over {} to queue {} by a rule", ifname,
                  flow_.driver.empty() ? "its driver is unknown" : "driver " + flow_.driver,
                  flow_.udp_port, network_name(flow_type), flow_.queue);
  if (error == -EPERM)
    return errno_error(-error, what, "CAP_NET_ADMIN is needed");
  return errno_error(-error, what,
                     fmt::format("{} brings all to queue 0, {} leaves no other; `{}` allows rules "
                                 "where the driver has them",
                                 command(fmt::format("ethtool -X {} equal 1", ifname)),
                                 command(fmt::format("ethtool -L {} combined 1", ifname)),
                                 command(fmt::format("ethtool -K {} ntuple on", ifname))));
}

Status FlowRules::remove() {
  Status first;
  for (const uint32_t location : std::exchange(made_, {})) {
    ethtool_rxnfc removal{};
    removal.cmd = ETHTOOL_SRXCLSRLDEL;
    removal.fs.location = location;
    if (const int error = ethtool_(&removal); error < 0 && error != -ENOENT && first)
      first = errno_error(-error, fmt::format("rule {} of {} stays", location, flow_.port.ifname),
                          removal_of(location));
  }
  return first;
}

} // namespace xr::host
