// SPDX-License-Identifier: Apache-2.0
// Rule actions: the bytes that each changes, and that all checksums are correct afterwards.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "impair/action_table.h"
#include "impair_port.h"
#include "statistics.h"

namespace xr::test::act_test {
namespace {

struct Sample {
  std::string name;
  Bytes bytes;
  Parsed parsed;

  const roce_packet &p() const { return parsed.packet; }
  bool v2() const { return parsed.class_ == ROCE_CLASS_V2; }
  bool ipv4() const { return v2() && bytes[p().l3] >> 4 == 4; }
};

enum class Net { V4, V4Options, V6, V6Extensions, V6Mapped, V1, V1Mapped };
constexpr Net kNets[] = {Net::V4,       Net::V4Options, Net::V6,      Net::V6Extensions,
                         Net::V6Mapped, Net::V1,        Net::V1Mapped};

FrameBuilder &over(FrameBuilder &frame, Net net) {
  switch (net) {
  case Net::V4:
    return frame.ipv4();
  case Net::V4Options:
    return frame.ipv4().ip_options(3);
  case Net::V6:
    return frame.ipv6();
  case Net::V6Extensions:
    return frame.ipv6().extension(ROCE_IPPROTO_HOPOPTS, 1).extension(ROCE_IPPROTO_DSTOPTS);
  case Net::V6Mapped:
    return frame.ipv6().mapped();
  case Net::V1:
    return frame.v1();
  case Net::V1Mapped:
    return frame.v1().mapped();
  }
  return frame;
}

Sample sample(FrameBuilder frame, Net net, int tags, bool udp_checksum) {
  if (tags == 2)
    frame.vlan(ROCE_ETHERTYPE_QINQ);
  if (tags)
    frame.vlan(ROCE_ETHERTYPE_VLAN);
  Sample s;
  s.bytes = finished(over(frame, net).build(), udp_checksum);
  s.parsed = parsed(s.bytes);
  s.name = fmt::format("net {} tags {} udp {} opcode {:#x}", static_cast<int>(net), tags,
                       udp_checksum, s.p().opcode);
  return s;
}

// A frame in all the ways that it may travel.
std::vector<Sample> in_all_ways(const FrameBuilder &frame) {
  std::vector<Sample> all;
  for (const Net net : kNets)
    for (const int tags : {0, 1, 2})
      for (const bool udp_checksum : {false, true})
        all.push_back(sample(frame, net, tags, udp_checksum));
  return all;
}

std::vector<Sample> many() {
  std::vector<Sample> all;
  for (const FrameBuilder &frame :
       {FrameBuilder(0x04).payload(61).pad(3).psn(7), FrameBuilder(0x06).payload(256),
        FrameBuilder(0x0c).dma_len(5000), FrameBuilder(0x11).trailer(2),
        FrameBuilder(0xab).payload(2).pad(2), FrameBuilder(0x64).payload(100),
        FrameBuilder(0x81).payload(16).trailer(5), FrameBuilder(0x04),
        FrameBuilder(0xd0).payload(9)})
    for (Sample &s : in_all_ways(frame))
      all.push_back(std::move(s));
  return all;
}

// The flaws of a frame whose headers have not moved.
std::set<std::string> flaws(const Bytes &bytes, const Sample &of) {
  std::set<std::string> found;
  const roce_packet &p = of.p();
  if (icrc_check(bytes.data(), static_cast<uint32_t>(bytes.size()), p) != Icrc::Good)
    found.insert("icrc");
  if (!of.v2())
    return found;
  const uint8_t *ip = bytes.data() + p.l3, *udp = bytes.data() + p.bth - ROCE_UDP_LEN;
  if (of.ipv4() && ones_sum(ip, (ip[0] & 15) * 4U) != 0xffff)
    found.insert("ip");
  const uint8_t *udp_before = of.bytes.data() + p.bth - ROCE_UDP_LEN;
  const bool used = udp_before[6] | udp_before[7];
  if (used && udp_sum(bytes, p) != 0xffff)
    found.insert("udp");
  if (used != ((udp[6] | udp[7]) != 0))
    found.insert("udp checksum in use or not");
  return found;
}

using Flaws = std::set<std::string>;

// Bytes that only follow from others.
Bytes without_checksums(Bytes bytes, const Sample &of) {
  if (!of.v2())
    return bytes;
  if (of.ipv4())
    store16(bytes.data() + of.p().l3 + 10, 0);
  store16(bytes.data() + of.p().bth - 2, 0);
  return bytes;
}

// Fields among the others that changed.
std::vector<size_t> edits(const Sample &before, const Bytes &after) {
  return changed_bytes(without_checksums(before.bytes, before), without_checksums(after, before));
}

TEST(Act, SamplesAreRight) {
  for (const Sample &s : many()) {
    EXPECT_TRUE(s.v2() || s.parsed.class_ == ROCE_CLASS_V1) << s.name;
    EXPECT_EQ(flaws(s.bytes, s), Flaws{}) << s.name;
  }
}

// Words of each row of the table of actions, in its order: the counter that the table names counts.
TEST(Act, TheTableNamesTheCounters) {
  const std::vector<std::string> words = {"drop",
                                          "ce force",
                                          "red 0 1 1 rate 1gbit force",
                                          "corrupt icrc",
                                          "corrupt payload",
                                          "corrupt header psn",
                                          "corrupt bit",
                                          "corrupt ip-checksum",
                                          "corrupt udp-checksum",
                                          "set dscp 3",
                                          "set ecn ce",
                                          "set fecn 1",
                                          "set becn 1",
                                          "police 1mbit burst 64",
                                          "cnp drop",
                                          "duplicate",
                                          "delay 1ms",
                                          "accumulate 4",
                                          "reorder depth 1",
                                          "shape 1mbit burst 64 queue 1k"};
  ASSERT_EQ(words.size(), impair::actions().size());
  for (size_t i = 0; i < words.size(); i++) {
    const impair::Action &action = impair::actions()[i];
    SCOPED_TRACE(words[i]);
    ASSERT_TRUE(words[i].starts_with(action.word));
    auto rule = impair::parse({words[i] + " seed 1"});
    ASSERT_TRUE(rule.ok()) << rule.error().message;
    EXPECT_TRUE(rule->compiled.action.act & action.bit);
    if (!action.counter || action.streams) // a CNP needs a stream: cnp_test.cpp
      continue;
    Port port({"roce " + words[i] + " seed 1"});
    uint64_t packets = 0;
    for (const Sample &s : many()) {
      if (!s.v2())
        continue;
      Bytes bytes = s.bytes;
      port.impair(bytes);
      packets++;
    }
    EXPECT_GT(port.totals().*action.counter, 0U);
    EXPECT_EQ(port.totals().*action.counter, port.acted());
    EXPECT_LE(port.acted(), packets);
  }
}

// Whatever is not meant to corrupt leaves every checksum right.
TEST(Act, EveryActionMendsChecksums) {
  for (const char *action :
       {"ce", "ce force", "set dscp 46", "set dscp 0", "set ecn ect1", "set ecn not-ect",
        "set fecn 1", "set fecn 0", "set becn 1", "set fecn 1 set becn 1 set dscp 63 set ecn ce",
        "red 0 1 1 rate 1gbit force", "police 1mbit burst 64 excess ce", "duplicate",
        "corrupt icrc", "corrupt payload", "corrupt header pkey", "corrupt bit",
        "corrupt icrc set dscp 46 set fecn 1"}) {
    const std::string words = action;
    const bool corrupts = words.find("corrupt") != std::string::npos;
    for (const Sample &s : many()) {
      Port port({words});
      for (int i = 0; i < 5; i++) {
        Bytes bytes = s.bytes;
        const uint64_t before = port.acted();
        const Fate fate = port.impair(bytes);
        const bool acted = port.acted() != before;
        EXPECT_EQ(fate, words == "duplicate" ? Fate::Twice : Fate::GoOn);
        const auto places = edits(s, bytes);
        // the iCRC does not cover byte 4 of the BTH
        const size_t spared = s.p().bth + 4;
        const bool seen = std::any_of(places.begin(), places.end(),
                                      [spared](size_t place) { return place != spared; });
        const Flaws wanted = corrupts && acted && seen ? Flaws{"icrc"} : Flaws{};
        EXPECT_EQ(flaws(bytes, s), wanted) << words << ", " << s.name;
        if (!acted) {
          EXPECT_EQ(bytes, s.bytes) << words << ", " << s.name;
        }
      }
      EXPECT_EQ(port.matched(), 5U);
    }
  }
}

TEST(Act, CeMarksWhatIsEcnCapable) {
  for (const bool force : {false, true})
    for (uint8_t ecn = 0; ecn < 4; ecn++)
      for (const Sample &s : in_all_ways(FrameBuilder(0x04).payload(64).ecn(ecn))) {
        Port port({force ? "ce force" : "ce"});
        Bytes bytes = s.bytes;
        EXPECT_EQ(port.impair(bytes), Fate::GoOn);
        const bool marks = s.v2() && ecn != 3 && (ecn || force);
        EXPECT_EQ(port.acted(), marks) << s.name;
        EXPECT_EQ(port.totals().marked, marks);
        const Parsed after = parsed(bytes);
        EXPECT_EQ(after.packet.tos, marks ? s.p().tos | 3 : s.p().tos) << s.name;
        EXPECT_EQ(edits(s, bytes).size(), marks) << s.name;
      }
}

TEST(Act, SetsTosAndNothingElse) {
  for (const Sample &s : many()) {
    const auto with = [&s](const std::string &words, unsigned tos) {
      Port port({words});
      Bytes bytes = s.bytes;
      EXPECT_EQ(port.impair(bytes), Fate::GoOn);
      const unsigned wanted = s.v2() ? tos : s.p().tos;
      EXPECT_EQ(parsed(bytes).packet.tos, wanted) << words << ", " << s.name;
      const bool ipv6 = s.v2() && !s.ipv4(); // the traffic class is in two bytes
      const unsigned differ = wanted ^ s.p().tos;
      EXPECT_EQ(edits(s, bytes).size(),
                ipv6 ? (differ >> 4 != 0) + ((differ & 15) != 0) : differ != 0)
          << words << ", " << s.name;
      EXPECT_EQ(port.totals().rewritten, s.v2());
    };
    for (const unsigned dscp : {0U, 26U, 46U, 63U})
      with(fmt::format("set dscp {}", dscp), dscp << 2 | (s.p().tos & 3));
    for (const auto &[name, value] :
         {std::pair{"not-ect", 0U}, {"ect0", 2U}, {"ect1", 1U}, {"ce", 3U}})
      with(fmt::format("set ecn {}", name), (s.p().tos & 0xfc) | value);
    with("set dscp 10 set ecn ce", 10 << 2 | 3);
  }
}

TEST(Act, SetsFecnAndBecnAndNothingElse) {
  struct Case {
    const char *words;
    uint8_t set, clear;
  };
  for (const Case &c :
       {Case{"set fecn 1", 0x80, 0}, Case{"set fecn 0", 0, 0x80}, Case{"set becn 1", 0x40, 0},
        Case{"set becn 0", 0, 0x40}, Case{"set fecn 1 set becn 0", 0x80, 0x40}})
    for (Sample &s : many())
      for (const uint8_t bth4 : {0x00, 0x10, 0x40, 0x80, 0xff}) {
        Bytes changed = s.bytes;
        changed[s.p().bth + 4] = bth4;
        Sample before = s;
        before.bytes = changed;
        if (s.v2() && (s.bytes[s.p().bth - 2] | s.bytes[s.p().bth - 1])) {
          store16(before.bytes.data() + s.p().bth - 2, 0);
          const uint32_t sum = ~udp_sum(before.bytes, s.p()) & 0xffff;
          store16(before.bytes.data() + s.p().bth - 2, sum ? sum : 0xffff);
        }
        Port port({c.words});
        Bytes bytes = before.bytes;
        EXPECT_EQ(port.impair(bytes), Fate::GoOn);
        EXPECT_EQ(bytes[s.p().bth + 4], ((bth4 | c.set) & ~c.clear) & 0xff) << s.name;
        EXPECT_EQ(edits(before, bytes).size(), bytes[s.p().bth + 4] != bth4) << s.name;
        EXPECT_EQ(flaws(bytes, before), Flaws{}) << s.name;
      }
}

// The identification of IPv4 packets; else reserved bits after AckReq, which stays.
TEST(Act, CorruptIcrcChangesWhatNobodyElseLooksAt) {
  for (const Sample &s : many()) {
    Port port({"corrupt icrc"});
    Bytes bytes = s.bytes;
    EXPECT_EQ(port.impair(bytes), Fate::GoOn);
    EXPECT_EQ(port.totals().corrupted, 1U);
    const roce_packet &p = s.p();
    if (s.ipv4()) {
      for (const size_t at : {p.l3 + 4, p.l3 + 5})
        EXPECT_EQ(bytes[at], s.bytes[at] ^ 0xff) << s.name;
      EXPECT_EQ(edits(s, bytes).size(), 2U) << s.name;
      EXPECT_EQ(bytes[p.bth - 2], s.bytes[p.bth - 2]) << "UDP does not cover it";
    } else {
      EXPECT_EQ(edits(s, bytes), std::vector<size_t>{p.bth + 8}) << s.name;
      EXPECT_EQ((bytes[p.bth + 8] ^ s.bytes[p.bth + 8]) & 0x80, 0) << s.name;
    }
  }
}

// The only bit that differs, counted from `start`; -1 when it is not one.
int bit_from(const Sample &before, const Bytes &after, size_t start) {
  const auto places = edits(before, after);
  if (places.size() != 1)
    return -1;
  const unsigned differ = before.bytes[places[0]] ^ after[places[0]];
  if (differ & (differ - 1))
    return -1;
  return (static_cast<int>(places[0]) - static_cast<int>(start)) * 8 + std::countl_zero(differ) -
         24;
}

// The bit with that number, and no other; a packet without it stays as it was.
TEST(Act, CorruptBitNHitsBitN) {
  for (const uint32_t n : {0U, 7U, 8U, 63U, 95U, 127U, 400U, 2000U, 65535U})
    for (const Sample &s : many()) {
      Port port({fmt::format("corrupt bit {}", n)});
      for (int i = 0; i < 2; i++) {
        Bytes bytes = s.bytes;
        EXPECT_EQ(port.impair(bytes), Fate::GoOn);
        const bool has = n < (s.p().end - s.p().bth) * 8;
        EXPECT_EQ(bit_from(s, bytes, s.p().bth), has ? static_cast<int>(n) : -1) << s.name;
        if (!has) {
          EXPECT_EQ(bytes, s.bytes) << s.name;
        }
        EXPECT_EQ(flaws(bytes, s).count("udp") + flaws(bytes, s).count("ip"), 0U) << s.name;
      }
      EXPECT_EQ(port.matched(), 2U);
      EXPECT_EQ(port.acted(), n < (s.p().end - s.p().bth) * 8 ? 2U : 0U);
    }
}

// One checksum is wrong, whatever its value was, and it is in use; nothing else is wrong.
TEST(Act, CorruptChecksums) {
  struct Case {
    const char *words;
    bool udp;
  };
  for (const Case &c : {Case{"corrupt ip-checksum", false}, Case{"corrupt udp-checksum", true},
                        Case{"corrupt ip-checksum set dscp 3", false},
                        Case{"corrupt udp-checksum set becn 1", true}})
    for (const Sample &s : many()) {
      Port port({c.words});
      Bytes bytes = s.bytes;
      EXPECT_EQ(port.impair(bytes), Fate::GoOn);
      const bool has = c.udp ? s.v2() : s.ipv4();
      const bool plain = std::string(c.words).find("set") == std::string::npos;
      if (plain) {
        EXPECT_EQ(port.acted(), has ? 1U : 0U) << s.name;
      }
      Flaws wanted;
      const bool used = s.v2() && (s.bytes[s.p().bth - 2] | s.bytes[s.p().bth - 1]);
      if (has)
        wanted.insert(!c.udp ? "ip" : used ? "udp" : "udp checksum in use or not");
      EXPECT_EQ(flaws(bytes, s), wanted) << c.words << ", " << s.name;
      if (has && c.udp) {
        EXPECT_TRUE(bytes[s.p().bth - 2] | bytes[s.p().bth - 1]) << s.name;
        EXPECT_NE(udp_sum(bytes, s.p()), 0xffff) << s.name;
      }
      if (plain) {
        EXPECT_EQ(edits(s, bytes).size(), 0U) << s.name;
      }
    }
}

// Whatever the right one is: 0x00ff would become 0 when its low byte is inverted, 0 is 0xffff.
TEST(Act, CorruptedChecksumsAreWrongForEveryValue) {
  const Sample s = sample(FrameBuilder(0x04).payload(64), Net::V4, 0, true);
  Port port({"corrupt udp-checksum"}), ip({"corrupt ip-checksum"});
  for (uint32_t value = 0; value < 0x10000; value++) {
    Bytes bytes = s.bytes;
    store16(bytes.data() + s.p().bth - 2, static_cast<uint16_t>(value));
    store16(bytes.data() + s.p().l3 + 10, static_cast<uint16_t>(value));
    const Bytes before = bytes;
    for (auto [one, at] : {std::pair{&port, s.p().bth - 2}, {&ip, s.p().l3 + 10}}) {
      bytes = before;
      one->impair(bytes);
      const uint32_t now = bytes[at] << 8U | bytes[at + 1];
      EXPECT_NE(now, 0U) << value;
      EXPECT_NE(now % 0xffff, value % 0xffff) << value;
      bytes[at] = before[at];
      bytes[at + 1] = before[at + 1];
      ASSERT_EQ(bytes, before);
    }
  }
}

TEST(Act, CorruptPayloadHitsThePayload) {
  for (const Sample &s : many()) {
    Port port({"corrupt payload"});
    const size_t start = s.p().end - ROCE_ICRC_LEN - s.p().pad - s.p().payload;
    for (int i = 0; i < 40; i++) {
      Bytes bytes = s.bytes;
      port.impair(bytes);
      if (!s.p().payload) {
        EXPECT_EQ(bytes, s.bytes);
        continue;
      }
      const int bit = bit_from(s, bytes, start);
      EXPECT_GE(bit, 0) << s.name;
      EXPECT_LT(bit, static_cast<int>(s.p().payload) * 8) << s.name;
    }
    EXPECT_EQ(port.acted(), s.p().payload ? 40U : 0U) << s.name;
  }
}

TEST(Act, CorruptBitHitsEveryBitBehindUdp) {
  for (const Sample &s : many()) {
    Port port({"corrupt bit"});
    for (int i = 0; i < 40; i++) {
      Bytes bytes = s.bytes;
      port.impair(bytes);
      const int bit = bit_from(s, bytes, s.p().bth);
      EXPECT_GE(bit, 0) << s.name;
      EXPECT_LT(bit, static_cast<int>(s.p().end - s.p().bth) * 8) << s.name;
    }
  }
  const Sample s = sample(FrameBuilder(0x04).payload(64), Net::V4, 0, true);
  expect_usual("corrupt bit", [&s](uint64_t seed) {
    Port port({fmt::format("corrupt bit seed {}", seed)});
    std::vector<uint64_t> bins((s.p().end - s.p().bth) * 8);
    for (int i = 0; i < 200'000; i++) {
      Bytes bytes = s.bytes;
      port.impair(bytes);
      bins.at(static_cast<size_t>(bit_from(s, bytes, s.p().bth)))++;
    }
    return z_of_equal_bins(bins);
  });
}

// Frames that are no RoCE keep their addresses, and what may be an IP header.
TEST(Act, CorruptBitOfOtherFrames) {
  Bytes frame(200, 0x55);
  Port port({"corrupt bit"}), others({"corrupt icrc", "corrupt payload", "corrupt header psn"});
  for (int i = 0; i < 1000; i++) {
    Bytes bytes = frame;
    EXPECT_EQ(port.impair(bytes), Fate::GoOn);
    const auto places = changed_bytes(frame, bytes);
    ASSERT_EQ(places.size(), 1U);
    EXPECT_GE(places[0], 54U);
  }
  Bytes bytes = frame;
  others.impair(bytes);
  EXPECT_EQ(bytes, frame);
  Bytes tiny(54, 0x55);
  const Bytes before = tiny;
  port.impair(tiny);
  EXPECT_EQ(tiny, before);
}

struct Field {
  const char *name;
  uint32_t header; // roce_opcode_bits; 0: BTH
  size_t first_bit, bits;
};

constexpr Field kFields[] = {
    {"opcode", 0, 0, 8},
    {"se", 0, 8, 1},
    {"migreq", 0, 9, 1},
    {"padcnt", 0, 10, 2},
    {"tver", 0, 12, 4},
    {"pkey", 0, 16, 16},
    {"dest-qp", 0, 40, 24},
    {"ackreq", 0, 64, 1},
    {"psn", 0, 72, 24},
    {"syndrome", ROCE_HAS_AETH, 0, 8},
    {"msn", ROCE_HAS_AETH, 8, 24},
    {"va", ROCE_HAS_RETH, 0, 64},
    {"rkey", ROCE_HAS_RETH, 64, 32},
    {"dmalen", ROCE_HAS_RETH, 96, 32},
    {"qkey", ROCE_HAS_DETH, 0, 32},
    {"src-qp", ROCE_HAS_DETH, 40, 24},
    {"imm", ROCE_HAS_IMMDT, 0, 32},
};

// Bytes before a header, by include/roce/README.md 1.3; -1 when the opcode has none such.
int place_of(uint32_t header, uint32_t info) {
  const std::pair<uint32_t, int> kOrder[] = {{ROCE_HAS_RDETH, 4},  {ROCE_HAS_DETH, 8},
                                             {ROCE_HAS_XRCETH, 4}, {ROCE_HAS_FETH, 4},
                                             {ROCE_HAS_RETH, 16},  {ROCE_HAS_ATOMICETH, 28},
                                             {ROCE_HAS_AETH, 4},   {ROCE_HAS_ATOMICACKETH, 8},
                                             {ROCE_HAS_IMMDT, 4},  {ROCE_HAS_IETH, 4}};
  if (!header)
    return 0;
  int at = ROCE_BTH_LEN;
  for (const auto &[bit, length] : kOrder) {
    if (bit == header)
      return info & bit ? at : -1;
    at += info & bit ? length : 0;
  }
  return -1;
}

// Every opcode's fields.
TEST(Act, CorruptHeaderHitsTheField) {
  for (const Field &field : kFields)
    for (unsigned opcode = 0; opcode < 256; opcode++) {
      const Net net = kNets[opcode % std::size(kNets)];
      const Sample s =
          sample(FrameBuilder(static_cast<uint8_t>(opcode)).payload(8), net, 0, opcode & 1);
      const int at = place_of(field.header, roce_opcode_info[opcode]);
      Port port({fmt::format("corrupt header {}", field.name)});
      for (int i = 0; i < 10; i++) {
        Bytes bytes = s.bytes;
        EXPECT_EQ(port.impair(bytes), Fate::GoOn);
        if (at < 0) {
          EXPECT_EQ(bytes, s.bytes) << field.name << ", " << s.name;
          continue;
        }
        const int bit = bit_from(s, bytes, s.p().bth + static_cast<size_t>(at));
        EXPECT_GE(bit, static_cast<int>(field.first_bit)) << field.name << ", " << s.name;
        EXPECT_LT(bit, static_cast<int>(field.first_bit + field.bits))
            << field.name << ", " << s.name;
        EXPECT_EQ(flaws(bytes, s), Flaws{"icrc"}) << field.name << ", " << s.name;
      }
      EXPECT_EQ(port.acted(), at < 0 ? 0U : 10U);
    }
}

TEST(Act, CorruptHeaderHitsEveryBitOfTheField) {
  for (const Field &field : kFields) {
    const uint8_t opcode = field.header == ROCE_HAS_AETH    ? 0x11
                           : field.header == ROCE_HAS_RETH  ? 0x0b
                           : field.header == ROCE_HAS_DETH  ? 0x64
                           : field.header == ROCE_HAS_IMMDT ? 0x0b
                                                            : 0x04;
    const Sample s = sample(FrameBuilder(opcode).payload(8), Net::V6, 1, true);
    const auto at = static_cast<size_t>(place_of(field.header, roce_opcode_info[opcode]));
    Port port({fmt::format("corrupt header {} seed 3", field.name)});
    std::set<int> hit;
    for (int i = 0; i < 1000; i++) {
      Bytes bytes = s.bytes;
      port.impair(bytes);
      hit.insert(bit_from(s, bytes, s.p().bth + at));
    }
    EXPECT_EQ(hit.size(), field.bits) << field.name;
  }
}

// Any bytes under a UDP checksum, those with which it becomes 0 too.
TEST(Act, UdpChecksumIsNeverMendedToNone) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  Port port({fmt::format("corrupt payload seed {}", seed)});
  for (int i = 0; i < 100'000; i++) {
    Bytes payload(4);
    for (uint8_t &byte : payload)
      byte = static_cast<uint8_t>(random());
    Sample s = sample(FrameBuilder(0x04).payload(payload), i & 1 ? Net::V4 : Net::V6, 0, true);
    if (i % 4 > 1) { // a word that leaves it at 1 or 0x8000: a bit away from 0
      uint8_t *udp = s.bytes.data() + s.p().bth - ROCE_UDP_LEN,
              *word = s.bytes.data() + s.p().end - 8;
      const uint32_t wanted = random() & 1 ? 1U << random() % 16 : 0xffffU ^ 1U << random() % 16;
      store16(udp + 6, wanted);
      store16(word, 0);
      store16(word, ~udp_sum(s.bytes, s.p()));
      icrc_write(s.bytes.data(), s.p());
    }
    Bytes bytes = s.bytes;
    const uint32_t before = udp_sum(s.bytes, s.p());
    port.impair(bytes);
    ASSERT_EQ(udp_sum(bytes, s.p()) % 0xffff, before % 0xffff);
    ASSERT_NE(bytes[s.p().bth - 2] | bytes[s.p().bth - 1], 0);
  }
}

TEST(Act, DropsAreCountedByCause) {
  const Sample s = sample(FrameBuilder(0x04).payload(942), Net::V4, 0, false); // 1000 bytes
  ASSERT_EQ(s.bytes.size(), 1000U);
  Port port({"every 3 drop", "police 8mbit burst 2000"});
  for (int i = 0; i < 9; i++) {
    Bytes bytes = s.bytes;
    EXPECT_EQ(port.impair(bytes), i % 3 == 2 ? Fate::Gone : Fate::GoOn);
  }
  EXPECT_EQ(port.totals().dropped_programmed, 3U);
  EXPECT_EQ(port.totals().dropped_policed, 0U); // the first rule that matches has the packet
  EXPECT_EQ(port.matched(1), 0U);
  Port policed({"police 8mbit burst 2000"});
  for (int i = 0; i < 5; i++) {
    Bytes bytes = s.bytes;
    EXPECT_EQ(policed.impair(bytes), i < 2 ? Fate::GoOn : Fate::Gone);
  }
  EXPECT_EQ(policed.totals().dropped_policed, 3U);
  EXPECT_EQ(policed.totals().dropped_programmed, 0U);
  EXPECT_EQ(policed.acted(), 3U);
}

TEST(Act, LimitCountsWhatWasDone) {
  const Sample plain = sample(FrameBuilder(0x04).ecn(0), Net::V4, 0, false);
  const Sample capable = sample(FrameBuilder(0x04).ecn(2), Net::V4, 0, false);
  Port port({"ce limit 3"});
  for (int i = 0; i < 10; i++) {
    Bytes a = plain.bytes, b = capable.bytes;
    port.impair(a);
    port.impair(b);
    EXPECT_EQ(a, plain.bytes);
    EXPECT_EQ(b != capable.bytes, i < 3);
  }
  EXPECT_EQ(port.acted(), 3U);
  EXPECT_EQ(port.matched(), 20U);
}

TEST(Act, CopiesNeedABridge) {
  const Sample s = sample(FrameBuilder(0x04), Net::V4, 0, false);
  Port bridge({"duplicate limit 2"}), attached({"duplicate limit 2"}, ROCE_FEATURE_RULES);
  for (int i = 0; i < 4; i++) {
    Bytes bytes = s.bytes;
    EXPECT_EQ(bridge.impair(bytes), i < 2 ? Fate::Twice : Fate::GoOn);
    EXPECT_EQ(attached.impair(bytes), Fate::GoOn);
    EXPECT_EQ(bytes, s.bytes);
  }
  EXPECT_EQ(bridge.totals().duplicated, 2U);
  EXPECT_EQ(attached.totals().not_cloned, 4U);
  EXPECT_EQ(attached.acted(), 0U);
}

// The packets that a rule selected are those it acted on and those with a cause why not.
TEST(Act, BytesAndCausesAreCounted) {
  struct Case {
    const char *words;
    uint64_t acted, spared, limited, not_applicable, refused;
  };
  const Bytes ect = finished(FrameBuilder(0x04).payload(64).ecn(2).build(), false);
  const Bytes not_ect = finished(FrameBuilder(0x04).payload(200).ecn(0).build(), false);
  const Bytes ack = finished(FrameBuilder(0x11).ecn(2).build(), false);
  const std::vector<Bytes> frames = {ect, not_ect, ack, ect, not_ect, ack};
  for (const Case &c :
       {Case{"drop", 6, 0, 0, 0, 0}, Case{"ce", 4, 0, 0, 2, 0}, Case{"ce limit 3", 3, 0, 1, 2, 0},
        Case{"corrupt payload limit 1 per 1s", 1, 0, 3, 2, 0}, Case{"every 2 drop", 3, 0, 0, 0, 0},
        Case{"police 1gbit burst 1M", 0, 6, 0, 0, 0}, Case{"red 0 1 0 rate 1gbit", 0, 1, 0, 0, 0},
        Case{"cnp drop", 6, 0, 0, 0, 0}, Case{"cnp", 0, 0, 0, 0, 6}}) {
    SCOPED_TRACE(c.words);
    const bool red = std::string(c.words).starts_with("red");
    Port port({c.words});
    uint64_t matched = 0;
    for (const Bytes &frame : red ? std::vector<Bytes>{ect} : frames) {
      Bytes bytes = frame;
      port.impair(bytes, 1000);
      matched += frame.size();
    }
    const roce_rule_count &count = port.accountant().rule_count(0);
    EXPECT_EQ(count.matched_bytes, matched);
    EXPECT_EQ(count.acted, c.acted);
    EXPECT_EQ(count.spared, c.spared);
    EXPECT_EQ(count.limited, c.limited);
    EXPECT_EQ(count.not_applicable, c.not_applicable);
    EXPECT_EQ(count.refused, c.refused);
    if (c.acted == 6) {
      EXPECT_EQ(count.acted_bytes, matched);
    } else if (!c.acted) {
      EXPECT_EQ(count.acted_bytes, 0U);
    }
  }
  Port marks({"ce"});
  for (Bytes bytes : frames)
    marks.impair(bytes);
  EXPECT_EQ(marks.accountant().rule_count(0).acted_bytes, 2 * (ect.size() + ack.size()));
}

} // namespace
} // namespace xr::test::act_test
