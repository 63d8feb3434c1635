// SPDX-License-Identifier: Apache-2.0
// Compares a frame with the fields it was built from, at the offsets of include/roce/README.md 1
// and as parsed by include/roce/parse.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <gtest/gtest.h>

#include "packet/icrc.h"
#include "packet_random.h"

namespace xr::test {

using packet::Headers;
using packet::Network;
using packet::Path;
using Bytes = std::vector<uint8_t>;

// What a frame was made from.
struct Made {
  Path path;
  Headers headers;
  Bytes payload; // of a CNP its 16 zeros
  int pad = -1;
  packet::Frame frame;

  const uint8_t *at(uint32_t offset) const { return frame.bytes.data() + offset; }
  uint32_t pad_bytes() const {
    return pad < 0 ? (4 - payload.size() % 4) % 4 : static_cast<uint32_t>(pad);
  }
};

inline uint64_t number(const uint8_t *from, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; i++)
    value = value << 8 | from[i];
  return value;
}

// RFC 1071, word by word; 0xffff when the checksum among them is right.
inline uint32_t ones_sum(const Bytes &bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes.size(); i++) {
    sum += i % 2 ? bytes[i] : static_cast<uint32_t>(bytes[i]) << 8;
    sum = sum >> 16 ? (sum & 0xffff) + 1 : sum;
  }
  return sum;
}

inline void check_ethernet(const Made &m) {
  EXPECT_EQ(Bytes(m.at(0), m.at(6)), Bytes(m.path.dst_mac.begin(), m.path.dst_mac.end()));
  EXPECT_EQ(Bytes(m.at(6), m.at(12)), Bytes(m.path.src_mac.begin(), m.path.src_mac.end()));
  uint32_t at = 12;
  for (const packet::Tag &tag : m.path.tags) {
    EXPECT_EQ(number(m.at(at), 2), tag.tpid);
    EXPECT_EQ(number(m.at(at + 2), 2), tag.tci);
    at += 4;
  }
  constexpr uint16_t kTypes[] = {0x0800, 0x86dd, 0x8915};
  EXPECT_EQ(number(m.at(at), 2), kTypes[static_cast<size_t>(m.path.network)]);
  EXPECT_EQ(m.frame.layout.l3, at + 2);
}

inline void check_ipv4(const Made &m, const uint8_t *ip) {
  EXPECT_EQ(ip[0], 0x45);
  EXPECT_EQ(ip[1], m.path.tos);
  EXPECT_EQ(number(ip + 2, 2), m.frame.bytes.size() - m.frame.layout.l3);
  EXPECT_EQ(number(ip + 4, 2), m.path.ip_id);
  EXPECT_EQ(number(ip + 6, 2), 0x4000u);
  EXPECT_EQ(ip[8], m.path.ttl);
  EXPECT_EQ(ip[9], 17);
  EXPECT_EQ(memcmp(ip + 12, &m.path.src[3], 4), 0);
  EXPECT_EQ(memcmp(ip + 16, &m.path.dst[3], 4), 0);
  EXPECT_EQ(ones_sum(Bytes(ip, ip + 20)), 0xffffu);
  EXPECT_EQ(m.frame.layout.bth, m.frame.layout.l3 + 28);
}

inline void check_ipv6(const Made &m, const uint8_t *ip, bool v1) {
  EXPECT_EQ(number(ip, 4), 6ull << 28 | uint64_t{m.path.tos} << 20 | m.path.flow_label);
  EXPECT_EQ(number(ip + 4, 2), m.frame.bytes.size() - m.frame.layout.l3 - 40);
  EXPECT_EQ(ip[6], v1 ? 0x1b : 17);
  EXPECT_EQ(ip[7], m.path.ttl);
  EXPECT_EQ(memcmp(ip + 8, m.path.src.data(), 16), 0);
  EXPECT_EQ(memcmp(ip + 24, m.path.dst.data(), 16), 0);
  EXPECT_EQ(m.frame.layout.bth, m.frame.layout.l3 + (v1 ? 40 : 48));
}

inline void check_udp(const Made &m, const uint8_t *udp) {
  const uint64_t length = number(udp + 4, 2), sum = number(udp + 6, 2);
  EXPECT_EQ(number(udp, 2), m.path.src_port);
  EXPECT_EQ(number(udp + 2, 2), m.path.dst_port);
  EXPECT_EQ(length, static_cast<uint64_t>(m.at(m.frame.layout.end) - udp));
  if (!m.path.udp_checksum) {
    EXPECT_EQ(sum, 0u);
    return;
  }
  EXPECT_NE(sum, 0u);
  const size_t addresses = m.path.network == Network::Ipv4 ? 8 : 32;
  Bytes covered(udp - addresses, udp + length);
  for (uint64_t byte : {uint64_t{0}, uint64_t{17}, length >> 8, length & 0xff})
    covered.insert(covered.begin(), static_cast<uint8_t>(byte));
  std::reverse(covered.begin(), covered.begin() + 4);
  EXPECT_EQ(ones_sum(covered), 0xffffu);
}

inline void check_network(const Made &m) {
  const uint8_t *l3 = m.at(m.frame.layout.l3);
  if (m.path.network == Network::Ipv4)
    check_ipv4(m, l3);
  else
    check_ipv6(m, l3, m.path.network == Network::V1);
  if (m.path.network != Network::V1)
    check_udp(m, m.at(m.frame.layout.bth - 8));
}

inline void check_bth(const Made &m) {
  const Headers &h = m.headers;
  const uint8_t *bth = m.at(m.frame.layout.bth);
  EXPECT_EQ(bth[0], h.opcode);
  EXPECT_EQ(bth[1], h.solicited << 7 | h.mig_req << 6 | m.pad_bytes() << 4 | h.tver);
  EXPECT_EQ(number(bth + 2, 2), h.pkey);
  EXPECT_EQ(bth[4], h.fecn << 7 | h.becn << 6 | h.resv6);
  EXPECT_EQ(number(bth + 5, 3), h.dest_qp);
  EXPECT_EQ(bth[8], h.ack_req << 7 | h.resv7);
  EXPECT_EQ(number(bth + 9, 3), h.psn);
}

// One number of an extension header.
struct Part {
  uint64_t value;
  size_t bytes;
};

// What follows the BTH, from include/roce/README.md 1.3 and 1.4: which transports put what before
// the operation's own headers, and those.
inline std::vector<Part> expected_extensions(const Headers &h) {
  const int transport = h.opcode & 0xe0, op = h.opcode & 0x1f;
  const bool answer = op >= 0x0d && op <= 0x12;
  const bool reth = op == 0x06 || op == 0x0a || op == 0x0b || op == 0x0c || op >= 0x1c;
  std::vector<Part> parts;
  const auto add = [&parts](bool has, std::vector<Part> more) {
    if (has)
      parts.insert(parts.end(), more.begin(), more.end());
  };
  if (h.opcode == 0x81)
    return {};
  add(transport == 0x40, {{0, 1}, {h.ee_context, 3}});
  add(transport == 0x60 || (transport == 0x40 && !answer), {{h.qkey, 4}, {0, 1}, {h.src_qp, 3}});
  add(transport == 0xa0 && !answer, {{0, 1}, {h.srq, 3}});
  add(op == 0x1c, {{uint64_t{h.flush_selectivity} << 4 | h.flush_placement, 4}});
  add(reth, {{h.va, 8}, {h.rkey, 4}, {h.dma_len, 4}});
  add(op == 0x13 || op == 0x14, {{h.va, 8}, {h.rkey, 4}, {h.swap_add, 8}, {h.compare, 8}});
  add(answer && op != 0x0e, {{h.syndrome, 1}, {h.msn, 3}});
  add(op == 0x12, {{h.original, 8}});
  add(op == 0x03 || op == 0x05 || op == 0x09 || op == 0x0b, {{h.immediate, 4}});
  add(op == 0x16 || op == 0x17, {{h.invalidate, 4}});
  return parts;
}

inline void check_behind_bth(const Made &m) {
  uint32_t at = m.frame.layout.bth + 12;
  EXPECT_EQ(m.frame.layout.ext, at);
  for (const Part &part : expected_extensions(m.headers)) {
    EXPECT_EQ(number(m.at(at), part.bytes), part.value) << "at " << at - m.frame.layout.ext;
    at += static_cast<uint32_t>(part.bytes);
  }
  EXPECT_EQ(m.frame.layout.payload, at);
  EXPECT_EQ(m.frame.layout.payload_length, m.payload.size());
  EXPECT_EQ(m.frame.layout.pad, m.pad_bytes());
  ASSERT_EQ(m.frame.layout.end, at + m.payload.size() + m.pad_bytes() + 4);
  ASSERT_EQ(m.frame.layout.end, m.frame.bytes.size());
  EXPECT_EQ(Bytes(m.at(at), m.at(at) + m.payload.size()), m.payload);
  const size_t beside = m.payload.size() + m.pad_bytes() - (m.headers.opcode == 0x81 ? 16 : 0);
  EXPECT_EQ(packet::overhead(m.path, m.headers.opcode) + beside, m.frame.bytes.size());
}

inline void check_parsed_addresses(const Made &m, roce_packet &p) {
  roce_key_fill(&p.key);
  EXPECT_TRUE(std::equal(m.path.src.begin(), m.path.src.end(), p.key.src));
  EXPECT_TRUE(std::equal(m.path.dst.begin(), m.path.dst.end(), p.key.dst));
  EXPECT_EQ(roce_key_qp(&p.key), m.headers.dest_qp);
  EXPECT_EQ(p.vlan, m.path.tags.empty() ? 0 : 0x1000 | (m.path.tags[0].tci & 0xefff));
  if (m.path.network != Network::V1) {
    EXPECT_EQ(p.tos, m.path.tos);
    EXPECT_EQ(p.ecn, m.path.tos & 3);
  }
}

inline void check_parsed(const Made &m) {
  const Headers &h = m.headers;
  roce_packet p{};
  const int class_ =
      roce_parse(m.at(0), m.at(m.frame.layout.end), roce_swap16(m.path.dst_port), &p);
  ASSERT_EQ(class_, m.path.network == Network::V1 ? ROCE_CLASS_V1 : ROCE_CLASS_V2);
  const auto length = static_cast<uint32_t>(m.frame.bytes.size());
  EXPECT_EQ(roce_check_length(class_, length, &p), class_);
  EXPECT_EQ(p.opcode, h.opcode);
  EXPECT_EQ(p.info, roce_opcode_info[h.opcode]);
  EXPECT_EQ(p.psn, h.psn);
  EXPECT_EQ(p.ack_req, h.ack_req);
  EXPECT_EQ(p.pad, m.pad_bytes());
  EXPECT_EQ(p.payload, m.payload.size());
  EXPECT_EQ(p.l3, m.frame.layout.l3);
  EXPECT_EQ(p.bth, m.frame.layout.bth);
  EXPECT_EQ(p.end, m.frame.layout.end);
  EXPECT_EQ(p.cut, 0);
  if (p.info & ROCE_OP_READ_REQUEST) {
    EXPECT_EQ(p.dma_len, h.dma_len);
  }
  if (p.info & ROCE_HAS_AETH) {
    EXPECT_EQ(p.syndrome, h.syndrome);
  }
  if (h.opcode >> 5 == 3) {
    EXPECT_EQ(p.src_qp, h.src_qp);
  }
  EXPECT_EQ(icrc_check(m.at(0), length, p), Icrc::Good);
  check_parsed_addresses(m, p);
}

inline void check_frame(const Made &m) {
  ASSERT_GT(m.frame.bytes.size(), 54u);
  check_ethernet(m);
  check_behind_bth(m);
  if (testing::Test::HasFatalFailure())
    return;
  check_network(m);
  check_bth(m);
  check_parsed(m);
}

} // namespace xr::test
