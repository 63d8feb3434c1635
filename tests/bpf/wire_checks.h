// SPDX-License-Identifier: Apache-2.0
// Complete frames with correct checksums for tests, and checks of checksums. Computed here a second
// time, except the iCRC, which is userspace/packet's.
#pragma once

#include <algorithm>
#include <cstdint>

#include "packet/icrc.h"
#include "unit/frames.h"

namespace xr::test {

// RFC 1071, byte by byte. `sum` is what goes before.
inline uint32_t ones_sum(const uint8_t *data, size_t length, uint32_t sum = 0) {
  for (size_t i = 0; i < length; i++)
    sum += i & 1 ? data[i] : data[i] << 8u;
  while (sum >> 16)
    sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

inline uint32_t udp_sum(const Bytes &bytes, const roce_packet &p) {
  const uint8_t *ip = bytes.data() + p.l3, *udp = bytes.data() + p.bth - ROCE_UDP_LEN;
  const uint32_t length = p.end - p.bth + ROCE_UDP_LEN;
  const bool ipv4 = ip[0] >> 4 == 4;
  const uint32_t addresses = ones_sum(ip + (ipv4 ? 12 : 8), ipv4 ? 8 : 32);
  return ones_sum(udp, length, addresses + ROCE_IPPROTO_UDP + length);
}

inline Parsed parsed(const Bytes &bytes) {
  Frame frame;
  frame.bytes = bytes;
  frame.length = static_cast<uint32_t>(bytes.size());
  return parse(frame);
}

inline void store16(uint8_t *at, uint32_t value) {
  at[0] = static_cast<uint8_t>(value >> 8);
  at[1] = static_cast<uint8_t>(value);
}

// Checksums and iCRC right; a UDP checksum of 0 is none.
inline Bytes finished(const Frame &frame, bool udp_checksum) {
  Bytes bytes = frame.bytes;
  const Parsed p = parse(frame);
  if (p.class_ != ROCE_CLASS_V2 && p.class_ != ROCE_CLASS_V1)
    return bytes;
  icrc_write(bytes.data(), p.packet);
  if (p.class_ == ROCE_CLASS_V1)
    return bytes;
  uint8_t *ip = bytes.data() + p.packet.l3, *udp = bytes.data() + p.packet.bth - ROCE_UDP_LEN;
  if (ip[0] >> 4 == 4) {
    store16(ip + 10, 0);
    store16(ip + 10, ~ones_sum(ip, (ip[0] & 15) * 4u));
  }
  store16(udp + 6, 0);
  if (udp_checksum) {
    const uint32_t sum = ~udp_sum(bytes, p.packet) & 0xffff;
    store16(udp + 6, sum ? sum : 0xffff);
  }
  return bytes;
}

// What is wrong with a RoCE frame: "", or words for each.
inline std::string wrong_in(const Bytes &bytes) {
  const Parsed p = parsed(bytes);
  std::string wrong;
  if (p.class_ != ROCE_CLASS_V2 && p.class_ != ROCE_CLASS_V1)
    return "class";
  if (icrc_check(bytes.data(), static_cast<uint32_t>(bytes.size()), p.packet) != Icrc::Good)
    wrong += "icrc ";
  if (p.class_ == ROCE_CLASS_V1)
    return wrong;
  const uint8_t *ip = bytes.data() + p.packet.l3, *udp = bytes.data() + p.packet.bth - 8;
  if (ip[0] >> 4 == 4 && ones_sum(ip, (ip[0] & 15) * 4u) != 0xffff)
    wrong += "ip ";
  if ((udp[6] | udp[7]) && udp_sum(bytes, p.packet) != 0xffff)
    wrong += "udp ";
  return wrong;
}

// The CNP that answers a frame: all of it, but for the iCRC and what that says.
inline void expect_cnp(const Bytes &of, const Bytes &cnp, uint32_t qp, uint8_t dscp = 48) {
  const Parsed before = parsed(of), after = parsed(cnp);
  ASSERT_EQ(ROCE_CLASS_V2, after.class_);
  EXPECT_EQ("", wrong_in(cnp));
  const roce_packet &a = before.packet, &b = after.packet;
  EXPECT_EQ(ROCE_OPCODE_CNP, b.opcode);
  EXPECT_EQ(qp, roce_key_qp(&b.key));
  EXPECT_EQ(0u, b.psn);
  EXPECT_EQ(16u, b.payload);
  EXPECT_EQ(b.end, cnp.size());
  EXPECT_EQ(dscp << 2, b.tos);
  EXPECT_EQ(a.l3, b.l3);
  EXPECT_EQ(a.vlan, b.vlan);
  for (uint32_t i = a.key.qp_kind & ROCE_KEY_IPV4 ? 3 : 0; i < 4; i++) {
    EXPECT_EQ(a.key.src[i], b.key.dst[i]);
    EXPECT_EQ(a.key.dst[i], b.key.src[i]);
  }
  EXPECT_TRUE(std::equal(of.begin(), of.begin() + 6, cnp.begin() + 6));
  EXPECT_TRUE(std::equal(of.begin() + 6, of.begin() + 12, cnp.begin()));
  EXPECT_TRUE(std::equal(of.begin() + 12, of.begin() + a.l3, cnp.begin() + 12)) << "tags";
  const uint8_t *ip = cnp.data() + b.l3, *udp = cnp.data() + b.bth - 8, *bth = cnp.data() + b.bth;
  if (ip[0] >> 4 == 4) {
    EXPECT_EQ(60, ip[2] << 8 | ip[3]);
    EXPECT_EQ(0x40, ip[6]); // DF
    EXPECT_EQ(64, ip[8]);
  } else {
    EXPECT_EQ(40, ip[4] << 8 | ip[5]);
    EXPECT_EQ(64, ip[7]);
  }
  EXPECT_EQ(0, std::memcmp(of.data() + a.bth - 8, udp, 4)); // ports
  EXPECT_EQ(40, udp[4] << 8 | udp[5]);
  EXPECT_EQ(0, udp[6] | udp[7]);
  EXPECT_EQ(0, bth[1]);
  EXPECT_EQ(0xffff, bth[2] << 8 | bth[3]);
  EXPECT_EQ(0x40, bth[4]); // BECN
  EXPECT_TRUE(std::all_of(bth + 12, bth + 28, [](uint8_t byte) { return byte == 0; }));
}

} // namespace xr::test
