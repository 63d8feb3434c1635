// SPDX-License-Identifier: Apache-2.0
// RDMA CM followed in captures: real sessions, and MADs in any order, in one direction, again.
#include "analysis/connections.h"

#include <gtest/gtest.h>

#include "packet/frame.h"
#include "roce/parse.h"

namespace xr::connections_test {
namespace {

using packet::CmKind;
using packet::CmMessage;
using State = ConnectionRow::State;

Address ipv4(uint8_t host) { return {0, 0, ROCE_MAPPED_PREFIX, roce_swap32(0xc0000200U | host)}; }

Connections real(const char *name) {
  auto read = read_connections({std::string(XR_TEST_DATA "/") + name}, ROCE_UDP_PORT);
  EXPECT_TRUE(read.ok());
  return read.ok() ? *read : Connections{};
}

uint64_t count_of(const Connections &c, CmKind kind) {
  return c.messages[static_cast<uint16_t>(kind) - Connections::kFirstKind];
}

// The text that tshark prints.
TEST(RealConnections, OfRping) {
  const Connections c = real("rping_v4.pcap");
  ASSERT_EQ(c.rows.size(), 1U);
  const ConnectionRow &row = c.rows[0];
  EXPECT_EQ(row.active.qp, 0x31U);
  EXPECT_EQ(row.active.psn, 0x8940f8U);
  EXPECT_EQ(row.active.id, 0xb6ded0e6U);
  EXPECT_EQ(row.passive.qp, 0x38U);
  EXPECT_EQ(row.passive.psn, 0xe9e0f0U);
  EXPECT_EQ(row.passive.id, 0xc0693138U);
  EXPECT_EQ(row.service_id, packet::cm_service(7174));
  EXPECT_EQ(row.pmtu, 1024U);
  EXPECT_EQ(row.retries, 7);
  EXPECT_EQ(row.rnr_retries, 7);
  EXPECT_EQ(row.cm_retries, 15);
  EXPECT_EQ(row.state, State::Ended);
  EXPECT_EQ(row.messages, 5U);
  EXPECT_EQ(row.again, 0U);
  EXPECT_GT(row.established_ns, row.first_ns);
  for (const CmKind kind : {CmKind::Req, CmKind::Rep, CmKind::Rtu, CmKind::Dreq, CmKind::Drep})
    EXPECT_EQ(count_of(c, kind), 1U);
}

TEST(RealConnections, OfUdaddyAreResolutions) {
  const Connections c = real("udaddy_v4.pcap");
  EXPECT_EQ(c.rows.size(), 0U);
  EXPECT_GT(count_of(c, CmKind::SidrReq), 0U);
  EXPECT_EQ(count_of(c, CmKind::SidrReq), count_of(c, CmKind::SidrRep));
  EXPECT_EQ(c.sidr_refused, 0U);
  EXPECT_EQ(c.unmatched, 0U);
}

class FollowerTest : public testing::Test {
protected:
  // Host 1 is the active side with ID 7, host 2 the passive one with ID 9.
  void from_active(CmMessage message) {
    message.local_id = 7;
    message.remote_id = message.kind == CmKind::Req ? 0 : 9;
    send(1, 2, message);
  }
  void from_passive(CmMessage message) {
    message.local_id = 9;
    message.remote_id = 7;
    send(2, 1, message);
  }
  void send(uint8_t from, uint8_t to, const CmMessage &message) {
    packet::Path path;
    path.network = network_;
    path.src = ipv4(from);
    path.dst = ipv4(to);
    auto frame = packet::cm_frame(path, message, 0);
    ASSERT_TRUE(frame.ok());
    give(frame->bytes);
  }
  void give(const std::vector<uint8_t> &bytes) {
    roce_packet packet{};
    const int class_ =
        roce_parse(bytes.data(), bytes.data() + bytes.size(), roce_swap16(ROCE_UDP_PORT), &packet);
    ASSERT_TRUE(roce_is_roce(class_));
    follower_.packet(time_ += 1000, bytes, packet);
  }
  static CmMessage req() {
    CmMessage message;
    message.kind = CmKind::Req;
    message.transaction = 1;
    message.qpn = 0x11;
    message.psn = 0x100;
    message.service_id = 5;
    message.pmtu_code = 5;
    return message;
  }
  static CmMessage rep() {
    CmMessage message = of(CmKind::Rep);
    message.qpn = 0x22;
    message.psn = 0x200;
    return message;
  }
  static CmMessage of(CmKind kind) {
    CmMessage message;
    message.kind = kind;
    return message;
  }
  const ConnectionRow &only() {
    EXPECT_EQ(follower_.result().rows.size(), 1U);
    static const ConnectionRow none;
    return follower_.result().rows.empty() ? none : follower_.result().rows[0];
  }

  packet::Network network_ = packet::Network::Ipv4;
  uint64_t time_ = 0;
  ConnectionFollower follower_{4};
};

TEST_F(FollowerTest, FollowsTheStates) {
  from_active(req());
  EXPECT_EQ(only().state, State::Requested);
  from_passive(rep());
  EXPECT_EQ(only().state, State::Accepted);
  from_active(of(CmKind::Rtu));
  EXPECT_EQ(only().state, State::Established);
  EXPECT_EQ(only().established_ns, 3000U);
  from_passive(of(CmKind::Dreq));
  EXPECT_EQ(only().state, State::Ending);
  from_active(of(CmKind::Drep));
  EXPECT_EQ(only().state, State::Ended);
  EXPECT_EQ(only().active.address, ipv4(1));
  EXPECT_EQ(only().passive.address, ipv4(2));
  EXPECT_EQ(only().active.psn, 0x100U);
  EXPECT_EQ(only().passive.psn, 0x200U);
  EXPECT_EQ(only().pmtu, 4096U);
  EXPECT_EQ(only().messages, 5U);
  EXPECT_EQ(only().again, 0U);
  EXPECT_FALSE(only().v1);
}

TEST_F(FollowerTest, CountsWhatIsSentAgain) {
  from_active(req());
  from_active(req());
  from_passive(of(CmKind::Mra));
  from_active(req());
  from_passive(rep());
  from_passive(rep());
  EXPECT_EQ(only().again, 3U);
  EXPECT_EQ(only().mras, 1U);
  EXPECT_EQ(follower_.result().again, 3U);
}

TEST_F(FollowerTest, KnowsTheReasonOfARej) {
  from_active(req());
  CmMessage rej = of(CmKind::Rej);
  rej.reject_reason = 8;
  rej.remote_id = 7; // the passive side has no ID of its own
  send(2, 1, rej);
  EXPECT_EQ(only().state, State::Rejected);
  EXPECT_EQ(only().reason, 8);
}

// A port sees what enters it.
TEST_F(FollowerTest, OneDirectionIsEnough) {
  from_active(req());
  from_active(of(CmKind::Rtu));
  EXPECT_EQ(only().state, State::Established);
  CmMessage dreq = of(CmKind::Dreq);
  dreq.qpn = 0x22;
  from_active(dreq);
  EXPECT_EQ(only().state, State::Ending);
  EXPECT_EQ(only().passive.qp, 0x22U);
  EXPECT_EQ(only().passive.id, 0U);
}

TEST_F(FollowerTest, TheOtherDirectionToo) {
  from_passive(rep());
  EXPECT_EQ(only().state, State::Accepted);
  EXPECT_FALSE(only().requested);
  EXPECT_EQ(only().passive.qp, 0x22U);
  from_passive(of(CmKind::Drep));
  EXPECT_EQ(only().state, State::Ended);
  from_active(req()); // of another port's capture, which is read later
  EXPECT_EQ(only().state, State::Ended);
  EXPECT_EQ(only().active.qp, 0x11U);
  EXPECT_EQ(only().again, 0U);
}

// An ID that is used again is another connection.
TEST_F(FollowerTest, BeginsAnewWithANewRequest) {
  from_active(req());
  from_passive(rep());
  CmMessage next = req();
  next.transaction = 2;
  next.qpn = 0x33;
  from_active(next);
  ASSERT_EQ(follower_.result().rows.size(), 2U);
  EXPECT_EQ(follower_.result().rows[0].active.qp, 0x11U);
  EXPECT_EQ(follower_.result().rows[1].active.qp, 0x33U);
  EXPECT_EQ(follower_.result().rows[1].state, State::Requested);
}

TEST_F(FollowerTest, CountsWhatHasNoRow) {
  from_active(of(CmKind::Rtu));
  from_passive(of(CmKind::Dreq));
  EXPECT_EQ(follower_.result().unmatched, 2U);
  for (uint32_t id = 1; id <= 6; id++) {
    CmMessage message = req();
    message.local_id = id;
    send(1, 2, message);
  }
  EXPECT_EQ(follower_.result().rows.size(), 4U);
  EXPECT_EQ(follower_.result().rows_full, 2U);
}

TEST_F(FollowerTest, CountsTheRest) {
  from_active(req());
  from_active(of(CmKind::Lap));
  from_passive(of(CmKind::Apr));
  CmMessage sidr = of(CmKind::SidrRep);
  sidr.status = 1;
  send(2, 1, sidr);
  EXPECT_EQ(only().laps, 1U);
  EXPECT_EQ(count_of(follower_.result(), CmKind::Apr), 1U);
  EXPECT_EQ(follower_.result().sidr_refused, 1U);
}

TEST_F(FollowerTest, CutMadsAreCounted) {
  packet::Path path;
  path.src = ipv4(1);
  path.dst = ipv4(2);
  auto frame = packet::cm_frame(path, req(), 0);
  ASSERT_TRUE(frame.ok());
  roce_packet packet{};
  roce_parse(frame->bytes.data(), frame->bytes.data() + frame->bytes.size(),
             roce_swap16(ROCE_UDP_PORT), &packet);
  follower_.packet(1, std::span(frame->bytes).first(200), packet);
  EXPECT_EQ(follower_.result().cut, 1U);
  EXPECT_TRUE(follower_.result().rows.empty());
}

TEST_F(FollowerTest, KnowsTheVersion) {
  network_ = packet::Network::V1;
  from_active(req());
  EXPECT_TRUE(only().v1);
}

} // namespace
} // namespace xr::connections_test
