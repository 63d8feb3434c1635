// SPDX-License-Identifier: Apache-2.0
// The iCRC (include/roce/README.md 2) of the real frames in tests/data/vectors.txt, and of frames
// with IPv4 options, IPv6 extension headers and all lengths.
#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "frames.h"
#include "packet/icrc.h"

namespace xr::test::icrc_test {
namespace {

struct Vector {
  std::string name;
  Bytes bytes;
  roce_packet packet;
};

Vector vector_of(std::string name, Bytes bytes) {
  Frame frame;
  frame.length = static_cast<uint32_t>(bytes.size());
  frame.bytes = bytes;
  const Parsed parsed = parse(frame);
  EXPECT_TRUE(parsed.class_ == ROCE_CLASS_V2 || parsed.class_ == ROCE_CLASS_V1) << name;
  return {std::move(name), std::move(bytes), parsed.packet};
}

std::vector<Vector> vectors() {
  std::ifstream file(XR_TEST_DATA "/vectors.txt");
  std::vector<Vector> all;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, hex;
    if (line.starts_with('#') || !(words >> name >> hex))
      continue;
    all.push_back(vector_of(name, from_hex(hex)));
  }
  return all;
}

Icrc check(const Bytes &bytes, const roce_packet &packet) {
  return icrc_check(bytes.data(), static_cast<uint32_t>(bytes.size()), packet);
}

// Bits that hops may change, by offset in the frame, written down again from
// include/roce/README.md 2.
std::set<std::pair<uint32_t, int>> free_bits(const Vector &v) {
  std::set<std::pair<uint32_t, int>> bits;
  const auto byte = [&](uint32_t at, int mask = 0xff) {
    for (int bit = 0; bit < 8; bit++)
      if (mask & 1 << bit)
        bits.insert({at, bit});
  };
  const uint32_t l3 = v.packet.l3, bth = v.packet.bth;
  if (v.bytes[l3] >> 4 == 4) {
    for (uint32_t at : {1, 8, 10, 11})
      byte(l3 + at);
  } else {
    byte(l3, 0x0f);
    for (uint32_t at : {1, 2, 3, 7})
      byte(l3 + at);
  }
  byte(bth + 4);
  if (bth - l3 != ROCE_GRH_LEN || v.bytes[l3] >> 4 == 4) {
    byte(bth - 2);
    byte(bth - 1);
  }
  return bits;
}

// Flips each bit of the frame on its own. The packet as parsed stays: only the iCRC is asked.
void flip_everything(const Vector &v) {
  const auto free = free_bits(v);
  for (uint32_t at = 0; at < v.bytes.size(); at++) {
    for (int bit = 0; bit < 8; bit++) {
      if (at == v.packet.l3 && bit >= 4)
        continue; // the IP version: another kind of packet
      Bytes bytes = v.bytes;
      bytes[at] ^= static_cast<uint8_t>(1 << bit);
      const bool outside = at < v.packet.l3 || at >= v.packet.end;
      EXPECT_EQ(check(bytes, v.packet) == Icrc::Good, outside || free.contains({at, bit}))
          << v.name << ": byte " << at << " bit " << bit;
    }
  }
}

TEST(Icrc, VectorsAreGood) {
  const auto all = vectors();
  ASSERT_EQ(all.size(), 10u);
  for (const Vector &v : all)
    EXPECT_EQ(check(v.bytes, v.packet), Icrc::Good) << v.name;
}

TEST(Icrc, ValueOfV1) {
  const Vector v1 = vectors().at(0);
  EXPECT_EQ(icrc_value(v1.bytes.data(), v1.packet.l3, v1.packet.bth, v1.packet.end), 0xf353f378u);
}

TEST(Icrc, CoversWhatItShouldAndNothingElse) {
  for (const Vector &v : vectors())
    flip_everything(v);
}

TEST(Icrc, ZeroIsNotBad) {
  for (const Vector &v : vectors()) {
    Bytes bytes = v.bytes;
    std::fill_n(bytes.begin() + v.packet.end - 4, 4, 0);
    EXPECT_EQ(check(bytes, v.packet), Icrc::Zero) << v.name;
    bytes[v.packet.end - 1] = 1;
    EXPECT_EQ(check(bytes, v.packet), Icrc::Bad) << v.name;
  }
}

TEST(Icrc, AbsentWhereCut) {
  for (const Vector &v : vectors())
    for (uint32_t captured = 0; captured < v.packet.end; captured++) {
      const Bytes bytes(v.bytes.begin(),
                        v.bytes.begin() + captured); // so that ASan sees a read past the end
      EXPECT_EQ(icrc_check(bytes.data(), captured, v.packet), Icrc::Absent) << v.name;
    }
}

// Another implementation, bit by bit and over a masked copy of the whole packet.
uint32_t slow_value(const Vector &v) {
  Bytes bytes(v.bytes.begin() + v.packet.l3, v.bytes.begin() + v.packet.end - 4);
  for (const auto &[at, bit] : free_bits(v))
    bytes.at(at - v.packet.l3) |= static_cast<uint8_t>(1 << bit);
  bytes.insert(bytes.begin(), 8, 0xff);
  uint32_t crc = ~0u;
  for (uint8_t byte : bytes) {
    crc ^= byte;
    for (int i = 0; i < 8; i++)
      crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
  }
  return ~crc;
}

Vector built(const std::string &name, const FrameBuilder &builder) {
  Vector v = vector_of(name, builder.build().bytes);
  icrc_write(v.bytes.data(), v.packet);
  return v;
}

TEST(Icrc, EveryLengthAndHeader) {
  for (uint32_t payload = 0; payload <= 4096; payload += payload < 300 ? 4 : 948) {
    for (uint8_t words = 0; words <= 10; words++) {
      const Vector v =
          built("options", FrameBuilder(ROCE_RC_SEND_MIDDLE).ip_options(words).payload(payload));
      EXPECT_EQ(icrc_value(v.bytes.data(), v.packet.l3, v.packet.bth, v.packet.end), slow_value(v))
          << "options " << int{words} << " payload " << payload;
    }
    for (int words : {-1, 0, 1, 2, 3, 4, 5, 6, 7, 255}) {
      FrameBuilder builder(ROCE_RC_SEND_MIDDLE);
      builder.ipv6().payload(payload);
      if (words >= 0)
        builder.extension(ROCE_IPPROTO_DSTOPTS, static_cast<uint8_t>(words));
      const Vector v = built("IPv6", builder);
      EXPECT_EQ(icrc_value(v.bytes.data(), v.packet.l3, v.packet.bth, v.packet.end), slow_value(v))
          << "extension " << words << " payload " << payload;
    }
    const Vector v = built("v1", FrameBuilder(ROCE_RC_SEND_MIDDLE).v1().payload(payload));
    EXPECT_EQ(icrc_value(v.bytes.data(), v.packet.l3, v.packet.bth, v.packet.end), slow_value(v))
        << "v1 payload " << payload;
  }
}

TEST(Icrc, CoversOptionsAndExtensionHeaders) {
  flip_everything(built("options", FrameBuilder(ROCE_RC_SEND_ONLY).ip_options(10).payload(64)));
  flip_everything(
      built("short extension",
            FrameBuilder(ROCE_RC_SEND_ONLY).ipv6().extension(ROCE_IPPROTO_HOPOPTS, 1).payload(64)));
  flip_everything(built("long extensions", FrameBuilder(ROCE_RC_SEND_ONLY)
                                               .ipv6()
                                               .extension(ROCE_IPPROTO_HOPOPTS, 6)
                                               .extension(ROCE_IPPROTO_DSTOPTS, 9)
                                               .payload(64)));
}

// Captures may hold padding or an FCS after the iCRC, and VLAN tags before the packet.
TEST(Icrc, WhatSurroundsThePacketDoesNotMatter) {
  const Vector tagged = built("tagged", FrameBuilder(ROCE_RC_SEND_ONLY)
                                            .vlan(ROCE_ETHERTYPE_QINQ)
                                            .vlan(ROCE_ETHERTYPE_VLAN)
                                            .payload(4)
                                            .trailer(14));
  EXPECT_EQ(check(tagged.bytes, tagged.packet), Icrc::Good);
  flip_everything(tagged);
}

} // namespace
} // namespace xr::test::icrc_test
