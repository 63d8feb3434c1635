// SPDX-License-Identifier: Apache-2.0
// Classes of complete frames, and the parsed fields (include/roce/README.md 1.1 to 1.3, 2 and
// "Frame classes" of 7).
#include <fstream>
#include <functional>
#include <map>
#include <ostream>

#include <gtest/gtest.h>

#include "frames.h"

void PrintTo(roce_class c, std::ostream *os) {
  const char *names[] = {"other", "rocev2", "rocev1", "pfc", "fragment", "malformed"};
  *os << (c < ROCE_CLASS_MAX ? names[c] : "?");
}

namespace xr::test::parse_test {
namespace {

roce_class class_of(const FrameBuilder &builder, uint16_t port = ROCE_UDP_PORT) {
  return parse(builder.build(), port).class_;
}

const std::vector<std::pair<const char *, std::vector<uint16_t>>> kTags = {
    {"untagged", {}},
    {"0x8100", {0x8100}},
    {"0x88a8", {0x88a8}},
    {"0x88a8 0x8100", {0x88a8, 0x8100}},
    {"0x8100 0x8100", {0x8100, 0x8100}},
};

struct Encapsulation {
  const char *name;
  roce_class class_;
  uint32_t bth; // include/roce/README.md 1.1
  std::function<FrameBuilder &(FrameBuilder &)> apply;
};
const Encapsulation kEncapsulations[] = {
    {"v2 IPv4", ROCE_CLASS_V2, 42, [](FrameBuilder &b) -> FrameBuilder & { return b.ipv4(); }},
    {"v2 IPv6", ROCE_CLASS_V2, 62, [](FrameBuilder &b) -> FrameBuilder & { return b.ipv6(); }},
    {"v1", ROCE_CLASS_V1, 54, [](FrameBuilder &b) -> FrameBuilder & { return b.v1(); }},
};

uint32_t kind_of(uint32_t info) {
  return info & ROCE_OP_REQUEST    ? ROCE_KIND_REQUEST
         : info & ROCE_OP_RESPONSE ? ROCE_KIND_RESPONSE
                                   : ROCE_KIND_DATAGRAM;
}

void expect_addresses(const roce_key &key, const Encapsulation &e) {
  const bool v4 = e.bth == 42;
  EXPECT_EQ((key.qp_kind & ROCE_KEY_IPV4) != 0, v4);
  roce_key whole = key;
  roce_key_fill(&whole);
  const Bytes src =
      from_hex(v4 ? "00000000000000000000ffffc0000207" : "20010db8000000000000000000000007");
  const Bytes dst =
      from_hex(v4 ? "00000000000000000000ffffc0000209" : "20010db8000000000000000000000009");
  EXPECT_EQ(
      Bytes(reinterpret_cast<uint8_t *>(whole.src), reinterpret_cast<uint8_t *>(whole.src) + 16),
      src);
  EXPECT_EQ(
      Bytes(reinterpret_cast<uint8_t *>(whole.dst), reinterpret_cast<uint8_t *>(whole.dst) + 16),
      dst);
}

void expect_fields(int opcode, const Frame &frame, const Parsed &got, const Encapsulation &e) {
  const uint32_t info = roce_opcode_info[opcode];
  const roce_packet &p = got.packet;
  ASSERT_EQ(got.class_, e.class_);
  EXPECT_EQ(p.opcode, opcode);
  EXPECT_EQ(p.info, info);
  EXPECT_EQ(p.cut, 0);
  EXPECT_EQ(p.psn, 0x89abcdu);
  EXPECT_EQ(roce_key_qp(&p.key), 0xfedcbau);
  if (info) {
    EXPECT_EQ(roce_key_kind(&p.key), kind_of(info));
  }
  EXPECT_EQ(p.payload, 37u);
  EXPECT_EQ(p.pad, 3);
  EXPECT_EQ(p.ecn, e.class_ == ROCE_CLASS_V1 ? 0 : 3);
  EXPECT_EQ(p.l3, frame.l3);
  EXPECT_EQ(p.bth, frame.bth);
  EXPECT_EQ(p.end, frame.end);
  expect_addresses(p.key, e);
  EXPECT_EQ(p.dma_len, info & ROCE_OP_READ_REQUEST ? 0x01234567u : 0u);
  EXPECT_EQ(p.syndrome, info & ROCE_HAS_AETH ? 0x63 : 0);
  if ((opcode & 0xe0) == ROCE_UD && info) {
    EXPECT_EQ(p.src_qp, 0xabcdefu);
  }
}

// Every opcode there is, assigned or not, in every encapsulation under every stack of tags. The
// frame is padded by two bytes: the end must come from the lengths.
TEST(Parse, EveryOpcodeInEveryEncapsulation) {
  for (const Encapsulation &e : kEncapsulations)
    for (const auto &[tags, tpids] : kTags)
      for (int opcode = 0; opcode < 256; opcode++) {
        SCOPED_TRACE(testing::Message() << e.name << ", " << tags << ", opcode " << opcode);
        FrameBuilder b(static_cast<uint8_t>(opcode));
        e.apply(b).from(7).to(9).ecn(3).qp(0xfedcba).psn(0x89abcd).payload(37).pad(3).trailer(2);
        b.dma_len(0x01234567).syndrome(0x63).src_qp(0xabcdef);
        for (uint16_t tpid : tpids)
          b.vlan(tpid);
        const Frame frame = b.build();
        EXPECT_EQ(frame.bth, e.bth + 4 * tpids.size());
        expect_fields(opcode, frame, parse(frame), e);
        if (HasFailure())
          return; // one frame's faults are enough to read
      }
}

TEST(Parse, EveryEcnCodepoint) {
  for (uint8_t ecn = 0; ecn < 4; ecn++) {
    EXPECT_EQ(parse(FrameBuilder(0x04).ecn(ecn).build()).packet.ecn, ecn);
    EXPECT_EQ(parse(FrameBuilder(0x04).ipv6().ecn(ecn).build()).packet.ecn, ecn);
  }
}

TEST(Parse, ThreeTagsAreNotLookedThrough) {
  for (const Encapsulation &e : kEncapsulations) {
    FrameBuilder b(0x04);
    e.apply(b).vlan(0x88a8).vlan(0x8100).vlan(0x8100);
    const Parsed got = parse(b.build());
    EXPECT_EQ(got.class_, ROCE_CLASS_OTHER) << e.name;
    EXPECT_EQ(got.packet.cut, 0) << e.name;
  }
}

TEST(Parse, Port) {
  EXPECT_EQ(class_of(FrameBuilder(0x04).port(4790)), ROCE_CLASS_OTHER);
  EXPECT_EQ(class_of(FrameBuilder(0x04).ipv6().port(4790)), ROCE_CLASS_OTHER);
  EXPECT_EQ(class_of(FrameBuilder(0x04).port(0xb712)), ROCE_CLASS_OTHER) << "bytes swapped";
  EXPECT_EQ(class_of(FrameBuilder(0x04).port(1021), 1021), ROCE_CLASS_V2);
  EXPECT_EQ(class_of(FrameBuilder(0x04).ipv6().port(1021), 1021), ROCE_CLASS_V2);
  EXPECT_EQ(class_of(FrameBuilder(0x04), 1021), ROCE_CLASS_OTHER);
  EXPECT_EQ(class_of(FrameBuilder(0x04).v1(), 1021), ROCE_CLASS_V1) << "v1 has no port";
}

TEST(Parse, Ipv4Options) {
  for (uint8_t words = 0; words <= 10; words++) {
    const Frame frame = FrameBuilder(0x0c).ip_options(words).dma_len(77).psn(5).build();
    const Parsed got = parse(frame);
    EXPECT_EQ(got.class_, ROCE_CLASS_V2);
    EXPECT_EQ(got.packet.bth, 42u + 4 * words);
    EXPECT_EQ(got.packet.dma_len, 77u);
    EXPECT_EQ(got.packet.psn, 5u);
  }
}

TEST(Parse, NotIpv4OrNotUdp) {
  EXPECT_EQ(class_of(FrameBuilder(0x04).ip_version(6)), ROCE_CLASS_OTHER);
  EXPECT_EQ(class_of(FrameBuilder(0x04).ip_proto(6)), ROCE_CLASS_OTHER);
  EXPECT_EQ(class_of(FrameBuilder(0x04).ethertype(0x0806)), ROCE_CLASS_OTHER);
  EXPECT_EQ(class_of(FrameBuilder(0x04).ipv6().ip_version(4)), ROCE_CLASS_OTHER);
  EXPECT_EQ(class_of(FrameBuilder(0x04).ipv6().ip_proto(6)), ROCE_CLASS_OTHER);
  Frame short_ihl = FrameBuilder(0x04).build();
  short_ihl.bytes[14] = 0x44; // IHL 4: less than a header
  EXPECT_EQ(parse(short_ihl).class_, ROCE_CLASS_OTHER);
}

TEST(Parse, Ipv6ExtensionHeaders) {
  const auto bth = [](const FrameBuilder &b) {
    const Frame frame = b.build();
    const Parsed got = parse(frame);
    EXPECT_EQ(got.class_, ROCE_CLASS_V2);
    EXPECT_EQ(got.packet.psn, 9u);
    EXPECT_EQ(got.packet.end, frame.end);
    return got.packet.bth;
  };
  const FrameBuilder base = FrameBuilder(0x04).ipv6().psn(9).payload(20);
  EXPECT_EQ(bth(FrameBuilder(base).extension(0)), 70u);
  EXPECT_EQ(bth(FrameBuilder(base).extension(43, 2)), 86u);
  EXPECT_EQ(bth(FrameBuilder(base).extension(60, 31)), 318u);
  EXPECT_EQ(bth(FrameBuilder(base).fragment(0)), 70u) << "an atomic fragment is whole (RFC 6946)";
  EXPECT_EQ(bth(FrameBuilder(base).extension(0).extension(60).extension(43, 1).fragment(0)), 102u);
  FrameBuilder six = base;
  for (int i = 0; i < 6; i++)
    six.extension(60);
  EXPECT_EQ(bth(six), 110u);
  EXPECT_EQ(class_of(FrameBuilder(six).extension(60)), ROCE_CLASS_OTHER) << "a seventh";
  EXPECT_EQ(class_of(FrameBuilder(base).extension(51)), ROCE_CLASS_OTHER)
      << "authentication header";
  EXPECT_EQ(class_of(FrameBuilder(base).extension(59)), ROCE_CLASS_OTHER) << "no next header";
  EXPECT_EQ(class_of(FrameBuilder(base).extension(60).ip_proto(6)), ROCE_CLASS_OTHER);
}

// The atomic fragment's reserved bits (2:1 of the offset word) are not its offset.
TEST(Parse, Fragments) {
  EXPECT_EQ(class_of(FrameBuilder(0x04).ip_fragment(0x2000)), ROCE_CLASS_FRAGMENT) << "first";
  EXPECT_EQ(class_of(FrameBuilder(0x04).ip_fragment(0x2001)), ROCE_CLASS_FRAGMENT) << "middle";
  EXPECT_EQ(class_of(FrameBuilder(0x04).ip_fragment(0x0001)), ROCE_CLASS_FRAGMENT) << "last";
  EXPECT_EQ(class_of(FrameBuilder(0x04).ip_fragment(0x1fff)), ROCE_CLASS_FRAGMENT) << "last";
  EXPECT_EQ(class_of(FrameBuilder(0x04).ip_fragment(0x0000)), ROCE_CLASS_V2);
  EXPECT_EQ(class_of(FrameBuilder(0x04).ip_fragment(0x4000)), ROCE_CLASS_V2) << "DF";
  EXPECT_EQ(class_of(FrameBuilder(0x04).ip_fragment(0x8000)), ROCE_CLASS_V2) << "reserved bit";
  EXPECT_EQ(class_of(FrameBuilder(0x04).ip_fragment(0x2000).ip_proto(6)), ROCE_CLASS_OTHER);

  EXPECT_EQ(class_of(FrameBuilder(0x04).ipv6().fragment(0x0001)), ROCE_CLASS_FRAGMENT) << "first";
  EXPECT_EQ(class_of(FrameBuilder(0x04).ipv6().fragment(0x0009)), ROCE_CLASS_FRAGMENT) << "middle";
  EXPECT_EQ(class_of(FrameBuilder(0x04).ipv6().fragment(0x0008)), ROCE_CLASS_FRAGMENT) << "last";
  EXPECT_EQ(class_of(FrameBuilder(0x04).ipv6().fragment(0xfff8)), ROCE_CLASS_FRAGMENT) << "last";
  EXPECT_EQ(class_of(FrameBuilder(0x04).ipv6().fragment(0x0006)), ROCE_CLASS_V2) << "reserved";
  EXPECT_EQ(class_of(FrameBuilder(0x04).ipv6().extension(0).fragment(1)), ROCE_CLASS_FRAGMENT);
  EXPECT_EQ(class_of(FrameBuilder(0x04).ipv6().fragment(1).ip_proto(6)), ROCE_CLASS_OTHER);
  EXPECT_EQ(class_of(FrameBuilder(0x04).ipv6().fragment(0).ip_proto(6)), ROCE_CLASS_OTHER);
  EXPECT_EQ(class_of(FrameBuilder(0x04).port(53).ip_fragment(0x2000)), ROCE_CLASS_FRAGMENT)
      << "a fragment of any UDP packet: only the first has a port";
}

Frame mac_control(const char *opcode_and_more) {
  Frame frame;
  frame.bytes = from_hex(std::string("0180c20000010200000000018808") + opcode_and_more);
  frame.bytes.resize(60);
  frame.length = 60;
  return frame;
}

TEST(Parse, PauseAndPfc) {
  EXPECT_EQ(parse(mac_control("0001ffff")).class_, ROCE_CLASS_PFC);
  EXPECT_EQ(parse(mac_control("01010008000000000000ffff")).class_, ROCE_CLASS_PFC);
  EXPECT_EQ(parse(mac_control("0002")).class_, ROCE_CLASS_OTHER) << "EPON GATE";
  EXPECT_EQ(parse(mac_control("0100")).class_, ROCE_CLASS_OTHER);
  Frame cut = mac_control("0101");
  cut.bytes.resize(15);
  EXPECT_EQ(parse(cut).class_, ROCE_CLASS_OTHER);
  EXPECT_EQ(parse(cut).packet.cut, 1);
}

TEST(Parse, MappedAddressesAreAnIpv4Key) {
  const roce_key want = parse(FrameBuilder(0x04).build()).packet.key;
  for (const FrameBuilder &b :
       {FrameBuilder(0x04).v1().mapped(), FrameBuilder(0x04).ipv6().mapped()}) {
    const roce_key got = parse(b.build()).packet.key;
    EXPECT_EQ(got.qp_kind & ~ROCE_KEY_V1, want.qp_kind);
    EXPECT_EQ(got.src[3], want.src[3]);
    EXPECT_EQ(got.dst[3], want.dst[3]);
  }
  // One mapped address alone, or mapped but for one word, is none.
  for (uint32_t at : {22u, 26u, 30u, 32u, 38u, 42u, 46u, 48u}) {
    Frame frame = FrameBuilder(0x04).v1().mapped().build();
    frame.bytes[at] ^= 1;
    EXPECT_EQ(parse(frame).packet.key.qp_kind & ROCE_KEY_IPV4, 0u) << "byte " << at;
  }
}

// The real frames of tests/data/vectors.txt, and their fields as tshark reads them.
struct Vector {
  const char *name;
  roce_class class_;
  uint8_t opcode;
  uint32_t qp, psn, payload;
  uint8_t pad, ecn, syndrome;
  uint32_t dma_len;
};
const Vector kVectors[] = {
    {"V1", ROCE_CLASS_V2, 0x24, 0xd3, 0xcf1710, 18, 2, 1, 0, 0},
    {"V2", ROCE_CLASS_V2, 0x81, 0x118, 0, 16, 0, 2, 0, 0},
    {"V3", ROCE_CLASS_V1, 0x0a, 0x10a, 0xa788bc, 5, 3, 0, 0, 0},
    {"V4", ROCE_CLASS_V1, 0x11, 0x109, 0xa788c0, 0, 0, 0, 0, 0},
    {"V5", ROCE_CLASS_V2, 0x24, 0xd3, 0xcf1710, 18, 2, 2, 0, 0},
    {"V6", ROCE_CLASS_V2, 0x0c, 0x11, 0x54cb63, 0, 0, 0, 0, 65536},
    {"V7", ROCE_CLASS_V2, 0x11, 0x45, 0, 0, 0, 2, 6, 0},
    {"V8", ROCE_CLASS_V2, 0x05, 0x48, 0, 141, 3, 2, 0, 0},
    {"V9", ROCE_CLASS_V2, 0x05, 0x45, 0x42, 4, 0, 2, 0, 0},
    {"V10", ROCE_CLASS_V2, 0x11, 0x48, 0x42, 0, 0, 2, 5, 0},
};

TEST(Parse, RealFrames) {
  std::ifstream file(XR_TEST_DATA "/vectors.txt");
  std::map<std::string, std::string> hex;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("V"))
      hex[line.substr(0, line.find(' '))] = line.substr(line.find(' ') + 1);
  for (const Vector &v : kVectors) {
    SCOPED_TRACE(v.name);
    Frame frame;
    frame.bytes = from_hex(hex[v.name]);
    ASSERT_FALSE(frame.bytes.empty());
    frame.length = static_cast<uint32_t>(frame.bytes.size());
    const Parsed got = parse(frame);
    EXPECT_EQ(got.class_, v.class_);
    EXPECT_EQ(got.packet.opcode, v.opcode);
    EXPECT_EQ(roce_key_qp(&got.packet.key), v.qp);
    EXPECT_EQ(got.packet.psn, v.psn);
    EXPECT_EQ(got.packet.payload, v.payload);
    EXPECT_EQ(got.packet.pad, v.pad);
    EXPECT_EQ(got.packet.ecn, v.ecn);
    EXPECT_EQ(got.packet.syndrome, v.syndrome);
    EXPECT_EQ(got.packet.dma_len, v.dma_len);
    EXPECT_EQ(got.packet.end, frame.length);
  }
}

} // namespace
} // namespace xr::test::parse_test
