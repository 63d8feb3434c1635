// SPDX-License-Identifier: Apache-2.0
// Episodes of real captures, and of copies of them with one thing changed.
#include <algorithm>
#include <random>

#include "episode_frames.h"
#include "roce/psn.h"
#include "roce/rnr.h"

namespace xr::test::episodes_test {
namespace {

constexpr uint64_t kUs = 1000, kMs = 1'000'000;

// ---- real captures

struct Real {
  const char *name;
  uint32_t nak, read, timeout, duplicate, rnr = 0; // nak, rnr: as tshark counts them
  uint32_t damaged = 0;                            // wrong iCRCs, as captures.txt has them
};

// nak: NAKs that tshark counted; nak + read + timeout: the requester's completer_retry_err where
// every NAK was obeyed; duplicate: copies that netem made.
TEST(Episodes, OfRealCaptures) {
  const Real reals[] = {
      {"loss_rc_send_v4", 30, 0, 0, 0},
      {"loss2_rc_psnwrap_v4", 5, 0, 1, 0},
      {"loss_rc_read_v4", 0, 37, 0, 0},
      {"loss2_rc_atomic_v4", 7, 10, 1, 0},
      {"corrupt_rc_send_v4", 12, 0, 0, 0, 0, 24},
      {"wire_m1500_drop100_vb_drv_rq-tb", 46, 0, 0, 0},
      {"dup_rc_atomic_v4", 0, 0, 0, 6},
      {"dup_rc_read_v4", 0, 0, 0, 40},
      {"m4200_rc_read_65536_v4", 0, 0, 0, 0},
      {"wire_m1500_drop100_vb_drv_rq-va", 46, 0, 0, 0},
      {"fault_rkey_read_v4", 0, 0, 0, 0},
      {"fault_len_v4", 0, 0, 0, 0},
      {"rc_send_psnwrap_v4", 0, 0, 0, 0},
      {"rping_v4", 0, 0, 0, 0},
      {"rc_write_q4_v4", 0, 0, 0, 0},
      {"rc_send_cm_v4", 0, 0, 0, 0},
      {"rc_atomic_faa_v6", 0, 0, 0, 0},
      {"rc_write_ect_v4", 0, 0, 0, 0},
      {"rc_send_imm_v4", 0, 0, 0, 0},
      {"rc_zero_len_v4", 0, 0, 0, 0},
      {"rnr_rc_send_t12_v4", 0, 0, 0, 0, 4},
      {"rnr_rc_psnwrap_t1_v4", 0, 0, 0, 0, 9},
      {"rnr_rc_write_imm_t20_v6", 0, 0, 0, 0, 10},
      {"rnr_rc_exhausted_t14_v4", 0, 0, 0, 0, 5},
  };
  for (const Real &real : reals) {
    SCOPED_TRACE(real.name);
    const Episodes e = follow(read_frames(real.name));
    EXPECT_EQ(count(e, ROCE_CAUSE_NAK), real.nak);
    EXPECT_EQ(count(e, ROCE_CAUSE_READ), real.read);
    EXPECT_EQ(count(e, ROCE_CAUSE_TIMEOUT), real.timeout);
    EXPECT_EQ(count(e, ROCE_CAUSE_DUPLICATE), real.duplicate);
    EXPECT_EQ(count(e, ROCE_CAUSE_RNR), real.rnr);
    EXPECT_EQ(count(e, ROCE_CAUSE_UNKNOWN), 0u);
    EXPECT_EQ(count(e, ROCE_FINDING_ICRC), real.damaged);
    EXPECT_EQ(e.findings.size(), real.damaged);
    EXPECT_EQ(e.holes_forgotten + e.pairs_full + e.episodes_dropped, 0u);
    for (const EpisodeRow &row : e.episodes)
      EXPECT_TRUE(row.name.src_qp.has_value());
  }
}

// Late packets look like packets sent again; what the peers did wrong does not.
TEST(Episodes, ReorderedPacketsAreNoFinding) {
  const Episodes e = follow(read_frames("reorder_rc_send_v4"));
  EXPECT_EQ(count(e, ROCE_CAUSE_NAK), 56u);
  EXPECT_TRUE(e.findings.empty());
}

// Without the answers no cause is named.
TEST(Episodes, OneDirectionOnly) {
  TakenFrames frames = read_frames("loss_rc_send_v4");
  std::erase_if(frames, [](const Taken &f) { return f.is_ack(); });
  const Episodes e = follow(frames);
  EXPECT_EQ(e.episodes.size(), 30u);
  EXPECT_EQ(count(e, ROCE_CAUSE_UNKNOWN), 30u);
  ASSERT_EQ(e.pairs.size(), 1u);
  EXPECT_FALSE(e.pairs[0].answers);
}

TEST(Episodes, PsnsPerAck) {
  EXPECT_EQ(follow(read_frames("rc_write_4096_v4")).pairs[0].acked_psns, 200u);
  EXPECT_EQ(follow(read_frames("rc_write_4096_v4")).pairs[0].acks, 50u);
  EXPECT_EQ(follow(read_frames("rc_send_1024_v4")).pairs[0].acks, 100u);
}

// Frames lost, repeated, exchanged, with other PSNs and syndromes: what is reported stays
// consistent.
TEST(Episodes, AnyFramesInAnyOrder) {
  const char *const names[] = {"loss2_rc_psnwrap_v4", "loss2_rc_atomic_v4", "dup_rc_atomic_v4",
                               "rping_v4", "rc_read_4096_v4"};
  for (uint32_t seed = 0; seed < 40; seed++) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    TakenFrames frames = read_frames(names[seed % std::size(names)]);
    for (uint32_t i = 0; i < 60; i++) {
      const auto at = static_cast<ptrdiff_t>(random() % frames.size());
      Taken &f = frames[static_cast<size_t>(at)];
      switch (random() % 6) {
      case 0:
        frames.erase(frames.begin() + at);
        break;
      case 1:
        std::swap(f, frames[random() % frames.size()]);
        break;
      case 2:
        f.put_psn(f.psn() + random() % 64 - 32);
        break;
      case 3:
        f.put_psn(random() & ROCE_PSN_MASK);
        break;
      case 4:
        if (f.is_ack())
          f.put_syndrome(static_cast<uint8_t>(random()));
        break;
      default:
        frames.insert(frames.begin() + at, Taken(f));
      }
    }
    const Episodes e = follow_any(frames);
    uint64_t episodes = 0;
    for (const PairRow &pair : e.pairs)
      for (const uint32_t n : pair.causes)
        episodes += n;
    EXPECT_EQ(e.episodes.size(), episodes);
    for (const EpisodeRow &row : e.episodes) {
      const roce_episode &x = row.episode;
      EXPECT_LE(x.resent_needlessly, x.resent_packets);
      EXPECT_EQ(x.resent_packets == 0, x.resent_bytes == 0);
      EXPECT_TRUE(x.nak_ns || x.resent_ns || x.reread_ns);
      EXPECT_EQ(x.naks > 0, x.cause == ROCE_CAUSE_NAK);
      EXPECT_LE(x.resent_frame, frames.size());
      EXPECT_LT(x.first_missing, 1u << 24);
      EXPECT_LE(x.missing, 1u << 17);
    }
    for (const FindingRow &row : e.findings) {
      EXPECT_GE(row.finding.frame, 1u);
      EXPECT_LE(row.finding.frame, frames.size());
      EXPECT_LE(row.finding.other_frame, frames.size());
    }
  }
}

// ---- how a pair sends again

TEST(Pairs, SelectiveRepeatIsRecognised) {
  const TakenFrames frames = read_frames("rc_send_mtu256_v4");
  const size_t ack = find_frame(frames, is_plain_ack);
  const uint32_t lost = frames[ack].psn() + 4;
  const auto is_lost = [lost](const Taken &f) { return f.is_request() && f.psn() == lost; };
  const size_t place = find_frame(frames, is_lost);
  Taken nak = frames[ack];
  nak.put_syndrome(0x60);
  nak.put_psn(lost);
  // Lost, refused after three more packets, and sent again alone.
  TakenFrames selective = frames;
  const Taken again = selective[place];
  selective.erase(selective.begin() + static_cast<ptrdiff_t>(place));
  size_t after = place;
  for (int requests = 0; requests < 3; after++)
    requests += selective[after].is_request();
  insert(selective, after, nak);
  insert(selective, after + 1, again);
  // An ACK of what was not there yet would contradict the story.
  for (size_t i = place; i < after; i++)
    ASSERT_TRUE(!is_plain_ack(selective[i]) || roce_psn_diff(selective[i].psn(), lost) < 0);
  const Episodes e = follow(selective);
  ASSERT_EQ(e.episodes.size(), 1u);
  EXPECT_EQ(e.episodes[0].episode.resent_packets, 1u);
  EXPECT_EQ(e.episodes[0].episode.resent_needlessly, 0u);
  EXPECT_EQ(e.episodes[0].episode.missing, 1u);
  EXPECT_EQ(e.pairs[0].selective, 1u);
  EXPECT_EQ(e.pairs[0].go_backs, 0u);
  EXPECT_TRUE(e.findings.empty());
  // The packets after it are sent again too.
  TakenFrames all = selective;
  for (uint32_t n = 3; n > 0; n--)
    insert(all, after + 2, frames[find_frame(frames, [lost, n](const Taken &f) {
             return f.is_request() && f.psn() == lost + n;
           })]);
  const Episodes g = follow(all);
  EXPECT_EQ(g.pairs[0].selective, 0u);
  EXPECT_EQ(g.pairs[0].go_backs, 1u);
  EXPECT_EQ(g.episodes[0].episode.resent_packets, 4u);
  EXPECT_EQ(g.episodes[0].episode.resent_needlessly, 3u);
}

// The last packet is sent again at these times after it, without an answer. `acked`: all before it
// are acknowledged.
Episodes timeouts(std::initializer_list<uint64_t> times, bool acked = true) {
  TakenFrames frames = read_frames("rc_send_mtu256_v4");
  while (!frames.back().is_request())
    frames.pop_back();
  if (acked) {
    Taken ack = frames[find_frame(frames, is_plain_ack)];
    ack.put_psn(frames.back().psn() - 1);
    insert(frames, frames.size() - 1, ack);
  }
  const Taken last = frames.back();
  for (const uint64_t ns : times) {
    frames.push_back(last);
    frames.back().ns += ns;
  }
  return follow(frames);
}

TEST(Pairs, RetryTimer) {
  const Episodes growing = timeouts({1 * kMs, 3 * kMs, 7 * kMs, 15 * kMs});
  EXPECT_EQ(count(growing, ROCE_CAUSE_TIMEOUT), 4u);
  EXPECT_EQ(growing.pairs[0].timers_grown, 2u);
  EXPECT_EQ(growing.pairs[0].timers_fixed, 0u);
  const Episodes fixed = timeouts({1 * kMs, 2 * kMs, 3 * kMs, 4 * kMs});
  EXPECT_EQ(count(fixed, ROCE_CAUSE_TIMEOUT), 4u);
  EXPECT_EQ(fixed.pairs[0].timers_grown, 0u);
  EXPECT_EQ(fixed.pairs[0].timers_fixed, 2u);
  // Too soon for a timer: copies.
  const Episodes copies = timeouts({5 * kUs, 10 * kUs});
  EXPECT_EQ(count(copies, ROCE_CAUSE_TIMEOUT), 0u);
  EXPECT_EQ(count(copies, ROCE_CAUSE_DUPLICATE), 2u);
  // The last of four packets without an ACK: a go-back would resume at the first.
  const Episodes late = timeouts({1 * kMs, 3 * kMs}, false);
  EXPECT_EQ(count(late, ROCE_CAUSE_TIMEOUT), 0u);
  EXPECT_EQ(count(late, ROCE_CAUSE_DUPLICATE), 2u);
}

// An RNR NAK, and what it asked for after its timer.
TEST(Episodes, Rnr) {
  TakenFrames frames = read_frames("rc_send_mtu256_v4");
  const size_t ack = find_frame(frames, is_plain_ack);
  const uint32_t psn = frames[ack].psn() + 1;
  const auto is_first = [psn](const Taken &f) { return f.is_request() && f.psn() == psn; };
  const size_t place = std::max(ack, find_frame(frames, is_first)) + 1;
  Taken rnr = frames[ack];
  rnr.put_syndrome(0x21);
  rnr.put_psn(psn);
  insert(frames, place, rnr);
  Taken again = frames[find_frame(frames, is_first)];
  insert(frames, place + 1, again);
  const Episodes e = follow(frames);
  ASSERT_EQ(count(e, ROCE_CAUSE_RNR), 1u);
  const roce_episode &episode = e.episodes[0].episode;
  EXPECT_EQ(episode.first_missing, psn);
  EXPECT_EQ(episode.nak_ns, frames[place].ns);
  EXPECT_EQ(episode.resent_ns, frames[place + 1].ns);
  EXPECT_EQ(episode.naks, 0u);
  EXPECT_TRUE(e.findings.empty());
}

// The receiver of Soft-RoCE sends a NAK too, for what was sent after the refused request. The
// requester waits for the timer of the RNR NAK, or gives up.
TEST(Episodes, RnrWithNakOfRealCaptures) {
  for (const char *name : {"rnr_rc_send_t12_v4", "rnr_rc_psnwrap_t1_v4", "rnr_rc_write_imm_t20_v6",
                           "rnr_rc_exhausted_t14_v4"}) {
    SCOPED_TRACE(name);
    const TakenFrames frames = read_frames(name);
    const Episodes e = follow(frames);
    ASSERT_FALSE(e.episodes.empty());
    const bool fails = std::string(name).find("exhausted") != std::string::npos;
    EXPECT_EQ(e.pairs[0].go_backs, e.episodes.size() - fails);
    EXPECT_EQ(e.pairs[0].naks, e.episodes.size());
    for (size_t i = 0; i < e.episodes.size() - fails; i++) {
      const roce_episode &episode = e.episodes[i].episode;
      const Taken &nak = frames[episode.nak_frame - 1];
      EXPECT_EQ(episode.cause, ROCE_CAUSE_RNR);
      EXPECT_EQ(episode.naks, 1u);
      EXPECT_EQ(episode.nak_ns, nak.ns);
      EXPECT_EQ(episode.first_missing, nak.psn());
      EXPECT_EQ(ROCE_SYNDROME_TYPE(nak.packet.syndrome), static_cast<uint32_t>(ROCE_RNR_NAK));
      EXPECT_EQ(episode.first_missing, frames[episode.resent_frame - 1].psn());
      EXPECT_GE(episode.resent_ns - episode.nak_ns, roce_rnr_us(nak.packet.syndrome) * kUs);
    }
    if (fails) {
      EXPECT_EQ(e.episodes.back().episode.resent_ns, 0u);
    }
  }
}

// Without the RNR NAKs, the same NAKs are repeated for PSNs that had not arrived.
TEST(Episodes, RnrExplainsRepeatedNaks) {
  TakenFrames frames = read_frames("rnr_rc_exhausted_t14_v4");
  std::erase_if(frames, [](const Taken &f) {
    return f.is_ack() && ROCE_SYNDROME_TYPE(f.packet.syndrome) == ROCE_RNR_NAK;
  });
  const Episodes e = follow(frames);
  EXPECT_EQ(std::ranges::count(e.findings, ROCE_FINDING_REPEATED_NAK,
                               [](const FindingRow &row) { return row.finding.type; }),
            3);
}

// After the refused request was sent again, a NAK for it is of a loss.
TEST(Episodes, NakAfterRnr) {
  TakenFrames frames = read_frames("rnr_rc_exhausted_t14_v4");
  const size_t nak = find_frame(frames, is_nak);
  const size_t again = find_frame(
      frames, [&](const Taken &f) { return f.is_request() && f.psn() == frames[nak].psn(); }, nak);
  Taken late = frames[nak];
  frames.erase(frames.begin() + static_cast<ptrdiff_t>(nak));
  insert(frames, again + 1, late); // after the second request of the go-back
  const Episodes e = follow(frames);
  EXPECT_EQ(count(e, ROCE_CAUSE_NAK), 1u);
  EXPECT_EQ(count(e, ROCE_CAUSE_RNR), 5u);
  EXPECT_TRUE(e.findings.empty());
  EXPECT_EQ(e.episodes[0].episode.naks, 0u);
}

} // namespace
} // namespace xr::test::episodes_test
