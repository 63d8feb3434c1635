// SPDX-License-Identifier: Apache-2.0
#include "otg/header_fields.h"

#include <fmt/format.h>

#include "otg/header_stack.h"

namespace xr::otg {

// To add a header: its rows, and its line in the table at the end.
namespace header_tables {
using F = HeaderField;
using R = HeaderField::Role;
using S = HeaderStack;
using Read = void (HeaderStack::*)(Object &, const HeaderField &);
using Fields = std::span<const HeaderField>;
constexpr auto kAbsent = Automatic::Absent;

constexpr F number(const char *key, uint32_t bits, packet::Wide otherwise = 0) {
  return {.key = key, .bits = bits, .otherwise = otherwise};
}
constexpr F automatic(F field, Automatic how = Automatic::Yes) {
  field.automatic = how;
  return field;
}
constexpr F random(F field) {
  field.random = true;
  return field;
}
constexpr F optional(F field) {
  field.optional = true;
  return field;
}
constexpr F as(R role, F field) {
  field.role = role;
  return field;
}
constexpr F flag(const char *key) { return as(R::Flag, number(key, 1)); }
constexpr F reserved(uint32_t bits, packet::Wide value = 0) {
  return {.bits = bits, .otherwise = value, .role = R::Reserved};
}
constexpr F mac(const char *key, packet::Wide otherwise = 0) {
  return {.key = key, .bits = 48, .otherwise = otherwise, .notation = Notation::Mac};
}
constexpr F ip4(const char *key) { return {.key = key, .bits = 32, .notation = Notation::Ipv4}; }
constexpr F ip6(const char *key) { return {.key = key, .bits = 128, .notation = Notation::Ipv6}; }
constexpr F type(const char *key, R which, packet::Wide otherwise) {
  return automatic(as(which, number(key, which == R::Protocol ? 8 : 16, otherwise)));
}
constexpr F length(const char *key, uint32_t from, packet::Wide otherwise,
                   Automatic how = Automatic::Yes) {
  F field = automatic(as(R::Length, number(key, 16, otherwise)), how);
  field.from = from;
  return field;
}
constexpr F words(const char *key, uint32_t bits, uint32_t unit, uint32_t from,
                  packet::Wide otherwise) {
  F field = automatic(as(R::Words, number(key, bits, otherwise)));
  field.unit = unit;
  field.from = from;
  return field;
}
constexpr F count(const char *key, const char *of, uint32_t less) {
  F field = automatic(as(R::Count, number(key, 8)));
  field.of = of;
  field.from = less;
  return field;
}
constexpr F checksum(uint8_t protocol = 0) {
  F field = as(R::Checksum, number("checksum", 16));
  field.protocol = protocol;
  return field;
}
constexpr F special(Read read, F field = {}) {
  field.special = read;
  return as(R::Special, field);
}
constexpr F unused(const char *key, const char *why) {
  return {.key = key, .role = R::Unused, .why = why};
}
constexpr F object(const char *key, Fields inside, R role = R::Group) {
  return {.key = key, .role = role, .inside = inside};
}

constexpr F custom[] = {special(&S::custom, number("bytes", 0))};

constexpr F ethernet[] = {
    special(&S::ethernet_dst, automatic(mac("dst"))), mac("src"),
    type("ether_type", R::EtherType, 0xffff),
    unused("pfc_queue", "a frame's priority is that of its VLAN tag or its DSCP")};

constexpr F vlan[] = {number("priority", 3), number("cfi", 1), number("id", 12),
                      special(&S::tpid, number("tpid", 16, 0xffff))};

constexpr F vxlan[] = {special(&S::vxlan_port), number("flags", 8, 8), number("reserved0", 24),
                       automatic(number("vni", 24)), number("reserved1", 8)};

constexpr F tos[] = {number("precedence", 3),  number("delay", 1),    number("throughput", 1),
                     number("reliability", 1), number("monetary", 1), number("unused", 1)};
constexpr F dscp[] = {number("phb", 6), number("ecn", 2)};
constexpr F ipv4[] = {number("version", 4, 4),
                      words("header_length", 4, 4, 0, 5),
                      special(&S::priority, number("priority", 8)),
                      length("total_length", 0, 46),
                      number("identification", 16),
                      number("reserved", 1),
                      number("dont_fragment", 1),
                      number("more_fragments", 1),
                      number("fragment_offset", 13),
                      number("time_to_live", 8, 64),
                      type("protocol", R::Protocol, 61),
                      as(R::SumOfHeader, number("header_checksum", 16)),
                      as(R::Swapped, random(ip4("src"))),
                      random(ip4("dst")),
                      special(&S::options, number("options", 0))};

constexpr F ipv6[] = {number("version", 4, 6),
                      number("traffic_class", 8),
                      random(number("flow_label", 20)),
                      length("payload_length", 40, 0),
                      type("next_header", R::Protocol, 59),
                      number("hop_limit", 8, 64),
                      as(R::Swapped, ip6("src")),
                      special(&S::ipv6_dst, ip6("dst"))};

// RFC 8754, 2; flags that it no longer has are those of its drafts.
constexpr F segment[] = {special(&S::segment, ip6("segment"))};
constexpr F segment_flags[] = {reserved(1), number("protected", 1), number("oam", 1),
                               number("alert", 1), reserved(4)};
constexpr F pad_tlv[] = {automatic(number("type", 8, 4)), automatic(number("length", 8))};
constexpr F list(Fields inside) {
  F field = object("segment_list", inside, R::List);
  field.needed = true;
  return field;
}
constexpr F segment_routing[] = {reserved(8, 4),
                                 count("segments_left", "segment_list", 0),
                                 count("last_entry", "segment_list", 1),
                                 object("flags", segment_flags),
                                 number("tag", 16),
                                 list(segment),
                                 special(&S::pad_tlv, object("pad_tlv", pad_tlv))};
// RFC 9800, 4.
constexpr F usids[] = {special(&S::usids, number("usids", 128))};
constexpr F usid_flags[] = {reserved(2), number("oam", 1), reserved(5)};
// Its segments_left is the first element to visit, that of segment_routing how many there are.
constexpr F segment_routing_usid[] = {reserved(8, 4),
                                      count("segments_left", "segment_list", 1),
                                      count("last_entry", "segment_list", 1),
                                      object("flags", usid_flags),
                                      number("tag", 16),
                                      list(usids),
                                      special(&S::pad_tlv, object("pad_tlv", pad_tlv))};
constexpr F routing[] = {object("segment_routing", segment_routing, R::Choice),
                         object("segment_routing_usid", segment_routing_usid, R::Choice)};
constexpr F ipv6_extension_header[] = {type("next_header", R::Protocol, 59),
                                       words("hdr_ext_len", 8, 8, 8, 0),
                                       object("routing", routing, R::Choice)};

constexpr F pfcpause[] = {mac("dst", 0x0180c2000001),        mac("src"),
                          number("ether_type", 16, 0x8808),  number("control_op_code", 16, 0x0101),
                          number("class_enable_vector", 16), number("pause_class_0", 16),
                          number("pause_class_1", 16),       number("pause_class_2", 16),
                          number("pause_class_3", 16),       number("pause_class_4", 16),
                          number("pause_class_5", 16),       number("pause_class_6", 16),
                          number("pause_class_7", 16)};
constexpr F ethernetpause[] = {mac("dst", 0x0180c2000001), mac("src"),
                               number("ether_type", 16, 0x8808), number("control_op_code", 16, 1),
                               number("time", 16)};

constexpr F tcp[] = {as(R::Swapped, random(number("src_port", 16))),
                     random(number("dst_port", 16)),
                     number("seq_num", 32),
                     number("ack_num", 32),
                     automatic(number("data_offset", 4, 5), kAbsent),
                     reserved(3),
                     number("ecn_ns", 1),
                     number("ecn_cwr", 1),
                     number("ecn_echo", 1),
                     number("ctl_urg", 1),
                     number("ctl_ack", 1),
                     number("ctl_psh", 1),
                     number("ctl_rst", 1),
                     number("ctl_syn", 1),
                     number("ctl_fin", 1),
                     number("window", 16),
                     checksum(kTcp),
                     reserved(16)}; // the urgent pointer
constexpr F udp[] = {as(R::Swapped, random(number("src_port", 16))), random(number("dst_port", 16)),
                     length("length", 0, 0, kAbsent), checksum(kUdp)};

constexpr F gre[] = {flag("checksum_present"), number("reserved0", 12),
                     number("version", 3),     type("protocol", R::EtherType, 0x0800),
                     optional(checksum()),     optional(number("reserved1", 16))};

// 3GPP TS 29.281, 5.1, and 29.274, 5.1: lengths count what follows the first eight, and four,
// bytes.
constexpr F gtpv1_extension[] = {number("extension_length", 8), number("contents", 48),
                                 number("next_extension_header", 8)};
constexpr F gtpv1[] = {number("version", 3, 1),
                       number("protocol_type", 1, 1),
                       number("reserved", 1),
                       flag("e_flag"),
                       flag("s_flag"),
                       flag("pn_flag"),
                       number("message_type", 8),
                       length("message_length", 8, 0, kAbsent),
                       number("teid", 32),
                       optional(number("squence_number", 16)),
                       optional(number("n_pdu_number", 8)),
                       optional(number("next_extension_header_type", 8)),
                       optional(object("extension_headers", gtpv1_extension, R::List))};
constexpr F gtpv2[] = {number("version", 3, 2),
                       number("piggybacking_flag", 1),
                       flag("teid_flag"),
                       number("spare1", 3),
                       number("message_type", 8),
                       length("message_length", 4, 0, kAbsent),
                       optional(number("teid", 32)),
                       number("sequence_number", 24),
                       number("spare2", 8)};

constexpr F arp[] = {number("hardware_type", 16, 1),  number("protocol_type", 16, 0x0800),
                     number("hardware_length", 8, 6), number("protocol_length", 8, 4),
                     number("operation", 16, 1),      mac("sender_hardware_addr"),
                     ip4("sender_protocol_addr"),     mac("target_hardware_addr"),
                     ip4("target_protocol_addr")};

constexpr F icmp_echo[] = {number("type", 8, 8), number("code", 8), checksum(),
                           number("identifier", 16), number("sequence_number", 16)};
constexpr F icmp[] = {object("echo", icmp_echo, R::Choice)};
constexpr F icmpv6_echo[] = {number("type", 8, 128), number("code", 8), checksum(kIcmpv6),
                             number("identifier", 16), number("sequence_number", 16)};
constexpr F icmpv6[] = {object("echo", icmpv6_echo, R::Choice)};
constexpr F igmpv1[] = {number("version", 4, 1), number("type", 4, 1), number("unused", 8),
                        checksum(), ip4("group_address")};

constexpr F mpls[] = {automatic(number("label", 20, 16)), number("traffic_class", 3),
                      automatic(as(R::Bottom, number("bottom_of_stack", 1, 1))),
                      number("time_to_live", 8, 64)};
constexpr F ppp[] = {number("address", 8, 0xff), number("control", 8, 3),
                     type("protocol_type", R::PppProtocol, 0x0021)};

// IEEE 802.1AX, 6.4.2.
constexpr F lacp_state[] = {number("expired", 1),         number("defaulted", 1),
                            number("distributing", 1),    number("collecting", 1),
                            number("synchronization", 1), number("aggregation", 1),
                            number("timeout", 1),         number("activity", 1)};
constexpr F actor[] = {number("type", 8, 1),
                       number("length", 8, 20),
                       number("system_priority", 16),
                       mac("system_id"),
                       number("key", 16),
                       number("port_priority", 16),
                       number("port_number", 16),
                       object("actor_state", lacp_state),
                       number("reserved", 24)};
constexpr F partner[] = {number("type", 8, 2),
                         number("length", 8, 20),
                         number("system_priority", 16),
                         mac("system_id"),
                         number("key", 16),
                         number("port_priority", 16),
                         number("port_number", 16),
                         object("partner_state", lacp_state),
                         number("reserved", 24)};
constexpr F collector[] = {number("type", 8, 3), number("length", 8, 16), number("max_delay", 16),
                           special(&S::hexadecimal, number("reserved", 96))};
constexpr F terminator[] = {number("type", 8), number("length", 8),
                            special(&S::hexadecimal, number("reserved", 400))};
constexpr F lacpdu[] = {object("actor", actor), object("partner", partner),
                        object("collector", collector), object("terminator", terminator)};
constexpr F lacp[] = {reserved(8, 1), number("version", 8, 1), object("lacpdu", lacpdu, R::Choice)};

constexpr HeaderKind kinds[] = {
    {.name = "custom", .what = "a custom header", .fields = custom, .first = true},
    {.name = "ethernet",
     .what = "an Ethernet header",
     .fields = ethernet,
     .ether = 0x6558,
     .protocol = 143,
     .first = true},
    {.name = "vlan", .what = "a VLAN tag", .fields = vlan, .ether = kVlanType},
    {.name = "vxlan", .what = "a VXLAN header", .fields = vxlan},
    {.name = "ipv4",
     .what = "an IPv4 header",
     .fields = ipv4,
     .ether = 0x0800,
     .protocol = 4,
     .ppp = 0x0021},
    {.name = "ipv6",
     .what = "an IPv6 header",
     .fields = ipv6,
     .ether = 0x86dd,
     .protocol = 41,
     .ppp = 0x0057},
    {.name = "pfcpause", .what = "a PFC frame", .fields = pfcpause, .ether = 0x8808, .first = true},
    {.name = "ethernetpause",
     .what = "a PAUSE frame",
     .fields = ethernetpause,
     .ether = 0x8808,
     .first = true},
    {.name = "tcp", .what = "a TCP header", .fields = tcp, .protocol = kTcp},
    {.name = "udp", .what = "a UDP header", .fields = udp, .protocol = kUdp},
    {.name = "gre", .what = "a GRE header", .fields = gre, .protocol = 47},
    {.name = "gtpv1", .what = "a GTP-U header", .fields = gtpv1},
    {.name = "gtpv2", .what = "a GTP-C header", .fields = gtpv2},
    {.name = "arp", .what = "an ARP message", .fields = arp, .ether = 0x0806},
    {.name = "icmp", .what = "an ICMP message", .fields = icmp, .protocol = 1},
    {.name = "icmpv6", .what = "an ICMPv6 message", .fields = icmpv6, .protocol = kIcmpv6},
    {.name = "ppp", .what = "a PPP header", .fields = ppp, .ether = 0x880b},
    {.name = "igmpv1", .what = "an IGMP message", .fields = igmpv1, .protocol = 2},
    {.name = "mpls",
     .what = "an MPLS label",
     .fields = mpls,
     .ether = 0x8847,
     .protocol = 137,
     .ppp = 0x0281},
    {.name = "snmpv2c", .what = ""},
    {.name = "rsvp", .what = "", .protocol = 46},
    {.name = "macsec", .what = "", .ether = 0x88e5},
    {.name = "lacp", .what = "a LACPDU", .fields = lacp, .ether = 0x8809},
    {.name = "ipv6_extension_header",
     .what = "an IPv6 extension header",
     .fields = ipv6_extension_header,
     .protocol = 43},
    {.name = "cfm", .what = "", .ether = 0x8902},
};
} // namespace header_tables

std::span<const HeaderKind> header_kinds() { return header_tables::kinds; }
std::span<const HeaderField> tos_fields() { return header_tables::tos; }
std::span<const HeaderField> dscp_fields() { return header_tables::dscp; }

namespace {

std::string fields_text(std::span<const HeaderField> fields) {
  using Role = HeaderField::Role;
  std::string text;
  for (const HeaderField &field : fields) {
    if (!field.key || field.role == Role::Unused)
      continue;
    text += text.empty() ? "" : ", ";
    text += field.key;
    if (field.bits)
      text += fmt::format(" {}", field.bits);
    if (field.automatic != Automatic::No)
      text += "*";
    if (field.role == Role::Checksum || field.role == Role::SumOfHeader)
      text += "*";
    if (!field.inside.empty())
      text += fmt::format(" ({})", fields_text(field.inside));
    if (field.optional || field.key == std::string_view("pad_tlv"))
      text += "?";
  }
  return text;
}

} // namespace

std::string header_table() {
  std::string text = "| header | announced by | fields and their bits |\n| --- | --- | --- |\n";
  for (const HeaderKind &kind : header_kinds()) {
    if (!*kind.what)
      continue;
    std::string by;
    const auto add = [&](const std::string &each) { by += (by.empty() ? "" : ", ") + each; };
    if (kind.ether)
      add(fmt::format("EtherType {:#06x}", kind.ether));
    if (kind.protocol >= 0)
      add(fmt::format("protocol {}", kind.protocol));
    if (kind.ppp)
      add(fmt::format("PPP {:#06x}", kind.ppp));
    text += fmt::format("| `{}` | {} | {} |\n", kind.name, by, fields_text(kind.fields));
  }
  return text;
}

} // namespace xr::otg
