// SPDX-License-Identifier: Apache-2.0
// PFC and PAUSE frames that are received, and requesters and a responder that obey them.
#include "packet/pauses.h"

#include <gtest/gtest.h>

#include <map>

#include "requester/open.h"
#include "requester/reliable.h"
#include "responder/responder.h"

namespace xr::packet::pauses_test {
namespace {

constexpr uint64_t kLine = 10'000'000'000; // a quantum is 51.2 ns
constexpr uint64_t kNow = 1'000'000'000;

void pfc(Pauses &pauses, uint64_t now, uint16_t enable, uint16_t quanta) {
  Pause pause;
  pause.enable = enable;
  pause.quanta.fill(quanta);
  pauses.receive(now, build_pause(pause));
}

TEST(Pauses, LastForTheirQuanta) {
  Pauses pauses(kLine);
  EXPECT_FALSE(pauses.any(kNow));
  pfc(pauses, kNow, 1 << 3, 1000);
  EXPECT_EQ(pauses.until(3), kNow + 51'200);
  EXPECT_TRUE(pauses.paused(3, kNow + 51'199));
  EXPECT_FALSE(pauses.paused(3, kNow + 51'200));
  EXPECT_FALSE(pauses.paused(2, kNow));
  EXPECT_TRUE(pauses.any(kNow));
  EXPECT_EQ(pauses.counts(kNow + 1'000'000).paused_ns[3], 51'200U);
  EXPECT_EQ(pauses.counts(kNow + 200).paused_ns[3], 200U);
}

// IEEE 802.1Q: a frame replaces what is left of the one before; 0 ends the pause.
TEST(Pauses, AreReplacedAndEnded) {
  Pauses pauses(kLine);
  pfc(pauses, kNow, 1 << 3 | 1 << 4, 1000);
  pfc(pauses, kNow + 10'000, 1 << 3, 1000);
  EXPECT_EQ(pauses.until(3), kNow + 61'200);
  EXPECT_EQ(pauses.until(4), kNow + 51'200);
  pfc(pauses, kNow + 20'000, 1 << 3, 0);
  EXPECT_FALSE(pauses.paused(3, kNow + 20'000));
  pfc(pauses, kNow + 30'000, 1 << 3, 0); // XON without a pause
  EXPECT_EQ(pauses.until(3), kNow + 20'000);
  const PauseCounts counts = pauses.counts(kNow + 1'000'000);
  EXPECT_EQ(counts.paused_ns[3], 20'000U);
  EXPECT_EQ(counts.paused_ns[4], 51'200U);
  EXPECT_EQ(counts.pfc, 4U);
  EXPECT_EQ(counts.pause, 0U);
  EXPECT_EQ(pauses.changes(), 4U);
}

TEST(Pauses, PauseStopsAllPriorities) {
  Pauses pauses(kLine);
  Pause pause{.global = true};
  pause.quanta[0] = 100;
  pauses.receive(kNow, build_pause(pause));
  for (unsigned priority = 0; priority < kPriorities; priority++)
    EXPECT_EQ(pauses.until(priority), kNow + 5'120);
  EXPECT_EQ(pauses.counts(kNow).pause, 1U);
}

// A port is configured for PFC of some priorities, or for PAUSE. All frames are counted.
TEST(Pauses, OnlyThoseThatAreObeyed) {
  Pauses some(kLine, {.pfc = 1 << 3 | 1 << 4, .pause = false});
  pfc(some, kNow, 0xff, 1000);
  for (unsigned priority = 0; priority < kPriorities; priority++)
    EXPECT_EQ(some.paused(priority, kNow), priority == 3 || priority == 4) << priority;
  EXPECT_EQ(some.changes(), 1U);
  Pause pause{.global = true};
  pause.quanta[0] = 60000;
  some.receive(kNow, build_pause(pause));
  pfc(some, kNow, 1 << 5, 1000);
  EXPECT_EQ(some.until(3), kNow + 51'200);
  EXPECT_FALSE(some.paused(5, kNow));
  EXPECT_EQ(some.changes(), 1U);
  EXPECT_EQ(some.counts(kNow).pfc, 2U);
  EXPECT_EQ(some.counts(kNow).pause, 1U);

  Pauses whole(kLine, {.pfc = 0, .pause = true});
  pfc(whole, kNow, 0xff, 1000);
  EXPECT_FALSE(whole.any(kNow));
  whole.receive(kNow, build_pause(pause));
  for (unsigned priority = 0; priority < kPriorities; priority++)
    EXPECT_EQ(whole.until(priority), kNow + 3'072'000) << priority;
}

TEST(Pauses, NeedALineRate) {
  Pauses pauses(0);
  pfc(pauses, kNow, 0xff, 1000);
  EXPECT_FALSE(pauses.any(kNow));
  EXPECT_EQ(pauses.counts(kNow).refused, 1U);
  pauses.receive(kNow, std::vector<uint8_t>(60));
  EXPECT_EQ(pauses.counts(kNow).pfc, 1U);
}

TEST(Pauses, PriorityIsPcpElseDscp) {
  Path path;
  path.tos = 26 << 2 | ROCE_ECN_ECT0;
  EXPECT_EQ(priority_of(path), 3U);
  path.tags.push_back({.tci = 5 << 13 | 100});
  EXPECT_EQ(priority_of(path), 5U);
}

flow::Flow flow_of(uint32_t qp, unsigned priority) {
  flow::Flow flow;
  flow.path.src = {0, 0, ROCE_MAPPED_PREFIX, roce_swap32(0xc0000201U)};
  flow.path.dst = {0, 0, ROCE_MAPPED_PREFIX, roce_swap32(0xc0000202U)};
  flow.path.tos = static_cast<uint8_t>(priority << 5 | ROCE_ECN_ECT0);
  flow.qp = qp;
  flow.psn = 0;
  flow.messages = 1000;
  flow.size.parts = {{.bytes = 64}};
  flow.pacing.rate = {.kind = congestion::Rate::Kind::Packets, .value = 1e6, .text = {}};
  return flow;
}

// How many packets of each QP were sent in (from, to], asked every 100 ns.
std::map<uint32_t, unsigned> sent(Source &source, uint64_t from, uint64_t to) {
  std::map<uint32_t, unsigned> counts;
  std::vector<Outgoing> out(64);
  for (uint64_t now = from + 100; now <= to; now += 100)
    for (size_t i = source.next(now, out); i-- > 0;)
      counts[out[i].fields.dest_qp]++;
  return counts;
}

void waits_and_goes_on(requester::Requester &source) {
  Pauses pauses(kLine);
  source.obey(pauses);
  auto count = sent(source, 0, 100'000);
  EXPECT_NEAR(count[3], 100, 1);
  EXPECT_NEAR(count[5], 100, 1);
  pfc(pauses, 100'000, 1 << 3, 1000); // until 151,200
  count = sent(source, 100'000, 151'100);
  EXPECT_EQ(count[3], 0U);
  EXPECT_NEAR(count[5], 51, 1);
  EXPECT_GE(source.wake_at(), 151'100U);
  count = sent(source, 151'100, 251'200); // what was not sent meanwhile is not made up for
  EXPECT_NEAR(count[3], 100, 1);
  EXPECT_NEAR(count[5], 100, 1);
  pfc(pauses, 251'200, 0xff, 65535);
  count = sent(source, 251'200, 300'000);
  EXPECT_EQ(count[3] + count[5], 0U);
  pfc(pauses, 300'000, 1 << 3, 0); // XON, long before the end
  count = sent(source, 300'000, 400'000);
  EXPECT_NEAR(count[3], 100, 1);
  EXPECT_EQ(count[5], 0U);
}

TEST(Pauses, OpenFlowsObey) {
  requester::OpenSource source({flow_of(3, 3), flow_of(5, 5)}, {}, 1e10);
  waits_and_goes_on(source);
}

TEST(Pauses, ReliableFlowsObey) {
  requester::Reliability reliability;
  reliability.window = 100'000;
  reliability.timeout_code = 0;
  requester::ReliableSource source({flow_of(3, 3), flow_of(5, 5)}, {}, 1e10, reliability);
  waits_and_goes_on(source);
}

TEST(Pauses, QpsWithRatesOfTheirOwnObey) {
  flow::Flow three = flow_of(3, 3), five = flow_of(5, 5);
  for (flow::Flow *flow : {&three, &five}) {
    flow->control = {.kind = congestion::Control::Kind::Fixed, .rate = flow->pacing.rate};
    flow->pacing.rate = {};
  }
  requester::OpenSource open({three, five}, {}, 1e10);
  waits_and_goes_on(open);
  requester::Reliability reliability;
  reliability.window = 100'000;
  reliability.timeout_code = 0;
  requester::ReliableSource reliable({three, five}, {}, 1e10, reliability);
  waits_and_goes_on(reliable);
}

// One flow alone has a shorter way to its packets.
TEST(Pauses, ASingleFlowObeys) {
  requester::OpenSource source({flow_of(3, 3)}, {}, 1e10);
  Pauses pauses(kLine);
  source.obey(pauses);
  EXPECT_NEAR(sent(source, 0, 100'000)[3], 100, 1);
  pfc(pauses, 100'000, 1 << 3, 65535);
  EXPECT_EQ(sent(source, 100'000, 200'000)[3], 0U);
  pfc(pauses, 200'000, 1 << 3, 0);
  EXPECT_NEAR(sent(source, 200'000, 300'000)[3], 100, 1);
}

// ACKs have the priority of --ack-tos and of the request's tag; CNPs that of their DSCP.
TEST(Pauses, AnswersWait) {
  Pauses pauses(kLine);
  responder::ResponderOptions options;
  options.pauses = &pauses;
  responder::Responder responder(options);
  uint32_t psn = 0;
  const auto request = [&](uint8_t tos) {
    flow::Flow flow = flow_of(0x11, 0);
    Headers headers;
    headers.dest_qp = 0x11;
    headers.psn = psn++;
    headers.ack_req = true;
    flow.path.tos = tos;
    auto frame = build(flow.path, headers, counting_payload(8));
    roce_packet parsed{};
    const uint8_t *data = frame->bytes.data();
    const int class_ =
        roce_parse(data, data + frame->bytes.size(), roce_swap16(ROCE_UDP_PORT), &parsed);
    responder.receive(kNow, frame->bytes, static_cast<roce_class>(class_), parsed);
  };
  std::vector<Outgoing> out(8);
  request(ROCE_ECN_CE); // an ACK of priority 0, a CNP of priority 6
  pfc(pauses, kNow, 1 << 0, 1000);
  EXPECT_EQ(responder.next(kNow, out), 1U);
  EXPECT_EQ(out[0].shape->bytes()[42], ROCE_OPCODE_CNP);
  EXPECT_EQ(responder.wake_at(), kNow + 51'200);
  request(ROCE_ECN_ECT0);
  EXPECT_EQ(responder.next(kNow + 100, out), 0U);
  EXPECT_EQ(responder.next(kNow + 51'200, out), 2U);
  EXPECT_EQ(out[0].fields.psn, 0U);
  EXPECT_EQ(out[1].fields.psn, 1U);
  pfc(pauses, kNow + 60'000, 1 << 6, 1000);
  request(ROCE_ECN_ECT0);
  EXPECT_EQ(responder.next(kNow + 60'000, out), 1U);
  EXPECT_EQ(responder.wake_at(), kNever);
}

} // namespace
} // namespace xr::packet::pauses_test
