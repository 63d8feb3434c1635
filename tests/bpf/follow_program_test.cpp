// SPDX-License-Identifier: Apache-2.0
// Following and timing QP pairs in the kernel: real captures through the program, a frame a call,
// and what it found compared with the native compilation over the same frames.
#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <thread>

#include "bpf/impair_twins.h"
#include "unit/episode_frames.h"

namespace xr::test {
namespace {

// Both sides see pauses longer than this between any two frames, so that no clock decides whether a
// packet was sent again by a timer or is a copy (ROCE_COPY_NS).
constexpr uint64_t kPauseNs = 150'000;

template <typename T> std::vector<T> array_of(const bpf_map *map) {
  std::vector<T> values(bpf_map__max_entries(map));
  for (uint32_t i = 0; i < values.size(); i++)
    EXPECT_EQ(0, bpf_map__lookup_elem(map, &i, sizeof(i), &values[i], sizeof(T), 0));
  return values;
}

// The first `most` frames, further apart.
TakenFrames cut(TakenFrames frames, size_t most) {
  frames.resize(std::min(frames.size(), most));
  for (size_t i = 0; i < frames.size(); i++)
    frames[i].ns = 1'000'000'000 + i * 2 * kPauseNs;
  return frames;
}

struct Found {
  std::vector<roce_episode> episodes;
  std::vector<roce_finding> findings;
  std::map<uint32_t, roce_follow> pairs; // by QPN of the requests
  std::map<uint32_t, uint64_t> times;    // how many, by series
  uint64_t ambiguous = 0, unanswered = 0, broken = 0;
};

Found in_kernel(Twins &twins, const TakenFrames &frames) {
  for (const Taken &frame : frames) {
    Bytes bytes = frame.bytes;
    EXPECT_EQ(static_cast<uint32_t>(XDP_PASS), twins.in_kernel(bytes));
    std::this_thread::sleep_for(std::chrono::nanoseconds(kPauseNs));
  }
  const auto &maps = twins.skeleton()->maps;
  Found found;
  for (const auto &slot : array_of<roce_found_episode>(maps.episodes))
    if (slot.name.number)
      found.episodes.push_back(slot.episode);
  for (const auto &slot : array_of<roce_found_finding>(maps.findings))
    if (slot.name.number)
      found.findings.push_back(slot.finding);
  std::vector<roce_follow> pairs = array_of<roce_follow>(maps.follows);
  pairs.resize(array_of<roce_shared>(maps.shared)[0].follows_used);
  for (const roce_follow &pair : pairs) {
    EXPECT_EQ(pair.lock, 0u);
    if (pair.flags & ROCE_FOLLOW_OPEN)
      found.episodes.push_back(pair.open);
    found.pairs[roce_key_qp(&pair.key)] = pair;
  }
  std::ranges::stable_sort(found.episodes, {}, episode_start);
  const auto times = array_of<roce_pair_times>(maps.pair_times);
  for (uint32_t i = 0; i < times.size(); i++)
    if (times[i].sum.count)
      found.times[i % ROCE_TIME_SERIES] += times[i].sum.count;
  for (const roce_timing &pair : array_of<roce_timing>(maps.timings)) {
    EXPECT_EQ(pair.lock, 0u);
    found.ambiguous += pair.ambiguous;
    found.unanswered += pair.unanswered;
    found.broken += pair.broken;
  }
  return found;
}

void expect_same(const Episodes &native, const Found &kernel) {
  std::vector<roce_episode> episodes;
  for (const EpisodeRow &row : native.episodes)
    episodes.push_back(row.episode);
  EXPECT_EQ(texts(episodes), texts(kernel.episodes));
  std::vector<std::string> findings, of_kernel = texts(kernel.findings);
  for (const FindingRow &row : native.findings)
    if (row.finding.type != ROCE_FINDING_CE_WITHOUT_CNP) // found when all is over
      findings.push_back(text(row.finding));
  std::ranges::sort(findings);
  std::ranges::sort(of_kernel);
  EXPECT_EQ(findings, of_kernel);
  ASSERT_EQ(native.pairs.size(), kernel.pairs.size());
  for (const PairRow &row : native.pairs) {
    const auto at = kernel.pairs.find(roce_key_qp(&row.name.key));
    ASSERT_NE(at, kernel.pairs.end());
    const roce_follow_sums &sum = at->second.sum;
    EXPECT_EQ(row.requests, at->second.requests);
    EXPECT_EQ(row.acks, sum.acks);
    EXPECT_EQ(row.acked_psns, sum.acked_psns);
    EXPECT_EQ(row.naks, sum.naks);
    EXPECT_EQ(row.go_backs, sum.go_backs);
    EXPECT_EQ(row.selective, sum.selective);
    EXPECT_EQ(row.msn_unchecked, sum.msn_unchecked);
    EXPECT_EQ(row.ce, sum.ce);
    EXPECT_EQ(row.cnps, sum.cnps);
    EXPECT_EQ(row.cnp_ns != 0, sum.cnp_least_ns != 0);
    EXPECT_TRUE(std::equal(std::begin(row.causes), std::end(row.causes), std::begin(sum.causes)));
  }
}

void expect_same(const PassiveLatency &native, const Found &kernel) {
  std::map<uint32_t, uint64_t> times;
  for (const PassiveTimes &one : native.port)
    times[ROCE_TIME_SERIES_OF(one.kind, one.bound)] = one.count;
  EXPECT_EQ(times, kernel.times);
  EXPECT_EQ(native.ambiguous, kernel.ambiguous);
  EXPECT_EQ(native.unanswered, kernel.unanswered);
  EXPECT_EQ(native.broken, kernel.broken);
}

void expect_same(const Analysis &native, const Found &kernel) {
  expect_same(native.episodes, kernel);
  expect_same(native.passive, kernel);
}

struct Capture {
  const char *name;
  size_t frames;
  roce_cause has; // an episode of this cause, or ROCE_CAUSES
};

std::ostream &operator<<(std::ostream &out, const Capture &capture) { return out << capture.name; }

class Follow : public testing::TestWithParam<Capture> {};

TEST_P(Follow, FindsWhatTheNativeOneFinds) {
  Twins twins(kLikeAPort);
  LOAD_OR_SKIP(twins);
  const TakenFrames frames = cut(read_frames(GetParam().name), GetParam().frames);
  const Analysis native = analyze_like_a_port(frames);
  if (GetParam().has < ROCE_CAUSES) {
    EXPECT_GT(count(native.episodes, GetParam().has), 0u);
  }
  EXPECT_FALSE(native.passive.port.empty());
  expect_same(native, in_kernel(twins, frames));
}

INSTANTIATE_TEST_SUITE_P(Captures, Follow,
                         testing::Values(Capture{"loss_rc_send_v4", 700, ROCE_CAUSE_NAK},
                                         Capture{"loss_rc_read_v4", 700, ROCE_CAUSE_READ},
                                         Capture{"loss2_rc_atomic_v4", 700, ROCE_CAUSE_READ},
                                         Capture{"loss2_rc_psnwrap_v4", 700, ROCE_CAUSE_NAK},
                                         Capture{"dup_rc_atomic_v4", 300, ROCE_CAUSES},
                                         Capture{"rnr_rc_send_t12_v4", 167, ROCE_CAUSE_RNR},
                                         Capture{"rnr_rc_write_imm_t20_v6", 162, ROCE_CAUSE_RNR},
                                         Capture{"rping_v4", 200, ROCE_CAUSES},
                                         Capture{"rc_atomic_faa_v6", 200, ROCE_CAUSES}),
                         [](const auto &info) { return std::string(info.param.name); });

// Frames lost, repeated and exchanged, other PSNs and syndromes.
TEST(FollowAny, FindsWhatTheNativeOneFinds) {
  Twins twins(kLikeAPort);
  LOAD_OR_SKIP(twins);
  std::mt19937 random(1);
  TakenFrames frames = read_frames("loss2_rc_atomic_v4");
  frames.resize(std::min<size_t>(frames.size(), 500));
  for (int i = 0; i < 80; i++) {
    Taken &frame = frames[random() % frames.size()];
    switch (random() % 4) {
    case 0:
      std::swap(frame, frames[random() % frames.size()]);
      break;
    case 1:
      frame.put_psn(frame.psn() + random() % 64 - 32);
      break;
    case 2:
      if (frame.is_ack())
        frame.put_syndrome(static_cast<uint8_t>(random()));
      break;
    default:
      frame = Taken(frames[random() % frames.size()]);
    }
  }
  frames = cut(std::move(frames), frames.size());
  expect_same(analyze_like_a_port(frames), in_kernel(twins, frames));
}

// Payloads that differ, where the program takes packets in order by its short way.
TEST(FollowPmtu, FindsWhatTheNativeOneFinds) {
  constexpr uint32_t kFollow = ROCE_FEATURE_FOLLOW | ROCE_FEATURE_SKIP;
  Twins twins(kFollow);
  LOAD_OR_SKIP(twins);
  TakenFrames frames = cut(read_frames("rc_send_mtu256_v4"), 300);
  size_t place = 40;
  for (const auto &[part, length] : {std::pair(ROCE_OP_MIDDLE, 252u),
                                     {ROCE_OP_LAST, 260u},
                                     {ROCE_OP_FIRST, 128u},
                                     {ROCE_OP_LAST, 8u}}) {
    place = find_frame(
        frames, [wanted = part](const Taken &f) { return (f.packet.info & wanted) != 0; },
        place + 1);
    frames[place].put_payload(length);
  }
  const Episodes native = analyze_like_a_port(frames, kFollow).episodes;
  EXPECT_EQ(std::ranges::count(native.findings, ROCE_FINDING_PMTU,
                               [](const FindingRow &row) { return row.finding.type; }),
            3);
  expect_same(native, in_kernel(twins, frames));
}

// Requests of the other side, UC, to the QP that a CNP slows down: they may be answered by it, but
// are not followed. The CNPs' least distance is measured.
TEST(FollowCnp, NamesThePairOfTheOtherDirection) {
  Twins twins(kLikeAPort);
  LOAD_OR_SKIP(twins);
  TakenFrames frames = read_frames("rc_write_ect_v4");
  const size_t ack = find_frame(frames, is_plain_ack);
  const uint32_t qp = roce_key_qp(&frames[ack].packet.key);
  const size_t request = find_frame(
      frames, [](const Taken &f) { return f.is_request(); }, ack);
  Taken uc = frames[ack];
  uc.bytes[uc.packet.bth] = ROCE_UC | 0x04; // SEND ONLY
  insert(frames, request + 1, uc);
  for (const size_t place : {2, 6, 9})
    insert(frames, request + place, cnp_to(frames[request], qp));
  frames = cut(std::move(frames), request + 20);
  const Analysis native = analyze_like_a_port(frames);
  ASSERT_EQ(native.episodes.pairs.size(), 2u);
  EXPECT_EQ(native.episodes.findings.size(), 1u);
  const Found kernel = in_kernel(twins, frames);
  expect_same(native, kernel);
  const auto slowed = std::ranges::find(native.episodes.pairs, 3u, &PairRow::cnps);
  ASSERT_NE(slowed, native.episodes.pairs.end());
  EXPECT_EQ(slowed->cnp_ns, 3 * 2 * kPauseNs);
  EXPECT_GE(kernel.pairs.at(roce_key_qp(&slowed->name.key)).sum.cnp_least_ns, 3 * kPauseNs);
}

} // namespace
} // namespace xr::test
