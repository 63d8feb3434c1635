// SPDX-License-Identifier: Apache-2.0
// Expectations: what is accepted, every refusal before the run, and values worked out by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "expect/columns.h"
#include "expectations.h"

namespace experiment_expectation_test {
namespace {

using namespace xr;
using namespace xr::experiment;
using namespace xr::test;
using Outcome = ExperimentCheck::Outcome;

Subject subject() {
  Subject s;
  s.flows = {"flow-1", "flow-2", "mouse-1", "mouse-2"};
  s.queues = {"switch:sender-1", "switch:receiver"};
  s.rules = {"lose", "mark"};
  s.jobs = {"train"};
  s.ranks = {"train:0", "train:1", "train:2"};
  s.aliases = {{"bottleneck", "switch:receiver"}};
  s.sampled = {{RowKind::Flow, "goodput_bps"},
               {RowKind::Flow, "alpha"},
               {RowKind::Queue, "backlog_bytes"},
               {RowKind::Queue, "marked"}};
  s.duration_ns = 100'000'000;
  s.measure_from_ns = 50'000'000;
  s.samples = true;
  return s;
}

ExperimentMeasurement measurement() {
  ExperimentMeasurement m;
  for (const auto &[name, rate] : {std::pair("flow-1", 10e9), std::pair("flow-2", 20e9),
                                   std::pair("mouse-1", 1e9), std::pair("mouse-2", 1e9)}) {
    m.flows.emplace_back();
    m.flows.back().name = name;
    m.flows.back().goodput_bps = rate;
  }
  m.flows[0].drops = 3;
  m.flows[0].cnps = 50;
  m.flows[0].arrived = 100;
  m.flows[1].messages = 2;
  m.flows[0].acks = 7;
  m.flows[2].end_ns = 6'000'000;
  m.flows[1].naks = 4;
  m.flows[2].fct_ns = 5'000'000;
  m.flows[2].slowdown = 1.5;
  m.queues.resize(2);
  m.queues[0].name = "switch:sender-1";
  m.queues[1].name = "switch:receiver";
  m.queues[1].backlog_bytes.add(100, 50);
  m.queues[1].backlog_bytes.add(20'000, 50);
  m.queues[1].marked = 100;
  m.rules.resize(2);
  m.rules[0].name = "lose";
  m.rules[0].matched = 10;
  m.rules[0].acted = 1;
  m.rules[0].whole.acted = 4;
  m.rules[1].name = "mark";
  m.rules[1].matched = 30;
  m.rules[1].acted = 5;
  m.rules[1].acted_bytes = 5000;
  m.rules[1].whole.acted = 6;
  m.flows[0].whole.drops = 70;
  m.jobs.resize(1);
  ExperimentJob &job = m.jobs[0];
  job.name = "train";
  job.ranks.resize(3);
  job.ranks[1].wait_ns = 4'000'000;
  job.ranks[2].compute_ns = 7'000'000;
  for (unsigned i = 0; i < 4; i++) { // steps of 10 ms, from the third on 20 ms
    ExperimentJob::Step &step = job.steps.emplace_back();
    step.start_ns = i < 2 ? i * 10'000'000 : 20'000'000 + (i - 2) * 20'000'000;
    step.end_ns = step.start_ns + (i < 2 ? 10'000'000 : 20'000'000);
    step.busbw_bps = i < 2 ? 2e9 : 1e9;
    if (i >= 2) {
      step.why = ExperimentJob::Why::LateSender;
      step.rank = 2;
      step.excess_ns = 10'000'000;
    }
    job.step_ns.add(*step.end_ns - step.start_ns);
  }
  m.jain = 0.75;
  m.packets = 1000;
  m.duration_ns = 100'000'000;
  return m;
}

ExperimentPrediction prediction() {
  ExperimentPrediction p;
  p.queue_bytes = 10'000;
  p.stable = true;
  return p;
}

ExperimentCheck evaluate(const std::string &text, const RunAnswers *answers = nullptr) {
  return evaluate_sound(text, subject(), [&](const Expectation &expectation) {
    SampleStore store;
    expectation.keep_samples(store);
    for (uint64_t ms = 10; ms <= 100; ms += 10) {
      const auto rate = static_cast<double>(ms) * 1e8; // 1 Gbit/s at 10 ms, 10 at 100 ms
      store.add(RowKind::Flow, 0, "goodput_bps", ms * 1'000'000, rate);
      store.add(RowKind::Queue, 1, "backlog_bytes", ms * 1'000'000, ms == 30 ? 50'000 : 1000);
      store.add(RowKind::Queue, 1, "marked", ms * 1'000'000, 10);
      store.add(RowKind::Flow, 0, "alpha", ms * 1'000'000, 0.5);
    }
    const ExperimentMeasurement measured = measurement();
    const ExperimentPrediction predicted = prediction();
    return expectation.evaluate(subject(), {measured, predicted, store, answers});
  });
}

TEST(Expectations, AreDecided) {
  using enum ExperimentCheck::Outcome;
  for (const DecidedCase &one : std::initializer_list<DecidedCase>{
           {"sum(flows.drops) == 0", Fails, 3, 0},
           {"sum(flows.drops) != 0", Holds, 3, 0},
           {"flow('flow-2').goodput_bps > 15gbit", Holds, 20e9, 15e9},
           {"max(flows.goodput_bps) <= 20gbit", Holds, 20e9, 20e9},
           {"max(flows.goodput_bps) <= 20gbit", Holds, 20e9, 20e9},
           {"totals.drops == 70", Holds, 70, 70},
           {"totals.rules_acted == 10", Holds, 10, 10},
           {"min(flows.goodput_bps) > 50kbit", Holds, 1e9, 50e3},
           {"min(flows.goodput_bps) != 0bit", Holds, 1e9, 0},
           {"flows.goodput_bps.max < 20gbit", Fails, 20e9, 20e9},
           {"mean(flows.goodput_bps) == 8gbit", Holds, 8e9, 8e9},
           {"p50(flows.goodput_bps) == 1gbit", Holds, 1e9, 1e9},
           {"p99(flows.goodput_bps) == 20gbit", Holds, 20e9, 20e9},
           {"count(flows('mouse-*').goodput_bps) == 2", Holds, 2, 2},
           {"jain(flows('flow-*').goodput_bps) == 0.9", Holds, 0.9, 0.9},
           {"jain >= 0.7", Holds, 0.75, 0.7},
           {"job('train').late_rank == 2", Holds, 2, 2},
           {"job('train').late_steps == 2", Holds, 2, 2},
           {"job('train').excess == 10ms", Holds, 10e6, 10e6},
           {"max(job('train').step_ns before 25ms) == 10ms", Holds, 10e6, 10e6},
           {"min(job('train').step_ns after 25ms) == 20ms", Holds, 20e6, 20e6},
           {"mean(job('train').busbw_bps after 15ms before 45ms) == 1.5gbit", Holds, 1.5e9, 1.5e9},
           {"rank(1).wait == 4ms", Holds, 4e6, 4e6},
           {"rank('train:2').compute_ns == 7ms", Holds, 7e6, 7e6},
           {"max(ranks.wait_ns) == 4ms", Holds, 4e6, 4e6},
           {"all(ranks('train:*'), wait_ns < 5ms)", Holds, 0, 5e6},
           {"rule('lose').acted == 1", Holds, 1, 1},
           {"sum(rules.acted) == 6", Holds, 6, 6},
           {"all(rules, acted > 0)", Holds, 1, 0},
           {"rule('mark').acted_bytes <= 4KB", Fails, 5000, 4000},
           {"rule('mark').acted.rate == 100", Holds, 100, 100},
           {"queue('bottleneck').backlog_bytes.mean within 1% of prediction.queue_bytes", Holds,
            10'050, 10'000},
           {"mean(queue('bottleneck').backlog_bytes) within 49 of 10000", Fails, 10'050, 10'000},
           {"queue('bottleneck').backlog_bytes.max == 20KB", Holds, 20'000, 20'000},
           {"max(queues.backlog_bytes.max) == 20000", Holds, 20'000, 20'000},
           {"flow('flow-1').goodput_bps between 9gbit and 11gbit", Holds, 10e9, 11e9},
           {"flow('flow-1').goodput_bps between 11gbit and 12gbit", Fails, 10e9, 11e9},
           {"flow('flow-1').goodput_bps between 1gbit and 2gbit", Fails, 10e9, 2e9},
           {"flow('flow-1').goodput_bps after 80ms == 9.5gbit", Holds, 9.5e9, 9.5e9},
           {"min(flow('flow-1').goodput_bps after 20ms before 40ms) == 3gbit", Holds, 3e9, 3e9},
           {"queue('bottleneck').backlog_bytes.max after 30ms < 2KB", Holds, 1000, 2000},
           {"queue('bottleneck').marked after 50ms == 50", Holds, 50, 50},
           {"rate(queue('bottleneck').marked after 50ms) == 1000", Holds, 1000, 1000},
           {"rate(queue('bottleneck').marked) == 2000", Holds, 2000, 2000},
           {"rate(flow('flow-1').cnps) == 1000", Holds, 1000, 1000},
           {"flow('flow-1').alpha after 10ms == 0.5", Holds, 0.5, 0.5},
           {"flow('flow-1').drops in [1, 2 + 1, 9]", Holds, 3, 3},
           {"flow('flow-1').drops in [1, 9]", Fails, 3, 1},
           {"not (flow('flow-1').drops in [0])", Holds, 3, 0},
           {"count(flows where flow_name in ['flow-1', 'mouse-*']) == 3", Holds, 3, 3},
           {"all(flows, ack_rx in [0, 4])", Fails, 7, 4},
           {"sum(flows.data_frames_rx) == 100", Holds, 100, 100},
           {"sum(flows.message_complete_rx) == 2", Holds, 2, 2},
           {"flow('mouse-1').last_timestamp == 6ms", Holds, 6e6, 6e6},
           {"2 * 3 + 4 / 2 - 1 == 7", Holds, 7, 7},
           {"-(2 - 5) == 3", Holds, 3, 3},
           {"10% == 0.1", Holds, 0.1, 0.1},
           {"1e-3 == 0.001", Holds, 0.001, 0.001},
           {"jain < 0.5 or packets == 1000", Holds, 1000, 1000},
           {"jain > 0.5 and packets == 999", Fails, 1000, 999},
           {"not jain < 0.5", Holds, 0.75, 0.5},
           {"not (jain > 0.5 and packets == 1000)", Fails, 0.75, 0.5},
           {"all(flows, drops == 0)", Fails, 3, 0},
           {"any(flows, goodput_bps > 15gbit)", Holds, 20e9, 15e9},
           {"none(flows, frame_delta != 0 or timeouts != 0)", Fails, 3, 0},
           {"none(flows, ecn_ce_rx != 0)", Holds, 0, 0},
           {"none(flows, nak_rx != 0 or frame_sequence_error != 0)", Fails, 4, 0},
           {"min(flows.data_rx_rate) == 1", Holds, 1, 1},
           {"max(flows.flow_completion_time) == 5", Holds, 5, 5},
           {"prediction.stable == 1", Holds, 1, 1},
       }) {
    const ExperimentCheck check = evaluate(one.text);
    EXPECT_EQ(check.outcome, one.outcome) << one.text << " " << check.why;
    EXPECT_NEAR(check.value.value_or(-1), one.value, 1e-9 * std::abs(one.value)) << one.text;
    EXPECT_NEAR(check.bound.value_or(-1), one.bound, 1e-9 * std::abs(one.bound)) << one.text;
  }
}

TEST(Expectations, SayWhereToLook) {
  EXPECT_EQ(evaluate("sum(flows.drops) == 0").row, "flow-1");
  EXPECT_EQ(evaluate("max(flows.goodput_bps) < 1gbit").row, "flow-2");
  EXPECT_EQ(evaluate("min(flows.goodput_bps) > 5gbit").row, "mouse-1");
  EXPECT_EQ(evaluate("all(flows, goodput_bps >= 10gbit)").row, "mouse-1");
  const ExperimentCheck peak = evaluate("queue('bottleneck').backlog_bytes.max < 10KB");
  EXPECT_EQ(peak.row, "switch:receiver");
  EXPECT_EQ(peak.t_ns, 30'000'000U);
  const ExperimentCheck late = evaluate("max(flow('flow-1').goodput_bps after 50ms) < 8gbit");
  EXPECT_EQ(late.t_ns, 100'000'000U);
  EXPECT_EQ(evaluate("queue('bottleneck').marked <= 25").t_ns, 30'000'000U); // the sum exceeds it
  EXPECT_EQ(evaluate("jain > 0.9").row, "");
}

TEST(Expectations, ValuesHaveTheUnitOfTheirColumn) {
  for (const auto &[text, unit] :
       {std::pair("flow('mouse-1').fct_ns < 5ms", "ns"),
        std::pair("flow('flow-1').goodput_bps >= 5gbit", "bit/s"),
        std::pair("queue('bottleneck').backlog_bytes.max within 10% of 20KB", "bytes"),
        std::pair("3 > jain", ""), std::pair("flow('flow-1').cnps > 3", ""),
        std::pair("2 * 1ms < flow('mouse-1').fct_ns", "ns"),
        std::pair("all(flows, goodput_bps > 1mbit) and jain > 0.5", "bit/s")})
    EXPECT_EQ(evaluate(text).unit, unit) << text;
}

TEST(Expectations, FairnessOfNothingIsNotMeasured) {
  const ExperimentCheck check = evaluate("jain(flows.drops) > 0.5 and jain(flows.timeouts) > 0.5");
  EXPECT_EQ(check.outcome, Outcome::Fails);
  EXPECT_EQ(evaluate("jain(flows.timeouts) > 0.5").outcome, Outcome::Unmeasured);
  EXPECT_NE(evaluate("jain(flows.timeouts) > 0.5").why.find("all values are 0"), std::string::npos);
}

TEST(Expectations, WithoutAValueAreNotMeasured) {
  for (const auto &[text, why] :
       {std::pair("flow('flow-1').fct_ns < 1s", "flow-1 has no fct_ns"),
        std::pair("max(flows('flow-*').slowdown) < 9", "flow-1 has no slowdown"),
        std::pair("queue('switch:sender-1').backlog_bytes.max < 1MB",
                  "switch:sender-1 has no backlog_bytes"),
        std::pair("flow('flow-2').goodput_bps after 10ms > 1gbit", "flow-2 has no samples"),
        std::pair("prediction.alpha < 1", "the run has no alpha"),
        std::pair("1 / 0 > 1", "division by zero")}) {
    const ExperimentCheck check = evaluate(text);
    EXPECT_EQ(check.outcome, Outcome::Unmeasured) << text;
    EXPECT_NE(check.why.find(why), std::string::npos) << text << ": " << check.why;
  }
  // A part that decides is enough.
  EXPECT_EQ(evaluate("flow('flow-1').fct_ns < 1s or jain > 0.5").outcome, Outcome::Holds);
  EXPECT_EQ(evaluate("flow('flow-1').fct_ns < 1s and jain > 0.9").outcome, Outcome::Fails);
  EXPECT_EQ(evaluate("flow('flow-1').fct_ns < 1s and jain > 0.5").outcome, Outcome::Unmeasured);
}

TEST(Expectations, AreRefusedByTheParser) {
  const std::string deep(200, '('), negative(200, '-');
  expect_refused_by_parser({
      {"", "it ends where a number or a column is needed", "like jain("},
      {"jain >=", "it ends where a number", ""},
      {"jain = 1", "'=' has no meaning here", "== compares"},
      {"jain ? 1", "'?' has no meaning here", "<="},
      {"flow('x", "the quote before x has no end", ""},
      {"jain > 1 2", "there is '2' where the end is needed", ""},
      {"1 < jain < 2", "'<' is a second comparison", "between"},
      {"(jain > 1", "it ends where ')' is needed", ""},
      {"jain within 10%", "it ends where 'of' is needed", ""},
      {"jain between 1 2", "there is '2' where 'and' is needed", ""},
      {"maxx(flows.drops) > 1", "'maxx' is not a function", "did you mean max?"},
      {"flows.goodput_bps.p9 > 1", "'p9' is not a function", "p99"},
      {"flowz.drops > 1", "'flowz' is not a kind of rows", "flows"},
      {"flow.drops > 1", "where ( is needed", ""},
      {"flow(3).drops > 1", "there is '3' where a name in quotes is needed", ""},
      {"flow('a') > 1", "where '.' is needed", ""},
      {"all(hosts, drops == 0)", "'hosts' is not a kind of rows", "all(flows"},
      {"all(flows drops == 0)", "where ',' is needed", ""},
      {"jain > 5parsecs", "'5parsecs' is not a duration", "unit"},
      {"jain > 5foo", "'5foo' is not a number of bytes", ""},
      {"jain > 1.2.3", "'1.2.3' is not a number", ""},
      {"jain > 11tbit", "'11tbit' is not a rate", ""},
      {"flow('flow-1').goodput_bps after x > 1", "where a time is needed", ""},
      {"flow('flow-1').goodput_bps after 5 > 1", "'5' is not a duration", ""},
      {"flow('flow-1').goodput_bps after 5ms before 5ms > 1", "'after' is not earlier", ""},
      {deep.c_str(), "it is nested too deeply", ""},
      {negative.c_str(), "it is nested too deeply", ""},
  });
}

TEST(Expectations, AreRefusedBeforeTheRun) {
  expect_refused_before_run(
      subject(),
      {
          {"max(flows.rate_bps) > 1gbit", "'rate_bps' is not a column of flows", "goodput_bps"},
          {"any(flows, rate_bps > 1gbit)", "'rate_bps' is not a column of flows", "goodput_bps"},
          {"flow('flow-1').rate_bps after 1ms > 1gbit", "'rate_bps' is not a column of flows",
           "goodput_bps"},
          {"sum(flows.drosp) == 0", "'drosp' is not a column of flows", "did you mean drops?"},
          {"sum(flows.cnp_rxx) == 0", "'cnp_rxx' is not a column", "did you mean cnp_rx?"},
          {"queue('bottleneck').backlog > 1", "'backlog' is not a column of queues", ""},
          {"utilization > 1", "'utilization' is not a column of the run", ""},
          {"prediction.queue > 1", "'queue' is not a column of prediction", ""},
          {"flow('flow-9').drops == 0", "there is no flow 'flow-9'", "did you mean flow-1?"},
          {"queue('botleneck').marked == 0", "there is no queue 'botleneck'",
           "did you mean bottleneck?"},
          {"sum(flows('rat-*').drops) == 0", "there is no flow 'rat-*'", "there are flow-1"},
          {"rule('lost').acted == 0", "there is no rule 'lost'", "did you mean lose?"},
          {"rule('lose').actd == 0", "'actd' is not a column of rules", "did you mean acted?"},
          {"rule('lose').acted after 1ms == 0", "rules are not sampled", "whole run"},
          {"flow('flow-*').drops == 0", "'flow-*' is 2 flows", "flows('flow-*')"},
          {"flows.drops == 0", "flows.drops are many values", "all(flows"},
          {"queue('bottleneck').backlog_bytes < 1KB", "is a distribution", ".mean"},
          {"jain", "'jain' is not a condition", ""},
          {"jain and packets > 1", "'jain' is not a condition", ""},
          {"not jain", "'jain' is not a condition", ""},
          {"(jain > 1) > 2", "is a condition, not a number", ""},
          {"mean(jain) > 1", "it is one value", ""},
          {"sum(queue('bottleneck').backlog_bytes) > 1", "sum of", "min, max, mean"},
          {"rate(jain) > 1", "jain is not a counter", ""},
          {"packets > 10ms", "packets is a plain number, 10ms is a time", "units are"},
          {"flow('flow-1').goodput_bps > 10KB", "is a rate, 10KB is a number of bytes", ""},
          {"flow('flow-1').goodput_bps within 1ms of 1gbit", "is a rate, 1ms is a time", ""},
          {"flow('flow-1').goodput_bps between 1gbit and 1s", "is a rate, 1s is a time", ""},
          {"flow('flow-1').alpha > 1", "alpha is only sampled over time", "after 20ms"},
          {"flow('flow-1').drops after 1ms > 1", "drops is not sampled over time", "goodput_bps"},
          {"flow('flow-1').goodput_bps after 100ms > 1", "the run ends at 100ms", ""},
          {"max(queue('bottleneck').marked after 1ms) > 1", "it is one value", ""},
      });
  Subject bare = subject();
  bare.samples = false;
  bare.no_prediction = "the flows are not of dcqcn";
  for (const auto &[text, words] :
       {std::pair("flow('flow-1').goodput_bps after 1ms > 1", "there are no samples"),
        std::pair("prediction.alpha > 1", "the flows are not of dcqcn")}) {
    const Status sound = Expectation::parse(text).get().check(bare);
    ASSERT_FALSE(sound.ok()) << text;
    EXPECT_NE(sound.error().message.find(words), std::string::npos) << sound.error().message;
  }
}

// The names of OTG's Rocev2Flow.Metric.PerQP (model 1.61).
TEST(Expectations, EachColumnOfOtgIsUsableOrRefusedWithItsReason) {
  constexpr const char *kPerQp[] = {"flow_name",
                                    "port_tx",
                                    "port_rx",
                                    "src_qp",
                                    "dest_qp",
                                    "src_ipv4",
                                    "dest_ipv4",
                                    "data_frames_tx",
                                    "data_frames_rx",
                                    "frame_delta",
                                    "data_frames_retransmitted",
                                    "frame_sequence_error",
                                    "tx_bytes",
                                    "rx_bytes",
                                    "data_tx_rate",
                                    "data_rx_rate",
                                    "message_tx",
                                    "message_complete_rx",
                                    "message_fail",
                                    "flow_completion_time",
                                    "avg_latency",
                                    "min_latency",
                                    "max_latency",
                                    "ecn_ce_rx",
                                    "cnp_tx",
                                    "cnp_rx",
                                    "ack_tx",
                                    "ack_rx",
                                    "nak_tx",
                                    "nak_rx",
                                    "first_timestamp",
                                    "last_timestamp"};
  const std::vector<std::string> without = {
      "src_qp",      "src_ipv4",    "dest_ipv4",   "tx_bytes", "data_tx_rate", "message_tx",
      "avg_latency", "min_latency", "max_latency", "cnp_tx",   "ack_tx",       "nak_tx"};
  EXPECT_EQ(column_aliases().size(), std::size(kPerQp));
  for (const std::string name : kPerQp) {
    const bool text = name == "flow_name" || name.starts_with("port_");
    auto made = Expectation::parse(
        fmt::format("count(flows where {} {}) >= 0", name, text ? "!= 'mouse-1'" : "== 0"));
    if (name == "rx_bytes" || name.ends_with("timestamp"))
      made = Expectation::parse(fmt::format("max(flows.{}) >= 0 * flows.{}.max", name, name));
    ASSERT_TRUE(made.ok()) << name << made.error().message;
    const Status sound = made.get().check(subject());
    const bool refused = std::ranges::find(without, name) != without.end();
    EXPECT_EQ(sound.ok(), !refused) << name << ": " << sound.error().message;
    if (!refused)
      continue;
    EXPECT_NE(sound.error().message.find(name + " has no value here"), std::string::npos)
        << sound.error().message;
    EXPECT_FALSE(sound.error().hint.empty()) << name;
  }
}

// The names of rows, and whether samples of flows are needed.
TEST(Expectations, WhatTheyNeedOfSamples) {
  for (const auto &[text, rows, flows] :
       std::initializer_list<std::tuple<const char *, std::set<size_t>, bool>>{
           {"flow('flow-2').goodput_bps after 10ms > 1gbit", {1}, true},
           {"flow('mouse-1').drops == 0 and flow('flow-1').drops == 0", {0, 2}, false},
           {"jain(flows.goodput_bps) > 0.5", {}, false},
           {"sum(flows('mouse-*').drops) == 0", {}, false},
           {"max(queue('bottleneck').backlog_bytes after 10ms) > 1", {}, false},
       }) {
    auto expectation = Expectation::parse(text);
    ASSERT_TRUE(expectation.ok()) << text;
    std::set<size_t> named;
    expectation->named_rows(subject(), RowKind::Flow, named);
    EXPECT_EQ(named, rows) << text;
    EXPECT_EQ(expectation->needs_samples(RowKind::Flow), flows) << text;
  }
}

} // namespace
} // namespace experiment_expectation_test
