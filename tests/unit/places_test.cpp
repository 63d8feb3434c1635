// SPDX-License-Identifier: Apache-2.0
// Experiments in namespaces: the plan of a scenario, what is refused, scaling, and rows from
// readings. The runs themselves are in tests/e2e/run_namespaces.sh.
#include <gtest/gtest.h>

#include "experiment/experiment.h"
#include "parse/address.h"
#include "places/measure.h"
#include "places/plan.h"
#include "places/scale.h"
#include "wire/link_words.h"

namespace places_test {
namespace {

using namespace xr;
using namespace xr::places;

constexpr const char *kStar = R"(experiment: x
duration: 1s
topology: {star: {senders: 2, rate: 20mbit, delay: 100us}}
queue: {words: "buffer 1MB red 10k 60k 10%"}
)";
constexpr const char *kFlows = "flows: [{from: all, to: receiver, words: write size 65536}]\n";

simulate::Scenario scenario(const std::string &text) {
  auto read = experiment::ExperimentFile(text, "f.yaml", "").read({});
  EXPECT_TRUE(read.ok()) << read.error().message;
  return read ? read.get().scenario : simulate::Scenario();
}

Plan plan(const std::string &text) {
  auto made = make_plan(scenario(text));
  EXPECT_TRUE(made.ok()) << made.error().message;
  return made ? std::move(made).get() : Plan();
}

void expect_refused(const std::string &text, const std::string &words) {
  const auto made = make_plan(scenario(text));
  ASSERT_FALSE(made.ok()) << text;
  EXPECT_NE(made.error().message.find(words), std::string::npos) << made.error().message;
  EXPECT_FALSE(made.error().hint.empty()) << words;
}

TEST(PlacesScale, IsAtLeastAMillionth) {
  for (const char *word : {"1e-300", "1/1e300", "1e-7", "0", "-1", "2", "nan", "1/0", ""})
    EXPECT_FALSE(parse_scale(word).ok()) << word;
  for (const char *word : {"1/1000000", "1e-6", "0.5", "1"})
    EXPECT_TRUE(parse_scale(word).ok()) << word;
}

// A rate of 0 is none.
TEST(PlacesScale, RatesStayRates) {
  simulate::Scenario scenario;
  scenario.topology.rate = 100'000;
  scenario.queue.rate = 0;
  EXPECT_EQ(scaled(scenario, 1e-6).topology.rate, 1u);
  EXPECT_EQ(scaled(scenario, 1e-6).queue.rate, 0u);
}

// 200 years are more than 2^63 ns.
TEST(PlacesScale, TimesThatAreTooLongStayPositive) {
  simulate::Scenario scenario;
  scenario.duration_ns = 6'307'200'000'000'000'000;
  EXPECT_GE(scaled(scenario, 1e-6).duration_ns, uint64_t{1} << 61);
  EXPECT_LT(scaled(scenario, 1e-6).duration_ns, uint64_t{1} << 63);
}

TEST(PlacesPlan, AStarIsTheReceiversPortAndTheDelayOfBothLinks) {
  const Plan p = plan(std::string(kStar) + kFlows + "congestion: dcqcn preset paper\n");
  EXPECT_EQ(p.queue, "switch:receiver");
  EXPECT_EQ(p.forward.rate, 20'000'000U);
  EXPECT_EQ(p.forward.aqm.high, 60'000U);
  EXPECT_EQ(p.forward.delay, 200'000U);
  EXPECT_EQ(p.back.rate, 0U);
  EXPECT_EQ(p.back.delay, 200'000U);
  EXPECT_TRUE(p.reliable);
  EXPECT_EQ(p.mtu, 1500U);
  ASSERT_EQ(p.flows.size(), 2U);
  EXPECT_EQ(parse::address_text(p.flows[0].flow.path.src), "198.18.0.2");
  EXPECT_EQ(parse::address_text(p.flows[1].flow.path.src), "198.18.0.3");
  EXPECT_EQ(parse::address_text(p.flows[1].flow.path.dst), "198.19.0.1");
  EXPECT_EQ(p.receivers.size(), 1U);
  EXPECT_EQ(p.flows[1].flow.qp, p.flows[0].flow.qp + 1);
  EXPECT_EQ(p.flows[0].flow.control.rate.value, 20e6);
  EXPECT_EQ(p.flows[0].packets, 0U); // it has no end
  EXPECT_EQ(p.flows[0].payload, 1024);
  EXPECT_EQ(p.flows[0].peak_bps, 20'000'000U);
}

TEST(PlacesPlan, ADumbbellHasTheQueueOfItsCore) {
  const Plan p = plan(R"(experiment: x
duration: 1s
topology: {dumbbell: {senders: 2, rate: 20mbit, delay: 1ms, core-rate: 10mbit, core-delay: 5ms}}
flows: [{from: sender-1, to: receiver-1, words: write size 64k pmtu 4096}, {from: sender-2, to: receiver-2, words: send size 1k}]
)");
  EXPECT_EQ(p.queue, "left:right");
  EXPECT_EQ(p.forward.rate, 10'000'000U);
  EXPECT_EQ(p.forward.delay, 7'000'000U);
  EXPECT_EQ(p.receivers.size(), 2U);
  EXPECT_EQ(p.mtu, 4300U);
}

TEST(PlacesPlan, HostsSendAtTheRateOfTheirLink) {
  const Plan p = plan(std::string(kStar) + R"(congestion: none
flows:
  - {from: sender-1, to: receiver, words: write size 65536 messages 3}
  - {from: sender-1, to: receiver, words: write size 64k rate 3mbit}
  - {from: sender-2, to: receiver, words: write size 1000 rate 50%}
)");
  ASSERT_EQ(p.flows.size(), 3U);
  EXPECT_EQ(p.flows[0].flow.pacing.rate.value, 10e6);
  EXPECT_EQ(p.flows[0].packets, 3U * 64);
  EXPECT_EQ(p.flows[1].flow.pacing.rate.value, 3e6);
  EXPECT_EQ(p.flows[2].flow.pacing.rate.value, 10e6);
  EXPECT_EQ(p.flows[2].payload, 1000);
}

TEST(PlacesPlan, TheScheduleIsKnownBeforeTheRun) {
  const Plan p = plan(std::string(kStar) + kFlows + R"(schedule:
  - {at: 100ms, do: "start flow-1"}
  - {at: 300ms, do: "stop flow-1"}
  - {at: 400ms, do: "link bottleneck rate 10mbit buffer 20k"}
  - {at: 500ms, do: "flap bottleneck 10ms"}
)");
  EXPECT_EQ(p.flows[0].start_ns, 100'000'000U);
  EXPECT_EQ(p.flows[0].flow.pacing.start_ns, 100'000'000U);
  EXPECT_EQ(p.flows[0].flow.duration_ns, 200'000'000U);
  EXPECT_EQ(p.flows[1].start_ns, 0U);
  ASSERT_EQ(p.changes.size(), 2U);
  for (const LinkChange &change : p.changes) {
    const auto spec = wire::parse_link(parse::split(change.words));
    ASSERT_TRUE(spec.ok()) << change.words << ": " << spec.error().message;
    EXPECT_EQ(spec.get().rate, 10'000'000U);
    EXPECT_EQ(spec.get().delay, 200'000U);
    EXPECT_EQ(spec.get().buffer, 20'000U);
  }
  EXPECT_NE(p.changes[1].words.find("flap 10ms"), std::string::npos) << p.changes[1].words;
  EXPECT_NE(p.changes[1].words.find(" drop"), std::string::npos) << p.changes[1].words;
}

TEST(PlacesPlan, RefusesByName) {
  const std::string rest = "flows: [{from: host-1, to: host-3, words: write size 65536}]\n";
  const std::string head = "experiment: x\nduration: 1s\n";
  expect_refused(head + "topology: {leaf-spine: {rate: 1gbit}}\n" + rest, "a leaf-spine");
  expect_refused(head + "topology: {parking-lot: {rate: 1gbit}}\n"
                        "flows: [{from: sender-1, to: receiver-1, words: write size 65536}]\n",
                 "a parking-lot");
  expect_refused(std::string(kStar) +
                     "flows: [{from: receiver, to: sender-1, words: write size 65536}]\n",
                 "it cannot go from receiver to sender-1");
  expect_refused(std::string(kStar) + "flows: [{from: all, to: receiver, words: read size 64k}]\n",
                 "only SENDs and WRITEs");
  expect_refused(std::string(kStar) + R"(flows:
  - {from: sender-1, to: receiver, words: write size 64k}
  - {from: sender-2, to: receiver, words: write size 64k, reliable: false}
)",
                 "cannot be mixed");
  expect_refused(std::string(kStar) + kFlows +
                     R"(schedule: [{at: 1ms, do: "pfc bottleneck 3 for 1ms"}])",
                 "'pfc' is not possible");
  expect_refused(std::string(kStar) + "flows: [{from: all, to: receiver, words: write qps 1000}]\n",
                 "2000 QPs");
}

TEST(PlacesPlan, RatesBeyondTheMachineAreRefusedWithAScale) {
  simulate::Scenario fast = scenario(std::string(kStar) + kFlows);
  EXPECT_TRUE(check_speed(plan(std::string(kStar) + kFlows), fast, 1).ok());
  fast.topology.rate = 400'000'000'000;
  const auto made = make_plan(fast);
  ASSERT_TRUE(made.ok());
  const Status refused = check_speed(made.get(), fast, 1);
  ASSERT_FALSE(refused.ok());
  ASSERT_EQ(refused.error().hint.rfind("--scale 1/", 0), 0U) << refused.error().hint;
  // The scale that it names is possible.
  const auto scale = parse_scale(refused.error().hint.substr(8));
  ASSERT_TRUE(scale.ok());
  const simulate::Scenario slow = scaled(fast, scale.get());
  EXPECT_TRUE(check_speed(make_plan(slow).get(), slow, scale.get()).ok());
  // With congestion control the path is long beside the machine's own delays.
  const simulate::Scenario incast = scenario(
      "experiment: x\nduration: 10ms\ntopology: {star: {senders: 2, rate: 40gbit, delay: 1us}}\n"
      "queue: {words: buffer 12MB red 5k 200k 1%}\ncongestion: dcqcn preset paper\n" +
      std::string(kFlows));
  const Status controlled = check_speed(make_plan(incast).get(), incast, 1);
  ASSERT_FALSE(controlled.ok());
  EXPECT_EQ(controlled.error().hint, "--scale 1/500"); // 2 us of path; frames alone need 1/200
  const auto differs = [&](double at) {
    return why_differs(make_plan(scaled(incast, at)).get(), at);
  };
  EXPECT_NE(differs(1.0 / 200).find("--scale 1/500"), std::string::npos) << differs(1.0 / 200);
  EXPECT_EQ(differs(1.0 / 500), "");
}

TEST(PlacesScale, Words) {
  EXPECT_DOUBLE_EQ(parse_scale("1/200").get(), 0.005);
  EXPECT_DOUBLE_EQ(parse_scale("0.25").get(), 0.25);
  EXPECT_DOUBLE_EQ(parse_scale("1").get(), 1);
  for (const char *wrong : {"", "0", "2", "1/0", "x", "1/x", "-1", "nan", "1/-2", "1/2/3"})
    EXPECT_FALSE(parse_scale(wrong).ok()) << wrong;
}

TEST(PlacesScale, BytesStayWhileRatesFallAndTimesGrow) {
  const simulate::Scenario was = scenario(R"(experiment: x
duration: 10ms
sample: 1ms
measure: {from: 5ms}
topology: {star: {senders: 2, rate: 40gbit, delay: 2us}}
queue: {words: "buffer 1MB red 5k 200k 1% flap 1us every 10us"}
congestion: dcqcn preset hpcc rai=5
reliability: {timeout: 10}
flows: [{from: all, to: receiver, words: write size 64k start 1ms, stop: 9ms}]
schedule: [{at: 3ms, do: "link bottleneck rate 10gbit"}]
)");
  const simulate::Scenario is = scaled(was, 1.0 / 200);
  EXPECT_EQ(is.topology.rate, 200'000'000U);
  EXPECT_EQ(is.topology.delay, 400'000U);
  EXPECT_EQ(is.duration_ns, 2'000'000'000U);
  EXPECT_EQ(is.sample_ns, 200'000'000U);
  EXPECT_EQ(is.measure_from_ns, 1'000'000'000U);
  EXPECT_EQ(is.queue.aqm, was.queue.aqm);
  EXPECT_EQ(is.queue.buffer, was.queue.buffer);
  EXPECT_EQ(is.queue.flap.period, 2'000'000U);
  EXPECT_EQ(is.schedule[0].at_ns, 600'000'000U);
  EXPECT_EQ(is.schedule[0].link.rate, 50'000'000U);
  EXPECT_EQ(is.flows[0].start_ns + is.flows[0].flow.pacing.start_ns, 200'000'000U);
  EXPECT_EQ(is.flows[0].stop_ns, 1'800'000'000U);
  EXPECT_EQ(is.cnp.interval_ns, was.cnp.interval_ns * 200);
  EXPECT_EQ(is.reliability.timeout_code, 18U); // 2^7.6, rounded up
  EXPECT_EQ(is.reliability.window, was.reliability.window);
  // What a reaction point makes of it: all rates and times as the line.
  const auto fast = congestion::resolve(was.flows[0].flow.control.dcqcn, 40e9);
  const auto slow = congestion::resolve(is.flows[0].flow.control.dcqcn, 200e6);
  EXPECT_DOUBLE_EQ(slow.rai * 200, fast.rai);
  EXPECT_DOUBLE_EQ(slow.rhai * 200, fast.rhai);
  EXPECT_DOUBLE_EQ(slow.min_rate * 200, fast.min_rate);
  EXPECT_EQ(slow.timer_ns, fast.timer_ns * 200);
  EXPECT_EQ(slow.alpha_timer_ns, fast.alpha_timer_ns * 200);
  EXPECT_EQ(slow.bytes, fast.bytes);
  EXPECT_DOUBLE_EQ(slow.kmin, fast.kmin);
  EXPECT_DOUBLE_EQ(slow.kmax, fast.kmax);
}

Reading reading(uint64_t t_ns, uint64_t packets, uint64_t backlog) {
  Reading one;
  one.t_ns = t_ns;
  one.flows.resize(2);
  for (FlowCounts &flow : one.flows) {
    flow = {.sent = packets + 2,
            .sent_again = 1,
            .received = packets + 1,
            .received_bytes = (packets + 1) * 1096,
            .received_again = 1};
    flow.marked = packets / 10;
  }
  one.flows[0].naks = 3;
  one.flows[0].timeouts = 2;
  one.flows[1].failed = 1;
  auto right = std::make_shared<WirePortCounts>();
  right->link.classes[0].frames_out = 2 * packets;
  right->link.classes[0].marks = packets / 5;
  right->link.classes[0].backlog_bytes = backlog;
  right->link.backlog.add(backlog, t_ns);
  right->link.updated = t_ns;
  right->link.busy_ns = t_ns / 2;
  one.right = right;
  one.left = std::make_shared<WirePortCounts>();
  return one;
}

TEST(PlacesMeasurement, IsInTheTimeAndTheRatesOfTheExperiment) {
  const Plan p = plan(std::string(kStar) + kFlows);
  constexpr uint64_t kBegun = 5'000'000'000;
  const double scale = 0.1;
  Measurement measurement(p, scale, kBegun);
  const auto samples = measurement.sample(reading(kBegun + 100'000'000, 100, 5000));
  ASSERT_FALSE(samples.empty());
  EXPECT_EQ(samples[0].t_ns, 10'000'000U);
  EXPECT_STREQ(samples[0].column, "goodput_bps");
  EXPECT_DOUBLE_EQ(samples[0].value, 100 * 1024 * 8 / 0.1 / scale);
  measurement.begin(reading(kBegun + 100'000'000, 100, 5000));
  const Reading end = reading(kBegun + 1'100'000'000, 1100, 7000);
  measurement.end(end);
  const ExperimentMeasurement result = measurement.result(end);
  ASSERT_EQ(result.flows.size(), 2U);
  EXPECT_DOUBLE_EQ(result.flows[0].wire_bps, 1000 * 1096 * 8 / scale);
  EXPECT_DOUBLE_EQ(result.flows[0].goodput_bps, 1000 * 1024 * 8 / scale);
  EXPECT_EQ(result.flows[0].packets, 1000U);
  EXPECT_EQ(result.flows[0].bytes, 1000U * 1024);
  EXPECT_EQ(result.flows[0].marked, 100U);
  EXPECT_EQ(result.flows[0].retransmitted, 0U); // that was before the measured time
  EXPECT_EQ(result.flows[0].whole.packets, 1102U);
  EXPECT_EQ(result.flows[0].whole.retransmitted, 1U);
  EXPECT_EQ(result.flows[0].whole.drops, 1U);
  EXPECT_EQ(result.flows[0].whole.marked, 110U);
  EXPECT_EQ(result.flows[0].whole.naks, 3U);
  EXPECT_EQ(result.flows[0].whole.timeouts, 2U);
  EXPECT_EQ(result.flows[1].whole.failed, 1U);
  EXPECT_EQ(result.from_ns, 10'000'000U);
  EXPECT_FALSE(result.flows[0].end_ns);
  EXPECT_DOUBLE_EQ(result.jain.value(), 1);
  EXPECT_EQ(result.duration_ns, 110'000'000U);
  ASSERT_EQ(result.queues.size(), 1U);
  EXPECT_EQ(result.queues[0].packets, 2000U);
  EXPECT_EQ(result.queues[0].marked, 200U);
  EXPECT_DOUBLE_EQ(result.queues[0].utilisation, 0.5);
}

TEST(PlacesMeasurement, OwnLossesAreReasonsForVoid) {
  const Plan p = plan(std::string(kStar) + kFlows);
  SendReport sender;
  RespondReport responder;
  WireReport wire;
  for (WirePortReport &port : wire.ports)
    port.counts = std::make_shared<WirePortCounts>();
  EXPECT_TRUE(why_void(p, sender, responder, wire).empty());
  const auto reasons = [&](const auto &change) {
    auto counts = std::make_shared<WirePortCounts>();
    change(*counts);
    WireReport other = wire;
    other.ports[1].counts = counts;
    return why_void(p, sender, responder, other).size();
  };
  EXPECT_EQ(reasons([](WirePortCounts &c) { c.in.ring_full = 1; }), 1U);
  EXPECT_EQ(reasons([](WirePortCounts &c) { c.in.no_buffer = 1; }), 1U);
  EXPECT_EQ(reasons([](WirePortCounts &c) { c.out.tx_dropped = 1; }), 1U);
  EXPECT_EQ(reasons([](WirePortCounts &c) { c.out.late.add(1'000'000, 100); }), 0U);
  EXPECT_EQ(reasons([](WirePortCounts &c) { c.out.late.add(100'000'000, 100); }), 1U);
  // Frames that could not leave in time, with a fixed rate and with one that marks change.
  sender.seconds = 1;
  const auto late = [&](const std::string &flow, const std::string &congestion,
                        uint64_t slipped_ns) {
    SendReport report = sender;
    report.counts.slipped_ns = slipped_ns;
    const Plan some =
        plan(kStar + ("flows: [{from: sender-1, to: receiver, words: write size 65536" + flow +
                      "}]\ncongestion: " + congestion + "\n"));
    return why_void(some, report, responder, wire).size();
  };
  for (const auto &[flow, congestion] :
       {std::pair("", "dcqcn preset paper"), std::pair(", reliable: false", "none")}) {
    EXPECT_EQ(late(flow, congestion, 1'000'000), 0U) << congestion;
    EXPECT_EQ(late(flow, congestion, 500'000'000), 1U) << congestion;
  }
  EXPECT_EQ(late("", "none", 500'000'000), 0U); // acknowledgements may have been late
  sender.counts.timeouts = 1;                   // of flows: no loss of ours
  EXPECT_TRUE(why_void(p, sender, responder, wire).empty());
  responder.engine.socket.rx_ring_full = 1;
  EXPECT_EQ(why_void(p, sender, responder, wire).size(), 1U);
}

TEST(PlacesMeasurement, LateChangesOfTheScheduleMakeTheRunVoid) {
  EXPECT_EQ(why_late(500'000'000, 0), "");
  EXPECT_EQ(why_late(500'000'000, 50'000'000), "");
  EXPECT_EQ(
      why_late(500'000'000, 193'000'000),
      "schedule: the change at 500ms took effect 193ms late, and 50ms is allowed: the machine "
      "is too slow or too busy");
}

} // namespace
} // namespace places_test
