// SPDX-License-Identifier: Apache-2.0
#include "simulate/frames.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/draw.h"
#include "roce/parse.h"

namespace xr::simulate {

namespace {

constexpr uint32_t kNetwork = 0x0a000000;

bool is_ipv4(const uint8_t *l3) { return l3[0] >> 4 == 4; }

uint8_t l3_offset(const uint8_t *headers) {
  uint32_t at = ROCE_ETH_LEN;
  while (roce_is_vlan(roce_load16(headers + at - 2)))
    at += ROCE_VLAN_LEN;
  return static_cast<uint8_t>(at);
}

uint64_t load64(const uint8_t *from) {
  uint64_t word;
  memcpy(&word, from, sizeof(word));
  return word;
}

} // namespace

packet::Address address_of(uint32_t host, packet::Network network) {
  const uint32_t last = roce_swap32(kNetwork | (host + 1));
  if (network == packet::Network::Ipv4)
    return {0, 0, ROCE_MAPPED_PREFIX, last};
  return {roce_swap32(0xfd000000), 0, 0, last};
}

packet::Mac mac_of(uint32_t host) {
  const uint32_t number = host + 1;
  return {2,
          0,
          10,
          static_cast<uint8_t>(number >> 16),
          static_cast<uint8_t>(number >> 8),
          static_cast<uint8_t>(number)};
}

wire::Frame make_frame(FramePool &pool, uint32_t handle, const packet::Outgoing &packet) {
  FramePool::Info &info = pool.info(handle);
  uint8_t *headers = pool.headers(handle);
  info.bad_icrc = false;
  if (packet.shape) {
    const packet::Layout &layout = packet.shape->layout();
    packet.shape->write_headers(headers, packet.fields);
    info.length = static_cast<uint32_t>(packet.shape->bytes().size());
    info.headers = static_cast<uint8_t>(layout.payload);
    info.l3 = static_cast<uint8_t>(layout.l3);
    info.bad_icrc = packet.damage == packet::Damage::Icrc;
    if (packet.damage == packet::Damage::Pad)
      headers[layout.bth + 1] ^= 0x10;
  } else {
    info.length = static_cast<uint32_t>(packet.raw.size());
    info.headers = static_cast<uint8_t>(std::min<size_t>(packet.raw.size(), FramePool::kHeaders));
    memcpy(headers, packet.raw.data(), info.headers);
    info.l3 = l3_offset(headers);
  }
  const uint8_t *l3 = headers + info.l3;
  const bool ipv4 = is_ipv4(l3);
  info.destination = (roce_be32(l3 + (ipv4 ? 16 : 36)) & 0xffffff) - 1;
  wire::Frame frame;
  frame.handle = handle;
  frame.length = info.length;
  if (roce_load16(l3 - 2) != roce_swap16(ROCE_ETHERTYPE_ROCEV1)) {
    const auto tos = static_cast<uint8_t>(ipv4 ? l3[1] : l3[0] << 4 | l3[1] >> 4);
    frame.ecn = tos & 3;
    frame.dscp = tos >> 2;
  }
  if (info.l3 > ROCE_ETH_LEN)
    frame.pcp = headers[ROCE_ETH_LEN] >> 5;
  return frame;
}

void write_ce(uint8_t *headers, uint8_t l3) {
  headers[l3 + 1] =
      static_cast<uint8_t>(headers[l3 + 1] | (is_ipv4(headers + l3) ? wire::kCe : wire::kCe << 4));
}

uint64_t path_hash(const uint8_t *headers, uint8_t l3, uint64_t salt) {
  const uint8_t *ip = headers + l3;
  if (is_ipv4(ip))
    return mix(mix(load64(ip + 12) ^ salt) ^ roce_be32(ip + ROCE_IPV4_LEN));
  uint64_t hash = salt;
  for (unsigned i = 0; i < 4; i++)
    hash = mix(hash ^ load64(ip + 8 + 8 * i));
  // RoCEv1 has no ports: the GRH's addresses alone, with the DestQP in their place
  return mix(hash ^ roce_be32(ip + ROCE_IPV6_LEN + (ip[6] == ROCE_IPPROTO_UDP ? 0 : 4)));
}

} // namespace xr::simulate
