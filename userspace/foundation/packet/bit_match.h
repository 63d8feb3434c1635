// SPDX-License-Identifier: Apache-2.0
// A condition on some bits of a frame of any kind.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace xr::packet {

// So many bits of a frame have this value. Of a VLAN tag, IPv4 or IPv6 header: frames without it do
// not match, negated or not.
struct BitMatch {
  enum class From : uint8_t { Frame, Vlan, Ipv4, Ipv6 };
  From from = From::Frame;
  uint32_t bit = 0, bits = 8;       // from there on; at most 128
  std::vector<uint8_t> value, mask; // right-aligned, as many bytes as the bits need
  bool negate = false;

  bool holds(std::span<const uint8_t> frame) const;
};

} // namespace xr::packet
