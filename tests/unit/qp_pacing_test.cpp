// SPDX-License-Identifier: Apache-2.0
// A pacer for each QP: alone, and in both requesters.
#include "congestion/qp_pacing.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "packet/source.h"
#include "requester/open.h"
#include "requester/reliable.h"

namespace xr::congestion::qp_pacing_test {
namespace {

constexpr uint64_t kBegin = 1'700'000'000'000'000'123;
constexpr double kLine = 25e9;

Control fixed(Rate::Kind kind, double value) { return {Control::Kind::Fixed, {kind, value, ""}}; }

TEST(QpPacing, EachQpHasTheRateAndTheyShareAnInterval) {
  QpPacing pacing(4, fixed(Rate::Kind::Packets, 1000), kLine);
  pacing.start(kBegin, 1000);
  for (uint32_t qp = 0; qp < 4; qp++) {
    EXPECT_EQ(pacing.due(qp), kBegin + qp * 250'000);
    for (int i = 1; i <= 100; i++) {
      pacing.sent(qp, pacing.due(qp), 1000);
      EXPECT_EQ(pacing.due(qp), kBegin + qp * 250'000 + uint64_t{1'000'000} * i);
    }
  }
  EXPECT_EQ(pacing.slipped_ns(), 0U);
  EXPECT_DOUBLE_EQ(pacing.asked_pps(1000), 4000);
}

TEST(QpPacing, UnitsAreThoseOfTheRate) {
  struct Case {
    Control control;
    double interval_ns; // of a frame of 976 bytes
  };
  for (const Case &c : {Case{fixed(Rate::Kind::BitsL2, 976 * 8 * 1000), 1e6},
                        Case{fixed(Rate::Kind::BitsL1, 1000 * 8 * 1000), 1e6},
                        Case{fixed(Rate::Kind::Percent, 50), 1000 * 8 / 12.5},
                        Case{fixed(Rate::Kind::Packets, 3), 1e9 / 3}}) {
    QpPacing pacing(1, c.control, kLine);
    pacing.start(kBegin, 976);
    for (int i = 0; i < 3000; i++)
      pacing.sent(0, pacing.due(0), 976);
    EXPECT_NEAR(static_cast<double>(pacing.due(0) - kBegin), 3000 * c.interval_ns, 1.5);
  }
}

TEST(QpPacing, WhatIsTooLateIsGivenUp) {
  QpPacing pacing(1, fixed(Rate::Kind::Packets, 1000), kLine);
  pacing.start(kBegin, 1000);
  const uint64_t late = kBegin + 10 * kPatienceNs;
  pacing.sent(0, late, 1000);
  EXPECT_EQ(pacing.due(0), late - kPatienceNs);
  EXPECT_EQ(pacing.slipped_ns(), 9 * kPatienceNs - 1'000'000);
}

flow::Flow flow_of(const std::string &words) {
  std::vector<std::string> all = {"src", "192.0.2.1", "dst", "192.0.2.2"};
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find(' ', at), words.size());
    all.push_back(words.substr(at, end - at));
    at = end + 1;
  }
  auto result = flow::parse_flow(all);
  if (!result) {
    ADD_FAILURE() << words << ": " << result.error().message;
    return {};
  }
  EXPECT_TRUE(flow::check_flow(result.get(), 9000).ok()) << words;
  result->path.src_mac = {2, 0, 0, 0, 0, 1};
  result->path.dst_mac = {2, 0, 0, 0, 0, 2};
  return result.get();
}

// Times of the packets of each destination QPN, in virtual time.
template <typename Source>
std::map<uint32_t, std::vector<uint64_t>> times_of(Source &source, uint64_t until) {
  std::map<uint32_t, std::vector<uint64_t>> times;
  std::vector<packet::Outgoing> out(5);
  uint64_t now = kBegin;
  while (!source.done() && now < kBegin + until) {
    const size_t count = source.next(now, out);
    for (size_t i = 0; i < count; i++)
      times[out[i].fields.dest_qp].push_back(now - kBegin);
    if (count == out.size())
      continue;
    now = std::max(now + 1, std::min(source.wake_at(), kBegin + until));
  }
  return times;
}

TEST(QpPacing, OpenFlowsSendByTheRatesOfTheirQps) {
  requester::OpenSource source({flow_of("qp 0x20 qps 8 size 1000 cc fixed 10kpps for 100ms")}, {},
                               kLine);
  const auto times = times_of(source, 1'000'000'000);
  EXPECT_TRUE(source.done());
  ASSERT_EQ(times.size(), 8U);
  for (const auto &[qp, at] : times) {
    ASSERT_EQ(at.size(), 1000U) << qp;
    for (size_t i = 0; i < at.size(); i++)
      EXPECT_NEAR(static_cast<double>(at[i]), 1e5 * static_cast<double>(i) + 12'500 * (qp - 0x20),
                  2);
  }
  EXPECT_DOUBLE_EQ(source.asked_pps(), 80'000);
}

// A flow ends by the schedules of its QPs: a machine that is late sends all of it.
TEST(QpPacing, ALateMachineSendsAllOfTheFlow) {
  requester::OpenSource source({flow_of("qps 2 size 1000 cc fixed 10kpps for 10ms")}, {}, kLine);
  std::vector<packet::Outgoing> out(64);
  size_t sum = source.next(kBegin, out);
  while (!source.done()) {
    const size_t count = source.next(kBegin + 30'000'000, out);
    ASSERT_TRUE(count || source.done());
    sum += count;
  }
  EXPECT_EQ(sum, 200U);
}

TEST(QpPacing, TheFlowsOwnRateLimitsItsQps) {
  requester::OpenSource source({flow_of("qps 10 size 1000 cc fixed 10kpps rate 20kpps for 100ms")},
                               {}, kLine);
  uint64_t sum = 0;
  for (const auto &[qp, at] : times_of(source, 1'000'000'000)) {
    EXPECT_NEAR(static_cast<double>(at.size()), 200, 10) << qp;
    sum += at.size();
  }
  EXPECT_EQ(sum, 2000U);
  EXPECT_DOUBLE_EQ(source.asked_pps(), 20'000);
}

TEST(QpPacing, MessagesAndFaultsOfPacedQps) {
  requester::OpenSource source(
      {flow_of("qps 3 size 5000 pmtu 1024 messages 4 cc fixed 1mpps psn 0 fault skip at 7")}, {},
      kLine);
  size_t sum = 0;
  for (const auto &[qp, at] : times_of(source, 1'000'000'000))
    sum += at.size();
  EXPECT_EQ(sum, 3U * 4 * 5 - 1);
  EXPECT_TRUE(source.done());
  EXPECT_EQ(source.counts().messages, 12U);
}

// A QP whose window is full does not hold up the others, and one that opens sends at its own rate.
TEST(QpPacing, ReliableQpsSendByTheirRates) {
  requester::ReliableSource source({flow_of("qps 4 size 1000 psn 0 cc fixed 1kpps for 20ms")}, {},
                                   kLine, {.window = 5});
  const auto times = times_of(source, 15'000'000); // before the first timeout
  ASSERT_EQ(times.size(), 4U);
  for (const auto &[qp, at] : times) {
    ASSERT_EQ(at.size(), 5U) << qp;
    for (size_t i = 1; i < at.size(); i++)
      EXPECT_NEAR(static_cast<double>(at[i] - at[i - 1]), 1e6, 2);
  }
}

TEST(QpPacing, GoesWithoutByMessage) {
  auto flow = flow::parse_flow({"src", "192.0.2.1", "dst", "192.0.2.2", "qps", "2", "by", "message",
                                "cc", "fixed", "1gbit"});
  ASSERT_TRUE(flow.ok());
  const Status checked = flow::check_flow(flow.get(), 1500);
  ASSERT_FALSE(checked.ok());
  EXPECT_NE(checked.error().message.find("by message"), std::string::npos);
}

// Under DCQCN: packets by the rate of the time, a CNP moves the one that is due, and a timer brings
// it forward again.
TEST(QpPacing, ACnpStretchesTheWait) {
  Control control;
  control.kind = Control::Kind::Dcqcn;
  control.rate = {Rate::Kind::BitsL2, 8e9, "8gbit"}; // 1000 bytes a microsecond
  QpPacing pacing(2, control, 0);
  pacing.start(kBegin, 1000);
  pacing.sent(0, kBegin, 100'000); // 100 us
  ASSERT_EQ(pacing.due(0), kBegin + 100'000);
  pacing.wait(0);
  pacing.cnp(0, kBegin + 20'000); // half the rate: 80 us become 160
  EXPECT_EQ(pacing.due(0), kBegin + 180'000);
  uint32_t qp = 0;
  // After 55 us, three quarters: what is left of 105 us becomes 70. The QP is asked late.
  EXPECT_FALSE(pacing.take_due(kBegin + 100'000, qp));
  EXPECT_EQ(pacing.due(0), kBegin + 145'000);
  // After another 55 us, 7/8: what is left of 15 us becomes 12.857.
  EXPECT_FALSE(pacing.take_due(kBegin + 130'000, qp));
  EXPECT_EQ(pacing.due(0), kBegin + 142'857);
  EXPECT_TRUE(pacing.take_due(kBegin + 142'857, qp));
  EXPECT_EQ(qp, 0U);
  EXPECT_EQ(pacing.due(1), kBegin + 500); // the other QP is as it was
  EXPECT_EQ(pacing.state(1, kBegin + 150'000).cnps, 0U);
}

TEST(QpPacing, AControlledQpDoesNotMakeUpForAStall) {
  Control control;
  control.kind = Control::Kind::Dcqcn;
  control.rate = {Rate::Kind::BitsL2, 8e6, "8mbit"};
  QpPacing pacing(1, control, 0);
  pacing.start(kBegin, 1000);
  const uint64_t late = kBegin + 10 * kDynamicPatienceNs;
  pacing.sent(0, late, 100);
  EXPECT_EQ(pacing.due(0), late - kDynamicPatienceNs);
  EXPECT_EQ(pacing.slipped_ns(), 9 * kDynamicPatienceNs - 100'000);
  pacing.resume(0, late);
  EXPECT_EQ(pacing.due(0), late);
}

TEST(QpPacing, BurstsHaveTheSameRate) {
  Control control = fixed(Rate::Kind::Packets, 1000);
  control.burst = 4;
  QpPacing pacing(1, control, kLine);
  pacing.start(kBegin, 1000);
  for (uint64_t i = 0; i < 40; i++) {
    EXPECT_EQ(pacing.due(0), kBegin + i / 4 * 4'000'000) << i;
    pacing.sent(0, pacing.due(0), 1000);
  }
}

roce_packet cnp_for(uint32_t qp) {
  roce_packet packet{};
  packet.info = ROCE_OP_CNP | ROCE_OP_RESPONSE;
  packet.key.src[2] = ROCE_MAPPED_PREFIX;
  packet.key.src[3] = roce_swap32(0xc0000202U); // 192.0.2.2, where the flow goes
  packet.key.qp_kind = ROCE_KEY_IPV4 | qp;
  return packet;
}

// CNPs reach the QP that they name, in both requesters, and its packets come slower.
template <typename Source> void check_cnps(Source &source) {
  std::vector<packet::Outgoing> out(64);
  std::map<uint32_t, uint64_t> packets;
  const roce_packet cnp = cnp_for(0x21);
  const std::vector<uint8_t> frame(128);
  constexpr uint64_t kStep = 10'000, kTime = 20'000'000;
  for (uint64_t now = kBegin; now < kBegin + kTime; now += kStep) {
    if ((now - kBegin) % 50'000 == 0)
      source.receive(now, frame, ROCE_CLASS_V2, cnp);
    for (size_t count = out.size(); count == out.size();) {
      count = source.next(now, out);
      for (size_t i = 0; i < count; i++)
        packets[out[i].fields.dest_qp]++;
    }
  }
  std::vector<QpRate> rates;
  source.qp_rates(kBegin + kTime, rates);
  ASSERT_EQ(rates.size(), 3U);
  EXPECT_EQ(rates[0].cnps + rates[2].cnps, 0U);
  EXPECT_EQ(rates[0].rate, 100e6);
  EXPECT_EQ(rates[1].qp, 0x21U);
  EXPECT_GE(rates[1].cnps, 398U);
  EXPECT_EQ(source.counts().cnps, rates[1].cnps);
  EXPECT_LT(rates[1].mean, 10e6);
  EXPECT_NEAR(static_cast<double>(packets[0x20]), static_cast<double>(packets[0x22]), 2);
  EXPECT_LT(packets[0x21] * 5, packets[0x20]);
  EXPECT_GE(packets[0x21], 2U);
}

constexpr const char *kControlled =
    "qp 0x20 qps 3 size 1000 write cc dcqcn line 100mbit min-rate=1mbit for 20ms";

TEST(QpPacing, CnpsSlowTheirQpOfAnOpenFlow) {
  requester::OpenSource source({flow_of(kControlled)}, {}, 0, false);
  check_cnps(source);
}

TEST(QpPacing, CnpsSlowTheirQpOfAReliableFlow) {
  requester::ReliableSource source({flow_of(kControlled)}, {}, 0,
                                   {.window = 4096, .timeout_code = 0, .check_icrc = false});
  check_cnps(source);
}

} // namespace
} // namespace xr::congestion::qp_pacing_test
