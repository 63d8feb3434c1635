// SPDX-License-Identifier: Apache-2.0
// ARP (RFC 826) and IPv6 neighbour discovery (RFC 4861) for addresses that are not configured in
// the kernel: builds and parses requests and replies, with up to two VLAN tags.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "packet/frame.h"

namespace xr::packet {

struct NeighbourMessage {
  bool question = false; // ARP request or neighbour solicitation; false: the reply to it
  Address sender{};      // unspecified in a probe (duplicate address detection, ARP probe)
  Mac sender_mac{};
  Address target{}; // address that is resolved
  std::vector<Tag> tags{};
};

// nullopt if the frame is not a valid ARP or ND message (ICMPv6 checksum, hop limit 255).
std::optional<NeighbourMessage> parse_neighbour(std::span<const uint8_t> frame);

// The reply to `question`: its target is at `mac`.
std::vector<uint8_t> neighbour_answer(const NeighbourMessage &question, const Mac &mac);

// The request in `frame`, if its target is in `mine` (ascending).
std::optional<NeighbourMessage> question_about(std::span<const Address> mine,
                                               std::span<const uint8_t> frame);

// A request for the MAC of `target`. The address family selects ARP or ND.
std::vector<uint8_t> neighbour_question(const Address &source, const Mac &mac,
                                        const Address &target, const std::vector<Tag> &tags);

} // namespace xr::packet
