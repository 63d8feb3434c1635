// SPDX-License-Identifier: Apache-2.0
// ARP (RFC 826) and IPv6 neighbour discovery (RFC 4861) for addresses that the kernel knows nothing
// of: questions asked, answered, and answers understood. Up to two VLAN tags are kept.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "packet/frame.h"

namespace xr::packet {

struct NeighbourMessage {
  bool question = false; // ARP request, neighbour solicitation; or their answers
  Address sender{};      // unspecified in a probe (duplicate address detection, ARP probe)
  Mac sender_mac{};
  Address target{}; // whom the question is about; of an answer: whom it tells of
  std::vector<Tag> tags{};
};

// Nothing when the frame is no such message, or not a sound one (ICMPv6 checksum, hop limit 255).
std::optional<NeighbourMessage> parse_neighbour(std::span<const uint8_t> frame);

// The answer to `question`, that `mac` has its target.
std::vector<uint8_t> neighbour_answer(const NeighbourMessage &question, const Mac &mac);

// The question in a frame, if it is one about one of `mine` (ascending).
std::optional<NeighbourMessage> question_about(std::span<const Address> mine,
                                               std::span<const uint8_t> frame);

// Who has `target`? Family follows from the addresses.
std::vector<uint8_t> neighbour_question(const Address &source, const Mac &mac,
                                        const Address &target, const std::vector<Tag> &tags);

} // namespace xr::packet
