// SPDX-License-Identifier: Apache-2.0
#include "generator/plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include <arpa/inet.h>

#include <fmt/format.h>

#include "flow/flow.h"
#include "parse/words.h"
#include "responder/responder.h"

namespace xr::generator {

namespace {

using otg::Config;

bool is_unspecified(const Address &address) {
  return address == Address{} || address == Address{0, 0, ROCE_MAPPED_PREFIX, 0};
}

constexpr uint32_t kFirstQp = 0x11;   // of QPs that are numbered here
constexpr unsigned kMostTimeout = 31; // code

size_t port_of_interface(const Config &config, size_t interface) {
  return config.ethernets[config.interfaces[interface].ethernet].port;
}
bool is_on(const Config &config, const otg::Ethernet &ethernet, size_t port) {
  const std::vector<size_t> ports = otg::ports_of(config, ethernet);
  return std::ranges::find(ports, port) != ports.end();
}
size_t port_of_qp(const Config &config, size_t qp) {
  return port_of_interface(config, config.peers[config.qps[qp].peer].interface);
}

std::optional<size_t> interface_with(const Config &config, const Address &address) {
  for (size_t i = 0; i < config.interfaces.size(); i++)
    if (config.interfaces[i].address == address)
      return i;
  return {};
}

// The numbers of the configuration, or, where QPs share one, numbers of ours.
void number_qps(const Config &config, Plan &plan) {
  std::vector<std::vector<size_t>> by_port(config.ports.size());
  for (size_t i = 0; i < config.qps.size(); i++)
    by_port[port_of_qp(config, i)].push_back(i);
  for (size_t port = 0; port < by_port.size(); port++) {
    std::set<uint32_t> numbers;
    bool set = true;
    for (const size_t qp : by_port[port])
      set = numbers.insert(config.qps[qp].number).second &&
            config.qps[qp].number != otg::kQpNotSet && set;
    uint32_t next = kFirstQp;
    for (const size_t qp : by_port[port])
      plan.qps[qp].own = set ? config.qps[qp].number : next++;
    if (!set)
      plan.notes.push_back(fmt::format("{}: QPs are numbered from {:#x}, as several have the "
                                       "same source_qp_number, or none",
                                       config.ports[port].name, kFirstQp));
  }
}

// Peers are pairs by their addresses: QP k of one goes to QP k of the other.
void pair_qps(const Config &config, Plan &plan) {
  std::map<std::pair<Address, Address>, size_t> peers; // own address, destination
  for (size_t i = 0; i < config.peers.size(); i++)
    peers.try_emplace(
        {config.interfaces[config.peers[i].interface].address, config.peers[i].destination}, i);
  for (const otg::Peer &peer : config.peers) {
    const Address &own = config.interfaces[peer.interface].address;
    const auto other = peers.find({peer.destination, own});
    const auto interface = interface_with(config, peer.destination);
    for (size_t k = 0; k < peer.qps.size(); k++) {
      QpEnds &ends = plan.qps[peer.qps[k]];
      ends.interface = interface;
      ends.dest = ends.own;
      if (other != peers.end() && k < config.peers[other->second].qps.size())
        ends.dest = plan.qps[config.peers[other->second].qps[k]].own;
    }
  }
}

uint8_t tos_of(const otg::Marking &marking) {
  return static_cast<uint8_t>(marking.dscp << 2 | marking.ecn);
}

// What a local QPN knows of its peer: the peer's QPN and first PSN. Two peers that use the same
// QPN here say nothing about it.
struct Remote {
  uint32_t qp = 0, psn = 0;
  bool several = false;
};
std::map<uint32_t, Remote> remotes(const Config &config, const Plan &plan, size_t port) {
  std::map<uint32_t, Remote> all;
  for (size_t i = 0; i < config.qps.size(); i++) {
    const QpEnds &ends = plan.qps[i];
    if (!ends.interface || port_of_interface(config, *ends.interface) != port)
      continue;
    const auto [at, fresh] = all.try_emplace(ends.dest, Remote{ends.own, config.qps[i].psn, false});
    at->second.several |= !fresh;
  }
  return all;
}

void plan_answers(const Config &config, const Plan &plan, size_t port,
                  responder::ResponderOptions &responder) {
  const otg::PortOptions &options = config.ports[port].options;
  responder.ack_tos = tos_of(options.ack);
  responder.nak_tos = tos_of(options.nak);
  responder.cnp_dscp = options.cnp.dscp;
  responder.cnp_ecn = options.cnp.ecn;
  responder.cnp_pacing.interval_ns = options.cnp_interval_us * 1000;
  const auto known =
      std::make_shared<const std::map<uint32_t, Remote>>(remotes(config, plan, port));
  responder.peer_of = [known](uint32_t qp) -> std::optional<uint32_t> {
    const auto at = known->find(qp);
    return at == known->end() || at->second.several ? std::nullopt : std::optional(at->second.qp);
  };
  responder.first_psn = [known](uint32_t qp) -> std::optional<uint32_t> {
    const auto at = known->find(qp);
    return at == known->end() || at->second.several ? std::nullopt : std::optional(at->second.psn);
  };
}

void plan_port(const Config &config, Plan &plan, size_t number, const std::string &netns) {
  const otg::Port &port = config.ports[number];
  PortPlan &made = plan.ports[number];
  std::tie(made.netns, made.ifname) = netns_and_ifname(port.location);
  endpoint::StationRequest &request = made.request;
  if (made.netns.empty())
    made.netns = netns;
  request.queues.receive = afxdp::kResponderReceive;
  request.ifname = made.ifname;
  request.netns = made.netns;
  request.line_bits = port.line_mbit * 1'000'000;
  request.obey.reset();
  if (const auto &control = port.flow_control) // a port has PAUSE or PFC, not both
    request.obey = control->whole_port
                       ? packet::ObeyedPauses{.pfc = 0, .pause = true}
                       : packet::ObeyedPauses{.pfc = static_cast<uint8_t>(control->priorities),
                                              .pause = false};
  for (const otg::Interface &interface : config.interfaces)
    if (const otg::Ethernet &ethernet = config.ethernets[interface.ethernet];
        is_on(config, ethernet, number))
      request.addresses.push_back({interface.address, ethernet.mac});
  plan_answers(config, plan, number, request.responder);
}

// What the port's options ask for.
// `flows` of the port are outstanding together: no more packets than a receiver here has room for.
requester::Reliability reliability_of(const otg::PortOptions &options, size_t flows) {
  constexpr size_t kOutstanding = 4096, kLeastWindow = 4;
  requester::Reliability made;
  made.window = static_cast<uint32_t>(
      std::clamp<size_t>(kOutstanding / std::max<size_t>(flows, 1), kLeastWindow, made.window));
  made.times = false; // a histogram for each flow would be large
  made.flow_counts = true;
  if (!options.timer)
    made.timeout_code = 0;
  else if (options.timeout_ms) { // the timer of an RNIC is 4.096 us x 2^code: the next one above
    unsigned code = 1;
    while (code < kMostTimeout &&
           4.096e-3 * std::pow(2, code) < static_cast<double>(*options.timeout_ms))
      code++;
    made.timeout_code = static_cast<uint8_t>(code);
  }
  if (options.retries)
    made.retries = static_cast<uint8_t>(*options.retries);
  made.cnp_dscp = options.cnp.dscp;
  return made;
}

// How each flow of the port is paced: its share of target_line_rate, or DCQCN that begins there.
Status pace(const Config &config, size_t port, double percent, size_t beside, uint64_t line_bits,
            flow::Flow &flow) {
  const otg::PortOptions &options = config.ports[port].options;
  const double each = percent / static_cast<double>(beside);
  const congestion::Rate share{congestion::Rate::Kind::Percent, each, fmt::format("{:.6g}%", each)};
  if (!(each > 0 && each <= 100))
    return Error{fmt::format("{} is not a part of the line's rate", share.text),
                 "target_line_rate above 0, up to 100"};
  if (!options.dcqcn) {
    flow.pacing.rate = share;
    return {};
  }
  flow.control = congestion::Control::of(congestion::Control::Kind::Dcqcn);
  flow.control.dcqcn = XR_TRY(congestion::dcqcn_preset("otg"));
  flow.control.rate = share;
  for (const otg::DcqcnParameter &parameter : options.parameters)
    if (!parameter.value.empty())
      XR_TRY(flow.control.dcqcn.set(parameter.name + "=" + parameter.value));
    else
      XR_TRY(flow.control.dcqcn.set(parameter.name,
                                    {parameter.of_line / 100 * static_cast<double>(line_bits) / 1e6,
                                     congestion::Unit::Mbit}));
  return {};
}

// Where none fits, the peer's own.
uint32_t pmtu_of(const Config &config, const otg::Peer &peer, const endpoint::PortFacts &facts) {
  const uint32_t headers = otg::transport_headers(config.interfaces[peer.interface].ipv4);
  const uint32_t room = facts.mtu > headers ? std::bit_floor(facts.mtu - headers) : 0;
  return room < otg::kLeastPmtu ? peer.pmtu : std::min(peer.pmtu, room);
}

packet::Verb verb_of(otg::Verb verb) {
  switch (verb) {
  case otg::Verb::Write:
    return packet::Verb::Write;
  case otg::Verb::WriteImmediate:
    return packet::Verb::WriteImmediate;
  case otg::Verb::Send:
    return packet::Verb::Send;
  case otg::Verb::SendImmediate:
    return packet::Verb::SendImmediate;
  default:
    return packet::Verb::Read;
  }
}

flow::Flow flow_of(const Config &config, const Plan &plan, const otg::StatefulFlow &given,
                   const endpoint::PortFacts &facts, const HopMacs &macs) {
  const otg::Qp &qp = config.qps[given.qp];
  const otg::Peer &peer = config.peers[qp.peer];
  flow::Flow flow;
  flow.path = path_of(config, peer.interface, facts.mac);
  flow.src_mac = flow.path.src_mac;
  flow.path.dst = peer.destination;
  flow.src_given = flow.dst_given = true;
  if (const auto hop = macs.find(next_hop(config, peer.interface, peer.destination));
      hop != macs.end())
    flow.path.dst_mac = hop->second;
  flow.dst_mac = flow.path.dst_mac;
  flow.path.tos = static_cast<uint8_t>(qp.dscp << 2 | qp.ecn);
  if (qp.udp_port) {
    flow.port = flow::PortChoice::Fixed;
    flow.path.src_port = *qp.udp_port;
  }
  flow.verb = verb_of(given.verb);
  flow.size.parts = {{given.bytes, 1}};
  flow.pmtu = pmtu_of(config, peer, facts);
  flow.qp = plan.qps[given.qp].dest;
  flow.src_qp = plan.qps[given.qp].own;
  flow.psn = qp.psn;
  flow.va = qp.va;
  flow.rkey = qp.rkey;
  flow.immediate = given.immediate;
  return flow;
}

} // namespace

std::pair<std::string, std::string> netns_and_ifname(const std::string &location) {
  const size_t slash = location.find('/');
  if (slash == std::string::npos)
    return {"", location};
  return {location.substr(0, slash), location.substr(slash + 1)};
}

packet::Path path_of(const Config &config, size_t interface, const packet::Mac &port_mac) {
  const otg::Interface &own = config.interfaces[interface];
  const otg::Ethernet &ethernet = config.ethernets[own.ethernet];
  packet::Path path;
  path.src_mac = ethernet.mac.value_or(port_mac);
  for (const otg::Vlan &vlan : ethernet.vlans)
    path.tags.push_back({vlan.tpid, static_cast<uint16_t>(vlan.priority << 13 | vlan.id)});
  path.network = own.ipv4 ? packet::Network::Ipv4 : packet::Network::Ipv6;
  path.src = own.address;
  return path;
}

NextHop next_hop(const Config &config, size_t interface, const Address &to) {
  const otg::Interface &own = config.interfaces[interface];
  const unsigned bits = own.prefix + (own.ipv4 ? 96 : 0);
  bool near = true;
  for (unsigned i = 0; i < 4; i++) {
    const unsigned of_word = bits > 32 * i ? std::min(32U, bits - 32 * i) : 0;
    const uint32_t mask = of_word ? ~uint32_t{0} << (32 - of_word) : 0;
    near = near && !((ntohl(own.address[i]) ^ ntohl(to[i])) & mask);
  }
  return {interface, near ? to : own.gateway};
}

namespace {

using Pair = std::pair<std::string, std::string>;

// The interfaces between which frames of a pair of devices go, if it names such.
std::optional<std::pair<size_t, size_t>> device_way(const Config &config, const Pair &pair) {
  const auto named = [&](const std::string &name) -> std::optional<size_t> {
    for (size_t i = 0; i < config.interfaces.size(); i++)
      if (config.interfaces[i].name == name)
        return i;
    return {};
  };
  const auto from = named(pair.first), to = named(pair.second);
  return from && to ? std::optional(std::pair(*from, *to)) : std::nullopt;
}

const otg::Ethernet *ethernet_named(const Config &config, const std::string &name) {
  for (const otg::Ethernet &ethernet : config.ethernets)
    if (ethernet.name == name)
      return &ethernet;
  return nullptr;
}

// The only Ethernet of a port; nullptr: there is none, or several.
const otg::Ethernet *only_ethernet(const Config &config, size_t port) {
  const otg::Ethernet *only = nullptr;
  for (const otg::Ethernet &ethernet : config.ethernets) {
    if (ethernet.port != port)
      continue;
    if (only)
      return nullptr;
    only = &ethernet;
  }
  return only;
}

// Where frames of a pair go first: the neighbour that answered; else the MAC of the receiver. A
// flow of ports has a pair without names.
std::optional<packet::Mac> destination_mac(const Config &config, const otg::PlainFlow &flow,
                                           const Pair &pair, const HopMacs &macs,
                                           const MacOf &mac_of) {
  if (const auto way = device_way(config, pair)) {
    const auto hop =
        macs.find(next_hop(config, way->first, config.interfaces[way->second].address));
    return hop == macs.end() ? std::nullopt : std::optional(hop->second);
  }
  const otg::Ethernet *there = ethernet_named(config, pair.second);
  if (!there && flow.rx_ports.empty())
    return {};
  const size_t port = there ? there->port : flow.rx_ports.front();
  if (pair.second.empty())
    there = only_ethernet(config, port);
  return there && there->mac ? *there->mac : mac_of(port);
}

packet::Mac source_mac(const Config &config, const otg::PlainFlow &flow, const Pair &pair,
                       const MacOf &mac_of) {
  const otg::Ethernet *own = ethernet_named(config, pair.first);
  if (const auto way = device_way(config, pair))
    own = &config.ethernets[config.interfaces[way->first].ethernet];
  return own && own->mac ? *own->mac : mac_of(flow.tx_port);
}

// Writes the MACs of all pairs, which frames have in turn, at byte `at` of the headers.
void set_macs(packet::FrameShape &frame, uint32_t at, const std::vector<packet::Mac> &macs) {
  std::erase_if(frame.variations,
                [&](const packet::Variation &field) { return field.bit == 8 * at; });
  std::ranges::copy(macs.front(), frame.headers.begin() + at);
  if (std::ranges::all_of(macs, [&](const packet::Mac &mac) { return mac == macs.front(); }))
    return;
  packet::Variation field{
      .bit = 8 * at, .bits = 48, .kind = packet::Variation::Kind::Values, .count = macs.size()};
  for (const packet::Mac &mac : macs)
    field.values.push_back(packet::get_bits(mac, 0, 48));
  frame.variations.push_back(std::move(field));
}

} // namespace

Result<std::vector<requester::PlainFlow>> plain_flows(const Config &config, const Plan &plan,
                                                      size_t port, uint64_t line_bits,
                                                      const HopMacs &macs, const MacOf &mac_of) {
  std::vector<requester::PlainFlow> all;
  for (const size_t number : plan.ports[port].plain_flows) {
    const otg::PlainFlow &given = config.plain_flows[number];
    requester::PlainFlow flow;
    flow.frame = given.frame;
    flow.sizes = given.sizes;
    flow.rate = given.rate;
    flow.span = given.span;
    flow.id = static_cast<uint16_t>(number);
    flow.line_bits = line_bits;
    if (given.enabled)
      flow.tags = otg::ranges_of(given.tags);
    std::vector<packet::Mac> sources, destinations;
    for (const Pair &pair : given.pairs.empty() ? std::vector<Pair>(1) : given.pairs) {
      sources.push_back(source_mac(config, given, pair, mac_of));
      destinations.push_back(
          destination_mac(config, given, pair, macs, mac_of).value_or(packet::Mac{}));
    }
    if (given.resolve_dst_mac)
      set_macs(flow.frame, 0, destinations);
    if (given.resolve_src_mac)
      set_macs(flow.frame, 6, sources);
    XR_TRY(requester::check_plain(flow).in(fmt::format("flow '{}'", given.name)));
    all.push_back(std::move(flow));
  }
  return all;
}

void plan_hops(const Config &config, Plan &plan) {
  std::set<NextHop> asked;
  for (const otg::StatefulFlow &flow : config.flows) {
    const otg::Peer &peer = config.peers[config.qps[flow.qp].peer];
    asked.insert(next_hop(config, peer.interface, peer.destination));
  }
  for (size_t i = 0; i < config.interfaces.size(); i++)
    if (const otg::Interface &own = config.interfaces[i];
        !is_unspecified(own.gateway) && own.gateway != own.address)
      asked.insert({i, own.gateway});
  for (const otg::PlainFlow &flow : config.plain_flows)
    for (const Pair &pair : flow.pairs)
      if (const auto way = device_way(config, pair); way && flow.resolve_dst_mac && !flow.removed)
        asked.insert(next_hop(config, way->first, config.interfaces[way->second].address));
  for (PortPlan &port : plan.ports)
    port.next_hops.clear();
  for (const NextHop &hop : asked)
    for (const size_t port :
         otg::ports_of(config, config.ethernets[config.interfaces[hop.interface].ethernet]))
      plan.ports[port].next_hops.push_back(hop);
}

void add_plain(const Config &config, Plan &plan, size_t first) {
  for (size_t i = first; i < config.plain_flows.size(); i++) {
    const otg::PlainFlow &flow = config.plain_flows[i];
    plan.ports[flow.tx_port].plain_flows.push_back(i);
    for (const size_t port : flow.rx_ports)
      plan.ports[port].request.all_frames = true;
  }
  plan_hops(config, plan);
}

Plan make_plan(const Config &config, const std::string &netns) {
  Plan plan;
  plan.qps.resize(config.qps.size());
  plan.ports.resize(config.ports.size());
  number_qps(config, plan);
  pair_qps(config, plan);
  for (size_t i = 0; i < config.ports.size(); i++)
    plan_port(config, plan, i, netns);
  for (size_t i = 0; i < config.flows.size(); i++) {
    const otg::StatefulFlow &flow = config.flows[i];
    const QpEnds &ends = plan.qps[flow.qp];
    plan.rx_ports.push_back(
        ends.interface ? std::optional(port_of_interface(config, *ends.interface)) : std::nullopt);
    if (flow.percent > 0)
      plan.ports[flow.port].flows.push_back(i);
  }
  for (const otg::Capture &capture : config.captures)
    for (const size_t port : capture.ports)
      plan.ports[port].request.all_frames = true;
  for (const otg::Lag &lag : config.lags)
    if (lag.lacp) // LACPDUs
      for (const size_t port : otg::ports_of(lag))
        plan.ports[port].request.all_frames = true;
  for (const otg::Lldp &lldp : config.lldp)
    plan.ports[lldp.port].request.all_frames = true;
  add_plain(config, plan, 0);
  return plan;
}

std::vector<std::string> narrowed(const Config &config, size_t port,
                                  const endpoint::PortFacts &facts) {
  std::vector<std::string> all;
  for (const otg::Peer &peer : config.peers)
    if (const uint32_t pmtu = pmtu_of(config, peer, facts);
        pmtu != peer.pmtu && port_of_interface(config, peer.interface) == port)
      all.push_back(
          fmt::format("peer '{}': packets of {} bytes do not fit the MTU {} of {}: the PMTU is {}, "
                      "as {} needs an "
                      "MTU of {}",
                      peer.name, peer.pmtu, facts.mtu, facts.ifname, pmtu, peer.pmtu,
                      peer.pmtu + otg::transport_headers(config.interfaces[peer.interface].ipv4)));
  return all;
}

Result<std::vector<station::StationFlow>> station_flows(const Config &config, const Plan &plan,
                                                        size_t port,
                                                        const endpoint::PortFacts &facts,
                                                        const HopMacs &macs) {
  const PortPlan &own = plan.ports[port];
  const uint64_t line_bits = own.request.line_bits ? own.request.line_bits : facts.line_bits;
  const requester::Reliability reliability =
      reliability_of(config.ports[port].options, own.flows.size());
  std::vector<station::StationFlow> all;
  for (const size_t number : own.flows) {
    const otg::StatefulFlow &given = config.flows[number];
    const std::string where = fmt::format("flow '{}'", given.name);
    if (!line_bits)
      return Error{
          fmt::format("{}: the driver of {} does not report the line's rate", where, facts.ifname),
          "layer1 with a speed for the port"};
    flow::Flow flow = flow_of(config, plan, given, facts, macs);
    XR_TRY(pace(config, port, given.percent, own.flows.size(), line_bits, flow).in(where));
    flow.seed = number + 1;
    flow.stamp = true; // for the latency, where packets have room for it
    if (!flow::check_flow(flow, facts.mtu))
      flow.stamp = false;
    XR_TRY(flow::check_flow(flow, facts.mtu).in(where));
    XR_TRY(flow::check_reliable(flow).in(where));
    all.push_back({std::move(flow), reliability});
  }
  return all;
}

} // namespace xr::generator
