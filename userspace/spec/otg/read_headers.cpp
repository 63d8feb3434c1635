// SPDX-License-Identifier: Apache-2.0
#include "otg/read_headers.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "otg/read_patterns.h"

namespace xr::otg {

using packet::FrameShape;
using packet::Wide;

namespace {

constexpr uint16_t kVlan = 0x8100;
constexpr uint8_t kUdp = 17, kTcp = 6;

// Reads one header after the other and appends it to the shape.
class Stack {
public:
  Stack(Object &flow, ReadHeaders &made) : flow_(flow), made_(made), shape_(made.shape) {}

  void read(Object &header);
  void finish();

private:
  // A type or protocol that the next header decides, at `bit`.
  struct Pending {
    uint32_t bit = 0;
    bool ether = true; // an EtherType of 16 bits; false: a protocol of 8
    Wide otherwise = 0;
  };

  uint32_t size() const { return static_cast<uint32_t>(shape_.headers.size()); }
  uint32_t put(const Pattern &pattern, uint32_t bits);
  uint32_t put(Wide value, uint32_t bits) { return put(Pattern{.value = value}, bits); }
  Pattern take(Object &object, const Field &field);
  uint32_t type(Object &object, const Field &field);
  void resolve(std::string_view next);
  void swap(uint32_t a, uint32_t b, uint32_t bits) { made_.swaps.push_back({a, b, bits}); }
  void checksum(Object &object, const char *key, uint32_t from, uint32_t to, uint8_t protocol);
  void ports(Object &object, bool both);

  void ethernet(Object &object);
  void vlan(Object &object);
  void ipv4(Object &object);
  void priority(Object &object);
  void options(Object &object);
  void ipv6(Object &object);
  void udp(Object &object);
  void tcp(Object &object);
  void gre(Object &object);
  void vxlan(Object &object);
  void arp(Object &object);
  void icmp(Object &object);
  void custom(Object &object);
  void pfcpause(Object &object);
  void ethernetpause(Object &object);

  struct Kind {
    const char *name;
    const char *what;
    void (Stack::*read)(Object &); // nullptr: not supported
    uint16_t ether;                // 0: none
    int protocol;                  // of IP; -1: none
  };
  static constexpr size_t kKinds = 25;
  static const std::array<Kind, kKinds> kinds;

  Object &flow_;
  ReadHeaders &made_;
  FrameShape &shape_;
  uint32_t bits_ = 0; // so far
  std::optional<Pending> pending_;
  std::optional<uint32_t> l3_; // of the innermost IP header
  bool l3_is_ipv4_ = false;
  std::string_view last_; // name of the header before
  bool icrc_wanted_ = false;
  std::vector<packet::ChecksumField> checksums_;
};

// To add a header: its row, and a function that reads it. In the order of the model.
const std::array<Stack::Kind, Stack::kKinds> Stack::kinds{{
    {"custom", "a custom header", &Stack::custom, 0, -1},
    {"ethernet", "an Ethernet header", &Stack::ethernet, 0x6558, 143},
    {"vlan", "a VLAN tag", &Stack::vlan, kVlan, -1},
    {"vxlan", "a VXLAN header", &Stack::vxlan, 0, -1},
    {"ipv4", "an IPv4 header", &Stack::ipv4, 0x0800, 4},
    {"ipv6", "an IPv6 header", &Stack::ipv6, 0x86dd, 41},
    {"pfcpause", "a PFC frame", &Stack::pfcpause, 0x8808, -1},
    {"ethernetpause", "a PAUSE frame", &Stack::ethernetpause, 0x8808, -1},
    {"tcp", "a TCP header", &Stack::tcp, 0, kTcp},
    {"udp", "a UDP header", &Stack::udp, 0, kUdp},
    {"gre", "a GRE header", &Stack::gre, 0, 47},
    {"gtpv1", "", nullptr, 0, -1},
    {"gtpv2", "", nullptr, 0, -1},
    {"arp", "an ARP message", &Stack::arp, 0x0806, -1},
    {"icmp", "an ICMP message", &Stack::icmp, 0, 1},
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

void Stack::read(Object &header) {
  std::vector<std::string_view> names;
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
uint32_t Stack::put(const Pattern &pattern, uint32_t bits) {
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

Pattern Stack::take(Object &object, const Field &field) {
  const Pattern pattern = read_pattern(object, field);
  put(pattern, field.bits);
  return pattern;
}

// An EtherType (16 bits) or protocol (8) that the next header may decide; returns its position.
uint32_t Stack::type(Object &object, const Field &field) {
  const uint32_t at = bits_;
  if (take(object, field).automatic)
    pending_ = Pending{at, field.bits == 16, field.otherwise};
  return at;
}

// `next`: "": there is none.
void Stack::resolve(std::string_view next) {
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
void Stack::checksum(Object &object, const char *key, uint32_t from, uint32_t to,
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

void Stack::ethernet(Object &object) {
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
void Stack::vlan(Object &object) {
  const uint32_t start = bits_;
  take(object, {.key = "priority", .bits = 3});
  take(object, {.key = "cfi", .bits = 1});
  take(object, {.key = "id", .bits = 12});
  const Pattern tpid = read_pattern(
      object, {.key = "tpid", .bits = 16, .otherwise = 0xffff, .automatic = Automatic::Absent});
  const bool own = !tpid.automatic && !tpid.variation &&
                   (tpid.value == kVlan || tpid.value == 0x88a8 || tpid.value == 0x9100);
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

void Stack::priority(Object &object) {
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

void Stack::options(Object &object) {
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

void Stack::ipv4(Object &object) {
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

void Stack::ipv6(Object &object) {
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

void Stack::ports(Object &object, bool both) {
  const uint32_t at = bits_;
  take(object, {.key = "src_port", .bits = 16, .random = true});
  take(object, {.key = "dst_port", .bits = 16, .random = true});
  if (both)
    swap(at, at + 16, 16);
}

void Stack::udp(Object &object) {
  const uint32_t from = size();
  ports(object, true);
  if (take(object, {.key = "length", .bits = 16, .automatic = Automatic::Absent}).automatic)
    shape_.lengths.push_back({from + 4, from});
  checksum(object, "checksum", from, 0, kUdp);
}

void Stack::tcp(Object &object) {
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

void Stack::gre(Object &object) {
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

void Stack::vxlan(Object &object) {
  if (last_ == "udp" && packet::get_bits(shape_.headers, bits_ - 48, 16) != 4789)
    object.warning(nullptr, "the UDP port before is not 4789, by which receivers know VXLAN");
  take(object, {.key = "flags", .bits = 8, .otherwise = 8});
  take(object, {.key = "reserved0", .bits = 24});
  take(object, {.key = "vni", .bits = 24, .automatic = Automatic::Yes});
  take(object, {.key = "reserved1", .bits = 8});
}

void Stack::arp(Object &object) {
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

void Stack::icmp(Object &object) {
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

void Stack::custom(Object &object) {
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

void Stack::pfcpause(Object &object) {
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

void Stack::ethernetpause(Object &object) {
  made_.pauses = made_.pauses || size() == 0;
  take(object, {.key = "dst", .bits = 48, .otherwise = 0x0180c2000001, .notation = Notation::Mac});
  take(object, {.key = "src", .bits = 48, .notation = Notation::Mac});
  take(object, {.key = "ether_type", .bits = 16, .otherwise = 0x8808});
  take(object, {.key = "control_op_code", .bits = 16, .otherwise = 1});
  take(object, {.key = "time", .bits = 16});
}

void Stack::finish() {
  resolve("");
  if (shape_.icrc && !icrc_wanted_) {
    flow_.error("packet",
                {"x_xdp_roce_icrc is in a header that is not the last", "an iCRC ends the frame"});
    shape_.icrc.reset();
  }
  // Those outside count those inside.
  shape_.checksums.assign(checksums_.rbegin(), checksums_.rend());
}

} // namespace

ReadHeaders read_headers(Object &flow) {
  ReadHeaders made;
  Stack stack(flow, made);
  size_t headers = 0;
  flow.each("packet", "a header", [&](Object &header) {
    stack.read(header);
    headers++;
  });
  stack.finish();
  if (!headers)
    flow.error("packet", {"frames need at least one header", "[{\"ethernet\": {...}}]"});
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
