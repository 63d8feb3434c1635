// SPDX-License-Identifier: Apache-2.0
// The four readings of "one CNP in 50 us", each with its source.
#include "congestion/notification_point.h"

#include <gtest/gtest.h>

namespace xr::congestion::notification_test {
namespace {

constexpr uint64_t kUs = 1000, kBegin = 1'000'000'000;

roce_packet packet_of(uint32_t qp) {
  roce_packet packet{};
  packet.key.src[3] = 0x010200c0;
  packet.key.dst[3] = 0x020200c0;
  packet.key.qp_kind = ROCE_KEY_IPV4 | qp;
  return packet;
}

using Point = BasicNotificationPoint<uint32_t>;

// Feeds CE marks at these times (us) and returns the times of the CNPs.
std::vector<uint64_t> cnps_of(Point &point, std::vector<uint64_t> marks, uint64_t until,
                              uint32_t qp = 7) {
  std::vector<uint64_t> cnps;
  size_t next = 0;
  for (uint64_t us = 0; us <= until; us++) {
    const uint64_t now = kBegin + us * kUs;
    uint32_t owed = 0;
    while (point.wake_at() <= now && point.take_due(now, owed)) {
      EXPECT_EQ(owed, qp);
      cnps.push_back(us);
    }
    for (; next < marks.size() && marks[next] == us; next++)
      if (point.decide(now, packet_of(qp), qp) == Point::Verdict::Send)
        cnps.push_back(us);
  }
  return cnps;
}

Point make(NpMode mode) { return {{.interval_ns = 50 * kUs, .mode = mode}, 16}; }

using Times = std::vector<uint64_t>;

// A CNP at once, if none went within the last 50 us.
TEST(NotificationPoint, HoldOff) {
  Point point = make(NpMode::HoldOff);
  EXPECT_EQ(cnps_of(point, {0, 10, 49, 50, 60, 130, 140}, 300), (Times{0, 50, 130}));
}

// SIGCOMM'15: a CNP at once after quiet; then one at the end of each 50 us window with a CE.
TEST(NotificationPoint, Window) {
  Point point = make(NpMode::Window);
  EXPECT_EQ(cnps_of(point, {0, 10, 20, 60, 130, 260}, 400), (Times{0, 50, 100, 150, 260}));
  Point quiet = make(NpMode::Window);
  EXPECT_EQ(cnps_of(quiet, {5, 60, 200}, 400), (Times{5, 60, 200}));
}

// ns3-rdma CheckandSendQCN: on a grid of 50 us from the flow's first packet.
TEST(NotificationPoint, Grid) {
  Point point = make(NpMode::Grid);
  EXPECT_TRUE(point.wants_all());
  point.seen(kBegin, packet_of(7));
  EXPECT_EQ(cnps_of(point, {10, 20, 60, 210}, 400), (Times{50, 100, 250}));
}

// HPCC: each ACK of a marked packet.
TEST(NotificationPoint, Echo) {
  Point point = make(NpMode::Echo);
  EXPECT_EQ(cnps_of(point, {0, 1, 2, 50}, 100), (Times{0, 1, 2, 50}));
}

TEST(NotificationPoint, StreamsHaveWindowsOfTheirOwn) {
  Point point = make(NpMode::Window);
  EXPECT_EQ(point.decide(kBegin, packet_of(1), 1), Point::Verdict::Send);
  EXPECT_EQ(point.decide(kBegin + 20 * kUs, packet_of(2), 2), Point::Verdict::Send);
  EXPECT_EQ(point.decide(kBegin + 30 * kUs, packet_of(1), 1), Point::Verdict::Deferred);
  EXPECT_EQ(point.decide(kBegin + 31 * kUs, packet_of(1), 1), Point::Verdict::Paced);
  uint32_t owed = 0;
  EXPECT_EQ(point.wake_at(), kBegin + 50 * kUs);
  EXPECT_FALSE(point.take_due(kBegin + 49 * kUs, owed));
  EXPECT_TRUE(point.take_due(kBegin + 50 * kUs, owed));
  EXPECT_EQ(owed, 1U);
  EXPECT_FALSE(point.take_due(kBegin + 99 * kUs, owed));
  EXPECT_EQ(point.decide(kBegin + 120 * kUs, packet_of(2), 2), Point::Verdict::Send); // quiet again
}

// A caller that asks late loses no CNP.
TEST(NotificationPoint, ALateWindow) {
  Point point = make(NpMode::Window);
  EXPECT_EQ(point.decide(kBegin, packet_of(1), 1), Point::Verdict::Send);
  EXPECT_EQ(point.decide(kBegin + 10 * kUs, packet_of(1), 1), Point::Verdict::Deferred);
  // The CNP of the first window goes now; this mark is of the second.
  EXPECT_EQ(point.decide(kBegin + 60 * kUs, packet_of(1), 1), Point::Verdict::Send);
  uint32_t owed = 0;
  EXPECT_FALSE(point.take_due(kBegin + 99 * kUs, owed));
  EXPECT_TRUE(point.take_due(kBegin + 100 * kUs, owed));
}

TEST(NotificationPoint, FullIsSaid) {
  for (const NpMode mode : {NpMode::HoldOff, NpMode::Window, NpMode::Grid}) {
    Point point({.interval_ns = 50 * kUs, .mode = mode}, 2);
    for (uint32_t qp = 1; qp <= 2; qp++)
      EXPECT_NE(point.decide(kBegin, packet_of(qp), qp), Point::Verdict::NoRoom);
    EXPECT_EQ(point.decide(kBegin, packet_of(3), 3), Point::Verdict::NoRoom);
  }
}

} // namespace
} // namespace xr::congestion::notification_test
