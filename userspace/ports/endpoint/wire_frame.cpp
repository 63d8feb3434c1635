// SPDX-License-Identifier: Apache-2.0
#include "endpoint/wire_frame.h"

#include <algorithm>
#include <cstring>

#include "packet/ecn.h"
#include "roce/cnp.h"
#include "roce/parse.h"

namespace xr::endpoint {

namespace {

constexpr unsigned kTypeAt = 12, kTagBytes = 4, kMostTags = 2;
constexpr uint16_t kIpv4 = 0x0800, kIpv6 = 0x86dd;
constexpr uint8_t kUdp = 17;

// Where the network header begins, after at most two tags.
struct Network {
  size_t at = 0; // 0: the frame is neither IPv4 nor IPv6
  bool ipv4 = false;
  uint8_t pcp = wire::kNoPcp; // of the outer tag
};

Network find_network(std::span<const uint8_t> frame) {
  Network network;
  size_t at = kTypeAt;
  for (unsigned tags = 0;; tags++) {
    if (at + 2 > frame.size())
      return network;
    const uint16_t type = roce_be16(&frame[at]);
    if (type == kIpv4 || type == kIpv6) {
      const size_t header = type == kIpv4 ? ROCE_IPV4_LEN : ROCE_IPV6_LEN;
      if (at + 2 + header <= frame.size()) {
        network.at = at + 2;
        network.ipv4 = type == kIpv4;
      }
      return network;
    }
    if ((type != 0x8100 && type != 0x88a8) || tags == kMostTags || at + kTagBytes > frame.size())
      return network;
    if (!tags)
      network.pcp = frame[at + 2] >> 5;
    at += kTagBytes;
  }
}

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
  return hash ^ hash >> 32;
}

// What must keep its order: addresses, protocol, ports, and of RoCE the DestQP.
uint64_t stream_of(std::span<const uint8_t> frame, const Network &network, uint16_t port_be) {
  const uint8_t *ip = &frame[network.at];
  const size_t addresses = network.ipv4 ? 12 : 8, bytes = network.ipv4 ? 8 : 32;
  const size_t l4 = network.at + (network.ipv4 ? size_t{ip[0]} % 16 * 4 : ROCE_IPV6_LEN);
  const uint8_t protocol = network.ipv4 ? ip[9] : ip[6];
  uint64_t hash = protocol, word = 0;
  for (size_t i = 0; i < bytes; i += sizeof(word)) {
    memcpy(&word, ip + addresses + i, sizeof(word));
    hash = mix(hash, word);
  }
  if (l4 + ROCE_UDP_LEN > frame.size())
    return hash;
  uint32_t ports = 0;
  memcpy(&ports, &frame[l4], sizeof(ports));
  uint16_t to = 0;
  memcpy(&to, &frame[l4 + 2], sizeof(to));
  const size_t qp = l4 + ROCE_UDP_LEN + 5;
  if (protocol == kUdp && to == port_be && qp + 3 <= frame.size()) // the UDP source port is entropy
    return mix(hash, uint64_t{frame[qp]} << 16 | roce_be16(&frame[qp + 1]));
  return mix(hash, ports);
}

} // namespace

wire::Frame read_wire_frame(std::span<const uint8_t> first, uint16_t port_be) {
  wire::Frame frame;
  const Network network = find_network(first);
  frame.pcp = network.pcp;
  if (network.at) {
    const uint8_t *ip = &first[network.at];
    const auto tos = network.ipv4 ? ip[1] : static_cast<uint8_t>(ip[0] << 4 | ip[1] >> 4);
    frame.ecn = tos & 3;
    frame.dscp = tos >> 2;
    frame.stream = stream_of(first, network, port_be);
  } else if (first.size() >= kTypeAt) { // others: by their MACs
    uint64_t a = 0;
    uint32_t b = 0;
    memcpy(&a, first.data(), sizeof(a));
    memcpy(&b, first.data() + sizeof(a), sizeof(b));
    frame.stream = mix(a, b);
  }
  return frame;
}

void write_ce(std::span<uint8_t> first) {
  const Network network = find_network(first);
  if (network.at)
    packet::write_ce(&first[network.at], network.ipv4);
}

std::vector<uint8_t> make_cnp(std::span<const uint8_t> first, uint32_t copies, uint16_t port_be) {
  roce_packet packet{};
  if (roce_parse(first.data(), first.data() + first.size(), port_be, &packet) != ROCE_CLASS_V2)
    return {};
  roce_key_fill(&packet.key);
  packet.ipv4 = first[packet.l3] >> 4 == 4;
  uint16_t source_port = 0;
  memcpy(&source_port, &first[packet.bth - ROCE_UDP_LEN], sizeof(source_port));
  const auto dscp = copies >> ROCE_HELD_CNP_DSCP_SHIFT & 0x3f;
  roce_cnp cnp;
  roce_cnp_build(&cnp, &packet, copies & ROCE_HELD_CNP_QP, source_port, port_be,
                 static_cast<uint8_t>(dscp << 2));
  const size_t length = packet.l3 + cnp.length;
  std::vector<uint8_t> bytes(
      first.begin(), first.begin() + static_cast<ptrdiff_t>(std::min(length, first.size())));
  bytes.resize(length);
  if (!roce_cnp_write(bytes.data(), bytes.data() + bytes.size(), bytes.data() + packet.l3, &cnp))
    return {};
  return bytes;
}

} // namespace xr::endpoint
