// SPDX-License-Identifier: Apache-2.0
// compare over random traffic through a random network, of which the test knows what it did; and
// the assignment of transmissions against one that tries them all.
#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include <fmt/format.h>

#include "compare/assign.h"
#include "taps.h"

namespace xr::test::compare_random_test {
namespace {

uint64_t seed_of(uint64_t fallback) {
  const char *seed = getenv("XR_SEED");
  return seed ? strtoull(seed, nullptr, 0) : fallback;
}

// What the network did to one stream.
struct Truth {
  uint64_t sent = 0, lost = 0, duplicated = 0, reordered = 0, ce = 0, corrupted = 0;
};

// Go-back-N in both captures: the sender learns of a loss some time after it and goes back. The
// network holds packets for so long that up to some ten overtake them, yet less than a round trip.
// `alike`: retransmissions are the same bytes. Cases that captures cannot distinguish are left out
// then: a packet is held or copied only when it is sent for the first time, and held for less time
// than passes to its retransmission.
class Network {
public:
  Network(uint64_t seed, bool alike) : random_(seed), alike_(alike) {}

  void run(uint32_t packets) {
    std::map<uint32_t, double> free_at;
    double now = 100;
    for (uint32_t qp = 0x20; qp < 0x23; qp++)
      next_[qp] = draw(0xffffff);
    while (packets--) {
      now += 0.5 + draw(20) / 10.0;
      const uint32_t qp = 0x20 + draw(2);
      // A round trip after a loss, the sender goes back to it.
      if (back_.contains(qp) && now > back_[qp].first) {
        next_[qp] = back_[qp].second;
        back_.erase(qp);
      }
      transmit(now, qp, next_[qp]);
      next_[qp] = (next_[qp] + 1) & 0xffffff;
    }
    // Other frames before and after: both captures cover the whole time.
    for (const double at : {0.0, now + 100'000}) {
      a.see(at, send(static_cast<uint32_t>(at)).qp(0x99));
      b.see(at + 5, send(static_cast<uint32_t>(at)).qp(0x99));
    }
    count_reordered();
  }

  Tap a, b;
  std::map<uint32_t, Truth> truth;

private:
  static constexpr double kRoundTrip = 60, kDelay = 5; // us

  uint32_t draw(uint32_t most) { return std::uniform_int_distribution<uint32_t>(0, most)(random_); }
  bool chance(uint32_t percent) { return draw(99) < percent; }

  void transmit(double at, uint32_t qp, uint32_t psn) {
    Truth &truth = this->truth[qp];
    const int transmission = ++transmissions_[{qp, psn}];
    const auto content = alike_ ? uint8_t{0} : static_cast<uint8_t>(transmission);
    const bool plain = alike_ && transmission > 1;
    a.see(at, send(psn, content).qp(qp));
    const uint64_t order = truth.sent++;
    if (chance(3)) {
      truth.lost++;
      if (!back_.contains(qp))
        back_[qp] = {at + kRoundTrip, psn};
      return;
    }
    const bool ce = chance(10), bad = chance(2);
    Bytes bytes = bytes_of(send(psn, content).qp(qp).ecn(ce ? 3 : 2));
    if (bad)
      bytes[70] ^= 0x55;
    truth.ce += ce;
    truth.corrupted += bad;
    const double arrival =
        at + kDelay + draw(100) / 1000.0 + (chance(5) && !plain ? draw(alike_ ? 4 : 30) : 0);
    b.see(arrival, bytes);
    arrivals_[qp].push_back({arrival, order});
    if (chance(2) && !plain) {
      b.see(arrival + 0.3, bytes);
      truth.duplicated++;
    }
  }

  // RFC 4737: it arrives after one that was sent later. The times are unlikely to be equal.
  void count_reordered() {
    for (auto &[qp, list] : arrivals_) {
      std::stable_sort(list.begin(), list.end(),
                       [](const auto &x, const auto &y) { return x.first < y.first; });
      uint64_t highest = 0;
      for (const auto &[at, order] : list) {
        truth[qp].reordered += order < highest;
        highest = std::max(highest, order);
      }
    }
  }

  std::mt19937_64 random_;
  bool alike_;
  std::map<uint32_t, uint32_t> next_;
  std::map<uint32_t, std::pair<double, uint32_t>> back_;
  std::map<std::pair<uint32_t, uint32_t>, int> transmissions_;
  std::map<uint32_t, std::vector<std::pair<double, uint64_t>>> arrivals_;
};

void check(uint64_t seed, bool alike) {
  SCOPED_TRACE(fmt::format("XR_SEED={} {}", seed, alike ? "alike" : "distinct"));
  Network network(seed, alike);
  network.run(4000);
  const Comparison c = compared(network.a, network.b);
  size_t streams = 0;
  for (const ComparedStream &row : c.streams) {
    const uint32_t qp = roce_key_qp(&row.key);
    if (qp == 0x99)
      continue;
    streams++;
    const Truth &truth = network.truth[qp];
    const ComparedCounts &n = row.counts;
    EXPECT_EQ(n.seen_from, truth.sent);
    EXPECT_EQ(n.lost, truth.lost);
    EXPECT_EQ(n.matched, truth.sent - truth.lost);
    EXPECT_EQ(n.duplicated, truth.duplicated);
    EXPECT_EQ(n.ce, truth.ce);
    EXPECT_EQ(n.corrupted, truth.corrupted);
    EXPECT_EQ(n.only_to + n.outside_from + n.outside_to, 0u);
    EXPECT_EQ(n.reordered, truth.reordered);
    EXPECT_GE(row.latency.min, 5000);
    EXPECT_LE(row.latency.max, 35'200);
  }
  EXPECT_EQ(streams, network.truth.size());
}

TEST(CompareRandom, TransmissionsToldApart) {
  for (uint64_t seed = seed_of(1); seed < seed_of(1) + 8; seed++)
    check(seed, false);
}

TEST(CompareRandom, TransmissionsAlike) {
  for (uint64_t seed = seed_of(101); seed < seed_of(101) + 8; seed++)
    check(seed, true);
}

// All ways to match without crossing, tried one by one: the most matches, and of these the least
// sum of differences.
struct Best {
  size_t matches = 0;
  double difference = 0;
};
Best try_all(const compare::Candidates &a, const compare::Candidates &b, size_t i, size_t j) {
  if (i == a.count || j == b.count)
    return {};
  Best best = try_all(a, b, i + 1, j); // i is left out
  for (size_t k = j; k < b.count; k++) {
    Best with = try_all(a, b, i + 1, k + 1);
    with.matches++;
    with.difference += std::abs(static_cast<double>(b.at[k].time_ns - a.at[i].time_ns));
    if (with.matches > best.matches ||
        (with.matches == best.matches && with.difference < best.difference))
      best = with;
  }
  return best;
}

TEST(CompareRandom, AssignmentIsTheBestOfAll) {
  std::mt19937_64 random(seed_of(7));
  for (int round = 0; round < 2000; round++) {
    compare::Candidates sides[2];
    for (compare::Candidates &side : sides) {
      side.count = 1 + random() % 6;
      int64_t at = 0;
      for (size_t i = 0; i < side.count; i++)
        side.at[i] = {.time_ns = at += static_cast<int64_t>(random() % 1'000'000),
                      .earliest_ns = INT64_MIN / 4};
    }
    const auto result = compare::assign(sides[0], sides[1], INT64_MAX);
    Best got;
    int last = -1;
    for (size_t i = 0; i < sides[0].count; i++) {
      const int j = result.of_first[i];
      if (j < 0)
        continue;
      ASSERT_GT(j, last) << "round " << round;
      ASSERT_EQ(result.of_second[static_cast<size_t>(j)], static_cast<int>(i));
      last = j;
      got.matches++;
      got.difference += std::abs(static_cast<double>(sides[1].at[static_cast<size_t>(j)].time_ns -
                                                     sides[0].at[i].time_ns));
    }
    const Best best = try_all(sides[0], sides[1], 0, 0);
    EXPECT_EQ(got.matches, best.matches) << "round " << round;
    // With more arrivals than transmissions the first are taken.
    if (sides[1].count <= sides[0].count) {
      EXPECT_NEAR(got.difference, best.difference, 1) << "round " << round;
    }
  }
}

} // namespace
} // namespace xr::test::compare_random_test
