// SPDX-License-Identifier: Apache-2.0
// A port skips packets in order (include/roce/skip.h): it finds what following every packet finds,
// but for when a skipped packet passed.
#include <map>
#include <random>

#include <fmt/format.h>

#include "episode_frames.h"

namespace xr::test::follow_skips_test {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint32_t kEveryPacket = ROCE_FEATURE_FOLLOW | ROCE_FEATURE_TIME;

std::vector<std::string> without_last_sent(Episodes &of) {
  std::vector<std::string> lines;
  for (EpisodeRow &row : of.episodes) {
    row.episode.last_sent_ns = 0;
    lines.push_back(text(row.episode));
  }
  return lines;
}

std::vector<std::string> findings(const Episodes &of) {
  std::vector<std::string> lines;
  for (const FindingRow &row : of.findings)
    lines.push_back(text(row.finding));
  return lines;
}

std::vector<std::string> pairs(const Episodes &of) {
  std::vector<std::string> lines;
  for (const PairRow &row : of.pairs)
    lines.push_back(fmt::format("requests {} acks {} psns {} naks {} back {} selective {} "
                                "timers {} {} causes {} unchecked {} ce {} {} cnps {}",
                                row.requests, row.acks, row.acked_psns, row.naks, row.go_backs,
                                row.selective, row.timers_grown, row.timers_fixed,
                                fmt::join(row.causes, " "), row.msn_unchecked, row.ce,
                                row.answers_ce, row.cnps));
  return lines;
}

std::vector<std::string> times(const PassiveLatency &of) {
  std::vector<std::string> lines;
  for (const PassiveTimes &one : of.port)
    if (one.kind != ROCE_LATENCY_FALL) // takes the time of every packet
      lines.push_back(
          fmt::format("{} {}: {} from {} to {}", one.kind, one.bound, one.count, one.min, one.max));
  lines.push_back(
      fmt::format("ambiguous {} unanswered {} broken {}", of.ambiguous, of.unanswered, of.broken));
  return lines;
}

// Episodes before whose first resent packet one was skipped.
size_t expect_same(const TakenFrames &frames) {
  Analysis every = analyze_like_a_port(frames, kEveryPacket), port = analyze_like_a_port(frames);
  size_t unknown = 0;
  for (const EpisodeRow &row : port.episodes.episodes)
    unknown += !row.episode.last_sent_ns;
  EXPECT_EQ(without_last_sent(every.episodes), without_last_sent(port.episodes));
  EXPECT_EQ(findings(every.episodes), findings(port.episodes));
  EXPECT_EQ(pairs(every.episodes), pairs(port.episodes));
  EXPECT_EQ(times(every.passive), times(port.passive));
  return unknown;
}

TEST(FollowSkips, OfRealCaptures) {
  for (const char *name : {"loss_rc_send_v4",
                           "loss2_rc_psnwrap_v4",
                           "loss_rc_read_v4",
                           "loss2_rc_atomic_v4",
                           "corrupt_rc_send_v4",
                           "wire_m1500_drop100_vb_drv_rq-tb",
                           "wire_m1500_drop100_vb_drv_rq-va",
                           "dup_rc_atomic_v4",
                           "dup_rc_read_v4",
                           "m4200_rc_read_65536_v4",
                           "fault_rkey_read_v4",
                           "rc_send_psnwrap_v4",
                           "rping_v4",
                           "rc_write_q4_v4",
                           "rc_send_cm_v4",
                           "rc_write_ect_v4",
                           "rc_send_mtu256_v4",
                           "reorder_rc_send_v4",
                           "rc_read_4096_v4",
                           "rc_write_4096_v4"}) {
    SCOPED_TRACE(name);
    expect_same(read_frames(name));
  }
}

// The requests of a capture up to the second packet of a message, which is then sent again.
TakenFrames sent_again(uint64_t after_ns) {
  TakenFrames frames = read_frames("rc_write_4096_v4");
  const size_t first = find_frame(
      frames, [](const Taken &f) { return f.packet.opcode == (ROCE_RC | 0x06); }, 150);
  const size_t middle = find_frame(
      frames, [](const Taken &f) { return f.packet.info & ROCE_OP_MIDDLE; }, first);
  TakenFrames again(frames.begin() + static_cast<ptrdiff_t>(first), frames.end());
  frames.resize(middle + 1);
  const uint64_t shift = frames.back().ns + after_ns - again.front().ns;
  for (Taken &f : again)
    f.ns += shift;
  frames.insert(frames.end(), again.begin(), again.end());
  return frames;
}

// The last packet before the pause was skipped: that there was a pause is known, but not since
// when.
TEST(FollowSkips, ALongPauseIsATimeout) {
  EXPECT_EQ(expect_same(sent_again(100 * kMs)), 1u);
  EXPECT_EQ(count(analyze_like_a_port(sent_again(100 * kMs)).episodes, ROCE_CAUSE_TIMEOUT), 1u);
}

// The coarse clock does not show it.
TEST(FollowSkips, AfterAShortPauseTheCauseIsUnknown) {
  const TakenFrames frames = sent_again(5 * kMs);
  const Episodes every = analyze_like_a_port(frames, kEveryPacket).episodes,
                 port = analyze_like_a_port(frames).episodes;
  EXPECT_EQ(count(every, ROCE_CAUSE_TIMEOUT), 1u);
  EXPECT_EQ(count(port, ROCE_CAUSE_TIMEOUT), 0u);
  EXPECT_EQ(count(port, ROCE_CAUSE_UNKNOWN), 1u);
}

// Frames lost, repeated and exchanged: nothing but the time is lost.
TEST(FollowSkips, OfAnyFrames) {
  for (uint32_t seed = 0; seed < 40; seed++) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    TakenFrames frames =
        read_frames(seed % 2 ? "loss2_rc_psnwrap_v4" : "wire_m1500_drop100_vb_drv_rq-tb");
    frames.resize(std::min<size_t>(frames.size(), 1500));
    for (uint32_t i = 0; i < 40; i++) {
      const auto at = static_cast<ptrdiff_t>(random() % frames.size());
      switch (random() % 3) {
      case 0:
        frames.erase(frames.begin() + at);
        break;
      case 1:
        std::swap(frames[static_cast<size_t>(at)], frames[random() % frames.size()]);
        break;
      default:
        frames.insert(frames.begin() + at, Taken(frames[static_cast<size_t>(at)]));
      }
    }
    for (size_t i = 0; i < frames.size(); i++)
      frames[i].ns = 1'000 * kMs + i * 1000; // no pause is long
    expect_same(frames);
  }
}

} // namespace
} // namespace xr::test::follow_skips_test
