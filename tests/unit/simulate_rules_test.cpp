// SPDX-License-Identifier: Apache-2.0
// Rules of `impair` in virtual time: each action once with exact counts, schedules, what one seed
// gives, and captures.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "capture/reader.h"
#include "packet/icrc.h"
#include "simulate_scenarios.h"

namespace simulate_rules_test {
namespace {

using namespace xr;
using namespace xr::simulate;

constexpr uint64_t kPackets = 64;
constexpr const char *kForward = "switch:receiver", *kBack = "receiver:switch";

// 64 packets at a twentieth of the line, so that a rule that sees them one by one is never late.
Scenario one_flow(bool reliable = true) {
  Scenario scenario = star(1, 10 * kGbit, 20 * kMs, "buffer 1M");
  scenario.measure_from_ns = 0;
  scenario.reliability.timeout_code = 8; // 1 ms
  add_flow(scenario, "sender-1", "receiver",
           "write size 65536 pmtu 1024 messages 1 rate 500mbit l2 psn 100", reliable);
  return scenario;
}

void add_rule(Scenario &scenario, const std::string &words, const char *link = kForward) {
  const auto spec = impair::parse_spec({words});
  ASSERT_TRUE(spec.ok()) << words << ": " << spec.error().message;
  scenario.rules.all.push_back(
      {"rule-" + std::to_string(scenario.rules.all.size() + 1), link, spec.get()});
}

struct Ran {
  ExperimentMeasurement all;
  FrameTotals totals;

  const ExperimentFlow &flow() const { return all.flows.at(0); }
  const ExperimentRule &rule(size_t i = 0) const { return all.rules.at(i); }
};

Ran run_rules(const Scenario &scenario, uint64_t step = kMs) {
  const auto simulation = make(scenario);
  for (uint64_t at = step; !simulation->done(); at += step)
    simulation->run_until(at);
  const FrameTotals totals = simulation->totals();
  EXPECT_EQ(totals.sent + totals.made, totals.received + totals.dropped + totals.in_flight);
  return {simulation->measure(), totals};
}

Ran run_words(const std::string &words, bool reliable = true, const char *link = kForward) {
  Scenario scenario = one_flow(reliable);
  add_rule(scenario, words, link);
  return run_rules(scenario);
}

uint64_t fct(const Ran &ran) { return ran.flow().fct_ns.value_or(0); }

TEST(SimulateRules, DropHitsThePacketAndItsTransmission) {
  const Ran ran = run_words("qp 0x11 psn 10 iter 1 drop");
  EXPECT_EQ(ran.rule().matched, 1U);
  EXPECT_EQ(ran.rule().acted, 1U);
  EXPECT_EQ(ran.rule().acted_bytes, 1082U); // 14 + 20 + 8 + 12 + 1024 + 4
  EXPECT_EQ(ran.flow().drops, 1U);
  EXPECT_EQ(ran.flow().naks, 1U);
  EXPECT_EQ(ran.flow().timeouts, 0U);
  EXPECT_EQ(ran.flow().bytes, 65536U);
  EXPECT_EQ(ran.totals.dropped, 1U);
  // Nothing comes after the last packet: only the timer notices.
  const Ran timeout = run_words("qp 0x11 psn 64 iter 1 drop");
  EXPECT_EQ(timeout.flow().timeouts, 1U);
  EXPECT_EQ(timeout.flow().naks, 0U);
  EXPECT_GT(fct(timeout), fct(ran));
}

TEST(SimulateRules, CeMarks) {
  const Ran ran = run_words("qp 0x11 psn 10-19 ce force");
  EXPECT_EQ(ran.rule().acted, 10U);
  EXPECT_EQ(ran.flow().marked, 10U);
  EXPECT_EQ(ran.flow().drops + ran.flow().naks, 0U);
  EXPECT_GE(ran.flow().cnps, 1U); // of the receiver
  const Ran none = run_words("qp 0x11 psn 10-19 set ecn not-ect");
  EXPECT_EQ(none.rule().acted + none.rule().not_applicable, 10U);
  EXPECT_EQ(none.flow().marked, 0U);
}

TEST(SimulateRules, CorruptedPacketsAreNotAccepted) {
  for (const char *what : {"corrupt icrc", "corrupt payload", "corrupt header psn"}) {
    const Ran ran = run_words(std::string("qp 0x11 psn 30 iter 1 ") + what + " seed 5");
    EXPECT_EQ(ran.rule().acted, 1U) << what;
    EXPECT_EQ(ran.flow().naks, 1U) << what;
    EXPECT_EQ(ran.totals.dropped, 0U) << what; // it came, and was thrown away
    EXPECT_EQ(ran.flow().bytes, 65536U) << what;
    EXPECT_GT(ran.flow().retransmitted, 0U) << what;
  }
}

TEST(SimulateRules, DuplicatesArriveTwice) {
  for (const bool reliable : {true, false}) {
    const Ran ran = run_words("qp 0x11 psn 5-7 duplicate", reliable);
    EXPECT_EQ(ran.rule().acted, 3U);
    EXPECT_EQ(ran.totals.made, 3U);
    EXPECT_EQ(queue_of(ran.all, kForward).packets, kPackets + 3) << reliable;
    EXPECT_EQ(ran.flow().bytes, 65536U) << reliable;
    EXPECT_TRUE(ran.flow().end_ns) << reliable;
  }
}

TEST(SimulateRules, CnpsGoBackToTheSender) {
  const Ran ran = run_words("qp 0x11 psn 20 cnp");
  EXPECT_EQ(ran.rule().acted, 1U);
  EXPECT_EQ(ran.totals.made, 1U);
  EXPECT_EQ(ran.flow().cnps, 1U);
  EXPECT_EQ(ran.flow().naks, 0U);
  const Ran dropped = run_words("qp 0x11 psn 20 iter 1 cnp drop");
  EXPECT_EQ(dropped.flow().cnps, 1U);
  EXPECT_EQ(dropped.flow().naks, 1U);
  EXPECT_EQ(dropped.totals.dropped, 1U);
  // One CNP in 100 us of 64 packets in 1.1 ms; the others are refused.
  const Ran paced = run_words("opcode data cnp interval 100us");
  EXPECT_EQ(paced.rule().acted, paced.flow().cnps);
  EXPECT_EQ(paced.rule().acted + paced.rule().refused, kPackets);
  EXPECT_NEAR(static_cast<double>(paced.rule().acted), 11, 1);
}

// At half of the flow's rate: what was saved in the bucket, and every second frame.
TEST(SimulateRules, PolicersAndVirtualQueuesHaveTheSimulatedClock) {
  const Ran police = run_words("opcode data police 250mbit burst 4k", false);
  EXPECT_EQ(police.rule().acted + police.rule().spared, kPackets);
  EXPECT_NEAR(static_cast<double>(police.rule().acted), (kPackets - 4) / 2.0, 3);
  EXPECT_EQ(police.flow().drops, police.rule().acted);
  // The virtual queue of half the rate gets 541 bytes longer with each frame.
  const Ran red = run_words("opcode data red 10k 11k 100% rate 250mbit force", false);
  EXPECT_EQ(red.flow().marked, red.rule().acted);
  EXPECT_NEAR(static_cast<double>(red.rule().acted), kPackets - 20.0, 4);
}

TEST(SimulateRules, DelaysAreExact) {
  const Ran plain = run_words("opcode cnp drop"), late = run_words("opcode data delay 300us");
  EXPECT_EQ(plain.rule().matched, 0U);
  EXPECT_EQ(late.rule().acted, kPackets);
  EXPECT_EQ(fct(late), fct(plain) + 300 * kUs);
  const Ran back = run_words("opcode ack delay 200us", true, kBack);
  EXPECT_GT(back.rule().acted, 0U);
  EXPECT_EQ(fct(back), fct(plain) + 200 * kUs);
  // Both ways, and through two rules of one link.
  Scenario scenario = one_flow();
  add_rule(scenario, "opcode data delay 100us next");
  add_rule(scenario, "opcode data delay 50us");
  add_rule(scenario, "opcode ack delay 25us", kBack);
  EXPECT_EQ(fct(run_rules(scenario)), fct(plain) + 175 * kUs);
}

TEST(SimulateRules, HoldsReorderJitterBurstsAndShape) {
  const Ran reorder = run_words("qp 0x11 psn 10 iter 1 reorder depth 3 timeout 1ms");
  EXPECT_EQ(reorder.rule().acted, 1U);
  EXPECT_EQ(reorder.totals.dropped, 0U);
  const Ran ordered = run_words("opcode data delay 10us jitter uniform 0s 100us seed 3");
  EXPECT_EQ(ordered.rule().acted, kPackets);
  EXPECT_EQ(ordered.flow().naks, 0U);
  const Ran mixed = run_words("opcode data delay 10us jitter uniform 0s 100us unordered seed 3");
  EXPECT_GT(mixed.flow().naks, 0U);
  EXPECT_EQ(mixed.flow().bytes, 65536U);
  const Ran bursts = run_words("opcode data accumulate 16 timeout 5ms");
  EXPECT_EQ(bursts.rule().acted, kPackets);
  EXPECT_GE(queue_of(bursts.all, kForward).backlog_bytes.max(), 15 * 1082U);
  // 64 frames of 1082 bytes, the first of 1098, at 100 Mbit/s after a bucket of 2 kB
  const Ran shape = run_words("opcode data shape 100mbit burst 2k queue 1M", false);
  EXPECT_NEAR(static_cast<double>(fct(shape)), (64 * 1082 + 16 - 2000) * 80.0, 20000);
  // Beyond the queue frames are dropped, and counted as the flow's.
  const Ran full = run_words("opcode data shape 100mbit burst 2k queue 10k", false);
  EXPECT_GT(full.flow().drops, 20U);
  EXPECT_EQ(full.flow().drops, full.totals.dropped);
}

TEST(SimulateRules, RewrittenFieldsGoOn) {
  const Ran ran = run_words("qp 0x11 psn 1-8 set dscp 46");
  EXPECT_EQ(ran.rule().acted, 8U);
  EXPECT_EQ(ran.flow().bytes, 65536U);
  EXPECT_EQ(ran.flow().naks + ran.flow().drops, 0U);
}

TEST(SimulateRules, AreThereWhenTheScheduleSaysSo) {
  Scenario scenario = one_flow(false);
  const double frame = 1082 * 8 / 0.5; // ns
  const auto number = [&](uint64_t ns) { return static_cast<double>(ns) / frame; };
  add_rule(scenario, "opcode data ce force name first disabled");
  scenario.rules.all[0].name = "first";
  add_rule(scenario, "opcode data for 100us ce force name second");
  scenario.rules.all[1].from_start = false;
  using Kind = RuleChange::Kind;
  scenario.rules.changes = {{200 * kUs, Kind::Enable, 0},
                            {400 * kUs, Kind::Disable, 0},
                            {600 * kUs, Kind::Add, 1},
                            {900 * kUs, Kind::Enable, 0},
                            {950 * kUs, Kind::Clear, 0}};
  const Ran ran = run_rules(scenario);
  EXPECT_NEAR(static_cast<double>(ran.rule(0).acted), number(250 * kUs), 2);
  EXPECT_NEAR(static_cast<double>(ran.rule(1).acted), number(100 * kUs), 1);
  EXPECT_EQ(ran.flow().marked, ran.rule(0).acted + ran.rule(1).acted);
}

TEST(SimulateRules, ChanceFollowsTheSeedOfTheRule) {
  const auto acted = [](const std::string &seed, uint64_t step) {
    Scenario scenario = one_flow();
    scenario.flows[0].flow = flow_words("write size 1M pmtu 1024 messages 4 rate 5gbit l2");
    add_rule(scenario, "opcode data probability 2% drop seed " + seed);
    const Ran ran = run_rules(scenario, step);
    EXPECT_EQ(ran.flow().drops, ran.rule().acted);
    return std::tuple(ran.rule().acted, ran.rule().matched, ran.flow().naks,
                      ran.flow().fct_ns.value_or(0), ran.totals.events);
  };
  const auto first = acted("7", kMs);
  EXPECT_EQ(acted("7", 13 * kUs), first);
  EXPECT_NE(acted("8", kMs), first);
  EXPECT_NEAR(static_cast<double>(std::get<0>(first)),
              0.02 * static_cast<double>(std::get<1>(first)), 50);
}

// A rule that never matches changes nothing; without rules no frame has bytes.
TEST(SimulateRules, WhatDoesNotMatchIsAsWithout) {
  Scenario scenario = one_flow();
  const Ran without = run_rules(scenario);
  add_rule(scenario, "dest-qp 0x999 drop");
  const Ran with = run_rules(scenario);
  EXPECT_EQ(fct(with), fct(without));
  EXPECT_EQ(with.totals.events, without.totals.events);
  EXPECT_EQ(with.rule().matched, 0U);
}

TEST(SimulateRules, SelectiveRepeatSendsOneAgain) {
  Scenario scenario = one_flow();
  scenario.flows[0].flow =
      flow_words("write size 65536 pmtu 1024 messages 1 rate 5gbit l2 psn 100");
  add_rule(scenario, "qp 0x11 psn 10 iter 1 drop");
  const Ran back = run_rules(scenario);
  scenario.reliability.selective = true;
  const Ran selective = run_rules(scenario);
  EXPECT_GT(back.flow().retransmitted, 1U);
  EXPECT_EQ(selective.flow().retransmitted, 1U);
  EXPECT_EQ(selective.flow().bytes, 65536U);
}

struct Captured {
  std::vector<uint32_t> psns;
  std::vector<uint64_t> times;
  uint64_t bad = 0, marked = 0, others = 0;
};

Captured read_capture(const std::string &path) {
  Captured all;
  auto reader = Reader::open(path);
  EXPECT_TRUE(reader.ok()) << path;
  CapturedFrame frame;
  while (reader && reader->next(frame) == Next::Frame) {
    roce_packet packet{};
    const int class_ =
        roce_parse(frame.data, frame.data + frame.captured, roce_swap16(ROCE_UDP_PORT), &packet);
    if (!roce_is_roce(static_cast<roce_class>(class_))) {
      all.others++;
      continue;
    }
    all.times.push_back(frame.time_ns);
    all.psns.push_back(packet.psn);
    all.bad += icrc_check(frame.data, frame.captured, packet) == Icrc::Bad;
    all.marked += packet.ecn == ROCE_ECN_CE;
  }
  return all;
}

TEST(SimulateRules, CapturesHaveTheFramesBeforeAndAfter) {
  Scenario scenario = one_flow();
  add_rule(scenario, "qp 0x11 psn 10 iter 1 drop");
  add_rule(scenario, "qp 0x11 psn 20 iter 2 corrupt payload seed 3");
  add_rule(scenario, "qp 0x11 psn 40-41 ce force");
  using Point = CaptureSetup::Point;
  scenario.captures = {{Point::Left}, {Point::Receivers}, {Point::Senders}, {Point::Right, 64}};
  const std::filesystem::path directory =
      std::filesystem::path(testing::TempDir()) / "simulate_captures";
  std::filesystem::create_directories(directory);
  scenario.capture_directory = directory.string();
  const auto simulation = make(scenario);
  simulation->run_until(scenario.duration_ns);
  ASSERT_TRUE(simulation->close_captures());
  const ExperimentMeasurement all = simulation->measure();
  const Captured left = read_capture(directory / "left.pcapng"),
                 receivers = read_capture(directory / "receivers.pcapng"),
                 senders = read_capture(directory / "senders.pcapng"),
                 right = read_capture(directory / "right.pcapng");
  EXPECT_EQ(left.psns.size(), all.flows[0].packets);
  EXPECT_EQ(std::ranges::count(left.psns, 109), 2);
  EXPECT_EQ(left.bad, 0U);
  EXPECT_EQ(left.marked, 0U);
  EXPECT_EQ(receivers.psns.size() + 1, left.psns.size());
  EXPECT_EQ(std::ranges::count(receivers.psns, 109), 1);
  EXPECT_EQ(receivers.psns[9], 110U);
  EXPECT_EQ(receivers.bad, 1U);
  EXPECT_EQ(receivers.marked, all.flows[0].marked);
  // 1 us of propagation after the frame has left the switch
  EXPECT_EQ(receivers.times[0] - left.times[0], 1000U + 1098 * 8 / 10);
  EXPECT_TRUE(std::ranges::is_sorted(receivers.times));
  EXPECT_FALSE(senders.psns.empty());
  EXPECT_EQ(senders.psns, right.psns);
  EXPECT_EQ(right.bad, 0U); // cut: not checked
  std::filesystem::remove_all(directory);
}

TEST(SimulateRules, NamesWhatIsNotPossible) {
  const auto error = [](const auto &change) {
    Scenario scenario = one_flow();
    change(scenario);
    const auto made = Simulation::make(scenario);
    return made ? "" : made.error().message;
  };
  EXPECT_EQ(error([](Scenario &s) { add_rule(s, "drop", "switch:nobody"); }),
            "rule-1: there is no queue switch:nobody");
  EXPECT_EQ(error([](Scenario &s) {
              s.topology = {.kind = Topology::Kind::LeafSpine, .rate = kGbit};
              s.flows[0].src = "host-1";
              s.flows[0].dst = "host-2";
              s.captures = {{CaptureSetup::Point::Left}};
            }),
            "this topology has no ports to capture at");
}

} // namespace
} // namespace simulate_rules_test
