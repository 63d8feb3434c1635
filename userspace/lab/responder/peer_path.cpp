// SPDX-License-Identifier: Apache-2.0
#include "responder/peer_path.h"

#include <algorithm>
#include <cstring>

#include "packet/peer_map.h"

namespace xr::responder {
namespace {

struct Bytes {
  uint32_t offset, length;
};

// Offset and length of the addresses in a network header.
Bytes addresses_in(const uint8_t *l3) { return l3[0] >> 4 == 4 ? Bytes{12, 8} : Bytes{8, 32}; }

// At least 8 bytes. memcmp() takes longer for so few, and each packet is compared.
bool same(const char *a, const uint8_t *b, size_t bytes) {
  uint64_t change = 0;
  for (size_t at = 0; at < bytes; at += 8) {
    const size_t from = std::min(at, bytes - 8);
    uint64_t left, right;
    memcpy(&left, a + from, 8);
    memcpy(&right, b + from, 8);
    change |= left ^ right;
  }
  return !change;
}

packet::Network network_of(std::span<const uint8_t> frame, const roce_packet &packet) {
  if (roce_be16(&frame[packet.l3 - 2]) == ROCE_ETHERTYPE_ROCEV1)
    return packet::Network::V1;
  return frame[packet.l3] >> 4 == 4 ? packet::Network::Ipv4 : packet::Network::Ipv6;
}

packet::Headers headers_of(uint8_t opcode, AckKind kind) {
  packet::Headers headers;
  headers.opcode = opcode;
  headers.becn = kind.echo || opcode == ROCE_OPCODE_CNP;
  return headers;
}

} // namespace

packet::Path path_back(std::span<const uint8_t> frame, const roce_packet &packet, uint8_t tos) {
  packet::Path path;
  std::copy_n(frame.begin(), 6, path.src_mac.begin());
  std::copy_n(frame.begin() + 6, 6, path.dst_mac.begin());
  for (uint32_t at = 12; at + 2 < packet.l3; at += ROCE_VLAN_LEN)
    path.tags.push_back({roce_be16(&frame[at]), roce_be16(&frame[at + 2])});
  path.network = network_of(frame, packet);
  path.src = packet::destination_of(packet);
  path.dst = packet::source_of(packet);
  path.tos = tos;
  return path;
}

uint16_t response_port(uint32_t qpn) {
  return static_cast<uint16_t>(0xc000 | ((qpn * 0x9e3779b1U) >> 18));
}

PeerPath::PeerPath(std::span<const uint8_t> frame, const roce_packet &packet,
                   const ResponseTos &tos, bool headers_only, size_t &budget)
    : identity_(identity(frame, packet)), path_(path_back(frame, packet, tos.answer)), tos_(tos),
      headers_only_(headers_only), budget_(budget) {}

std::string PeerPath::identity(std::span<const uint8_t> frame, const roce_packet &packet) {
  const uint8_t *l3 = frame.data() + packet.l3;
  const Bytes addresses = addresses_in(l3);
  std::string identity(reinterpret_cast<const char *>(frame.data()), packet.l3);
  identity.append(reinterpret_cast<const char *>(l3 + addresses.offset), addresses.length);
  return identity;
}

bool PeerPath::matches(std::span<const uint8_t> frame, const roce_packet &packet) const {
  const uint8_t *l3 = frame.data() + packet.l3;
  const Bytes addresses = addresses_in(l3);
  return identity_.size() == packet.l3 + addresses.length &&
         same(identity_.data(), frame.data(), packet.l3) &&
         same(identity_.data() + packet.l3, l3 + addresses.offset, addresses.length);
}

packet::Path PeerPath::path_for(uint8_t opcode, AckKind kind) const {
  packet::Path path = path_;
  if (opcode == ROCE_OPCODE_CNP)
    path.tos = tos_.cnp;
  else if (kind.nak)
    path.tos = tos_.nak;
  return path;
}

const packet::Template *PeerPath::template_for(uint8_t opcode, uint32_t payload, AckKind kind) {
  if (opcode != ROCE_RC_ACKNOWLEDGE && opcode != ROCE_XRC_ACKNOWLEDGE)
    return make(opcode, payload, {});
  const packet::Template *&ack = acks_[(opcode == ROCE_XRC_ACKNOWLEDGE) * 4 + kind.index()];
  if (!ack)
    ack = make(opcode, payload, kind);
  return ack;
}

const packet::Template *PeerPath::make(uint8_t opcode, uint32_t payload, AckKind kind) {
  const uint32_t key = kind.index() << 24 | static_cast<uint32_t>(opcode) << 16 | payload;
  if (const auto found = templates_.find(key); found != templates_.end())
    return found->second.get();
  const size_t cost = sizeof(packet::Template) + (headers_only_ ? 0 : payload) + 256;
  if (cost > budget_)
    return nullptr;
  const packet::Path path = path_for(opcode, kind);
  const packet::Headers headers = headers_of(opcode, kind);
  auto made = headers_only_
                  ? packet::Template::make_headers(path, headers, payload)
                  : packet::Template::make(path, headers, packet::counting_payload(payload));
  if (!made.ok())
    return nullptr;
  budget_ -= cost;
  return (templates_[key] = std::make_unique<packet::Template>(std::move(made.get()))).get();
}

std::vector<uint8_t> PeerPath::build(uint8_t opcode, std::span<const uint8_t> payload,
                                     const packet::Fields &fields, uint64_t original,
                                     AckKind kind) const {
  packet::Path path = path_for(opcode, kind);
  path.src_port = fields.src_port;
  packet::Headers headers = headers_of(opcode, kind);
  headers.dest_qp = fields.dest_qp;
  headers.psn = fields.psn;
  headers.syndrome = static_cast<uint8_t>(fields.aeth >> 24);
  headers.msn = fields.aeth & 0xffffff;
  headers.original = original;
  auto made = packet::build(path, headers, payload);
  return made.ok() ? std::move(made.get().bytes) : std::vector<uint8_t>{};
}

PeerPath *PeerPaths::find_or_add(std::span<const uint8_t> frame, const roce_packet &packet) {
  const std::string identity = PeerPath::identity(frame, packet);
  if (const auto found = paths_.find(identity); found != paths_.end())
    return found->second.get();
  if (paths_.size() >= room_)
    return nullptr;
  auto made = std::make_unique<PeerPath>(frame, packet, tos_, headers_only_, budget_);
  return (paths_[identity] = std::move(made)).get();
}

} // namespace xr::responder
