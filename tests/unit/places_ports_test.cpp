// SPDX-License-Identifier: Apache-2.0
// Experiments on ports: words, what each process measures, what is refused before a port is
// touched. The runs themselves are in tests/e2e/run_ports.sh.
#include <algorithm>

#include <gtest/gtest.h>

#include "experiment/experiment.h"
#include "parse/address.h"
#include "places/measure.h"
#include "places/measured_columns.h"
#include "places/plan.h"
#include "places/port_checks.h"
#include "places/ports.h"
#include "places/process_name.h"
#include "places/rules.h"

namespace places_ports_test {
namespace {

using namespace xr;
using namespace xr::places;
using experiment::RowKind;

experiment::Experiment read(const std::string &rest = "") {
  auto read = experiment::ExperimentFile(R"(experiment: x
duration: 1s
topology: {star: {senders: 2, rate: 20mbit, delay: 100us}}
flows: [{from: all, to: receiver, words: write size 65536 messages 2 for 1ms}]
)" + rest,
                                         "f.yaml", "")
                  .read({});
  EXPECT_TRUE(read.ok()) << read.error().message;
  return std::move(read).get();
}

TEST(PlacesPorts, WordsNameRolesAndAddresses) {
  const auto wire = parse_ports({"left=a,right=b"});
  ASSERT_TRUE(wire.ok()) << wire.error().message;
  EXPECT_EQ(wire.get().roles(), std::vector<std::string>{"wire"});
  const auto all = parse_ports({"left=a,right=b", "send=c,respond=d,src=192.0.2.1,dst=192.0.2.2",
                                "dst-mac=02:00:00:00:00:02,speed=10gbit"});
  ASSERT_TRUE(all.ok()) << all.error().message;
  EXPECT_EQ(all.get().roles(), (std::vector<std::string>{"wire", "send", "respond"}));
  EXPECT_EQ(parse::address_text(*all.get().dst), "192.0.2.2");
  EXPECT_EQ(all.get().dst_mac->at(5), 2);
  EXPECT_EQ(all.get().speed, 10'000'000'000U);
}

TEST(PlacesPorts, WrongWordsAreRefused) {
  for (const auto &[word, says] : std::initializer_list<std::pair<const char *, const char *>>{
           {"left=a", "right is missing"},
           {"right=a", "left is missing"},
           {"left=a,right=a", "both left and right"},
           {"speed=10gbit", "no port is named"},
           {"sned=a", "'sned' is not a key"},
           {"send=", "send has no port"},
           {"send=a,send=b", "send is given twice"},
           {"send", "not KEY=VALUE"},
           {"send=a,dst=2001:db8::1", "not an IPv4 address"},
           {"send=a,dst-mac=7", "MAC"},
           {"send=a,speed=fast", "fast"}}) {
    const auto wrong = parse_ports({word});
    ASSERT_FALSE(wrong.ok()) << word;
    EXPECT_NE(wrong.error().message.find(says), std::string::npos) << wrong.error().message;
  }
}

TEST(PlacesPorts, EachProcessMeasuresWhatItsPortsShow) {
  const auto absent = [](uint8_t has, const char *column) {
    return absent_columns(has).contains({RowKind::Flow, column});
  };
  // In line between other hosts.
  for (const char *column : {"goodput_bps", "packets", "retransmitted", "cnps"})
    EXPECT_FALSE(absent(kHasWire, column)) << column;
  for (const char *column : {"fct_ns", "end_ns", "start_ns", "bytes", "drops", "marked", "naks",
                             "timeouts", "cuts", "failed", "control_bps", "slowdown"})
    EXPECT_TRUE(absent(kHasWire, column)) << column;
  EXPECT_FALSE(absent(kHasWire | kHasReceiver, "drops"));
  EXPECT_TRUE(absent(kHasWire | kHasReceiver, "fct_ns"));
  EXPECT_FALSE(absent(kHasReceiver | kFlowsAreOurs, "fct_ns"));
  EXPECT_FALSE(absent(kHasSender | kFlowsAreOurs, "naks"));
  EXPECT_TRUE(absent(kHasSender | kFlowsAreOurs, "goodput_bps"));
  const auto all = absent_columns(kHasSender | kHasWire | kHasReceiver | kFlowsAreOurs);
  std::vector<std::string> nowhere;
  for (const auto &[column, words] : all)
    nowhere.push_back(column.second);
  EXPECT_EQ(nowhere,
            (std::vector<std::string>{"acks", "arrived", "kept_no_room", "messages", "slowdown"}));
  // Each need names a column that there is.
  for (const auto &[column, words] : absent_columns(0))
    EXPECT_NE(experiment::find_column(column.first, column.second).column, nullptr)
        << column.second;
}

TEST(PlacesPorts, AnExpectationOfAnAbsentColumnIsRefusedByName) {
  const experiment::Experiment x = read("expect: [\"max(flows.fct_ns) < 1s\"]\n");
  experiment::Subject subject = x.subject;
  EXPECT_TRUE(x.expectations[0].check(subject).ok());
  subject.absent = absent_columns(kHasWire);
  const Status refused = x.expectations[0].check(subject);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("flows.fct_ns is not measured here"), std::string::npos);
  EXPECT_NE(refused.error().hint.find("respond=IF"), std::string::npos);
}

TEST(PlacesPorts, FlowsOfOtherHostsAreOnlyCounted) {
  const auto made = make_plan(read().scenario, false);
  ASSERT_TRUE(made.ok());
  for (const PlannedFlow &flow : made.get().flows) {
    EXPECT_EQ(flow.packets, 0U); // when they are complete is not known
    EXPECT_EQ(flow.flow.duration_ns, 0U);
  }
  // Other hosts may read, and mix.
  auto reads = read().scenario;
  reads.flows[1].flow.verb = packet::Verb::Read;
  EXPECT_FALSE(make_plan(reads).ok());
  EXPECT_TRUE(make_plan(reads, false).ok());
  // `qp N` is the port's order then.
  const experiment::Experiment ruled = read("rules: [\"qp 2 psn 5 iter 1 drop name x\"]\n");
  Plan ours = make_plan(ruled.scenario).get(), theirs = make_plan(ruled.scenario, false).get();
  ASSERT_TRUE(plan_rules(ruled, 1, ours).ok());
  ASSERT_TRUE(plan_rules(ruled, 1, theirs).ok());
  EXPECT_EQ(ours.rules[0].rule.text(), "qp 0x101 psn 5 iter 1 drop name x");
  EXPECT_EQ(theirs.rules[0].rule.text(), "qp 2 psn 5 iter 1 drop name x");
}

TEST(PlacesPorts, AQueueMayPauseAPortOnly) {
  auto scenario = read().scenario;
  scenario.queue.pfc = {.on = true, .xoff = 1000, .xon = 500};
  const auto refused = make_plan(scenario);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("senders cannot be paused by pfc"), std::string::npos);
  EXPECT_NE(refused.error().hint.find("--on ports left=IF,right=IF"), std::string::npos);
  const auto made = make_plan(scenario, false, true);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made.get().forward.pfc.xoff, 1000U);
}

TEST(PlacesPorts, RowsOfOtherHostsFlowsHaveTheirQps) {
  const Plan theirs = make_plan(read().scenario, false).get();
  Measurement measurement(theirs, 1, 1000);
  Reading end;
  end.t_ns = 1'000'001'000;
  end.flows.resize(2);
  end.flows[0] = {.sent = 100, .sent_bytes = 100'000, .received = 100, .received_bytes = 100'000};
  end.flows[0].qp = 17;
  end.other_qps = 3;
  measurement.end(end);
  const ExperimentMeasurement result = measurement.result(end);
  EXPECT_EQ(result.flows[0].qp, 17U);
  EXPECT_EQ(result.flows[0].wire_bps, 100'000 * 8.0);
  EXPECT_EQ(result.flows[0].goodput_bps, 100 * (1000 - 58) * 8.0); // Ethernet, IPv4, UDP, BTH, iCRC
  EXPECT_FALSE(result.flows[0].fct_ns);
  EXPECT_EQ(result.other_qps, 3U);
  EXPECT_TRUE(result.queues.empty()); // no wire here
}

TEST(PlacesPorts, WhatIsNotCountedHasNoSamples) {
  const Plan ours = make_plan(read().scenario).get();
  Reading now;
  now.t_ns = 301'000; // the flows run for 1 ms
  now.flows.resize(2);
  now.counted = false; // of the process of the senders
  now.flows[0].controlled = true;
  Measurement measurement(ours, 1, 1000);
  for (const ExperimentSample &sample : measurement.sample(now))
    EXPECT_STRNE(sample.column, "goodput_bps");
  now.counted = true;
  now.t_ns += 300'000;
  const auto samples = measurement.sample(now);
  EXPECT_TRUE(std::ranges::any_of(
      samples, [](const auto &one) { return std::string(one.column) == "goodput_bps"; }));
}

TEST(PlacesPorts, WhatNoPortCanDoIsRefused) {
  const RunPorts wire{.sender = {}, .left = {"a"}, .right = {"b"}, .receiver = {}};
  const RunPorts ends{.sender = {"c"}, .left = {}, .right = {}, .receiver = {"d"}};
  const auto says = [](const std::string &rest, const RunPorts &ports) {
    const experiment::Experiment x = read(rest);
    Plan plan = make_plan(x.scenario, ports.sender.here()).get();
    EXPECT_TRUE(plan_rules(x, 1, plan).ok());
    const Status s = check_experiment(x, plan, ports);
    return s ? "" : s.error().message;
  };
  const std::string stop = "schedule: [{at: 1ms, do: \"stop flow-1\"}]\n",
                    link = "schedule: [{at: 1ms, do: \"link bottleneck rate 1mbit\"}]\n";
  EXPECT_EQ(says(stop, ends), "");
  EXPECT_EQ(says(stop, wire), "schedule: flow-1 is not started or stopped here");
  EXPECT_EQ(says(link, wire), "");
  EXPECT_EQ(says(link, ends), "schedule: switch:receiver has no queue here");
  EXPECT_EQ(says("capture: [left]\n", wire), "");
  EXPECT_EQ(says("capture: [left]\n", ends), "capture: there is no port left");
  EXPECT_EQ(says("", {.sender = {"c"}, .left = {}, .right = {}, .receiver = {"c"}}),
            "c cannot be both send and respond");
  EXPECT_EQ(says("", {.sender = {"a"}, .left = {"a"}, .right = {"b"}, .receiver = {}}),
            "a cannot be both a port of the wire and an end");
}

TEST(PlacesPorts, ProcessesAreNamedForGood) {
  const std::string own = own_process_name();
  EXPECT_FALSE(names_ended_process(own + "-ports"));
  EXPECT_TRUE(names_ended_process(own.substr(0, own.find('-')) + "-1-ports")); // the PID came again
  EXPECT_TRUE(names_ended_process("4194305-77-ports"));                        // above pid_max
  for (const char *other : {"", "x", "17", "17-", "17-5"})
    EXPECT_FALSE(names_ended_process(other)) << other;
}

} // namespace
} // namespace places_ports_test
