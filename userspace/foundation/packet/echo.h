// SPDX-License-Identifier: Apache-2.0
// Echo requests and replies of ICMP (RFC 792) and ICMPv6 (RFC 4443, 4) for addresses that are not
// configured in the kernel: builds and parses them, with up to two VLAN tags.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "packet/frame.h"

namespace xr::packet {

struct EchoMessage {
  bool request = false; // false: the reply
  Mac src_mac{}, dst_mac{};
  Address src{}, dst{};
  std::vector<Tag> tags{};
  uint16_t identifier = 0, sequence = 0;
  std::span<const uint8_t> data{}; // of the frame that was parsed
};

// nullopt: it is no whole echo message with a right checksum, or a fragment.
std::optional<EchoMessage> parse_echo(std::span<const uint8_t> frame);

// The frame of `message`. The family of its addresses selects ICMP or ICMPv6.
std::vector<uint8_t> echo_frame(const EchoMessage &message);

// The reply to `request`, from `mac`.
std::vector<uint8_t> echo_reply(const EchoMessage &request, const Mac &mac);

} // namespace xr::packet
