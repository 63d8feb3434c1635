// SPDX-License-Identifier: Apache-2.0
// Answers from captures whose every frame and time is known.
#include <array>
#include <filesystem>

#include <unistd.h>

#include <gtest/gtest.h>

#include "capture/pcapng_writer.h"
#include "frames.h"
#include "impair/action_table.h"
#include "impair/trace_words.h"
#include "packet/icrc.h"
#include "report/run_answers.h"
#include "report/text.h"
#include "roce/capture.h"
#include "run_analysis/answers.h"
#include "run_analysis/captures.h"

namespace xr::test::answers_test {
namespace {

using namespace xr::run_analysis;

constexpr uint64_t kStart = 1'700'000'000'000'000'000;
constexpr uint32_t kReceiver = 0x11, kSender = 0x22; // QPNs
constexpr uint8_t kFirst = 0, kMiddle = 1, kLast = 2, kAck = 17, kCnp = 129;

// The captures of the two ports of a run, in a directory of their own.
class Captures {
public:
  Captures() {
    std::filesystem::create_directory(directory);
    for (const char *name : {"left", "right"})
      files_.push_back(
          PcapngWriter::create(directory + "/" + name + ".pcapng", {name, "", 0}).get());
  }
  ~Captures() { std::filesystem::remove_all(directory); }
  Captures(const Captures &) = delete;
  Captures &operator=(const Captures &) = delete;

  // A request, `us` after the first.
  void sent(double us, uint8_t opcode, uint32_t psn, const char *comment = "in order; forwarded") {
    put(kLeft, us, FrameBuilder(opcode).qp(kReceiver).psn(psn).payload(64), comment);
  }
  void answered(double us, uint32_t psn, uint8_t syndrome) {
    put(kRight, us, FrameBuilder(kAck).from(2).to(1).qp(kSender).psn(psn).syndrome(syndrome),
        "ACK");
  }
  void cnp(double us) { put(kRight, us, FrameBuilder(kCnp).from(2).to(1).qp(kSender), ""); }

  RunAnswers answers(const ExperimentMeasurement &measured, double scale = 1,
                     bool counts_before_rules = true) {
    for (PcapngWriter &file : files_)
      EXPECT_TRUE(file.finish({}).ok());
    Trace trace;
    const auto analysis = follow(directory, trace);
    EXPECT_TRUE(analysis.ok());
    return answer({trace,
                   analysis.get().episodes,
                   measured,
                   {{"qp-0", kReceiver, 1}},
                   {{{"event-1", "event-2", "event-3"}, {}}},
                   scale,
                   counts_before_rules,
                   kStart - 500});
  }

  const std::string directory = testing::TempDir() + "xr-answers-" + std::to_string(getpid());

private:
  void put(run_analysis::Port port, double us, const FrameBuilder &builder, const char *comment) {
    Frame frame = builder.build();
    const Parsed parsed = parse(frame);
    icrc_write(frame.bytes.data(), parsed.packet);
    const auto size = static_cast<uint32_t>(frame.bytes.size());
    EXPECT_TRUE(files_[port]
                    .packet({kStart + static_cast<uint64_t>(us * 1000), frame.bytes.data(), size,
                             size, comment})
                    .ok());
  }
  std::vector<PcapngWriter> files_;
};

ExperimentMeasurement measured(uint64_t drops) {
  ExperimentMeasurement m;
  ExperimentFlow &flow = m.flows.emplace_back();
  flow.name = "qp-0";
  flow.qp = kReceiver;
  flow.whole.marked = flow.whole.cnps = flow.whole.naks = 1;
  flow.whole.retransmitted = 4;
  flow.whole.drops = drops;
  for (const char *name : {"event-1", "event-2", "event-3"}) {
    ExperimentRule &rule = m.rules.emplace_back();
    rule.name = name;
    rule.whole.acted = 1;
  }
  m.packets = 15;
  return m;
}

// Packet 2 is marked, packet 3 dropped, packet 8, the last one, dropped as well.
void play(Captures &captures) {
  captures.sent(0, kFirst, 100);
  captures.sent(1, kMiddle, 101, "in order; rule 1: marked CE; forwarded");
  captures.sent(2, kMiddle, 102, "in order; rule 2: dropped; gone");
  captures.sent(3, kMiddle, 103);
  captures.sent(4, kMiddle, 104);
  captures.cnp(4.25);
  captures.answered(5.5, 102, 0x60);
  captures.sent(9, kMiddle, 102);
  captures.sent(10, kMiddle, 103);
  captures.sent(11, kMiddle, 104);
  captures.sent(12, kMiddle, 105);
  captures.sent(13, kMiddle, 106);
  captures.sent(14, kLast, 107, "in order; rule 3: dropped; gone");
  captures.sent(114, kLast, 107);
  captures.answered(116, 107, 0x1f);
}

TEST(Answers, PacketsAndTheirRetransmissions) {
  Captures captures;
  play(captures);
  const RunAnswers a = captures.answers(measured(2));

  ASSERT_EQ(a.recoveries.size(), 2u);
  const Recovery &nak = a.recoveries[0], &timeout = a.recoveries[1];
  EXPECT_EQ(nak.cause, ROCE_CAUSE_NAK);
  EXPECT_EQ(nak.first_missing, 102u);
  EXPECT_EQ(nak.missing, 1u);
  EXPECT_EQ(nak.resent, 3u);
  EXPECT_EQ(nak.at_ns, 3000u);
  EXPECT_EQ(nak.nak_generation_ns, 2500u);
  EXPECT_EQ(nak.nak_reaction_ns, 3500u);
  EXPECT_EQ(nak.timeout_ns, std::nullopt);
  EXPECT_EQ(nak.recovery_ns, 6000u);
  EXPECT_EQ(nak.nak_frame.capture, "right");
  EXPECT_EQ(nak.nak_frame.number, 2u);
  EXPECT_EQ(nak.frame.capture, "left");
  EXPECT_EQ(nak.frame.number, 6u);
  EXPECT_GT(nak.resent_bytes, 3 * 64u);
  EXPECT_EQ(a.from_ns, 500u); // the run began half a us before
  EXPECT_EQ(timeout.cause, ROCE_CAUSE_TIMEOUT);
  EXPECT_EQ(timeout.nak_generation_ns, std::nullopt);
  EXPECT_EQ(timeout.timeout_ns, 100'000u); // since the packet that was dropped
  EXPECT_EQ(timeout.recovery_ns, 0u);      // it passed when it was sent again
  EXPECT_EQ(timeout.frame.number, 12u);
  EXPECT_EQ(timeout.resent_bytes * 3, nak.resent_bytes);

  ASSERT_EQ(a.hits.size(), 3u);
  EXPECT_EQ(a.hits[0].rule, "event-1");
  EXPECT_EQ(a.hits[0].did, "marked CE");
  EXPECT_EQ(a.hits[0].qp.flow, "qp-0");
  EXPECT_EQ(a.hits[0].packet, 2u);
  EXPECT_EQ(a.hits[0].cnp_ns, 3250u);
  EXPECT_EQ(a.hits[0].episode, std::nullopt);
  EXPECT_EQ(a.hits[1].rule, "event-2");
  EXPECT_EQ(a.hits[1].psn, 102u);
  EXPECT_EQ(a.hits[1].packet, 3u);
  EXPECT_EQ(a.hits[1].frame.capture, "left");
  EXPECT_EQ(a.hits[1].frame.number, 3u);
  EXPECT_EQ(a.hits[1].episode, 0u);
  EXPECT_EQ(a.hits[2].packet, 8u);
  EXPECT_EQ(a.hits[2].episode, 1u);
  EXPECT_EQ(a.hits[0].recovered, std::nullopt); // it was not lost
  EXPECT_EQ(a.hits[1].recovered, true);
  EXPECT_EQ(a.hits[1].recovery_ns, 7000u);
  EXPECT_EQ(a.hits[2].recovery_ns, 100'000u);
  EXPECT_TRUE(a.findings.empty());
  EXPECT_TRUE(a.lost.empty());
}

TEST(Answers, GoBackNAndCnps) {
  Captures captures;
  play(captures);
  const RunAnswers a = captures.answers(measured(2));
  ASSERT_EQ(a.go_back_n.size(), 1u);
  const GoBackN &g = a.go_back_n[0];
  EXPECT_EQ(g.resumes, true);
  EXPECT_EQ(g.naks_once, true);
  EXPECT_EQ(g.gaps, 1u); // nothing followed the last packet
  EXPECT_EQ(g.naks, 1u);
  ASSERT_EQ(a.cnp_pacing.size(), 1u);
  EXPECT_EQ(a.cnp_pacing[0].marked, 1u);
  EXPECT_EQ(a.cnp_pacing[0].times.cnps, 1u);
  EXPECT_EQ(a.cnp_pacing[0].without_ce, 0u);
  EXPECT_EQ(a.cnp_pacing[0].unanswered, 0u);
}

TEST(Answers, CountersAreCompared) {
  Captures captures;
  play(captures);
  const RunAnswers a = captures.answers(measured(3));
  std::vector<std::string> wrong;
  for (const CountCheck &check : a.counts)
    if (check.counted != check.captured)
      wrong.push_back(check.counter);
  EXPECT_EQ(a.counts.size(), 9u);
  EXPECT_EQ(wrong, std::vector<std::string>{"drops"});
}

TEST(Answers, AWireCountsWhatRulesLetPass) {
  Captures captures;
  play(captures);
  ExperimentMeasurement m = measured(2);
  m.packets = 13;
  for (const CountCheck &check : captures.answers(m, 1, false).counts)
    EXPECT_EQ(check.counted, check.captured) << check.what;
}

TEST(Answers, AnUnmeasuredCounterIsNotCompared) {
  Captures captures;
  play(captures);
  ExperimentMeasurement m = measured(2);
  m.unmeasured = {"naks"};
  for (const CountCheck &check : captures.answers(m).counts)
    EXPECT_EQ(check.counted.has_value(), check.counter != "naks") << check.what;
}

// The sender resumes two packets early, the receiver asks twice and sends a CNP without a mark.
TEST(Answers, WhatPeersDoWrong) {
  Captures captures;
  for (uint32_t psn = 100; psn < 106; psn++)
    captures.sent(psn - 100, psn == 100 ? kFirst : kMiddle, psn,
                  psn == 103 ? "in order; rule 2: corrupted the iCRC; forwarded" : "forwarded");
  captures.answered(6, 103, 0x60);
  captures.answered(6.5, 103, 0x60);
  for (uint32_t psn = 101; psn < 107; psn++)
    captures.sent(psn - 90, psn == 106 ? kLast : kMiddle, psn);
  captures.answered(20, 106, 0x1f);
  const RunAnswers a = captures.answers(measured(2));
  ASSERT_EQ(a.go_back_n.size(), 1u);
  EXPECT_EQ(a.go_back_n[0].resumes, false);
  EXPECT_EQ(a.go_back_n[0].naks_once, false);
  EXPECT_EQ(a.go_back_n[0].wrong_psn, 1u);
  EXPECT_EQ(a.go_back_n[0].repeated, 1u);
  ASSERT_EQ(a.findings.size(), 2u);
  EXPECT_EQ(a.findings[0].finding, "wrong_psn_resumed");
  EXPECT_EQ(a.findings[0].frame.capture, "left");
  EXPECT_EQ(a.findings[0].frame.number, 7u);
  EXPECT_EQ(a.findings[0].qp.flow, "qp-0");
  EXPECT_EQ(a.findings[1].finding, "repeated_nak");
  EXPECT_EQ(a.findings[1].psn, 103u);
  EXPECT_EQ(a.findings[1].frame.capture, "right");
  EXPECT_EQ(a.findings[1].frame.number, 2u);
  EXPECT_EQ(a.findings[1].at_ns, 6500u);
  ASSERT_EQ(a.recoveries.size(), 1u); // what was corrupted is missing after the port
  EXPECT_EQ(a.recoveries[0].missing, 1u);
  EXPECT_EQ(a.hits.at(0).episode, 0u);
}

TEST(Answers, CnpsWithoutMarks) {
  Captures captures;
  captures.sent(0, kFirst, 100);
  captures.sent(1, kLast, 101);
  captures.answered(2, 101, 0x1f);
  captures.cnp(10);
  captures.cnp(60);
  captures.cnp(115);
  const RunAnswers a = captures.answers(measured(0));
  ASSERT_EQ(a.cnp_pacing.size(), 1u);
  EXPECT_EQ(a.cnp_pacing[0].marked, 0u);
  EXPECT_EQ(a.cnp_pacing[0].without_ce, 1u);
  EXPECT_EQ(a.cnp_pacing[0].times.qp_ns, 50'000u);
  EXPECT_EQ(a.cnp_pacing[0].times.port_ns, 50'000u);
  EXPECT_EQ(a.cnp_pacing[0].qp_frame.capture, "right");
  EXPECT_EQ(a.cnp_pacing[0].qp_frame.number, 3u); // the second CNP, after the ACK
  EXPECT_EQ(a.cnp_pacing[0].port_frame.number, 3u);
}

TEST(Answers, MarksWithoutCnps) {
  Captures captures;
  captures.sent(0, kFirst, 100, "rule 1: marked CE; forwarded");
  captures.sent(1, kLast, 101);
  captures.answered(2, 101, 0x1f);
  const RunAnswers a = captures.answers(measured(0));
  ASSERT_EQ(a.cnp_pacing.size(), 1u);
  EXPECT_EQ(a.cnp_pacing[0].marked, 1u);
  EXPECT_EQ(a.cnp_pacing[0].times.cnps, 0u);
  EXPECT_EQ(a.cnp_pacing[0].unanswered, 1u);
}

// No answer came before the last packet was lost: the timer sends all again.
TEST(Answers, ALostTailIsOfTheGoBackThatSendsItAgain) {
  Captures captures;
  captures.sent(0, kFirst, 100);
  captures.sent(1, kMiddle, 101);
  captures.sent(2, kLast, 102, "rule 1: dropped; gone");
  captures.sent(202, kFirst, 100);
  captures.sent(203, kMiddle, 101);
  captures.sent(204, kLast, 102);
  captures.answered(206, 102, 0x1f);
  const RunAnswers a = captures.answers(measured(1));
  ASSERT_EQ(a.recoveries.size(), 1u);
  EXPECT_EQ(a.recoveries[0].cause, ROCE_CAUSE_TIMEOUT);
  EXPECT_EQ(a.recoveries[0].timeout_ns, 200'000u);
  EXPECT_EQ(a.recoveries[0].first_missing, 102u);
  EXPECT_EQ(a.recoveries[0].missing, 1u);
  EXPECT_EQ(a.recoveries[0].resent, 3u);
  EXPECT_EQ(a.recoveries[0].recovery_ns, 2000u);
  EXPECT_EQ(a.recoveries[0].frame.number, 4u);
  ASSERT_EQ(a.hits.size(), 1u);
  EXPECT_EQ(a.hits[0].episode, 0u);
}

// The packet is dropped as it goes first and as it goes again.
TEST(Answers, WhatIsLostTwiceIsRecoveredOnce) {
  Captures captures;
  captures.sent(0, kFirst, 100);
  captures.sent(1, kMiddle, 101, "rule 1: dropped; gone");
  captures.sent(2, kMiddle, 102);
  captures.answered(3, 101, 0x60);
  captures.sent(5, kMiddle, 101, "rule 2: dropped; gone");
  captures.sent(6, kMiddle, 102);
  captures.sent(100, kMiddle, 101);
  captures.sent(101, kMiddle, 102);
  captures.sent(102, kLast, 103, "rule 3: dropped; gone");
  captures.answered(104, 102, 0x1f);
  const RunAnswers a = captures.answers(measured(3));
  ASSERT_EQ(a.hits.size(), 3u);
  EXPECT_EQ(a.hits[0].recovery_ns, 99'000u);
  EXPECT_EQ(a.hits[1].recovery_ns, 95'000u);
  EXPECT_EQ(a.hits[2].recovered, false);
  EXPECT_EQ(a.hits[2].recovery_ns, std::nullopt);
  // Two rounds: the NAK's, whose packet is lost, and the timer's.
  ASSERT_EQ(a.recoveries.size(), 2u);
  const Recovery &nak = a.recoveries[0], &timeout = a.recoveries[1];
  EXPECT_EQ(nak.cause, ROCE_CAUSE_NAK);
  EXPECT_EQ(nak.nak_generation_ns, 1000u);
  EXPECT_EQ(nak.nak_reaction_ns, 2000u);
  EXPECT_EQ(nak.timeout_ns, std::nullopt);
  EXPECT_EQ(nak.resent, 2u);
  EXPECT_EQ(nak.frame.number, 4u);
  EXPECT_EQ(timeout.cause, ROCE_CAUSE_TIMEOUT);
  EXPECT_EQ(timeout.timeout_ns, 94'000u);
  EXPECT_EQ(timeout.first_missing, 101u);
  EXPECT_EQ(timeout.resent, 2u);
  EXPECT_EQ(timeout.frame.number, 6u);
  EXPECT_EQ(a.hits[0].episode, 0u);
  EXPECT_EQ(a.hits[1].episode, 1u);
}

// Lost three times: a row for each round, each with the time that its timer waited.
TEST(Answers, EachRoundOfALossIsAnEpisode) {
  Captures captures;
  captures.sent(0, kFirst, 100);
  captures.sent(1, kMiddle, 101, "rule 1: dropped; gone");
  captures.sent(2, kLast, 102);
  captures.answered(3, 101, 0x60);
  captures.sent(5, kMiddle, 101, "rule 2: dropped; gone");
  captures.sent(5.5, kLast, 102);
  captures.sent(100, kMiddle, 101, "rule 3: dropped; gone");
  captures.sent(100.087, kLast, 102);
  captures.sent(300, kMiddle, 101);
  captures.sent(300.087, kLast, 102);
  captures.answered(302, 102, 0x1f);
  const RunAnswers a = captures.answers(measured(3));
  ASSERT_EQ(a.recoveries.size(), 3u);
  EXPECT_EQ(a.recoveries[0].cause, ROCE_CAUSE_NAK);
  EXPECT_EQ(a.recoveries[0].nak_reaction_ns, 2000u);
  EXPECT_EQ(a.recoveries[1].cause, ROCE_CAUSE_TIMEOUT);
  EXPECT_EQ(a.recoveries[1].timeout_ns, 94'500u);
  EXPECT_EQ(a.recoveries[2].cause, ROCE_CAUSE_TIMEOUT);
  EXPECT_EQ(a.recoveries[2].timeout_ns, 199'913u);
  for (size_t i = 0; i < 3; i++) {
    EXPECT_EQ(a.recoveries[i].resent, 2u) << i;
    EXPECT_EQ(a.recoveries[i].frame.number, (std::array{4u, 6u, 8u}[i]));
    EXPECT_EQ(a.hits[i].episode, i);
  }
}

TEST(Answers, TimesAreThoseOfTheExperiment) {
  Captures captures;
  play(captures);
  const RunAnswers a = captures.answers(measured(2), 0.5);
  EXPECT_EQ(a.recoveries.at(0).nak_generation_ns, 1250u);
  EXPECT_EQ(a.recoveries.at(1).timeout_ns, 50'000u);
  EXPECT_EQ(a.hits.at(0).cnp_ns, 1625u);
}

TEST(Answers, AsText) {
  Captures captures;
  play(captures);
  const RunAnswers a = captures.answers(measured(3));
  report::Document document{.title = "", .sections = report::answer_sections(a, 2)};
  const std::string text = report::to_text(document);
  for (const char *words : {"FINDINGS", "PACKETS THAT RULES CHANGED", "left.pcapng 3",
                            "CNP after 3.250 us", "retransmission 1", "1 more in result.json",
                            "GO-BACK-N", "2.500", "100.000", "timeout", "CNP PACING", "NO"})
    EXPECT_NE(text.find(words), std::string::npos) << words << " is not in\n" << text;
}

TEST(Answers, ACaptureThatIsNotThere) {
  Trace trace;
  EXPECT_FALSE(follow("/nowhere", trace).ok());
}

// ---- comments

TEST(TracedRule, ReadsWhatCommentsSay) {
  for (const impair::Action &action : impair::actions()) {
    if (!action.did)
      continue;
    roce_trace trace{};
    trace.rule = 7;
    trace.act = action.bit;
    const auto rule = impair::traced_rule("gap: PSN 3; " + impair::trace_words(trace) + "; gone");
    ASSERT_TRUE(rule) << action.did;
    EXPECT_EQ(rule->rule, 7u);
    EXPECT_EQ(rule->did, action.did);
    EXPECT_TRUE(rule->act & action.bit) << action.did;
  }
  EXPECT_EQ(impair::traced_rule("rule 2: corrupted the iCRC, dropped; gone")->act,
            uint32_t{ROCE_ACT_CORRUPT_ICRC | ROCE_ACT_DROP});
  EXPECT_EQ(impair::traced_rule("rule 2: no action; forwarded")->act, 0u);
  for (const char *none :
       {"", "in order; forwarded", "rule x: dropped", "rule 3", "a rule 3: dropped"})
    EXPECT_FALSE(impair::traced_rule(none)) << none;
}

TEST(Passage, OfAFrame) {
  EXPECT_TRUE(impair::passage_of("in order; rule 1: dropped; gone").lost);
  EXPECT_TRUE(impair::passage_of("in order; gone: the other port does not exist").lost);
  EXPECT_FALSE(impair::passage_of("in order; forwarded").lost);
  EXPECT_TRUE(impair::passage_of("rule 1: corrupted the payload; forwarded").damaged);
  EXPECT_FALSE(impair::passage_of("rule 1: marked CE; forwarded").damaged);
  EXPECT_TRUE(impair::passage_of("rule 1: marked CE; forwarded").marked);
  EXPECT_FALSE(impair::passage_of("received with CE; rule 1: dropped; gone").marked);
  EXPECT_TRUE(impair::passage_of("its outcome was lost").unknown);
}

} // namespace
} // namespace xr::test::answers_test
