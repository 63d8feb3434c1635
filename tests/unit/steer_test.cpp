// SPDX-License-Identifier: Apache-2.0
// Steering of frames: RoCE, ARP and neighbour discovery for an endpoint; all others go to the host.
#include <algorithm>
#include <cstring>

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include "frames.h"
#include "roce/steer.h"

namespace xr::test::steer_test {
namespace {

struct Steered {
  int what;
  std::string address;
};

Steered steer(const Bytes &bytes, size_t length = SIZE_MAX) {
  roce_endpoint to{};
  const uint8_t *data = bytes.data();
  const int what =
      roce_steer(data, data + std::min(length, bytes.size()), roce_swap16(ROCE_UDP_PORT), &to);
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(AF_INET6, to.address, text, sizeof(text));
  return {what, what ? text : ""};
}

Bytes arp(uint16_t operation, const std::vector<uint16_t> &tags = {}) {
  Bytes frame(12, 0xff);
  const auto put16 = [&frame](uint16_t v) {
    frame.push_back(static_cast<uint8_t>(v >> 8));
    frame.push_back(static_cast<uint8_t>(v));
  };
  for (const uint16_t tpid : tags) {
    put16(tpid);
    put16(7);
  }
  put16(0x0806);
  for (const uint16_t v : {uint16_t{1}, uint16_t{0x0800}, uint16_t{0x0604}, operation})
    put16(v);
  frame.resize(frame.size() + 16);           // sender's MAC and address, target's MAC
  frame.insert(frame.end(), {192, 0, 2, 9}); // target's address
  frame.resize(60);
  return frame;
}

Bytes icmp6(uint8_t type) {
  Bytes frame(14 + 40 + 24);
  frame[12] = 0x86;
  frame[13] = 0xdd;
  uint8_t *ip = &frame[14];
  ip[0] = 0x60;
  ip[6] = 58;
  inet_pton(AF_INET6, "2001:db8::2", ip + 24);
  ip[40] = type;
  inet_pton(AF_INET6, "2001:db8::9", ip + 48);
  return frame;
}

TEST(Steer, RocePacketsByTheirDestination) {
  for (const bool tagged : {false, true}) {
    FrameBuilder v4(0x04), v6(0x04), v1(0x04);
    v4.ipv4(), v6.ipv6(), v1.v1();
    if (tagged)
      for (FrameBuilder *one : {&v4, &v6, &v1})
        one->vlan(0x88a8).vlan(0x8100);
    EXPECT_EQ(ROCE_STEER_ROCE, steer(v4.to(7).build().bytes).what);
    EXPECT_EQ("::ffff:192.0.2.7", steer(v4.to(7).build().bytes).address);
    EXPECT_EQ("2001:db8::7", steer(v6.to(7).build().bytes).address);
    EXPECT_EQ("2001:db8::7", steer(v1.to(7).build().bytes).address);
  }
}

TEST(Steer, OptionsInFrontOfUdp) {
  EXPECT_EQ("::ffff:192.0.2.2", steer(FrameBuilder(0x04).ip_options(3).build().bytes).address);
}

TEST(Steer, OthersAreTheHosts) {
  EXPECT_EQ(0, steer(FrameBuilder(0x04).port(4790).build().bytes).what);
  EXPECT_EQ(0, steer(FrameBuilder(0x04).ipv6().port(53).build().bytes).what);
  EXPECT_EQ(0, steer(FrameBuilder(0x04).ip_proto(6).build().bytes).what);
  EXPECT_EQ(0, steer(FrameBuilder(0x04).ip_fragment(0x2000).build().bytes).what);
  EXPECT_EQ(0, steer(FrameBuilder(0x04).ip_fragment(0x0007).build().bytes).what);
  EXPECT_EQ(0, steer(FrameBuilder(0x04).ethertype(0x88cc).build().bytes).what);
  EXPECT_EQ(0, steer(icmp6(1)).what); // unreachable
  EXPECT_EQ(0, steer(FrameBuilder(0x04).ip_proto(2).build().bytes).what);
}

TEST(Steer, Neighbours) {
  for (const uint16_t operation : {1, 2}) {
    EXPECT_EQ(ROCE_STEER_NEIGHBOURS, steer(arp(operation)).what);
    EXPECT_EQ("::ffff:192.0.2.9", steer(arp(operation, {0x8100})).address);
  }
  for (const uint8_t type : {128, 129}) {
    EXPECT_EQ(ROCE_STEER_NEIGHBOURS, steer(icmp6(type)).what);
    EXPECT_EQ("2001:db8::2", steer(icmp6(type)).address);
  }
  for (const uint8_t type : {0, 3, 8}) { // reply, unreachable, request
    Bytes echo = FrameBuilder(0x04).ip_proto(1).build().bytes;
    echo[14 + 20] = type;
    EXPECT_EQ(type == 3 ? 0 : ROCE_STEER_NEIGHBOURS, steer(echo).what);
  }
  EXPECT_EQ(ROCE_STEER_NEIGHBOURS, steer(icmp6(135)).what);
  EXPECT_EQ("2001:db8::9", steer(icmp6(135)).address) << "a solicitation is for its target";
  EXPECT_EQ(ROCE_STEER_NEIGHBOURS, steer(icmp6(136)).what);
  EXPECT_EQ("2001:db8::2", steer(icmp6(136)).address) << "an advertisement for its receiver";
}

// No byte beyond the end is looked at (the sanitizers check), and half a frame is nobody's.
TEST(Steer, CutFrames) {
  for (const Bytes &whole :
       {FrameBuilder(0x04).build().bytes, FrameBuilder(0x04).ipv6().build().bytes,
        FrameBuilder(0x04).v1().vlan(0x8100).build().bytes, arp(1), icmp6(135)}) {
    bool before = false;
    for (size_t length = 0; length <= whole.size(); length++) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<long>(length));
      const bool now = steer(cut).what != 0;
      EXPECT_GE(now, before) << length;
      before = now;
    }
    EXPECT_TRUE(before);
  }
}

} // namespace
} // namespace xr::test::steer_test
