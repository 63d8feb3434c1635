// SPDX-License-Identifier: Apache-2.0
// Which go-backs a timer caused, although something had asked for them (model/episodes.h).
#include <gtest/gtest.h>

#include "model/episode_times.h"
#include "model/episodes.h"

namespace xr::reactions_test {
namespace {

constexpr uint64_t kUs = 1000, kMs = 1'000'000, kStart = 1'000'000'000;

struct Made {
  Episodes found;

  // An episode of pair `request` that something asks for at its begin; sent again `ns` later.
  roce_episode &asked(roce_cause cause, uint64_t ns, uint32_t request = 1) {
    roce_episode &e = found.episodes.emplace_back().episode;
    const uint64_t at = kStart + found.episodes.size() * 10'000 * kMs;
    e.cause = cause;
    e.request = request;
    e.last_sent_ns = at - 10 * kUs;
    if (cause == ROCE_CAUSE_READ) {
      e.seen_ns = at;
      e.reread_ns = at + ns;
    } else {
      e.nak_ns = at;
      e.resent_ns = at + ns;
    }
    return e;
  }
  void timeout(uint64_t ns, uint32_t request = 1) {
    roce_episode &e = asked(ROCE_CAUSE_TIMEOUT, ns, request);
    e.last_sent_ns = e.nak_ns;
    e.nak_ns = 0;
  }
  std::vector<bool> by_timer() {
    finish_found(found);
    std::vector<bool> all;
    for (const EpisodeRow &row : found.episodes)
      all.push_back(row.by_timer);
    return all;
  }
};

using Timers = std::vector<bool>;

TEST(Reactions, ShortOnesAreReactions) {
  Made made;
  for (const uint64_t us : {5, 20, 800, 3'000})
    made.asked(ROCE_CAUSE_NAK, us * kUs);
  EXPECT_EQ(made.by_timer(), (Timers{false, false, false, false}));
  EXPECT_EQ(episode_times(made.found.episodes[0].episode).nak_reaction, 5 * kUs);
}

// Like Soft-RoCE's requester, whose timer is 4.096 us x 2^18: 1.095 s after a NAK that was lost
// after the tap.
TEST(Reactions, AStepOfTheTimersLadder) {
  Made made;
  made.asked(ROCE_CAUSE_NAK, 1'095'247 * kUs);
  made.asked(ROCE_CAUSE_NAK, 300 * kUs);
  EXPECT_EQ(made.by_timer(), (Timers{true, false}));
  const EpisodeRow &row = made.found.episodes[0];
  EXPECT_FALSE(episode_times(row.episode, row.by_timer).nak_reaction);
  EXPECT_EQ(episode_times(row.episode, row.by_timer).timeout, 1'095'257 * kUs);
  Made smaller;
  smaller.asked(ROCE_CAUSE_NAK, 67'500 * kUs); // 4.096 us x 2^14
  smaller.asked(ROCE_CAUSE_NAK, 80'000 * kUs); // no step
  EXPECT_EQ(smaller.by_timer(), (Timers{true, false}));
}

TEST(Reactions, LongerThanThePairsTimer) {
  Made made;
  made.timeout(9 * kMs);
  made.asked(ROCE_CAUSE_NAK, 9 * kMs);
  made.asked(ROCE_CAUSE_NAK, 5 * kMs);
  made.asked(ROCE_CAUSE_NAK, 9 * kMs, 2); // another pair's
  EXPECT_EQ(made.by_timer(), (Timers{false, true, false, false}));
}

TEST(Reactions, FarOutsideThePairsOthers) {
  Made made;
  for (const uint64_t us : {10, 12, 14, 13, 11})
    made.asked(ROCE_CAUSE_NAK, us * kUs);
  made.asked(ROCE_CAUSE_NAK, 6 * kMs);
  made.asked(ROCE_CAUSE_NAK, 2 * kMs); // shorter than timers of RNICs
  EXPECT_EQ(made.by_timer(), (Timers{false, false, false, false, false, true, false}));
}

TEST(Reactions, Reads) {
  Made made;
  made.asked(ROCE_CAUSE_READ, 540 * kMs);
  made.asked(ROCE_CAUSE_READ, 100 * kUs);
  EXPECT_EQ(made.by_timer(), (Timers{true, false}));
}

// What an RNR NAK demands is no timer: code 14 is 1.28 ms, 1 is 10 us, 0 is 655 ms.
TEST(Reactions, RnrNaks) {
  Made made;
  made.asked(ROCE_CAUSE_RNR, 1'100 * kUs).rnr_timer = 14 + 1;
  made.asked(ROCE_CAUSE_RNR, 656 * kMs).rnr_timer = 0 + 1;
  made.asked(ROCE_CAUSE_RNR, 1'075 * kMs).rnr_timer = 1 + 1;
  EXPECT_EQ(made.by_timer(), (Timers{false, false, true}));
}

TEST(Unanswered, SentAgainAndAgain) {
  Made made;
  PairRow &pair = made.found.pairs.emplace_back();
  pair.name.key.qp_kind = 0x19;
  pair.requests = 16;
  pair.oldest_psn = 7;
  pair.unanswered = 4;
  for (int i = 0; i < 3; i++) {
    made.asked(ROCE_CAUSE_UNKNOWN, 70 * kMs).resent_packets = 4;
    made.found.episodes.back().episode.first_missing = 7;
    made.found.episodes.back().name = pair.name;
  }
  ASSERT_EQ(unanswered(made.found).size(), 1u);
  const UnansweredRow row = unanswered(made.found)[0];
  EXPECT_TRUE(row.silent);
  EXPECT_EQ(row.packets, 4u);
  EXPECT_EQ(row.times, 4u);
  pair.requests = 500; // one direction of a connection that works
  EXPECT_TRUE(unanswered(made.found).empty());
  pair.answers = true; // but these never
  EXPECT_EQ(unanswered(made.found).size(), 1u);
  EXPECT_FALSE(unanswered(made.found)[0].silent);
  pair.unanswered = 0;
  EXPECT_TRUE(unanswered(made.found).empty());
}

} // namespace
} // namespace xr::reactions_test
