// SPDX-License-Identifier: Apache-2.0
// The reliable requester against scripted responses: the packets it sends, and their times.
#include "requester/reliable.h"

#include <gtest/gtest.h>

#include "packet/icrc.h"

namespace xr::requester::reliable_test {
namespace {

using Bytes = std::vector<uint8_t>;
using packet::Verb;

constexpr uint32_t kQp = 0x11;
constexpr uint64_t kTimeout = 4096ULL << 4;

packet::Address ipv4(uint8_t host) {
  return {0, 0, ROCE_MAPPED_PREFIX, roce_swap32(0xc0000200U | host)};
}

struct Sent {
  uint8_t opcode;
  uint32_t psn;
  bool ack_req;
  uint32_t payload = 0, dma_len = 0;
  uint64_t va = 0;
  uint32_t qp = 0;
  packet::Damage damage = packet::Damage::None;
};

class ReliableTest : public testing::Test {
protected:
  ReliableTest() {
    flow_.path.src_mac = {2, 0, 0, 0, 0, 1};
    flow_.path.dst_mac = {2, 0, 0, 0, 0, 2};
    flow_.path.src = ipv4(1);
    flow_.path.dst = ipv4(2);
    flow_.qp = kQp;
    flow_.psn = 100;
    flow_.messages = 1;
    size(10);
    reliability_.timeout_code = 4;
  }
  void size(uint64_t bytes) { flow_.size.parts = {{.bytes = bytes}}; }
  ReliableSource &source() {
    if (!source_)
      source_ = std::make_unique<ReliableSource>(std::vector{flow_}, total_, 1e11, reliability_);
    return *source_;
  }
  const SendCounts &counts() { return source().counts(); }

  std::vector<Sent> sent(size_t room = 1000) {
    std::vector<packet::Outgoing> out(room);
    std::vector<Sent> all;
    const size_t count = source().next(now_, out);
    for (size_t i = 0; i < count; i++)
      all.push_back(look(out[i]));
    return all;
  }
  static Sent look(const packet::Outgoing &out) {
    Bytes bytes(out.shape->bytes().begin(), out.shape->bytes().end());
    out.shape->stamp(bytes.data(), out.fields);
    roce_packet p{};
    const uint8_t *data = bytes.data();
    EXPECT_EQ(roce_parse(data, data + bytes.size(), roce_swap16(ROCE_UDP_PORT), &p), ROCE_CLASS_V2);
    EXPECT_EQ(icrc_check(data, static_cast<uint32_t>(bytes.size()), p), Icrc::Good);
    Sent sent{p.opcode, p.psn, p.ack_req != 0, p.payload, 0, 0, roce_key_qp(&p.key), out.damage};
    if (p.info & ROCE_HAS_RETH) {
      const uint8_t *reth = data + p.bth + ROCE_BTH_LEN;
      sent.dma_len = roce_be32(reth + ROCE_RETH_DMALEN);
      sent.va = static_cast<uint64_t>(roce_be32(reth)) << 32 | roce_be32(reth + 4);
    }
    return sent;
  }
  std::vector<uint32_t> psns(size_t room = 1000) {
    std::vector<uint32_t> all;
    for (const Sent &one : sent(room))
      all.push_back(one.psn);
    return all;
  }
  using Psns = std::vector<uint32_t>;

  void feed(packet::Headers headers, uint32_t payload = 0, uint8_t from = 2, bool damaged = false) {
    packet::Path path;
    path.src = ipv4(from);
    path.dst = ipv4(1);
    if (!headers.dest_qp)
      headers.dest_qp = kQp;
    auto frame = packet::build(path, headers, packet::counting_payload(payload));
    ASSERT_TRUE(frame.ok()) << frame.error().message;
    Bytes &bytes = frame->bytes;
    if (damaged)
      bytes.back() ^= 1;
    roce_packet p{};
    const int class_ =
        roce_parse(bytes.data(), bytes.data() + bytes.size(), roce_swap16(ROCE_UDP_PORT), &p);
    source().receive(now_, bytes, static_cast<roce_class>(class_), p);
  }
  void ack(uint32_t psn, uint8_t syndrome = 0x1f) {
    feed({.opcode = ROCE_RC_ACKNOWLEDGE, .psn = psn, .syndrome = syndrome});
  }
  void response(uint8_t opcode, uint32_t psn, uint32_t payload) {
    feed({.opcode = opcode, .psn = psn}, payload);
  }

  flow::Flow flow_;
  congestion::Rate total_;
  Reliability reliability_;
  uint64_t now_ = 1000;
  std::unique_ptr<ReliableSource> source_;
};

// Answers for QPs that are not here: the first few QPNs are remembered, each once.
TEST_F(ReliableTest, StrayQpsAreNamed) {
  sent();
  for (const uint32_t qp : {0x99U, 0x99U, 0x77U})
    feed({.opcode = ROCE_RC_ACKNOWLEDGE, .dest_qp = qp, .psn = 100, .syndrome = 0x1f});
  ack(0x5000); // for its QP, of nothing that was sent
  EXPECT_EQ(counts().stray, 4U);
  EXPECT_EQ(counts().stray_qps.qps(), (std::vector<uint32_t>{0x99, 0x77}));
  EXPECT_FALSE(counts().stray_qps.more());
  for (uint32_t qp = 0x100; qp < 0x110; qp++)
    feed({.opcode = ROCE_RC_ACKNOWLEDGE, .dest_qp = qp, .psn = 100, .syndrome = 0x1f});
  EXPECT_EQ(counts().stray_qps.qps(), (std::vector<uint32_t>{0x99, 0x77, 0x100, 0x101}));
  EXPECT_TRUE(counts().stray_qps.more());
  SendCounts all;
  all.stray_qps.add(0x77);
  add(all, counts());
  EXPECT_EQ(all.stray_qps.qps(), (std::vector<uint32_t>{0x77, 0x99, 0x100, 0x101}));
  EXPECT_TRUE(all.stray_qps.more());
}

TEST_F(ReliableTest, SendsAMessageAndWaits) {
  flow_.verb = Verb::Write;
  size(2500);
  const std::vector<Sent> all = sent();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].opcode, ROCE_RC_RDMA_WRITE_FIRST);
  EXPECT_EQ(all[0].dma_len, 2500U);
  EXPECT_EQ(all[2].opcode, ROCE_RC_RDMA_WRITE_LAST);
  EXPECT_EQ(all[2].payload, 452U);
  for (uint32_t i = 0; i < 3; i++) {
    EXPECT_EQ(all[i].psn, 100 + i);
    EXPECT_EQ(all[i].ack_req, i == 2);
  }
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(source().wake_at(), 1000 + kTimeout);
  EXPECT_FALSE(source().done());
  now_ += 5000;
  ack(101);
  EXPECT_EQ(counts().messages, 0U);
  ack(102);
  EXPECT_TRUE(source().done());
  EXPECT_EQ(source().wake_at(), kNever);
  EXPECT_EQ(counts().messages, 1U);
  EXPECT_EQ(counts().message_bytes, 2500U);
  EXPECT_EQ(counts().acks, 2U);
  EXPECT_EQ(counts().rtt_ns.count(), 1U);
  EXPECT_EQ(counts().rtt_ns.max(), 5000U);
  EXPECT_EQ(counts().completion_ns.max(), 5000U);
  EXPECT_EQ(counts().retransmitted, 0U);
  EXPECT_EQ(counts().packets, 3U);
}

TEST_F(ReliableTest, KeepsTheWindow) {
  flow_.messages = 0;
  flow_.ack_every = 3;
  flow_.psn = 0xfffffe;
  size(1 << 20);
  reliability_.window = 5;
  std::vector<Sent> all = sent();
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[2].psn, 0U);
  EXPECT_EQ(all[4].psn, 2U);
  for (uint32_t i = 0; i < 5; i++) // every third, and where the window ends
    EXPECT_EQ(all[i].ack_req, i == 2 || i == 4);
  ack(0);
  EXPECT_EQ(psns(), (Psns{3, 4, 5}));
  ack(1);
  all = sent();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].ack_req);
  ack(1);
  ack(0);
  EXPECT_EQ(counts().duplicate_acks, 2U);
  ack(7); // never sent
  EXPECT_EQ(counts().stray, 1U);
  EXPECT_TRUE(sent().empty());
}

TEST_F(ReliableTest, GoesBackOnANak) {
  flow_.messages = 2;
  size(3000);
  EXPECT_EQ(sent().size(), 6U);
  now_ += 10;
  ack(101, 0x60);
  EXPECT_EQ(psns(), (Psns{101, 102, 103, 104, 105}));
  EXPECT_EQ(counts().retransmitted, 5U);
  EXPECT_EQ(counts().naks, 1U);
  ack(104, 0x60); // says that the first message is there
  EXPECT_EQ(counts().messages, 1U);
  EXPECT_EQ(psns(2), (Psns{104, 105}));
  ack(105);
  EXPECT_EQ(counts().messages, 2U);
  EXPECT_EQ(counts().rtt_ns.count(), 0U); // Karn
  EXPECT_EQ(counts().completion_ns.count(), 2U);
  EXPECT_TRUE(source().done());
}

TEST_F(ReliableTest, LeavesOutWhatArrivedMeanwhile) {
  flow_.messages = 5;
  EXPECT_EQ(sent().size(), 5U);
  ack(101, 0x60);
  ack(103); // late packets did arrive
  EXPECT_EQ(psns(), (Psns{104}));
  EXPECT_EQ(counts().retransmitted, 1U);
}

TEST_F(ReliableTest, RetriesAfterTimeouts) {
  reliability_.retries = 3;
  flow_.messages = 4;
  EXPECT_EQ(sent().size(), 4U);
  ack(100);
  for (int round = 1; round <= 3; round++) {
    now_ += kTimeout - 1;
    EXPECT_TRUE(sent().empty());
    EXPECT_EQ(source().wake_at(), now_ + 1);
    now_ += 1;
    EXPECT_EQ(psns(), (Psns{101, 102, 103}));
    EXPECT_EQ(counts().timeouts, static_cast<uint64_t>(round));
  }
  EXPECT_FALSE(source().done());
  now_ += kTimeout;
  EXPECT_TRUE(sent().empty());
  EXPECT_TRUE(source().done());
  EXPECT_EQ(counts().failed_qps, 1U);
  EXPECT_EQ(counts().failed_messages, 3U);
  EXPECT_EQ(counts().messages, 1U);
}

// The source is done when the last of its QPs has its answer, not before.
TEST_F(ReliableTest, IsDoneWhenEveryQpIs) {
  flow_.qps = 3;
  EXPECT_EQ(sent().size(), 3U);
  for (uint32_t qp = 0; qp < 3; qp++) {
    EXPECT_FALSE(source().done()) << qp << " of 3 QPs are answered";
    feed({.opcode = ROCE_RC_ACKNOWLEDGE, .dest_qp = kQp + qp, .psn = 100, .syndrome = 0x1f});
  }
  EXPECT_EQ(counts().messages, 3U);
  EXPECT_TRUE(source().done());
}

TEST_F(ReliableTest, ForgetsRetriesWithProgress) {
  reliability_.retries = 1;
  flow_.messages = 3;
  EXPECT_EQ(sent().size(), 3U);
  for (uint32_t psn = 100; psn < 103; psn++) {
    now_ += kTimeout;
    EXPECT_EQ(psns().front(), psn);
    ack(psn);
  }
  EXPECT_TRUE(source().done());
  EXPECT_EQ(counts().failed_qps, 0U);
}

TEST_F(ReliableTest, TheTimerBeginsAnewWithProgress) {
  flow_.messages = 2;
  sent();
  now_ += kTimeout - 10;
  ack(100);
  now_ += kTimeout - 1;
  EXPECT_TRUE(sent().empty());
  now_ += 1;
  EXPECT_EQ(psns(), (Psns{101}));
}

TEST_F(ReliableTest, TheTimerIsTheOldestPackets) {
  flow_.messages = 2;
  flow_.pacing.rate = {.kind = congestion::Rate::Kind::Packets, .value = 1e5, .text = {}};
  EXPECT_EQ(psns(), (Psns{100}));
  now_ += 10'000;
  EXPECT_EQ(psns(), (Psns{101}));
  now_ += kTimeout - 10'000;
  EXPECT_EQ(psns(1), (Psns{100})); // and not from what was sent since
}

TEST_F(ReliableTest, WaitsForTheReceiver) {
  flow_.messages = 3;
  sent();
  ack(101, 0x20 | 1); // 10 us
  EXPECT_EQ(counts().messages, 1U);
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(source().wake_at(), now_ + 10'000);
  now_ += 10'000;
  EXPECT_EQ(psns(), (Psns{101, 102}));
  EXPECT_EQ(counts().timeouts, 0U);
  EXPECT_EQ(counts().rnr_naks, 1U);
}

TEST_F(ReliableTest, ObeysANakOnce) {
  flow_.messages = 3;
  sent();
  ack(101, 0x21);
  now_ += 4000;
  ack(101, 0x21); // the network's copy
  now_ += 6000;
  EXPECT_EQ(psns(), (Psns{101, 102}));
  ack(102, 0x60);
  ack(102, 0x60);
  EXPECT_EQ(psns(), (Psns{102}));
}

TEST_F(ReliableTest, GivesUpWhenNaksAreOfNoUse) {
  reliability_.retries = 2;
  flow_.messages = 2;
  sent();
  for (int i = 0; i < 2; i++) {
    ack(100, 0x60);
    EXPECT_EQ(psns(), (Psns{100, 101}));
  }
  ack(100, 0x60);
  EXPECT_TRUE(source().done());
  EXPECT_EQ(counts().failed_qps, 1U);
}

TEST_F(ReliableTest, GivesUpOnAReceiverThatIsNeverReady) {
  reliability_.rnr_retries = 2;
  sent();
  for (int i = 0; i < 2; i++) {
    ack(100, 0x21);
    now_ += 10'000;
    EXPECT_EQ(psns(), (Psns{100}));
  }
  ack(100, 0x21);
  EXPECT_TRUE(source().done());
  EXPECT_EQ(counts().failed_qps, 1U);
  EXPECT_EQ(counts().failed_messages, 1U);
}

TEST_F(ReliableTest, FailsOnFatalNaks) {
  for (uint8_t syndrome = 0x61; syndrome <= 0x64; syndrome++) {
    source_.reset();
    flow_.messages = 3;
    sent();
    ack(101, syndrome);
    EXPECT_TRUE(source().done());
    EXPECT_EQ(counts().invalid_naks + counts().access_naks + counts().operational_naks, 1U);
    EXPECT_EQ(counts().access_naks, syndrome == 0x62 ? 1U : 0U);
    EXPECT_EQ(counts().naks, 0U);
    EXPECT_EQ(counts().failed_qps, 1U);
    EXPECT_EQ(counts().messages, 1U);
    EXPECT_EQ(counts().failed_messages, 2U);
    EXPECT_TRUE(sent().empty());
  }
}

TEST_F(ReliableTest, ReadsInOrder) {
  flow_.verb = Verb::Read;
  flow_.messages = 2;
  size(2500);
  const std::vector<Sent> all = sent();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].psn, 103U);
  EXPECT_EQ(all[1].dma_len, 2500U);
  response(ROCE_RC_RDMA_READ_RESPONSE_FIRST, 100, 1024);
  response(ROCE_RC_RDMA_READ_RESPONSE_MIDDLE, 101, 1024);
  response(ROCE_RC_RDMA_READ_RESPONSE_MIDDLE, 101, 1024);
  EXPECT_EQ(counts().duplicate_acks, 1U);
  response(ROCE_RC_RDMA_READ_RESPONSE_LAST, 102, 452);
  EXPECT_EQ(counts().messages, 1U);
  for (uint32_t i = 0; i < 2; i++)
    response(i ? ROCE_RC_RDMA_READ_RESPONSE_MIDDLE : ROCE_RC_RDMA_READ_RESPONSE_FIRST, 103 + i,
             1024);
  response(ROCE_RC_RDMA_READ_RESPONSE_LAST, 105, 450); // not its length
  EXPECT_EQ(counts().stray, 1U);
  response(ROCE_RC_RDMA_READ_RESPONSE_LAST, 105, 452);
  EXPECT_TRUE(source().done());
  EXPECT_EQ(counts().message_bytes, 5000U);
  EXPECT_EQ(counts().rtt_ns.count(), 2U);
}

TEST_F(ReliableTest, AsksAnewForTheRestOfARead) {
  flow_.verb = Verb::Read;
  flow_.messages = 2;
  flow_.va = 0x123456789a;
  size(5000);
  EXPECT_EQ(sent().size(), 2U);
  response(ROCE_RC_RDMA_READ_RESPONSE_FIRST, 100, 1024);
  response(ROCE_RC_RDMA_READ_RESPONSE_MIDDLE, 101, 1024);
  response(ROCE_RC_RDMA_READ_RESPONSE_MIDDLE, 103, 1024); // 102 is lost
  std::vector<Sent> all = sent();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].psn, 102U);
  EXPECT_EQ(all[0].va, 0x123456789aU + 2048);
  EXPECT_EQ(all[0].dma_len, 5000U - 2048);
  EXPECT_EQ(all[1].psn, 105U);
  EXPECT_EQ(all[1].dma_len, 5000U);
  response(ROCE_RC_RDMA_READ_RESPONSE_LAST, 104, 904); // once is enough
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(counts().retransmitted, 2U);
  response(ROCE_RC_RDMA_READ_RESPONSE_FIRST, 102, 1024);
  response(ROCE_RC_RDMA_READ_RESPONSE_MIDDLE, 103, 1024);
  response(ROCE_RC_RDMA_READ_RESPONSE_LAST, 104, 904);
  EXPECT_EQ(counts().messages, 1U);
  ack(109); // something newer, while its answers are missing
  EXPECT_EQ(psns(), (Psns{105}));
  EXPECT_EQ(counts().messages, 1U);
}

TEST_F(ReliableTest, ANakOfALaterReadLeavesTheEarlier) {
  flow_.verb = Verb::Read;
  flow_.messages = 3;
  size(2048);
  EXPECT_EQ(psns(), (Psns{100, 102, 104}));
  ack(102, 0x60);
  EXPECT_EQ(psns(), (Psns{102, 104}));
  EXPECT_EQ(counts().messages, 0U);
  EXPECT_EQ(source().wake_at(), now_ + kTimeout);
}

TEST_F(ReliableTest, NaksOfLaterRequestsAreProgress) {
  reliability_.retries = 1;
  flow_.verb = Verb::FetchAdd;
  flow_.messages = 8;
  sent();
  for (uint32_t psn = 101; psn < 107; psn++) {
    ack(psn, 0x60);
    EXPECT_EQ(psns().front(), psn);
  }
  EXPECT_EQ(counts().failed_qps, 0U);
  ack(106, 0x60);
  EXPECT_EQ(psns().front(), 106U);
  ack(106, 0x60);
  EXPECT_EQ(counts().failed_qps, 1U);
}

TEST_F(ReliableTest, AtomicsWaitForTheirAnswers) {
  flow_.verb = Verb::FetchAdd;
  flow_.messages = 40;
  EXPECT_EQ(sent().size(), 16U); // what a responder keeps results of
  ack(102);
  EXPECT_EQ(psns().front(), 100U);
  for (uint32_t psn = 100; psn < 110; psn++)
    feed({.opcode = ROCE_RC_ATOMIC_ACKNOWLEDGE, .psn = psn});
  EXPECT_EQ(counts().messages, 10U);
  EXPECT_EQ(counts().message_bytes, 80U);
  EXPECT_EQ(sent().size(), 10U);
}

TEST_F(ReliableTest, LooksAtWhoAnswers) {
  flow_.pacing.start_ns = 500;
  ack(100); // before anything was sent
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(counts().stray, 1U);
  now_ += 500;
  EXPECT_EQ(sent().size(), 1U);
  feed({.opcode = ROCE_RC_ACKNOWLEDGE, .psn = 100}, 0, 3);
  feed({.opcode = ROCE_RC_ACKNOWLEDGE, .dest_qp = 0x12, .psn = 100});
  feed({.opcode = ROCE_XRC_ACKNOWLEDGE, .psn = 100});
  feed({.opcode = ROCE_RC_SEND_ONLY, .psn = 100});
  EXPECT_EQ(counts().stray, 4U);
  feed({.opcode = ROCE_RC_ACKNOWLEDGE, .psn = 100}, 0, 2, true);
  EXPECT_EQ(counts().bad_icrc_received, 1U);
  feed({.opcode = ROCE_OPCODE_CNP});
  EXPECT_EQ(counts().cnps, 1U);
  EXPECT_FALSE(source().done());
  ack(100);
  EXPECT_TRUE(source().done());
}

TEST_F(ReliableTest, QpsTakeTurns) {
  flow_.qps = 3;
  flow_.src_qp = 0x200;
  size(2048);
  std::vector<uint32_t> order;
  for (const Sent &one : sent())
    order.push_back(one.qp - kQp);
  EXPECT_EQ(order, (std::vector<uint32_t>{0, 1, 2, 0, 1, 2}));
  for (uint32_t i = 0; i < 3; i++) {
    EXPECT_FALSE(source().done());
    feed({.opcode = ROCE_RC_ACKNOWLEDGE, .dest_qp = 0x200 + i, .psn = 101});
  }
  EXPECT_TRUE(source().done());
  source_.reset();
  flow_.interleave = false;
  order.clear();
  for (const Sent &one : sent())
    order.push_back(one.qp - kQp);
  EXPECT_EQ(order, (std::vector<uint32_t>{0, 0, 1, 1, 2, 2}));
}

TEST_F(ReliableTest, IsPaced) {
  flow_.messages = 100;
  flow_.pacing.rate = {.kind = congestion::Rate::Kind::Packets, .value = 1e6, .text = {}};
  EXPECT_EQ(psns(), (Psns{100}));
  EXPECT_EQ(source().wake_at(), now_ + 1000);
  now_ += 3000;
  EXPECT_EQ(psns(), (Psns{101, 102, 103}));
  ack(100, 0x60);
  EXPECT_TRUE(sent().empty()); // what is sent again is paced too
  now_ += 1000;
  EXPECT_EQ(psns(), (Psns{100}));
  EXPECT_DOUBLE_EQ(source().asked_pps(), 1e6);
  EXPECT_EQ(source().expected(), 100U);

  source_.reset();
  flow_.pacing = {};
  total_ = {.kind = congestion::Rate::Kind::Packets, .value = 1e5, .text = {}};
  EXPECT_EQ(psns(), (Psns{100}));
  EXPECT_EQ(source().wake_at(), now_ + 10'000);
}

TEST_F(ReliableTest, EndsByTime) {
  flow_.messages = 0;
  flow_.duration_ns = 20'000;
  reliability_.window = 4;
  size(1024 * 3);
  EXPECT_EQ(psns(), (Psns{100, 101, 102, 103}));
  EXPECT_EQ(source().wake_at(), now_ + 20'000);
  now_ += 20'000;
  EXPECT_TRUE(sent().empty());
  ack(103);
  EXPECT_EQ(psns(), (Psns{104, 105})); // what has begun is completed
  EXPECT_FALSE(source().done());
  ack(105);
  EXPECT_TRUE(source().done());
  EXPECT_EQ(counts().messages, 2U);
  EXPECT_EQ(source().expected(), 0U);
}

TEST_F(ReliableTest, DrainsForSoLong) {
  flow_.messages = 0;
  flow_.duration_ns = 20'000;
  reliability_.drain_ns = 30'000;
  reliability_.window = 4;
  sent();
  now_ += 50'000;
  EXPECT_TRUE(sent().empty());
  EXPECT_TRUE(source().done());
  EXPECT_EQ(counts().failed_messages, 4U);
}

TEST_F(ReliableTest, EndsWithItsBursts) {
  flow_.messages = 0;
  flow_.pacing.shape = congestion::Pacing::Shape::Burst;
  flow_.pacing.burst_packets = 4;
  flow_.pacing.bursts = 1;
  size(3000);
  EXPECT_EQ(sent().size(), 6U); // the message is completed
  ack(105);
  EXPECT_TRUE(source().done());
}

TEST_F(ReliableTest, RecoversFromFaultsOnPurpose) {
  flow_.messages = 6;
  const auto fault = [&](flow::Fault::Kind kind, uint64_t position) {
    flow::Fault f;
    f.kind = kind;
    f.when = flow::Fault::When::Positions;
    f.positions = {position};
    flow_.faults.push_back(f);
  };
  fault(flow::Fault::Kind::Repeat, 1);
  fault(flow::Fault::Kind::Skip, 2);
  fault(flow::Fault::Kind::GhostAck, 3);
  fault(flow::Fault::Kind::Reorder, 4);
  fault(flow::Fault::Kind::Icrc, 5);
  fault(flow::Fault::Kind::Pad, 6);
  const std::vector<Sent> all = sent();
  std::vector<uint32_t> order;
  for (const Sent &one : all)
    order.push_back(one.psn);
  EXPECT_EQ(order, (Psns{100, 100, 102, 102, 104, 103, 105}));
  EXPECT_EQ(all[3].opcode, ROCE_RC_ACKNOWLEDGE);
  EXPECT_EQ(all[0].damage, packet::Damage::None);
  EXPECT_EQ(all[4].damage, packet::Damage::Icrc);
  EXPECT_EQ(all[6].damage, packet::Damage::Pad);
  ack(101, 0x60);
  EXPECT_EQ(psns(), (Psns{101, 102, 103, 104, 105}));
  for (const uint64_t count : {counts().skipped, counts().repeated, counts().reordered,
                               counts().ghost_acks, counts().bad_icrc, counts().bad_pad})
    EXPECT_EQ(count, 1U);
}

TEST_F(ReliableTest, HasRoomForManyQps) {
  flow_.qps = 100'000;
  flow_.psn.reset();
  size_t count = 0;
  for (size_t got = 0; (got = sent().size()); count += got)
    ;
  EXPECT_EQ(count, 100'000U);
  now_ += kTimeout;
  for (count = 0; size_t got = sent().size(); count += got)
    ;
  EXPECT_EQ(count, 100'000U);
}

} // namespace
} // namespace xr::requester::reliable_test
