// SPDX-License-Identifier: Apache-2.0
// Captures of mirrors whose sessions' numbers alone do not say who lost the missing PSNs: of a
// session that samples, and of a stream that two sessions carry.
#include <array>

#include <gtest/gtest.h>

#include "analysis/analyzer.h"
#include "native/native_datapath.h"
#include "report/reports.h"
#include "roce/config.h"
#include "unit/tunnels.h"

namespace xr::test::mirror_cases_test {
namespace {

using namespace tunnel;
using report::Document;
using report::Table;
using report::Value;

Snapshot of_case(const std::string &name) {
  AnalyzeRun how;
  how.options.decap = ROCE_TUNNELS_ALL;
  Result<Analysis> done = analyze(XR_TEST_DATA "/cases/" + name + ".pcap.gz", how);
  EXPECT_TRUE(done.ok()) << done.error().message;
  return done ? std::move(done).get().snapshot : Snapshot{};
}

// A cell of the report's table `key`.
Value cell(const Snapshot &s, const std::string &key, size_t row, const std::string &column) {
  const Document document = report::analyze_report(s);
  for (const report::Section &section : document.sections)
    if (const Table *table = std::get_if<Table>(&section.body); table && section.key == key)
      for (size_t i = 0; i < table->columns.size(); i++)
        if (table->columns[i].key == column && row < table->rows)
          return table->cell(row, i);
  ADD_FAILURE() << "no " << key << "[" << row << "]." << column;
  return {};
}

uint64_t number(const Snapshot &s, const std::string &column) {
  const Value value = cell(s, "streams", 0, column);
  return std::get<uint64_t>(value);
}

// Missing PSNs of the report's first stream by who lost them: network, mirror, unknown.
using Psns = std::array<uint64_t, 3>;
Psns missing(const Snapshot &s) {
  return {number(s, "missing_network"), number(s, "missing_mirror"), number(s, "missing_unknown")};
}

bool looks_sampled(const Snapshot &s) { return std::get<bool>(cell(s, "mirrors", 0, "sampled")); }

// Frames of one session, numbered without a gap unless `lost`, with PSNs `each` apart.
struct Run {
  uint32_t packets, each = 1;
  uint32_t lost_every = 0; // of so many frames the mirror lost one, which was a packet
  uint8_t opcode = ROCE_RC_SEND_MIDDLE;
};

class Session {
public:
  void see(const Run &run) {
    for (uint32_t i = 0; i < run.packets; i++) {
      psn_ += run.each;
      if (run.lost_every && i % run.lost_every == 0) {
        psn_++;
        number_++;
      }
      const Bytes inside = FrameBuilder(run.opcode).psn(psn_).payload(1024).build().bytes;
      const Bytes bytes =
          ethernet(0x0800, ip(47, gre(0x88be, erspan2(7, inside), {.sequence = number_++})));
      const auto size = static_cast<uint32_t>(bytes.size());
      port_.frame({bytes.data(), size, size});
    }
  }

  Snapshot snapshot() const {
    Snapshot s;
    port_.snapshot(s);
    return s;
  }

private:
  NativeDatapath port_{NativeDatapath::Options{.decap = ROCE_TUNNELS_ALL}};
  uint32_t psn_ = 0, number_ = 0;
};

// tshark: PSNs 0, 100, ..., 9900 with the numbers 0 to 99.
TEST(SampledMirror, WhatItDidNotSendIsUnknown) {
  const Snapshot s = of_case("erspan2_sampled_1_in_100");
  EXPECT_EQ((Psns{0, 0, 9801}), missing(s));
  EXPECT_TRUE(looks_sampled(s));
}

TEST(SampledMirror, NeedsSixteenGaps) {
  Session session;
  session.see({.packets = 16, .each = 10}); // 15 gaps of 9
  EXPECT_EQ((Psns{15 * 9, 0, 0}), missing(session.snapshot()));
  EXPECT_FALSE(looks_sampled(session.snapshot()));
  session.see({.packets = 1, .each = 10});
  EXPECT_EQ((Psns{0, 0, 16 * 9}), missing(session.snapshot()));
  EXPECT_TRUE(looks_sampled(session.snapshot()));
}

TEST(SampledMirror, NeedsAGapInFourPackets) {
  Session session;
  session.see({.packets = 61});
  for (int i = 0; i < 20; i++)
    session.see({.packets = 1, .each = 2}); // 20 gaps in 81 packets
  EXPECT_EQ((Psns{20, 0, 0}), missing(session.snapshot()));
  session.see({.packets = 1, .each = 2}); // 21 in 82
  EXPECT_EQ((Psns{0, 0, 21}), missing(session.snapshot()));
}

TEST(SampledMirror, ReadResponsesToo) {
  Session session;
  session.see({.packets = 1, .opcode = ROCE_RC_RDMA_READ_RESPONSE_FIRST});
  session.see({.packets = 20, .each = 5, .opcode = ROCE_RC_RDMA_READ_RESPONSE_MIDDLE});
  EXPECT_EQ((Psns{0, 0, 80}), missing(session.snapshot()));
}

// Gaps with gaps in the numbers are losses of the mirror, as many as there may be.
TEST(SampledMirror, IsNotOneThatLoses) {
  Session session;
  session.see({.packets = 1});
  session.see({.packets = 50, .lost_every = 2});
  session.see({.packets = 10, .each = 2});
  EXPECT_EQ((Psns{10, 25, 0}), missing(session.snapshot()));
  EXPECT_FALSE(looks_sampled(session.snapshot()));
}

TEST(SampledMirror, IsNotKnownWithoutStreams) {
  Snapshot s = of_case("erspan2_sampled_1_in_100");
  s.streams.clear();
  s.mirrored.clear();
  EXPECT_TRUE(std::holds_alternative<std::monostate>(cell(s, "mirrors", 0, "sampled")));
}

// tshark: PSNs 100 to 299 by turns with the numbers of two sessions. PSN 150 is missing and no
// number; PSN 190 and the number 44 of session 1, which shows at its next frame, after PSN 191 by
// session 2.
TEST(TwoSessions, WhatTheirNumbersLackIsTheMirrors) {
  EXPECT_EQ((Psns{1, 1, 0}), missing(of_case("two_sessions")));
}

} // namespace
} // namespace xr::test::mirror_cases_test
