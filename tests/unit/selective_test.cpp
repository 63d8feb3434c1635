// SPDX-License-Identifier: Apache-2.0
// Selective repeat and go-back-N: how many packets are sent again for those that are lost.
#include "conversation.h"
#include "requester/place_set.h"

namespace xr::requester::selective_test {
namespace {

using packet::Verb;

TEST_F(OneQp, GoBackNRepeatsARoundTripOfPackets) {
  Network network({}, 1);
  const std::set<Lost> lost = every(400, 1999, true);
  network.lose(lost);
  talk(network, false);
  EXPECT_EQ(network.lost(), lost.size());
  EXPECT_EQ(sent_.naks, lost.size());
  EXPECT_EQ(sent_.timeouts, 0U);
  EXPECT_EQ(sent_.retransmitted, network.behind_naks());
  // From a packet's slot to the NAK of the next packet: there and back, and a slot or two.
  const uint64_t round = 2 * kDelayNs / kSlotNs;
  EXPECT_GE(sent_.retransmitted, lost.size() * round);
  EXPECT_LE(sent_.retransmitted, lost.size() * (round + 4));
  EXPECT_EQ(seen_.kept, 0U);
}

TEST_F(OneQp, SelectiveRepeatsWhatWasLost) {
  for (const Verb verb : {Verb::Send, Verb::Write, Verb::SendImmediate}) {
    Network network({}, 1);
    const std::set<Lost> lost = every(80, 1999, true); // in each round trip another
    network.lose(lost);
    flow_.verb = verb;
    talk(network, true);
    EXPECT_EQ(network.lost(), lost.size());
    EXPECT_EQ(sent_.retransmitted, lost.size());
    EXPECT_EQ(sent_.naks, lost.size());
    EXPECT_EQ(sent_.timeouts, 0U);
    EXPECT_EQ(seen_.in_order, 2000U);
    EXPECT_EQ(seen_.duplicates, 0U);
    EXPECT_EQ(seen_.message_bytes, 100U * 20 * 1024);
    EXPECT_GT(seen_.kept, lost.size());
    EXPECT_EQ(seen_.kept, seen_.out_of_order);
    EXPECT_EQ(seen_.kept_no_room, 0U);
    EXPECT_GE(took_, sent_.packets * kSlotNs); // what is sent again has its place in the rate
  }
}

// Also what is sent again gets lost. Each packet is acknowledged on its own, so that the requester
// knows at a timeout what arrived.
TEST_F(OneQp, SelectiveRepeatsWhatIsLostAtRandom) {
  flow_.ack_every = 1;
  reliability_.window = 256; // fewer than a responder keeps
  for (uint64_t seed = 1; seed <= 5; seed++) {
    Network network({.request_loss = 0.05}, seed);
    talk(network, true);
    EXPECT_GT(network.lost(), 70U);
    EXPECT_EQ(seen_.kept_no_room, 0U);
    EXPECT_GT(sent_.timeouts, 0U);
    EXPECT_EQ(sent_.retransmitted, network.lost());
    EXPECT_EQ(seen_.duplicates, 0U);
  }
}

TEST_F(OneQp, SelectiveAsksForLostAnswers) {
  flow_.verb = Verb::Read;
  Network network({}, 1);
  std::set<Lost> lost = every(7, 1990, false);
  const size_t runs = lost.size();
  for (const uint32_t next : {8U, 9U, 50U}) // longer runs: one request for each
    lost.insert({false, roce_psn_add(kFirst, next)});
  network.lose(lost);
  talk(network, true);
  EXPECT_EQ(network.lost(), lost.size());
  EXPECT_EQ(sent_.retransmitted, runs);
  EXPECT_EQ(sent_.read_responses, 2000U);
  EXPECT_EQ(seen_.read_responses, 2000U + lost.size());
  EXPECT_EQ(sent_.timeouts, 0U);
  EXPECT_GT(sent_.kept, 0U);
  EXPECT_EQ(sent_.kept_no_room, 0U);
  EXPECT_EQ(sent_.duplicate_acks, 0U);
  EXPECT_EQ(sent_.message_bytes, 100U * 20 * 1024);
}

TEST_F(OneQp, SelectiveAsksForLostReads) {
  flow_.verb = Verb::Read;
  flow_.size.parts = {{.bytes = 3000}}; // 3 PSNs
  Network network({}, 1);
  const std::set<Lost> lost = every(12, 290, true);
  network.lose(lost);
  talk(network, true);
  EXPECT_EQ(network.lost(), lost.size());
  EXPECT_EQ(sent_.retransmitted, lost.size());
  EXPECT_EQ(sent_.read_responses, 300U);
  EXPECT_EQ(seen_.duplicates, 0U);
  EXPECT_GT(seen_.kept, 0U);
}

TEST_F(OneQp, SelectiveExecutesAtomicsOnce) {
  flow_.verb = Verb::FetchAdd;
  flow_.size.parts = {{.bytes = 8}};
  Network network({}, 1);
  std::set<Lost> lost = every(5, 95, true); // the request; the answer of others
  for (const Lost &answer : every(7, 95, false))
    if (!lost.contains({true, answer.psn})) // a NAK has its packet's PSN
      lost.insert(answer);
  network.lose(lost);
  talk(network, true);
  EXPECT_EQ(network.lost(), lost.size());
  EXPECT_EQ(sent_.retransmitted, lost.size());
  EXPECT_EQ(seen_.in_order, 100U);
  ASSERT_EQ(network.originals().size(), 1U);
  EXPECT_EQ(network.originals().begin()->second, 99U);
}

// The last packets are lost: no packet comes after them that would show it.
TEST_F(OneQp, SelectiveFindsALostTailAfterATimeout) {
  flow_.messages = 1;
  Network network({}, 1);
  network.lose({{true, roce_psn_add(kFirst, 15)},
                {true, roce_psn_add(kFirst, 16)},
                {true, roce_psn_add(kFirst, 17)},
                {true, roce_psn_add(kFirst, 18)},
                {true, roce_psn_add(kFirst, 19)}});
  talk(network, true);
  EXPECT_EQ(sent_.timeouts, 1U);
  EXPECT_EQ(sent_.retransmitted, 6U); // the oldest one, to get an ACK, and the five
  EXPECT_EQ(seen_.duplicates, 1U);
}

// More packets after a missing one than a responder keeps.
TEST_F(OneQp, SelectiveCountsWhatIsNotKept) {
  flow_.size.parts = {{.bytes = 1024}};
  flow_.messages = 3000;
  flow_.pacing.rate.value *= 40;
  Network network({}, 1);
  network.lose({{true, roce_psn_add(kFirst, 10)}});
  talk(network, true);
  EXPECT_EQ(seen_.kept_no_room, 3000U - 11 - 1024);
  EXPECT_EQ(seen_.in_order, 3000U);
  EXPECT_EQ(sent_.retransmitted, 1 + seen_.kept_no_room);
}

TEST(PlaceSet, KeepsRuns) {
  PlaceSet set;
  using Added = PlaceSet::Added;
  for (const uint64_t place : {5, 6, 9, 8, 2})
    EXPECT_EQ(set.add(place), Added::New);
  EXPECT_EQ(set.add(6), Added::Known);
  EXPECT_EQ(set.missing(0, 20).end, 2U);
  EXPECT_EQ(set.missing(5, 20).first, 7U);
  EXPECT_EQ(set.missing(5, 20).end, 8U);
  EXPECT_EQ(set.add(7), Added::New); // joins two runs
  EXPECT_EQ(set.missing(5, 20).first, 10U);
  EXPECT_EQ(set.missing(5, 20).end, 20U);
  EXPECT_EQ(set.missing(5, 10).first, set.missing(5, 10).end);
  EXPECT_EQ(set.take_until(1), 1U);
  EXPECT_EQ(set.take_until(2), 3U);
  EXPECT_EQ(set.take_until(6), 10U);
  EXPECT_TRUE(set.empty());
  for (uint64_t place = 0; place < 2 * PlaceSet::kMostRuns; place += 2)
    EXPECT_EQ(set.add(place), Added::New);
  EXPECT_EQ(set.add(2 * PlaceSet::kMostRuns + 1), Added::NoRoom);
  EXPECT_EQ(set.add(1), Added::New);
}

} // namespace
} // namespace xr::requester::selective_test
