// SPDX-License-Identifier: Apache-2.0
// The loop of `wire`, in virtual time, on sockets in memory: frames from one port to the other,
// held by rules and links.
#include "endpoint/wire_direction_loop.h"

#include <random>

#include <gtest/gtest.h>

#include "frames.h"
#include "unit/fake_forward_socket.h"
#include "wire_frames.h"

namespace xr::test::wire_direction_test {
namespace {

using endpoint::WireMail;
using Direction = endpoint::BasicWireDirection<FakeForwardSocket, FakeClock>;

constexpr uint64_t kUs = 1000, kMs = 1'000'000;
constexpr uint64_t kRound = 5 * kUs; // a turn takes less
constexpr uint64_t kLine = 10'000'000'000;

// Rule i, with number and slot i + 1 and i, delays by ms[i].
datapath::RulesInForce delays(uint16_t generation, const std::vector<uint64_t> &ms) {
  datapath::RulesInForce rules;
  rules.generation = generation;
  for (uint32_t i = 0; i < ms.size(); i++) {
    datapath::RuleInForce one{i + 1, i, {}, std::to_string(ms[i])};
    one.rule.hold.kind = Hold::Kind::Delay;
    one.rule.hold.delay_ns = ms[i] * kMs;
    rules.rules.push_back(std::move(one));
  }
  return rules;
}

Hold shape_of(uint64_t rate, uint64_t queue) {
  Hold hold;
  hold.kind = Hold::Kind::Shape;
  hold.rate = rate;
  hold.burst = 2000;
  hold.queue = queue;
  return hold;
}

// What the program notes: it decided that these rules hold the frame.
roce_held held(uint64_t rules, uint16_t generation = 1) {
  return {.magic = ROCE_HELD_MAGIC,
          .generation = generation,
          .copies = 0,
          .arrived_ns = 0,
          .rules = rules,
          .selected = rules};
}

Bytes roce_frame(uint32_t psn, uint32_t payload = 64) {
  return FrameBuilder(ROCE_RC_SEND_ONLY).ecn(2).qp(5).psn(psn).payload(payload).build().bytes;
}

struct Wire {
  FakeTime time;
  afxdp::ChunkMemory memory;
  FakeForwardSocket a, b; // of ports 0 and 1
  std::array<std::unique_ptr<WirePortCounts>, 2> counts{std::make_unique<WirePortCounts>(),
                                                        std::make_unique<WirePortCounts>()};
  endpoint::PortCarrier carrier;
  std::unique_ptr<Direction> there, back; // from port 0 to 1, and from 1 to 0
  const uint64_t start = time.now;

  explicit Wire(uint32_t chunks = 8192, uint32_t ring = 4096)
      : memory(1514, 2 * chunks), a(time, memory, ring), b(time, memory, ring),
        carrier(std::move(host::Netns::open("").get()), {"a", "b"},
                {counts[0].get(), counts[1].get()}) {
    EXPECT_TRUE(memory.map());
    endpoint::WireDirectionSetup setup{.ingress = 0,
                                       .port_be = roce_swap16(ROCE_UDP_PORT),
                                       .line_rate = kLine,
                                       .egress_mac = {2, 0, 0, 0, 0, 0xb},
                                       .seed = 1,
                                       .first_chunk = 0,
                                       .chunks = chunks,
                                       .carrier = &carrier};
    there = make(setup, a, b, *counts[0], *counts[1]);
    setup.ingress = 1;
    setup.egress_mac = {2, 0, 0, 0, 0, 0xa};
    setup.first_chunk = chunks;
    back = make(setup, b, a, *counts[1], *counts[0]);
    there->set_opposite(*back);
    back->set_opposite(*there);
    time.next_event = [this] { return std::min(a.next_arrival(), b.next_arrival()); };
  }
  std::unique_ptr<Direction> make(const endpoint::WireDirectionSetup &setup, FakeForwardSocket &rx,
                                  FakeForwardSocket &tx, WirePortCounts &in, WirePortCounts &out) {
    return std::make_unique<Direction>(setup, memory, std::vector{&rx}, std::vector{&tx}, in, out,
                                       FakeClock(time));
  }

  void rules(datapath::RulesInForce rules) {
    there->post({.kind = WireMail::Kind::Rules, .rules = std::move(rules)});
  }
  void link(Direction &direction, const std::string &words) {
    direction.post({.kind = WireMail::Kind::Link, .link = wire::link_spec(words)});
  }
  // Like WireRun::State::run_here.
  Status run(uint64_t until) {
    const std::array<Direction *, 2> all{there.get(), back.get()};
    while (time.now < until) {
      const uint64_t now = FakeClock(time).now();
      auto one = there->turn(now), other = back->turn(now);
      if (!one.ok() || !other.ok())
        return one.ok() ? other.error() : one.error();
      if (!*one && !*other)
        Direction::wait(all, now, std::min<uint64_t>(kMs, until - std::min(until, now) + 1));
    }
    return {};
  }
  const WireIngress &in() const { return counts[0]->in; }
};

// taken + copies = left + held + each cause of a loss.
void expect_sum(const WireIngress &in) {
  EXPECT_EQ(in.taken + in.copies, in.left + in.holding + in.dropped_by_rules + in.dropped_by_link +
                                      in.dropped_at_end + in.tx_dropped + in.dropped_down);
}

void expect_near(uint64_t value, uint64_t expected, uint64_t most_later = kRound) {
  EXPECT_GE(value, expected);
  EXPECT_LE(value, expected + most_later);
}

TEST(WireDirection, AFrameThatNothingHoldsPassesAtOnce) {
  Wire wire;
  for (uint32_t i = 0; i < 100; i++) {
    wire.a.arrive(wire.start + kMs + i * 50 * kUs, roce_frame(i), held(0));
    wire.b.arrive(wire.start + kMs + i * 70 * kUs, roce_frame(1000 + i), held(0));
  }
  ASSERT_TRUE(wire.run(wire.start + 30 * kMs));
  ASSERT_EQ(wire.b.sent.size(), 100U);
  ASSERT_EQ(wire.a.sent.size(), 100U);
  for (uint32_t i = 0; i < 100; i++) {
    EXPECT_EQ(wire.b.sent[i].bytes, roce_frame(i));
    EXPECT_EQ(wire.a.sent[i].bytes, roce_frame(1000 + i));
    expect_near(wire.b.sent[i].flushed, wire.start + kMs + i * 50 * kUs);
    expect_near(wire.a.sent[i].flushed, wire.start + kMs + i * 70 * kUs);
  }
  EXPECT_EQ(wire.in().taken, 100U);
  EXPECT_EQ(wire.in().left, 100U);
  EXPECT_EQ(wire.in().taken_bytes, 100 * roce_frame(0).size());
  EXPECT_EQ(wire.in().left_bytes, 100 * roce_frame(0).size());
  EXPECT_EQ(wire.counts[1]->out.late.count(), 100U);
  EXPECT_EQ(wire.in().matched_again + wire.in().unknown_rules + wire.in().pending_most, 0U);
}

// What the kernel decided travels with the frame: the rules, and when it arrived.
TEST(WireDirection, RulesHoldTheFramesThatNameThem) {
  Wire wire;
  wire.rules(delays(1, {1, 3}));
  for (uint32_t i = 0; i < 40; i++) {
    roce_held note = held(i % 4);
    const uint64_t at = wire.start + 10 * kMs * (i + 1);
    note.arrived_ns = i % 8 < 4 ? 0 : at - 500 * kUs; // it waited for the process
    wire.a.arrive(at, roce_frame(i), note);
  }
  ASSERT_TRUE(wire.run(wire.start + 1000 * kMs));
  ASSERT_EQ(wire.b.sent.size(), 40U);
  for (uint32_t i = 0; i < 40; i++) {
    const uint64_t delay = (i % 4 & 1 ? kMs : 0) + (i % 4 & 2 ? 3 * kMs : 0);
    const uint64_t waited = i % 8 < 4 || !delay ? 0 : 500 * kUs;
    EXPECT_EQ(wire.b.sent[i].bytes, roce_frame(i));
    expect_near(wire.b.sent[i].flushed, wire.start + 10 * kMs * (i + 1) + delay - waited);
  }
  EXPECT_EQ(wire.counts[0]->rules[0].frames, 20U);
  EXPECT_EQ(wire.counts[0]->rules[1].frames, 20U);
  EXPECT_GE(wire.counts[1]->out.late.max(), 500 * kUs); // due when it had arrived
  EXPECT_EQ(wire.in().unknown_rules, 0U);
  expect_sum(wire.in());
}

TEST(WireDirection, ATimeOfArrivalInTheFutureIsNotTaken) {
  Wire wire;
  wire.rules(delays(1, {1}));
  roce_held note = held(1);
  note.arrived_ns = wire.start + 50 * kMs;
  wire.a.arrive(wire.start + 10 * kMs, roce_frame(0), note);
  ASSERT_TRUE(wire.run(wire.start + 100 * kMs));
  ASSERT_EQ(wire.b.sent.size(), 1U);
  expect_near(wire.b.sent[0].flushed, wire.start + 11 * kMs);
}

TEST(WireDirection, FramesWaitForNewRules) {
  Wire wire;
  wire.rules(delays(1, {1}));
  wire.a.arrive(wire.start + 10 * kMs, roce_frame(0), held(1, 2));
  wire.a.arrive(wire.start + 11 * kMs, roce_frame(1), held(0)); // it does not overtake
  ASSERT_TRUE(wire.run(wire.start + 50 * kMs));
  EXPECT_TRUE(wire.there->lacks_rules());
  EXPECT_TRUE(wire.b.sent.empty());
  wire.rules(delays(2, {100}));
  ASSERT_TRUE(wire.run(wire.start + 200 * kMs));
  EXPECT_FALSE(wire.there->lacks_rules());
  ASSERT_EQ(wire.b.sent.size(), 2U);
  expect_near(wire.b.sent[0].flushed, wire.start + 50 * kMs);
  EXPECT_EQ(wire.b.sent[0].bytes, roce_frame(1)); // which no rule holds
  expect_near(wire.b.sent[1].flushed, wire.start + 110 * kMs);
  EXPECT_EQ(wire.in().pending_most, 2U);
  EXPECT_EQ(wire.in().unknown_rules, 0U);
}

TEST(WireDirection, AnUnknownRuleIsCountedAndTheFramePassesOn) {
  Wire wire;
  wire.rules(delays(1, {1}));
  wire.a.arrive(wire.start + 10 * kMs, roce_frame(0), held(1, 9));
  ASSERT_TRUE(wire.run(wire.start + 300 * kMs));
  ASSERT_EQ(wire.b.sent.size(), 1U);
  expect_near(wire.b.sent[0].flushed, wire.start + 210 * kMs, 100 * kUs);
  EXPECT_EQ(wire.in().unknown_rules, 1U);
}

TEST(WireDirection, ARuleThatCouldNotBeReadIsCounted) {
  Wire wire;
  datapath::RulesInForce rules = delays(1, {1});
  rules.unread = 1 << 4;
  wire.rules(std::move(rules));
  wire.a.arrive(wire.start + 10 * kMs, roce_frame(0), held(1 << 4));
  ASSERT_TRUE(wire.run(wire.start + 20 * kMs));
  ASSERT_EQ(wire.b.sent.size(), 1U);
  expect_near(wire.b.sent[0].flushed, wire.start + 10 * kMs);
  EXPECT_EQ(wire.in().unknown_rules, 1U);
}

TEST(WireDirection, AFullQueueOfARuleIsCounted) {
  Wire wire;
  datapath::RulesInForce rules = delays(1, {1});
  rules.rules[0].rule.hold = shape_of(1'000'000, 3000);
  wire.rules(std::move(rules));
  const auto length = static_cast<uint32_t>(roce_frame(0, 934).size());
  for (uint32_t i = 0; i < 10; i++)
    wire.a.arrive(wire.start + 10 * kMs, roce_frame(i, 934), held(1));
  ASSERT_TRUE(wire.run(wire.start + 200 * kMs));
  EXPECT_EQ(wire.b.sent.size() + wire.in().dropped_by_rules, 10U);
  EXPECT_EQ(wire.b.sent.size(), 2000 / length + 3000 / length);
  wire.there->end();
  expect_sum(wire.in());
  EXPECT_EQ(wire.counts[0]->memory_free + wire.a.chunks(), wire.counts[0]->memory_frames);
}

TEST(WireDirection, FullMemoryIsCountedByTheKernel) {
  Wire wire(64);
  wire.rules(delays(1, {10}));
  for (uint32_t i = 0; i < 100; i++)
    wire.a.arrive(wire.start + kMs + i * kUs, roce_frame(i), held(1));
  wire.a.arrive(wire.start + 50 * kMs, roce_frame(100), held(1)); // there is room again
  ASSERT_TRUE(wire.run(wire.start + 500 * kMs));
  EXPECT_EQ(wire.b.sent.size(), 65U);
  EXPECT_EQ(wire.in().no_buffer, 36U);
  EXPECT_EQ(wire.counts[0]->memory_frames, 64U);
  EXPECT_EQ(wire.in().taken, 65U);
  expect_sum(wire.in());
}

TEST(WireDirection, AFullRingIsCounted) {
  Wire wire(1024, 32);
  wire.b.stopped_until = wire.start + 20 * kMs;
  for (uint32_t i = 0; i < 50; i++)
    wire.a.arrive(wire.start + kMs + i * 10 * kUs, roce_frame(i), held(0));
  ASSERT_TRUE(wire.run(wire.start + 100 * kMs));
  EXPECT_EQ(wire.b.sent.size(), 32U);
  EXPECT_EQ(wire.in().left, 32U);
  EXPECT_EQ(wire.in().tx_dropped, 18U);
  EXPECT_EQ(wire.counts[1]->out.tx_dropped, 18U);
  expect_sum(wire.in());
}

// What a rule or a link holds waits for room instead.
TEST(WireDirection, HeldFramesWaitForTheRing) {
  for (const bool link : {false, true}) {
    Wire wire(1024, 32);
    wire.b.stopped_until = wire.start + 20 * kMs;
    if (link)
      wire.link(*wire.there, "delay 1ms");
    else
      wire.rules(delays(1, {1}));
    for (uint32_t i = 0; i < 50; i++)
      wire.a.arrive(wire.start + kMs + i * 10 * kUs, roce_frame(i), held(link ? 0 : 1));
    ASSERT_TRUE(wire.run(wire.start + 100 * kMs));
    EXPECT_EQ(wire.b.sent.size(), 50U);
    EXPECT_EQ(wire.in().tx_dropped, 0U);
    EXPECT_GE(wire.counts[1]->out.late.max(), 15 * kMs);
    expect_sum(wire.in());
  }
}

TEST(WireDirection, WhatKernelAndDriverLoseIsCounted) {
  Wire wire(1024, 64);
  uint32_t number = 0;
  wire.b.taken = [&](const Bytes &) {
    number++;
    return number % 10 == 0 ? Taken::Dropped : number % 10 == 5 ? Taken::Invalid : Taken::Sent;
  };
  for (uint32_t i = 0; i < 50; i++)
    wire.a.arrive(wire.start + kMs + i * 10 * kUs, roce_frame(i), held(0));
  for (uint32_t i = 0; i < 100; i++) // more than the RX ring has room for
    wire.a.arrive(wire.start + 5 * kMs, roce_frame(i), held(0));
  ASSERT_TRUE(wire.run(wire.start + 500 * kMs));
  EXPECT_EQ(wire.in().ring_full, 36U);
  EXPECT_EQ(wire.in().taken, 114U);
  EXPECT_EQ(wire.counts[1]->out.driver_dropped, number / 10);
  EXPECT_EQ(wire.in().refused, (number + 5) / 10);
  EXPECT_EQ(wire.in().left, number);
}

TEST(WireDirection, ALinkHasARateADelayAndABuffer) {
  Wire wire;
  wire.link(*wire.there, "rate 100mbit l2 delay 2ms buffer 10k");
  const Bytes frame = roce_frame(0, 934);
  const uint64_t took = (frame.size() + 4) * 80; // ns; the FCS is sent too
  for (uint32_t i = 0; i < 20; i++)
    wire.a.arrive(wire.start + 10 * kMs, roce_frame(i, 934), held(0));
  ASSERT_TRUE(wire.run(wire.start + 100 * kMs));
  const size_t sent = wire.b.sent.size();
  EXPECT_NEAR(static_cast<double>(sent), 10, 1);
  for (size_t i = 0; i < sent; i++)
    EXPECT_NEAR(static_cast<double>(wire.b.sent[i].flushed),
                static_cast<double>(wire.start + 12 * kMs + (i + 1) * took), kRound + took / 100);
  EXPECT_EQ(wire.in().dropped_by_link, 20 - sent);
  EXPECT_EQ(wire.in().left, sent);
  expect_sum(wire.in());
  // Without a link frames leave at once again.
  wire.there->post({.kind = WireMail::Kind::Link});
  wire.a.arrive(wire.start + 110 * kMs, roce_frame(0), held(0));
  ASSERT_TRUE(wire.run(wire.start + 120 * kMs));
  ASSERT_EQ(wire.b.sent.size(), sent + 1);
  expect_near(wire.b.sent.back().flushed, wire.start + 110 * kMs);
}

TEST(WireDirection, ALinkMarksFrames) {
  Wire wire;
  wire.link(*wire.there, "rate 100mbit buffer 1M step 2k");
  for (uint32_t i = 0; i < 20; i++)
    wire.a.arrive(wire.start + 10 * kMs, roce_frame(i, 934), held(0));
  ASSERT_TRUE(wire.run(wire.start + 100 * kMs));
  ASSERT_EQ(wire.b.sent.size(), 20U);
  uint64_t marked = 0;
  for (uint32_t i = 0; i < 20; i++) {
    const bool ce = (wire.b.sent[i].bytes[15] & 3) == 3;
    marked += ce;
    Bytes expected = roce_frame(i, 934);
    if (ce)
      endpoint::write_ce(expected);
    EXPECT_EQ(wire.b.sent[i].bytes, expected);
  }
  EXPECT_GT(marked, 10U);
  EXPECT_LT(marked, 20U);
}

TEST(WireDirection, RulesAndThenTheLinkHoldAFrame) {
  Wire wire;
  wire.rules(delays(1, {3}));
  wire.link(*wire.there, "delay 2ms");
  wire.a.arrive(wire.start + 10 * kMs, roce_frame(0), held(1));
  ASSERT_TRUE(wire.run(wire.start + 20 * kMs));
  ASSERT_EQ(wire.b.sent.size(), 1U);
  expect_near(wire.b.sent[0].flushed, wire.start + 15 * kMs);
}

Bytes pfc(uint16_t quanta) {
  packet::Pause pause{.enable = 0xff};
  pause.quanta.fill(quanta);
  return packet::build_pause(pause);
}

// PFC frames that a port receives end here, and stop what leaves by that port.
TEST(WireDirection, PausesStopTheLinkOfThePortThatReceivesThem) {
  for (const bool global : {false, true}) {
    Wire wire;
    wire.link(*wire.there, "delay 1us");
    wire.link(*wire.back, "delay 1us");
    packet::Pause all{.global = true};
    all.quanta[0] = 0xffff;
    const uint64_t at = wire.start + 10 * kMs;
    wire.b.arrive(at, global ? packet::build_pause(all) : pfc(0xffff)); // 3.36 ms at 10 Gbit/s
    wire.a.arrive(at + kMs, roce_frame(0), held(0));
    wire.b.arrive(at + kMs, roce_frame(1), held(0));
    ASSERT_TRUE(wire.run(wire.start + 50 * kMs));
    EXPECT_EQ(wire.counts[1]->in.mac_control, 1U);
    EXPECT_EQ(wire.counts[1]->in.taken, 1U);
    ASSERT_EQ(wire.b.sent.size(), 1U);
    EXPECT_NEAR(static_cast<double>(wire.b.sent[0].flushed), at + 65535 * 51.2, 3.0 * kRound);
    ASSERT_EQ(wire.a.sent.size(), 1U); // the other way is free
    expect_near(wire.a.sent[0].flushed, at + kMs);
  }
}

TEST(WireDirection, AFullQueueSendsPfcTheOtherWay) {
  Wire wire;
  wire.link(*wire.there, "rate 100mbit buffer 100k pfc xoff 5k xon 2k");
  for (uint32_t i = 0; i < 10; i++)
    wire.a.arrive(wire.start + 10 * kMs, roce_frame(i, 934), held(0));
  ASSERT_TRUE(wire.run(wire.start + 100 * kMs));
  EXPECT_EQ(wire.b.sent.size(), 10U);
  ASSERT_EQ(wire.a.sent.size(), 2U); // XOFF and XON
  EXPECT_EQ(wire.counts[1]->out.pfc_sent, 2U);
  expect_near(wire.a.sent[0].flushed, wire.start + 10 * kMs);
  for (const bool off : {true, false}) {
    const auto pause = packet::parse_pause(wire.a.sent[off ? 0 : 1].bytes);
    ASSERT_TRUE(pause);
    EXPECT_EQ(pause->src, (packet::Mac{2, 0, 0, 0, 0, 0xa}));
    EXPECT_EQ(pause->enable, 1 << 3); // the frames' DSCP is 24 or more
    EXPECT_EQ(pause->quanta[3], off ? 0xffff : 0);
  }
}

TEST(WireDirection, ADuplicateIsHeldLikeTheFrame) {
  Wire wire;
  wire.rules(delays(1, {1}));
  for (const uint64_t rules : {0, 1}) {
    roce_held note = held(rules);
    note.copies = ROCE_HELD_TWICE;
    wire.a.arrive(wire.start + 10 * kMs, roce_frame(static_cast<uint32_t>(rules)), note);
  }
  ASSERT_TRUE(wire.run(wire.start + 50 * kMs));
  ASSERT_EQ(wire.b.sent.size(), 4U);
  for (size_t i = 0; i < 4; i++) {
    EXPECT_EQ(wire.b.sent[i].bytes, roce_frame(i < 2 ? 0 : 1));
    expect_near(wire.b.sent[i].flushed, wire.start + (i < 2 ? 10 : 11) * kMs);
  }
  EXPECT_EQ(wire.in().taken, 2U);
  EXPECT_EQ(wire.in().copies, 2U);
  EXPECT_EQ(wire.in().left, 4U);
  expect_sum(wire.in());
}

TEST(WireDirection, WithoutMemoryThereIsNoDuplicate) {
  Wire wire(1);
  roce_held note = held(0);
  note.copies = ROCE_HELD_TWICE;
  wire.a.arrive(wire.start + 10 * kMs, roce_frame(0), note);
  ASSERT_TRUE(wire.run(wire.start + 50 * kMs));
  EXPECT_EQ(wire.b.sent.size(), 1U);
  EXPECT_EQ(wire.in().no_memory, 1U);
  EXPECT_EQ(wire.in().copies, 0U);
}

TEST(WireDirection, ACnpReturns) {
  for (const bool link : {false, true}) {
    Wire wire;
    const uint32_t copies = ROCE_HELD_CNP | 48U << ROCE_HELD_CNP_DSCP_SHIFT | 0x1234;
    roce_held note = held(0);
    note.copies = copies;
    wire.a.arrive(wire.start + 10 * kMs, roce_frame(0), note);
    if (link) // which holds it like other frames
      wire.link(*wire.back, "delay 2ms");
    ASSERT_TRUE(wire.run(wire.start + 50 * kMs));
    EXPECT_EQ(wire.b.sent.size(), 1U);
    ASSERT_EQ(wire.a.sent.size(), 1U);
    expect_near(wire.a.sent[0].flushed, wire.start + (link ? 12 : 10) * kMs);
    EXPECT_EQ(wire.a.sent[0].bytes,
              endpoint::make_cnp(roce_frame(0), copies, roce_swap16(ROCE_UDP_PORT)));
    EXPECT_LE(wire.counts[0]->out.late.max(), kRound); // due when it was made
    EXPECT_EQ(wire.in().cnps, 1U);
    EXPECT_EQ(wire.counts[1]->in.copies, 1U);
    expect_sum(wire.counts[1]->in);
  }
}

// Drivers without room for metadata: the process matches the rules itself.
TEST(WireDirection, FramesWithoutMetadataAreMatchedAgain) {
  Wire wire(8); // so that chunks that had metadata are used again
  auto rule = impair::parse({"roce delay 1ms"});
  ASSERT_TRUE(rule);
  datapath::RulesInForce rules;
  rules.generation = 1;
  std::shared_ptr<roce_ruleset> set = impair::make_ruleset({*rule});
  set->generation = rules.generation;
  rules.set = set;
  rules.rules.push_back({1, 0, *rule, rule->text()});
  wire.rules(std::move(rules));
  for (uint32_t i = 0; i < 40; i++)
    wire.a.arrive(wire.start + 10 * kMs * (i + 1), roce_frame(i), i % 2 ? held(1) : roce_held{});
  wire.a.arrive(wire.start + 1000 * kMs, Bytes(100, 1)); // no rule is found
  ASSERT_TRUE(wire.run(wire.start + 1500 * kMs));
  ASSERT_EQ(wire.b.sent.size(), 41U);
  for (uint32_t i = 0; i < 40; i++)
    expect_near(wire.b.sent[i].flushed, wire.start + 10 * kMs * (i + 1) + kMs);
  EXPECT_EQ(wire.in().matched_again, 21U);
  EXPECT_EQ(wire.in().unmatched, 1U);
  expect_near(wire.b.sent[40].flushed, wire.start + 1200 * kMs, 100 * kUs); // a new rule may come
}

TEST(WireDirection, WhatIsHeldAtTheEndIsLostAndCounted) {
  Wire wire;
  wire.rules(delays(1, {100}));
  for (uint32_t i = 0; i < 30; i++)
    wire.a.arrive(wire.start + kMs + i * kMs, roce_frame(i), held(i % 3 ? 1 : 0));
  wire.b.frame_ns = 5 * kMs; // the last frame that left is still on the ring
  ASSERT_TRUE(wire.run(wire.start + 50 * kMs));
  wire.a.arrive(wire.time.now, roce_frame(99), held(1)); // not read yet
  wire.there->end();
  EXPECT_EQ(wire.in().taken, 31U);
  EXPECT_EQ(wire.in().left, 10U);
  EXPECT_EQ(wire.b.sent.size(), 10U);
  EXPECT_EQ(wire.in().dropped_at_end, 21U);
  EXPECT_EQ(wire.in().holding, 0U);
  expect_sum(wire.in());
}

TEST(WireDirection, EndsWhenThePortIsGone) {
  Wire wire;
  wire.b.gone_at = wire.start + 10 * kMs;
  const Status gone = wire.run(wire.start + 50 * kMs);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().message, "the port can no longer send");
  EXPECT_LE(wire.time.now, wire.start + 12 * kMs);
}

// It sleeps until shortly before a frame is due, and not with mail or frames that lack rules.
TEST(WireDirection, SleepsUntilShortlyBeforeAFrameIsDue) {
  Wire wire;
  wire.rules(delays(1, {10}));
  wire.a.arrive(wire.start + kMs, roce_frame(0), held(1));
  ASSERT_TRUE(wire.run(wire.start + 2 * kMs));
  const std::array<Direction *, 2> all{wire.there.get(), wire.back.get()};
  uint64_t before = wire.time.now;
  Direction::wait(all, before, kMs);
  EXPECT_EQ(wire.time.now - before, kMs);
  before = wire.time.now;
  Direction::wait(all, before, 100 * kMs);
  EXPECT_NEAR(static_cast<double>(wire.time.now),
              static_cast<double>(wire.start + 11 * kMs - 60 * kUs), kRound);
  before = wire.time.now;
  Direction::wait(all, before, 100 * kMs);
  EXPECT_EQ(wire.time.now, before); // it is due soon
  wire.rules(delays(2, {10}));
  Direction::wait(all, before - 5 * kMs, 100 * kMs);
  EXPECT_EQ(wire.time.now, before);
}

// More may follow at once.
TEST(WireDirection, StaysAwakeAfterAFrameHasLeft) {
  for (const bool link : {false, true}) {
    Wire wire;
    if (link)
      wire.link(*wire.there, "delay 1ms");
    else
      wire.rules(delays(1, {1}));
    wire.a.arrive(wire.start + 10 * kMs, roce_frame(0), held(link ? 0 : 1));
    ASSERT_TRUE(wire.run(wire.start + 11 * kMs + 20 * kUs));
    ASSERT_EQ(wire.b.sent.size(), 1U);
    Direction *const all = wire.there.get();
    const uint64_t before = wire.time.now;
    Direction::wait({&all, 1}, before, kMs);
    EXPECT_EQ(wire.time.now, before);
    Direction::wait({&all, 1}, before + 50 * kUs, kMs);
    EXPECT_EQ(wire.time.now, before + kMs);
  }
}

TEST(WireDirection, ATurnTellsWhetherThereWasSomething) {
  Wire wire;
  wire.rules(delays(1, {1}));
  wire.a.arrive(wire.start + 10 * kMs, roce_frame(0), held(1));
  const auto turn = [&wire](uint64_t now) {
    wire.time.now = now;
    return wire.there->turn(now).get();
  };
  EXPECT_FALSE(turn(wire.start + 9 * kMs));
  EXPECT_TRUE(turn(wire.start + 10 * kMs)); // received
  EXPECT_FALSE(turn(wire.start + 10 * kMs + 500 * kUs));
  EXPECT_TRUE(turn(wire.start + 12 * kMs)); // sent
  EXPECT_FALSE(turn(wire.start + 13 * kMs));
}

// Everything that enters leaves, is held, or is counted.
TEST(WireDirection, WhatGoesInComesOutOrIsCounted) {
  std::array<uint64_t, 8> seen{}; // each way out is taken
  for (const uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const auto chunks = static_cast<uint32_t>(64 + rng() % 256);
    Wire wire(chunks, static_cast<uint32_t>(32 + rng() % 64));
    constexpr uint32_t kSteps = 10'000;
    wire.b.taken = [&](const Bytes &) {
      const uint64_t drawn = rng() % 100;
      return drawn == 0 ? Taken::Dropped : drawn == 1 ? Taken::Invalid : Taken::Sent;
    };
    datapath::RulesInForce rules = delays(1, {1, 2, 0});
    rules.rules[2].rule.hold = shape_of(50'000'000, 5'000);
    rules.unread = 1 << 3;
    wire.rules(std::move(rules));
    if (seed % 2)
      wire.link(*wire.there, "rate 400mbit delay 50us buffer 30k pfc xoff 20k xon 10k");
    uint64_t at = wire.start, entered = 0, pauses = 0;
    for (uint32_t i = 0; i < kSteps; i++) {
      at += rng() % 20 ? rng() % (8 * kUs) : rng() % (300 * kUs);
      if (rng() % 100 == 0) {
        wire.a.arrive(at, pfc(static_cast<uint16_t>(rng())));
        pauses++;
        continue;
      }
      roce_held note = held(rng() % 4 ? 0 : rng() % 16, rng() % 3000 ? 1 : 7);
      note.copies = rng() % 20 ? 0 : ROCE_HELD_TWICE;
      wire.a.arrive(at, roce_frame(i, static_cast<uint32_t>(rng() % 1300)), note);
      entered++;
      if (rng() % 10 == 0) {
        wire.b.frame_ns = rng() % (6 * kUs);
        wire.b.stopped_until = rng() % 5 ? 0 : wire.time.now + rng() % kMs;
        ASSERT_TRUE(wire.run(at - std::min(at, rng() % (50 * kUs))));
        wire.time.now += rng() % 20 ? 0 : rng() % (2 * kMs); // the process waits for a processor
      }
    }
    ASSERT_TRUE(wire.run(at + 400 * kMs));
    wire.there->end();
    const WireIngress &in = wire.in();
    EXPECT_EQ(in.taken + in.mac_control + in.no_buffer + in.ring_full, entered + pauses);
    EXPECT_EQ(in.left, wire.b.sent.size() + wire.counts[1]->out.driver_dropped + in.refused);
    EXPECT_EQ(in.dropped_at_end, 0U); // nothing is held for so long
    EXPECT_EQ(in.unaccounted(entered + pauses), 0U);
    expect_sum(in);
    EXPECT_EQ(wire.counts[0]->memory_free + wire.a.chunks(),
              wire.counts[0]->memory_frames); // no chunk is lost
    EXPECT_EQ(in.dropped_by_link > 0, seed % 2 == 1);
    const std::array more{in.mac_control,      in.no_buffer,     in.ring_full, in.copies,
                          in.dropped_by_rules, in.unknown_rules, in.refused,   in.no_memory};
    for (size_t i = 0; i < more.size(); i++)
      seen[i] += more[i];
  }
  for (const uint64_t count : seen)
    EXPECT_GT(count, 0U);
}

} // namespace
} // namespace xr::test::wire_direction_test
