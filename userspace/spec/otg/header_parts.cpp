// SPDX-License-Identifier: Apache-2.0
// The parts of headers that are more than a row of a table.
#include <fmt/format.h>

#include "otg/header_stack.h"
#include "parse/address.h"

namespace xr::otg {

using packet::Wide;

void HeaderStack::custom(Object &object, const HeaderField &field) {
  icrc_wanted_ = object.has("x_xdp_roce_icrc") && object.flag("x_xdp_roce_icrc", false);
  if (icrc_wanted_) {
    if (last_ && last_->protocol == kUdp && l3_)
      shape_.icrc = packet::IcrcField{*l3_, size()};
    else
      object.error("x_xdp_roce_icrc",
                   {"an iCRC needs the headers of RoCEv2 before", "ethernet, ipv4, udp, custom"});
  }
  const uint32_t at = bits_;
  const std::string text = object.needed_text(field.key);
  if (!text.empty()) {
    const auto bytes = hexadecimal_bytes(text);
    if (bytes)
      for (const uint8_t byte : *bytes)
        put(byte, 8);
    else
      object.error(field.key, {fmt::format("{} is not bytes in hexadecimal", shown(Json(text))),
                               "two digits each, like \"04 00:ff\""});
  }
  // Stock scripts tag what follows these bytes, too.
  constexpr uint32_t kReach = 8 * 65'535;
  for (const MetricTag &tag : read_tags(object, bits_ - at, kReach))
    made_.tags.push_back({tag.name, {at + tag.at.bit, tag.at.bits}});
}

// An automatic one of the first header is that of the neighbour; then its source is not swapped
// either: the caller sets both.
void HeaderStack::ethernet_dst(Object &object, const HeaderField &field) {
  const uint32_t at = bits_;
  if (take(object, field).automatic && at == 0)
    made_.resolve_dst_mac = true;
  else
    swap(at, at + field.bits, field.bits);
}

// The field that the model calls tpid is the one after the tag. Some scripts give the tag's own
// TPID there, which no payload has as its type unless a tag follows.
void HeaderStack::tpid(Object &object, const HeaderField &field) {
  static constexpr HeaderField kNext{.bits = 16, .otherwise = 0xffff, .role = Role::EtherType};
  const Pattern tpid = read_pattern(object, {.key = field.key,
                                             .bits = field.bits,
                                             .otherwise = field.otherwise,
                                             .automatic = Automatic::Absent});
  const bool own = !tpid.automatic && !tpid.variation &&
                   (tpid.value == kVlanType || tpid.value == 0x88a8 || tpid.value == 0x9100);
  const uint32_t at = put(tpid, field.bits);
  if (!own && !tpid.automatic)
    return;
  if (own) {
    if (start_ >= 2) // the type that says that a tag follows
      packet::set_bits(shape_.headers, 8 * start_ - 16, 16, tpid.value);
    object.warning("tpid", "it is taken for the tag's own TPID; the type after the tag is that of "
                           "the next header");
  }
  pending_ = Pending{at, &kNext};
}

void HeaderStack::vxlan_port(Object &object, const HeaderField &) {
  if (last_ && last_->protocol == kUdp && packet::get_bits(shape_.headers, bits_ - 48, 16) != 4789)
    object.warning(nullptr, "the UDP port before is not 4789, by which receivers know VXLAN");
}

void HeaderStack::priority(Object &object, const HeaderField &field) {
  object.object(
      field.key, "a priority",
      [&](Object &priority) {
        const auto written = [&](const char *as, std::span<const HeaderField> inside) {
          priority.object(
              as, as, [&](Object &fields_of) { fields(fields_of, inside); }, true);
        };
        switch (priority.choice({"raw", "tos", "dscp"}, 2)) {
        case 0:
          take(priority, {.key = "raw", .bits = 8});
          break;
        case 1:
          written("tos", tos_fields());
          break;
        default:
          written("dscp", dscp_fields());
        }
      },
      true);
}

void HeaderStack::options(Object &object, const HeaderField &field) {
  object.each(field.key, "an option", [&](Object &option) {
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
  while (size() % 4 != start_ % 4) // of zeros, as RFC 791 has it
    put(0, 8);
}

namespace {

// A locator and compressed SIDs after it (RFC 9800, 4.1), or without a locator (4.2), as one
// address. Their width is that of their digits.
Wide read_container(Object &object) {
  const Field address{.key = "locator", .bits = 128, .notation = Notation::Ipv6};
  const Field length{.key = "locator_length", .bits = 8, .otherwise = 32};
  const Pattern locator = read_pattern(object, address);
  const Pattern bits = read_pattern(object, length);
  for (const auto &[pattern, key] : {std::pair(&locator, address.key), {&bits, length.key}})
    if (pattern->variation)
      object.error(key, {"it may not vary where uSIDs follow", "one value"});
    else if (!pattern->tags.empty())
      object.error(key, {"it has no metric tags where uSIDs follow",
                         "in egress_packet, a tag of ipv6.dst or of a segment of segment_routing"});
  const std::vector<std::string> usids = object.texts("usids");
  auto used = static_cast<uint32_t>(bits.value);
  if (used > 112) {
    object.error(length.key,
                 {fmt::format("{} bits leave no room for a uSID", used), "at most 112"});
    return 0;
  }
  Wide made = used ? locator.value >> (128 - used) << (128 - used) : 0;
  if (made != locator.value)
    object.warning(address.key, fmt::format("only its first {} bits are in frames", used));
  if (usids.empty())
    object.error("usids", {"it needs at least one", "[\"0001\"]"});
  for (const std::string &text : usids) {
    const auto bytes = hexadecimal_bytes(text);
    const size_t width = bytes ? 8 * bytes->size() : 0;
    if (width != 16 && width != 32) {
      object.error("usids", {fmt::format("{} is not a uSID of 16 or 32 bits", shown(Json(text))),
                             "four or eight hexadecimal digits, like \"0001\""});
      return 0;
    }
    if (used + width > 128) {
      object.error("usids", {"they do not fit in 128 bits with the locator", "fewer of them"});
      return 0;
    }
    Wide value = 0;
    for (const uint8_t byte : *bytes)
      value = value << 8 | byte;
    made |= value << (128 - used - width);
    used += static_cast<uint32_t>(width);
  }
  return made;
}

} // namespace

void HeaderStack::ipv6_dst(Object &object, const HeaderField &field) {
  if (!object.has("dst_usids")) {
    take(object, field);
    return;
  }
  object.unused(field.key, "dst_usids is the destination");
  route_of_usids_ = true;
  object.object("dst_usids", "a destination of uSIDs",
                [&](Object &given) { put(read_container(given), field.bits); });
}

// The checksum counts the last address of a route (RFC 8200, 8.1), which is the first of the list.
void HeaderStack::segment(Object &object, const HeaderField &field) {
  constexpr uint32_t kFixed = 8, kSegmentsLeft = 3;
  if (size() == start_ + kFixed && shape_.headers[start_ + kSegmentsLeft])
    route_end_ = size();
  take(object, field);
}

void HeaderStack::usids(Object &object, const HeaderField &field) {
  route_of_usids_ = true;
  put(read_container(object), field.bits);
}

// A TLV of padding, and after it as many Pad1 (zeros) as the header needs to end on eight bytes.
void HeaderStack::pad_tlv(Object &object, const HeaderField &field) {
  object.object(field.key, "a padding TLV", [&](Object &given) {
    take(given, field.inside[0]);
    const uint32_t at = bits_;
    const Pattern length = take(given, field.inside[1]);
    if (length.variation)
      given.error("length", {"it decides how long the header is, and may not vary", "one value"});
    uint32_t bytes = static_cast<uint32_t>(length.value);
    if (length.automatic) {
      bytes = (8 - (size() - start_) % 8) % 8;
      packet::set_bits(shape_.headers, at, 8, bytes);
    }
    for (uint32_t i = 0; i < bytes; i++)
      put(0, 8);
    while ((size() - start_) % 8)
      put(0, 8);
  });
}

void HeaderStack::hexadecimal(Object &object, const HeaderField &field) {
  const std::string text = object.text(field.key, std::string(field.bits / 4, '0'));
  auto bytes = hexadecimal_bytes(text);
  if (!bytes || bytes->size() != field.bits / 8)
    object.error(field.key, {fmt::format("{} is not {} bytes in hexadecimal", shown(Json(text)),
                                         field.bits / 8),
                             "two digits each"});
  else
    for (const uint8_t byte : *bytes)
      put(byte, 8);
}

} // namespace xr::otg
