// SPDX-License-Identifier: Apache-2.0
#include "packet/header_match.h"

#include <algorithm>

#include "roce/parse.h"

namespace xr::packet {

namespace {

// Where the IP header after Ethernet and its tags begins; 0: there is none.
uint32_t ip_at(std::span<const uint8_t> frame) {
  uint32_t at = ROCE_ETH_LEN;
  for (; frame.size() > at; at += ROCE_VLAN_LEN) {
    const uint16_t type = roce_be16(&frame[at - 2]);
    if (type == ROCE_ETHERTYPE_IPV4 || type == ROCE_ETHERTYPE_IPV6)
      return at;
    if (!roce_is_vlan(roce_swap16(type)))
      break;
  }
  return 0;
}

void clear(std::span<uint8_t> mask, uint32_t from, uint32_t bytes) {
  for (uint32_t i = from; i < from + bytes && i < mask.size(); i++)
    mask[i] = 0;
}

// The IP header is at 0.
void clear_changed(std::span<uint8_t> mask, bool ipv4) {
  constexpr uint32_t kTtl = 8, kHopLimit = 7;
  const uint32_t ecn_at = 1;
  if (mask.size() > ecn_at)
    mask[ecn_at] &= ipv4 ? 0xfc : 0xcf;
  clear(mask, ipv4 ? kTtl : kHopLimit, 1);
  if (ipv4)
    clear(mask, 10, 2); // its checksum follows from the TTL
}

} // namespace

HeaderMatch::HeaderMatch(const FrameShape &shape, bool macs) {
  const uint32_t from = ip_at(shape.headers);
  ip_ = from != 0;
  std::vector<uint8_t> mask(shape.headers.size(), 0xff);
  for (const LengthField &field : shape.lengths)
    clear(mask, field.at, 2);
  for (const ChecksumField &field : shape.checksums)
    clear(mask, field.at, 2);
  for (const Variation &field : shape.variations) {
    set_bits(mask, field.bit, field.bits, 0);
    if (field.bit >= 8 * from) {
      variations_.push_back(field);
      variations_.back().bit -= 8 * from;
    }
  }
  if (!macs && !ip_)
    clear(mask, 0, 12);
  mask_.assign(mask.begin() + from, mask.end());
  if (ip_)
    clear_changed(mask_, shape.headers[from] >> 4 == 4);
  for (size_t i = 0; i < mask_.size(); i++)
    value_.push_back(shape.headers[from + i] & mask_[i]);
}

bool HeaderMatch::holds(std::span<const uint8_t> frame) const {
  const uint32_t from = ip_ ? ip_at(frame) : 0;
  if ((ip_ && !from) || frame.size() < from + value_.size())
    return false;
  const auto headers = frame.subspan(from, value_.size());
  for (size_t i = 0; i < value_.size(); i++)
    if ((headers[i] & mask_[i]) != value_[i])
      return false;
  return std::ranges::all_of(variations_, [&](const Variation &field) {
    return field.takes(get_bits(headers, field.bit, field.bits));
  });
}

} // namespace xr::packet
