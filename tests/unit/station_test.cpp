// SPDX-License-Identifier: Apache-2.0
// Stations in virtual time: flows that start, pause and stop beside others, in both directions,
// over a network that loses what a test says.
#include <gtest/gtest.h>

#include "packet/neighbour.h"
#include "station/station.h"
#include "unit/two_hosts.h"

namespace xr::station::station_test {
namespace {

using packet::ipv4;
using test::Bytes;

constexpr uint64_t kMillisecond = 1'000'000;

responder::ResponderOptions answers(unsigned host) {
  responder::ResponderOptions options;
  options.addresses = {ipv4(host)};
  options.mac = {2, 0, 0, 0, 0, static_cast<uint8_t>(host)};
  return options;
}

StationFlow flow_to(unsigned from, unsigned to, uint32_t qp, uint64_t bytes = 20'000) {
  StationFlow made;
  made.flow.path.src = ipv4(from);
  made.flow.path.dst = ipv4(to);
  made.flow.qp = qp;
  made.flow.psn = 0xfffff0; // wraps soon
  made.flow.size.parts = {{.bytes = bytes}};
  made.flow.pacing.rate = {.kind = congestion::Rate::Kind::Packets, .value = 200'000, .text = {}};
  made.reliability.timeout_code = 8; // 1 ms
  return made;
}

class Stations : public test::TwoHosts {
protected:
  Station a_{{.responder = answers(1), .line_bits = 1e10}},
      b_{{.responder = answers(2), .line_bits = 1e10}};

  packet::Source &host(bool b) override { return b ? b_ : a_; }
  void SetUp() override {
    a_.set_flows({flow_to(1, 2, 0x11), flow_to(1, 2, 0x12)});
    b_.set_flows({flow_to(2, 1, 0x21)});
  }

  // What the other station counted of the flow with this QPN.
  static responder::ConnectionCounts seen(const Station &station, uint32_t qp) {
    responder::ConnectionCounts found;
    const_cast<Station &>(station).responder().each_connection(
        [&](const responder::ConnectionCounts &own) {
          if (own.own_qp == qp)
            found = own;
        });
    return found;
  }
  static const SendCounts &sent(const Station &station, size_t flow) {
    static const SendCounts kNone;
    const SendCounts *counts = station.facts(flow).progress.counts;
    EXPECT_NE(counts, nullptr);
    return counts ? *counts : kNone;
  }
  void start(Station &station, std::vector<size_t> flows, uint64_t at) {
    station.expect_start(at);
    station.start(flows, at);
  }
};

TEST_F(Stations, FlowsBeginAtTheirTimeAndCompleteWhatTheyBegan) {
  start(a_, {0, 1}, 3 * kMillisecond);
  run_until(3 * kMillisecond - 1);
  EXPECT_EQ(sent(a_, 0).packets, 0U);
  run_for(2 * kMillisecond);
  EXPECT_EQ(a_.first_sent_ns(), a_.start_at_ns());
  a_.stop(std::vector<size_t>{0, 1});
  run_for(5 * kMillisecond);
  for (const size_t flow : {0U, 1U}) {
    const FlowFacts facts = a_.facts(flow);
    EXPECT_EQ(facts.state, FlowState::Stopped);
    EXPECT_FALSE(facts.busy);
    const SendCounts &own = sent(a_, flow);
    EXPECT_GT(own.messages, 5U);
    EXPECT_EQ(own.messages, facts.progress.messages_begun);
    EXPECT_EQ(own.failed_messages + own.retransmitted + own.naks, 0U);
    const responder::ConnectionCounts there = seen(b_, 0x11 + static_cast<uint32_t>(flow));
    EXPECT_EQ(there.counts.frames, own.packets);
    EXPECT_EQ(there.counts.bytes, own.bytes);
    EXPECT_EQ(there.counts.messages, own.messages);
    EXPECT_EQ(there.counts.acks, own.acks);
  }
}

TEST_F(Stations, AFlowGoesOnWhereItEndedWithCountsFromZero) {
  for (int round = 0; round < 4; round++) {
    SCOPED_TRACE(round);
    b_.responder().clear_connections([](const auto &) { return true; });
    start(a_, {0}, now_ + 1000);
    run_for(2 * kMillisecond);
    a_.stop(std::vector<size_t>{0});
    run_for(3 * kMillisecond);
    const SendCounts &own = sent(a_, 0);
    EXPECT_GT(own.messages, 5U);
    EXPECT_EQ(own.retransmitted + own.naks + own.duplicate_acks, 0U);
    EXPECT_EQ(seen(b_, 0x11).counts.frames, own.packets);
    EXPECT_EQ(seen(b_, 0x11).counts.out_of_order + seen(b_, 0x11).counts.duplicates, 0U);
  }
}

TEST_F(Stations, BothDirectionsAtOnce) {
  start(a_, {0, 1}, now_ + 1000);
  start(b_, {0}, now_ + 1000);
  run_for(5 * kMillisecond);
  a_.stop(std::vector<size_t>{0, 1});
  b_.stop(std::vector<size_t>{0});
  run_for(5 * kMillisecond);
  EXPECT_EQ(seen(b_, 0x11).counts.messages, sent(a_, 0).messages);
  EXPECT_EQ(seen(b_, 0x12).counts.messages, sent(a_, 1).messages);
  EXPECT_EQ(seen(a_, 0x21).counts.messages, sent(b_, 0).messages);
  EXPECT_GT(sent(b_, 0).messages, 10U);
  EXPECT_EQ(a_.stray() + b_.stray(), 0U);
}

TEST_F(Stations, APausedFlowBeginsNothingAndTheOtherGoesOn) {
  start(a_, {0, 1}, now_ + 1000);
  run_for(2 * kMillisecond);
  a_.pause(std::vector<size_t>{0});
  run_for(2 * kMillisecond);
  const uint64_t held = a_.facts(0).progress.messages_begun, other = sent(a_, 1).messages;
  EXPECT_EQ(a_.facts(0).state, FlowState::Paused);
  EXPECT_EQ(sent(a_, 0).messages, held) << "what was outstanding is completed";
  run_for(4 * kMillisecond);
  EXPECT_EQ(a_.facts(0).progress.messages_begun, held);
  EXPECT_GT(sent(a_, 1).messages, other + 10);
  a_.resume(std::vector<size_t>{0});
  const uint64_t before = sent(a_, 0).packets;
  run_for(kMillisecond);
  EXPECT_GT(sent(a_, 0).packets, before + 100);
  EXPECT_LT(sent(a_, 0).packets, before + 300) << "the pause is not made up for";
  EXPECT_EQ(sent(a_, 0).retransmitted, 0U);
}

TEST_F(Stations, ANamedFlowStartsBesideOneThatRuns) {
  start(a_, {0}, now_ + 1000);
  run_for(kMillisecond);
  const uint64_t before = sent(a_, 0).packets;
  start(a_, {0, 1}, now_ + 1000); // the first is started already, and keeps its counts
  run_for(kMillisecond);
  EXPECT_GT(sent(a_, 0).packets, before);
  EXPECT_GT(sent(a_, 1).packets, 100U);
  a_.stop(std::vector<size_t>{0});
  const uint64_t other = sent(a_, 1).packets;
  run_for(kMillisecond);
  EXPECT_GT(sent(a_, 1).packets, other);
}

// It had lost all since a moment: the next start begins with what was not acknowledged.
TEST_F(Stations, AStartGivesUpWhatIsOutstanding) {
  start(a_, {0}, now_ + 1000);
  run_for(kMillisecond);
  lose_ = [](bool to_b, const Bytes &) { return to_b; };
  run_for(kMillisecond);
  a_.stop(std::vector<size_t>{0});
  EXPECT_TRUE(a_.facts(0).busy);
  lose_ = {};
  b_.responder().clear_connections([](const auto &) { return true; });
  start(a_, {0}, now_ + 1000);
  run_for(2 * kMillisecond);
  a_.stop(std::vector<size_t>{0});
  run_for(4 * kMillisecond);
  EXPECT_FALSE(a_.facts(0).busy);
  EXPECT_GT(sent(a_, 0).messages, 5U);
  EXPECT_EQ(sent(a_, 0).failed_messages, 0U);
}

TEST_F(Stations, EachFlowCountsWhatItLost) {
  int packets = 0; // of the second flow
  lose_ = [&](bool to_b, const Bytes &bytes) {
    return to_b && roce_be24(&bytes[42 + 4]) == 0x12 && ++packets == 30;
  };
  start(a_, {0, 1}, now_ + 1000);
  run_for(3 * kMillisecond);
  a_.stop(std::vector<size_t>{0, 1});
  run_for(5 * kMillisecond);
  EXPECT_GT(packets, 30);
  EXPECT_EQ(sent(a_, 0).naks + sent(a_, 0).retransmitted, 0U);
  EXPECT_EQ(sent(a_, 1).naks, 1U);
  EXPECT_GT(sent(a_, 1).retransmitted, 0U);
  const responder::ConnectionCounts there = seen(b_, 0x12);
  EXPECT_EQ(there.counts.naks, 1U);
  EXPECT_EQ(sent(a_, 1).packets, there.counts.frames + 1);
  EXPECT_EQ(seen(b_, 0x11).counts.naks, 0U);
}

TEST_F(Stations, NeighboursAreAskedForAndTheAbsentGivenUp) {
  a_.neighbours().ask(
      {{.source = ipv4(1), .target = ipv4(2), .mac = {2, 0, 0, 0, 0, 1}, .tags = {}},
       {.source = ipv4(1), .target = ipv4(9), .mac = {2, 0, 0, 0, 0, 1}, .tags = {}}});
  run_for(kMillisecond);
  EXPECT_EQ(a_.neighbours().mac(0), (packet::Mac{2, 0, 0, 0, 0, 2}));
  EXPECT_FALSE(a_.neighbours().mac(1));
  EXPECT_FALSE(a_.neighbours().settled(now_));
  run_for(Neighbours::kTries * Neighbours::kAgain);
  EXPECT_TRUE(a_.neighbours().settled(now_));
  EXPECT_FALSE(a_.neighbours().mac(1));
  EXPECT_EQ(b_.responder().counts().arp, 1U);
  // Questions for others are no frames of a station's own.
  EXPECT_EQ(a_.neighbour_frames().sent, 1 + Neighbours::kTries);
  EXPECT_EQ(a_.neighbour_frames().received, 1U);
  EXPECT_EQ(b_.neighbour_frames().sent, 1U);
  EXPECT_EQ(b_.neighbour_frames().received, 1U);
  EXPECT_GE(b_.neighbour_frames().sent_bytes, 42U);
}

// What is stopped can be started again, and its counts stay until then.
TEST_F(Stations, AllAreStopped) {
  start(a_, {0}, now_ + 1000);
  run_for(3 * kMillisecond);
  a_.pause(std::vector<size_t>{0});
  a_.stop_all();
  run_for(5 * kMillisecond);
  const uint64_t packets = sent(a_, 0).packets;
  EXPECT_GT(packets, 0U);
  EXPECT_EQ(a_.facts(0).state, FlowState::Stopped);
  EXPECT_FALSE(a_.facts(0).busy);
  EXPECT_EQ(a_.facts(1).state, FlowState::Stopped);
  start(a_, {0}, now_ + 1000);
  run_for(kMillisecond);
  EXPECT_GT(sent(a_, 0).packets, 0U);
  EXPECT_LT(sent(a_, 0).packets, packets);
}

// Without an address it would be everybody's responder.
TEST(Station, WithoutAddressesNobodyIsAnswered) {
  Station station({.responder = {}, .line_bits = 1e10});
  const auto question = packet::neighbour_question(ipv4(1), {}, ipv4(2), {});
  station.receive(1, question, ROCE_CLASS_OTHER, {});
  std::vector<packet::Outgoing> out(4);
  EXPECT_EQ(station.next(2, out), 0U);
}

Bytes numbered(uint8_t number, size_t size = 100) {
  Bytes frame(size);
  frame[12] = 8; // IPv4
  frame[14] = 0x45;
  frame[33] = number; // the last byte of its destination
  return frame;
}

TEST(FrameRecord, KeepsTheNewestOrTheOldest) {
  const uint64_t room = 10 * (100 + sizeof(RecordedFrame) + 32);
  for (const bool overwrite : {true, false}) {
    FrameRecord record({.snaplen = 0, .most_bytes = room, .overwrite = overwrite});
    for (uint8_t i = 0; i < 25; i++)
      record.add(i, numbered(i));
    ASSERT_EQ(record.frames().size(), 10U);
    EXPECT_EQ(record.frames().front().bytes[33], overwrite ? 15 : 0);
    EXPECT_EQ(record.frames().size() + record.lost(), record.matched());
    EXPECT_EQ(record.received(), 25U);
  }
}

TEST(FrameRecord, CutsAndFilters) {
  using packet::BitMatch;
  const BitMatch low{.from = BitMatch::From::Ipv4,
                     .bit = 128,
                     .bits = 32,
                     .value = {0, 0, 0, 3},
                     .mask = {0, 0, 0, 0xfb},
                     .negate = false};
  BitMatch not_low = low;
  not_low.negate = true;
  FrameRecord record({.snaplen = 40, .most_bytes = 1 << 20, .overwrite = true, .filters = {{low}}});
  FrameRecord others(
      {.snaplen = 0, .most_bytes = 1 << 20, .overwrite = true, .filters = {{not_low}}});
  Bytes arp(60);
  arp[12] = 8;
  arp[13] = 6;
  for (uint8_t i = 0; i < 10; i++) {
    record.add(i, numbered(i));
    others.add(i, numbered(i));
  }
  record.add(10, arp);
  others.add(10, arp);
  ASSERT_EQ(record.matched(), 2U); // 3 and 7
  EXPECT_EQ(record.frames()[1].bytes.size(), 40U);
  EXPECT_EQ(record.frames()[1].length, 100U);
  EXPECT_EQ(others.matched(), 8U) << "a frame without the header matches neither";
}

} // namespace
} // namespace xr::station::station_test
