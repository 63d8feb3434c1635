// SPDX-License-Identifier: Apache-2.0
// The sentences with which reports begin, from made facts.
#include <gtest/gtest.h>

#include "report/json.h"
#include "report/phrases.h"
#include "report/summary.h"
#include "report/text.h"
#include "snapshots.h"

namespace summary_test {
namespace {

using namespace xr;
using namespace xr::report;

roce_stream stream_of(uint32_t qp, uint32_t packets) {
  roce_stream stream{};
  stream.key.qp_kind = qp;
  stream.flags = ROCE_STREAM_STARTED;
  stream.packets = packets;
  return stream;
}

Snapshot capture_of(uint64_t data, std::vector<roce_stream> streams) {
  Snapshot s;
  s.opcodes[ROCE_RC_SEND_MIDDLE].packets[0] = data;
  s.streams = std::move(streams);
  return s;
}

std::string text_of(const Summary &summary) {
  std::string text;
  for (const std::string &sentence : summary.sentences)
    text += (text.empty() ? "" : " ") + sentence;
  return text;
}
std::string said(const Snapshot &s, const Episodes *episodes = nullptr) {
  return text_of(traffic_summary({s}, episodes));
}

uint64_t fact(const Summary &summary, const std::string &name) {
  for (const Fact &item : summary.facts)
    if (item.name == name)
      return std::get<uint64_t>(item.value);
  ADD_FAILURE() << "no fact " << name;
  return 0;
}

TEST(Phrases, NumbersInSentences) {
  EXPECT_EQ("1 packet", counted(1, "packet"));
  EXPECT_EQ("0 packets", counted(0, "packet"));
  EXPECT_EQ("1,234 pairs of hosts", counted(1234, "pair of hosts", "pairs of hosts"));
  EXPECT_EQ("0 bit/s", rate_words(0));
  EXPECT_EQ("999 bit/s", rate_words(999));
  EXPECT_EQ("94.2 Gbit/s", rate_words(94.2e9));
  EXPECT_EQ("3.16 ms", check_number(3.16e6, "ns"));
  EXPECT_EQ("19.9583 Gbit/s", check_number(19'958'300'000, "bit/s"));
  EXPECT_EQ("1.5", check_number(1.5, ""));
  EXPECT_EQ("1.2 %", percent(63, 5250));
  EXPECT_EQ("0.0 %", percent(0, 10));
  EXPECT_EQ("0.010 %", percent(1, 10'000)) << "a part is never 0.0 %";
  EXPECT_EQ("99.990 %", percent(9'999, 10'000)) << "nor the whole";
  EXPECT_EQ("100.0 %", percent(7, 7));
  EXPECT_EQ("0.26 %", percent(163, 62'609));
  EXPECT_EQ("0.049 %", percent(31, 62'640));
  EXPECT_EQ("99.950 %", percent(1'999, 2'000));
  EXPECT_EQ("below 0.001 %", percent(1, 1'000'000));
  EXPECT_EQ("23.4 %", percent(234, 1'000));
  EXPECT_EQ("1.11 s", time_words(1'110'000'000));
  EXPECT_EQ("117.7 ms", time_words(117'700'000));
  EXPECT_EQ("999 ns", time_words(999));
  EXPECT_EQ("a, b and c", listed({"a", "b", "c"}));
}

TEST(Summary, NothingLost) {
  EXPECT_EQ("Nothing lost: 2 streams, 1,000 packets, no PSN missing.",
            said(capture_of(1000, {stream_of(0x11, 500), stream_of(0x12, 500)})));
}

TEST(Summary, WhatWasLostAndWhose) {
  roce_stream a = stream_of(0x11, 100), b = stream_of(0x13, 100);
  roce_stream_count(&a, ROCE_LOST, 40);
  roce_stream_count(&b, ROCE_LOST, 23);
  roce_stream_count(&b, ROCE_DUPLICATES, 400);
  roce_stream_count(&b, ROCE_SKIPPED, 12);
  roce_stream_count(&b, ROCE_FILLED, 12);
  roce_stream_count(&b, ROCE_REWINDS, 30);
  const Snapshot s = capture_of(5187, {b, a, stream_of(0x14, 100)});
  EXPECT_EQ("63 of 5,250 data packets (1.2 %) were lost before this tap, all of QP 0x11 and 0x13. "
            "30 go-backs cost 412 packets sent again.",
            said(s));
  Snapshot port = s;
  port.source = Snapshot::Source::Interface;
  EXPECT_NE(std::string::npos, said(port).find("lost before this port"));
}

// What passed here and is lost at its receiver.
TEST(Summary, WrongIcrcs) {
  Snapshot s = capture_of(100, {stream_of(0x11, 100)});
  s.icrc = {.checked = 100, .bad = 2, .zero = 0};
  EXPECT_EQ("Nothing lost: 1 stream, 100 packets, no PSN missing. 2 packets have a wrong iCRC: a "
            "receiver drops such.",
            said(s));
}

// A reordered packet jumps, and is not lost.
TEST(Summary, ReorderedIsNotLost) {
  roce_stream stream = stream_of(0x11, 100);
  roce_stream_count(&stream, ROCE_SKIPPED, 2);
  roce_stream_count(&stream, ROCE_FILLED, 2);
  roce_stream_count(&stream, ROCE_JUMPED, 4);
  roce_stream_count(&stream, ROCE_LATE, 2);
  EXPECT_EQ("Nothing lost: 1 stream, 100 packets, no PSN missing. 2 packets came late, reordered.",
            said(capture_of(100, {stream})));
}

TEST(Summary, ManyLosersAreCounted) {
  std::vector<roce_stream> streams;
  for (uint32_t qp = 1; qp <= 5; qp++) {
    streams.push_back(stream_of(qp, 100));
    roce_stream_count(&streams.back(), ROCE_LOST, qp);
  }
  EXPECT_EQ("15 of 515 data packets (2.9 %) were lost before this tap, in 5 streams, most (5) of "
            "QP 0x5.",
            said(capture_of(500, streams)));
}

// What makes the number uncertain is in the same sentence.
TEST(Summary, Doubts) {
  Snapshot s = capture_of(100, {stream_of(0x11, 100)});
  s.notes.dropped = 7;
  EXPECT_EQ("Nothing lost: 1 stream, 100 packets, no PSN missing; the capture itself dropped 7 "
            "packets, which look lost here.",
            said(s));
  s.notes.dropped = 0;
  s.totals.streams_full = 5;
  EXPECT_NE(std::string::npos, said(s).find("; 5 packets had no room in the table of streams"));
  s.tracked = false;
  EXPECT_EQ("100 RoCE packets; losses are not known, as streams are not tracked (--no-track).",
            said(s));
}

TEST(Summary, ChecksOfTheSetUp) {
  using Status = SetupCheck::Status;
  std::vector<SetupCheck> checks(4);
  checks[0].name = "icrc";
  checks[0].status = Status::Fail;
  checks[1].name = "entropy";
  checks[1].status = Status::Warn;
  checks[2].status = Status::Ok;
  EXPECT_EQ("Of 4 checks: 1 fails (icrc), 1 warns (entropy), 1 is ok and 1 cannot be decided here.",
            text_of(checks_summary(checks)));
  const Snapshot s = capture_of(1000, {stream_of(0x11, 1000)});
  EXPECT_EQ("Nothing lost: 1 stream, 1,000 packets, no PSN missing. Of 4 checks: 1 fails (icrc), 1 "
            "warns (entropy), 1 is ok and 1 cannot be decided here.",
            text_of(traffic_summary({s}, nullptr, checks)));
  EXPECT_EQ(1u, fact(checks_summary(checks), "checks_fail"));
}

// Losses that are certain, and those that may be: a range.
TEST(Summary, BetweenTheLeastAndTheMost) {
  roce_stream stream = stream_of(0x11, 40'000);
  roce_stream_count(&stream, ROCE_LOST, 761);
  roce_stream_count(&stream, ROCE_LOST_UNSURE, 20);
  EXPECT_EQ("Between 761 and 781 of 40,761 data packets (1.9 %) were lost before this "
            "tap, all of QP 0x11.",
            said(capture_of(40'000, {stream})));
  roce_stream_count(&stream, ROCE_GO_BACKS, 757); // some hide just before these
  EXPECT_EQ("Between 761 and 807 of 40,761 data packets (1.9 % to 2.0 %) were lost before this "
            "tap, all of QP 0x11.",
            said(capture_of(40'000, {stream})));
  roce_stream late = stream_of(0x11, 100);
  roce_stream_count(&late, ROCE_LOST_UNSURE, 2);
  EXPECT_EQ("Nothing is certainly lost before this tap: 1 stream, 100 packets; up to 2 were lost, "
            "or came late.",
            said(capture_of(100, {late})));
}

TEST(Summary, LostAfterThisTap) {
  roce_stream stream = stream_of(0x11, 100);
  roce_stream_count(&stream, ROCE_LOST_AFTER, 1);
  EXPECT_EQ(
      "Nothing lost before this tap: 1 stream, 100 packets, no PSN missing. At least 1 packet "
      "was lost after this tap: a NAK requested what had passed here.",
      said(capture_of(100, {stream})));
}

// The peer of a request stream, as a stream of that kind to it.
roce_stream back_of(const roce_stream &stream, roce_kind kind) {
  roce_stream back = stream_of(0x22 | kind << ROCE_KIND_SHIFT, 10);
  std::copy_n(stream.key.src, 4, back.key.dst);
  std::copy_n(stream.key.dst, 4, back.key.src);
  return back;
}

TEST(Summary, NobodyAnswers) {
  roce_stream stream = stream_of(0x19, 16);
  stream.key.src[3] = 1;
  stream.key.dst[3] = 2;
  roce_stream_count(&stream, ROCE_DUPLICATES, 12);
  roce_stream_count(&stream, ROCE_REWINDS, 3);
  EXPECT_EQ("QP 0x19: nothing came back, 4 packets were sent 4 times: the peer is silent, or this "
            "tap sees one direction only. No PSN is missing before this tap: 1 stream, 16 packets. "
            "3 go-backs cost 12 packets sent again.",
            said(capture_of(16, {stream})));
  // Other packets of the peer pass: the tap sees both directions.
  const Snapshot both = capture_of(26, {stream, back_of(stream, ROCE_KIND_REQUEST)});
  EXPECT_NE(std::string::npos, said(both).find("4 packets were sent 4 times: the peer is silent on "
                                               "it, as other packets of that host pass here."));
  EXPECT_EQ(1u, fact(traffic_summary({both}), "unanswered"));
  const Snapshot answered = capture_of(26, {stream, back_of(stream, ROCE_KIND_RESPONSE)});
  EXPECT_EQ(0u, fact(traffic_summary({answered}), "unanswered"));
}

TEST(Summary, WithoutStreamsNothingIsKnown) {
  EXPECT_EQ("No RoCE packets in 0 frames.", said(Snapshot{}));
  Snapshot datagrams;
  datagrams.opcodes[ROCE_UD_SEND_ONLY].packets[0] = 3;
  EXPECT_EQ("3 of 3 RoCE packets are datagrams, which have no PSN sequence by which a loss is "
            "seen.",
            said(datagrams));
  Snapshot acks;
  acks.opcodes[ROCE_RC_ACKNOWLEDGE].packets[0] = 3;
  EXPECT_EQ("3 RoCE packets, none with data: no loss can be seen.", said(acks));
}

TEST(Summary, MarksOfDataOnly) {
  Snapshot s = capture_of(1, {stream_of(0x11, 100)});
  s.opcodes[ROCE_RC_SEND_MIDDLE].packets[ROCE_ECN_CE] = 99;
  s.opcodes[ROCE_RC_ACKNOWLEDGE].packets[ROCE_ECN_CE] = 1000; // are no data
  s.opcodes[ROCE_OPCODE_CNP].packets[0] = 5;
  s.totals.pfc_xoff[3] = 2;
  EXPECT_NE(std::string::npos,
            said(s).find("99 of 100 data packets (99.0 %) are marked CE; 5 CNPs; PFC or PAUSE: 2 "
                         "XOFFs."))
      << said(s);
  EXPECT_EQ(99u, fact(traffic_summary({s}), "ce"));
}

// An interval's sentence is about the interval.
TEST(Summary, SinceTheReportBefore) {
  roce_stream stream = stream_of(0x11, 100);
  roce_stream_count(&stream, ROCE_LOST, 5);
  const Snapshot before = capture_of(100, {stream});
  roce_stream_count(&stream, ROCE_LOST, 1);
  const Snapshot now = capture_of(299, {stream_of(0x12, 1), stream});
  EXPECT_EQ("1 of 200 data packets (0.50 %) was lost before this tap, all of QP 0x11.",
            text_of(traffic_summary({now, &before})));
}

EpisodeRow episode(uint8_t cause, uint64_t seen, uint64_t recovered) {
  EpisodeRow row;
  row.episode.cause = cause;
  row.episode.seen_ns = seen;
  row.episode.recovered_ns = recovered;
  row.episode.resent_packets = 4;
  return row;
}

TEST(Summary, TheLongestRecovery) {
  Episodes found;
  found.episodes = {episode(ROCE_CAUSE_NAK, 1'000, 5'000),
                    episode(ROCE_CAUSE_TIMEOUT, 1'000, 1'100'001'000),
                    episode(ROCE_CAUSE_NAK, 1'000, 0)}; // it never recovered
  found.findings.resize(2);
  EXPECT_EQ("3 episodes: 2 (nak) and 1 (timeout), 12 packets sent again; the longest recovery took "
            "1.10 s (a timeout); 2 findings about peers (FINDINGS).",
            text_of(episodes_summary(found)));
  Snapshot s = capture_of(100, {stream_of(0x11, 100)});
  EXPECT_NE(std::string::npos, said(s, &found).find("The longest recovery took 1.10 s (a timeout)"))
      << said(s, &found);
  EXPECT_EQ("No requester went back: 0 QP pairs followed.", text_of(episodes_summary({})));
}

Comparison two_ports(ComparedCounts there) {
  Comparison c;
  c.places.resize(2);
  c.places[0].name = "left";
  c.places[1].name = "right";
  for (ComparedPlace &place : c.places) {
    place.port = true;
    place.packets = 1000;
    place.last_ns = 2'000'000'000;
  }
  c.legs.resize(1);
  c.legs[0].ways[0].counts = there;
  return c;
}

TEST(Summary, BetweenPlaces) {
  EXPECT_EQ("222 of 22,000 packets (1.0 %) from left did not arrive at right; no other change.",
            text_of(compare_summary(two_ports(
                {.seen_from = 22'010, .matched = 21'778, .lost = 222, .outside_from = 10}))));
  EXPECT_EQ("Nothing lost from left to right: 100 packets, 3 reordered and 7 marked CE.",
            text_of(compare_summary(
                two_ports({.seen_from = 100, .matched = 100, .reordered = 3, .ce = 7}))));
}

// A black hole: one port saw nothing while the other did. Of captures it is not known.
TEST(Summary, NothingArrived) {
  EXPECT_EQ("Nothing entered right in 2.00 s: all 1,000 packets from left were lost.",
            text_of(compare_summary(two_ports({.seen_from = 1000, .lost = 1000}))));
  Comparison c = two_ports({.seen_from = 1000, .outside_from = 1000});
  c.legs[0].apart = ComparedLeg::Apart::NoPackets;
  c.places[1].packets = 0;
  EXPECT_EQ("Nothing arrived at right in 2.00 s: all 1,000 packets of left were lost, or went "
            "elsewhere.",
            text_of(compare_summary(c)));
  c.legs[0].apart = ComparedLeg::Apart::Unknown;
  EXPECT_EQ("left and right have no packet in common: nothing is known of what happened between.",
            text_of(compare_summary(c)));
}

TEST(Summary, Senders) {
  SendReport report;
  report.kind = SendReport::Kind::Reliable;
  report.seconds = 2;
  report.expected = report.counts.messages = 100;
  report.counts.message_bytes = 100'000'000;
  EXPECT_EQ("All 100 messages completed in 2.00 s, 400 Mbit/s of payload. Nothing was sent "
            "again: no NAK, no timeout, no CNP.",
            text_of(send_summary(report)));
  report.counts.messages = 97;
  report.counts.retransmitted = 412;
  report.counts.timeouts = 1;
  report.engine.socket.tx_dropped = 2;
  EXPECT_EQ(
      "97 of 100 messages completed in 2.00 s, 400 Mbit/s of payload. On the way: 412 packets "
      "were sent again and 1 timeout. 2 frames were lost on this machine (LOST HERE).",
      text_of(send_summary(report)));
}

TEST(Summary, Experiments) {
  ExperimentResult result;
  result.measured.flows.resize(2);
  // One after the other: their rates, of half a second each, are not added up.
  result.measured.flows[0].bytes = 18'750'000;
  result.measured.flows[0].goodput_bps = 300e6;
  result.measured.flows[0].ran_to_ns = 500'000'000;
  result.measured.flows[1].bytes = 6'250'000;
  result.measured.flows[1].goodput_bps = 100e6;
  result.measured.flows[1].ran_from_ns = 500'000'000;
  result.measured.flows[1].ran_to_ns = 1'000'000'000;
  result.measured.flows[1].cnps = result.measured.flows[1].whole.cnps = 1234;
  result.checks.resize(2);
  result.checks[0].outcome = ExperimentCheck::Outcome::Holds;
  result.checks[1].text = "sum(flows.drops) == 0";
  result.checks[1].outcome = ExperimentCheck::Outcome::Fails;
  result.checks[1].value = 3;
  result.measured.flows[0].drops = result.measured.flows[0].whole.drops = 3;
  result.verdict = Verdict::Fail;
  EXPECT_EQ("Fail: 1 of 2 expectations hold, not sum(flows.drops) == 0 (it is 3). 200 Mbit/s "
            "goodput of 2 flows, 3 packets dropped and 1,234 CNPs.",
            text_of(experiment_summary(result)));
  result.measured.from_ns = 500'000'000;
  result.measured.flows[0].drops = 0;
  EXPECT_EQ("Fail: 1 of 2 expectations hold, not sum(flows.drops) == 0 (it is 3). After the first "
            "500.0 ms: 200 Mbit/s goodput of 2 flows, nothing dropped and 1,234 CNPs. In the whole "
            "run: 3 packets dropped and 1,234 CNPs.",
            text_of(experiment_summary(result)));
  result.measured.from_ns = 0;
  result.checks.pop_back();
  result.verdict = Verdict::Pass;
  result.measured.unmeasured.insert("drops");
  EXPECT_EQ("Pass: the expectation holds. 200 Mbit/s goodput of 2 flows and 1,234 CNPs.",
            text_of(experiment_summary(result)));
  result.verdict = Verdict::Void;
  result.measured.why_void = {"a host was too slow"};
  EXPECT_TRUE(text_of(experiment_summary(result)).starts_with("Void: a host was too slow. "));
}

TEST(Summary, NothingPassed) {
  ExperimentResult result;
  result.measured.flows.resize(1);
  result.verdict = Verdict::Pass;
  EXPECT_EQ(
      "Nothing was expected, and all was measured. Nothing passed (0 bit/s goodput of 1 flow) "
      "and nothing dropped.",
      text_of(experiment_summary(result)));
}

TEST(Summary, ALateRank) {
  JobTraffic job;
  job.ranks.resize(2);
  job.steps.resize(10);
  job.pattern = JobPattern::Ring;
  job.repeats = true;
  job.exchanging = 3;
  job.stragglers = {
      {.rank = 1, .cause = JobCause::LateStart, .first_step = 4, .steps = 2, .late_ns = 3'000'000}};
  const auto words = [&job] {
    Summary summary;
    add_job(summary, job);
    const std::string text = text_of(summary);
    return text.substr(text.find(' ') + 1);
  };
  EXPECT_EQ("starts late, by 3.00 ms in 2 of 10 steps from step 5.", words());
  job.stragglers[0].cause = JobCause::LateSender;
  EXPECT_EQ("is a late sender, by 3.00 ms in 2 of 10 steps from step 5.", words());
}

TEST(Summary, AJobOfOneStep) {
  ExperimentResult result;
  ExperimentJob &job = result.measured.jobs.emplace_back();
  job.name = "train";
  job.ranks.resize(2);
  job.steps.push_back({.name = "1",
                       .end_ns = 4'000'000,
                       .why = ExperimentJob::Why::SharedLinks,
                       .excess_ns = 1'000'000});
  EXPECT_TRUE(text_of(experiment_summary(result))
                  .ends_with("train: 1 step, 4.00 ms in the median; it waited for shared links "
                             "(all are used alike), 1.00 ms."))
      << text_of(experiment_summary(result));
}

TEST(Summary, Responders) {
  RespondReport report;
  report.seconds = 1;
  EXPECT_EQ("No request in 1.00 s; 0 frames received.", text_of(respond_summary(report)));
  report.counts.requests = report.counts.in_order = 10;
  report.counts.qps = 1;
  report.counts.messages = 5;
  EXPECT_EQ("10 requests in 1.00 s for 1 connection; 5 messages completed. All in order, none "
            "refused.",
            text_of(respond_summary(report)));
  report.counts.out_of_order = 2;
  EXPECT_NE(std::string::npos,
            text_of(respond_summary(report)).find("Of the requests: 2 out of order."));
}

TEST(Summary, Links) {
  WirePortReport port;
  port.ifname = "right";
  EXPECT_EQ("right has no link: frames leave by it without limits.", text_of(link_summary(port)));
  port.link = "rate 1gbit";
  EXPECT_EQ("No frame has left by right's link yet.", text_of(link_summary(port)));
  auto counts = std::make_shared<WirePortCounts>();
  counts->version = WirePortCounts::kVersion;
  counts->link.started = 1;
  counts->link.classes[0].frames_in = 1000;
  counts->link.classes[0].drops[1] = 25;
  counts->link.classes[0].marks = 100;
  port.counts = counts;
  EXPECT_EQ("25 of 1,000 frames (2.5 %) were dropped by right's link. Of those that left: 100 "
            "(10.0 %) marked CE.",
            text_of(link_summary(port)));
}

// Text and JSON have the same sentences.
TEST(Summary, FirstInTextAndAKeyInJson) {
  const Snapshot capture = capture_of(1000, {stream_of(0x11, 1000)});
  const Document document = analyze_report(capture); // refers to it
  const std::string sentence = "Nothing lost: 1 stream, 1,000 packets, no PSN missing.";
  EXPECT_NE(std::string::npos, to_text(document).find(sentence + "\n\nFRAMES"))
      << to_text(document);
  EXPECT_NE(std::string::npos, to_json(document).find("\"text\":\"" + sentence + "\""))
      << to_json(document);
}

TEST(Summary, TroubleIsFirst) {
  roce_stream lost = stream_of(1, 10), again = stream_of(2, 20), marked = stream_of(3, 30);
  roce_stream_count(&lost, ROCE_LOST, 1);
  roce_stream_count(&again, ROCE_REWINDS, 9);
  roce_stream_count(&marked, ROCE_STREAM_CE, 99);
  const Snapshot s = capture_of(100, {stream_of(4, 40), marked, again, lost});
  const std::string text = to_text(streams_report({s}));
  size_t at = 0;
  for (const char *qp : {"0x000001", "0x000002", "0x000003", "0x000004"}) {
    const size_t next = text.find(qp);
    EXPECT_GT(next, at) << qp << text;
    at = next;
  }
}

} // namespace
} // namespace summary_test
