// SPDX-License-Identifier: Apache-2.0
// Findings in copies of real captures: each has a copy that has it, and one that nearly has it.
#include "episode_frames.h"

namespace xr::test::findings_test {
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
  TakenFrames frames = read_frames("loss_rc_send_v4");
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
  TakenFrames frames = read_frames("rc_send_mtu256_v4");
  const size_t ack = find_frame(frames, is_plain_ack);
  uint32_t newest = 0;
  for (size_t i = 0; i < ack; i++)
    if (frames[i].is_request())
      newest = frames[i].psn();
  Taken nak = frames[ack];
  nak.put_syndrome(0x60);
  nak.put_psn(newest);
  TakenFrames wrong = frames;
  insert(wrong, ack, nak);
  expect_only(follow(wrong), ROCE_FINDING_NAK_WITHOUT_GAP, ack, -1, newest);

  // One packet was: it may have got lost after this place.
  nak.put_psn(newest - 1);
  TakenFrames right = frames;
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
  const TakenFrames frames = read_frames("wire_m1500_drop100_vb_drv_rq-tb");
  const size_t nak = find_frame(frames, is_nak);
  const uint32_t asked = frames[nak].psn();
  const auto with = [asked](uint32_t before) {
    return [asked, before](const Taken &f) { return f.is_request() && f.psn() == asked - before; };
  };
  const size_t resumed = find_frame(frames, with(0), nak);
  // Two packets before what was asked for.
  TakenFrames wrong = frames;
  insert(wrong, resumed, frames[find_frame(frames, with(1))]);
  insert(wrong, resumed, frames[find_frame(frames, with(2))]);
  const Episodes e = follow(wrong);
  expect_only(e, ROCE_FINDING_WRONG_PSN, resumed, static_cast<ptrdiff_t>(nak), asked);
  EXPECT_EQ(e.findings[0].finding.value, asked - 2);
  EXPECT_EQ(e.episodes[0].episode.resent_needlessly,
            follow(frames).episodes[0].episode.resent_needlessly + 2);

  // The packet asked for was lost before it came here.
  TakenFrames right = frames;
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
  const TakenFrames frames = read_frames("rc_send_mtu256_v4");
  const size_t ack = find_frame(frames, is_plain_ack);
  uint32_t newest = 0;
  for (size_t i = 0; i < ack; i++)
    if (frames[i].is_request())
      newest = frames[i].psn();
  const size_t sent = find_frame(
      frames, [newest](const Taken &f) { return f.is_request() && f.psn() == newest + 1; }, ack);
  TakenFrames wrong = frames;
  wrong[ack].put_psn(newest + 1);
  expect_only(follow(wrong), ROCE_FINDING_ACK_BEYOND, sent, static_cast<ptrdiff_t>(ack),
              newest + 2);

  // This place missed the request: it does not come again.
  TakenFrames right = wrong;
  right.erase(right.begin() + static_cast<ptrdiff_t>(sent));
  EXPECT_TRUE(follow(right).findings.empty());
  // The newest request.
  right = frames;
  right[ack].put_psn(newest);
  for (const FindingRow &row : follow(right).findings)
    EXPECT_NE(row.finding.type, ROCE_FINDING_ACK_BEYOND);
}

TEST(Findings, Msn) {
  const TakenFrames frames = read_frames("rc_send_mtu256_v4");
  const size_t second = find_frame(frames, is_plain_ack, find_frame(frames, is_plain_ack) + 1);
  const size_t third = find_frame(frames, is_plain_ack, second + 1);
  TakenFrames wrong = frames;
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
  TakenFrames right = frames;
  for (Taken &f : right)
    if (is_plain_ack(f))
      f.put_msn(f.msn() + 0xfffff0);
  EXPECT_TRUE(follow(right).findings.empty());
}

bool fills(const Taken &f) { return f.packet.info & (ROCE_OP_FIRST | ROCE_OP_MIDDLE); }

void expect_pmtu(const char *capture, uint32_t direction) {
  const TakenFrames frames = read_frames(capture);
  const auto any = [direction](uint32_t place) {
    return [=](const Taken &f) { return f.packet.info & direction && f.packet.info & place; };
  };
  const size_t first = find_frame(frames, any(ROCE_OP_FIRST | ROCE_OP_MIDDLE));
  const size_t middle = find_frame(frames, any(ROCE_OP_MIDDLE), first + 1);
  const size_t last = find_frame(frames, any(ROCE_OP_LAST), middle);
  const uint32_t full = frames[first].packet.payload;
  for (const auto &[place, length] :
       {std::pair(middle, full - 4), {middle, full + 4}, {last, full + 4}}) {
    TakenFrames wrong = frames;
    wrong[place].put_payload(length);
    const Episodes e = follow(wrong);
    expect_only(e, ROCE_FINDING_PMTU, place, static_cast<ptrdiff_t>(first), frames[place].psn());
    EXPECT_EQ(e.findings[0].finding.value, length);
    EXPECT_EQ(e.findings[0].finding.expected, full);
  }
  // The last packet of a message may have less, or as much.
  for (const uint32_t length : {full - 4, full}) {
    TakenFrames right = frames;
    right[last].put_payload(length);
    EXPECT_TRUE(follow(right).findings.empty());
  }
  // From then on: once.
  TakenFrames wrong = frames;
  for (size_t i = middle; i < wrong.size(); i++)
    if (any(ROCE_OP_FIRST | ROCE_OP_MIDDLE | ROCE_OP_LAST)(wrong[i]))
      wrong[i].put_payload(full - 8);
  expect_only(follow(wrong), ROCE_FINDING_PMTU, middle, static_cast<ptrdiff_t>(first),
              frames[middle].psn());
}

TEST(Findings, Pmtu) {
  expect_pmtu("rc_send_mtu256_v4", ROCE_OP_REQUEST);
  expect_pmtu("m4200_rc_read_65536_v4", ROCE_OP_RESPONSE);
}

TEST(Findings, NoPmtuInRealCaptures) {
  size_t captures = 0, filled = 0;
  for (const auto &entry : std::filesystem::directory_iterator(XR_TEST_DATA)) {
    const std::string name = entry.path().filename();
    const size_t end = name.find(".pcap");
    if (end == std::string::npos || name.starts_with("synthetic") || name.ends_with("pcapng"))
      continue;
    SCOPED_TRACE(name);
    const TakenFrames frames = read_frames(name.substr(0, end));
    for (const FindingRow &row : follow_any(frames).findings)
      EXPECT_NE(row.finding.type, ROCE_FINDING_PMTU);
    filled += static_cast<size_t>(std::ranges::count_if(frames, fills));
    captures++;
  }
  EXPECT_GT(captures, 20u);
  EXPECT_GT(filled, 1000u);
}

// ---- congestion

// A capture of WRITEs with its first request after an ACK, and the QPN of its sender.
struct Marked {
  TakenFrames frames = read_frames("rc_write_ect_v4");
  size_t ack = find_frame(frames, is_plain_ack);
  size_t request = find_frame(
      frames, [](const Taken &f) { return f.is_request(); }, ack);
  uint32_t sender_qp = roce_key_qp(&frames[ack].packet.key);
};

TEST(Findings, CeWithoutCnp) {
  Marked with;
  for (size_t i = with.request; i < with.request + 3; i++)
    if (with.frames[i].is_request())
      mark(with.frames[i]);
  const Episodes e = follow(with.frames);
  expect_only(e, ROCE_FINDING_CE_WITHOUT_CNP, with.request, -1, with.frames[with.request].psn());
  EXPECT_EQ(e.pairs[0].ce, e.findings[0].finding.value);

  // A CNP to the QP, or to another: a receiver may keep a distance between all of its CNPs.
  for (const uint32_t qp : {with.sender_qp, with.sender_qp + 1}) {
    TakenFrames right = with.frames;
    insert(right, with.request + 1, cnp_to(right[with.request], qp));
    const Episodes answered = follow(right);
    EXPECT_TRUE(answered.findings.empty());
    EXPECT_EQ(answered.pairs[0].cnps, qp == with.sender_qp ? 1u : 0u);
  }
}

TEST(Findings, CnpWithoutCe) {
  Marked with;
  TakenFrames wrong = with.frames;
  insert(wrong, with.request + 1, cnp_to(wrong[with.request], with.sender_qp));
  expect_only(follow(wrong), ROCE_FINDING_CNP_WITHOUT_CE, with.request + 1, -1, 0);

  mark(wrong[with.request]);
  EXPECT_TRUE(follow(wrong).findings.empty());
  // Marked only afterwards.
  wrong = with.frames;
  insert(wrong, with.request, cnp_to(wrong[with.request], with.sender_qp));
  mark(wrong[with.request + 1]);
  expect_only(follow(wrong), ROCE_FINDING_CNP_WITHOUT_CE, with.request, -1, 0);
  // Some RNICs send one with a NAK.
  TakenFrames lost = read_frames("loss_rc_send_v4");
  const size_t nak = find_frame(lost, is_nak);
  insert(lost, nak + 1, cnp_to(lost[nak - 1], roce_key_qp(&lost[nak].packet.key)));
  EXPECT_TRUE(follow(lost).findings.empty());
}

// Two QPs in turn every 25 us.
TEST(Findings, CnpPacing) {
  Marked with;
  TakenFrames frames = with.frames;
  mark(frames[with.request]);
  const uint64_t start = frames.back().ns;
  for (uint32_t i = 0; i < 6; i++) {
    frames.push_back(cnp_to(frames[with.request], with.sender_qp + i % 2));
    frames.back().ns = start + (i + 1) * 25'000;
  }
  const Episodes e = follow(frames);
  ASSERT_EQ(e.cnps.size(), 1u);
  EXPECT_EQ(e.cnps[0].cnps, 6u);
  EXPECT_EQ(e.cnps[0].qps, 2u);
  EXPECT_EQ(e.cnps[0].destinations, 1u);
  EXPECT_EQ(e.cnps[0].qp_ns, 50'000u);
  EXPECT_EQ(e.cnps[0].destination_ns, 25'000u);
  EXPECT_EQ(e.cnps[0].port_ns, 25'000u);
  EXPECT_EQ(e.pairs[0].cnp_ns, 50'000u);
  EXPECT_TRUE(e.findings.empty());
}

} // namespace
} // namespace xr::test::findings_test
