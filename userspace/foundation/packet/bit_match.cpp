// SPDX-License-Identifier: Apache-2.0
#include "packet/bit_match.h"

#include <optional>

#include "roce/parse.h"

namespace xr::packet {

namespace {

// Where a header begins, in bytes.
std::optional<uint32_t> start_of(BitMatch::From from, std::span<const uint8_t> frame) {
  if (from == BitMatch::From::Frame)
    return 0;
  uint32_t at = ROCE_ETH_LEN;
  if (frame.size() < at)
    return {};
  uint16_t type = roce_be16(&frame[at - 2]);
  if (from == BitMatch::From::Vlan)
    return roce_is_vlan(roce_swap16(type)) ? std::optional(at) : std::nullopt;
  while (roce_is_vlan(roce_swap16(type)) && frame.size() >= at + ROCE_VLAN_LEN) {
    type = roce_be16(&frame[at + 2]);
    at += ROCE_VLAN_LEN;
  }
  const bool there =
      type == (from == BitMatch::From::Ipv4 ? ROCE_ETHERTYPE_IPV4 : ROCE_ETHERTYPE_IPV6);
  return there ? std::optional(at) : std::nullopt;
}

} // namespace

bool BitMatch::holds(std::span<const uint8_t> frame) const {
  const auto start = start_of(from, frame);
  if (!start || uint64_t{*start} * 8 + bit + bits > frame.size() * 8)
    return false;
  bool same = true;
  const uint32_t pad = static_cast<uint32_t>(value.size()) * 8 - bits; // bits of the value before
  for (uint32_t i = 0; i < bits && same; i++) {
    const auto at = [](std::span<const uint8_t> bytes, uint32_t number) {
      return bytes[number / 8] >> (7 - number % 8) & 1;
    };
    if (at(mask, pad + i))
      same = at(frame, *start * 8 + bit + i) == at(value, pad + i);
  }
  return same != negate;
}

} // namespace xr::packet
