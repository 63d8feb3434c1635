// SPDX-License-Identifier: Apache-2.0
// Random valid paths, headers and payloads, for the tests of userspace/foundation/packet.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "packet/frame.h"
#include "roce/parse.h"

namespace xr::test {

using Random = std::mt19937_64;

inline std::vector<uint8_t> known_opcodes() {
  std::vector<uint8_t> known;
  for (unsigned opcode = 0; opcode < 256; opcode++)
    if (roce_opcode_info[opcode])
      known.push_back(static_cast<uint8_t>(opcode));
  return known;
}

// XR_SEED=n: that one alone.
inline std::vector<uint64_t> seeds(uint64_t count) {
  if (const char *only = getenv("XR_SEED"))
    return {strtoull(only, nullptr, 0)};
  std::vector<uint64_t> all(count);
  for (uint64_t i = 0; i < count; i++)
    all[i] = i + 1;
  return all;
}

inline packet::Address random_address(Random &rng, bool ipv4) {
  const auto word = [&rng] { return static_cast<uint32_t>(rng()); };
  if (ipv4)
    return {0, 0, ROCE_MAPPED_PREFIX, word()};
  return {word(), word(), word(), word()};
}

inline packet::Mac random_mac(Random &rng) {
  packet::Mac mac;
  for (uint8_t &byte : mac)
    byte = static_cast<uint8_t>(rng());
  return mac;
}

inline packet::Path random_path(Random &rng, packet::Network network, size_t tags) {
  packet::Path path;
  path.network = network;
  path.src_mac = random_mac(rng);
  path.dst_mac = random_mac(rng);
  for (size_t i = 0; i < tags; i++) {
    const uint16_t tpid = rng() % 2 ? ROCE_ETHERTYPE_VLAN : ROCE_ETHERTYPE_QINQ;
    path.tags.push_back({tpid, static_cast<uint16_t>(rng())});
  }
  // RoCEv1 and IPv6 with the v4-mapped addresses of IPv4 hosts, now and then
  const bool ipv4 = network == packet::Network::Ipv4 || rng() % 4 == 0;
  path.src = random_address(rng, ipv4);
  path.dst = random_address(rng, ipv4);
  path.tos = static_cast<uint8_t>(rng());
  path.ttl = static_cast<uint8_t>(rng());
  path.flow_label = rng() & 0xfffff;
  path.ip_id = static_cast<uint16_t>(rng());
  path.src_port = static_cast<uint16_t>(rng());
  path.dst_port = rng() % 2 ? ROCE_UDP_PORT : static_cast<uint16_t>(rng());
  path.udp_checksum = rng() % 2;
  return path;
}

inline packet::Headers random_headers(Random &rng, uint8_t opcode) {
  const auto bits = [&rng](int count) { return static_cast<uint32_t>(rng() >> (64 - count)); };
  packet::Headers h;
  h.opcode = opcode;
  for (bool *flag : {&h.solicited, &h.mig_req, &h.fecn, &h.becn, &h.ack_req})
    *flag = bits(1);
  h.pkey = static_cast<uint16_t>(rng());
  h.resv6 = static_cast<uint8_t>(bits(6)); // TVer stays 0: the parser gives up what has another
  h.resv7 = static_cast<uint8_t>(bits(7));
  for (uint32_t *number : {&h.dest_qp, &h.psn, &h.msn, &h.src_qp, &h.srq, &h.ee_context})
    *number = bits(24);
  for (uint32_t *word : {&h.rkey, &h.dma_len, &h.immediate, &h.invalidate, &h.qkey})
    *word = bits(32);
  for (uint64_t *value : {&h.va, &h.swap_add, &h.compare, &h.original})
    *value = rng();
  h.syndrome = static_cast<uint8_t>(rng());
  h.flush_placement = static_cast<uint8_t>(bits(4));
  h.flush_selectivity = static_cast<uint8_t>(bits(2));
  return h;
}

// Written down again from include/roce/README.md 1.4: READ REQUEST, ACKNOWLEDGE, ATOMIC
// ACKNOWLEDGE, COMPARE SWAP, FETCH ADD, RESYNC and FLUSH of any transport, and CNP, have none;
// ATOMIC WRITE has 8 bytes.
inline bool takes_payload(uint8_t opcode) {
  switch (opcode & 0x1f) {
  case 0x0c:
  case 0x11:
  case 0x12:
  case 0x13:
  case 0x14:
  case 0x15:
  case 0x1c:
    return false;
  default:
    return opcode != 0x81;
  }
}

inline std::vector<uint8_t> random_payload(Random &rng, uint8_t opcode) {
  if (!takes_payload(opcode))
    return {};
  const bool small = rng() % 2;
  std::vector<uint8_t> payload(opcode == 0x1d ? 8 : rng() % (small ? 64 : 4097));
  for (uint8_t &byte : payload)
    byte = static_cast<uint8_t>(rng());
  return payload;
}

constexpr packet::Network kNetworks[] = {packet::Network::Ipv4, packet::Network::Ipv6,
                                         packet::Network::V1};

inline const char *network_name(packet::Network network) {
  constexpr const char *kNames[] = {"IPv4", "IPv6", "v1"};
  return kNames[static_cast<size_t>(network)];
}

// RoCEv1 has no CNP.
inline bool exists(packet::Network network, uint8_t opcode) {
  return network != packet::Network::V1 || opcode != 0x81;
}

} // namespace xr::test
