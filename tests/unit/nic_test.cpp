// SPDX-License-Identifier: Apache-2.0
// Counters of a port compared with those of a NIC: simulated, and of a real Soft-RoCE run.
#include "tree.h"

#include <nlohmann/json.hpp>

#include "doctor/unwrap.h"
#include "made_nic.h"
#include "report/json.h"
#include "report/nic.h"
#include "report/text.h"

namespace nic_test {
namespace {

using namespace made_nic;

// Responses, NAKs among them, and requests to the NIC.
Snapshot to_the_nic() {
  Snapshot s;
  s.time_ns = 10'000'000'000;
  s.streams = {
      stream(kPeer, kNic, ROCE_KIND_REQUEST, 1000,
             {{ROCE_GAPS, 4}, {ROCE_JUMPS, 7}, {ROCE_DUPLICATES, 3}, {ROCE_STREAM_CE, 40}}),
      stream(kPeer, kNic, ROCE_KIND_RESPONSE, 100, {{ROCE_STREAM_CNPS, 9}})};
  s.totals.aeth[ROCE_AETH_NAK_PSN_SEQUENCE_ERROR] = 5;
  s.totals.aeth[ROCE_AETH_RNR_NAK] = 2;
  return s;
}

HwCounters agreeing_mlx5() {
  return {{"packet_seq_err", 5},
          {"rnr_nak_retry_err", 2},
          {"out_of_sequence", 4},
          {"duplicate_request", 3},
          {"rp_cnp_handled", 8},
          {"rp_cnp_ignored", 1},
          {"np_ecn_marked_roce_packets", 40}};
}

TEST(Nic, EqualIsEqual) {
  const NicReport report = since_ever(to_the_nic(), agreeing_mlx5());
  EXPECT_EQ(report.equations.size(), 6u); // those whose counters are there
  for (const NicEquation &e : report.equations)
    EXPECT_EQ(e.verdict, "equal") << e.equation << " " << e.nic;
  EXPECT_EQ(row(report, "CNPs to it").equation, "CNPs to it = rp_cnp_handled + rp_cnp_ignored");
  EXPECT_EQ(row(report, "CNPs to it").nic, 9u);
  EXPECT_EQ(row(report, "CNPs from it").verdict, "none"); // nothing came from it
}

// Before the port was attached, or past it? Only the same interval of both can show it.
TEST(Nic, TheNicCountedMore) {
  HwCounters counters = agreeing_mlx5();
  counters["packet_seq_err"] = 1000;
  const NicEquation e = row(since_ever(to_the_nic(), counters), "PSN NAKs");
  EXPECT_EQ(e.verdict, "uncertain");
  EXPECT_NE(e.note.find("before the port was attached"), std::string::npos) << e.note;
  EXPECT_NE(e.note.find("lost before it"), std::string::npos) << e.note;
  EXPECT_NE(e.note.find("--interval"), std::string::npos);
}

TEST(Nic, AMismatchIsFlagged) {
  HwCounters counters = agreeing_mlx5();
  counters["packet_seq_err"] = 4; // fewer than this port saw pass
  EXPECT_EQ(row(since_ever(to_the_nic(), counters), "PSN NAKs").verdict, "mismatch");
}

TEST(Nic, LostAgainIsExplained) {
  HwCounters counters = agreeing_mlx5();
  counters["out_of_sequence"] = 6; // 4 gaps, 7 jumps
  EXPECT_NE(row(since_ever(to_the_nic(), counters), "gaps").note.find("lost again"),
            std::string::npos);
  counters["out_of_sequence"] = 8; // more than jumps
  Snapshot bound = to_the_nic();
  EXPECT_EQ(row(since_ever(bound, counters), "gaps").verdict, "uncertain");
  bound.streams[0].counter_low[ROCE_REWINDS] = 2;
  counters["out_of_sequence"] = 2;
  EXPECT_NE(row(since_ever(bound, counters), "gaps").note.find("one flight"), std::string::npos);
  counters["out_of_sequence"] = 1;
  EXPECT_EQ(row(since_ever(bound, counters), "gaps").verdict, "mismatch");
  counters["duplicate_request"] = 1;
  EXPECT_NE(row(since_ever(to_the_nic(), counters), "duplicate").note.find("after a gap"),
            std::string::npos);
}

// A million that nobody jumped for are no flight; nor is every round one that followed a jump.
TEST(Nic, DuplicatesBehindAGapAreBounded) {
  struct Case {
    uint32_t jumps, rewinds, duplicates;
    uint64_t nic;
    const char *verdict;
  };
  for (const Case &c : {Case{63, 30, 2879, 0, "explained"},  // loss_rc_send_v4, and its driver
                        Case{24, 15, 584, 281, "explained"}, // loss2_rc_atomic_v4
                        Case{1, 12, 1387, 0, "mismatch"},    // corrupt_rc_send_v4
                        Case{1, 12, 1200, 1000, "explained"}, Case{1, 12, 1200, 999, "mismatch"},
                        Case{0, 12, 1200, 1199, "mismatch"}, Case{5, 0, 9, 4, "explained"},
                        Case{5, 0, 9, 3, "mismatch"}, Case{1, 1, 65'546, 10, "explained"},
                        Case{1, 1, 1'000'000, 10, "mismatch"}}) {
    Snapshot wire = to_the_nic();
    wire.streams[0].counter_low[ROCE_JUMPS] = c.jumps;
    wire.streams[0].counter_low[ROCE_REWINDS] = c.rewinds;
    wire.streams[0].counter_low[ROCE_DUPLICATES] = c.duplicates;
    const NicEquation e = row(since_ever(wire, {{"duplicate_request", c.nic}}), "duplicate");
    EXPECT_EQ(e.verdict, c.verdict)
        << c.jumps << " jumps, " << c.rewinds << " rewinds, " << c.duplicates << " duplicates";
  }
}

TEST(Nic, WhatAPortCannotTell) {
  HwCounters counters = {{"rx_icrc_encapsulated", 3}};
  const NicEquation e = row(since_ever(to_the_nic(), counters), "bad iCRCs");
  EXPECT_EQ(e.verdict, "unseen");
  EXPECT_FALSE(e.wire);
  Snapshot untracked = to_the_nic();
  untracked.tracked = false;
  untracked.streams.clear();
  const NicReport report = since_ever(untracked, agreeing_mlx5());
  EXPECT_EQ(row(report, "gaps").verdict, "unseen");
  EXPECT_EQ(row(report, "PSN NAKs").verdict, "unseen"); // to it, or from it?
  Snapshot requests_alone = to_the_nic();
  requests_alone.streams.pop_back();
  EXPECT_EQ(row(since_ever(requests_alone, agreeing_mlx5()), "PSN NAKs").note,
            "no stream of responses shows which way the NAKs went");
}

TEST(Nic, UnknownDriversHaveNoRows) {
  EXPECT_TRUE(since_ever(to_the_nic(), agreeing_mlx5(), "qedr").equations.empty());
  EXPECT_TRUE(since_ever(to_the_nic(), {}).equations.empty());
}

TEST(Nic, FromTheNic) {
  Snapshot s;
  s.streams = {stream(kNic, kPeer, ROCE_KIND_RESPONSE, 50, {{ROCE_STREAM_CNPS, 6}})};
  s.totals.aeth[ROCE_AETH_NAK_PSN_SEQUENCE_ERROR] = 5;
  const NicReport report =
      since_ever(s, {{"np_cnp_sent", 6}, {"out_of_sequence", 5}, {"packet_seq_err", 0}});
  EXPECT_EQ(row(report, "CNPs from it").verdict, "equal");
  EXPECT_EQ(row(report, "PSN NAKs from it").verdict, "equal");
  EXPECT_EQ(row(report, "PSN NAKs to it").verdict, "none");
}

TEST(Nic, BothWaysAtOnce) {
  Snapshot s = to_the_nic();
  s.streams.push_back(stream(kNic, kPeer, ROCE_KIND_RESPONSE, 50, {{ROCE_STREAM_CNPS, 6}}));
  HwCounters counters = agreeing_mlx5();
  counters["np_cnp_sent"] = 6;
  const NicReport report = since_ever(s, counters);
  EXPECT_EQ(row(report, "CNPs from it").verdict, "equal");
  EXPECT_EQ(row(report, "CNPs to it").verdict, "equal");
  EXPECT_EQ(row(report, "PSN NAKs to it").verdict, "unseen");
  EXPECT_NE(row(report, "PSN NAKs to it").note.find("more than one direction"), std::string::npos);
}

TEST(Nic, NothingAtAll) {
  const NicReport report = since_ever(Snapshot(), {{"packet_seq_err", 0}, {"out_of_sequence", 0}});
  EXPECT_EQ(report.equations.size(), 2u);
  for (const NicEquation &e : report.equations)
    EXPECT_EQ(e.verdict, "equal") << e.equation;
}

TEST(Nic, OthersTrafficIsNotItsOwn) {
  Snapshot s;
  s.streams = {stream("10.77.0.8", "10.77.0.9", ROCE_KIND_REQUEST, 50, {{ROCE_GAPS, 6}})};
  const NicReport report = since_ever(s, {{"out_of_sequence", 0}});
  EXPECT_EQ(row(report, "gaps").wire, 0u);
  EXPECT_NE(report.note.find("no stream"), std::string::npos);
}

TEST(Nic, OtherDriversNames) {
  const NicReport irdma =
      since_ever(to_the_nic(), {{"RxECNMrkd", 40}, {"cnpHandled", 9}, {"cnpIgnored", 0}}, "irdma");
  EXPECT_EQ(row(irdma, "CE marks").verdict, "equal");
  EXPECT_EQ(row(irdma, "CNPs to it").verdict, "equal");
  const NicReport bnxt =
      since_ever(to_the_nic(), {{"rx_ecn_marked_pkts", 40}, {"seq_err_naks_rcvd", 5}}, "bnxt_re");
  EXPECT_EQ(row(bnxt, "CE marks").verdict, "equal");
  EXPECT_EQ(row(bnxt, "PSN NAKs").verdict, "equal");
}

// Both sides between two moments.
NicReport over_a_second(const HwCounters &before, const HwCounters &now, uint32_t naks) {
  Snapshot first = to_the_nic(), second = to_the_nic();
  second.time_ns += 1'000'000'000;
  second.totals.aeth[ROCE_AETH_NAK_PSN_SEQUENCE_ERROR] += naks;
  const NicReading a{before, first.time_ns}, b{now, second.time_ns};
  return compare(nic("mlx5"), {second, &first, b, a});
}

TEST(Nic, OverAnInterval) {
  const NicReport report =
      over_a_second({{"packet_seq_err", 1'000'000}}, {{"packet_seq_err", 1'000'025}}, 25);
  EXPECT_DOUBLE_EQ(report.seconds, 1);
  EXPECT_EQ(row(report, "PSN NAKs").verdict, "equal");
  EXPECT_EQ(row(report, "PSN NAKs").nic, 25u);
  const NicEquation less =
      row(over_a_second({{"packet_seq_err", 7}}, {{"packet_seq_err", 7}}, 25), "PSN NAKs");
  EXPECT_EQ(less.verdict, "mismatch");
  EXPECT_NE(less.note.find("has not counted"), std::string::npos);
  const NicEquation more =
      row(over_a_second({{"packet_seq_err", 7}}, {{"packet_seq_err", 90}}, 25), "PSN NAKs");
  EXPECT_EQ(more.verdict, "mismatch");
}

TEST(Nic, AWrapIsUndone) {
  const NicEquation e =
      row(over_a_second({{"packet_seq_err", 0xfffffff0}}, {{"packet_seq_err", 9}}, 25), "PSN NAKs");
  EXPECT_EQ(e.nic, 25u);
  EXPECT_EQ(e.verdict, "equal");
  EXPECT_NE(e.note.find("32-bit"), std::string::npos);
}

TEST(Nic, ARestartIsTold) {
  const NicEquation e =
      row(over_a_second({{"packet_seq_err", 5000}}, {{"packet_seq_err", 9}}, 25), "PSN NAKs");
  EXPECT_EQ(e.verdict, "explained");
  EXPECT_NE(e.note.find("went back"), std::string::npos);
}

TEST(Nic, WhatPassesBetweenTheReadings) {
  Snapshot first = to_the_nic(), second = to_the_nic();
  second.time_ns += 1'000'000'000;
  second.totals.aeth[ROCE_AETH_NAK_PSN_SEQUENCE_ERROR] += 1000;
  // The NIC was read 20 ms after the port at the end: 20 of 1000 more.
  const NicReading a{{{"packet_seq_err", 0}}, first.time_ns},
      b{{{"packet_seq_err", 1015}}, second.time_ns + 20'000'000},
      c{{{"packet_seq_err", 1100}}, second.time_ns + 20'000'000};
  EXPECT_EQ(row(compare(nic("mlx5"), {second, &first, b, a}), "PSN NAKs").verdict, "explained");
  EXPECT_EQ(row(compare(nic("mlx5"), {second, &first, c, a}), "PSN NAKs").verdict, "mismatch");
}

// 20 ms of a second: one of 50 may be on its way, of fewer none.
TEST(Nic, LessThanOnePacketIsNoneOnItsWay) {
  const auto verdict = [](uint32_t wire, uint64_t counted) {
    Snapshot first = to_the_nic(), second = to_the_nic();
    second.time_ns += 1'000'000'000;
    second.totals.aeth[ROCE_AETH_NAK_PSN_SEQUENCE_ERROR] += wire;
    const NicReading a{{{"packet_seq_err", 7}}, first.time_ns},
        b{{{"packet_seq_err", 7 + counted}}, second.time_ns + 20'000'000};
    return row(compare(nic("mlx5"), {second, &first, b, a}), "PSN NAKs").verdict;
  };
  EXPECT_EQ(verdict(0, 1), "mismatch");
  EXPECT_EQ(verdict(1, 0), "mismatch");
  EXPECT_EQ(verdict(49, 48), "mismatch");
  EXPECT_EQ(verdict(51, 50), "explained");
  EXPECT_EQ(verdict(51, 49), "mismatch");
}

TEST(Unwrap, Steps) {
  EXPECT_EQ(step(5, 9, 32).counted, 4u);
  EXPECT_EQ(step(0xffffffff, 0, 32).counted, 1u);
  EXPECT_TRUE(step(0xffffffff, 0, 32).wrapped);
  EXPECT_EQ(step(1000, 10, 32).counted, 10u);
  EXPECT_TRUE(step(1000, 10, 32).restarted);
  EXPECT_TRUE(step(1000, 10, 64).restarted);
  EXPECT_FALSE(step(1ull << 40, 10, 32).wrapped); // had more bits than it was said to
  EXPECT_EQ(step((1ull << 48) - 2, 3, 48).counted, 5u);
}

TEST_F(Tree, NicOfATree) {
  put_rdma("rxe0", "", "eth7", kNic);
  put_counter("rxe0", "rcvd_seq_err", 5);
  put_counter("rxe0", "rcvd_pkts", 1100);
  auto opened = Nic::open(files(), "rxe0");
  ASSERT_TRUE(opened.ok());
  const NicReport report = opened->compare(to_the_nic(), nullptr);
  EXPECT_EQ(report.device, "rxe0/1");
  EXPECT_EQ(row(report, "PSN NAKs to it").verdict, "equal");
  EXPECT_EQ(row(report, "packets to it").verdict, "equal");
  EXPECT_FALSE(Nic::open(files(), "rxe0/2").ok());
  EXPECT_FALSE(Nic::open(files(), "mlx5_0").ok());
}

TEST_F(Tree, NicWhoseCountersAreNotKnown) {
  put_rdma("qed0", "qede", "eth7");
  const auto opened = Nic::open(files(), "qed0");
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("qedr"), std::string::npos) << opened.error().message;
}

TEST_F(Tree, NicThatSpeaksIwarp) {
  put_rdma("rocep59s0", "ice", "eth7");
  put_counter("rocep59s0", "cnpSent", 0);
  EXPECT_TRUE(Nic::open(files(), "rocep59s0").ok());
  put_iwarp("rocep59s0");
  const auto opened = Nic::open(files(), "rocep59s0");
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("iWARP"), std::string::npos) << opened.error().message;
}

TEST(NicReport, JsonAndText) {
  report::Document document;
  report::add_nic(document, {"mlx5_0/1",
                             "mlx5",
                             0,
                             {{"a = b", 7, 5, "mismatch", "why"}, {"c = d", {}, 5, "unseen", ""}},
                             ""});
  const auto json = nlohmann::json::parse(report::to_json(document));
  EXPECT_EQ(json["nic"]["device"], "mlx5_0/1");
  EXPECT_EQ(json["nic"]["equations"][0]["difference"], -2);
  EXPECT_EQ(json["nic"]["equations"][0]["verdict"], "mismatch");
  EXPECT_TRUE(json["nic"]["equations"][1]["wire"].is_null());
  const auto line = nlohmann::json::parse(report::to_json(document, report::JsonStyle::Line));
  EXPECT_EQ(line, json);
  const std::string text = report::to_text(document);
  EXPECT_NE(text.find("mismatch"), std::string::npos) << text;
  EXPECT_NE(text.find("-2"), std::string::npos) << text;
}

// With 5 on the wire: one more, as many, one fewer.
TEST(NicReport, DifferencesAndTheirSigns) {
  report::Document document;
  report::add_nic(document, {"mlx5_0/1",
                             "mlx5",
                             0,
                             {{"more", 5, 6, "mismatch", ""},
                              {"same", 5, 5, "equal", ""},
                              {"less", 5, 4, "mismatch", ""}},
                             ""});
  const std::string bare = report::to_json(document), text = report::to_text(document);
  const auto rows = nlohmann::json::parse(bare)["nic"]["equations"];
  EXPECT_EQ(rows[0]["difference"], 1);
  EXPECT_EQ(rows[1]["difference"], 0);
  EXPECT_EQ(rows[2]["difference"], -1);
  EXPECT_EQ(bare.find("-0"), std::string::npos) << bare;
  const auto line = [&](const std::string &name) {
    const size_t at = text.find(name);
    return text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_NE(line("more").find(" +1 "), std::string::npos) << text;
  EXPECT_NE(line("same").find(" 0 "), std::string::npos) << text;
  EXPECT_NE(line("less").find(" -1 "), std::string::npos) << text;
}

} // namespace
} // namespace nic_test
