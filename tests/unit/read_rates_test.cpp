// SPDX-License-Identifier: Apache-2.0
// READ responses at a rate of each QP; CE marks on them, the requester's CNPs, and the responder's
// control.
#include "conversation.h"
#include "requester/frames.h"

namespace xr::requester::read_rates_test {
namespace {

using congestion::Control;
using congestion::Rate;

constexpr double kLine = 10e9;

class ReadRates : public testing::Test {
protected:
  ReadRates() {
    flow_.path.src = ipv4(1);
    flow_.path.dst = ipv4(2);
    flow_.verb = packet::Verb::Read;
    flow_.messages = 100;
    flow_.qps = 2;
    flow_.size.parts = {{.bytes = 20 * 1024}};
    options_.line_bits = kLine;
  }
  void talk(const Harm &harm) {
    ReliableSource requester({flow_}, {}, 1e11, reliability_);
    responder::Responder responder(options_);
    Network network(harm, 1);
    took_ = converse(requester, responder, network);
    sent_ = requester.counts();
    seen_ = responder.counts();
    responder.qp_rates(took_, rows_);
    EXPECT_EQ(sent_.messages, 2 * flow_.messages);
    EXPECT_EQ(sent_.retransmitted, 0U);
  }

  flow::Flow flow_;
  Reliability reliability_;
  responder::ResponderOptions options_;
  SendCounts sent_;
  RespondCounts seen_;
  std::vector<QpRate> rows_;
  uint64_t took_ = 0;
};

TEST_F(ReadRates, EachQpHasTheFixedRate) {
  options_.control = {.kind = Control::Kind::Fixed,
                      .rate = {.kind = Rate::Kind::Packets, .value = 1e6, .text = {}}};
  talk({});
  // 2000 responses of each QP, a microsecond apart, beginning when the first request came.
  EXPECT_GE(took_, 1999'000U);
  EXPECT_LE(took_, 1999'000 + 3 * kDelayNs);
  EXPECT_EQ(seen_.read_responses, 4000U);
  EXPECT_EQ(seen_.slipped_ns, 0U);
  EXPECT_TRUE(rows_.empty());
}

TEST_F(ReadRates, WithoutControlTheyComeAtOnce) {
  talk({});
  EXPECT_LT(took_, 1000'000U); // a slot of the network for each, and round trips
}

// Time without requests is not made up for.
TEST_F(ReadRates, IdleTimeIsNoCredit) {
  options_.control = {.kind = Control::Kind::Fixed,
                      .rate = {.kind = Rate::Kind::Packets, .value = 1e6, .text = {}}};
  flow_.messages = 10;
  flow_.pacing.shape = congestion::Pacing::Shape::Burst;
  flow_.pacing.burst_packets = 10; // 5 READs of each QP: 100 responses of it
  flow_.pacing.burst_gap_ns = 50'000'000;
  flow_.pacing.bursts = 2;
  talk({});
  EXPECT_GE(took_, 50'000'000U + 99'000);
  EXPECT_LE(took_, 50'000'000U + 99'000 + 5 * kDelayNs);
}

TEST_F(ReadRates, CnpsLowerTheRateOfTheirQp) {
  options_.control = {.kind = Control::Kind::Dcqcn};
  flow_.messages = 1000;
  talk({.marked = 0.01});
  EXPECT_GT(sent_.ce, 100U);
  EXPECT_GT(sent_.cnps_sent, 0U);
  EXPECT_EQ(sent_.cnps_sent + sent_.cnps_paced, sent_.ce);
  EXPECT_EQ(seen_.cnps_received, sent_.cnps_sent);
  EXPECT_EQ(seen_.cnps_stray, 0U);
  ASSERT_EQ(rows_.size(), 2U);
  EXPECT_EQ(rows_[0].cnps + rows_[1].cnps, sent_.cnps_sent);
  for (const QpRate &row : rows_) {
    EXPECT_GT(row.cuts, 0U);
    EXPECT_LT(row.mean, kLine);
    EXPECT_GT(row.mean, 0);
  }
  // The bits of the QP within its time are those of its mean rate.
  const double bits = static_cast<double>(flow_.messages) * 20 * (1024 + 62) * 8;
  EXPECT_NEAR(bits / (static_cast<double>(took_) * 1e-9), rows_[0].mean, rows_[0].mean * 0.15);
}

TEST_F(ReadRates, EveryMarkIsEchoedIfAsked) {
  options_.control = {.kind = Control::Kind::Dcqcn};
  reliability_.cnp_pacing.mode = congestion::NpMode::Echo;
  talk({.marked = 0.01});
  EXPECT_GT(sent_.ce, 10U);
  EXPECT_EQ(sent_.cnps_sent, sent_.ce);
  EXPECT_EQ(seen_.cnps_received, sent_.ce);
}

TEST_F(ReadRates, NoCnpsIfNotWanted) {
  options_.control = {.kind = Control::Kind::Dcqcn};
  reliability_.cnp = false;
  talk({.marked = 0.01});
  EXPECT_EQ(sent_.cnps_sent, 0U);
  EXPECT_EQ(seen_.cnps_received, 0U);
  ASSERT_EQ(rows_.size(), 2U);
  EXPECT_EQ(rows_[0].cuts, 0U);
  EXPECT_DOUBLE_EQ(rows_[0].rate, kLine);
}

// CNPs for a QP that asked for no READ.
TEST_F(ReadRates, CnpsOfOthersAreCounted) {
  options_.control = {.kind = Control::Kind::Dcqcn};
  responder::Responder responder(options_);
  flow::Flow flow = flow_;
  FlowFrames frames(flow);
  packet::Outgoing out{.shape = frames.cnp(48), .fields = {.dest_qp = 0x11}};
  const Bytes bytes = bytes_of(out);
  roce_packet parsed{};
  const int class_ =
      roce_parse(bytes.data(), bytes.data() + bytes.size(), roce_swap16(ROCE_UDP_PORT), &parsed);
  EXPECT_EQ(parsed.tos, 48 << 2);
  responder.receive(0, bytes, static_cast<roce_class>(class_), parsed);
  EXPECT_EQ(responder.counts().cnps_stray, 1U);
  EXPECT_EQ(responder.counts().cnps_received, 0U);
}

} // namespace
} // namespace xr::requester::read_rates_test
