// SPDX-License-Identifier: Apache-2.0
// Findings in copies of real captures: each has a copy that has it, and one that nearly has it.
#include "episode_frames.h"

namespace xr::test {
namespace {

// There is one finding, of this type, shown by these frames (numbers from 0; other_frame -1: none).
void expect_only(const Episodes &e, roce_finding_type type, size_t frame, ptrdiff_t other,
                 uint32_t psn) {
  ASSERT_EQ(e.findings.size(), 1u);
  const roce_finding &f = e.findings[0].finding;
  EXPECT_EQ(f.type, type);
  EXPECT_EQ(f.frame, frame + 1);
  EXPECT_EQ(f.other_frame, static_cast<uint64_t>(other + 1));
  EXPECT_EQ(f.psn, psn);
}

// ---- findings

TEST(Findings, RepeatedNak) {
  Frames frames = read_frames("loss_rc_send_v4");
  const size_t nak = find_frame(frames, is_nak);
  insert(frames, nak + 1, frames[nak]);
  const Episodes e = follow(frames);
  expect_only(e, ROCE_FINDING_REPEATED_NAK, nak + 1, static_cast<ptrdiff_t>(nak),
              frames[nak].psn());
  EXPECT_EQ(count(e, ROCE_CAUSE_NAK), 30u);
  EXPECT_EQ(e.episodes[0].episode.naks, 2u);
  EXPECT_EQ(e.episodes[0].episode.findings, 1u << ROCE_FINDING_REPEATED_NAK);

  // For the next missing PSN, or for the same after it arrived and was refused again: not repeated.
  frames[nak + 1].put_psn(frames[nak].psn() + 1);
  EXPECT_TRUE(follow(frames).findings.empty());
}

TEST(Findings, NakWithoutGap) {
  // Nothing was sent after the PSN.
  Frames frames = read_frames("rc_send_mtu256_v4");
  const size_t ack = find_frame(frames, is_plain_ack);
  uint32_t newest = 0;
  for (size_t i = 0; i < ack; i++)
    if (frames[i].is_request())
      newest = frames[i].psn();
  Frame nak = frames[ack];
  nak.put_syndrome(0x60);
  nak.put_psn(newest);
  Frames wrong = frames;
  insert(wrong, ack, nak);
  expect_only(follow(wrong), ROCE_FINDING_NAK_WITHOUT_GAP, ack, -1, newest);

  // One packet was: it may have got lost after this place.
  nak.put_psn(newest - 1);
  Frames right = frames;
  insert(right, ack, nak);
  const Episodes e = follow(right);
  EXPECT_TRUE(e.findings.empty());
  EXPECT_EQ(count(e, ROCE_CAUSE_NAK), 1u);

  // A PSN that was acknowledged before.
  nak.put_psn(frames[ack].psn());
  wrong = frames;
  insert(wrong, ack + 1, nak);
  expect_only(follow(wrong), ROCE_FINDING_NAK_WITHOUT_GAP, ack + 1, -1, frames[ack].psn());
}

TEST(Findings, WrongPsnResumed) {
  const Frames frames = read_frames("wire_m1500_drop100_vb_drv_rq-tb");
  const size_t nak = find_frame(frames, is_nak);
  const uint32_t asked = frames[nak].psn();
  const auto with = [asked](uint32_t before) {
    return [asked, before](const Frame &f) { return f.is_request() && f.psn() == asked - before; };
  };
  const size_t resumed = find_frame(frames, with(0), nak);
  // Two packets before what was asked for.
  Frames wrong = frames;
  insert(wrong, resumed, frames[find_frame(frames, with(1))]);
  insert(wrong, resumed, frames[find_frame(frames, with(2))]);
  const Episodes e = follow(wrong);
  expect_only(e, ROCE_FINDING_WRONG_PSN, resumed, static_cast<ptrdiff_t>(nak), asked);
  EXPECT_EQ(e.findings[0].finding.value, asked - 2);
  EXPECT_EQ(e.episodes[0].episode.resent_needlessly,
            follow(frames).episodes[0].episode.resent_needlessly + 2);

  // The packet asked for was lost before it came here.
  Frames right = frames;
  right.erase(right.begin() + static_cast<ptrdiff_t>(resumed));
  EXPECT_TRUE(follow(right).findings.empty());
  // From the oldest PSN without an ACK: a timeout at the same time.
  uint32_t acked = 0;
  for (size_t i = 0; i < nak; i++)
    if (is_plain_ack(frames[i]))
      acked = frames[i].psn() + 1;
  right = frames;
  for (uint32_t psn = asked - 1; psn + 1 > acked; psn--)
    insert(right, resumed, frames[find_frame(frames, with(asked - psn))]);
  EXPECT_TRUE(follow(right).findings.empty());
}

TEST(Findings, AckBeyond) {
  const Frames frames = read_frames("rc_send_mtu256_v4");
  const size_t ack = find_frame(frames, is_plain_ack);
  uint32_t newest = 0;
  for (size_t i = 0; i < ack; i++)
    if (frames[i].is_request())
      newest = frames[i].psn();
  const size_t sent = find_frame(
      frames, [newest](const Frame &f) { return f.is_request() && f.psn() == newest + 1; }, ack);
  Frames wrong = frames;
  wrong[ack].put_psn(newest + 1);
  expect_only(follow(wrong), ROCE_FINDING_ACK_BEYOND, sent, static_cast<ptrdiff_t>(ack),
              newest + 2);

  // This place missed the request: it does not come again.
  Frames right = wrong;
  right.erase(right.begin() + static_cast<ptrdiff_t>(sent));
  EXPECT_TRUE(follow(right).findings.empty());
  // The newest request.
  right = frames;
  right[ack].put_psn(newest);
  for (const FindingRow &row : follow(right).findings)
    EXPECT_NE(row.finding.type, ROCE_FINDING_ACK_BEYOND);
}

TEST(Findings, Msn) {
  const Frames frames = read_frames("rc_send_mtu256_v4");
  const size_t second = find_frame(frames, is_plain_ack, find_frame(frames, is_plain_ack) + 1);
  const size_t third = find_frame(frames, is_plain_ack, second + 1);
  Frames wrong = frames;
  wrong[third].put_msn(frames[third].msn() + 1);
  const Episodes e = follow(wrong);
  expect_only(e, ROCE_FINDING_MSN, third, static_cast<ptrdiff_t>(second), frames[third].psn());
  EXPECT_EQ(e.findings[0].finding.value, frames[third].msn() + 1);
  EXPECT_EQ(e.findings[0].finding.expected, frames[third].msn());
  // From then on: once.
  for (size_t i = third + 1; i < wrong.size(); i++)
    if (is_plain_ack(wrong[i]))
      wrong[i].put_msn(frames[i].msn() + 1);
  expect_only(follow(wrong), ROCE_FINDING_MSN, third, static_cast<ptrdiff_t>(second),
              frames[third].psn());

  // The responder began to count elsewhere, and passes 2^24.
  Frames right = frames;
  for (Frame &f : right)
    if (is_plain_ack(f))
      f.put_msn(f.msn() + 0xfffff0);
  EXPECT_TRUE(follow(right).findings.empty());
}

} // namespace
} // namespace xr::test
