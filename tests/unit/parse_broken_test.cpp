// SPDX-License-Identifier: Apache-2.0
// Incomplete frames: wrong lengths on the wire, and bytes cut by a snap length.
#include <gtest/gtest.h>

#include "frames.h"

namespace xr::test::parse_broken_test {
namespace {

roce_class class_of(const FrameBuilder &builder) { return parse(builder.build()).class_; }

const std::pair<const char *, FrameBuilder> kBases[] = {
    {"v2 IPv4", FrameBuilder(0x04).ipv4()},
    {"v2 IPv6", FrameBuilder(0x04).ipv6()},
    {"v1", FrameBuilder(0x04).v1()},
};

// 16 bytes are the BTH and the iCRC of a SEND ONLY without payload.
TEST(ParseBroken, ClaimsLessThanItsHeaders) {
  for (const auto &[name, base] : kBases) {
    const roce_class good = FrameBuilder(base).build().bth == 54 ? ROCE_CLASS_V1 : ROCE_CLASS_V2;
    EXPECT_EQ(class_of(base), good) << name;
    for (int fewer = 1; fewer <= 16; fewer++)
      EXPECT_EQ(class_of(FrameBuilder(base).claim(-fewer).trailer(30)), ROCE_CLASS_MALFORMED)
          << name << " " << fewer;
  }
}

TEST(ParseBroken, UdpLengthBelowItsHeader) {
  for (int length = 0; length < 24; length++) {
    EXPECT_EQ(class_of(FrameBuilder(0x04).udp_length(length).payload(64)), ROCE_CLASS_MALFORMED);
    EXPECT_EQ(class_of(FrameBuilder(0x04).ipv6().udp_length(length).payload(64)),
              ROCE_CLASS_MALFORMED);
  }
  EXPECT_EQ(class_of(FrameBuilder(0x04).udp_length(24).payload(64)), ROCE_CLASS_V2);
}

TEST(ParseBroken, ClaimsMoreThanItsFrame) {
  for (const auto &[name, base] : kBases) {
    EXPECT_EQ(class_of(FrameBuilder(base).payload(100).claim(1)), ROCE_CLASS_MALFORMED) << name;
    EXPECT_EQ(class_of(FrameBuilder(base).payload(100).claim(60000)), ROCE_CLASS_MALFORMED);
    // bytes after the iCRC are room for it: they are not known to be padding
    EXPECT_NE(class_of(FrameBuilder(base).payload(100).claim(2).trailer(2)), ROCE_CLASS_MALFORMED);
  }
}

// A snap length takes bytes but no length: whether a frame is whole is the wire's to say.
TEST(ParseBroken, ClaimsMoreThanItsFrameAndIsCut) {
  for (const auto &[name, base] : kBases) {
    const Frame whole = FrameBuilder(base).payload(100).claim(1).build();
    for (uint32_t snap = whole.bth; snap <= whole.bytes.size(); snap++) {
      const Parsed got = parse(FrameBuilder(base).payload(100).claim(1).snap(snap).build());
      EXPECT_EQ(got.class_, ROCE_CLASS_MALFORMED) << name << " " << snap;
      EXPECT_EQ(got.packet.cut, 0) << name << " " << snap;
    }
  }
}

TEST(ParseBroken, HeaderVersion) {
  for (const auto &[name, base] : kBases)
    for (uint8_t tver = 1; tver < 16; tver++)
      EXPECT_EQ(class_of(FrameBuilder(base).tver(tver)), ROCE_CLASS_MALFORMED) << name;
}

// The pad must fit between the extension headers and the iCRC.
TEST(ParseBroken, PadBeyondPayload) {
  for (const auto &[name, base] : kBases)
    for (int pad = 1; pad <= 3; pad++) {
      const FrameBuilder b = FrameBuilder(base).pad(static_cast<uint8_t>(pad)).trailer(8);
      EXPECT_NE(class_of(b), ROCE_CLASS_MALFORMED) << name;
      EXPECT_EQ(parse(b.build()).packet.payload, 0u);
      EXPECT_EQ(class_of(FrameBuilder(b).claim(-1)), ROCE_CLASS_MALFORMED) << name;
    }
}

TEST(ParseBroken, EveryOpcodeWithoutRoomForItsExtensionHeaders) {
  for (int opcode = 0; opcode < 256; opcode++) {
    const uint32_t length = ROCE_EXT_LEN(roce_opcode_info[opcode]);
    if (!length)
      continue;
    for (const auto &[name, base] : kBases) {
      const bool v1 = base.build().bth == 54, v6 = base.build().bth == 62;
      FrameBuilder b(static_cast<uint8_t>(opcode));
      v1 ? b.v1() : v6 ? b.ipv6() : b.ipv4();
      EXPECT_NE(class_of(b), ROCE_CLASS_MALFORMED) << name << " " << opcode;
      for (int missing : {1, static_cast<int>(length)})
        EXPECT_EQ(class_of(FrameBuilder(b).claim(-missing).trailer(8)), ROCE_CLASS_MALFORMED)
            << name << " " << opcode;
    }
  }
}

TEST(ParseBroken, GrhOfSomethingElse) {
  EXPECT_EQ(class_of(FrameBuilder(0x04).v1().ip_proto(17)), ROCE_CLASS_MALFORMED);
  EXPECT_EQ(class_of(FrameBuilder(0x04).v1().ip_version(4)), ROCE_CLASS_MALFORMED);
}

// Frames that end, on the wire, before their BTH does: 0x8915, or a port, says what they meant to
// be.
TEST(ParseBroken, RuntsAreMalformed) {
  for (const auto &[name, base] : kBases) {
    const Frame whole = FrameBuilder(base).vlan(0x8100).build();
    const uint32_t first = name == std::string("v1") ? whole.l3 : whole.bth;
    for (uint32_t length = first; length < whole.end; length++) {
      Frame runt = whole;
      runt.bytes.resize(length);
      runt.length = length;
      const Parsed got = parse(runt);
      ASSERT_EQ(got.class_, ROCE_CLASS_MALFORMED) << name << " of " << length << " bytes";
    }
  }
}

// Where the fields end that accounting reads from an opcode's extension headers.
uint32_t fields_end(const Frame &frame, uint8_t opcode) {
  const uint32_t info = roce_opcode_info[opcode];
  uint32_t at = frame.ext;
  if (info & (ROCE_HAS_RDETH | ROCE_HAS_XRCETH))
    at += 4;
  if (info & ROCE_OP_READ_REQUEST)
    return at + (info & ROCE_HAS_DETH ? 8 : 0) + 16;
  if (info & ROCE_HAS_AETH)
    return at + 4;
  return info & ROCE_HAS_DETH ? at + 8 : frame.ext;
}

void expect_same(const roce_packet &a, const roce_packet &b) {
  EXPECT_EQ(a.opcode, b.opcode);
  EXPECT_EQ(a.psn, b.psn);
  EXPECT_EQ(a.payload, b.payload);
  EXPECT_EQ(a.end, b.end);
  EXPECT_EQ(a.ecn, b.ecn);
  EXPECT_EQ(a.pad, b.pad);
  EXPECT_EQ(a.key.qp_kind, b.key.qp_kind);
  EXPECT_EQ(a.key.src[3], b.key.src[3]);
  EXPECT_EQ(a.key.dst[3], b.key.dst[3]);
}

void cut_at_every_byte(const FrameBuilder &base, uint8_t opcode) {
  const Frame whole = base.build();
  const Parsed want = parse(whole);
  ASSERT_NE(want.class_, ROCE_CLASS_OTHER);
  ASSERT_NE(want.class_, ROCE_CLASS_MALFORMED);
  for (uint32_t snap = 0; snap <= whole.bytes.size(); snap++) {
    SCOPED_TRACE(testing::Message()
                 << "opcode " << int(opcode) << " cut at " << snap << ", BTH at " << whole.bth);
    const Parsed got = parse(FrameBuilder(base).snap(snap).build());
    if (snap < whole.ext) { // the class itself is beyond reach
      EXPECT_EQ(got.class_, ROCE_CLASS_OTHER);
      EXPECT_EQ(got.packet.cut, 1);
    } else {
      EXPECT_EQ(got.class_, want.class_);
      EXPECT_EQ(got.packet.cut, snap < fields_end(whole, opcode));
      expect_same(got.packet, want.packet);
    }
    if (!got.packet.cut) {
      EXPECT_EQ(got.packet.dma_len, want.packet.dma_len);
      EXPECT_EQ(got.packet.syndrome, want.packet.syndrome);
      EXPECT_EQ(got.packet.src_qp, want.packet.src_qp);
    }
    if (testing::Test::HasFailure())
      return;
  }
}

TEST(ParseBroken, CutAtEveryByte) {
  for (uint8_t opcode : {0x04, 0x05, 0x0c, 0x0d, 0x11, 0x12, 0x14, 0x1c, 0x4c, 0x51, 0x64, 0x65,
                         0x81, 0xaa, 0xac, 0xb1}) {
    const FrameBuilder b = FrameBuilder(opcode).payload(8).dma_len(99).syndrome(0x64).src_qp(5);
    cut_at_every_byte(b, opcode);
    cut_at_every_byte(FrameBuilder(b).vlan(0x88a8).vlan(0x8100), opcode);
    cut_at_every_byte(FrameBuilder(b).ip_options(10), opcode);
    cut_at_every_byte(FrameBuilder(b).ipv6(), opcode);
    cut_at_every_byte(FrameBuilder(b).ipv6().extension(0, 1).extension(60).fragment(0), opcode);
    cut_at_every_byte(FrameBuilder(b).v1(), opcode);
    cut_at_every_byte(FrameBuilder(b).v1().vlan(0x8100), opcode);
  }
}

} // namespace
} // namespace xr::test::parse_broken_test
