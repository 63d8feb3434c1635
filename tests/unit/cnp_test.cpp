// SPDX-License-Identifier: Apache-2.0
// CNPs sent by rules: every field (include/roce/README.md 3) and their pacing; and the cause that
// is counted for CNPs that pass.
#include "impair_port.h"

#include "roce/cm.h"
#include <algorithm>

#include <fmt/format.h>

namespace xr::test::cnp_test {
namespace {

constexpr uint64_t kMicrosecond = 1000, kSecond = 1'000'000'000;
// Times are kept in units of 256 ns.
constexpr uint64_t kGrain = 1 << ROCE_PACE_SHIFT;

struct Cnp {
  const Bytes &bytes;
  size_t l3;

  unsigned u8(size_t at) const { return bytes.at(at); }
  unsigned u16(size_t at) const { return u8(at) << 8 | u8(at + 1); }
  unsigned u24(size_t at) const { return u16(at) << 8 | u8(at + 2); }
};

// All of include/roce/README.md 3, byte by byte; the iCRC by userspace/packet, and the IPv4
// checksum computed again.
void expect_cnp_of(const Bytes &of, const Bytes &cnp, uint32_t qp, unsigned dscp) {
  const Parsed before = parsed(of);
  const size_t l3 = before.packet.l3;
  const bool ipv4 = of[l3] >> 4 == 4;
  const size_t address = ipv4 ? 4 : 16, source = l3 + (ipv4 ? 12 : 8), udp = l3 + (ipv4 ? 20 : 40);
  const size_t bth = udp + 8;
  const Cnp c{cnp, l3};
  ASSERT_EQ(cnp.size(), bth + 12 + 16 + 4);
  if (l3 == ROCE_ETH_LEN) {
    EXPECT_EQ(cnp.size(), ipv4 ? 74U : 94U);
  }
  // Back to where it came from, with the tags that it came with.
  EXPECT_TRUE(std::equal(of.begin(), of.begin() + 6, cnp.begin() + 6));
  EXPECT_TRUE(std::equal(of.begin() + 6, of.begin() + 12, cnp.begin()));
  EXPECT_TRUE(std::equal(of.begin() + 12, of.begin() + static_cast<long>(l3), cnp.begin() + 12));
  EXPECT_TRUE(std::equal(of.begin() + static_cast<long>(source),
                         of.begin() + static_cast<long>(source + address),
                         cnp.begin() + static_cast<long>(source + address)));
  EXPECT_TRUE(std::equal(of.begin() + static_cast<long>(source + address),
                         of.begin() + static_cast<long>(source + 2 * address),
                         cnp.begin() + static_cast<long>(source)));
  if (ipv4) {
    EXPECT_EQ(c.u8(l3), 0x45U);
    EXPECT_EQ(c.u8(l3 + 1), dscp << 2);
    EXPECT_EQ(c.u16(l3 + 2), 60U);
    EXPECT_EQ(c.u16(l3 + 6), 0x4000U);
    EXPECT_GT(c.u8(l3 + 8), 1U);
    EXPECT_EQ(c.u8(l3 + 9), 17U);
    EXPECT_EQ(ones_sum(cnp.data() + l3, 20), 0xffffU);
  } else {
    EXPECT_EQ(c.u16(l3), 0x6000 | dscp << 6);
    EXPECT_EQ(c.u16(l3 + 4), 40U);
    EXPECT_EQ(c.u8(l3 + 6), 17U);
    EXPECT_GT(c.u8(l3 + 7), 1U);
  }
  EXPECT_EQ(c.u16(udp), of[before.packet.bth - 8U] << 8U | of[before.packet.bth - 7U]);
  EXPECT_EQ(c.u16(udp + 2), 4791U);
  EXPECT_EQ(c.u16(udp + 4), 40U);
  EXPECT_EQ(c.u16(udp + 6), 0U);
  EXPECT_EQ(c.u8(bth), 0x81U);
  EXPECT_EQ(c.u8(bth + 1), 0U); // SE, MigReq, PadCnt, TVer
  EXPECT_EQ(c.u16(bth + 2), 0xffffU);
  EXPECT_EQ(c.u8(bth + 4), 0x40U); // BECN, no FECN
  EXPECT_EQ(c.u24(bth + 5), qp);
  EXPECT_EQ(c.u8(bth + 8), 0U); // AckReq
  EXPECT_EQ(c.u24(bth + 9), 0U);
  for (size_t i = 0; i < 16; i++)
    EXPECT_EQ(c.u8(bth + 12 + i), 0U);
  const Parsed after = parsed(cnp);
  EXPECT_EQ(after.class_, ROCE_CLASS_V2);
  EXPECT_EQ(after.packet.end, cnp.size());
  EXPECT_EQ(icrc_check(cnp.data(), static_cast<uint32_t>(cnp.size()), after.packet), Icrc::Good);
}

// Sets the port's peer for these packets.
void know(Port &port, const Bytes &frame, uint32_t sender) {
  roce_packet p = parsed(frame).packet;
  roce_key_fill(&p.key);
  roce_peer peer{};
  std::copy(std::begin(p.key.src), std::end(p.key.src), peer.src);
  peer.dest_qp = roce_key_qp(&p.key);
  port.accountant().peer(peer, sender);
}

std::vector<std::pair<std::string, FrameBuilder>> originals() {
  return {{"ACK", FrameBuilder(0x11)},
          {"SEND ONLY of nothing, padded", FrameBuilder(0x04).trailer(2)},
          {"SEND ONLY", FrameBuilder(0x04).payload(61).pad(3)},
          {"as long as a CNP", FrameBuilder(0x04).payload(16)},
          {"SEND FIRST", FrameBuilder(0x00).payload(4096)},
          {"SEND MIDDLE", FrameBuilder(0x01).payload(2048)},
          {"XRC WRITE", FrameBuilder(0xaa).payload(1024)},
          {"READ RESPONSE", FrameBuilder(0x0d).payload(256)},
          {"with an FCS", FrameBuilder(0x0a).payload(8).trailer(4)}};
}

std::vector<std::pair<std::string, Bytes>> in_all_ways(const FrameBuilder &frame) {
  std::vector<std::pair<std::string, Bytes>> all;
  for (const int net : {0, 1, 2, 3, 4})
    for (const int tags : {0, 1, 2})
      for (const bool udp_checksum : {false, true}) {
        FrameBuilder one = frame;
        if (tags == 2)
          one.vlan(ROCE_ETHERTYPE_QINQ);
        if (tags)
          one.vlan(ROCE_ETHERTYPE_VLAN);
        if (net == 1)
          one.ip_options(2);
        if (net >= 2)
          one.ipv6();
        if (net == 3)
          one.mapped();
        if (net == 4)
          one.extension(ROCE_IPPROTO_DSTOPTS, 2);
        all.emplace_back(fmt::format("net {} tags {} udp {}", net, tags, udp_checksum),
                         finished(one.build(), udp_checksum));
      }
  return all;
}

TEST(Cnp, GoesBackInPlaceOfTheFrame) {
  for (const auto &[name, frame] : originals())
    for (const auto &[way, bytes] : in_all_ways(frame)) {
      SCOPED_TRACE(name + ", " + way);
      Port port({"cnp dscp 48 drop"});
      know(port, bytes, 0xabcdef);
      Bytes got = bytes;
      EXPECT_EQ(port.impair(got), Fate::BackAsCnp);
      expect_cnp_of(bytes, got, 0xabcdef, 48);
      EXPECT_EQ(port.totals().cnps_sent, 1U);
      EXPECT_EQ(port.totals().dropped_programmed, 1U);
    }
}

TEST(Cnp, GoesBackWhileTheFrameGoesOn) {
  for (const auto &[name, frame] : originals())
    for (const auto &[way, bytes] : in_all_ways(frame)) {
      SCOPED_TRACE(name + ", " + way);
      Port port({"cnp dscp 5"});
      know(port, bytes, 1234);
      Bytes got = bytes;
      if (bytes.size() > ROCE_CLONE_MAX) { // the kernel does not make copies of such
        EXPECT_EQ(port.impair(got), Fate::GoOn);
        EXPECT_EQ(got, bytes);
        EXPECT_EQ(port.totals().not_cloned, 1U);
        EXPECT_EQ(port.acted(), 0U);
        continue;
      }
      EXPECT_EQ(port.impair(got), Fate::GoOnWithCnp);
      EXPECT_EQ(got, bytes);
      expect_cnp_of(bytes, port.accountant().cnp(), 1234, 5);
      EXPECT_EQ(port.totals().cnps_sent, 1U);
      EXPECT_EQ(port.totals().dropped_programmed, 0U);
      EXPECT_EQ(port.acted(), 1U);
    }
}

TEST(Cnp, TakesAllItsBitsOfTheQpn) {
  for (const uint32_t qp : {1U, 0x80U, 0x8000U, 0x800000U, 0xfffffeU}) {
    const Bytes bytes = finished(FrameBuilder(0x04).build(), false);
    Port port({"cnp drop"});
    know(port, bytes, qp);
    Bytes got = bytes;
    EXPECT_EQ(port.impair(got), Fate::BackAsCnp);
    expect_cnp_of(bytes, got, qp, 48);
  }
}

// RoCEv1 has neither ECN nor CNPs.
TEST(Cnp, NoneForRoceV1) {
  const Bytes bytes = finished(FrameBuilder(0x04).v1().build(), false);
  Port port({"cnp drop"}), on({"cnp"});
  know(port, bytes, 7);
  know(on, bytes, 7);
  Bytes got = bytes;
  EXPECT_EQ(port.impair(got), Fate::Gone);
  EXPECT_EQ(on.impair(got), Fate::GoOn);
  EXPECT_EQ(on.acted(), 0U);
  EXPECT_EQ(got, bytes);
}

TEST(Cnp, NoneForAnUnknownSender) {
  const Bytes bytes = finished(FrameBuilder(0x04).build(), false);
  Port port({"cnp drop"}), on({"cnp limit 1"});
  Bytes got = bytes;
  EXPECT_EQ(port.impair(got), Fate::Gone);
  EXPECT_EQ(port.totals().cnps_unknown_peer, 1U);
  EXPECT_EQ(port.totals().cnps_sent, 0U);
  EXPECT_EQ(port.totals().dropped_programmed, 1U);
  EXPECT_EQ(on.impair(got), Fate::GoOn);
  EXPECT_EQ(on.acted(), 0U);
  know(on, bytes, 9); // the limit has not been used up by what came to nothing
  EXPECT_EQ(on.impair(got), Fate::GoOnWithCnp);
  EXPECT_EQ(on.acted(), 1U);
  EXPECT_EQ(on.impair(got, kSecond), Fate::GoOn);
}

// A peer is set for one source and one QP.
TEST(Cnp, PeersAreToldApart) {
  Port port({"cnp interval 0us drop"});
  const Bytes one = finished(FrameBuilder(0x04).from(1).qp(5).build(), false);
  know(port, one, 77);
  for (const auto &other : {FrameBuilder(0x04).from(3).qp(5), FrameBuilder(0x04).from(1).qp(6)}) {
    Bytes bytes = finished(other.build(), false);
    EXPECT_EQ(port.impair(bytes), Fate::Gone);
  }
  for (const uint8_t opcode : {0x04, 0x11, 0x24}) { // requests and answers are of one QP
    Bytes bytes = finished(FrameBuilder(opcode).from(1).qp(5).build(), false);
    EXPECT_EQ(port.impair(bytes), Fate::BackAsCnp);
  }
}

TEST(Cnp, DatagramsTellTheirSender) {
  Port port({"cnp drop"});
  const Bytes bytes = finished(FrameBuilder(0x64).payload(32).src_qp(0x123456).build(), false);
  Bytes got = bytes;
  EXPECT_EQ(port.impair(got), Fate::BackAsCnp);
  expect_cnp_of(bytes, got, 0x123456, 48);
}

// To a group nobody's address can be put as the CNP's source.
TEST(Cnp, NoneForMulticast) {
  Port port({"cnp drop"});
  Bytes got = finished(FrameBuilder(0x64).qp(0xffffff).payload(32).build(), false);
  EXPECT_EQ(port.impair(got), Fate::Gone);
  EXPECT_EQ(port.totals().cnps_unknown_peer, 1U);
}

// Reliable datagrams have a DETH after their RDETH; a READ's is not read.
TEST(Cnp, ReliableDatagrams) {
  for (const uint8_t opcode : {0x44, 0x4c, 0x53}) {
    Port port({"cnp drop"});
    const Bytes bytes = finished(FrameBuilder(opcode).src_qp(0x654321).build(), false);
    Bytes got = bytes;
    if (port.impair(got) == Fate::BackAsCnp)
      expect_cnp_of(bytes, got, 0x654321, 48);
    else
      EXPECT_EQ(port.totals().cnps_unknown_peer, 1U);
  }
}

TEST(Cnp, CopiesNeedABridge) {
  const Bytes bytes = finished(FrameBuilder(0x04).build(), false);
  Port port({"cnp"}, ROCE_FEATURE_RULES | ROCE_FEATURE_CNP);
  know(port, bytes, 7);
  Bytes got = bytes;
  EXPECT_EQ(port.impair(got), Fate::GoOn);
  EXPECT_EQ(got, bytes);
  EXPECT_EQ(port.totals().not_cloned, 1U);
  EXPECT_EQ(port.acted(), 0U);
}

struct Flow {
  uint8_t from, to;
  uint32_t qp;
};

Bytes packet_of(const Flow &flow, uint8_t opcode = 0x04) {
  return finished(FrameBuilder(opcode).from(flow.from).to(flow.to).qp(flow.qp).build(), false);
}

// Packets every microsecond on each of the flows: when their CNPs went back.
std::vector<std::vector<uint64_t>> paced(Port &port, const std::vector<Flow> &flows, uint64_t ns) {
  std::vector<std::vector<uint64_t>> times(flows.size());
  for (const Flow &flow : flows)
    know(port, packet_of(flow), 100 + flow.qp);
  std::vector<Bytes> frames;
  for (const Flow &flow : flows)
    frames.push_back(packet_of(flow));
  for (uint64_t t = 0; t < ns; t += kMicrosecond)
    for (size_t i = 0; i < flows.size(); i++) {
      Bytes bytes = frames[i];
      if (port.impair(bytes, kSecond + t) == Fate::BackAsCnp)
        times[i].push_back(t);
    }
  return times;
}

const std::vector<Flow> kFlows = {{1, 2, 17}, {1, 2, 18}, {2, 1, 17}, {3, 2, 17}};

TEST(CnpPace, EachStreamHasItsOwn) {
  Port port({"cnp drop"});
  const auto times = paced(port, kFlows, 5'000'000);
  for (const auto &of_one : times) {
    EXPECT_NEAR(static_cast<double>(of_one.size()), 100, 3);
    for (size_t i = 1; i < of_one.size(); i++)
      EXPECT_GE(of_one[i] - of_one[i - 1] + 2 * kGrain, 50 * kMicrosecond);
  }
  const roce_totals t = port.totals();
  EXPECT_EQ(t.cnps_sent + t.cnps_paced, 20'000U);
  EXPECT_EQ(t.dropped_programmed, 20'000U);
}

TEST(CnpPace, OnePaceForAPair) {
  Port port({"cnp scope pair interval 1ms drop"});
  const auto times = paced(port, kFlows, 50'000'000);
  EXPECT_EQ(times[0].size(), 50U); // it is always the first of its pair
  EXPECT_EQ(times[1].size(), 0U);
  EXPECT_EQ(times[2].size(), 50U);
  EXPECT_EQ(times[3].size(), 50U);
}

TEST(CnpPace, OnePaceForAPort) {
  Port port({"cnp scope port interval 1ms drop"});
  const auto times = paced(port, kFlows, 50'000'000);
  EXPECT_EQ(times[0].size(), 50U);
  EXPECT_EQ(times[1].size() + times[2].size() + times[3].size(), 0U);
}

TEST(CnpPace, IntervalHasAnEdge) {
  for (const uint64_t interval : {50 * kMicrosecond, 4 * kMicrosecond, 1000 * kMicrosecond}) {
    const Flow flow{1, 2, 17};
    const Bytes bytes = packet_of(flow);
    const auto after = [&](uint64_t ns) {
      Port port({fmt::format("cnp interval {}ns drop", interval)});
      know(port, bytes, 9);
      Bytes a = bytes, b = bytes;
      EXPECT_EQ(port.impair(a, kSecond), Fate::BackAsCnp);
      return port.impair(b, kSecond + ns);
    };
    EXPECT_EQ(after(0), Fate::Gone);
    EXPECT_EQ(after(interval - 2 * kGrain), Fate::Gone);
    EXPECT_EQ(after(interval + 2 * kGrain), Fate::BackAsCnp);
  }
  Port port({"cnp interval 0us drop"});
  const Bytes bytes = packet_of({1, 2, 17});
  know(port, bytes, 9);
  for (int i = 0; i < 10; i++) {
    Bytes got = bytes;
    EXPECT_EQ(port.impair(got, kSecond), Fate::BackAsCnp);
  }
}

// Many streams at once: the paces of some share a place, and those may be too quick; no more.
TEST(CnpPace, ManyStreams) {
  Port port({"cnp drop"});
  std::vector<Flow> flows;
  for (uint32_t qp = 100; qp < 164; qp++)
    flows.push_back({1, 2, qp});
  const auto times = paced(port, flows, 1'000'000);
  int quick = 0;
  for (const auto &of_one : times) {
    EXPECT_GE(of_one.size(), 19U);
    quick += of_one.size() > 21;
  }
  EXPECT_LE(quick, 4);
}

/*
 * What CNPs that pass are put down to. A (192.0.2.1, QP 0xa) sends requests to B (192.0.2.2, QP
 * 0xb), which answers; every packet is seen, as in a bridge.
 */
class CnpCause : public testing::Test {
protected:
  static FrameBuilder from_a(uint8_t opcode) { return FrameBuilder(opcode).from(1).to(2).qp(0xb); }
  static FrameBuilder from_b(uint8_t opcode) { return FrameBuilder(opcode).from(2).to(1).qp(0xa); }

  void send(const FrameBuilder &frame, uint64_t ns) {
    Bytes bytes = finished(frame.build(), false);
    port_->impair(bytes, ns);
  }
  void under(const std::string &rule) {
    port_ = std::make_unique<Port>(std::vector<std::string>{rule});
    // A CNP of others: marks have their time from now on.
    send(FrameBuilder(0x81).from(8).to(9).payload(16), kSecond);
    learn();
  }

  void learn() {
    for (uint32_t psn = 0; psn < 5; psn++) {
      send(from_a(0x04).psn(psn), kSecond);
      send(from_b(0x11).psn(psn), kSecond);
    }
  }
  void ce(uint64_t ns) { send(from_a(0x04).psn(5).ecn(3), ns); }
  void cnp(uint64_t ns) { send(from_b(0x81).payload(16), ns); }
  void nak(uint64_t ns, uint8_t syndrome = 0x60) {
    send(from_b(0x11).psn(5).syndrome(syndrome), ns);
  }

  // after CE, after NAK, after neither, unexplained
  std::vector<uint64_t> causes() const {
    const roce_totals t = port_->totals();
    return {t.cnps_after_ce, t.cnps_after_nak, t.cnps_after_neither, t.cnps_unexplained};
  }
  using Causes = std::vector<uint64_t>;

  std::unique_ptr<Port> port_ = std::make_unique<Port>(std::vector<std::string>{});
};

constexpr uint64_t kThen = 2 * kSecond;

TEST_F(CnpCause, Ce) {
  learn();
  ce(kThen);
  cnp(kThen + 10 * kMicrosecond);
  cnp(kThen + ROCE_CNP_WINDOW_NS - 2 * kGrain);
  EXPECT_EQ(causes(), (Causes{2, 0, 0, 0}));
  cnp(kThen + ROCE_CNP_WINDOW_NS + 2 * kGrain); // the one before may not have answered it
  EXPECT_EQ(causes(), (Causes{3, 0, 0, 0}));
  cnp(kThen + ROCE_CNP_WINDOW_NS + 4 * kGrain);
  EXPECT_EQ(causes(), (Causes{3, 0, 1, 0}));
  ce(kThen + kSecond);
  cnp(kThen + kSecond);
  EXPECT_EQ(causes(), (Causes{4, 0, 1, 0}));
}

TEST_F(CnpCause, Nak) {
  learn();
  nak(kThen);
  cnp(kThen + 10 * kMicrosecond);
  cnp(kThen + ROCE_CNP_WINDOW_NS - 2 * kGrain);
  EXPECT_EQ(causes(), (Causes{0, 2, 0, 0}));
  cnp(kThen + ROCE_CNP_WINDOW_NS + 2 * kGrain);
  EXPECT_EQ(causes(), (Causes{0, 2, 1, 0}));
  nak(kThen + kSecond, 0x2c); // RNR: nothing was lost
  cnp(kThen + kSecond);
  EXPECT_EQ(causes(), (Causes{0, 2, 2, 0}));
}

TEST_F(CnpCause, CeComesBeforeNak) {
  learn();
  ce(kThen);
  nak(kThen + kMicrosecond);
  cnp(kThen + 2 * kMicrosecond);
  EXPECT_EQ(causes(), (Causes{1, 0, 0, 0}));
}

TEST_F(CnpCause, NeitherAndUnexplained) {
  cnp(kThen);
  EXPECT_EQ(causes(), (Causes{0, 0, 0, 1}));
  nak(kThen); // its cause is known even where the sender is not
  cnp(kThen);
  EXPECT_EQ(causes(), (Causes{0, 1, 0, 1}));
  learn();
  cnp(kThen + kSecond);
  EXPECT_EQ(causes(), (Causes{0, 1, 1, 1}));
}

// Marks of other connections, and of the way back, are nobody's cause.
TEST_F(CnpCause, OthersMarks) {
  learn();
  send(FrameBuilder(0x04).from(1).to(2).qp(0xc).ecn(3), kThen);
  send(FrameBuilder(0x04).from(3).to(2).qp(0xb).ecn(3), kThen);
  send(from_b(0x04).ecn(3), kThen);
  send(FrameBuilder(0x11).from(2).to(1).qp(0xd).syndrome(0x60), kThen);
  cnp(kThen);
  EXPECT_EQ(causes(), (Causes{0, 0, 1, 0}));
}

// A frame that a rule marks is a cause like one that came in marked, once it is forwarded.
TEST_F(CnpCause, MarksOfRules) {
  for (const char *rule : {"ce", "ecn ect0 ce limit 99", "red 0 1 100% rate 125kbit",
                           "police 125kbit burst 100 excess ce", "opcode data set ecn ce",
                           "ce set dscp 3", "opcode data ce corrupt icrc"}) {
    SCOPED_TRACE(rule);
    under(rule);
    send(from_a(0x04).psn(5).payload(1000).ecn(2), kThen); // RED's queue, a policer's burst
    send(from_a(0x04).psn(6).payload(1000).ecn(2), kThen);
    ASSERT_GT(port_->totals().marked + port_->totals().rewritten, 0U);
    cnp(kThen + 10 * kMicrosecond);
    cnp(kThen + ROCE_CNP_WINDOW_NS - 2 * kGrain);
    cnp(kThen + ROCE_CNP_WINDOW_NS + 2 * kGrain);
    EXPECT_EQ(causes(), (Causes{3, 0, 0, 1}));
    cnp(kThen + ROCE_CNP_WINDOW_NS + 4 * kGrain);
    EXPECT_EQ(causes(), (Causes{3, 0, 1, 1}));
  }
}

// Not ECN-capable, not chosen, dropped, or marked as something else: nobody answers those.
TEST_F(CnpCause, WhatRulesDoNotMark) {
  struct {
    const char *rule;
    uint8_t ecn;
  } constexpr kRows[] = {
      {"ce", 0},
      {"probability 0 ce", 2},
      {"red 100M 200M 100% rate 10tbit", 2},
      {"police 10tbit burst 1M excess ce", 2},
      {"opcode data drop", 2},
      {"opcode data set ecn ect1", 2},
      {"opcode data set dscp 3", 2},
      {"opcode data ce limit 1", 0},
  };
  for (const auto &row : kRows) {
    SCOPED_TRACE(row.rule);
    under(row.rule);
    send(from_a(0x04).psn(5).ecn(row.ecn), kThen);
    cnp(kThen);
    EXPECT_EQ(causes(), (Causes{0, 0, 1, 1}));
  }
}

// Nobody answered marks so far, and their time was not noted: the first CNP is for one.
TEST_F(CnpCause, MarksBeforeTheFirstCnp) {
  port_ = std::make_unique<Port>(std::vector<std::string>{"ecn ect1 ce"});
  learn();
  send(from_a(0x04).psn(5).ecn(1), kThen);
  cnp(kThen + kSecond);
  EXPECT_EQ(causes(), (Causes{1, 0, 0, 0}));
  send(from_a(0x04).psn(6).ecn(1), kThen + 2 * kSecond);
  cnp(kThen + 2 * kSecond + ROCE_CNP_WINDOW_NS - 2 * kGrain);
  EXPECT_EQ(causes(), (Causes{2, 0, 0, 0}));
  cnp(kThen + 2 * kSecond + ROCE_CNP_WINDOW_NS + 2 * kGrain);
  cnp(kThen + 2 * kSecond + ROCE_CNP_WINDOW_NS + 4 * kGrain);
  EXPECT_EQ(causes(), (Causes{3, 0, 1, 0}));
}

// A bridge that holds frames by a rule or a link, or a responder that paces its CNPs: the answer to
// a mark comes later than the window, and each mark has one.
TEST_F(CnpCause, AnswersThatTakeLong) {
  learn();
  cnp(kThen - kSecond); // of nothing
  for (uint64_t i = 0; i < 10; i++) {
    ce(kThen + i * kSecond);
    cnp(kThen + i * kSecond + 900 * kMicrosecond);
  }
  EXPECT_EQ(causes(), (Causes{10, 0, 1, 0}));
  cnp(kThen + 10 * kSecond); // a second one for the last mark
  EXPECT_EQ(causes(), (Causes{10, 0, 2, 0}));
}

// The clock of a CNP's CPU was read before another CPU noted a mark.
TEST_F(CnpCause, AMarkNotedMeanwhile) {
  learn();
  send(from_a(0x04).psn(5).ecn(3), kThen);
  cnp(kThen - 10 * kMicrosecond);
  cnp(kThen - ROCE_CNP_WINDOW_NS + 2 * kGrain);
  EXPECT_EQ(causes(), (Causes{2, 0, 0, 0}));
  cnp(kThen - ROCE_CNP_WINDOW_NS - 2 * kGrain); // so much later is nobody's delay
  EXPECT_EQ(causes(), (Causes{2, 0, 1, 0}));
}

// A stream without room has no place to remember it in, and takes nobody else's.
TEST_F(CnpCause, MarksOfStreamsWithoutRoom) {
  constexpr uint32_t kBefore = ROCE_ASIDES - 1; // A's is the last place
  port_ = std::make_unique<Port>(std::vector<std::string>{"ce"}, Port::kAllFeatures, kBefore + 2);
  for (uint32_t i = 0; i < kBefore; i++)
    send(from_a(0x04).qp(0x100 + i), kSecond);
  learn();
  send(from_a(0x04).psn(5), kThen);
  send(from_a(0x04).qp(0xffff), kThen);
  ASSERT_EQ(port_->totals().streams_full, 1U);
  cnp(kThen);
  EXPECT_EQ(causes(), (Causes{1, 0, 0, 0}));
}

// So many NAKs that no more events report them: they are causes all the same.
TEST_F(CnpCause, NaksBeyondTheLimitOfEvents) {
  learn();
  for (int i = 0; i < 100; i++)
    nak(kThen + static_cast<uint64_t>(i) * 100 * kMicrosecond);
  cnp(kThen + 99 * 100 * kMicrosecond + 10 * kMicrosecond);
  EXPECT_EQ(causes(), (Causes{0, 1, 0, 0}));
}

// B's answers to READs are marked: A's CNP goes to B, who sends them.
TEST_F(CnpCause, CeOnReadResponses) {
  for (uint32_t psn = 0; psn < 4; psn++) {
    send(from_a(0x0c).psn(psn).dma_len(100), kSecond);
    send(from_b(0x10).psn(psn).payload(100), kSecond);
  }
  send(from_b(0x10).psn(4).payload(100).ecn(3), kThen);
  send(from_a(0x81).payload(16), kThen + 10 * kMicrosecond);
  EXPECT_EQ(causes(), (Causes{1, 0, 0, 0}));
  send(from_a(0x81).payload(16), kThen + kSecond);
  EXPECT_EQ(causes(), (Causes{1, 0, 1, 0}));
}

TEST_F(CnpCause, UnreliableConnectionsByCm) {
  send(from_a(0x24).psn(0).ecn(3), kThen);
  cnp(kThen);
  EXPECT_EQ(causes(), (Causes{0, 0, 0, 1})) << "nothing has shown A's QPN";
}

} // namespace
} // namespace xr::test::cnp_test
