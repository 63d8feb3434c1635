// SPDX-License-Identifier: Apache-2.0
// Who sent PFC and PAUSE frames, for how long they paused, and which break the standards; and the
// table of one DSCP.
#include <gtest/gtest.h>

#include "analysis/analyzer.h"
#include "capture_writer.h"
#include "report/reports.h"
#include "report/text.h"
#include "unit/tunnels.h"

namespace xr::test::pfc_senders_test {
namespace {

Snapshot analyzed(const std::string &path, const Analyzer::Options &options = {}) {
  AnalyzeRun how;
  how.options = options;
  auto done = analyze(path, how);
  EXPECT_TRUE(done.ok());
  return done ? done->snapshot : Snapshot{};
}

Snapshot analyzed(const std::vector<Bytes> &frames, const Analyzer::Options &options = {}) {
  PcapWriter writer(false, 1);
  for (uint32_t i = 0; i < frames.size(); i++)
    writer.packet(frames[i], 1, i);
  const TemporaryFile file(writer.bytes);
  return analyzed(file.path(), options);
}

std::string text_of(const Snapshot &s) { return report::to_text(report::analyze_report(s), {}); }

uint64_t faulty(const PfcSender &sender, PfcFault kind) {
  return sender.faults[static_cast<size_t>(kind)].frames;
}
uint64_t all_faults(const Snapshot &s) {
  uint64_t sum = 0;
  for (const PfcSender &sender : s.pfc_senders.senders)
    for (const PfcSender::Fault &fault : sender.faults)
      sum += fault.frames;
  return sum;
}

// A PAUSE of `quanta` from 02:00:00:00:XX:XX.
Bytes pause(uint16_t sender, uint16_t opcode = 1, const Bytes &to = {1, 0x80, 0xc2, 0, 0, 1}) {
  Bytes out = to;
  tunnel::put(out, uint64_t{0x020000000000} | sender, 6);
  tunnel::put(out, 0x8808, 2);
  tunnel::put(out, opcode, 2);
  tunnel::put(out, 100, 2);
  out.resize(60);
  return out;
}

// Numbers by tshark (macc.cbfc.enbv, macc.cbfc.pause_time.c0 to c7) and by hand.
TEST(PfcSenders, OfOneSender) {
  Analyzer::Options options;
  options.quantum_ps = 5120; // 512 bits at 100 Gbit/s
  const Snapshot s = analyzed(XR_TEST_DATA "/cases/pfc_senders.pcap", options);
  ASSERT_EQ(s.pfc_senders.senders.size(), 1u);
  const PfcSender &sender = s.pfc_senders.senders[0];
  EXPECT_EQ(sender.source, (Mac{2, 0, 0, 0, 0, 1}));
  const PfcSender::Row &three = sender.rows[3], &all = sender.rows[ROCE_PFC_ALL];
  constexpr uint64_t kBegun = 1'700'000'000'000'000'000;
  EXPECT_EQ(three.xoff, 5u); // frames 1, 4, 6, 8, 9
  EXPECT_EQ(three.xon, 2u);  // frames 2, 5
  EXPECT_EQ(three.quanta, 2u * 65535 + 4 + 9 + 5);
  EXPECT_EQ(three.first_ns, kBegun);
  EXPECT_EQ(three.last_ns, kBegun + 80'000);
  // Twice 10 us until it was released, and 18 quanta: of 5.12 ns, at most of 512 ns.
  EXPECT_NEAR(static_cast<double>(three.paused.paused_ns), 20'000 + 18 * 5.12, 3);
  EXPECT_EQ(three.slow.paused_ns, 20'000u + 18 * 512);
  EXPECT_EQ(all.xoff, 2u);
  EXPECT_EQ(all.quanta, 8192u);
  EXPECT_EQ(all.first_ns, kBegun + 110'000);
  EXPECT_EQ(all.paused.paused_ns, 10'000u);      // until the capture's end
  for (size_t i = 0; i < ROCE_PFC_COUNTS; i++) { // the sums of all senders
    EXPECT_EQ(sender.rows[i].xoff, s.totals.pfc_xoff[i]) << i;
    EXPECT_EQ(sender.rows[i].xon, s.totals.pfc_xon[i]) << i;
    EXPECT_EQ(sender.rows[i].paused.paused_ns, s.pfc[i].paused_ns) << i;
  }
}

TEST(PfcSenders, FramesThatBreakTheStandards) {
  const Snapshot s = analyzed(XR_TEST_DATA "/cases/pfc_senders.pcap");
  ASSERT_EQ(s.pfc_senders.senders.size(), 1u);
  const std::pair<PfcFault, uint64_t> kFirst[] = {{PfcFault::Destination, 9},
                                                  {PfcFault::Opcode, 10},
                                                  {PfcFault::Short, 11},
                                                  {PfcFault::Tagged, 13},
                                                  {PfcFault::ReservedBits, 8}};
  for (const auto &[kind, frame] : kFirst) {
    const PfcSender::Fault &fault = s.pfc_senders.senders[0].faults[static_cast<size_t>(kind)];
    EXPECT_EQ(fault.frames, 1u) << frame;
    EXPECT_EQ(fault.first_frame, frame);
  }
  const std::string text = text_of(s);
  EXPECT_NE(text.find("02:00:00:00:00:01         3     5    2  131,088  0.000000  0.000080"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("reserved opcode"), std::string::npos) << text;
}

// PAUSE may go to a station's own address; PFC and other groups may not be the destination.
TEST(PfcSenders, DestinationsAndOpcodes) {
  const Bytes station = {2, 0, 0, 0, 0, 9}, everyone(6, 0xff);
  EXPECT_EQ(all_faults(analyzed({pause(1), pause(1, 1, station), pause(1, 0x0101)})), 0u);
  const Snapshot s = analyzed({pause(1, 1, everyone), pause(1, 0x0101, station), pause(1, 0),
                               pause(1, 7), pause(1, 0x0102)});
  ASSERT_EQ(s.pfc_senders.senders.size(), 1u);
  EXPECT_EQ(faulty(s.pfc_senders.senders[0], PfcFault::Destination), 2u);
  EXPECT_EQ(faulty(s.pfc_senders.senders[0], PfcFault::Opcode), 3u);
  // EPON's frames are none of PFC.
  EXPECT_EQ(analyzed({pause(1, 2), pause(1, 6)}).pfc_senders.frames, 0u);
}

TEST(PfcSenders, EachHasItsRowAndFurtherOnesAreCounted) {
  std::vector<Bytes> frames;
  for (uint16_t i = 0; i < PfcSenders::kSenders + 5; i++)
    frames.push_back(pause(i));
  frames.push_back(pause(3));
  const Snapshot s = analyzed(frames);
  EXPECT_EQ(s.pfc_senders.senders.size(), PfcSenders::kSenders);
  EXPECT_EQ(s.pfc_senders.senders[3].rows[ROCE_PFC_ALL].xoff, 2u);
  EXPECT_EQ(s.pfc_senders.without_row, 5u);
  EXPECT_NE(text_of(s).find("PFC and PAUSE frames of senders without a row"), std::string::npos);
}

// The sender of what a mirror sends is inside.
TEST(PfcSenders, InTunnels) {
  Analyzer::Options options;
  options.decap = ROCE_TUNNELS_ALL;
  const Snapshot s = analyzed(
      {tunnel::ethernet(0x0800, tunnel::ip(47, tunnel::gre(0x88be, tunnel::erspan2(7, pause(5)),
                                                           {.sequence = 1})))},
      options);
  ASSERT_EQ(s.pfc_senders.senders.size(), 1u);
  EXPECT_EQ(s.pfc_senders.senders[0].source, (Mac{2, 0, 0, 0, 0, 5}));
  EXPECT_EQ(all_faults(s), 0u);
}

// tshark: ip.dsfield.dscp is 26 in all three packets. A table of one row is the answer.
TEST(Classes, OneDscpHasATable) {
  const std::string text = text_of(analyzed(XR_TEST_DATA "/cases/dscp26_only.pcap"));
  const size_t at = text.find("DSCP  PACKETS");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_NE(text.find("  26        3", at), std::string::npos) << text;
}

} // namespace
} // namespace xr::test::pfc_senders_test
