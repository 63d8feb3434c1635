// SPDX-License-Identifier: Apache-2.0
// Tunnels around frames: what is inside is counted as if it had come without. Mirror sessions, and
// what they say about PSNs that are missing.
#include <algorithm>
#include <cstring>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "native/native_datapath.h"
#include "report/stream_columns.h"
#include "roce/config.h"
#include "unit/same_streams.h"
#include "unit/tunnels.h"

namespace xr::test::inner_test {
namespace {

using B = FrameBuilder;
using namespace tunnel;

constexpr uint32_t kAll = ROCE_TUNNELS_ALL;
constexpr uint32_t kTunnels = kAll & ~(1u << ROCE_TUNNEL_QINQ); // those that leave all tags

NativeDatapath::FrameView view(const Bytes &bytes, uint32_t length = 0) {
  const auto size = static_cast<uint32_t>(bytes.size());
  return {bytes.data(), size, length ? length : size};
}

// The program's way: the plain one where that is possible.
void enter(NativeDatapath &port, const Bytes &bytes) { port.frame(view(bytes)); }

// The analyser's way: always the long way.
roce_class analyse(NativeDatapath &port, const Bytes &bytes, uint32_t length = 0) {
  NativeDatapath::FrameView frame = view(bytes, length);
  roce_packet packet;
  const roce_class class_ = port.unwrap(frame, {}, packet);
  port.account(frame, class_, packet);
  return class_;
}

Snapshot snapshot(const NativeDatapath &port) {
  Snapshot s;
  port.snapshot(s);
  return s;
}

// Whole frames of each kind over each network; without tags for tunnels of the network layer, which
// take the outer frame's.
std::vector<Frame> frames(bool of_network) {
  std::vector<Frame> all;
  for (const B &kind : frame_kinds())
    for (int net = 0; net < B::kNetworks; net++)
      for (int tags = 0; tags < (of_network ? 1 : 3); tags++) {
        B frame = kind;
        all.push_back(frame.over(net).tags(tags).build());
        const uint16_t type = roce_be16(&all.back().bytes[12]);
        if (of_network && type != 0x0800 && type != 0x86dd)
          all.pop_back();
      }
  return all;
}

void expect_same(const Snapshot &with, const Snapshot &without) {
  roce_totals totals = with.totals;
  std::fill(std::begin(totals.tunnels), std::end(totals.tunnels), 0);
  EXPECT_EQ(0, std::memcmp(with.opcodes.data(), without.opcodes.data(), sizeof(with.opcodes)));
  EXPECT_EQ(0, std::memcmp(&totals, &without.totals, sizeof(totals)));
  expect_same_streams(with, without);
}

TEST(Inner, EachTunnelGivesTheReportOfItsFrames) {
  for (const Way &way : ways()) {
    SCOPED_TRACE(way.name);
    NativeDatapath without({}), program({.decap = kTunnels}), analyser({.decap = kTunnels});
    uint32_t number = 0xfffffff0; // wraps
    uint64_t count = 0;
    for (const Frame &f : frames(way.of_network)) {
      const Bytes inside = way.of_network ? Bytes(f.bytes.begin() + f.l3, f.bytes.end()) : f.bytes;
      const Bytes wrapped = way.wrap(inside, number++);
      without.frame(view(f.bytes));
      enter(program, wrapped);
      analyse(analyser, wrapped);
      count++;
    }
    const Snapshot plain = snapshot(without), a = snapshot(program), b = snapshot(analyser);
    EXPECT_GT(plain.streams.size(), 2u);
    expect_same(a, plain);
    expect_same(b, plain);
    EXPECT_EQ(0, std::memcmp(&a.totals, &b.totals, sizeof(a.totals)));
    uint64_t in_tunnels = 0;
    for (uint32_t tunnel = 0; tunnel < ROCE_TUNNEL_QINQ; tunnel++)
      in_tunnels = std::max<uint64_t>(in_tunnels, a.totals.tunnels[tunnel]);
    EXPECT_EQ(std::strcmp(way.name, "none") ? count : 0, in_tunnels);
    for (const Snapshot *s : {&a, &b}) {
      ASSERT_LE(s->mirrors.size(), 1u);
      for (const roce_mirror &mirror : s->mirrors) {
        EXPECT_EQ(count, roce_mirror_frames(&mirror));
        EXPECT_EQ(0u, mirror.skipped);
        EXPECT_EQ(0u, mirror.restarts);
      }
    }
  }
}

TEST(Inner, OnlyTheKindsAskedForAreTakenOff) {
  const Bytes inside = B(ROCE_RC_SEND_ONLY).build().bytes;
  const Bytes vxlanned = ethernet(0x0800, ip(17, vxlan(1, inside))),
              mirrored = ethernet(0x0800, ip(47, gre(0x88be, inside)));
  NativeDatapath off({}), vxlan_only({.decap = 1 << ROCE_TUNNEL_VXLAN});
  for (const Bytes &bytes : {vxlanned, mirrored}) {
    enter(off, bytes);
    enter(vxlan_only, bytes);
  }
  EXPECT_EQ(2u, snapshot(off).totals.frames[ROCE_CLASS_OTHER]);
  EXPECT_EQ(0u, snapshot(off).totals.tunnels[ROCE_TUNNEL_VXLAN]);
  const Snapshot s = snapshot(vxlan_only);
  EXPECT_EQ(1u, s.totals.frames[ROCE_CLASS_OTHER]);
  EXPECT_EQ(1u, s.totals.tunnels[ROCE_TUNNEL_VXLAN]);
  EXPECT_EQ(0u, s.totals.tunnels[ROCE_TUNNEL_ERSPAN]);
  EXPECT_EQ(1u, s.opcodes[ROCE_RC_SEND_ONLY].packets[2]);
}

TEST(Inner, AllTagsButTheLastAreTakenOff) {
  const Bytes network = [] {
    const Frame f = B(ROCE_RC_SEND_ONLY).build();
    return Bytes(f.bytes.begin() + f.l3, f.bytes.end());
  }();
  for (int tags = 0; tags <= 4; tags++) {
    NativeDatapath port({.decap = 1 << ROCE_TUNNEL_QINQ});
    const Bytes bytes = ethernet(0x0800, network, tags);
    enter(port, bytes);
    const Snapshot s = snapshot(port);
    ASSERT_EQ(1u, s.streams.size()) << tags;
    EXPECT_EQ(bytes.size() - 4 * static_cast<size_t>(std::max(tags - 1, 0)),
              roce_stream_bytes(&s.streams[0]));
    EXPECT_EQ(tags > 1, s.totals.tunnels[ROCE_TUNNEL_QINQ]);
  }
}

TEST(Inner, WhatCannotBeTakenOffIsCounted) {
  const Bytes inside = B(ROCE_RC_SEND_ONLY).build().bytes;
  NativeDatapath port({.decap = kAll});
  for (const uint16_t flags : {0x2000, 0x0010}) // more fragments; the last of several
    enter(port, ethernet(0x0800, ip(47, gre(0x88be, inside), {.flags = flags})));
  EXPECT_EQ(2u, snapshot(port).totals.tunnel_fragments);
  const auto deeper = [](const Bytes &in) { return ethernet(0x0800, ip(17, vxlan(1, in))); };
  enter(port, deeper(deeper(inside)));
  EXPECT_EQ(0u, snapshot(port).totals.tunnels_deep);
  EXPECT_EQ(1u, snapshot(port).streams.size());
  enter(port, deeper(deeper(deeper(inside))));
  const Snapshot s = snapshot(port);
  EXPECT_EQ(1u, s.totals.tunnels_deep);
  EXPECT_EQ(3u, s.totals.frames[ROCE_CLASS_OTHER]);
}

// Headers that end too soon, and what only looks like a tunnel, stay what they were: other frames.
TEST(Inner, BrokenTunnelsAreOtherFrames) {
  const Bytes inside = B(ROCE_RC_SEND_ONLY).build().bytes;
  for (const Way &way : ways()) {
    if (way.of_network || !std::strcmp(way.name, "none"))
      continue;
    SCOPED_TRACE(way.name);
    const Bytes whole = way.wrap(inside, 1);
    for (size_t size = 0; size + inside.size() < whole.size(); size++) {
      NativeDatapath program({.decap = kAll}), analyser({.decap = kAll});
      const Bytes bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
      enter(program, bytes);
      EXPECT_EQ(ROCE_CLASS_OTHER, analyse(analyser, bytes)) << size;
      const roce_totals a = snapshot(program).totals, b = snapshot(analyser).totals;
      EXPECT_EQ(0, std::memcmp(&a, &b, sizeof(a))) << size;
    }
  }
  NativeDatapath port({.decap = kAll});
  const auto enter_gre = [&](const Bytes &gre) { enter(port, ethernet(0x0800, ip(47, gre))); };
  Bytes version = gre(0x88be, inside);
  version[1] = 1; // PPTP's
  enter_gre(version);
  enter_gre(gre(0x880b, inside));                              // PPP
  enter_gre(gre(0x88be, inside, {.sequence = 1}));             // no ERSPAN header of version 1
  enter_gre(gre(0x22eb, erspan2(1, inside), {.sequence = 1})); // type II's header in type III
  Bytes no_vni = ethernet(0x0800, ip(17, vxlan(1, inside)));
  no_vni[14 + 20 + 8] = 0;
  enter(port, no_vni);
  EXPECT_EQ(5u, snapshot(port).totals.frames[ROCE_CLASS_OTHER]);
  EXPECT_TRUE(snapshot(port).mirrors.empty());
}

// A mirror that keeps only the first bytes: the packet counts with the length that it had.
TEST(Inner, AMirrorMayCutFrames) {
  for (const bool flagged : {false, true}) {
    NativeDatapath program({.decap = kAll}), analyser({.decap = kAll}), without({});
    for (uint32_t psn = 0; psn < 3; psn++) {
      const Bytes inside = B(ROCE_RC_SEND_MIDDLE).psn(psn).payload(1024).build().bytes;
      const Bytes cut(inside.begin(), inside.begin() + 64);
      const Bytes mirrored =
          ethernet(0x0800, ip(47, gre(0x88be, erspan2(3, cut, flagged), {.sequence = psn})));
      without.frame(view(inside));
      enter(program, mirrored);
      EXPECT_EQ(ROCE_CLASS_V2, analyse(analyser, mirrored));
      EXPECT_TRUE(analyser.truncated());
    }
    for (const NativeDatapath *port : {&program, &analyser}) {
      Snapshot s = snapshot(*port);
      EXPECT_EQ(3u, s.totals.truncated);
      ASSERT_EQ(1u, s.mirrors.size());
      EXPECT_EQ(3u, s.mirrors[0].truncated);
      s.totals.truncated = 0;
      expect_same(s, snapshot(without));
    }
  }
}

// A capture's snap length is no mirror's cut.
TEST(Inner, ASnapLengthIsNoCut) {
  NativeDatapath port({.decap = kAll});
  const Bytes whole = ethernet(
      0x0800, ip(47, gre(0x88be, erspan2(3, B(ROCE_RC_SEND_MIDDLE).payload(1024).build().bytes),
                         {.sequence = 1})));
  const Bytes snapped(whole.begin(), whole.begin() + 120);
  EXPECT_EQ(ROCE_CLASS_V2, analyse(port, snapped, static_cast<uint32_t>(whole.size())));
  EXPECT_FALSE(port.truncated());
  EXPECT_EQ(0u, snapshot(port).totals.truncated);
}

// The bits of RFC 3168: not-ECT 0, ECT(1) 1, ECT(0) 2, CE 3. RFC 6040, figure 4; kDropped: "drop".
constexpr int kDropped = -1;
constexpr int kAfterTheTunnel[4][4] = {
    // outer: not-ECT, ECT(1), ECT(0), CE
    {0, 0, 0, kDropped}, // inner not-ECT
    {1, 1, 1, 3},        // ECT(1)
    {2, 1, 2, 3},        // ECT(0)
    {3, 3, 3, 3},        // CE
};

using Wrap = std::function<Bytes(const Bytes &inside, const Ip &outer)>;

// Expects that a packet with `inner` counts with `expected`, or as dropped.
void expect_ecn(const Wrap &wrap, bool of_network, int inner, const Ip &outer, int expected) {
  const Frame f = B(ROCE_RC_SEND_ONLY).ecn(static_cast<uint8_t>(inner)).build();
  const Bytes inside = of_network ? Bytes(f.bytes.begin() + f.l3, f.bytes.end()) : f.bytes;
  NativeDatapath program({.decap = kAll}), analyser({.decap = kAll});
  enter(program, wrap(inside, outer));
  analyse(analyser, wrap(inside, outer));
  for (const NativeDatapath *port : {&program, &analyser}) {
    const Snapshot s = snapshot(*port);
    EXPECT_EQ(expected == kDropped, s.totals.not_ect_in_ce);
    EXPECT_EQ(1u, s.opcodes[ROCE_RC_SEND_ONLY].packets[expected == kDropped ? inner : expected]);
  }
}

Bytes over(const Ip &outer, uint8_t proto, const Bytes &rest) {
  return ethernet(outer.v6 ? 0x86dd : 0x0800, ip(proto, rest, outer));
}

struct Carrier {
  const char *name;
  Wrap wrap;
  bool of_network = false;
};

const std::vector<Carrier> &carriers() {
  static const std::vector<Carrier> kCarriers = {
      {"vxlan", [](const Bytes &in, const Ip &o) { return over(o, 17, vxlan(1, in)); }},
      {"geneve", [](const Bytes &in, const Ip &o) { return over(o, 17, geneve(1, 0x6558, in)); }},
      {"gretap", [](const Bytes &in, const Ip &o) { return over(o, 47, gre(0x6558, in)); }},
      {"nvgre",
       [](const Bytes &in, const Ip &o) { return over(o, 47, gre(0x6558, in, {.key = 5})); }},
      {"gre of IP", [](const Bytes &in, const Ip &o) { return over(o, 47, gre(type_of(in), in)); },
       true},
      {"ip in ip",
       [](const Bytes &in, const Ip &o) {
         return over(o, in[0] >> 4 == 4 ? uint8_t{4} : uint8_t{41}, in);
       },
       true},
      {"mpls in ip", [](const Bytes &in, const Ip &o) { return over(o, 137, mpls(2, in)); }, true},
  };
  return kCarriers;
}

TEST(Inner, PacketsLeaveTunnelsWithTheEcnOfRfc6040) {
  for (const Carrier &carrier : carriers())
    for (const bool v6 : {false, true})
      for (int inner = 0; inner < 4; inner++)
        for (uint8_t outer = 0; outer < 4; outer++) {
          SCOPED_TRACE(fmt::format("{} v6 {} inner {} outer {}", carrier.name, v6, inner, outer));
          expect_ecn(carrier.wrap, carrier.of_network, inner, {.v6 = v6, .ecn = outer},
                     kAfterTheTunnel[inner][outer]);
        }
}

// What carries a mirror's copy says nothing about the network that is mirrored.
TEST(Inner, TheEcnOfMirrorsIsTheirOwnNetworks) {
  const std::vector<Carrier> mirrors = {
      {"erspan I", [](const Bytes &in, const Ip &o) { return over(o, 47, gre(0x88be, in)); }},
      {"erspan II",
       [](const Bytes &in, const Ip &o) {
         return over(o, 47, gre(0x88be, erspan2(3, in), {.sequence = 1}));
       }},
      {"erspan III",
       [](const Bytes &in, const Ip &o) {
         return over(o, 47, gre(0x22eb, erspan3(3, in), {.sequence = 1}));
       }},
      {"gre 0x8949", [](const Bytes &in, const Ip &o) { return over(o, 47, gre(0x8949, in)); }},
      {"gre 0x6558 with numbers",
       [](const Bytes &in, const Ip &o) { return over(o, 47, gre(0x6558, in, {.sequence = 1})); }},
  };
  for (const Carrier &mirror : mirrors)
    for (const bool v6 : {false, true})
      for (int inner = 0; inner < 4; inner++)
        for (uint8_t outer = 0; outer < 4; outer++) {
          SCOPED_TRACE(fmt::format("{} v6 {} inner {} outer {}", mirror.name, v6, inner, outer));
          expect_ecn(mirror.wrap, false, inner, {.v6 = v6, .ecn = outer}, inner);
        }
}

// Two tunnels: each end applies the table, the outer one first. A mirror hides what is around it,
// not what it mirrored.
TEST(Inner, EcnOfTunnelsInTunnels) {
  const auto nested = [](const Bytes &in, const Ip &o) {
    return over(o, 17, vxlan(1, over({.ecn = 2}, 17, vxlan(2, in))));
  };
  expect_ecn(nested, false, 2, {.ecn = 3}, 3);
  expect_ecn(nested, false, 0, {.ecn = 3}, kDropped);
  const auto unmarkable = [](const Bytes &in, const Ip &o) {
    return over(o, 17, vxlan(1, over({.ecn = 0}, 17, vxlan(2, in))));
  };
  expect_ecn(unmarkable, false, 2, {.ecn = 3}, kDropped); // the inner tunnel's packet is dropped
  const auto mirrored = [](const Bytes &in, const Ip &o) {
    return over({.ecn = 3}, 47,
                gre(0x88be, erspan2(3, over(o, 17, vxlan(1, in))), {.sequence = 1}));
  };
  expect_ecn(mirrored, false, 2, {.ecn = 3}, 3);
  expect_ecn(mirrored, false, 2, {.ecn = 0}, 2);
  const auto carried = [](const Bytes &in, const Ip &o) {
    return over(o, 17,
                vxlan(1, over({.ecn = 2}, 47, gre(0x88be, erspan2(3, in), {.sequence = 1}))));
  };
  expect_ecn(carried, false, 2, {.ecn = 3}, 2);
}

// An EtherType or length of 0 is read whole: nothing is cut.
TEST(Inner, AnInnerTypeOfZeroIsNoCut) {
  NativeDatapath program({.decap = kAll}), analyser({.decap = kAll});
  const Bytes inside = ethernet(0, Bytes(60, 1));
  const Bytes mirrored = ethernet(0x0800, ip(47, gre(0x88be, erspan2(3, inside), {.sequence = 1})));
  for (const Bytes &bytes : {mirrored, inside}) {
    enter(program, bytes);
    EXPECT_EQ(ROCE_CLASS_OTHER, analyse(analyser, bytes));
  }
  for (const NativeDatapath *port : {&program, &analyser}) {
    const Snapshot s = snapshot(*port);
    EXPECT_EQ(0u, s.totals.truncated);
    EXPECT_EQ(0u, s.totals.cut);
    EXPECT_EQ(0u, s.mirrors.at(0).truncated);
  }
  // a mirror that leaves no whole Ethernet header did cut
  enter(program, ethernet(0x0800, ip(47, gre(0x88be, erspan2(3, Bytes(13, 0)), {.sequence = 2}))));
  EXPECT_EQ(1u, snapshot(program).totals.truncated);
}

// A session's frames of PSNs (of QP, host) and numbers, in the order of arrival.
struct Mirrored {
  uint32_t number, psn;
  uint8_t qp = 1, opcode = ROCE_RC_SEND_MIDDLE;
  uint16_t session = 7;
};

Snapshot after(const std::vector<Mirrored> &seen) {
  NativeDatapath program({.decap = kAll}), analyser({.decap = kAll});
  for (const Mirrored &one : seen) {
    const Bytes inside = B(one.opcode).qp(one.qp).psn(one.psn).payload(1024).build().bytes;
    const Bytes bytes = ethernet(
        0x0800, ip(47, gre(0x88be, erspan2(one.session, inside), {.sequence = one.number})));
    enter(program, bytes);
    analyse(analyser, bytes);
  }
  const Snapshot a = snapshot(program), b = snapshot(analyser);
  EXPECT_EQ(a.mirrors.size(), b.mirrors.size());
  for (size_t i = 0; i < a.mirrored.size(); i++) {
    EXPECT_EQ(a.mirrored[i].mirror, b.mirrored[i].mirror);
    EXPECT_EQ(a.mirrored[i].network, b.mirrored[i].network);
  }
  return a;
}

struct Missing {
  uint64_t network, mirror, unknown;
  bool operator==(const Missing &) const = default;
};

Missing missing(const Snapshot &s, size_t stream = 0) {
  const uint64_t all = missing_psns(s.streams.at(stream));
  const roce_mirrored &of = s.mirrored.at(stream);
  EXPECT_LE(of.network + of.mirror, all);
  return {of.network, of.mirror, all - of.network - of.mirror};
}

std::ostream &operator<<(std::ostream &to, const Missing &m) {
  return to << "network " << m.network << ", mirror " << m.mirror << ", unknown " << m.unknown;
}

TEST(Mirror, WithoutAGapInItsNumbersTheNetworkLostThePsns) {
  EXPECT_EQ((Missing{3, 0, 0}), missing(after({{10, 0}, {11, 1}, {12, 5}, {13, 6}})));
}

TEST(Mirror, AGapInItsNumbersIsItsLoss) {
  const Snapshot s = after({{10, 0}, {11, 1}, {15, 5}, {16, 6}});
  EXPECT_EQ((Missing{0, 3, 0}), missing(s));
  ASSERT_EQ(1u, s.mirrors.size());
  const roce_mirror &m = s.mirrors[0];
  EXPECT_EQ(3u, m.skipped);
  EXPECT_EQ(1u, m.gaps);
  EXPECT_EQ(3u, m.claimed);
  EXPECT_EQ(4u, roce_mirror_frames(&m));
  EXPECT_EQ(7u, m.id);
  EXPECT_EQ(uint32_t{ROCE_TUNNEL_ERSPAN}, m.tunnel);
  EXPECT_EQ(roce_swap32(0xc6336401), m.src[3]);
  EXPECT_EQ(roce_swap32(0xcb0071fe), m.dst[3]);
}

// 5 PSNs are missing, and the mirror lost 2 frames. A READ REQUEST is one frame of many PSNs, so
// requests cannot say where the rest went; READ responses can.
TEST(Mirror, MoreMissingThanItLost) {
  EXPECT_EQ((Missing{0, 2, 3}), missing(after({{10, 0}, {13, 6}})));
  EXPECT_EQ((Missing{3, 2, 0}), missing(after({{10, 0, 1, ROCE_RC_RDMA_READ_RESPONSE_FIRST},
                                               {13, 6, 1, ROCE_RC_RDMA_READ_RESPONSE_MIDDLE}})));
}

// The mirror lost one frame, which QP 1 misses; what QP 2 misses meanwhile, the network lost, at
// least in sum. A READ REQUEST could have been it, so of requests it is unknown.
TEST(Mirror, AFrameIsLostByOneStreamOnly) {
  const uint8_t data = ROCE_RC_RDMA_READ_RESPONSE_MIDDLE;
  const Snapshot s = after({{1, 0, 1, ROCE_RC_RDMA_READ_RESPONSE_FIRST},
                            {2, 0, 2, ROCE_RC_RDMA_READ_RESPONSE_FIRST},
                            {4, 2, 1, data},
                            {5, 2, 2, data}});
  EXPECT_EQ((Missing{0, 1, 0}), missing(s, 0));
  EXPECT_EQ((Missing{1, 0, 0}), missing(s, 1));
}

// QP 2 had a packet after the mirror's loss: its later gap is the network's.
TEST(Mirror, LossesBeforeTheStreamsLastPacketDoNotCount) {
  const Snapshot s = after({{1, 0, 1}, {2, 0, 2}, {6, 4, 1}, {7, 1, 2}, {8, 3, 2}});
  EXPECT_EQ((Missing{0, 3, 0}), missing(s, 0));
  EXPECT_EQ((Missing{1, 0, 0}), missing(s, 1));
}

constexpr uint8_t kData = ROCE_RC_SEND_MIDDLE;

// A stream by two sessions: the gap in the numbers of 7 shows after the gap in the PSNs.
TEST(Mirror, WhatTheOtherSessionLostIsItsLoss) {
  const std::vector<Mirrored> seen = {{0, 0, 1, kData, 7},
                                      {0, 1, 1, kData, 8},
                                      {1, 2, 1, kData, 7},
                                      {1, 3, 1, kData, 8},
                                      {2, 5, 1, kData, 8}};
  EXPECT_EQ((Missing{0, 0, 1}), missing(after(seen))) << "7 has not come since";
  std::vector<Mirrored> lost = seen, whole = seen;
  lost.push_back({3, 6, 1, kData, 7});
  EXPECT_EQ((Missing{0, 1, 0}), missing(after(lost)));
  whole.push_back({2, 6, 1, kData, 7});
  EXPECT_EQ((Missing{1, 0, 0}), missing(after(whole)));
}

// Both lost a frame: each explains one PSN, and the third is unknown, as a READ REQUEST may be
// lost.
TEST(Mirror, BothSessionsLost) {
  const std::vector<Mirrored> seen = {
      {0, 0, 1, kData, 7}, {0, 1, 1, kData, 8}, {2, 5, 1, kData, 8}, {2, 6, 1, kData, 7}};
  EXPECT_EQ((Missing{0, 2, 1}), missing(after(seen)));
  std::vector<Mirrored> data = seen;
  for (Mirrored &one : data)
    one.opcode = ROCE_RC_RDMA_READ_RESPONSE_MIDDLE;
  data[0].opcode = ROCE_RC_RDMA_READ_RESPONSE_FIRST;
  EXPECT_EQ((Missing{1, 2, 0}), missing(after(data)));
}

// Frames of two sessions pass one another: what came late was not lost.
TEST(Mirror, WhatTheOtherSessionBringsLateIsNotMissing) {
  const std::vector<Mirrored> seen = {{0, 0, 1, kData, 7}, {0, 1, 1, kData, 8},
                                      {1, 3, 1, kData, 8}, {1, 2, 1, kData, 7},
                                      {2, 5, 1, kData, 8}, {2, 6, 1, kData, 7}};
  EXPECT_EQ((Missing{1, 0, 0}), missing(after(seen)));
}

// The network loses packets before they are mirrored, each session loses frames of its own.
TEST(Mirror, OfTwoSessionsNoLossIsTakenForAnother) {
  for (uint32_t seed = 1; seed <= 200; seed++) {
    std::mt19937 random(seed);
    const auto one_in = [&random](uint32_t n) { return random() % n == 0; };
    const uint32_t network_rate = 10 + random() % 90, mirror_rate = 10 + random() % 90;
    std::vector<Mirrored> seen = {{0, 0, 1, kData, 7}, {0, 1, 1, kData, 8}};
    uint32_t numbers[2] = {1, 1};
    Missing lost{}, open{}; // open: after the last packet that was seen
    for (uint32_t psn = 2; psn < 1000; psn++) {
      const uint32_t which = random() % 2;
      if (one_in(network_rate)) {
        open.network++;
        continue;
      }
      const uint32_t number = numbers[which]++;
      if (one_in(mirror_rate)) {
        open.mirror++;
        continue;
      }
      seen.push_back({number, psn, 1, kData, static_cast<uint16_t>(7 + which)});
      lost.network += open.network;
      lost.mirror += open.mirror;
      open = {};
    }
    const Missing got = missing(after(seen));
    EXPECT_EQ(lost.network + lost.mirror, got.network + got.mirror + got.unknown);
    EXPECT_LE(got.network, lost.network) << "seed " << seed;
    EXPECT_LE(got.mirror, lost.mirror) << "seed " << seed;
    EXPECT_LE(got.unknown, (lost.network + lost.mirror) / 2) << "seed " << seed;
  }
}

// After 64 packets by 8 alone, 7 is not waited for; what waits does until 7 comes again.
TEST(Mirror, ASessionThatNoLongerCarriesTheStream) {
  std::vector<Mirrored> seen = {{0, 0, 1, kData, 7}, {0, 1, 1, kData, 8}};
  uint32_t number = 1, psn = 3; // 2 is missing
  for (int i = 0; i < 62; i++)
    seen.push_back({number++, psn++, 1, kData, 8});
  EXPECT_EQ((Missing{0, 0, 1}), missing(after(seen)));
  std::vector<Mirrored> sooner = seen;
  sooner.push_back({number, psn + 1, 1, kData, 8});
  EXPECT_EQ((Missing{0, 0, 2}), missing(after(sooner)));
  seen.push_back({number++, psn++, 1, kData, 8});
  seen.push_back({number, psn + 1, 1, kData, 8});
  EXPECT_EQ((Missing{1, 0, 1}), missing(after(seen)));
  seen.push_back({2, psn + 2, 1, kData, 7});
  EXPECT_EQ((Missing{1, 1, 0}), missing(after(seen)));
}

// By a third session meanwhile: 7 may have lost what 8 and 9 did not.
TEST(Mirror, OfThreeSessionsWhatNoneLostIsUnknown) {
  const std::vector<Mirrored> seen = {{0, 0, 1, kData, 7}, {0, 1, 1, kData, 8}, {0, 2, 1, kData, 9},
                                      {1, 4, 1, kData, 9}, {1, 5, 1, kData, 8}, {2, 7, 1, kData, 8},
                                      {2, 8, 1, kData, 9}};
  EXPECT_EQ((Missing{0, 0, 2}), missing(after(seen)));
}

TEST(Mirror, WithoutNumbersOrFromAnotherSessionItIsUnknown) {
  EXPECT_EQ((Missing{0, 0, 2}), missing(after({{10, 0}, {11, 3, 1, ROCE_RC_SEND_MIDDLE, 8}})));
  NativeDatapath port({.decap = kAll});
  for (const uint32_t psn : {0, 3})
    enter(port, ethernet(0x0800,
                         ip(47, gre(0x8949,
                                    B(ROCE_RC_SEND_MIDDLE).psn(psn).payload(1024).build().bytes))));
  EXPECT_EQ((Missing{0, 0, 2}), missing(snapshot(port)));
}

// What comes later is no longer missing: first what the network lost, as that is sent again.
TEST(Mirror, WhatIsSentAgainWasTheNetworks) {
  std::vector<Mirrored> seen = {{10, 0}, {11, 3}, {14, 6}}; // network 1, 2; mirror 4, 5
  EXPECT_EQ((Missing{2, 2, 0}), missing(after(seen)));
  seen.push_back({15, 1});
  EXPECT_EQ((Missing{1, 2, 0}), missing(after(seen)));
  seen.push_back({16, 2});
  EXPECT_EQ((Missing{0, 2, 0}), missing(after(seen)));
  seen.push_back({17, 4});
  EXPECT_EQ((Missing{0, 1, 0}), missing(after(seen)));
  seen.push_back({18, 5});
  EXPECT_EQ((Missing{0, 0, 0}), missing(after(seen)));
}

TEST(Mirror, NumbersMayComeLateOrTwiceOrStartAnew) {
  const roce_mirror late = after({{5, 0}, {7, 2}, {6, 1}, {8, 3}}).mirrors.at(0);
  EXPECT_EQ(1u, late.skipped);
  EXPECT_EQ(1u, late.late);
  EXPECT_EQ(4u, roce_mirror_frames(&late));
  const roce_mirror twice = after({{5, 0}, {5, 1}, {6, 2}}).mirrors.at(0);
  EXPECT_EQ(1u, twice.repeated);
  EXPECT_EQ(0u, twice.skipped);
  EXPECT_EQ(3u, roce_mirror_frames(&twice));
  const roce_mirror anew = after({{500000, 0}, {500002, 1}, {1, 2}, {2, 3}, {4, 4}}).mirrors.at(0);
  EXPECT_EQ(1u, anew.restarts);
  EXPECT_EQ(2u, anew.skipped);
  EXPECT_EQ(5u, roce_mirror_frames(&anew));
  const roce_mirror wraps = after({{0xfffffffe, 0}, {0xffffffff, 1}, {0, 2}, {2, 3}}).mirrors.at(0);
  EXPECT_EQ(0u, wraps.restarts);
  EXPECT_EQ(1u, wraps.skipped);
  EXPECT_EQ(4u, roce_mirror_frames(&wraps));
}

TEST(Mirror, SessionsWithoutRoomAreCounted) {
  NativeDatapath port({.decap = kAll});
  uint32_t sessions = 0;
  for (uint8_t host = 1; host <= 4; host++)
    for (uint32_t session = 0; session < 100; session++, sessions++)
      enter(port,
            ethernet(
                0x0800,
                ip(47,
                   gre(0x88be, erspan2(session, B(ROCE_RC_SEND_ONLY).psn(sessions).build().bytes),
                       {.sequence = 1}),
                   {.host = host})));
  const Snapshot s = snapshot(port);
  EXPECT_LE(s.mirrors.size(), size_t{ROCE_MIRRORS});
  EXPECT_GT(s.mirrors.size(), size_t{ROCE_MIRRORS} * 8 / 10);
  EXPECT_EQ(sessions, s.mirrors.size() + s.totals.mirrors_full);
  EXPECT_EQ(sessions, roce_stream_packets(&s.streams.at(0)))
      << "their packets are counted all the same";
}

} // namespace
} // namespace xr::test::inner_test
