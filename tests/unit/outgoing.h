// SPDX-License-Identifier: Apache-2.0
// What a requester or responder sends, as the bytes of a whole frame, and such a frame at its
// receiver; addresses of its paths.
#pragma once

#include <cstdint>
#include <vector>

#include "packet/source.h"

namespace xr::packet {

// 192.0.2.x
inline Address ipv4(uint8_t host) {
  return {0, 0, ROCE_MAPPED_PREFIX, roce_swap32(0xc0000200U | host)};
}

inline std::vector<uint8_t> bytes_of(const Outgoing &out) {
  if (!out.shape)
    return {out.raw.begin(), out.raw.end()};
  std::vector<uint8_t> bytes(out.shape->bytes().begin(), out.shape->bytes().end());
  out.shape->stamp(bytes.data(), out.fields);
  if (!out.payload.empty())
    out.shape->set_payload(bytes.data(), out.payload);
  return bytes;
}

// Hands a frame that arrived to `receiver`, a Source or a station; returns what it is.
inline roce_packet deliver_frame(auto &receiver, uint64_t now, const std::vector<uint8_t> &bytes) {
  roce_packet parsed{};
  const uint8_t *data = bytes.data();
  const auto length = static_cast<uint32_t>(bytes.size());
  const int class_ = roce_parse(data, data + length, roce_swap16(ROCE_UDP_PORT), &parsed);
  const auto checked = static_cast<roce_class>(roce_check_length(class_, length, &parsed));
  receiver.receive(now, bytes, checked, parsed);
  return parsed;
}

} // namespace xr::packet
