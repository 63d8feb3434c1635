// SPDX-License-Identifier: Apache-2.0
// captures[].filters[].
#include "otg/read_filters.h"

#include <fmt/format.h>

namespace xr::otg {

namespace {

using packet::BitMatch;
using From = BitMatch::From;

// To add a field: a row.
struct FieldRow {
  const char *member, *key;
  From from;
  uint32_t bit, bits;
};
constexpr FieldRow kFields[] = {
    {"ethernet", "dst", From::Frame, 0, 48},
    {"ethernet", "src", From::Frame, 48, 48},
    {"ethernet", "ether_type", From::Frame, 96, 16},
    {"vlan", "priority", From::Vlan, 0, 3},
    {"vlan", "cfi", From::Vlan, 3, 1},
    {"vlan", "id", From::Vlan, 4, 12},
    {"vlan", "protocol", From::Vlan, 16, 16},
    {"ipv4", "version", From::Ipv4, 0, 4},
    {"ipv4", "header_length", From::Ipv4, 4, 4},
    {"ipv4", "priority", From::Ipv4, 8, 8},
    {"ipv4", "total_length", From::Ipv4, 16, 16},
    {"ipv4", "identification", From::Ipv4, 32, 16},
    {"ipv4", "reserved", From::Ipv4, 48, 1},
    {"ipv4", "dont_fragment", From::Ipv4, 49, 1},
    {"ipv4", "more_fragments", From::Ipv4, 50, 1},
    {"ipv4", "fragment_offset", From::Ipv4, 51, 13},
    {"ipv4", "time_to_live", From::Ipv4, 64, 8},
    {"ipv4", "protocol", From::Ipv4, 72, 8},
    {"ipv4", "header_checksum", From::Ipv4, 80, 16},
    {"ipv4", "src", From::Ipv4, 96, 32},
    {"ipv4", "dst", From::Ipv4, 128, 32},
    {"ipv6", "version", From::Ipv6, 0, 4},
    {"ipv6", "traffic_class", From::Ipv6, 4, 8},
    {"ipv6", "flow_label", From::Ipv6, 12, 20},
    {"ipv6", "payload_length", From::Ipv6, 32, 16},
    {"ipv6", "next_header", From::Ipv6, 48, 8},
    {"ipv6", "hop_limit", From::Ipv6, 56, 8},
    {"ipv6", "src", From::Ipv6, 64, 128},
    {"ipv6", "dst", From::Ipv6, 192, 128},
};

// Hexadecimal digits, right-aligned in as many bytes as the bits need.
std::vector<uint8_t> bits_of(Object &object, const char *key, uint32_t bits) {
  std::vector<uint8_t> bytes((bits + 7) / 8);
  std::string text = object.text(key, "00");
  if (text.starts_with("0x") || text.starts_with("0X"))
    text = text.substr(2);
  for (size_t i = 0; i < text.size(); i++) {
    const char digit = text[text.size() - 1 - i];
    const std::string_view digits = "0123456789abcdef";
    const size_t value = digits.find(static_cast<char>(digit | 0x20));
    const size_t number = value == std::string_view::npos ? digits.find(digit) : value;
    if (number == std::string_view::npos || (number && i / 2 >= bytes.size())) {
      object.error(
          key, {fmt::format("{} is not a hexadecimal number of {} bits", shown(Json(text)), bits),
                "like \"0a\""});
      break;
    }
    if (i / 2 < bytes.size())
      bytes[bytes.size() - 1 - i / 2] |= static_cast<uint8_t>(number << (i % 2 ? 4 : 0));
  }
  return bytes;
}

// The mask has the bits that count; a mask of none, which is the model's default, is all of them.
BitMatch match_of(Object &object, From from, uint32_t bit, uint32_t bits) {
  BitMatch match;
  match.from = from;
  match.bit = bit;
  match.bits = bits;
  match.value = bits_of(object, "value", bits);
  match.mask = bits_of(object, "mask", bits);
  bool any = false;
  for (const uint8_t byte : match.mask)
    any = any || byte;
  if (!any)
    match.mask.assign(match.mask.size(), 0xff);
  match.negate = object.flag("negate", false);
  return match;
}

} // namespace

void read_filter(Object &filter, std::vector<BitMatch> &matches) {
  constexpr uint64_t kMostOffset = uint64_t{9000} * 8, kMostBits = 128;
  const std::vector<std::string_view> members = {"custom", "ethernet", "vlan", "ipv4", "ipv6"};
  const std::string_view chosen = members[filter.choice(members, 0)];
  if (chosen == "custom") {
    filter.object("custom", "a custom filter", [&](Object &custom) {
      if (!matches.empty())
        custom.error("offset", {"it counts from the filter before it, which is not supported",
                                "a custom filter as the first one"});
      const auto offset = custom.integer("offset", 0, kMostOffset, 0);
      const auto bits = custom.integer("bit_length", 1, kMostBits, 8);
      matches.push_back(match_of(custom, From::Frame, static_cast<uint32_t>(offset),
                                 static_cast<uint32_t>(bits)));
    });
    return;
  }
  filter.object(chosen.data(), "a filter", [&](Object &fields) {
    if (chosen == "ethernet")
      fields.unsupported("pfc_queue", "ether_type");
    for (const FieldRow &row : kFields)
      if (chosen == row.member)
        fields.object(row.key, "a field of a filter", [&](Object &field) {
          matches.push_back(match_of(field, row.from, row.bit, row.bits));
        });
  });
}

} // namespace xr::otg
