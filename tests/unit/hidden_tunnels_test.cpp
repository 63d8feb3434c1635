// SPDX-License-Identifier: Apache-2.0
// Frames in tunnels, analyzed without --decap: the report says which tunnels hide how much RoCE.
#include <map>

#include <gtest/gtest.h>

#include "analysis/analyzer.h"
#include "capture_writer.h"
#include "report/json.h"
#include "report/reports.h"
#include "report/text.h"
#include "unit/tunnels.h"

namespace xr::test::hidden_tunnels_test {
namespace {

Snapshot analyzed(const std::vector<Bytes> &frames, uint32_t decap = 0, unsigned jobs = 1) {
  PcapWriter writer(false, 1);
  for (const Bytes &bytes : frames)
    writer.packet(bytes, 0, 0);
  const TemporaryFile file(writer.bytes);
  AnalyzeRun how;
  how.options.decap = decap;
  how.jobs = jobs;
  auto done = analyze(file.path(), how);
  EXPECT_TRUE(done.ok());
  return done ? done->snapshot : Snapshot{};
}

const Bytes kRoce = FrameBuilder(0x04).psn(1).payload(64).build().bytes;

// A TCP segment, in Ethernet or alone.
Bytes other(bool of_network) {
  const Bytes packet = tunnel::ip(6, Bytes(20, 0x50));
  return of_network ? packet : tunnel::ethernet(0x0800, packet);
}

Bytes network_of(const Bytes &frame) { return {frame.begin() + 14, frame.end()}; }

// By the names of the ways, not by our parser.
std::vector<roce_tunnel> kinds_in(const std::string &name) {
  static const std::pair<const char *, roce_tunnel> kWords[] = {
      {"erspan", ROCE_TUNNEL_ERSPAN}, {"gre", ROCE_TUNNEL_GRE},   {"vxlan", ROCE_TUNNEL_VXLAN},
      {"geneve", ROCE_TUNNEL_GENEVE}, {"mpls", ROCE_TUNNEL_MPLS}, {"ip in", ROCE_TUNNEL_IPIP}};
  std::vector<roce_tunnel> kinds;
  for (const auto &[word, kind] : kWords)
    if (name.find(word) != std::string::npos)
      kinds.push_back(kind);
  return kinds;
}

TEST(HiddenTunnels, EachKindIsCounted) {
  for (const tunnel::Way &way : tunnel::ways()) {
    SCOPED_TRACE(way.name);
    const Bytes inside = way.of_network ? network_of(kRoce) : kRoce;
    const std::vector<Bytes> frames = {way.wrap(inside, 1), way.wrap(other(way.of_network), 2),
                                       way.wrap(inside, 3)};
    const std::vector<roce_tunnel> kinds = kinds_in(way.name);
    for (const unsigned jobs : {1U, 2U}) {
      const Snapshot s = analyzed(frames, 0, jobs);
      for (uint32_t kind = 0; kind < ROCE_TUNNELS; kind++) {
        const bool expected = std::ranges::count(kinds, kind) > 0;
        EXPECT_EQ(s.hidden_tunnels[kind].frames, expected ? 3u : 0u) << kind;
        EXPECT_EQ(s.hidden_tunnels[kind].roce, expected ? 2u : 0u) << kind;
        EXPECT_EQ(s.hidden_tunnels[kind].unknown, 0u) << kind;
      }
      EXPECT_EQ(s.streams.size(), kinds.empty() ? 1u : 0u);
    }
    for (const HiddenTunnel &hidden : analyzed(frames, ROCE_TUNNELS_ALL).hidden_tunnels)
      EXPECT_EQ(hidden.frames, 0u); // nothing is hidden
  }
}

// Up to two tags are read anyway.
TEST(HiddenTunnels, TagsHideRoceFromThree) {
  const auto tagged = [](int tags, const Bytes &frame) {
    return tunnel::ethernet(0x0800, network_of(frame), tags);
  };
  const Snapshot s =
      analyzed({tagged(2, kRoce), tagged(3, kRoce), tagged(3, other(false)), other(false)});
  EXPECT_EQ(s.hidden_tunnels[ROCE_TUNNEL_QINQ].frames, 1u);
  EXPECT_EQ(s.hidden_tunnels[ROCE_TUNNEL_QINQ].roce, 1u);
}

// What a mirror cut before the transport's header may be RoCE.
TEST(HiddenTunnels, WhatIsCutIsUnknown) {
  const Bytes cut(kRoce.begin(), kRoce.begin() + 14 + 20 + 4);
  const Bytes frame = tunnel::ethernet(
      0x0800, tunnel::ip(47, tunnel::gre(0x88be, tunnel::erspan2(7, cut, true), {.sequence = 1})));
  const Snapshot s = analyzed({frame});
  EXPECT_EQ(s.hidden_tunnels[ROCE_TUNNEL_ERSPAN].frames, 1u);
  EXPECT_EQ(s.hidden_tunnels[ROCE_TUNNEL_ERSPAN].roce, 0u);
  EXPECT_EQ(s.hidden_tunnels[ROCE_TUNNEL_ERSPAN].unknown, 1u);
}

TEST(HiddenTunnels, TheReportNamesThem) {
  std::vector<Bytes> frames;
  for (uint32_t i = 0; i < 3000; i++)
    frames.push_back(tunnel::ethernet(
        0x0800, tunnel::ip(47, tunnel::gre(0x88be, tunnel::erspan2(7, kRoce), {.sequence = i}))));
  const Snapshot s = analyzed(frames);
  const std::string text = report::to_text(report::analyze_report(s), {});
  EXPECT_NE(text.find("ERSPAN      GRE 0x88BE, 0x22EB   3,000   3,000  --decap auto"),
            std::string::npos)
      << text;
  const std::string json = report::to_json(report::analyze_report(s));
  EXPECT_NE(
      json.find(
          R"({"tunnel":"erspan","name":"ERSPAN",)"
          R"("known_by":"GRE 0x88BE, 0x22EB","frames":3000,"roce":3000,"unknown":0,"option":"--decap auto"})"),
      std::string::npos)
      << json;
}

TEST(HiddenTunnels, WithoutRoceInsideThereIsNothingToTakeOff) {
  const std::string text = report::to_text(
      report::analyze_report(
          analyzed({tunnel::ethernet(0x0800, tunnel::ip(17, tunnel::vxlan(77, other(false))))})),
      {});
  EXPECT_NE(text.find("VXLAN       UDP 4789       1       0"), std::string::npos) << text;
  EXPECT_EQ(text.find("--decap"), std::string::npos) << text;
}

} // namespace
} // namespace xr::test::hidden_tunnels_test
