// SPDX-License-Identifier: Apache-2.0
// Stamped flows from the requesters' packets to the accounting of a sink and of a capture: the
// sequence numbers that arrive, and what is reported about those that do not.
#include "packet/stamp.h"

#include <gtest/gtest.h>

#include "analysis/analyzer.h"
#include "packet/peer_map.h"
#include "parse/words.h"
#include "requester/open.h"
#include "requester/reliable.h"
#include "responder/responder.h"

namespace xr::stamp_test {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint64_t kBegin = 1'700'000'000'000'000'000;
constexpr uint64_t kRun = 12345;
constexpr uint64_t kFlight = 2500; // ns

struct Sent {
  Bytes bytes;
  roce_class class_ = ROCE_CLASS_MAX;
  roce_packet packet{};
  uint64_t time = 0;
};

// The frame that the engine writes to the ring.
Sent written(const packet::Outgoing &out, uint64_t now) {
  Sent sent{.bytes = Bytes(out.shape->bytes().begin(), out.shape->bytes().end()), .time = now};
  out.shape->stamp(sent.bytes.data(), out.fields);
  if (out.shape->stamped())
    out.shape->set_stamp(sent.bytes.data(), out.fields.sequence, now);
  if (out.damage == packet::Damage::Icrc)
    out.shape->spoil_icrc(sent.bytes.data());
  const uint8_t *data = sent.bytes.data();
  sent.class_ = static_cast<roce_class>(
      roce_parse(data, data + sent.bytes.size(), roce_swap16(ROCE_UDP_PORT), &sent.packet));
  return sent;
}

flow::Flow flow(const std::string &words) {
  auto made = flow::parse_flow(parse::split("src 192.0.2.1 dst 192.0.2.2 psn 0 seed 1 " + words));
  EXPECT_TRUE(made.ok()) << words;
  flow::Flow flow = made ? made.get() : flow::Flow{};
  EXPECT_TRUE(flow::check_flow(flow, 9000).ok()) << words;
  flow.stamp_run = kRun;
  return flow;
}

// The packets of a flow, 1 us apart.
std::vector<Sent> packets(const std::string &words) {
  requester::OpenSource source({flow(words)}, {}, 10e9);
  std::vector<Sent> all;
  std::vector<packet::Outgoing> out(7);
  for (uint64_t now = kBegin; !source.done();) {
    const size_t count = source.next(now, out);
    for (size_t i = 0; i < count; i++, now += 1000)
      all.push_back(written(out[i], now));
    now += count ? 0 : 1000;
  }
  return all;
}

packet::Stamp stamp_of(const Sent &sent) {
  const auto stamp = packet::read_stamp(sent.bytes, sent.packet);
  EXPECT_TRUE(stamp.has_value());
  return stamp.value_or(packet::Stamp{});
}

// All packets of a flow are stamped, numbered by QP from 0, whatever their place in the message.
TEST(Stamp, NumbersThePacketsOfEachQp) {
  for (const std::string words :
       {"size 5k messages 30 stamp", "write size 10k messages 30 qps 3 stamp",
        "write size 64k messages 3 by message qps 2 stamp",
        "transport ud size 100 messages 9 stamp",
        "size 9k messages 10 qps 2 cc fixed 100mbit stamp"}) {
    std::map<uint32_t, uint64_t> next;
    const std::vector<Sent> all = packets(words);
    ASSERT_FALSE(all.empty());
    for (const Sent &sent : all) {
      const packet::Stamp stamp = stamp_of(sent);
      EXPECT_EQ(stamp.run, kRun);
      EXPECT_EQ(stamp.time_ns, sent.time);
      EXPECT_EQ(stamp.sequence, next[roce_key_qp(&sent.packet.key)]++) << words;
      EXPECT_EQ(
          icrc_check(sent.bytes.data(), static_cast<uint32_t>(sent.bytes.size()), sent.packet),
          Icrc::Good);
    }
  }
}

// Packets without payload among the others take no number.
TEST(Stamp, OnlyDataIsNumbered) {
  uint64_t next = 0, without = 0;
  for (const Sent &sent :
       packets("opcode RC_SEND_ONLY,RC_ACKNOWLEDGE,CNP size 64 messages 30 stamp"))
    if (const auto stamp = packet::read_stamp(sent.bytes, sent.packet))
      EXPECT_EQ(stamp->sequence, next++);
    else
      without++;
  EXPECT_EQ(next, 10U);
  EXPECT_EQ(without, 20U);
}

TEST(Stamp, NoStampNoReading) {
  for (const Sent &sent : packets("size 5k messages 3"))
    EXPECT_FALSE(packet::read_stamp(sent.bytes, sent.packet));
  const Sent whole = packets("size 64 messages 1 stamp").at(0);
  const size_t end = whole.packet.end - ROCE_ICRC_LEN - 32; // of the stamp
  for (size_t cut = 0; cut <= whole.bytes.size(); cut++)
    EXPECT_EQ(packet::read_stamp({whole.bytes.data(), cut}, whole.packet).has_value(), cut >= end);
}

// A packet that is sent again has its number, so that loss is counted once.
TEST(Stamp, RetransmissionsKeepTheirNumber) {
  requester::Reliability how;
  how.timeout_code = 1; // 8.192 us
  how.retries = 3;
  requester::ReliableSource source({flow("size 3k messages 1 stamp")}, {}, 10e9, how);
  std::vector<uint64_t> numbers;
  std::vector<packet::Outgoing> out(8);
  for (uint64_t now = kBegin; !source.done() && now < kBegin + 1'000'000'000; now += 1000)
    for (size_t i = 0, count = source.next(now, out); i < count; i++)
      numbers.push_back(stamp_of(written(out[i], now)).sequence);
  ASSERT_GE(numbers.size(), 6U);
  for (size_t i = 0; i < numbers.size(); i++)
    EXPECT_EQ(numbers[i], i % 3);
}

class StampSink : public testing::Test {
protected:
  // Frames reach the sink in order, kFlight after they were sent.
  LatencyReport received(const std::vector<Sent> &all) {
    responder::ResponderOptions options;
    options.sink = true;
    options.addresses = {{0, 0, ROCE_MAPPED_PREFIX, roce_swap32(0xc0000202U)}};
    responder::Responder sink(options);
    for (const Sent &sent : all)
      sink.receive(sent.time + kFlight, sent.bytes, sent.class_, sent.packet);
    std::vector<packet::Outgoing> out(8);
    EXPECT_EQ(sink.next(0, out), 0U); // it never answers RoCE
    EXPECT_EQ(sink.wake_at(), kNever);
    counts_ = sink.counts();
    return sink.latency().report();
  }
  RespondCounts counts_;
};

TEST_F(StampSink, CountsWhatFaultsDo) {
  const auto all = packets("size 64 messages 1000 stamp fault skip at 10,20,21,500 "
                           "fault repeat at 30,40,50 fault reorder at 60,70 fault icrc at 80");
  const LatencyReport report = received(all);
  ASSERT_EQ(report.streams.size(), 1U);
  const LatencyRow &row = report.streams[0];
  EXPECT_EQ(row.first, 0U);
  EXPECT_EQ(row.last, 999U);
  EXPECT_EQ(row.lost, 5U); // the wrong iCRC too
  EXPECT_EQ(row.duplicates, 3U);
  EXPECT_EQ(row.reordered, 2U);
  EXPECT_EQ(row.frames, 1000U - 5 + 3);
  EXPECT_EQ(row.timed, 995U);
  EXPECT_EQ(row.min, static_cast<int64_t>(kFlight));
  EXPECT_EQ(row.max, static_cast<int64_t>(kFlight));
  EXPECT_EQ(row.p99, static_cast<int64_t>(kFlight));
  EXPECT_EQ(row.jitter, 0);
  EXPECT_EQ(counts_.bad_icrc, 1U);
  EXPECT_EQ(counts_.requests, 998U);
}

TEST_F(StampSink, EveryRequestIsSilentlyCounted) {
  const LatencyReport report = received(
      packets("opcode RC_SEND_ONLY,RC_RDMA_READ_REQUEST,CNP size 64 ack-req 1 messages 30"));
  EXPECT_EQ(counts_.requests, 20U);
  EXPECT_EQ(counts_.responses_seen, 10U);
  EXPECT_EQ(counts_.acks + counts_.naks + counts_.read_responses + counts_.cnps, 0U);
  EXPECT_EQ(report.total.frames, 0U);
}

// A capture has the timestamps of CLOCK_REALTIME.
TEST(StampCapture, AddsTheTaiOffset) {
  Analyzer::Options options;
  options.tai_offset_s = 37;
  options.latency.clock_offset_ns = -500;
  Analyzer analyzer(options);
  const auto all = packets("size 64 messages 100 stamp fault icrc at 7");
  for (size_t i = 0; i < all.size(); i++) {
    const auto length = static_cast<uint32_t>(all[i].bytes.size());
    const uint64_t realtime = all[i].time + kFlight - 37'000'000'000;
    analyzer.frame({.data = all[i].bytes.data(),
                    .captured = length,
                    .length = length,
                    .time_ns = i == 50 ? 0 : realtime});
  }
  const LatencyReport report = analyzer.latency();
  EXPECT_EQ(report.total.frames, 99U);
  EXPECT_EQ(report.total.lost, 1U);
  EXPECT_EQ(report.untimed, 1U);
  EXPECT_EQ(report.total.timed, 98U);
  EXPECT_EQ(report.total.min, static_cast<int64_t>(kFlight) + 500);
  EXPECT_EQ(report.total.max, static_cast<int64_t>(kFlight) + 500);
  EXPECT_EQ(report.tai_offset_s, 37);
  EXPECT_EQ(report.clock_offset_ns, -500);
}

} // namespace
} // namespace xr::stamp_test
