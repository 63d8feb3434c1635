// SPDX-License-Identifier: Apache-2.0
#include "simulate/frames.h"

#include <algorithm>
#include <cstring>

#include "base/draw.h"
#include "packet/peer_map.h"
#include "roce/parse.h"

namespace xr::simulate {

uint32_t l3_offset(const uint8_t *headers) {
  uint32_t at = ROCE_ETH_LEN;
  while (roce_is_vlan(roce_load16(headers + at - 2)))
    at += ROCE_VLAN_LEN;
  return at;
}

namespace {

constexpr uint32_t kNetwork = 0x0a000000;

bool is_ipv4(const uint8_t *l3) { return l3[0] >> 4 == 4; }

bool is_v1(const uint8_t *l3) { return roce_load16(l3 - 2) == roce_swap16(ROCE_ETHERTYPE_ROCEV1); }

uint64_t load64(const uint8_t *from) {
  uint64_t word;
  memcpy(&word, from, sizeof(word));
  return word;
}

wire::Frame hold_raw(FramePool &pool, uint32_t handle, const packet::Outgoing &packet) {
  HeldFrame &held = pool[handle];
  uint8_t *headers = held.take_raw().data();
  if (packet.shape) {
    const packet::Layout &layout = packet.shape->layout();
    held.length = packet.shape->size();
    held.raw_headers = static_cast<uint8_t>(layout.payload);
    packet.shape->write_headers(headers, packet.fields);
    if (packet.damage == packet::Damage::Pad)
      headers[layout.bth + 1] ^= 0x10;
  } else {
    held.length = static_cast<uint32_t>(packet.raw.size());
    held.raw_headers = static_cast<uint8_t>(std::min<size_t>(packet.raw.size(), kHeaders));
    memcpy(headers, packet.raw.data(), held.raw_headers);
  }
  wire::Frame frame;
  frame.handle = handle;
  frame.length = held.length;
  read_classes(headers, frame);
  return frame;
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

void read_classes(const uint8_t *headers, wire::Frame &frame) {
  const uint32_t at = l3_offset(headers);
  const uint8_t *l3 = headers + at;
  frame.ecn = 0;
  frame.dscp = wire::kNoDscp;
  frame.pcp = wire::kNoPcp;
  if (!is_v1(l3)) {
    const auto tos = static_cast<uint8_t>(is_ipv4(l3) ? l3[1] : l3[0] << 4 | l3[1] >> 4);
    frame.ecn = tos & 3;
    frame.dscp = tos >> 2;
  }
  if (at > ROCE_ETH_LEN)
    frame.pcp = headers[ROCE_ETH_LEN] >> 5;
}

uint32_t destination_of(const uint8_t *headers) {
  const uint8_t *l3 = headers + l3_offset(headers);
  return (roce_be32(l3 + (is_ipv4(l3) ? 16 : 36)) & 0xffffff) - 1;
}

wire::Frame hold(FramePool &pool, uint32_t handle, const packet::Outgoing &packet) {
  HeldFrame &held = pool[handle];
  held.bad_icrc = packet.damage == packet::Damage::Icrc;
  if (!packet.shape || packet.damage == packet::Damage::Pad) [[unlikely]]
    return hold_raw(pool, handle, packet);
  const packet::Template &shape = *packet.shape;
  held.shape = &shape;
  held.fields = packet.fields;
  held.length = shape.size();
  const packet::Layout &layout = shape.layout();
  held.addresses = pool.hashes() && layout.bth - layout.l3 == ROCE_IPV4_LEN + ROCE_UDP_LEN
                       ? uint64_t{packet::destination_of(shape.known())[3]} << 32 |
                             packet::source_of(shape.known())[3]
                       : 0;
  wire::Frame frame;
  frame.handle = handle;
  frame.length = held.length;
  if (shape.layout().bth - shape.layout().l3 != ROCE_GRH_LEN) { // not RoCEv1
    frame.ecn = shape.known().tos & 3;
    frame.dscp = shape.known().tos >> 2;
  }
  if (shape.layout().l3 > ROCE_ETH_LEN)
    frame.pcp = shape.bytes()[ROCE_ETH_LEN] >> 5;
  return frame;
}

roce_class parse_held(const HeldFrame &frame, bool marked, roce_packet &packet) {
  roce_class class_;
  if (frame.shape) [[likely]] {
    class_ = frame.shape->parsed(frame.fields, packet);
  } else {
    packet = {};
    const uint8_t *headers = frame.raw->data();
    const int found =
        roce_parse(headers, headers + frame.raw_headers, roce_swap16(ROCE_UDP_PORT), &packet);
    class_ = static_cast<roce_class>(roce_check_length(found, frame.length, &packet));
  }
  if (marked) {
    packet.tos |= wire::kCe;
    packet.ecn = wire::kCe;
  }
  return class_;
}

std::span<const uint8_t> headers_of(const HeldFrame &frame) {
  if (frame.shape) [[likely]]
    return frame.shape->bytes().first(frame.shape->layout().payload);
  return {frame.raw->data(), frame.raw_headers};
}

PathKey path_key(const uint8_t *headers, uint32_t l3) {
  const uint8_t *ip = headers + l3;
  if (is_ipv4(ip))
    return {.addresses = load64(ip + 12), .ports = roce_be32(ip + ROCE_IPV4_LEN)};
  return {.ip = ip, .ports = roce_be32(ip + ROCE_IPV6_LEN + (ip[6] == ROCE_IPPROTO_UDP ? 0 : 4))};
}

PathKey path_key(const HeldFrame &frame) {
  if (!frame.shape) [[unlikely]] {
    const uint8_t *headers = frame.raw->data();
    return path_key(headers, l3_offset(headers));
  }
  if (frame.addresses) [[likely]] // without a look at the template, which is far away
    return {.addresses = frame.addresses,
            .ports = uint32_t{frame.fields.src_port} << 16 | ROCE_UDP_PORT};
  const uint8_t *headers = frame.shape->bytes().data();
  PathKey key = path_key(headers, frame.shape->layout().l3);
  if (key.ip && is_v1(key.ip))
    key.ports = (key.ports & 0xff000000) | (frame.fields.dest_qp & 0xffffff);
  else
    key.ports = uint32_t{frame.fields.src_port} << 16 | (key.ports & 0xffff);
  return key;
}

uint64_t path_hash(const PathKey &key, uint64_t salt) {
  if (!key.ip)
    return mix(mix(key.addresses ^ salt) ^ key.ports);
  uint64_t hash = salt;
  for (size_t i = 0; i < 4; i++)
    hash = mix(hash ^ load64(key.ip + 8 + 8 * i));
  return mix(hash ^ key.ports);
}

} // namespace xr::simulate
