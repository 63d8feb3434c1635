// SPDX-License-Identifier: Apache-2.0
// What the wire process reads from frames and writes into them, against the parser and the builder.
#include <cstring>

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include "bpf/wire_checks.h"
#include "endpoint/wire_frame.h"
#include "packet/pause.h"

namespace xr::test::wire_frame_test {
namespace {

using endpoint::read_wire_frame;

const uint16_t kPort = htons(ROCE_UDP_PORT);

std::vector<FrameBuilder> kinds() {
  std::vector<FrameBuilder> all;
  for (const bool ipv6 : {false, true})
    for (const int tags : {0, 1, 2}) {
      FrameBuilder frame(0x04);
      frame.payload(64);
      if (ipv6)
        frame.ipv6();
      all.push_back(frame.tags(tags));
    }
  return all;
}

TEST(WireFrame, FieldsAreThoseOfTheParser) {
  for (FrameBuilder kind : kinds())
    for (uint8_t ecn = 0; ecn < 4; ecn++) {
      const Bytes bytes = finished(kind.ecn(ecn).build(), false);
      const wire::Frame frame = read_wire_frame(bytes, kPort);
      const roce_packet packet = parsed(bytes).packet;
      EXPECT_EQ(frame.ecn, ecn);
      EXPECT_EQ(frame.dscp, packet.tos >> 2);
      EXPECT_EQ(frame.pcp, packet.vlan ? bytes[ROCE_ETH_LEN] >> 5 : wire::kNoPcp);
    }
}

TEST(WireFrame, AStreamIsAddressesAndDestQp) {
  const auto stream = [](FrameBuilder frame) {
    return read_wire_frame(finished(frame.build(), false), kPort).stream;
  };
  const uint64_t one = stream(FrameBuilder(0x04).to(17));
  EXPECT_EQ(stream(FrameBuilder(0x0a).to(17).payload(9).psn(99)), one);
  EXPECT_NE(stream(FrameBuilder(0x04).to(18)), one);
  EXPECT_NE(stream(FrameBuilder(0x04).ipv6().to(17)), one);
}

TEST(WireFrame, CeKeepsTheChecksumAndTheRest) {
  for (FrameBuilder kind : kinds()) {
    const Bytes before = finished(kind.ecn(2).build(), false);
    const Bytes wanted = finished(kind.ecn(3).build(), false);
    Bytes after = before;
    endpoint::write_ce(after);
    EXPECT_EQ(after, wanted);
  }
}

TEST(WireFrame, MacControlIsKnownByItsType) {
  EXPECT_TRUE(endpoint::is_mac_control(packet::build_pause({})));
  EXPECT_FALSE(endpoint::is_mac_control(finished(FrameBuilder(0x04).build(), false)));
  EXPECT_FALSE(endpoint::is_mac_control({}));
}

TEST(WireFrame, NothingIsReadBeyondACutFrame) {
  Bytes whole = finished(FrameBuilder(0x04).payload(64).tags(2).build(), false);
  for (size_t length = 0; length < whole.size(); length++) {
    const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length));
    (void)read_wire_frame(cut, kPort);
    std::vector<uint8_t> marked = cut;
    endpoint::write_ce(marked);
    (void)endpoint::make_cnp(cut, 17, kPort);
  }
}

TEST(WireFrame, ACnpGoesBackToTheQpWithTheDscp) {
  for (FrameBuilder kind : kinds()) {
    const Bytes bytes = finished(kind.ecn(3).build(), false);
    const auto cnp = endpoint::make_cnp(bytes, 0x1234 | 48U << ROCE_HELD_CNP_DSCP_SHIFT, kPort);
    ASSERT_FALSE(cnp.empty());
    const Parsed to = parsed({cnp.begin(), cnp.end()});
    EXPECT_EQ(to.class_, ROCE_CLASS_V2);
    EXPECT_EQ(to.packet.opcode, 0x81);
    EXPECT_EQ(roce_key_qp(&to.packet.key), 0x1234U);
    EXPECT_EQ(to.packet.tos, 48 << 2);
    EXPECT_EQ(std::memcmp(cnp.data(), bytes.data() + 6, 6), 0);
  }
  EXPECT_TRUE(
      endpoint::make_cnp(finished(FrameBuilder(0x04).v1().build(), false), 1, kPort).empty());
}

} // namespace
} // namespace xr::test::wire_frame_test
