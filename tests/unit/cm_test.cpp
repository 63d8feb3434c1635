// SPDX-License-Identifier: Apache-2.0
// RDMA CM announces the first PSN of a stream and its PMTU (include/roce/README.md 6), so that a
// loss of the first packets is detected. Runs on the analyzer, also with a real rping session.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "frames.h"
#include "native/native_datapath.h"
#include "roce/cm.h"

namespace xr::test::cm_test {
namespace {

// The frames of a legacy little-endian pcap: enough of a reader for one file of our own.
std::vector<Frame> load(const char *path) {
  std::ifstream file(path, std::ios::binary);
  const Bytes all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto word = [&all](size_t at) {
    uint32_t v;
    memcpy(&v, &all[at], 4);
    return v;
  };
  std::vector<Frame> frames;
  for (size_t at = 24; at + 16 <= all.size();) {
    const uint32_t captured = word(at + 8);
    Frame f;
    f.length = word(at + 12);
    at += 16;
    f.bytes.assign(all.begin() + static_cast<ptrdiff_t>(at),
                   all.begin() + static_cast<ptrdiff_t>(at + captured));
    at += captured;
    frames.push_back(std::move(f));
  }
  return frames;
}

const std::vector<Frame> &rping() {
  static const std::vector<Frame> frames = load(XR_TEST_DATA "/rping_v4.pcap");
  return frames;
}

// a = 10.77.0.1 sends the REQ, b the REP. Numbers as tshark reads them.
constexpr uint32_t kQpA = 0x31, kPsnToA = 0x8940f8, kQpB = 0x38, kPsnToB = 0xe9e0f0;

void account(NativeDatapath &accountant, const Frame &f) {
  accountant.frame({.data = f.bytes.data(),
                    .captured = static_cast<uint32_t>(f.bytes.size()),
                    .length = f.length});
}

std::vector<roce_stream> streams_of(const NativeDatapath &accountant) {
  Snapshot snapshot;
  accountant.snapshot(snapshot);
  return snapshot.streams;
}

const roce_stream *requests_to(const std::vector<roce_stream> &streams, uint32_t qp) {
  for (const roce_stream &s : streams)
    if (roce_key_qp(&s.key) == qp && roce_key_kind(&s.key) == ROCE_KIND_REQUEST)
      return &s;
  return nullptr;
}

uint32_t pmtu_of(const roce_stream &s) {
  const uint32_t code = (s.word & ROCE_WORD_PMTU) >> ROCE_WORD_PMTU_SHIFT;
  return code ? roce_pmtu_bytes(code) : 0;
}

uint64_t count(const roce_stream &s, int counter) { return roce_stream_counter(&s, counter); }

roce_cm parse_cm(const Frame &f) {
  roce_cm cm{};
  const Parsed got = parse(f);
  roce_parse_cm(f.bytes.data() + got.packet.bth, f.bytes.data() + f.bytes.size(), &cm);
  return cm;
}

TEST(Cm, ReadsRequestAndReply) {
  ASSERT_EQ(rping().size(), 245u);
  const roce_cm req = parse_cm(rping()[0]), rep = parse_cm(rping()[1]);
  EXPECT_EQ(req.attribute, ROCE_CM_ATTR_REQ);
  EXPECT_EQ(req.qpn, kQpA);
  EXPECT_EQ(req.psn, kPsnToA);
  EXPECT_EQ(req.pmtu_code, 3);
  EXPECT_EQ(rep.attribute, ROCE_CM_ATTR_REP);
  EXPECT_EQ(rep.qpn, kQpB);
  EXPECT_EQ(rep.psn, kPsnToB);
  EXPECT_EQ(rep.pmtu_code, 0) << "only a REQ has it";
  EXPECT_EQ(rep.remote_id, req.local_id);
  EXPECT_EQ(parse_cm(rping()[2]).attribute, 0) << "RTU";
  EXPECT_EQ(parse_cm(rping()[243]).attribute, 0) << "DREQ";
}

TEST(Cm, ReadsNothingFromPartOfAMad) {
  const Frame &whole = rping()[0];
  for (size_t bytes = 54; bytes < whole.bytes.size(); bytes++) {
    Frame cut;
    cut.bytes.assign(whole.bytes.begin(), whole.bytes.begin() + static_cast<ptrdiff_t>(bytes));
    cut.length = whole.length;
    const bool enough = bytes >= 42u + ROCE_CM_REQ_PMTU + 1;
    EXPECT_EQ(parse_cm(cut).attribute, enough ? ROCE_CM_ATTR_REQ : 0) << bytes;
  }
}

TEST(Cm, OtherMadsAndOtherPmtuCodes) {
  Frame other = rping()[0];
  other.bytes[42 + ROCE_CM_MAD + 1] = 0x03; // subnet administration
  EXPECT_EQ(parse_cm(other).attribute, 0);
  for (int code = 0; code < 16; code++) {
    Frame req = rping()[0];
    req.bytes[42 + ROCE_CM_REQ_PMTU] = static_cast<uint8_t>(code << 4 | 7);
    EXPECT_EQ(parse_cm(req).pmtu_code, code >= 1 && code <= 5 ? code : 0);
  }
}

TEST(Cm, ACleanSessionIsClean) {
  NativeDatapath accountant({});
  for (const Frame &f : rping())
    account(accountant, f);
  const std::vector<roce_stream> streams = streams_of(accountant);
  EXPECT_EQ(streams.size(), 6u); // requests and responses each way, and QP 1 each way
  for (const roce_stream &s : streams)
    for (int counter : {ROCE_GAPS, ROCE_DUPLICATES, ROCE_RESYNCS, ROCE_JUMPS, ROCE_REWINDS})
      EXPECT_EQ(count(s, counter), 0u);
  for (const auto &[qp, psn] : {std::pair{kQpA, kPsnToA}, {kQpB, kPsnToB}}) {
    const roce_stream *s = requests_to(streams, qp);
    ASSERT_NE(s, nullptr);
    EXPECT_EQ(s->first_psn, psn);
    EXPECT_EQ(pmtu_of(*s), 1024u);
    EXPECT_TRUE(s->word & ROCE_WORD_PMTU_FIXED);
    EXPECT_EQ(s->flags >> ROCE_STREAM_TRANSPORT_SHIFT, 1u) << "it is RC, though CM began it";
  }
}

// The first three packets after the REP are lost, in both streams.
TEST(Cm, LossOfTheFirstPacketsIsAGap) {
  NativeDatapath accountant({});
  std::map<uint32_t, int> seen;
  for (const Frame &f : rping()) {
    const Parsed got = parse(f);
    if (got.packet.info & ROCE_OP_REQUEST && seen[roce_key_qp(&got.packet.key)]++ < 3)
      continue;
    account(accountant, f);
  }
  const std::vector<roce_stream> streams = streams_of(accountant);
  for (uint32_t qp : {kQpA, kQpB}) {
    const roce_stream *s = requests_to(streams, qp);
    ASSERT_NE(s, nullptr);
    EXPECT_EQ(count(*s, ROCE_GAPS), 1u);
    EXPECT_EQ(count(*s, ROCE_SKIPPED), 3u);
    EXPECT_EQ(count(*s, ROCE_JUMPED), 3u);
    EXPECT_EQ(count(*s, ROCE_RESYNCS), 0u);
  }
}

// Every MAD is sent again after every packet: the streams must not begin again.
TEST(Cm, RepeatedMadsChangeNothing) {
  NativeDatapath once({}), often({});
  for (const Frame &f : rping()) {
    account(once, f);
    account(often, f);
    for (int mad : {0, 1, 2})
      if (&f - rping().data() >= mad)
        account(often, rping()[static_cast<size_t>(mad)]);
  }
  const std::vector<roce_stream> a = streams_of(once), b = streams_of(often);
  for (uint32_t qp : {kQpA, kQpB}) {
    const roce_stream *x = requests_to(a, qp), *y = requests_to(b, qp);
    ASSERT_TRUE(x && y);
    EXPECT_EQ(roce_stream_packets(x), roce_stream_packets(y));
    EXPECT_EQ(x->first_psn, y->first_psn);
    EXPECT_EQ(x->messages, y->messages);
    for (int counter = 0; counter < ROCE_STREAM_COUNTERS; counter++)
      EXPECT_EQ(count(*x, counter), count(*y, counter)) << counter;
  }
}

// A stream from a to b's QP, after the handshake's first `mads` messages.
struct Session {
  explicit Session(size_t mads) {
    for (size_t i = 0; i < mads; i++)
      account(accountant, rping()[i]);
  }
  void send(uint8_t opcode, int psn, uint32_t payload = 0, uint32_t dma_len = 0) {
    Frame f = FrameBuilder(opcode)
                  .qp(kQpB)
                  .psn((kPsnToB + static_cast<uint32_t>(psn)) & 0xffffff)
                  .payload(payload)
                  .dma_len(dma_len)
                  .build();
    const Frame &like = rping()[3]; // the addresses of a's first SEND
    std::copy_n(like.bytes.begin() + 26, 8, f.bytes.begin() + 26);
    account(accountant, f);
  }
  const roce_stream &stream() {
    streams = streams_of(accountant);
    const roce_stream *s = requests_to(streams, kQpB);
    EXPECT_NE(s, nullptr);
    return *s;
  }
  NativeDatapath accountant{NativeDatapath::Options{}};
  std::vector<roce_stream> streams;
};

TEST(Cm, ReadsTakeThePsnsOfTheAnnouncedPmtu) {
  Session session(2);
  session.send(ROCE_RC_RDMA_READ_REQUEST, 0, 0, 65536);
  session.send(ROCE_RC_SEND_ONLY, 64);
  EXPECT_EQ(count(session.stream(), ROCE_GAPS), 0u);
  session.send(ROCE_RC_RDMA_READ_REQUEST, 65, 0, 4096);
  session.send(ROCE_RC_SEND_ONLY, 70);
  EXPECT_EQ(count(session.stream(), ROCE_SKIPPED), 1u);
}

TEST(Cm, AnnouncedPmtuIsNotRelearnt) {
  Session session(2);
  session.send(ROCE_RC_SEND_FIRST, 0, 256);
  session.send(ROCE_RC_SEND_LAST, 1, 4);
  EXPECT_EQ(pmtu_of(session.stream()), 1024u);
  Session untold(0);
  untold.send(ROCE_RC_SEND_FIRST, 0, 256);
  EXPECT_EQ(pmtu_of(untold.stream()), 256u);
}

// The REP alone arms the stream; it does not know the PMTU, which is then learnt as usual.
TEST(Cm, ReplyWithoutItsRequest) {
  Session session(0);
  account(session.accountant, rping()[1]);
  session.send(ROCE_RC_SEND_FIRST, 2, 512);
  EXPECT_EQ(count(session.stream(), ROCE_SKIPPED), 2u);
  EXPECT_EQ(session.stream().first_psn, kPsnToB);
  EXPECT_EQ(pmtu_of(session.stream()), 512u);
}

// Another connection that is given the same QPN: no gap, and the stream's numbers continue.
TEST(Cm, AnotherLifeOfTheQpn) {
  Session session(2);
  session.send(ROCE_RC_SEND_ONLY, 0);
  session.send(ROCE_RC_SEND_ONLY, 2);
  Frame rep = rping()[1];
  rep.bytes[42 + ROCE_CM_LOCAL_ID] ^= 1;
  const uint32_t psn = (kPsnToB + 100) << 8 | 0x55; // 24 bits, then reserved ones
  for (size_t i = 0; i < 4; i++)
    rep.bytes[42 + ROCE_CM_REP_PSN + i] = static_cast<uint8_t>(psn >> (24 - 8 * i));
  account(session.accountant, rep);
  session.send(ROCE_RC_SEND_ONLY, 101);
  session.send(ROCE_RC_SEND_ONLY, 1); // a hole of the previous life
  const roce_stream &s = session.stream();
  EXPECT_EQ(roce_stream_packets(&s), 4u);
  EXPECT_EQ(count(s, ROCE_RESYNCS), 1u);
  EXPECT_EQ(count(s, ROCE_SKIPPED), 1u + 1u);
  EXPECT_EQ(count(s, ROCE_FILLED), 0u);
  EXPECT_EQ(count(s, ROCE_DUPLICATES), 1u);
  EXPECT_EQ(s.first_psn, kPsnToB + 100);
}

TEST(Cm, AnnouncedButSilentStreamsAreNotShown) {
  Session session(3);
  EXPECT_EQ(requests_to(streams_of(session.accountant), kQpA), nullptr);
  EXPECT_EQ(requests_to(streams_of(session.accountant), kQpB), nullptr);
  EXPECT_EQ(streams_of(session.accountant).size(), 2u) << "QP 1 each way";
}

// Bytes after the packet's end are no MAD, whatever they say.
TEST(Cm, OnlyTheDatagramItselfIsRead) {
  NativeDatapath accountant({});
  Frame f = rping()[0];
  f.bytes[38] = 0; // UDP length: BTH, DETH and iCRC; the rest would be padding
  f.bytes[39] = 8 + 12 + 8 + 4;
  std::vector<roce_event> events;
  accountant.on_event([&events](const roce_event &e) { events.push_back(e); });
  account(accountant, f);
  ASSERT_EQ(events.size(), 1u) << "the datagram's own stream, and no announced one";
  EXPECT_EQ(roce_key_qp(&events[0].key), ROCE_QPN_GSI);
}

// The analyser's table grows: more streams than it began with room for.
TEST(NativeDatapath, GrowsAndKeepsWhatItHas) {
  NativeDatapath accountant({});
  constexpr uint32_t kStreams = 5000;
  for (uint32_t psn = 0; psn < 3; psn++)
    for (uint32_t qp = 2; qp < 2 + kStreams; qp++)
      account(accountant, FrameBuilder(ROCE_RC_SEND_ONLY).qp(qp).psn(psn).build());
  Snapshot snapshot;
  accountant.snapshot(snapshot);
  EXPECT_EQ(snapshot.totals.streams_full, 0u);
  ASSERT_EQ(snapshot.streams.size(), kStreams);
  for (uint32_t i = 0; i < kStreams; i++) {
    EXPECT_EQ(roce_key_qp(&snapshot.streams[i].key), 2 + i) << "in order of appearance";
    EXPECT_EQ(roce_stream_packets(&snapshot.streams[i]), 3u);
    EXPECT_EQ(count(snapshot.streams[i], ROCE_DUPLICATES), 0u);
  }
}

TEST(NativeDatapath, ABoundedTableCountsWhatFindsNoRoom) {
  NativeDatapath accountant({.streams = 10});
  for (uint32_t qp = 2; qp < 27; qp++)
    account(accountant, FrameBuilder(ROCE_RC_SEND_ONLY).qp(qp).build());
  Snapshot snapshot;
  accountant.snapshot(snapshot);
  EXPECT_EQ(snapshot.streams.size(), 10u);
  EXPECT_EQ(snapshot.totals.streams_full, 15u);
  EXPECT_EQ(snapshot.opcodes[ROCE_RC_SEND_ONLY].packets[2], 25u);
}

TEST(NativeDatapath, CountsWithoutTracking) {
  NativeDatapath accountant({.track = false});
  account(accountant, FrameBuilder(ROCE_RC_SEND_ONLY).build());
  Snapshot snapshot;
  accountant.snapshot(snapshot);
  EXPECT_FALSE(snapshot.tracked);
  EXPECT_TRUE(snapshot.streams.empty());
  EXPECT_EQ(snapshot.opcodes[ROCE_RC_SEND_ONLY].packets[2], 1u);
}

} // namespace
} // namespace xr::test::cm_test
