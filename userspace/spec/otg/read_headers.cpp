// SPDX-License-Identifier: Apache-2.0
#include "otg/read_headers.h"

#include <fmt/format.h>

#include "otg/header_stack.h"

namespace xr::otg {

using packet::FrameShape;
using packet::Wide;

// To add a header: its row, and a function that reads it. In the order of the model.
const std::array<HeaderStack::Kind, HeaderStack::kKinds> HeaderStack::kinds{{
    {"custom", "a custom header", &HeaderStack::custom, 0, -1},
    {"ethernet", "an Ethernet header", &HeaderStack::ethernet, 0x6558, 143},
    {"vlan", "a VLAN tag", &HeaderStack::vlan, kVlanType, -1},
    {"vxlan", "a VXLAN header", &HeaderStack::vxlan, 0, -1},
    {"ipv4", "an IPv4 header", &HeaderStack::ipv4, 0x0800, 4},
    {"ipv6", "an IPv6 header", &HeaderStack::ipv6, 0x86dd, 41},
    {"pfcpause", "a PFC frame", &HeaderStack::pfcpause, 0x8808, -1},
    {"ethernetpause", "a PAUSE frame", &HeaderStack::ethernetpause, 0x8808, -1},
    {"tcp", "a TCP header", &HeaderStack::tcp, 0, kTcp},
    {"udp", "a UDP header", &HeaderStack::udp, 0, kUdp},
    {"gre", "a GRE header", &HeaderStack::gre, 0, 47},
    {"gtpv1", "a GTP-U header", &HeaderStack::gtpv1, 0, -1},
    {"gtpv2", "", nullptr, 0, -1},
    {"arp", "an ARP message", &HeaderStack::arp, 0x0806, -1},
    {"icmp", "an ICMP message", &HeaderStack::icmp, 0, 1},
    {"icmpv6", "", nullptr, 0, 58},
    {"ppp", "", nullptr, 0, -1},
    {"igmpv1", "", nullptr, 0, 2},
    {"mpls", "", nullptr, 0x8847, -1},
    {"snmpv2c", "", nullptr, 0, -1},
    {"rsvp", "", nullptr, 0, 46},
    {"macsec", "", nullptr, 0x88e5, -1},
    {"lacp", "", nullptr, 0x8809, -1},
    {"ipv6_extension_header", "", nullptr, 0, -1},
    {"cfm", "", nullptr, 0x8902, -1},
}};

void HeaderStack::read(Object &header) {
  std::vector<std::string_view> names;
  names.reserve(kinds.size());
  for (const Kind &kind : kinds)
    names.push_back(kind.name);
  const Kind &kind = kinds[header.choice(names, 1)];
  const std::string_view name = kind.name;
  if (size() == 0 && name != "ethernet" && name != "custom" && name != "pfcpause" &&
      name != "ethernetpause") {
    header.value(kind.name);
    header.error(nullptr, {fmt::format("a frame does not start with {}", name),
                           "an ethernet header, or custom with the bytes of one"});
    return;
  }
  if (!kind.read) {
    header.value(kind.name);
    header.error(kind.name, {"headers of this kind are not supported", "custom, with their bytes"});
    return;
  }
  resolve(name);
  header.object(
      kind.name, kind.what, [&](Object &object) { (this->*kind.read)(object); }, true);
  last_ = name;
}

// Appends a field, and returns its position.
uint32_t HeaderStack::put(const Pattern &pattern, uint32_t bits) {
  const uint32_t at = bits_;
  bits_ += bits;
  shape_.headers.resize((bits_ + 7) / 8);
  packet::set_bits(shape_.headers, at, bits, pattern.value);
  if (pattern.variation) {
    shape_.variations.push_back(*pattern.variation);
    shape_.variations.back().bit = at;
  }
  return at;
}

Pattern HeaderStack::take(Object &object, const Field &field) {
  Pattern pattern = read_pattern(object, field);
  put(pattern, field.bits);
  return pattern;
}

// An EtherType (16 bits) or protocol (8) that the next header may decide; returns its position.
uint32_t HeaderStack::type(Object &object, const Field &field) {
  const uint32_t at = bits_;
  if (take(object, field).automatic)
    pending_ = Pending{at, field.bits == 16, field.otherwise};
  return at;
}

// `next`: "": there is none.
void HeaderStack::resolve(std::string_view next) {
  if (!pending_)
    return;
  Wide value = pending_->otherwise;
  for (const Kind &kind : kinds)
    if (kind.name == next) {
      if (pending_->ether && kind.ether)
        value = kind.ether;
      if (!pending_->ether && kind.protocol >= 0)
        value = static_cast<Wide>(kind.protocol);
    }
  packet::set_bits(shape_.headers, pending_->bit, pending_->ether ? 16 : 8, value);
  pending_.reset();
}

// Appends a checksum over [from, to). `protocol`: that of its pseudo-header; 0: it has none.
void HeaderStack::checksum(Object &object, const char *key, uint32_t from, uint32_t to,
                           uint8_t protocol) {
  const Checksum read = read_checksum(object, key);
  const uint32_t at = size();
  put(read.custom.value_or(0), 16);
  if (read.custom)
    return;
  packet::ChecksumField field{.at = at, .from = from, .to = to};
  field.bad = read.bad;
  if (protocol) {
    if (!l3_) {
      object.warning(key, "it is 0: there is no IP header before, whose addresses it counts");
      return;
    }
    field.addresses = *l3_ + (l3_is_ipv4_ ? 12 : 8);
    field.addresses_of = l3_is_ipv4_ ? 8 : 32;
    field.protocol = protocol;
    field.never_zero = protocol == kUdp;
  }
  checksums_.push_back(field);
}

void HeaderStack::finish() {
  resolve("");
  if (shape_.icrc && !icrc_wanted_) {
    flow_.error("packet",
                {"x_xdp_roce_icrc is in a header that is not the last", "an iCRC ends the frame"});
    shape_.icrc.reset();
  }
  // The headers outside count those inside.
  shape_.checksums.assign(checksums_.rbegin(), checksums_.rend());
}

ReadHeaders read_headers(Object &flow) {
  ReadHeaders made;
  HeaderStack stack(flow, made);
  const Json standard = Json::array({Json::object()}); // the model's: an Ethernet header
  if (Json *given = flow.value("packet"); given && given->is_array() && given->empty())
    *given = standard;
  flow.set_default("packet", standard);
  flow.each("packet", "a header", [&](Object &header) { stack.read(header); });
  stack.finish();
  return made;
}

FrameShape swapped(FrameShape shape, const std::vector<ReadHeaders::Swap> &swaps) {
  for (const ReadHeaders::Swap &swap : swaps) {
    const Wide a = packet::get_bits(shape.headers, swap.a, swap.bits);
    packet::set_bits(shape.headers, swap.a, swap.bits,
                     packet::get_bits(shape.headers, swap.b, swap.bits));
    packet::set_bits(shape.headers, swap.b, swap.bits, a);
    for (packet::Variation &field : shape.variations)
      if (field.bit == swap.a)
        field.bit = swap.b;
      else if (field.bit == swap.b)
        field.bit = swap.a;
  }
  return shape;
}

} // namespace xr::otg
