// SPDX-License-Identifier: Apache-2.0
// Random streams through include/roce and through the reference tracker, compared after every
// packet. XR_SEED=n runs one seed, XR_SEEDS=n that many.
#include <cstdlib>

#include <gtest/gtest.h>

#include "sanitized.h"
#include "traffic.h"

namespace xr::test::random_test {
namespace {

constexpr uint64_t kSeeds = kSanitized ? 100 : 400;

uint64_t number(const char *variable, uint64_t otherwise) {
  const char *text = getenv(variable);
  return text ? strtoull(text, nullptr, 0) : otherwise;
}

uint32_t code_of(uint32_t pmtu) { return roce_pmtu_code(pmtu); }

// What RDMA CM says before some of the streams; the others learn their PMTU as they go.
void announce(Tracked &tracked, const Profile &profile) {
  const uint8_t opcode = static_cast<uint8_t>(profile.transport | ROCE_RC_SEND_ONLY);
  roce_packet p = parse(FrameBuilder(opcode).build()).packet;
  const uint32_t id = roce_stream_of(&tracked.env, &p);
  ASSERT_EQ(id, 0u);
  roce_stream_announce(&tracked.stream(), profile.first_psn, code_of(profile.pmtu));
  tracked.reference.announce(profile.first_psn, profile.pmtu);
}

struct Totals {
  Counts sum;
  void add(const Counts &c) {
    sum.packets += c.packets;
    sum.gaps += c.gaps;
    sum.filled += c.filled;
    sum.duplicates += c.duplicates;
    sum.rewinds += c.rewinds;
    sum.reordered += c.reordered;
    sum.resyncs += c.resyncs;
    sum.holes_forgotten += c.holes_forgotten;
  }
};

void one_seed(uint64_t seed, Totals &totals) {
  std::mt19937_64 rng(seed);
  const Profile profile = random_profile(rng);
  const std::vector<Sent> traffic = random_traffic(rng, profile);
  Tracked tracked;
  if (!profile.responses && rng() % 2)
    announce(tracked, profile);
  if (testing::Test::HasFatalFailure())
    return;
  for (size_t i = 0; i < traffic.size(); i++) {
    const auto &[step, ecn] = traffic[i];
    const Frame frame = frame_of(step, 0, ecn);
    feed(tracked.env, frame);
    tracked.reference.packet(seen_of(step, frame, 0, ecn));
    const roce_stream &s = tracked.stream();
    const Reference &want = tracked.reference;
    if (counts_of(s) == want.counts() && (s.word & ROCE_WORD_PSN) == want.expected() &&
        roce_stream_bytes(&s) == want.bytes() && s.first_psn == want.first_psn())
      continue;
    SCOPED_TRACE(testing::Message() << "XR_SEED=" << seed << ", packet " << i << ", opcode "
                                    << int(step.opcode) << ", PSN " << step.psn);
    ASSERT_EQ(counts_of(s), want.counts());
    ASSERT_EQ(s.word & ROCE_WORD_PSN, want.expected());
    ASSERT_EQ(roce_stream_bytes(&s), want.bytes());
    ASSERT_EQ(s.first_psn, want.first_psn());
  }
  ASSERT_EQ(tracked.table.used(), 1u);
  totals.add(tracked.reference.counts());
}

TEST(Random, StreamsAgreeWithTheReference) {
  Totals totals;
  const uint64_t only = number("XR_SEED", 0), count = number("XR_SEEDS", kSeeds);
  for (uint64_t seed = only ? only : 1; seed <= (only ? only : count); seed++) {
    one_seed(seed, totals);
    if (HasFatalFailure())
      return;
  }
  if (only)
    return;
  // Seeds that meet nothing would prove nothing.
  const Counts &c = totals.sum;
  EXPECT_GT(c.packets, 1000 * count);
  for (uint64_t met : {c.gaps, c.filled, c.duplicates, c.rewinds, c.reordered, c.holes_forgotten})
    EXPECT_GT(met, count);
  EXPECT_GT(c.resyncs, count / 10);
}

} // namespace
} // namespace xr::test::random_test
