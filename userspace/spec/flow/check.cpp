// SPDX-License-Identifier: Apache-2.0
// Checks the parts of a flow against each other and against the port.
#include <algorithm>

#include <fmt/format.h>

#include "flow/words.h"
#include "packet/bytes.h"
#include "packet/stamp.h"
#include "parse/address.h"

namespace xr::flow {

namespace {

constexpr uint64_t kLongestMessage = 1ULL << 31; // IBA vol. 1, 9.7.1
constexpr uint32_t kQpns = 1 << 24;
constexpr uint32_t kPmtus[] = {4096, 2048, 1024, 512, 256};

using packet::Address;
using packet::Network;

bool is_zero(const Address &a) { return a == Address{}; }

bool has_acks(uint8_t transport) {
  return transport == ROCE_RC || transport == ROCE_RD || transport == ROCE_XRC;
}

bool is_only_ud(const Flow &flow) {
  const auto is_ud = [](uint8_t opcode) { return (opcode & ROCE_TRANSPORT_MASK) == ROCE_UD; };
  return flow.transport == ROCE_UD && std::all_of(flow.opcodes.begin(), flow.opcodes.end(), is_ud);
}

Status check_addresses(const Flow &flow) {
  const packet::Path &path = flow.path;
  if (is_zero(path.dst))
    return Error{"there is no destination", "dst 192.0.2.2"};
  if (is_zero(path.src))
    return Error{"there is no source address", "src 192.0.2.1, or an address on the interface"};
  const bool ipv4 = packet::is_mapped(path.src);
  if (path.network != Network::V1 && ipv4 != packet::is_mapped(path.dst))
    return Error{fmt::format("src {} and dst {} are of two families", parse::address_text(path.src),
                             parse::address_text(path.dst)),
                 "both are IPv4 or both are IPv6"};
  if (path.network != Network::V1 && ipv4 != (path.network == Network::Ipv4))
    return Error{"the addresses are not of the flow's network", "both are IPv4 or both are IPv6"};
  if (packet::is_multicast(path.src))
    return Error{fmt::format("src {} is a multicast address", parse::address_text(path.src)),
                 "a group cannot send"};
  if (packet::is_multicast(path.dst) && !is_only_ud(flow))
    return Error{fmt::format("dst {} is a multicast address", parse::address_text(path.dst)),
                 "only transport ud can send to a group"};
  return {};
}

Status check_qps(const Flow &flow) {
  if (!flow.qps)
    return Error{"there are no QPs", "qps 1"};
  if (uint64_t{flow.qp} + flow.qps > kQpns)
    return Error{
        fmt::format("qp {:#x} with qps {} goes beyond QPN {:#x}", flow.qp, flow.qps, kQpns - 1),
        fmt::format("qp {:#x} is the last one with room", kQpns - flow.qps)};
  if (uint64_t{flow.src_qp.value_or(0)} + flow.qps > kQpns)
    return Error{fmt::format("src-qp {:#x} with qps {} goes beyond QPN {:#x}", *flow.src_qp,
                             flow.qps, kQpns - 1),
                 fmt::format("src-qp {:#x} is the last one with room", kQpns - flow.qps)};
  return {};
}

Status check_control(const Flow &flow) {
  using Kind = congestion::Control::Kind;
  if (flow.control.kind != Kind::None && !flow.interleave)
    return Error{"cc does not go with by message: each QP sends when its own rate lets it",
                 "leave out one of the two"};
  if (flow.control.needs() && !has_acks(flow.transport))
    return Error{fmt::format("cc {}: transport {} has no ACKs, which it needs", flow.control.word(),
                             packet::transport_name(flow.transport)),
                 "transport rc, or cc dcqcn"};
  return {};
}

Status check_opcodes(const Flow &flow) {
  const auto cnp = std::find(flow.opcodes.begin(), flow.opcodes.end(), ROCE_OPCODE_CNP);
  if (cnp != flow.opcodes.end() && flow.path.network == Network::V1)
    return Error{"opcode: RoCEv1 has no CNP", "without v1"};
  return {};
}

Status check_verb(const Flow &flow) {
  if (!flow.opcodes.empty())
    return check_opcodes(flow);
  if (packet::transport_has(flow.transport, flow.verb))
    return {};
  std::string others;
  for (const Named &transport : kTransports)
    if (packet::transport_has(transport.value, flow.verb))
      others += fmt::format("{}{}", others.empty() ? "" : " or ", transport.name);
  return Error{fmt::format("transport {} has no {}", packet::transport_name(flow.transport),
                           packet::verb_name(flow.verb)),
               fmt::format("{} needs transport {}", packet::verb_name(flow.verb), others)};
}

constexpr uint32_t kMostPsns = 1U << 23; // IBA vol. 1, 9.7.3.1

Status check_sizes(const Flow &flow) {
  if (flow.size.parts.empty() || !flow.pmtu)
    return Error{"there is no size of messages or no PMTU", "size 64k pmtu 1024"};
  const uint64_t largest = flow.size.largest();
  if (largest > kLongestMessage)
    return Error{fmt::format("size: a message of {} bytes is too long", largest),
                 "at most 2 GiB (2147483648)"};
  if (!flow.opcodes.empty() && largest > flow.pmtu)
    return Error{fmt::format("size: {} bytes do not fit a packet of {}", largest, flow.pmtu),
                 fmt::format("with opcode each message is one packet: size {}", flow.pmtu)};
  if (packet::psns_of(flow.verb, largest, flow.pmtu) > kMostPsns)
    return Error{
        fmt::format("size: {} bytes in packets of {} take more PSNs than may be outstanding",
                    largest, flow.pmtu),
        fmt::format("at most {} a message", kMostPsns)};
  if (flow.transport == ROCE_UD && largest > flow.pmtu)
    return Error{fmt::format("size: {} bytes do not fit a datagram of {}", largest, flow.pmtu),
                 fmt::format("transport ud has messages of one packet: size {}", flow.pmtu)};
  return {};
}

// A packet: `bytes` from the Ethernet header to the iCRC, and its payload at this PMTU.
struct Largest {
  uint32_t bytes = 0, payload = 0;
};

void look_at(const Flow &flow, const packet::Segment &segment, Largest &largest) {
  const uint32_t bytes =
      packet::overhead(flow.path, segment.opcode) + segment.payload + flow.pad_of(segment.payload);
  if (bytes > largest.bytes)
    largest = {bytes, segment.payload};
}

void look_at(const Flow &flow, uint64_t size, Largest &largest) {
  const uint32_t packets = flow.packets_of(size);
  for (const uint32_t index : {0U, std::min(packets - 1, 1U), packets - 1})
    look_at(flow, flow.segment(size, index), largest);
  for (size_t number = 1; number < flow.opcodes.size(); number++)
    look_at(flow, flow.segment(size, 0, number), largest);
}

Largest largest_frame(const Flow &flow) {
  Largest largest;
  for (const Sizes::Part &part : flow.size.parts)
    look_at(flow, part.bytes, largest);
  const uint64_t from = flow.size.parts.front().bytes, to = flow.size.parts.back().bytes;
  if (flow.size.kind == Sizes::Kind::Uniform && from <= flow.pmtu && flow.pmtu <= to)
    look_at(flow, flow.pmtu, largest); // ONLY may have more headers than FIRST
  return largest;
}

std::string fitting(const Flow &flow, uint32_t room, const Largest &largest) {
  for (const uint32_t pmtu : kPmtus)
    if (largest.bytes - largest.payload + pmtu <= room && pmtu < largest.payload)
      return flow.transport == ROCE_UD ? fmt::format("size {} fits", pmtu)
                                       : fmt::format("pmtu {} is the largest that fits", pmtu);
  return "the interface needs a larger MTU";
}

Status check_mtu(const Flow &flow, uint32_t mtu) {
  const uint32_t outside = ROCE_ETH_LEN + ROCE_VLAN_LEN * uint32_t(flow.path.tags.size());
  const Largest largest = largest_frame(flow);
  if (largest.bytes <= mtu + outside)
    return {};
  return Error{
      fmt::format("packets of {} bytes do not fit an MTU of {}", largest.bytes - outside, mtu),
      fitting(flow, mtu + outside, largest)};
}

Status check_pacing(const congestion::Pacing &pacing) {
  const bool top = pacing.rate.kind == congestion::Rate::Kind::Top;
  if (pacing.shape == congestion::Pacing::Shape::Burst && pacing.ramp_ns)
    return Error{"burst and ramp contradict each other", "a ramp is of constant rates or poisson"};
  if (pacing.shape == congestion::Pacing::Shape::Burst && !pacing.burst_packets)
    return Error{"burst: there are no packets in it", "burst 32 gap 1ms"};
  if (pacing.shape == congestion::Pacing::Shape::Poisson && top)
    return Error{"poisson: there is no rate", "rate 100kpps poisson"};
  if (pacing.ramp_ns && top)
    return Error{"ramp: there is no rate to reach", "rate 10gbit ramp 10s"};
  return {};
}

Status check_faults(const Flow &flow) {
  for (const Fault &fault : flow.faults)
    if (fault.kind == Fault::Kind::GhostAck && !has_acks(flow.transport))
      return Error{fmt::format("fault ghost-ack: transport {} has no ACKs",
                               packet::transport_name(flow.transport)),
                   "transport rc, rd or xrc"};
  return {};
}

// The smallest payload of a packet of a message of `size` bytes; packets without payload that the
// flow lists among others do not count.
uint32_t smallest_payload(const Flow &flow, uint64_t size) {
  if (flow.opcodes.empty())
    return flow.segment(size, flow.packets_of(size) - 1).payload;
  uint32_t smallest = UINT32_MAX;
  for (size_t number = 0; number < flow.opcodes.size(); number++)
    if (const uint32_t payload = flow.segment(size, 0, number).payload)
      smallest = std::min(smallest, payload);
  return smallest == UINT32_MAX ? 0 : smallest;
}

uint32_t smallest_payload(const Flow &flow) {
  uint32_t smallest = UINT32_MAX;
  for (const Sizes::Part &part : flow.size.parts)
    smallest = std::min(smallest, smallest_payload(flow, part.bytes));
  if (flow.size.kind == Sizes::Kind::Uniform) {
    const uint64_t from = flow.size.parts.front().bytes, to = flow.size.parts.back().bytes;
    // all lengths of a last packet occur within one PMTU
    for (uint64_t size = from; size <= std::min(to, from + flow.pmtu); size++)
      smallest = std::min(smallest, smallest_payload(flow, size));
  }
  return smallest;
}

Status check_stamp(const Flow &flow) {
  if (!flow.stamp)
    return {};
  const bool data = packet::verb_properties(flow.verb) & (ROCE_OP_SEND | ROCE_OP_WRITE);
  if (flow.opcodes.empty() && !data)
    return Error{fmt::format("stamp: packets of {} have no payload", packet::verb_name(flow.verb)),
                 "send or write"};
  if (const uint32_t least = smallest_payload(flow); least < packet::kStampBytes)
    return Error{fmt::format("stamp: a packet with {} bytes of payload has no room for {}", least,
                             packet::kStampBytes),
                 fmt::format("sizes whose last packet has at least {} bytes, like size {}",
                             packet::kStampBytes, flow.pmtu)};
  return {};
}

} // namespace

Status check_flow(const Flow &flow, uint32_t mtu) {
  for (const auto check :
       {check_addresses, check_qps, check_verb, check_sizes, check_faults, check_control})
    if (Status s = check(flow); !s)
      return s;
  if (Status s = check_pacing(flow.pacing); !s)
    return s;
  if (Status s = check_stamp(flow); !s)
    return s;
  return check_mtu(flow, mtu);
}

Status check_reliable(const Flow &flow) {
  if (!flow.opcodes.empty())
    return Error{"opcode: only a verb has answers to wait for", "without --reliable"};
  if (flow.transport != ROCE_RC && flow.transport != ROCE_XRC)
    return Error{"only RC and XRC are reliable", "transport rc, or without --reliable"};
  if (flow.bth.tver)
    return Error{"tver: packets of another version are never answered", "without --reliable"};
  if (flow.bth.ack_req == false)
    return Error{"ack-req 0: without AckReq there may be no answer", "without --reliable"};
  return {};
}

} // namespace xr::flow
