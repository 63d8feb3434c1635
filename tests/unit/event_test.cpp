// SPDX-License-Identifier: Apache-2.0
// Exact rules: they match the P-th packet of the N-th QP in its K-th transmission.
#include <set>

#include <fmt/format.h>

#include "impair_port.h"

namespace xr::test::event_test {
namespace {

// PSNs, in order of sending, of the packets that a rule acts on.
std::vector<size_t> dropped(Port &port, const std::vector<FrameBuilder> &frames) {
  std::vector<size_t> gone;
  for (size_t i = 0; i < frames.size(); i++) {
    Bytes bytes = finished(frames[i].build(), false);
    if (port.impair(bytes, 1000 * i) == Fate::Gone)
      gone.push_back(i);
  }
  return gone;
}

FrameBuilder send(uint32_t qp, uint32_t psn) {
  return FrameBuilder(0x04).qp(qp).psn(psn & 0xffffff);
}

using Places = std::vector<size_t>;

TEST(Event, OnePacketOfOneQp) {
  std::vector<FrameBuilder> frames;
  for (uint32_t i = 0; i < 1000; i++)
    for (const uint32_t qp : {0x11U, 0x22U, 0x33U})
      frames.push_back(send(qp, 0xfffff0 + qp * 100 + i)); // each has another first PSN, one wraps
  for (const auto &[words, qp] : {std::pair{"qp 1", 0U}, {"qp 2", 1U}, {"qp 0x33", 2U}})
    for (const size_t packet : {1, 5, 256, 257, 1000}) {
      Port port({fmt::format("{} psn {} iter 1 drop", words, packet)});
      EXPECT_EQ(dropped(port, frames), Places{(packet - 1) * 3 + qp}) << words << " " << packet;
    }
  Port range({"qp 2 psn 3-5 drop"}), all({"qp 3 psn all drop"}), none({"qp 4 psn all drop"});
  EXPECT_EQ(dropped(range, frames), (Places{7, 10, 13}));
  EXPECT_EQ(dropped(all, frames).size(), 1000U);
  EXPECT_EQ(dropped(none, frames).size(), 0U);
}

// Packets 1 to 10; 5 to 10 again; 5 to 10 again, and 11.
TEST(Event, Iterations) {
  std::vector<FrameBuilder> frames;
  std::vector<uint32_t> psns;
  for (const auto &[from, to] : {std::pair{1U, 10U}, {5U, 10U}, {5U, 11U}})
    for (uint32_t psn = from; psn <= to; psn++)
      psns.push_back(psn);
  for (const uint32_t psn : psns)
    frames.push_back(send(0x11, 0x7ffffa + psn));
  const auto place = [&psns](uint32_t psn, int time) {
    for (size_t i = 0; i < psns.size(); i++)
      if (psns[i] == psn && !--time)
        return i;
    return psns.size();
  };
  for (const uint32_t psn : {5U, 6U, 10U})
    for (int time = 1; time <= 3; time++) {
      Port port({fmt::format("qp 1 psn {} iter {} drop", psn, time)});
      EXPECT_EQ(dropped(port, frames), Places{place(psn, time)}) << psn << " " << time;
    }
  Port every({"qp 1 psn 5 drop"}), late({"qp 1 psn 11 iter 3 drop"}),
      never({"qp 1 psn 3 iter 2 drop"});
  EXPECT_EQ(dropped(every, frames), (Places{place(5, 1), place(5, 2), place(5, 3)}));
  EXPECT_EQ(dropped(late, frames), Places{place(11, 1)});
  EXPECT_EQ(dropped(never, frames), Places{});
}

TEST(Event, WhatHasNoPlaceIsNone) {
  Port port({"qp 1 psn all drop"});
  std::vector<FrameBuilder> frames = {send(0x11, 0), FrameBuilder(0x11).qp(0x11).psn(0),
                                      FrameBuilder(0x81).qp(0x11).payload(16),
                                      FrameBuilder(0x64).qp(0x11), FrameBuilder(0xd0).qp(0x11)};
  EXPECT_EQ(dropped(port, frames), Places{0});
}

// A QPN that is used again begins at another PSN: its packets are counted from there.
TEST(Event, AResyncBeginsPlacesAgain) {
  for (const bool ipv6 : {false, true})
    for (const uint32_t second : {0x200000U, 0xfffffdU}) { // the latter wraps after three packets
      std::vector<FrameBuilder> frames;
      for (const uint32_t first : {0x100000U, second})
        for (uint32_t i = 0; i < 10; i++) {
          frames.push_back(send(0x11, first + i));
          if (ipv6)
            frames.back().ipv6();
        }
      Port place({"qp 1 psn 7 drop"}), by_qpn({"qp 0x11 psn 2-3 drop"}), offset({"psn +6 drop"});
      EXPECT_EQ(dropped(place, frames), (Places{6, 16})) << second;
      EXPECT_EQ(dropped(by_qpn, frames), (Places{1, 2, 11, 12})) << second;
      EXPECT_EQ(dropped(offset, frames), (Places{6, 16})) << second;
    }
}

// Numbers after `impair zero`, on QPNs that were used before.
TEST(Event, ReusedQpsNumberedAnew) {
  Port port({"qp 3 psn 7 drop"});
  std::vector<FrameBuilder> first, again;
  for (uint32_t i = 0; i < 10; i++)
    for (const uint32_t qp : {0x11U, 0x22U, 0x33U}) {
      first.push_back(send(qp, 100 * qp + i));
      again.push_back(send(qp, 0x800000 + 100 * qp + i));
    }
  EXPECT_EQ(dropped(port, first), Places{20});
  port.accountant().restart_qp_numbers();
  EXPECT_EQ(dropped(port, again), Places{20});
}

// The streams of a QP, requests and answers, have one number; datagrams have none.
TEST(Event, QpsAreNumberedInOrder) {
  std::vector<FrameBuilder> frames = {FrameBuilder(0x64).qp(0x99),
                                      FrameBuilder(0x11).qp(0x11),
                                      send(0x22, 0),
                                      send(0x11, 0),
                                      send(0x33, 0),
                                      FrameBuilder(0x10).qp(0x22)};
  for (const auto &[number, places] :
       {std::pair{1, Places{3}}, {2, Places{2, 5}}, {3, Places{4}}, {4, Places{}}}) {
    Port port({fmt::format("qp {} psn all drop", number)});
    EXPECT_EQ(dropped(port, frames), places) << number;
  }
}

// Numbered again: a QP that continues, one that goes back, a new one, and the answers of each.
TEST(Event, QpsNumberedAnew) {
  const std::vector<FrameBuilder> before = {send(0x11, 0), send(0x22, 0), send(0x33, 0),
                                            FrameBuilder(0x10).qp(0x22)};
  const std::vector<FrameBuilder> after = {
      send(0x33, 1), send(0x44, 0), send(0x11, 0), FrameBuilder(0x10).qp(0x22),
      send(0x22, 1), send(0x33, 2), send(0x11, 1), FrameBuilder(0x10).qp(0x33)};
  for (const auto &[number, places] : {std::pair{1, Places{0, 5, 7}},
                                       {2, Places{1}},
                                       {3, Places{2, 6}},
                                       {4, Places{3, 4}},
                                       {5, Places{}}}) {
    Port port({fmt::format("qp {} psn all drop", number)});
    dropped(port, before);
    port.accountant().restart_qp_numbers();
    EXPECT_EQ(port.snapshot().qp_numbers, (std::vector<uint32_t>(4)));
    EXPECT_EQ(dropped(port, after), places) << number;
  }
  Port twice({"qp 1 psn all drop"});
  for (const uint32_t qp : {0x11U, 0x22U, 0x11U}) {
    twice.accountant().restart_qp_numbers();
    EXPECT_EQ(dropped(twice, {send(qp, 0)}), Places{0}) << qp;
  }
  EXPECT_EQ(twice.snapshot().qp_numbers, (std::vector<uint32_t>{1, 0}));
}

// A stream that takes the place of an idle one is of another QP, with a number of its own.
TEST(Event, NumbersOfStreamsThatMakeWay) {
  constexpr uint64_t kMinute = 60'000'000'000;
  NativeDatapath::Options options;
  options.features = ROCE_FEATURE_RULES | ROCE_FEATURE_EVENTS;
  options.streams = 8;
  for (const int number : {1, 8, 9, 12}) {
    NativeDatapath accountant(options);
    auto rule = impair::parse({fmt::format("qp {} psn all drop", number)});
    ASSERT_TRUE(rule.ok());
    accountant.rules(impair::make_ruleset({*rule}), {});
    std::vector<uint32_t> gone;
    const auto meet = [&](uint32_t qp, uint64_t now) {
      Bytes bytes = finished(send(qp, 0).build(), false);
      if (accountant.impair(bytes, now) == Fate::Gone)
        gone.push_back(qp);
    };
    for (uint32_t qp = 1; qp <= 8; qp++)
      meet(qp, 0);
    for (uint32_t i = 0; i < 20; i++) // looked for, so that the idle ones are found to be
      meet(100, kMinute + i);
    for (uint32_t qp = 9; qp <= 16; qp++)
      meet(qp, 2 * kMinute);
    Snapshot snapshot;
    accountant.snapshot(snapshot);
    EXPECT_GE(snapshot.totals.streams_forgotten, 7U);
    gone.erase(std::remove(gone.begin(), gone.end(), 100U), gone.end());
    const std::set<uint32_t> qps(gone.begin(), gone.end());
    EXPECT_LE(qps.size(), 1U) << "number " << number << " is that of several QPs";
    if (number == 1) {
      EXPECT_EQ(gone, std::vector<uint32_t>{1});
    }
  }
}

} // namespace
} // namespace xr::test::event_test
