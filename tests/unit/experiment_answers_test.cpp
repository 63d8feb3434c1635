// SPDX-License-Identifier: Apache-2.0
// Expectations over the answers from a run's captures: values worked out by hand, the frame that
// decided, what makes a run void, and every refusal before the run.
#include <gtest/gtest.h>

#include "expect/expectation.h"
#include "expectations.h"
#include "experiment/experiment.h"

namespace experiment_answers_test {
namespace {

using namespace xr;
using namespace xr::experiment;
using namespace xr::test;
using Outcome = ExperimentCheck::Outcome;

Subject subject() {
  Subject s;
  s.flows = {"flow-1", "flow-2"};
  s.queues = {"switch:receiver"};
  s.rules = {"lose", "mark"};
  s.duration_ns = 100'000'000;
  return s;
}

// Three episodes, two by a NAK and one by a timeout; packets 5 and 9 were dropped, 7 marked.
RunAnswers answers() {
  RunAnswers a;
  a.from_ns = 1'000'000;
  const AnsweredQp one{"flow-1", "192.0.2.1", "192.0.2.2", 0x11}, two{"flow-2", "", "", 0x12};
  a.recoveries = {{.qp = one,
                   .cause = ROCE_CAUSE_NAK,
                   .first_missing = 104,
                   .missing = 1,
                   .resent = 3,
                   .resent_bytes = 3000,
                   .naks = 1,
                   .at_ns = 2'000'000,
                   .nak_generation_ns = 2000,
                   .nak_reaction_ns = 3000,
                   .recovery_ns = 5000,
                   .frame = {"left", 40},
                   .nak_frame = {"right", 17}},
                  {.qp = two,
                   .cause = ROCE_CAUSE_NAK,
                   .first_missing = 8,
                   .missing = 2,
                   .resent = 5,
                   .at_ns = 30'000'000,
                   .nak_generation_ns = 4000,
                   .nak_reaction_ns = 1000,
                   .recovery_ns = 9000,
                   .frame = {"left", 80},
                   .nak_frame = {"right", 33}},
                  {.qp = one,
                   .cause = ROCE_CAUSE_TIMEOUT,
                   .first_missing = 108,
                   .missing = 1,
                   .resent = 1,
                   .at_ns = 60'000'000,
                   .timeout_ns = 900'000,
                   .recovery_ns = 0,
                   .frame = {"left", 99}}};
  a.hits = {{.rule = "lose",
             .did = "dropped",
             .qp = one,
             .psn = 104,
             .packet = 5,
             .at_ns = 1'000'000,
             .frame = {"left", 12},
             .episode = 0,
             .recovered = true,
             .recovery_ns = 7000},
            {.rule = "mark",
             .did = "marked CE",
             .qp = two,
             .psn = 6,
             .packet = 7,
             .at_ns = 1'500'000,
             .frame = {"left", 14},
             .cnp_ns = 6000},
            {.rule = "lose",
             .did = "dropped",
             .qp = one,
             .psn = 108,
             .packet = 9,
             .at_ns = 50'000'000,
             .frame = {"left", 60},
             .recovered = false}};
  a.findings = {{.qp = one,
                 .finding = "repeated_nak",
                 .psn = 104,
                 .at_ns = 2'500'000,
                 .frame = {"right", 18},
                 .text = "a second NAK"}};
  a.go_back_n = {{.qp = one, .resumes = true, .naks_once = false, .gaps = 2, .naks = 3},
                 {.qp = two, .resumes = true, .naks_once = true, .gaps = 1, .naks = 1}};
  CnpPacing &pacing = a.cnp_pacing.emplace_back();
  pacing.times.cnps = 4;
  pacing.times.qp_ns = 50'000;
  pacing.times.port_ns = 1000;
  pacing.marked = 20;
  pacing.qp_frame = {"right", 70};
  pacing.port_frame = {"right", 71};
  a.counts = {{.what = "NAKs", .captured = 3, .counted = 3, .counter = "naks"},
              {.what = "requests with CE", .captured = 20, .counted = 19, .counter = "marked"}};
  return a;
}

ExperimentCheck evaluate(const std::string &text, const RunAnswers *found) {
  ExperimentMeasurement measured;
  measured.flows.resize(2);
  measured.flows[0].drops = 2;
  measured.rules.resize(2);
  measured.rules[0].acted = 2;
  const ExperimentPrediction prediction;
  const SampleStore samples;
  return evaluate_sound(text, subject(), [&](const Expectation &expectation) {
    return expectation.evaluate(subject(), {measured, prediction, samples, found});
  });
}
ExperimentCheck evaluate(const std::string &text) {
  const RunAnswers found = answers();
  return evaluate(text, &found);
}

TEST(AnswersExpected, AreDecided) {
  using enum ExperimentCheck::Outcome;
  for (const DecidedCase &one : std::initializer_list<DecidedCase>{
           {"count(episodes) == 3", Holds, 3, 3},
           {"count(retransmissions) == 3", Holds, 3, 3},
           {"count(episodes('flow-1')) == 2", Holds, 2, 2},
           {"count(episodes where cause == 'nak') == 2", Holds, 2, 2},
           {"count(episodes where cause != 'nak') == 1", Holds, 1, 1},
           {"count(episodes where cause == 'nak' and flow == 'flow-2') == 1", Holds, 1, 1},
           {"count(episodes where cause == 'rnr') == 0", Holds, 0, 0},
           {"count(episodes after 20ms) == 2", Holds, 2, 2},
           {"count(episodes after 20ms before 40ms) == 1", Holds, 1, 1},
           {"count(episodes after 3ms) == 2", Holds, 2, 2}, // at 3 ms of the run, 2 of the captures
           {"p99(episodes.recovery) <= 5 ms", Holds, 9000, 5e6},
           {"p99(episodes.recovery) <= 5us", Fails, 9000, 5000},
           {"max(episodes.recovery_ns where cause == 'timeout') < 1us", Holds, 0, 1000},
           {"max(episodes.nak_generation) <= 4us", Holds, 4000, 4000},
           {"min(episodes.nak_reaction) >= 1us", Holds, 1000, 1000},
           {"max(episodes.timeout) within 100us of 1ms", Holds, 900'000, 1e6},
           {"mean(episodes.nak_generation) == 3us", Holds, 3000, 3000},
           {"sum(episodes.resent) == 9", Holds, 9, 9},
           {"sum(episodes.resent_bytes) == 3KB", Holds, 3000, 3000},
           {"sum(episodes.resent_packets where cause == 'rnr') == 0", Holds, 0, 0},
           {"all(episodes, recovered == 1)", Holds, 1, 1},
           {"any(episodes, missing_psn == 8 and qpn == 0x12)", Holds, 0, 0},
           {"none(episodes('flow-2'), missing > 2)", Holds, 2, 2},
           {"count(findings) == 0", Fails, 1, 0},
           {"count(findings('*_nak')) == 1", Holds, 1, 1},
           {"count(findings where kind == 'wrong_psn_resumed') == 0", Holds, 0, 0},
           {"none(findings('ack_beyond'), psn > 0)", Holds, 0, 0},
           {"count(events) == 3", Holds, 3, 3},
           {"all(events('mark'), packet == 7)", Holds, 7, 7},
           {"all(events('lose'), packet == 5)", Fails, 9, 5},
           {"min(events.recovered) == 1", Fails, 0, 1},
           {"max(events('mark').cnp) < 10us", Holds, 6000, 10'000},
           {"count(events where did == '*drop*') == rule('lose').acted", Holds, 2, 2},
           {"count(events where recovered == 0) == 1", Holds, 1, 1}, // of a mark it is not asked
           {"max(events('lose').recovery where recovered == 1) == 7us", Holds, 7000, 7000},
           {"all(go_back_n, resumes_at_missing == 1)", Holds, 1, 1},
           {"min(go_back_n.naks_once_a_gap) == 1", Fails, 0, 1},
           {"sum(go_back_n.naks) > sum(go_back_n.gaps)", Holds, 4, 3},
           {"min(cnp_pacing.interval_qp) >= 50us", Holds, 50'000, 50'000},
           {"min(cnp_pacing.interval_port) >= 50us", Fails, 1000, 50'000},
           {"sum(cnp_pacing.cnps) <= sum(cnp_pacing.marked)", Holds, 4, 20},
           {"all(count_checks('naks'), equal == 1)", Holds, 1, 1},
           {"min(count_checks.equal) == 1", Fails, 0, 1},
           {"max(flows.drops where drops > 0) == 2", Holds, 2, 2},
           {"count(flows) == 2", Holds, 2, 2},
       }) {
    std::string text = one.text;
    if (const size_t hex = text.find("0x12"); hex != std::string::npos)
      text.replace(hex, 4, "18");
    const ExperimentCheck check = evaluate(text);
    EXPECT_EQ(check.outcome, one.outcome) << text << " " << check.why;
    if (text.starts_with("any(") || text.starts_with("none("))
      continue; // the last comparison of several
    EXPECT_EQ(check.value, one.value) << text;
    EXPECT_EQ(check.bound, one.bound) << text;
  }
}

TEST(AnswersExpected, SayTheFrame) {
  struct Place {
    const char *text, *row, *capture;
    uint64_t frame;
    std::optional<uint64_t> t_ns;
  };
  for (const Place &one : std::initializer_list<Place>{
           {"max(episodes.recovery) < 6us", "episode 2 (flow-2)", "left", 80, 31'000'000},
           {"max(episodes.nak_generation) < 3us", "episode 2 (flow-2)", "right", 33, 31'000'000},
           {"all(episodes, timeout == 0s or cause == 'nak')", "episode 3 (flow-1)", "left", 99,
            61'000'000},
           {"all(events('lose'), packet == 5)", "event 3 (lose, flow-1)", "left", 60, 51'000'000},
           {"count(findings) == 0", "finding 1 (repeated_nak, flow-1)", "right", 18, 3'500'000},
           {"count(events) <= 1", "event 2 (mark, flow-2)", "left", 14, 2'500'000},
           {"count(events) == 4", "event 3 (lose, flow-1)", "left", 60, 51'000'000},
           {"min(cnp_pacing.interval_port) >= 50us", "::", "right", 71, {}},
           {"min(go_back_n.naks_once_a_gap) == 1", "flow-1", "", 0, {}},
           {"min(count_checks.equal) == 1", "marked", "", 0, {}},
       }) {
    const ExperimentCheck check = evaluate(one.text);
    EXPECT_NE(check.outcome, Outcome::Holds) << one.text;
    EXPECT_EQ(check.row, one.row) << one.text;
    EXPECT_EQ(check.capture, one.capture) << one.text;
    EXPECT_EQ(check.frame, one.frame) << one.text;
    EXPECT_EQ(check.t_ns, one.t_ns) << one.text;
  }
  const ExperimentCheck cause = evaluate("all(episodes, cause == 'n*')");
  EXPECT_EQ(cause.outcome, Outcome::Fails);
  EXPECT_EQ(cause.value_text, "timeout");
  EXPECT_EQ(cause.bound_text, "n*");
  EXPECT_EQ(cause.frame, 99u);
}

TEST(AnswersExpected, WithoutAValueAreVoid) {
  RunAnswers none, lost = answers(), open = answers();
  lost.incomplete[static_cast<size_t>(AnswerTable::Events)] = "3 further packets";
  open.recoveries[1].recovery_ns.reset();
  open.counts[0].counted.reset();
  const RunAnswers all = answers();
  struct Unknown {
    const char *text;
    const RunAnswers *answers;
    const char *why;
  };
  for (const Unknown &one : std::initializer_list<Unknown>{
           {"count(episodes) == 0", nullptr, "there are no answers from the captures"},
           {"all(findings, psn == 0)", nullptr, "there are no answers from the captures"},
           {"max(episodes.recovery) < 1s", &none, "there are no rows"},
           {"all(events, packet == 5)", &none, "there are no events"},
           {"count(events) == 3", &lost, "events are incomplete: 3 further packets"},
           {"none(events, packet == 99)", &lost, "events are incomplete: 3 further packets"},
           {"count(events where packet == 5) == 1", &lost, "events are incomplete"},
           {"max(episodes.recovery) < 1s", &open, "episode 2 (flow-2) has no recovery_ns"},
           {"count(episodes where recovery > 1s) == 0", &open,
            "episode 2 (flow-2) has no recovery"},
           {"min(count_checks.equal) == 1", &open, "naks has no equal"},
           {"all(episodes, nak_generation < 1s)", &all, "episode 3 (flow-1) has no nak_generation"},
           {"max(events('lose').recovery) < 1s", &all, "event 3 (lose, flow-1) has no recovery_ns"},
       }) {
    const ExperimentCheck check = evaluate(one.text, one.answers);
    EXPECT_EQ(check.outcome, Outcome::Unmeasured) << one.text;
    EXPECT_NE(check.why.find(one.why), std::string::npos) << one.text << ": " << check.why;
  }
  EXPECT_EQ(evaluate("count(episodes) == 0", &none).outcome, Outcome::Holds);
  EXPECT_EQ(evaluate("none(findings, psn > 0)", &none).outcome, Outcome::Holds);
  EXPECT_EQ(evaluate("any(findings, psn > 0)", &none).outcome, Outcome::Fails);
  EXPECT_EQ(evaluate("count(episodes) == 3", &lost).outcome, Outcome::Holds); // of events only
}

TEST(AnswersExpected, AreRefusedBeforeTheRun) {
  expect_refused_before_run(
      subject(),
      {
          {"max(episodes.recovry) < 1s", "'recovry' is not a column of episodes",
           "did you mean recovery?"},
          {"sum(findings.pns) == 0", "'pns' is not a column of findings", "did you mean psn?"},
          {"sum(events.xyzzy) == 0", "'xyzzy' is not a column of events", "one of rule, did"},
          {"count(episode) == 0", "'episode' is not a column of the run", ""},
          {"count(episodes('flow-9')) == 0", "no episode has the name 'flow-9'",
           "did you mean flow-1?"},
          {"count(events('loose')) == 0", "no event has the name 'loose'", "did you mean lose?"},
          {"count(findings('repeated_nack')) == 0", "no finding has the name 'repeated_nack'",
           "did you mean repeated_nak?"},
          {"count(episodes where cause == 'nack') == 0", "cause is never 'nack'",
           "did you mean nak?"},
          {"count(events where flow == 'flow-3') == 0", "flow is never 'flow-3'", "flow-1"},
          {"count(events where rule == 'x') == 0", "rule is never 'x'", ""},
          {"count(findings where kind == 'x') == 0", "kind is never 'x'", "repeated_nak"},
          {"episodes > 3", "episodes are rows, not a number", "count(episodes)"},
          {"max(episodes) > 3", "episodes are rows, not a number", "episodes.NAME"},
          {"max(episodes.cause) > 3", "episodes.cause is a text, not a number", "by == and !="},
          {"all(episodes, cause > 3)", "cause is a text, not a number", ""},
          {"all(episodes, missing == 'nak')", "'nak' is a text, missing is none", ""},
          {"episodes.cause == 'nak'", "episodes.cause are many values", "all(episodes"},
          {"all(episodes, cause < 'nak')", "cause is a text, not a number", ""},
          {"episodes.recovery < 1s", "episodes.recovery are many values", "min("},
          {"max(episodes.recovery) < 1KB", "is a time, 1KB is a number of bytes", ""},
          {"rate(episodes.missing) < 1", "episodes.missing is not a counter", ""},
          {"count(episodes where missing) == 0", "'missing' is not a condition", ""},
          {"count(go_back_n after 1ms) == 0", "go_back_n have no time", "episodes, findings"},
          {"count(flows after 1ms) == 0", "the rows have no time", "flows.goodput_bps"},
          {"count(episodes after 1s) == 0", "the run ends at 100ms", ""},
      });
  expect_refused_by_parser({
      {"count(jain where jain > 1) == 0", "'where' follows rows, and jain is none",
       "count(episodes"},
      {"count(episodez.missing) == 0", "'episodez' is not a kind of rows",
       "did you mean episodes?"},
      {"count(episodes where) == 0", "where a number or a column is needed", ""},
      {"count(episodes where cause == 'nak' == 0", "is a second comparison", ""},
      {"event('lose').packet == 5", "'event' is not a function", ""},
  });
  Subject elsewhere = subject();
  elsewhere.no_answers = {"the wire has the captures", "left=IF,right=IF"};
  const Status sound = Expectation::parse("count(findings) == 0").get().check(elsewhere);
  ASSERT_FALSE(sound.ok());
  EXPECT_EQ(sound.error().message, "findings: the wire has the captures");
  EXPECT_EQ(sound.error().hint, "left=IF,right=IF");
}

constexpr const char *kFile = "experiment: x\nduration: 1ms\n"
                              "topology: {star: {senders: 1, rate: 1gbit, delay: 1us}}\n"
                              "flows: [{from: all, to: receiver, words: write size 1k}]\n";

Result<Experiment> read(const std::string &more, const Settings &settings = {}) {
  return ExperimentFile(kFile + more, "x.yaml", "").read(settings);
}

TEST(AnswersExpected, BringTheAnalysisAndItsCaptures) {
  const auto plain = read("expect: [jain > 0]\n");
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  EXPECT_FALSE(plain.get().analyze);
  EXPECT_TRUE(plain.get().captures.empty());
  const auto with = read("expect: [jain > 0, count(episodes) == 0]\n");
  ASSERT_TRUE(with.ok()) << with.error().message;
  EXPECT_TRUE(with.get().analyze);
  EXPECT_TRUE(with.get().only_for_answers);
  ASSERT_EQ(with.get().captures.size(), 2u);
  EXPECT_EQ(with.get().captures[0].port, CaptureSetup::Point::Left);
  EXPECT_EQ(with.get().captures[1].port, CaptureSetup::Point::Right);
  const auto asked = read("capture: [right]\nanalyze: episodes\n");
  ASSERT_TRUE(asked.ok()) << asked.error().message;
  EXPECT_FALSE(asked.get().only_for_answers);
  EXPECT_EQ(asked.get().captures.size(), 2u);
  const auto ports =
      read("expect: [count(findings) == 0]\n",
           {{"topology", "{leaf-spine: {leaves: 2, spines: 1, hosts: 1, rate: 1gbit, delay: 1us}}"},
            {"flows.1.from", "host-1"},
            {"flows.1.to", "host-2"}});
  ASSERT_FALSE(ports.ok());
  EXPECT_NE(ports.error().message.find("this topology has no ports to capture at"),
            std::string::npos)
      << ports.error().message;
}

} // namespace
} // namespace experiment_answers_test
