// SPDX-License-Identifier: Apache-2.0
// The fields of each kind of header, in the order of the wire.
#include <fmt/format.h>

#include "otg/header_stack.h"

namespace xr::otg {

using packet::Wide;

void HeaderStack::ethernet(Object &object) {
  const bool first = size() == 0;
  const uint32_t at = bits_;
  const Pattern dst = take(
      object, {.key = "dst", .bits = 48, .notation = Notation::Mac, .automatic = Automatic::Yes});
  take(object, {.key = "src", .bits = 48, .notation = Notation::Mac});
  type(object, {.key = "ether_type", .bits = 16, .otherwise = 0xffff, .automatic = Automatic::Yes});
  object.unused("pfc_queue", "a frame's priority is that of its VLAN tag or its DSCP");
  if (first && dst.automatic)
    made_.resolve_dst_mac = true; // its source is not swapped either: the caller sets both
  else
    swap(at, at + 48, 48);
}

// The field that the model calls tpid is the one after the tag. Some scripts give the tag's own
// TPID there, which no payload has as its type unless a tag follows.
void HeaderStack::vlan(Object &object) {
  const uint32_t start = bits_;
  take(object, {.key = "priority", .bits = 3});
  take(object, {.key = "cfi", .bits = 1});
  take(object, {.key = "id", .bits = 12});
  const Pattern tpid = read_pattern(
      object, {.key = "tpid", .bits = 16, .otherwise = 0xffff, .automatic = Automatic::Absent});
  const bool own = !tpid.automatic && !tpid.variation &&
                   (tpid.value == kVlanType || tpid.value == 0x88a8 || tpid.value == 0x9100);
  const uint32_t at = put(tpid, 16);
  if (!own && !tpid.automatic)
    return;
  if (own) {
    if (start >= 16) // the type that says that a tag follows
      packet::set_bits(shape_.headers, start - 16, 16, tpid.value);
    object.warning("tpid", "it is taken for the tag's own TPID; the type after the tag is that of "
                           "the next header");
  }
  pending_ = Pending{at, true, 0xffff};
}

void HeaderStack::priority(Object &object) {
  object.object(
      "priority", "a priority",
      [&](Object &priority) {
        switch (priority.choice({"raw", "tos", "dscp"}, 2)) {
        case 0:
          take(priority, {.key = "raw", .bits = 8});
          break;
        case 1:
          priority.object(
              "tos", "a TOS",
              [&](Object &tos) {
                take(tos, {.key = "precedence", .bits = 3});
                for (const char *key : {"delay", "throughput", "reliability", "monetary", "unused"})
                  take(tos, {.key = key, .bits = 1});
              },
              true);
          break;
        default:
          priority.object(
              "dscp", "a DSCP",
              [&](Object &dscp) {
                take(dscp, {.key = "phb", .bits = 6});
                take(dscp, {.key = "ecn", .bits = 2});
              },
              true);
        }
      },
      true);
}

void HeaderStack::options(Object &object) {
  object.each("options", "an option", [&](Object &option) {
    switch (option.choice({"router_alert", "custom", "timestamp", "end_of_options"}, 0)) {
    case 0:
      put(0x94040000, 32);
      break;
    case 3:
      put(0, 8);
      break;
    default:
      option.value("custom");
      option.value("timestamp");
      option.error(nullptr, {"this option is not supported", "router_alert or end_of_options"});
    }
  });
  while (size() % 4 != *l3_ % 4) // of zeros, as RFC 791 has it
    put(0, 8);
}

void HeaderStack::ipv4(Object &object) {
  const uint32_t from = size();
  l3_ = from;
  l3_is_ipv4_ = true;
  take(object, {.key = "version", .bits = 4, .otherwise = 4});
  const bool words =
      take(object, {.key = "header_length", .bits = 4, .otherwise = 5, .automatic = Automatic::Yes})
          .automatic;
  priority(object);
  if (take(object,
           {.key = "total_length", .bits = 16, .otherwise = 46, .automatic = Automatic::Yes})
          .automatic)
    shape_.lengths.push_back({from + 2, from});
  take(object, {.key = "identification", .bits = 16});
  take(object, {.key = "reserved", .bits = 1});
  take(object, {.key = "dont_fragment", .bits = 1});
  take(object, {.key = "more_fragments", .bits = 1});
  take(object, {.key = "fragment_offset", .bits = 13});
  take(object, {.key = "time_to_live", .bits = 8, .otherwise = 64});
  type(object, {.key = "protocol", .bits = 8, .otherwise = 61, .automatic = Automatic::Yes});
  const size_t sums = checksums_.size();
  checksum(object, "header_checksum", from, 0, 0);
  const uint32_t at = bits_;
  take(object, {.key = "src", .bits = 32, .notation = Notation::Ipv4, .random = true});
  take(object, {.key = "dst", .bits = 32, .notation = Notation::Ipv4, .random = true});
  swap(at, at + 32, 32);
  options(object);
  if (checksums_.size() > sums)
    checksums_.back().to = size();
  if (words)
    packet::set_bits(shape_.headers, 8 * from + 4, 4, (size() - from) / 4);
}

void HeaderStack::ipv6(Object &object) {
  const uint32_t from = size();
  l3_ = from;
  l3_is_ipv4_ = false;
  take(object, {.key = "version", .bits = 4, .otherwise = 6});
  take(object, {.key = "traffic_class", .bits = 8});
  take(object, {.key = "flow_label", .bits = 20, .random = true});
  if (take(object, {.key = "payload_length", .bits = 16, .automatic = Automatic::Yes}).automatic)
    shape_.lengths.push_back({from + 4, from + 40});
  type(object, {.key = "next_header", .bits = 8, .otherwise = 59, .automatic = Automatic::Yes});
  take(object, {.key = "hop_limit", .bits = 8, .otherwise = 64});
  const uint32_t at = bits_;
  take(object, {.key = "src", .bits = 128, .notation = Notation::Ipv6});
  take(object, {.key = "dst", .bits = 128, .notation = Notation::Ipv6});
  swap(at, at + 128, 128);
  object.unsupported("dst_usids", "dst, with the whole address");
}

void HeaderStack::ports(Object &object, bool both) {
  const uint32_t at = bits_;
  take(object, {.key = "src_port", .bits = 16, .random = true});
  take(object, {.key = "dst_port", .bits = 16, .random = true});
  if (both)
    swap(at, at + 16, 16);
}

void HeaderStack::udp(Object &object) {
  const uint32_t from = size();
  ports(object, true);
  if (take(object, {.key = "length", .bits = 16, .automatic = Automatic::Absent}).automatic)
    shape_.lengths.push_back({from + 4, from});
  checksum(object, "checksum", from, 0, kUdp);
}

void HeaderStack::tcp(Object &object) {
  const uint32_t from = size();
  ports(object, true);
  take(object, {.key = "seq_num", .bits = 32});
  take(object, {.key = "ack_num", .bits = 32});
  Pattern words =
      read_pattern(object, {.key = "data_offset", .bits = 4, .automatic = Automatic::Absent});
  if (words.automatic)
    words.value = 5;
  put(words, 4);
  put(0, 3);
  for (const char *key : {"ecn_ns", "ecn_cwr", "ecn_echo", "ctl_urg", "ctl_ack", "ctl_psh",
                          "ctl_rst", "ctl_syn", "ctl_fin"})
    take(object, {.key = key, .bits = 1});
  take(object, {.key = "window", .bits = 16});
  checksum(object, "checksum", from, 0, kTcp);
  put(0, 16); // urgent pointer
}

void HeaderStack::gre(Object &object) {
  const uint32_t from = size();
  const Pattern present = take(object, {.key = "checksum_present", .bits = 1});
  take(object, {.key = "reserved0", .bits = 12});
  take(object, {.key = "version", .bits = 3});
  type(object, {.key = "protocol", .bits = 16, .otherwise = 0x0800, .automatic = Automatic::Yes});
  if (present.variation)
    object.error("checksum_present",
                 {"it decides how long the header is, and may not vary", "one value"});
  if (!present.value) {
    object.unused("checksum", "checksum_present is 0");
    object.unused("reserved1", "checksum_present is 0");
    return;
  }
  checksum(object, "checksum", from, 0, 0);
  take(object, {.key = "reserved1", .bits = 16});
}

void HeaderStack::vxlan(Object &object) {
  if (last_ == "udp" && packet::get_bits(shape_.headers, bits_ - 48, 16) != 4789)
    object.warning(nullptr, "the UDP port before is not 4789, by which receivers know VXLAN");
  take(object, {.key = "flags", .bits = 8, .otherwise = 8});
  take(object, {.key = "reserved0", .bits = 24});
  take(object, {.key = "vni", .bits = 24, .automatic = Automatic::Yes});
  take(object, {.key = "reserved1", .bits = 8});
}

// 3GPP TS 29.281, 5.1. The length counts what follows the first eight bytes.
void HeaderStack::gtpv1(Object &object) {
  const uint32_t from = size();
  take(object, {.key = "version", .bits = 3, .otherwise = 1});
  take(object, {.key = "protocol_type", .bits = 1, .otherwise = 1});
  take(object, {.key = "reserved", .bits = 1});
  bool more = false;
  for (const char *key : {"e_flag", "s_flag", "pn_flag"}) {
    const Pattern flag = take(object, {.key = key, .bits = 1});
    more = more || flag.value != 0;
    if (flag.variation)
      object.error(key, {"it decides how long the header is, and may not vary", "one value"});
  }
  take(object, {.key = "message_type", .bits = 8});
  if (take(object, {.key = "message_length", .bits = 16, .automatic = Automatic::Absent}).automatic)
    shape_.lengths.push_back({from + 2, from + 8});
  take(object, {.key = "teid", .bits = 32});
  if (!more) {
    for (const char *key :
         {"squence_number", "n_pdu_number", "next_extension_header_type", "extension_headers"})
      object.unused(key, "e_flag, s_flag and pn_flag are 0");
    return;
  }
  take(object, {.key = "squence_number", .bits = 16});
  take(object, {.key = "n_pdu_number", .bits = 8});
  take(object, {.key = "next_extension_header_type", .bits = 8});
  object.each("extension_headers", "an extension header", [&](Object &extension) {
    take(extension, {.key = "extension_length", .bits = 8});
    take(extension, {.key = "contents", .bits = 48});
    take(extension, {.key = "next_extension_header", .bits = 8});
  });
}

void HeaderStack::arp(Object &object) {
  take(object, {.key = "hardware_type", .bits = 16, .otherwise = 1});
  take(object, {.key = "protocol_type", .bits = 16, .otherwise = 0x0800});
  take(object, {.key = "hardware_length", .bits = 8, .otherwise = 6});
  take(object, {.key = "protocol_length", .bits = 8, .otherwise = 4});
  take(object, {.key = "operation", .bits = 16, .otherwise = 1});
  take(object, {.key = "sender_hardware_addr", .bits = 48, .notation = Notation::Mac});
  take(object, {.key = "sender_protocol_addr", .bits = 32, .notation = Notation::Ipv4});
  take(object, {.key = "target_hardware_addr", .bits = 48, .notation = Notation::Mac});
  take(object, {.key = "target_protocol_addr", .bits = 32, .notation = Notation::Ipv4});
}

void HeaderStack::icmp(Object &object) {
  object.choice({"echo"}, 0);
  object.object(
      "echo", "an echo",
      [&](Object &echo) {
        const uint32_t from = size();
        take(echo, {.key = "type", .bits = 8, .otherwise = 8});
        take(echo, {.key = "code", .bits = 8});
        checksum(echo, "checksum", from, 0, 0);
        take(echo, {.key = "identifier", .bits = 16});
        take(echo, {.key = "sequence_number", .bits = 16});
      },
      true);
}

void HeaderStack::custom(Object &object) {
  icrc_wanted_ = object.has("x_xdp_roce_icrc") && object.flag("x_xdp_roce_icrc", false);
  if (icrc_wanted_) {
    if (last_ == "udp" && l3_)
      shape_.icrc = packet::IcrcField{*l3_, size()};
    else
      object.error("x_xdp_roce_icrc",
                   {"an iCRC needs the headers of RoCEv2 before", "ethernet, ipv4, udp, custom"});
  }
  object.unused("metric_tags", "metrics of tags are not supported");
  const std::string text = object.needed_text("bytes");
  if (text.empty())
    return;
  const auto bytes = hexadecimal_bytes(text);
  if (!bytes) {
    object.error("bytes", {fmt::format("{} is not bytes in hexadecimal", shown(Json(text))),
                           "two digits each, like \"04 00:ff\""});
    return;
  }
  for (const uint8_t byte : *bytes)
    put(byte, 8);
}

void HeaderStack::pfcpause(Object &object) {
  made_.pauses = made_.pauses || size() == 0;
  take(object, {.key = "dst", .bits = 48, .otherwise = 0x0180c2000001, .notation = Notation::Mac});
  take(object, {.key = "src", .bits = 48, .notation = Notation::Mac});
  take(object, {.key = "ether_type", .bits = 16, .otherwise = 0x8808});
  take(object, {.key = "control_op_code", .bits = 16, .otherwise = 0x0101});
  take(object, {.key = "class_enable_vector", .bits = 16});
  for (const char *key : {"pause_class_0", "pause_class_1", "pause_class_2", "pause_class_3",
                          "pause_class_4", "pause_class_5", "pause_class_6", "pause_class_7"})
    take(object, {.key = key, .bits = 16});
}

void HeaderStack::ethernetpause(Object &object) {
  made_.pauses = made_.pauses || size() == 0;
  take(object, {.key = "dst", .bits = 48, .otherwise = 0x0180c2000001, .notation = Notation::Mac});
  take(object, {.key = "src", .bits = 48, .notation = Notation::Mac});
  take(object, {.key = "ether_type", .bits = 16, .otherwise = 0x8808});
  take(object, {.key = "control_op_code", .bits = 16, .otherwise = 1});
  take(object, {.key = "time", .bits = 16});
}

} // namespace xr::otg
