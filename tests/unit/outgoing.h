// SPDX-License-Identifier: Apache-2.0
// What a requester or responder sends, as the bytes of a whole frame; addresses of its paths.
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

} // namespace xr::packet
