// SPDX-License-Identifier: Apache-2.0
// Captures that are valid, cut at each byte, or wrong in each field: all whole frames are returned,
// then the correct result, without crash or hang.
#include <random>

#include <gtest/gtest.h>

#include "drain.h"

namespace xr::test::reader_test {
namespace {

// ---- what is right

TEST(Reader, PcapOfEitherByteOrderAndClock) {
  for (bool big : {false, true})
    for (bool nano : {false, true}) {
      const auto got = read(PcapWriter(big, 1, nano ? 0xa1b23c4d : 0xa1b2c3d4)
                                .packet(data(60), 1700000000, 123456)
                                .packet(data(0))
                                .packet(data(100), 0xffffffff, 999999, 9000));
      ASSERT_EQ(got.frames.size(), 3u);
      EXPECT_EQ(got.last, Next::End);
      const uint64_t unit = nano ? 1 : 1000;
      EXPECT_EQ(got.frames[0],
                (Got{data(60), 60, 1700000000000000000u + 123456 * unit, Link::Ethernet}));
      EXPECT_EQ(got.frames[1], (Got{{}, 0, 0, Link::Ethernet}));
      EXPECT_EQ(got.frames[2],
                (Got{data(100), 9000, 0xffffffffull * 1000000000 + 999999 * unit, Link::Ethernet}));
    }
}

TEST(Reader, PcapngOfEitherByteOrder) {
  for (bool big : {false, true}) {
    const auto got = read(PcapngWriter(big)
                              .interface()
                              .packet(data(60), 1700000000123456)
                              .packet(data(61), 5, 0, 9000)
                              .simple_packet(data(62), 62)
                              .old_packet(data(63), 7));
    ASSERT_EQ(got.frames.size(), 4u) << got.error;
    EXPECT_EQ(got.last, Next::End);
    EXPECT_EQ(got.frames[0], (Got{data(60), 60, 1700000000123456000u, Link::Ethernet}));
    EXPECT_EQ(got.frames[1], (Got{data(61), 9000, 5000, Link::Ethernet}));
    EXPECT_EQ(got.frames[2], (Got{data(62), 62, 0, Link::Ethernet}));
    EXPECT_EQ(got.frames[3], (Got{data(63), 63, 7000, Link::Ethernet}));
  }
}

TEST(Reader, PcapngUnitsOfTime) {
  const struct {
    uint8_t resolution;
    uint64_t units, ns;
  } cases[] = {{6, 1, 1000},
               {9, 1700000000123456789, 1700000000123456789},
               {3, 2, 2000000},
               {0, 1700000000, 1700000000000000000},
               {12, 5000, 5},
               {19, 10000000000, 1},
               {0x80, 3, 3000000000},
               {0x80 | 1, 3, 1500000000},
               {0x80 | 32, 1ull << 33, 2000000000},
               {0x80 | 63, 1ull << 63, 1000000000}};
  for (const auto &c : cases) {
    const auto got =
        read(PcapngWriter().interface(1, 0, {{9, {c.resolution}}}).packet(data(1), c.units));
    ASSERT_EQ(got.frames.size(), 1u);
    EXPECT_EQ(got.frames[0].time_ns, c.ns) << "resolution " << int{c.resolution};
  }
  for (uint8_t resolution : {20, 127, 0x80 | 64, 0xff})
    EXPECT_EQ(read(PcapngWriter().interface(1, 0, {{9, {resolution}}}).packet(data(1))).last,
              Next::Error);
  const auto offset = PcapngWriter().number().u64(100).bytes;
  EXPECT_EQ(
      read(PcapngWriter().interface(1, 0, {{14, offset}}).packet(data(1), 1)).frames.at(0).time_ns,
      100000001000u);
}

TEST(Reader, PcapngInterfacesAndSections) {
  PcapngWriter file;
  file.interface(1).interface(113).interface(276).interface(147); // the last is never used
  file.packet(data(20), 0, 1).packet(data(21), 0, 0).packet(data(22), 0, 2);
  file.section(true).interface(101).packet(data(23), 0, 0);
  const auto got = read(file);
  ASSERT_EQ(got.frames.size(), 4u) << got.error;
  EXPECT_EQ(got.frames[0].link, Link::Sll);
  EXPECT_EQ(got.frames[1].link, Link::Ethernet);
  EXPECT_EQ(got.frames[2].link, Link::Sll2);
  EXPECT_EQ(got.frames[3].link, Link::Raw);
  // a section forgets the interfaces of the one before
  const auto none = read(PcapngWriter().interface().section(false).packet(data(1)));
  EXPECT_EQ(none.last, Next::Error);
  EXPECT_NE(none.error.find("interface 0"), std::string::npos) << none.error;
}

TEST(Reader, PcapngSkipsOtherBlocks) {
  PcapngWriter file;
  file.interface().packet(data(60));
  for (uint32_t type : {4u, 5u, 10u, 0xbadu, 0x40000badu, 0x80000000u})
    file.block(type, Writer().raw(data(type == 5 ? 100000 : 16)));
  file.packet(data(61));
  EXPECT_EQ(read(file).frames.size(), 2u);
  EXPECT_EQ(read(file, 100).frames.size(), 2u);
}

TEST(Reader, SimplePacketsAreCutAtTheSnapLength) {
  const auto got = read(PcapngWriter().interface(1, 50).simple_packet(data(50), 1000));
  ASSERT_EQ(got.frames.size(), 1u);
  EXPECT_EQ(got.frames[0], (Got{data(50), 1000, 0, Link::Ethernet}));
}

TEST(Reader, LinkTypes) {
  const std::pair<uint16_t, Link> known[] = {
      {1, Link::Ethernet}, {101, Link::Raw},  {113, Link::Sll}, {228, Link::Raw},
      {229, Link::Raw},    {276, Link::Sll2}, {12, Link::Raw},  {14, Link::Raw}};
  for (const auto &[linktype, link] : known) {
    EXPECT_EQ(read(PcapWriter(false, linktype).packet(data(60))).frames.at(0).link, link);
    EXPECT_EQ(read(PcapngWriter().interface(linktype).packet(data(60))).frames.at(0).link, link);
  }
  const std::pair<uint32_t, const char *> unknown[] = {
      {105, "105 (IEEE802_11)"}, {247, "247 (INFINIBAND)"}, {0x3ffffff, "67108863 (unknown)"}};
  for (const auto &[linktype, name] : unknown) {
    const auto got = read(PcapWriter(false, linktype).packet(data(60)));
    EXPECT_FALSE(got.opened);
    EXPECT_NE(got.error.find(name), std::string::npos) << got.error;
  }
  const auto got =
      read(PcapngWriter().interface(1).interface(247).packet(data(60)).packet(data(60), 0, 1));
  EXPECT_EQ(got.frames.size(), 1u);
  EXPECT_EQ(got.last, Next::Error);
  EXPECT_NE(got.error.find("247 (INFINIBAND)"), std::string::npos) << got.error;
}

TEST(Reader, FcsIsNotPartOfTheFrame) {
  // pcap: bit 26 says that there is one, bits 28 to 31 its length in units of two bytes
  const auto whole = read(PcapWriter(false, 0x24000001).packet(data(64)));
  EXPECT_EQ(whole.frames.at(0), (Got{data(60), 60, 0, Link::Ethernet}));
  // cut before the FCS, inside of it, and shorter than one
  EXPECT_EQ(read(PcapWriter(false, 0x24000001).packet(data(40), 0, 0, 64)).frames.at(0),
            (Got{data(40), 60, 0, Link::Ethernet}));
  EXPECT_EQ(read(PcapWriter(false, 0x24000001).packet(data(62), 0, 0, 64)).frames.at(0),
            (Got{data(60), 60, 0, Link::Ethernet}));
  EXPECT_EQ(read(PcapWriter(false, 0x24000001).packet(data(2))).frames.at(0),
            (Got{{}, 0, 0, Link::Ethernet}));
  // pcapng: the interface's option, in bytes or bits, and the packet's flags over it
  for (uint8_t value : {4, 32})
    EXPECT_EQ(read(PcapngWriter().interface(1, 0, {{13, {value}}}).packet(data(64))).frames.at(0),
              (Got{data(60), 60, 0, Link::Ethernet}));
  const auto flags = [](uint32_t v) { return Writer().u32(v).bytes; };
  PcapngWriter file;
  file.interface().interface(1, 0, {{13, {4}}});
  file.packet(data(64), 0, 0, -1, {{1, data(5)}, {2, flags(4 << 5)}});
  file.packet(data(64), 0, 1, -1, {{2, flags(2 << 5)}});
  file.packet(data(64), 0, 1, -1, {{2, flags(1)}});
  const auto got = read(file);
  ASSERT_EQ(got.frames.size(), 3u);
  EXPECT_EQ(got.frames[0].data.size(), 60u);
  EXPECT_EQ(got.frames[1].data.size(), 62u);
  EXPECT_EQ(got.frames[2].data.size(), 60u);
}

TEST(Reader, LengthOnTheWireIsNeverBelowTheCaptured) {
  EXPECT_EQ(read(PcapWriter().packet(data(60), 0, 0, 10)).frames.at(0).length, 60u);
  EXPECT_EQ(read(PcapngWriter().interface().packet(data(60), 0, 0, 0)).frames.at(0).length, 60u);
}

TEST(Reader, SnapLengthOfTheHeaderIsIgnored) {
  for (uint32_t snap : {0u, 1u, 0x7fffffffu, 0xffffffffu})
    EXPECT_EQ(read(PcapWriter(false, 1, 0xa1b2c3d4, snap).packet(data(60))).frames.size(), 1u)
        << snap;
}

TEST(Reader, OldAndPatchedPcapsGoThroughLibpcap) {
  // 2.3 has the two lengths the other way round when that makes sense
  PcapWriter old(false, 1, 0xa1b2c3d4, 65535, 3);
  old.u32(1).u32(2).u32(100).u32(60).raw(data(60));
  auto got = read(old);
  ASSERT_EQ(got.frames.size(), 1u) << got.error;
  EXPECT_EQ(got.frames[0], (Got{data(60), 100, 1000002000, Link::Ethernet}));
  // Kuznetzov's has eight bytes more
  PcapWriter patched(false, 1, 0xa1b2cd34);
  patched.u32(1).u32(2).u32(60).u32(100).u32(3).u16(0x800).u8(0).u8(0).raw(data(60));
  const FileBytes one = patched.bytes;
  got = read(one);
  ASSERT_EQ(got.frames.size(), 1u) << got.error;
  EXPECT_EQ(got.frames[0], (Got{data(60), 100, 1000002000, Link::Ethernet}));
  for (size_t cut = 25; cut < one.size(); cut++) {
    got = read(FileBytes(one.begin(), one.begin() + static_cast<ptrdiff_t>(cut)));
    EXPECT_EQ(got.frames.size(), 0u);
    EXPECT_EQ(got.last, Next::Truncated) << cut << " " << got.error;
  }
  EXPECT_EQ(read(gzip(one)).frames.size(), 1u);
}

// ---- gzip

TEST(Reader, Gzip) {
  for (const FileBytes &plain : {three_packets(), three_blocks()}) {
    const auto expected = read(plain);
    ASSERT_EQ(expected.frames.size(), 3u);
    for (size_t chunk : {1, 2, 3, 17, 1000, 100000})
      EXPECT_EQ(read(gzip(plain), chunk).frames, expected.frames) << chunk;
    // several members, padding, and data after a member that is no gzip
    const auto half = static_cast<ptrdiff_t>(plain.size() / 2);
    const FileBytes first = gzip({plain.begin(), plain.begin() + half});
    const FileBytes second = gzip({plain.begin() + half, plain.end()});
    for (size_t chunk : {1, 64, 100000}) {
      EXPECT_EQ(read(Writer().raw(first).raw(second), chunk).frames, expected.frames);
      const auto padded = read(Writer().raw(first).raw(second).raw(FileBytes(512, 0)), chunk);
      EXPECT_EQ(padded.frames, expected.frames);
      EXPECT_EQ(padded.last, Next::End);
    }
  }
}

TEST(Reader, GzipCutAtEachByte) {
  const FileBytes plain = three_packets(), packed = gzip(plain);
  for (size_t cut = 2; cut < packed.size(); cut++) {
    const auto got = read(FileBytes(packed.begin(), packed.begin() + static_cast<ptrdiff_t>(cut)));
    EXPECT_LE(got.frames.size(), 3u);
    EXPECT_TRUE(!got.opened || got.last == Next::Truncated) << cut;
    EXPECT_NE(got.error.find("gzip"), std::string::npos) << got.error;
  }
}

TEST(Reader, GzipDamaged) {
  const FileBytes packed = gzip(three_packets());
  for (size_t at = 2; at < packed.size(); at++) {
    FileBytes bytes = packed;
    bytes[at] ^= 0xff;
    const auto got = read(bytes); // header fields such as the time may change unseen
    EXPECT_TRUE(got.last == Next::End ? got.error.empty() : !got.error.empty()) << at;
  }
}

// ---- what is cut

void cut_everywhere(const FileBytes &whole, size_t header, const std::vector<size_t> &ends) {
  for (size_t cut = 0; cut < whole.size(); cut++) {
    const FileBytes bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(cut));
    size_t frames = 0;
    bool boundary = cut == header;
    for (size_t end : ends) {
      frames += cut >= end;
      boundary |= cut == end;
    }
    for (size_t chunk : {1, 7, 4096}) {
      const auto got = read(bytes, chunk);
      ASSERT_EQ(got.frames.size(), frames) << "cut at " << cut;
      if (cut < header)
        EXPECT_TRUE(!got.opened || got.last == Next::Truncated || got.last == Next::End) << cut;
      else
        EXPECT_EQ(got.last, boundary ? Next::End : Next::Truncated) << "cut at " << cut;
      EXPECT_EQ(got.error.empty(), got.opened && got.last == Next::End) << got.error;
    }
  }
}

TEST(Reader, PcapCutAtEachByte) {
  cut_everywhere(three_packets(), 24, {24 + 76, 24 + 76 + 77, 24 + 76 + 77 + 78});
}

TEST(Reader, PcapngCutAtEachByte) {
  const size_t header = 28 + 20, first = header + 32 + 60, second = first + 32 + 64;
  const FileBytes whole = three_blocks();
  // between the section's header and the interface: an end too
  EXPECT_EQ(read(FileBytes(whole.begin(), whole.begin() + 28)).last, Next::End);
  cut_everywhere(whole, header, {first, second, whole.size()});
}

// ---- what is wrong

TEST(Reader, NotACapture) {
  const std::pair<FileBytes, const char *> files[] = {
      {{}, "empty"},
      {{0xd4}, "too short"},
      {{0xd4, 0xc3, 0xb2}, "too short"},
      {{'n', 'o', 'n', 'e', ' ', 'a', 't', ' ', 'a', 'l', 'l'}, "begins with 6e 6f 6e 65"},
      {FileBytes(4096, 0), "begins with 00 00 00 00"},
      {{0x28, 0xb5, 0x2f, 0xfd, 0, 0, 0, 0}, "zstd"},
      {{0xfd, '7', 'z', 'X', 'Z', 0}, "xz"},
      {{0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 1, 2, 3, 4, 0, 0}, "byte-order magic"},
      {PcapWriter(false, 1, 0xa1b2c3d4, 65535, 99).packet(data(4)).bytes, ""},
  };
  for (const auto &[bytes, text] : files)
    for (const FileBytes &file : {bytes, bytes.empty() ? bytes : gzip(bytes)}) {
      const auto got = read(file);
      if (!*text)
        continue; // whatever libpcap says of it, without a crash
      EXPECT_FALSE(got.opened);
      EXPECT_NE(got.error.find(text), std::string::npos) << got.error;
    }
}

TEST(Reader, InvalidPcapRecords) {
  for (uint32_t captured : {262145u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
    PcapWriter file;
    file.packet(data(60)).u32(0).u32(0).u32(captured).u32(captured).raw(data(100));
    const auto got = read(file);
    EXPECT_EQ(got.frames.size(), 1u);
    EXPECT_EQ(got.last, Next::Error);
    EXPECT_NE(got.error.find("packet 2 claims " + std::to_string(captured)), std::string::npos)
        << got.error;
  }
  // the longest that may be
  const auto got = read(PcapWriter().packet(FileBytes(262144)).packet(data(1)), 1000);
  EXPECT_EQ(got.frames.size(), 2u) << got.error;
}

TEST(Reader, InvalidPcapngBlocks) {
  const auto tail = [](uint32_t type, uint32_t total, const FileBytes &body, uint32_t again) {
    PcapngWriter file;
    file.interface().packet(data(60));
    file.u32(type).u32(total).raw(body).u32(again);
    file.packet(data(61));
    return read(file);
  };
  for (uint32_t type : {0x0a0d0d0au, 1u, 2u, 3u, 6u, 0xbadu})
    for (uint32_t total :
         {0u, 1u, 8u, 11u, 13u, 14u, 15u, 0x1000004u, 0x7ffffffcu, 0xffffffffu, 0xfffffffcu}) {
      const auto got = tail(type, total, data(40), total);
      EXPECT_EQ(got.frames.size(), 1u);
      EXPECT_EQ(got.last, Next::Error) << type << " " << total;
      EXPECT_FALSE(got.error.empty());
    }
  EXPECT_EQ(tail(6, 52, data(40), 56).last, Next::Error); // the lengths differ
  for (uint32_t type : {1u, 2u, 3u, 6u})                  // too short for what they are
    EXPECT_EQ(tail(type, 12, {}, 12).last, Next::Error) << type;
  for (uint32_t captured : {9u, 100u, 0x80000000u, 0xffffffffu, 0xfffffffdu}) {
    const FileBytes body =
        Writer().u32(0).u32(0).u32(0).u32(captured).u32(captured).raw(data(8)).bytes;
    for (uint32_t type : {2u, 6u})
      EXPECT_EQ(tail(type, 40, body, 40).last, Next::Error) << captured;
  }
  EXPECT_EQ(read(PcapngWriter().section(false, 2)).last, Next::Error);
  EXPECT_EQ(read(PcapngWriter().packet(data(1))).last, Next::Error);
  EXPECT_EQ(read(PcapngWriter().simple_packet(data(1), 1)).last, Next::Error);
}

TEST(Reader, OversizedOptionEndsTheOptions) {
  for (uint16_t size : {5, 0xfffc, 0xffff}) {
    Writer body;
    body.u16(1).u16(0).u32(0).u16(9).u16(size).u32(6);
    const auto got = read(PcapngWriter().block(1, body).packet(data(60), 1));
    ASSERT_EQ(got.frames.size(), 1u);
    EXPECT_EQ(got.frames[0].time_ns, 1000u);
  }
}

// Every field of every byte set wrong, and then at random.
TEST(Reader, DamageNeverCrashes) {
  std::mt19937 random(1);
  for (const FileBytes &whole : {three_packets(), three_blocks(), gzip(three_packets())}) {
    for (size_t at = 0; at < whole.size(); at++)
      for (uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
        FileBytes bytes = whole;
        bytes[at] = value;
        EXPECT_LE(read(bytes).frames.size(), three_packets().size() / 16);
      }
    for (int i = 0; i < 3000; i++) {
      FileBytes bytes = whole;
      for (int k = 0; k < 4; k++)
        bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
      EXPECT_EQ(read(bytes, 1 + random() % 100).frames, read(bytes).frames);
    }
  }
}

} // namespace
} // namespace xr::test::reader_test
