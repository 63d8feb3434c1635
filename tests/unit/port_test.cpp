// SPDX-License-Identifier: Apache-2.0
// The ways that a frame may take through a port (include/roce/port.h) lead to one result: plain
// frames and those that are read whole, rules with a shortcut and rules without.
#include <array>

#include <fmt/format.h>

#include "impair_port.h"
#include "roce/cm.h"
#include "same_streams.h"

namespace xr::test::port_test {
namespace {

using B = FrameBuilder;

// Each opcode over each network, with up to two tags; losses, repeats, marks and NAKs; RDMA CM;
// frames that are no RoCE, malformed or cut short.
std::vector<Frame> frames() {
  std::vector<B> all = frame_kinds();
  all.push_back(B(ROCE_UD_SEND_ONLY).qp(ROCE_QPN_GSI).payload(ROCE_MAD_LEN));
  all.push_back(B(4).claim(8));
  all.push_back(B(4).payload(64).trailer(3));
  all.push_back(B(4).payload(64).trailer(8).snap(
      122)); // IPv4 without tags: whole but for a part of the trailer
  for (uint32_t snap : {10, 30, 50, 60, 70})
    all.push_back(B(6).payload(256).snap(snap));
  std::vector<Frame> wrapped;
  for (int net = 0; net < B::kNetworks; net++)
    for (int tags = 0; tags < 3; tags++)
      for (B frame : all)
        wrapped.push_back(frame.over(net).tags(tags).build());
  return wrapped;
}

void expect_same(const Snapshot &a, const Snapshot &b) {
  EXPECT_EQ(0, std::memcmp(a.opcodes.data(), b.opcodes.data(), sizeof(a.opcodes)));
  EXPECT_EQ(0, std::memcmp(&a.totals, &b.totals, sizeof(a.totals)));
  expect_same_streams(a, b);
}

// The program's way, where plain frames are read in part, and the analyser's, where all are read
// whole before they are counted.
TEST(Port, CountsPlainFramesAsThoseThatAreReadWhole) {
  for (const bool track : {true, false}) {
    NativeDatapath program({.track = track}), analyser({.track = track});
    for (const Frame &f : frames()) {
      const NativeDatapath::FrameView frame{f.bytes.data(), static_cast<uint32_t>(f.bytes.size()),
                                            f.length, 0};
      program.frame(frame);
      roce_packet packet;
      const roce_class class_ = analyser.parse(frame, packet);
      analyser.account(frame, class_, packet);
    }
    Snapshot a, b;
    program.snapshot(a);
    analyser.snapshot(b);
    EXPECT_EQ(track, !a.streams.empty());
    expect_same(a, b);
  }
}

// Two ports meet the same frames with rules that come to the same.
void expect_same_port(const std::vector<std::string> &one, const std::vector<std::string> &other) {
  Port a(one), b(other);
  uint64_t changed = 0, now = 0;
  for (const Frame &f : frames()) {
    if (f.bytes.size() < f.length) // on a wire, frames are whole
      continue;
    Bytes x = f.bytes, y = f.bytes;
    now += 50'000;
    ASSERT_EQ(a.impair(x, now), b.impair(y, now));
    ASSERT_EQ(x, y);
    changed += x != f.bytes;
  }
  EXPECT_GT(changed, 0U);
  EXPECT_EQ(changed, a.totals().marked);
  EXPECT_EQ(a.matched(), b.matched());
  EXPECT_EQ(a.acted(), b.acted());
  expect_same(a.snapshot(), b.snapshot());
}

// A limit, never reached, makes a marking rule take the way of all others: a plan, then the edits.
TEST(Port, MarksWithoutAPlanAsWithOne) {
  for (const char *words :
       {"ce", "ce force", "dest-qp 0x11 ce", "vlan any probability 50% ce seed 4",
        "red 1k 2k 50% rate 100mbit force seed 3"}) {
    SCOPED_TRACE(words);
    expect_same_port({words}, {fmt::format("{} limit 1000000000", words)});
  }
}

// Tables decide `opcode`; they leave open a range of sizes, which all packets here are in.
TEST(Port, MarksWhereTablesLeaveARuleOpen) {
  for (const char *words : {"opcode data", "pkey 0x7fff-0xffff", "se 0 not fecn 1"})
    expect_same_port({fmt::format("{} ce", words)}, {fmt::format("{} size 1-5000 ce", words)});
}

// Between the same addresses and QPs, in one PSN space each; what one answers is not the other's.
TEST(Port, RoceV1AndV2AreTwoStreams) {
  NativeDatapath port({});
  const auto enter = [&port](const B &frame) {
    const Frame f = frame.build();
    const auto size = static_cast<uint32_t>(f.bytes.size());
    port.frame({f.bytes.data(), size, size, 0});
  };
  for (uint32_t psn = 0; psn < 8; psn++) {
    enter(B(ROCE_RC_SEND_ONLY).qp(7).psn(psn));
    enter(B(ROCE_RC_ACKNOWLEDGE).from(2).to(1).qp(8).psn(psn));
    enter(B(ROCE_RC_SEND_ONLY).v1().mapped().qp(7).psn(100 + psn));
    enter(B(ROCE_RC_ACKNOWLEDGE).v1().mapped().from(2).to(1).qp(9).psn(100 + psn));
  }
  Snapshot s;
  port.snapshot(s);
  ASSERT_EQ(4u, s.streams.size());
  for (size_t i = 0; i < 4; i++) {
    const roce_stream &stream = s.streams[i];
    EXPECT_EQ(i >= 2, (stream.key.qp_kind & ROCE_KEY_V1) != 0);
    EXPECT_NE(0u, stream.key.qp_kind & ROCE_KEY_IPV4);
    EXPECT_EQ(8u, roce_stream_packets(&stream));
    EXPECT_EQ(0u, roce_stream_counter(&stream, ROCE_GAPS));
  }
  EXPECT_EQ(8u, s.streams[0].src_qp);
  EXPECT_EQ(9u, s.streams[2].src_qp);
  EXPECT_EQ(8u, s.opcodes[ROCE_RC_SEND_ONLY].packets[2]);
  EXPECT_EQ(8u, s.opcodes[ROCE_OPCODE_COUNT_V1 + ROCE_RC_SEND_ONLY].packets[0]);
}

NativeDatapath::FrameView whole(const Bytes &bytes, uint64_t time_ns = 0) {
  const auto size = static_cast<uint32_t>(bytes.size());
  return {bytes.data(), size, size, time_ns};
}

TEST(Port, CountsByDscpAndPcp) {
  NativeDatapath port({.classes = true}), off({});
  uint64_t bytes = 0;
  const auto enter = [&](B frame) {
    const Frame f = frame.build();
    bytes += f.bytes.size();
    port.frame(whole(f.bytes));
    off.frame(whole(f.bytes));
  };
  enter(B(4));                                         // TOS 0x6a: DSCP 26
  enter(B(4).ipv6());                                  // DSCP 26
  enter(B(4).vlan(0x8100));                            // PCP 3, DEI 0, VID 100
  enter(B(4).ip_options(2).vlan(0x88a8).vlan(0x8100)); // the outer tag's
  enter(B(4).v1().vlan(0x8100));                       // no DSCP
  enter(B(4).port(4790));                              // no RoCE
  Snapshot s, none;
  port.snapshot(s);
  off.snapshot(none);
  EXPECT_TRUE(none.classes.empty());
  ASSERT_EQ(size_t{ROCE_CLASS_COUNTS}, s.classes.size());
  uint64_t counted = 0;
  for (uint32_t i = 0; i < ROCE_CLASS_COUNTS; i++) {
    EXPECT_EQ(i == 26                    ? 4u
              : i == ROCE_CLASS_PCP + 3  ? 3u
              : i == ROCE_CLASS_UNTAGGED ? 2u
                                         : 0u,
              s.classes[i].packets)
        << i;
    if (i >= ROCE_CLASS_PCP)
      counted += s.classes[i].bytes;
  }
  EXPECT_EQ(bytes, counted + s.totals.bytes);
}

// A PFC frame: which priorities, and the quanta of each.
Bytes pfc(uint16_t enabled, const std::array<uint16_t, 8> &quanta) {
  Bytes f = {1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 8, 1, 1};
  const auto put = [&f](uint16_t v) {
    f.push_back(static_cast<uint8_t>(v >> 8));
    f.push_back(static_cast<uint8_t>(v));
  };
  put(enabled);
  for (const uint16_t q : quanta)
    put(q);
  f.resize(60);
  return f;
}

TEST(Port, CountsWhatPfcPauses) {
  NativeDatapath port({.quantum_ps = 51200}); // 10 Gbit/s: 65,535 quanta are 3.355 ms
  const auto at = [&](uint64_t us, const Bytes &frame) { port.frame(whole(frame, us * 1000)); };
  at(1000, pfc(0x18, {9, 9, 9, 65535, 1000, 9, 9, 9})); // 3 and 4
  at(2000, pfc(0x08, {0, 0, 0, 65535}));                // 3 again, 1 ms later
  at(2500, pfc(0x08, {}));                              // 3 is released
  at(4000, pfc(0x08, {}));                              // and was already
  at(5000, pfc(0x80, {0, 0, 0, 0, 0, 0, 0, 100}));      // 7, for 5.12 us
  Bytes pause = {1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 8, 0, 1, 0x10, 0};
  pause.resize(60);
  at(5002, pause); // all, for 4096 quanta: 209.7 us
  pause.resize(17);
  at(5003, pause); // cut short
  Snapshot s;
  port.snapshot(s);
  EXPECT_EQ(7u, s.totals.frames[ROCE_CLASS_PFC]);
  const auto expect = [&s](size_t priority, uint64_t xoff, uint64_t xon, uint64_t quanta,
                           uint64_t paused_ns) {
    EXPECT_EQ(xoff, s.totals.pfc_xoff[priority]) << priority;
    EXPECT_EQ(xon, s.totals.pfc_xon[priority]) << priority;
    EXPECT_EQ(quanta, s.totals.pfc_quanta[priority]) << priority;
    EXPECT_EQ(paused_ns, s.pfc[priority].paused_ns) << priority;
  };
  for (const size_t priority : {0, 1, 2, 5, 6})
    expect(priority, 0, 0, 0, 0);
  expect(3, 2, 2, 131070, 1'500'000);
  expect(4, 1, 0, 1000, 51'200);
  expect(7, 1, 0, 100, 3'000); // of 5.12 us, until the last frame
  expect(ROCE_PFC_ALL, 1, 0, 4096, 1'000);
}

} // namespace
} // namespace xr::test::port_test
