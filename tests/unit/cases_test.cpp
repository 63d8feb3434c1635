// SPDX-License-Identifier: Apache-2.0
// Small captures with one difficulty each (tests/data/cases), and the right answer: counted by hand
// in the frames as tshark shows them.
#include "capture/pcapng_writer.h"
#include "episode_frames.h"
#include "report/episodes.h"
#include "report/json.h"

namespace xr::test::cases_test {
namespace {

Analysis analyze_case(const std::string &name) {
  AnalyzeRun run;
  run.options.episodes = run.options.passive_latency = true;
  Result<Analysis> done = analyze(path_of_capture("cases/" + name), run);
  EXPECT_TRUE(done.ok());
  return std::move(*done);
}

// One of type 0 if there is not exactly one.
roce_finding only_finding(const Episodes &e) {
  EXPECT_EQ(e.findings.size(), 1u);
  return e.findings.size() == 1 ? e.findings[0].finding : roce_finding{};
}

// PSN 23, the LAST of a message, did not pass; the responder got it.
TEST(Cases, ATapThatMissedTheEndOfAMessage) {
  const Episodes e = analyze_case("tap_missed_last").episodes;
  EXPECT_TRUE(e.findings.empty());
  EXPECT_TRUE(e.episodes.empty());
  EXPECT_EQ(e.pairs[0].msn_unchecked, 1u);
}

// From then on the MSN is checked again.
TEST(Cases, AnMsnAfterATapMissedPackets) {
  TakenFrames frames = read_frames("cases/tap_missed_last");
  const size_t ack = find_frame(frames, [](const Taken &f) { return f.is_ack() && f.psn() == 63; });
  frames[ack].put_msn(frames[ack].msn() + 1);
  const Episodes e = follow_any(frames);
  ASSERT_EQ(count(e, ROCE_FINDING_MSN), 1u);
  EXPECT_EQ(e.findings[0].finding.frame, ack + 1);
}

// 0 1 2 5 3 4 6 9 7 8
TEST(Cases, UcPacketsAreReordered) {
  const Snapshot s = analyze_case("uc_reordered").snapshot;
  ASSERT_EQ(s.streams.size(), 1u);
  EXPECT_EQ(roce_stream_counter(&s.streams[0], ROCE_REORDERED), 4u);
  EXPECT_EQ(roce_stream_counter(&s.streams[0], ROCE_REWINDS), 0u);
}

// READ REQUESTs are cut before their length; 27 are sent again, in four rounds.
TEST(Cases, ReadsCutBySnapLength) {
  const Episodes e = analyze_case("read_snap64").episodes;
  EXPECT_EQ(e.pairs[0].reads_again, 27u);
  EXPECT_EQ(e.pairs[0].reads_cut, 39u);
  EXPECT_EQ(count(e, ROCE_CAUSE_READ), 4u);
  EXPECT_EQ(e.episodes.size(), 4u);
  EXPECT_EQ(e.episodes[0].episode.first_missing, 12844569u);
  EXPECT_TRUE(e.findings.empty());
}

// The receiver is not ready at PSN 4096, three times; nothing is lost.
TEST(Cases, RnrOnly) {
  const Episodes e = analyze_case("rnr_min").episodes;
  EXPECT_EQ(e.episodes.size(), 3u);
  EXPECT_EQ(count(e, ROCE_CAUSE_RNR), 3u);
  EXPECT_TRUE(e.findings.empty());
  const uint64_t first = e.first_ns;
  EXPECT_EQ(e.episodes[0].episode.resent_ns - first, 6'139'000u);
  EXPECT_EQ(e.episodes[1].episode.nak_ns - first, 30'228'000u);
  EXPECT_EQ(e.episodes[1].episode.resent_ns - first, 38'249'000u);
  EXPECT_EQ(e.episodes[2].episode.resent_ns, 0u);
}

// The path MTU is not known before the answer to the first READ.
TEST(Cases, TheFirstReadLosesAResponse) {
  const Episodes e = analyze_case("read_first_lost").episodes;
  ASSERT_EQ(e.episodes.size(), 1u);
  const roce_episode &x = e.episodes[0].episode;
  EXPECT_EQ(x.cause, ROCE_CAUSE_READ);
  EXPECT_EQ(x.first_missing, 113u);
  EXPECT_EQ(x.missing, 1u);
  EXPECT_EQ(x.reread_ns - e.first_ns, 35'000u);
  EXPECT_EQ(x.recovered_ns - e.first_ns, 36'000u);
  EXPECT_TRUE(e.findings.empty());
}

TEST(Cases, AReadIsNotRequestedAgain) {
  const roce_finding f = only_finding(analyze_case("read_never_asked").episodes);
  EXPECT_EQ(f.type, ROCE_FINDING_READ_NOT_OBEYED);
  EXPECT_EQ(f.psn, 129u);
  EXPECT_EQ(f.value, 1u);
  EXPECT_EQ(f.frame, 40u);
}

// It may still come: the capture ends before the answer to a request that was sent later.
TEST(Cases, AReadMayBeRequestedAgainLater) {
  TakenFrames frames = read_frames("cases/read_never_asked");
  while (!frames.back().is_request() || frames.back().psn() != 156)
    frames.pop_back();
  EXPECT_TRUE(follow_any(frames).findings.empty());
}

TEST(Cases, AReadIsRequestedAgainAtAnotherPsn) {
  const Episodes e = analyze_case("read_wrong_psn").episodes;
  const roce_finding f = only_finding(e);
  EXPECT_EQ(f.type, ROCE_FINDING_WRONG_PSN);
  EXPECT_EQ(f.value, 131u);
  EXPECT_EQ(f.expected, 129u);
  EXPECT_EQ(f.frame, 50u);
  EXPECT_EQ(f.other_frame, 40u);
  EXPECT_EQ(count(e, ROCE_CAUSE_READ), 1u);
  EXPECT_EQ(e.episodes.size(), 1u);
}

TEST(Cases, PsnsThatNoMessageHas) {
  const roce_finding f = only_finding(analyze_case("psn_jump").episodes);
  EXPECT_EQ(f.type, ROCE_FINDING_PSN_VIOLATION);
  EXPECT_EQ(f.psn, 40108u);
  EXPECT_EQ(f.expected, 113u);
  EXPECT_EQ(f.frame, 27u);
  EXPECT_EQ(f.other_frame, 28u);
}

// If the MSN counts a message more for the PSNs that did not pass, this place missed them.
TEST(Cases, AJumpOfPsnsThatPassedElsewhere) {
  TakenFrames frames = read_frames("cases/psn_jump");
  for (Taken &f : frames)
    if (f.is_ack() && f.psn() >= 40108)
      f.put_msn(f.msn() + 7);
  const Episodes e = follow_any(frames);
  EXPECT_TRUE(e.findings.empty());
  EXPECT_EQ(e.pairs[0].msn_unchecked, 1u);
}

// A CNP every 56 us, to three QPs of two hosts in turn.
TEST(Cases, CnpsPacedByPort) {
  const Episodes e = analyze_case("port_paced").episodes;
  ASSERT_EQ(e.cnps.size(), 1u);
  EXPECT_EQ(e.cnps[0].port_ns, 56'000u);
  EXPECT_STREQ(cnps_paced_by(e.cnps[0]), "port");
}

// Where each QP has a pace of its own, QPs meet at any distance.
TEST(Cases, CnpsPacedByQp) {
  TakenFrames frames = read_frames("cases/port_paced");
  uint64_t cnps = 0;
  for (Taken &f : frames)
    if (f.packet.info & ROCE_OP_CNP)
      f.ns += cnps++ % 3 * 9'000;
  EXPECT_STREQ(cnps_paced_by(follow_any(frames).cnps[0]), "qp");
}

// Most packets have a wrong iCRC and are acknowledged: the capture was changed.
TEST(Cases, WrongIcrcsOfAllPacketsAreNoDamage) {
  TakenFrames frames = read_frames("loss_rc_send_v4");
  for (Taken &f : frames)
    f.bytes[f.packet.end - 1] ^= 1;
  const Episodes e = follow_any(frames);
  EXPECT_TRUE(e.findings.empty());
  EXPECT_EQ(e.icrc_ignored, frames.size());
  EXPECT_EQ(count(e, ROCE_CAUSE_NAK), 30u);
  for (const EpisodeRow &row : e.episodes)
    EXPECT_EQ(row.episode.corrupted, 0u);
}

// A packet that a NAK asks for had passed with a wrong iCRC; one that is lost had not.
TEST(Cases, EpisodesOfDamagedPackets) {
  TakenFrames frames = read_frames("rc_send_mtu256_v4");
  const size_t ack = find_frame(frames, is_plain_ack);
  const uint32_t lost = frames[ack].psn() + 4;
  const size_t place =
      find_frame(frames, [lost](const Taken &f) { return f.is_request() && f.psn() == lost; });
  Taken nak = frames[ack];
  nak.put_syndrome(0x60);
  nak.put_psn(lost);
  const Taken again = frames[place];
  size_t after = place;
  for (int requests = 0; requests < 3; after++)
    requests += frames[after].is_request();
  insert(frames, after, nak);
  insert(frames, after + 1, again);
  EXPECT_EQ(follow(frames).episodes[0].episode.corrupted, 0u);
  frames[place].bytes[again.packet.end - 1] ^= 1;
  const Episodes e = follow(frames);
  ASSERT_EQ(e.episodes.size(), 1u);
  EXPECT_EQ(e.episodes[0].episode.corrupted, 1u);
  EXPECT_EQ(count(e, ROCE_FINDING_ICRC), 1u);
  EXPECT_EQ(e.findings[0].finding.frame, place + 1);
  EXPECT_NE(report::to_json(report::episodes_report("eth0", e)).find("\"where\":\"corrupted\""),
            std::string::npos);
}

// ---- a mirror that gives each packet twice

// Copies come `later`, with other MACs and a lower TTL.
TakenFrames doubled(const std::string &name, uint64_t later) {
  TakenFrames frames = read_frames(name), all;
  for (const Taken &f : frames) {
    Taken &copy = all.emplace_back(f);
    copy.ns += later;
    copy.bytes[0] ^= 2;
    copy.bytes[copy.packet.l3 + 8] -= 1;
  }
  all.insert(all.end(), frames.begin(), frames.end());
  std::ranges::stable_sort(all, {}, &Taken::ns);
  return all;
}

std::vector<std::string> episodes_of(const Analysis &analysis) {
  std::vector<std::string> lines;
  for (const EpisodeRow &row : analysis.episodes.episodes)
    lines.push_back(text(row.episode));
  return lines;
}

TEST(Cases, ADoubledMirrorIsTheCaptureOnce) {
  for (const char *name : {"loss_rc_send_v4", "dup_rc_read_v4", "rping_v4", "loss_rc_read_v4"}) {
    SCOPED_TRACE(name);
    const TakenFrames once = read_frames(name);
    const Analysis plain = analyze_frames(once, Copies::Auto);
    EXPECT_EQ(plain.snapshot.notes.copies, 0u);
    const Analysis twice = analyze_frames(doubled(name, 3'000), Copies::Auto);
    EXPECT_EQ(twice.snapshot.notes.copies, once.size());
    EXPECT_EQ(twice.episodes.findings.size(), plain.episodes.findings.size());
    EXPECT_EQ(episodes_of(twice), episodes_of(plain));
    EXPECT_GT(episodes_of(analyze_frames(doubled(name, 3'000), Copies::Keep)).size(),
              episodes_of(plain).size());
  }
}

// What the network or a sender repeats is no copy of the mirror; CNPs to one QP are all the same.
TEST(Cases, RepeatedPacketsAreNoMirror) {
  const TakenFrames frames = read_frames("cases/port_paced");
  TakenFrames cnps;
  std::ranges::copy_if(frames, std::back_inserter(cnps),
                       [](const Taken &f) { return f.packet.info & ROCE_OP_CNP; });
  ASSERT_EQ(cnps.size(), 30u);
  EXPECT_EQ(analyze_frames(cnps, Copies::Auto).snapshot.notes.copies, 0u);
  // A sender replays a capture at once.
  TakenFrames replayed = read_frames("rc_send_cm_v4");
  const TakenFrames again = replayed;
  const uint64_t first = again.front().ns;
  replayed.insert(replayed.end(), again.begin(), again.end());
  for (size_t i = 0; i < replayed.size(); i++)
    replayed[i].ns = first + i * 1'000;
  EXPECT_EQ(analyze_frames(replayed, Copies::Auto).snapshot.notes.copies, 0u);
  for (const char *name : {"dup_rc_atomic_v4", "dup_rc_read_v4", "loss_rc_send_v4",
                           "wire_m1500_drop100_vb_drv_rq-tb", "reorder_rc_send_v4"})
    EXPECT_EQ(analyze_frames(read_frames(name), Copies::Auto).snapshot.notes.copies, 0u) << name;
}

// ---- a capture of windows around events

// The frames of every other twenty, as `capture --around` writes them, with or without saying so.
Analysis analyze_windows(const std::string &name, bool said) {
  const TemporaryFile copy({});
  auto writer = xr::PcapngWriter::create(copy.path(), {"eth0", "", 0});
  EXPECT_TRUE(writer.ok());
  uint64_t n = 0, left_out = 0;
  for (const Taken &f : read_frames(name)) {
    if (n++ / 20 % 2) {
      left_out++;
      continue;
    }
    const auto length = static_cast<uint32_t>(f.bytes.size());
    EXPECT_TRUE(writer
                    ->packet({.time_ns = f.ns,
                              .data = f.bytes.data(),
                              .captured = length,
                              .length = length,
                              .left_out = said ? std::exchange(left_out, 0) : 0})
                    .ok());
  }
  EXPECT_TRUE(writer->flush().ok());
  AnalyzeRun run;
  run.options.episodes = run.options.passive_latency = true;
  Result<Analysis> done = analyze(copy.path(), run);
  EXPECT_TRUE(done.ok());
  return std::move(*done);
}

uint64_t sum_of(const Analysis &analysis, roce_stream_counters counter) {
  uint64_t sum = 0;
  for (const roce_stream &stream : analysis.snapshot.streams)
    sum += roce_stream_counter(&stream, counter);
  return sum;
}

// Nothing is lost in these captures.
TEST(Cases, WindowsAreNoLosses) {
  for (const char *name : {"rc_send_mtu256_v4", "rc_read_4096_v4", "m4200_rc_read_65536_v4",
                           "rc_write_4096_v4", "rc_atomic_faa_v6"}) {
    SCOPED_TRACE(name);
    const Analysis a = analyze_windows(name, true);
    EXPECT_GT(a.snapshot.notes.windows, 0u);
    for (const auto counter : {ROCE_GAPS, ROCE_SKIPPED, ROCE_JUMPS, ROCE_REWINDS, ROCE_RESYNCS})
      EXPECT_EQ(sum_of(a, counter), 0u) << counter;
    EXPECT_TRUE(a.episodes.findings.empty());
    EXPECT_TRUE(a.episodes.episodes.empty());
  }
  const Analysis unsaid = analyze_windows("rc_send_mtu256_v4", false);
  EXPECT_EQ(unsaid.snapshot.notes.windows, 0u);
  EXPECT_GT(sum_of(unsaid, ROCE_SKIPPED), 0u);
}

// Losses within a window stay.
TEST(Cases, LossesInWindows) {
  const Analysis a = analyze_windows("loss_rc_send_v4", true);
  EXPECT_GT(sum_of(a, ROCE_GAPS), 5u);
  EXPECT_GT(count(a.episodes, ROCE_CAUSE_NAK), 5u);
  EXPECT_TRUE(a.episodes.findings.empty());
}

// The requester resumes after the NAK's PSN, and is asked once more: not the responder's fault.
TEST(Cases, ResumedAfterTheNaksPsn) {
  TakenFrames frames = read_frames("wire_m1500_drop100_vb_drv_rq-tb");
  const size_t nak = find_frame(frames, is_nak);
  const uint32_t asked = frames[nak].psn();
  const size_t resumed = find_frame(
      frames, [asked](const Taken &f) { return f.is_request() && f.psn() == asked; }, nak);
  const Taken again = frames[resumed];
  frames.erase(frames.begin() + static_cast<ptrdiff_t>(resumed));
  ASSERT_EQ(frames[resumed].psn(), asked + 1);
  size_t after = resumed;
  for (int requests = 0; requests < 2; after++)
    requests += frames[after].is_request();
  insert(frames, after, frames[nak]);
  insert(frames, after + 1, again);
  const Episodes e = follow(frames);
  EXPECT_EQ(count(e, ROCE_FINDING_REPEATED_NAK), 0u);
  ASSERT_EQ(count(e, ROCE_FINDING_WRONG_PSN), 1u);
  EXPECT_EQ(e.findings[0].finding.frame, resumed + 1);
  EXPECT_EQ(e.findings[0].finding.value, asked + 1);
}

} // namespace
} // namespace xr::test::cases_test
