// SPDX-License-Identifier: Apache-2.0
// The responder, request by request: every bit of its responses.
#include <algorithm>
#include <deque>
#include <map>
#include <random>

#include "base/ring.h"
#include "packet/cm.h"
#include "packet/message.h"
#include "packet/neighbour.h"
#include "packet/peer_map.h"
#include "responder_requests.h"

namespace xr::responder::responder_test {
namespace {

using packet::CmKind;
using packet::CmMessage;

TEST_F(ResponderTest, AcknowledgesInOrder) {
  feed(request(ROCE_RC_SEND_ONLY, 0xffffff), 100);
  const Wire ack = only();
  EXPECT_EQ(ack.packet.psn, 0xffffffU);
  EXPECT_EQ(ack.msn(), 1U);
  EXPECT_EQ(ack.qp(), kQp);
  EXPECT_EQ(ack.packet.tos, ROCE_ECN_ECT0);
  EXPECT_GE(roce_be16(&ack.bytes[ack.packet.bth - 8]), 0xc000);
  feed(request(ROCE_RC_SEND_FIRST, 0, false), 1024);
  feed(request(ROCE_RC_SEND_MIDDLE, 1, true), 1024);
  expect_ack(1, 1);
  feed(request(ROCE_RC_SEND_LAST, 2), 3);
  expect_ack(2, 2);
  EXPECT_EQ(counts().messages, 2U);
  EXPECT_EQ(counts().message_bytes, 100 + 2048U + 3);
  EXPECT_EQ(counts().in_order, 4U);
  EXPECT_EQ(counts().requests, 4U);
  EXPECT_EQ(counts().qps, 1U);
}

TEST_F(ResponderTest, AcknowledgesEachAckReq) {
  for (uint32_t psn = 0; psn < 10; psn++)
    feed(request(ROCE_RC_SEND_ONLY, psn), 8);
  std::vector<uint32_t> acked;
  for (const Wire &wire : drain())
    acked.push_back(wire.packet.psn);
  EXPECT_EQ(acked, (std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

// No request is left out because too many ACKs wait.
TEST_F(ResponderTest, MergesAcksWhenTheQueueFills) {
  for (uint32_t psn = 0; psn < 1000; psn++)
    feed(request(ROCE_RC_SEND_ONLY, psn), 8);
  EXPECT_EQ(counts().answers_dropped, 0U);
  EXPECT_EQ(drain().back().packet.psn, 999U);
}

TEST_F(ResponderTest, MergesQueuedAcks) {
  options_.merge_acks = true;
  for (uint32_t psn = 0; psn < 10; psn++)
    feed(request(ROCE_RC_SEND_ONLY, psn), 8);
  expect_ack(9, 10);
  EXPECT_EQ(counts().acks, 1U);
}

TEST_F(ResponderTest, AcknowledgesEveryNth) {
  options_.ack_every = 3;
  std::vector<uint32_t> acked;
  for (uint32_t psn = 0; psn < 8; psn++) {
    feed(request(ROCE_RC_RDMA_WRITE_ONLY, psn, psn == 3), 8);
    for (const Wire &wire : drain())
      acked.push_back(wire.packet.psn);
  }
  EXPECT_EQ(acked, (std::vector<uint32_t>{2, 3, 6}));
}

TEST_F(ResponderTest, ReportsAGapOnce) {
  feed(request(ROCE_RC_SEND_ONLY, 5));
  drain();
  feed(request(ROCE_RC_SEND_ONLY, 8));
  expect_nak(0x60, 6);
  feed(request(ROCE_RC_SEND_ONLY, 9));
  feed(request(ROCE_RC_SEND_ONLY, 7));
  EXPECT_TRUE(drain().empty());
  feed(request(ROCE_RC_SEND_ONLY, 6));
  expect_ack(6, 2);
  feed(request(ROCE_RC_SEND_ONLY, 8));
  expect_nak(0x60, 7);
  EXPECT_EQ(counts().out_of_order, 4U);
  EXPECT_EQ(counts().naks, 2U);
}

TEST_F(ResponderTest, RemovesAQueuedNakThatIsObsolete) {
  feed(request(ROCE_RC_SEND_ONLY, 5));
  drain();
  feed(request(ROCE_RC_SEND_ONLY, 7));
  feed(request(ROCE_RC_SEND_ONLY, 6));
  expect_ack(6, 2);
}

TEST_F(ResponderTest, AcknowledgesDuplicatesWithTheNewestPsn) {
  for (uint32_t psn = 5; psn < 9; psn++)
    feed(request(ROCE_RC_SEND_ONLY, psn));
  drain();
  feed(request(ROCE_RC_SEND_ONLY, 6));
  expect_ack(8, 4);
  feed(request(ROCE_RC_SEND_ONLY, 7, false));
  EXPECT_TRUE(drain().empty());
  EXPECT_EQ(counts().duplicates, 2U);
  EXPECT_EQ(counts().messages, 4U);
}

TEST_F(ResponderTest, AnswersReads) {
  for (const uint32_t length : {0U, 1U, 1024U, 1025U, 70000U}) {
    restart();
    const uint32_t first = 0xfffff0, psns = length ? (length + 1023) / 1024 : 1;
    feed(request(ROCE_RC_SEND_ONLY, first - 1));
    feed(read(first, length));
    feed(request(ROCE_RC_SEND_ONLY, roce_psn_add(first, psns)));
    const std::vector<Wire> all = drain();
    ASSERT_EQ(all.size(), psns + 2) << length; // each ACK after what came before
    EXPECT_EQ(all.front().packet.opcode, ROCE_RC_ACKNOWLEDGE);
    EXPECT_EQ(all.back().packet.opcode, ROCE_RC_ACKNOWLEDGE);
    uint32_t left = length;
    for (uint32_t i = 0; i < psns; i++) {
      const Wire &wire = all[i + 1];
      const packet::Segment wanted = packet::read_response(ROCE_RC, length, 1024, i);
      EXPECT_EQ(wire.packet.opcode, wanted.opcode);
      EXPECT_EQ(wire.packet.psn, roce_psn_add(first, i));
      EXPECT_EQ(wire.packet.payload, std::min(left, 1024U));
      if (wire.packet.info & ROCE_HAS_AETH) {
        EXPECT_EQ(wire.packet.syndrome, 0x1f);
        EXPECT_EQ(wire.msn(), 2U);
      }
      left -= wire.packet.payload;
    }
    EXPECT_EQ(left, 0U);
    EXPECT_EQ(counts().read_responses, psns);
  }
}

TEST_F(ResponderTest, LearnsThePmtu) {
  feed(request(ROCE_RC_RDMA_WRITE_FIRST, 0), 2048);
  feed(request(ROCE_RC_RDMA_WRITE_LAST, 1), 1);
  drain();
  feed(read(2, 4096));
  const std::vector<Wire> all = drain();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].packet.payload, 2048U);
  feed(request(ROCE_RC_SEND_ONLY, 4));
  expect_ack(4, 3);
}

TEST_F(ResponderTest, ReplaysReadsFromTheMiddle) {
  feed(read(10, 8192));
  EXPECT_EQ(drain().size(), 8U);
  feed(read(15, 3072));
  const std::vector<Wire> all = drain();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].packet.opcode, ROCE_RC_RDMA_READ_RESPONSE_FIRST);
  EXPECT_EQ(all[0].packet.psn, 15U);
  EXPECT_EQ(all[2].packet.opcode, ROCE_RC_RDMA_READ_RESPONSE_LAST);
  EXPECT_EQ(all[2].packet.psn, 17U);
  feed(request(ROCE_RC_SEND_ONLY, 18));
  expect_ack(18, 2);
  feed(read(15, 8192)); // beyond what was executed
  EXPECT_TRUE(drain().empty());
}

TEST_F(ResponderTest, AnswersAQueuedReadOnce) {
  feed(read(10, 8192));
  feed(read(10, 8192));
  EXPECT_EQ(drain().size(), 8U);
}

TEST_F(ResponderTest, HandlesTheLongestRead) {
  feed(read(0, 1U << 31));
  std::vector<packet::Outgoing> out(1000);
  EXPECT_EQ(responder().next(0, out), 1000U);
  EXPECT_LE(responder().wake_at(), 1U);
  feed(read(0x100000, 1U << 30)); // its second half, from more than 65536 before
  EXPECT_EQ(counts().duplicates, 1U);
  restart();
  feed(read(0, (1U << 31) + 1));
  expect_nak(0x61, 0);
}

TEST_F(ResponderTest, ReplaysAtomics) {
  const auto fetch_add = [&](uint32_t psn, uint64_t by) {
    Headers headers = request(ROCE_RC_FETCH_ADD, psn);
    headers.swap_add = by;
    feed(headers);
  };
  fetch_add(1, 5);
  Wire answer = only();
  EXPECT_EQ(answer.packet.opcode, ROCE_RC_ATOMIC_ACKNOWLEDGE);
  EXPECT_EQ(answer.original(), 0U);
  EXPECT_EQ(answer.msn(), 1U);
  fetch_add(2, 0x100000000ULL);
  EXPECT_EQ(only().original(), 5U);
  Headers swap = request(ROCE_RC_COMPARE_SWAP, 3);
  swap.compare = 0x100000005ULL;
  swap.swap_add = 9;
  feed(swap);
  EXPECT_EQ(only().original(), 0x100000005ULL);
  fetch_add(2, 0x100000000ULL);
  answer = only();
  EXPECT_EQ(answer.original(), 5U);
  EXPECT_EQ(answer.packet.psn, 2U);
  swap.psn = 4; // compares with what is not there any more
  feed(swap);
  EXPECT_EQ(only().original(), 9U);
  for (uint32_t psn = 5; psn < 5 + 15; psn++)
    fetch_add(psn, 1);
  EXPECT_EQ(drain().size(), 15U);
  fetch_add(3, 1); // of the 17th last nothing is known
  EXPECT_TRUE(drain().empty());
  fetch_add(4, 1);
  EXPECT_EQ(only().original(), 9U);
  EXPECT_EQ(counts().atomic_acks, 21U);
}

TEST_F(ResponderTest, AnswersFlushAndAtomicWrite) {
  feed(request(ROCE_RC_FLUSH, 1));
  feed(request(ROCE_RC_ATOMIC_WRITE, 2), 8);
  feed(request(ROCE_RC_FLUSH, 1));
  const std::vector<Wire> all = drain();
  ASSERT_EQ(all.size(), 3U);
  for (size_t i = 0; i < 3; i++) {
    EXPECT_EQ(all[i].packet.opcode, ROCE_RC_RDMA_READ_RESPONSE_ONLY);
    EXPECT_EQ(all[i].packet.payload, 0U);
    EXPECT_EQ(all[i].packet.psn, i == 1 ? 2U : 1U);
  }
  EXPECT_EQ(all[1].msn(), 2U);
}

TEST_F(ResponderTest, RefusesOpcodesOutOfSequence) {
  struct Case {
    uint8_t first, second;
  };
  for (const Case &c :
       {Case{ROCE_RC_SEND_ONLY, ROCE_RC_SEND_MIDDLE}, Case{ROCE_RC_SEND_ONLY, ROCE_RC_SEND_LAST},
        Case{ROCE_RC_SEND_FIRST, ROCE_RC_SEND_FIRST}, Case{ROCE_RC_SEND_FIRST, ROCE_RC_SEND_ONLY},
        Case{ROCE_RC_SEND_FIRST, ROCE_RC_RDMA_WRITE_MIDDLE},
        Case{ROCE_RC_RDMA_WRITE_FIRST, ROCE_RC_SEND_LAST},
        Case{ROCE_RC_SEND_FIRST, ROCE_RC_RDMA_READ_REQUEST}}) {
    restart();
    feed(request(c.first, 1), c.first == ROCE_RC_SEND_ONLY ? 0 : 1024);
    drain();
    const bool full = roce_opcode_info[c.second] & (ROCE_OP_FIRST | ROCE_OP_MIDDLE);
    const uint32_t payload = full ? 1024 : c.second == ROCE_RC_RDMA_READ_REQUEST ? 0 : 8;
    feed(request(c.second, 2), payload);
    expect_nak(0x61, 2);
    feed(request(c.second, 2), payload);
    feed(request(ROCE_RC_SEND_ONLY, 3));
    EXPECT_TRUE(drain().empty());
    const bool send = c.first == ROCE_RC_SEND_FIRST;
    feed(request(c.first == ROCE_RC_SEND_ONLY ? ROCE_RC_SEND_ONLY
                 : send                       ? ROCE_RC_SEND_LAST
                                              : ROCE_RC_RDMA_WRITE_LAST,
                 2),
         4);
    EXPECT_EQ(only().packet.syndrome, 0x1f);
    EXPECT_EQ(counts().invalid, 1U);
  }
}

TEST_F(ResponderTest, RefusesUnknownOpcodes) {
  feed(request(ROCE_RC_SEND_ONLY, 1));
  drain();
  auto frame = packet::build(path_, request(ROCE_RC_SEND_ONLY, 2), {});
  ASSERT_TRUE(frame.ok());
  Wire wire = parsed(frame->bytes);
  wire.bytes[wire.packet.bth] = 0x1f;
  icrc_write(wire.bytes.data(), wire.packet);
  feed_frame(wire.bytes);
  expect_nak(0x61, 2);
}

TEST_F(ResponderTest, RefusesEveryNthMessageOnce) {
  options_.merge_acks = true;
  options_.rnr_every = 2;
  options_.rnr_timer = 14;
  feed(request(ROCE_RC_SEND_ONLY, 1));
  expect_ack(1, 1);
  feed(request(ROCE_RC_SEND_FIRST, 2), 1024);
  expect_nak(0x2e, 2);
  feed(request(ROCE_RC_SEND_LAST, 3), 4);
  EXPECT_TRUE(drain().empty());
  feed(request(ROCE_RC_SEND_FIRST, 2), 1024);
  feed(request(ROCE_RC_SEND_LAST, 3), 4);
  expect_ack(3, 2);
  feed(request(ROCE_RC_SEND_ONLY, 4));
  expect_ack(4, 3);
  feed(request(ROCE_RC_SEND_ONLY, 5));
  expect_nak(0x2e, 5);
  EXPECT_EQ(counts().rnr_naks, 2U);
  EXPECT_EQ(counts().naks, 0U);
}

TEST_F(ResponderTest, AcceptsAReusedQpnFarAway) {
  feed(request(ROCE_RC_SEND_ONLY, 1));
  drain();
  feed(request(ROCE_RC_SEND_ONLY, 0x400000), 10);
  expect_ack(0x400000, 1);
  feed(request(ROCE_RC_SEND_MIDDLE, 0x100001, false), 1024);
  expect_nak(0x60, 0x100000);
  feed(request(ROCE_RC_SEND_ONLY, 0x100000), 10);
  expect_ack(0x100000, 1);
  feed(request(ROCE_RC_SEND_ONLY, 0x100000 + 65537), 10);
  expect_nak(0x60, 0x100001);
  EXPECT_EQ(counts().qps, 3U);
}

TEST_F(ResponderTest, WaitsForTheStartOfAMessage) {
  options_.merge_acks = true;
  feed(request(ROCE_RC_SEND_MIDDLE, 2), 1024);
  expect_nak(0x60, 1);
  feed(request(ROCE_RC_SEND_FIRST, 1), 1024);
  feed(request(ROCE_RC_SEND_LAST, 2), 1);
  expect_ack(2, 1);
}

// An ACK of the second message would acknowledge the first, which is not whole.
TEST_F(ResponderTest, AsksForTheStartOfTheFirstMessage) {
  options_.merge_acks = true;
  feed(request(ROCE_RC_SEND_MIDDLE, 3, false), 1024);
  expect_nak(0x60, 2);
  feed(request(ROCE_RC_SEND_LAST, 4), 1);
  feed(request(ROCE_RC_SEND_FIRST, 5, false), 1024);
  feed(request(ROCE_RC_SEND_LAST, 6), 1);
  EXPECT_TRUE(drain().empty());
  feed(request(ROCE_RC_SEND_MIDDLE, 2, false), 1024);
  expect_nak(0x60, 1);
  feed(request(ROCE_RC_SEND_FIRST, 1, false), 1024);
  feed(request(ROCE_RC_SEND_MIDDLE, 2, false), 1024);
  feed(request(ROCE_RC_SEND_MIDDLE, 3, false), 1024);
  feed(request(ROCE_RC_SEND_LAST, 4), 1);
  expect_ack(4, 1);
  feed(request(ROCE_RC_SEND_FIRST, 5, false), 1024);
  feed(request(ROCE_RC_SEND_LAST, 6), 1);
  expect_ack(6, 2);
  EXPECT_EQ(counts().messages, 2U);
  EXPECT_EQ(counts().out_of_order, 5U);
  EXPECT_EQ(counts().qps, 1U);
}

TEST_F(ResponderTest, FollowsASenderThatDoesNotSendAgain) {
  feed(request(ROCE_RC_SEND_LAST, 1), 1024);
  expect_nak(0x60, 0);
  for (uint32_t psn = 2; psn < 258; psn++)
    feed(request(ROCE_RC_SEND_ONLY, psn), 10);
  EXPECT_TRUE(drain().empty());
  feed(request(ROCE_RC_SEND_ONLY, 258), 10);
  expect_ack(258, 1);
}

// What was lost before anything arrived is asked for again: of an atomic nobody has kept a result.
TEST_F(ResponderTest, ExecutesAtomicsBeforeTheFirstPsn) {
  Headers headers = request(ROCE_RC_FETCH_ADD, 5);
  headers.swap_add = 1;
  feed(headers);
  drain();
  headers.psn = 3;
  feed(headers);
  EXPECT_EQ(only().original(), 1U);
  feed(headers); // once more: the same result
  EXPECT_EQ(only().original(), 1U);
  headers.psn = 6;
  feed(headers);
  EXPECT_EQ(only().original(), 2U);
}

TEST_F(ResponderTest, AnswersXrc) {
  feed(request(ROCE_XRC_SEND_ONLY, 7), 4);
  EXPECT_EQ(only().packet.opcode, ROCE_XRC_ACKNOWLEDGE);
  Headers headers = request(ROCE_XRC_FETCH_ADD, 8);
  headers.swap_add = 3;
  feed(headers);
  headers.psn = 9;
  feed(headers);
  const std::vector<Wire> all = drain();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].packet.opcode, ROCE_XRC_ATOMIC_ACKNOWLEDGE);
  EXPECT_EQ(all[1].original(), 3U);
  headers = request(ROCE_XRC_RDMA_READ_REQUEST, 10);
  headers.dma_len = 1025;
  feed(headers);
  EXPECT_EQ(drain().at(1).packet.opcode, ROCE_XRC_RDMA_READ_RESPONSE_LAST);
}

TEST_F(ResponderTest, CountsUc) {
  feed(request(ROCE_UC_SEND_FIRST, 1), 1024);
  feed(request(ROCE_UC_SEND_LAST, 2), 1);
  feed(request(ROCE_UC_SEND_FIRST, 3), 1024);
  feed(request(ROCE_UC_SEND_LAST, 5), 1);
  feed(request(ROCE_UC_RDMA_WRITE_ONLY, 9), 7);
  feed(request(ROCE_UD_SEND_ONLY, 1), 7);
  EXPECT_TRUE(drain().empty());
  EXPECT_EQ(counts().unreliable, 5U);
  EXPECT_EQ(counts().uc_dropped, 1U);
  EXPECT_EQ(counts().messages, 2U);
  EXPECT_EQ(counts().message_bytes, 1025U + 7);
  EXPECT_EQ(counts().datagrams, 1U);
}

TEST_F(ResponderTest, FindsThePeersQp) {
  options_.peer_offset = -0x12;
  feed(request(ROCE_RC_SEND_ONLY, 1));
  EXPECT_EQ(only().qp(), 0xffffffU);
  options_.peer_qp = 0x123;
  restart();
  feed(request(ROCE_RC_SEND_ONLY, 1));
  EXPECT_EQ(only().qp(), 0x123U);
}

TEST_F(ResponderTest, DropsDamagedFrames) {
  auto frame = packet::build(path_, request(ROCE_RC_SEND_ONLY, 1), packet::counting_payload(8));
  Bytes bytes = frame->bytes;
  bytes.back() ^= 1;
  feed_frame(bytes);
  std::fill(bytes.end() - 4, bytes.end(), uint8_t{0});
  feed_frame(bytes);
  EXPECT_EQ(counts().bad_icrc, 2U);
  feed_frame(Bytes(frame->bytes.begin(), frame->bytes.end() - 1));
  EXPECT_EQ(counts().malformed, 1U);
  EXPECT_EQ(counts().frames, 3U);
  EXPECT_EQ(counts().requests, 0U);
  options_.check_icrc = false;
  restart();
  feed_frame(bytes);
  expect_ack(1, 1);
}

TEST_F(ResponderTest, ChecksAddressesAndQps) {
  options_.addresses = {ipv4(3), ipv4(2)};
  options_.first_qp = 0x10;
  options_.last_qp = 0x11;
  feed(request(ROCE_RC_SEND_ONLY, 1));
  expect_ack(1, 1);
  for (const uint32_t qp : {1U, 2U, 0xfU, 0x12U}) {
    Headers headers = request(ROCE_RC_SEND_ONLY, 1);
    headers.dest_qp = qp;
    feed(headers);
  }
  EXPECT_EQ(counts().no_qp, 4U);
  path_.dst = ipv4(4);
  feed(request(ROCE_RC_SEND_ONLY, 2));
  EXPECT_EQ(counts().not_mine, 1U);
  EXPECT_TRUE(drain().empty());
  path_.dst = ipv4(2);
  feed(request(ROCE_RC_ACKNOWLEDGE, 2));
  feed(request(ROCE_OPCODE_CNP, 0, false));
  EXPECT_EQ(counts().responses_seen, 2U);
  EXPECT_TRUE(drain().empty());
}

TEST_F(ResponderTest, AnswersOverAnyPath) {
  path_ = path_to(2, packet::Network::Ipv6);
  path_.tags = {{ROCE_ETHERTYPE_QINQ, 0x2064}, {ROCE_ETHERTYPE_VLAN, 0x6065}};
  feed(request(ROCE_RC_SEND_ONLY, 1));
  Wire ack = only();
  EXPECT_EQ(roce_be16(&ack.bytes[12]), ROCE_ETHERTYPE_QINQ);
  EXPECT_EQ(roce_be16(&ack.bytes[14]), 0x2064);
  EXPECT_EQ(roce_be16(&ack.bytes[18]), 0x6065);
  EXPECT_EQ(roce_be16(&ack.bytes[20]), ROCE_ETHERTYPE_IPV6);
  path_.tags.clear(); // the same QP, another way: MACs and tags are the newest request's
  path_.src_mac[5] = 9;
  feed(request(ROCE_RC_SEND_ONLY, 2));
  EXPECT_EQ(only().packet.vlan, 0);
  path_ = path_to(2, packet::Network::V1);
  feed(request(ROCE_RC_SEND_ONLY, 3));
  ack = only();
  EXPECT_EQ(ack.class_, ROCE_CLASS_V1);
  EXPECT_EQ(ack.packet.psn, 3U);
}

TEST_F(ResponderTest, SendsCnps) {
  options_.peer_offset = 0x100;
  options_.cnp_pacing.interval_ns = 1000;
  mark();
  feed(request(ROCE_RC_SEND_ONLY, 1, false), 8, 5000);
  const Wire cnp = only();
  EXPECT_EQ(cnp.packet.opcode, ROCE_OPCODE_CNP);
  EXPECT_EQ(cnp.qp(), kQp + 0x100);
  EXPECT_EQ(cnp.packet.psn, 0U);
  EXPECT_EQ(cnp.packet.tos, 48 << 2);
  EXPECT_EQ(cnp.bytes[cnp.packet.bth + 4], 0x40);
  EXPECT_EQ(cnp.bytes.size(), 74U);
  feed(request(ROCE_RC_SEND_ONLY, 2, false), 8, 5999);
  EXPECT_TRUE(drain().empty());
  feed(request(ROCE_RC_SEND_ONLY, 3, false), 8, 6000);
  EXPECT_EQ(drain().size(), 1U);
  feed(request(ROCE_UD_SEND_ONLY, 3, false), 8, 7000);
  EXPECT_EQ(only().qp(), 0x77U);
  EXPECT_EQ(counts().ce, 4U);
  EXPECT_EQ(counts().cnps, 3U);
  EXPECT_EQ(counts().cnps_paced, 1U);
  options_.cnp = false;
  restart();
  feed(request(ROCE_RC_SEND_ONLY, 1, false), 8, 5000);
  EXPECT_TRUE(drain().empty());
}

// Window: the second CNP is due at the end of the interval, without another packet.
TEST_F(ResponderTest, SendsCnpsAtTheEndOfAWindow) {
  options_.cnp_pacing = {.interval_ns = 1000, .mode = congestion::NpMode::Window};
  restart();
  mark();
  std::vector<packet::Outgoing> out(4);
  feed(request(ROCE_RC_SEND_ONLY, 1, false), 8, 5000);
  EXPECT_EQ(responder_->next(5000, out), 1U);
  feed(request(ROCE_RC_SEND_ONLY, 2, false), 8, 5500);
  EXPECT_EQ(responder_->wake_at(), 6000U);
  EXPECT_EQ(responder_->next(5999, out), 0U);
  EXPECT_EQ(responder_->next(6000, out), 1U);
  EXPECT_EQ(out[0].fields.dest_qp, kQp);
  EXPECT_EQ(counts().cnps, 2U);
  EXPECT_EQ(responder_->next(9000, out), 0U);
  EXPECT_EQ(responder_->wake_at(), kNever);
}

TEST_F(ResponderTest, PacesCnpsByScope) {
  using Scope = congestion::CnpScope;
  struct Case {
    Scope scope;
    uint64_t cnps;
  };
  for (const Case &c : {Case{Scope::Stream, 4}, Case{Scope::Pair, 2}, Case{Scope::Port, 1}}) {
    options_.cnp_pacing.scope = c.scope;
    restart();
    mark();
    for (int round = 0; round < 2; round++)
      for (const uint8_t host : {1, 5})
        for (const uint32_t qp : {0x20U, 0x21U}) {
          path_.src = ipv4(host);
          Headers headers = request(ROCE_UC_SEND_ONLY, static_cast<uint32_t>(round));
          headers.dest_qp = qp;
          feed(headers, 4, 100'000);
        }
    EXPECT_EQ(counts().cnps, c.cnps);
    EXPECT_EQ(counts().cnps_paced, 8 - c.cnps);
  }
}

TEST_F(ResponderTest, AnswersNeighbours) {
  options_.addresses = {ipv4(2), ipv6(2)};
  options_.mac = {2, 2, 2, 2, 2, 2};
  feed_frame(packet::neighbour_question(ipv4(1), kPeerMac, ipv4(2), {}));
  feed_frame(packet::neighbour_question(ipv6(1), kPeerMac, ipv6(2), {}));
  feed_frame(packet::neighbour_question(ipv4(1), kPeerMac, ipv4(3), {}));
  const std::vector<Wire> all = drain();
  ASSERT_EQ(all.size(), 2U);
  for (const Wire &wire : all) {
    const auto answer = packet::parse_neighbour(wire.bytes);
    ASSERT_TRUE(answer);
    EXPECT_FALSE(answer->question);
    EXPECT_EQ(answer->sender_mac, options_.mac);
  }
  EXPECT_EQ(counts().arp, 1U);
  EXPECT_EQ(counts().nd, 1U);
}

class CmTest : public ResponderTest {
protected:
  CmMessage request_message(uint32_t id) {
    CmMessage message;
    message.kind = CmKind::Req;
    message.transaction = 0x1234 + id;
    message.local_id = id;
    message.service_id = packet::cm_service(7471);
    message.qpn = 0x500 + id;
    message.psn = 0x99;
    message.pmtu_code = 4;
    message.responder_resources = 7;
    message.initiator_depth = 5;
    message.local_gid = path_.src;
    message.remote_gid = path_.dst;
    return message;
  }
  CmMessage ask(const CmMessage &message) {
    tell(message);
    const Wire answer = only();
    EXPECT_EQ(answer.packet.opcode, ROCE_OPCODE_UD_SEND_ONLY);
    const auto parsed_answer = packet::parse_cm_mad(
        std::span(answer.bytes).subspan(answer.packet.bth + 20, answer.packet.payload));
    EXPECT_TRUE(parsed_answer);
    return parsed_answer.value_or(CmMessage{});
  }
  void tell(const CmMessage &message) {
    auto frame = packet::cm_frame(path_, message, 1);
    ASSERT_TRUE(frame.ok());
    feed_frame(frame->bytes);
  }
};

TEST_F(CmTest, OpensAndClosesConnections) {
  options_.seed = 5;
  const CmMessage rep = ask(request_message(1));
  EXPECT_EQ(rep.kind, CmKind::Rep);
  EXPECT_EQ(rep.remote_id, 1U);
  EXPECT_EQ(rep.transaction, 0x1235U);
  EXPECT_EQ(rep.responder_resources, 5);
  EXPECT_EQ(rep.initiator_depth, 7);
  const CmMessage again = ask(request_message(1));
  EXPECT_EQ(again.local_id, rep.local_id);
  EXPECT_EQ(again.qpn, rep.qpn);
  EXPECT_EQ(again.psn, rep.psn);
  EXPECT_NE(ask(request_message(2)).qpn, rep.qpn);
  EXPECT_EQ(counts().cm_connections, 2U);

  // The PSN is not adopted but known, the peer's QPN and the PMTU too.
  Headers headers = request(ROCE_RC_SEND_ONLY, roce_psn_add(rep.psn, 1));
  headers.dest_qp = rep.qpn;
  feed(headers);
  const Wire nak = only();
  EXPECT_EQ(nak.packet.syndrome, 0x60);
  EXPECT_EQ(nak.packet.psn, rep.psn);
  EXPECT_EQ(nak.qp(), 0x501U);
  headers = read(rep.psn, 4096);
  headers.dest_qp = rep.qpn;
  feed(headers);
  EXPECT_EQ(drain().size(), 2U);

  CmMessage rtu;
  rtu.kind = CmKind::Rtu;
  rtu.local_id = 1;
  rtu.remote_id = rep.local_id;
  tell(rtu);
  EXPECT_TRUE(drain().empty());
  CmMessage dreq = rtu;
  dreq.kind = CmKind::Dreq;
  dreq.qpn = rep.qpn;
  for (int i = 0; i < 2; i++) {
    const CmMessage drep = ask(dreq);
    EXPECT_EQ(drep.kind, CmKind::Drep);
    EXPECT_EQ(drep.local_id, rep.local_id);
    EXPECT_EQ(drep.remote_id, 1U);
  }
  feed(headers); // a life of its own now: the peer is not known any more
  EXPECT_EQ(drain().at(0).qp(), rep.qpn);
  EXPECT_EQ(counts().cm_messages, 6U);
  EXPECT_EQ(counts().qps, 3U);
}

TEST_F(CmTest, DropsResponsesOfClosedConnections) {
  const CmMessage rep = ask(request_message(1));
  Headers headers = read(rep.psn, 1 << 20);
  headers.dest_qp = rep.qpn;
  feed(headers);
  CmMessage dreq;
  dreq.kind = CmKind::Dreq;
  dreq.local_id = 1;
  dreq.remote_id = rep.local_id;
  tell(dreq);
  headers.psn = 0x1000;
  headers.dma_len = 1;
  for (uint32_t i = 0; i < 2; i++) { // the first while the old one's place is still in the queue
    headers.dest_qp = rep.qpn + i;
    feed(headers);
    const std::vector<Wire> all = drain();
    ASSERT_EQ(all.size(), i ? 1U : 2U);
    EXPECT_EQ(all.back().packet.psn, 0x1000U);
    EXPECT_EQ(all.back().qp(), rep.qpn + i);
  }
  for (uint32_t i = 0; i < 3; i++) { // each in a place of its own
    headers.dest_qp = rep.qpn + i;
    headers.psn = i < 2 ? 0x1001 : 0x5000;
    feed(headers);
    EXPECT_EQ(only().qp(), rep.qpn + i);
  }
}

TEST_F(CmTest, RejectsWhenFull) {
  options_.qps = 2;
  EXPECT_EQ(ask(request_message(1)).kind, CmKind::Rep);
  CmMessage message = request_message(9);
  message.transport = 2; // RD
  EXPECT_EQ(ask(message).reject_reason, 9);
  EXPECT_EQ(ask(request_message(2)).kind, CmKind::Rep);
  EXPECT_EQ(ask(request_message(3)).kind, CmKind::Rej);
  EXPECT_EQ(counts().cm_rejected, 2U);
  Headers headers = request(ROCE_UD_SEND_ONLY, 1);
  headers.dest_qp = 1;
  feed(headers, 256);
  EXPECT_EQ(counts().no_qp, 1U);
}

TEST_F(ResponderTest, LimitsItsTables) {
  options_.qps = 3;
  options_.cnp_pacing.interval_ns = 1000;
  mark();
  for (uint32_t qp = 0; qp < 5; qp++) {
    Headers headers = request(ROCE_RC_SEND_ONLY, 1);
    headers.dest_qp = 0x100 + qp;
    feed(headers, 0, 5000);
  }
  EXPECT_EQ(counts().qps, 3U);
  EXPECT_EQ(counts().qps_full, 2U);
  EXPECT_EQ(drain().size(), 6U);
  for (uint32_t qp = 0; qp < 5; qp++) {
    Headers headers = request(ROCE_UD_SEND_ONLY, 1);
    headers.dest_qp = 0x200 + qp;
    feed(headers, 0, 7000);
  }
  EXPECT_EQ(counts().cnps, 6U);
}

TEST_F(ResponderTest, LimitsTheResponseQueue) {
  for (uint32_t psn = 0; psn < 200; psn++)
    feed(read(psn, 1));
  EXPECT_EQ(counts().answers_dropped, 200 - 128U);
  EXPECT_EQ(drain().size(), 128U);
  feed(read(128, 1)); // as if the others had been lost
  EXPECT_EQ(only().packet.psn, 128U);
}

// Against std::map and std::deque, with few keys, so that they meet.
TEST(PeerTables, KeepEntries) {
  constexpr size_t kRoom = 200;
  std::mt19937 random(1);
  std::map<uint32_t, uint32_t> wanted;
  packet::PeerMap<uint32_t> map(kRoom);
  std::deque<uint32_t> queue;
  Ring<uint32_t> ring;
  for (uint32_t i = 0; i < 50'000; i++) {
    const uint32_t number = random() % 400;
    const packet::PeerKey key{ipv4(static_cast<uint8_t>(number)), number};
    uint32_t *found = map.find(key);
    ASSERT_EQ(found != nullptr, wanted.contains(number));
    if (found) {
      ASSERT_EQ(*found, wanted[number]);
    }
    if (!found && map.insert(key, i))
      wanted[number] = i;
    else if (random() % 2)
      map.erase(key), wanted.erase(number);
    if (i % 10'000 == 0) {
      map.erase_if([](const packet::PeerKey &, uint32_t value) { return value % 3 == 0; });
      std::erase_if(wanted, [](const auto &entry) { return entry.second % 3 == 0; });
    }
    ASSERT_EQ(map.size(), wanted.size());
    ASSERT_LE(map.size(), kRoom);
    if (random() % 2) {
      ring.push(i), queue.push_back(i);
    } else if (!queue.empty()) {
      ASSERT_EQ(ring.front(), queue.front());
      ring.pop(), queue.pop_front();
    }
    ASSERT_EQ(ring.size(), queue.size());
  }
}

// Whatever comes in, what goes out is sound, and there is an end of it.
TEST_F(ResponderTest, SurvivesRandomFrames) {
  options_.qps = 8;
  options_.rnr_every = 5;
  options_.check_icrc = false;
  options_.addresses = {ipv4(2)};
  std::mt19937 random(7);
  auto frame = packet::build(path_, request(ROCE_RC_SEND_ONLY, 0), packet::counting_payload(64));
  ASSERT_TRUE(frame.ok());
  std::vector<packet::Outgoing> out(8);
  for (int i = 0; i < 100'000; i++) {
    Bytes bytes = frame->bytes;
    uint8_t *bth = &bytes[frame->layout.bth];
    bth[0] = static_cast<uint8_t>(random() % 4 ? random() % 32 : random());
    bth[7] = static_cast<uint8_t>(random() % 4);
    bth[11] = static_cast<uint8_t>(random() % 16);
    bth[12 + 13] = 0; // READs of up to 64 KB
    bth[12 + 12] = static_cast<uint8_t>(random() % 64 == 0 ? 0x7f : 0);
    if (random() % 16 == 0)
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    if (random() % 16 == 0)
      bytes.resize(random() % (bytes.size() + 1));
    bytes.shrink_to_fit();
    feed_frame(std::move(bytes), static_cast<uint64_t>(i) * 1000);
    const size_t count = responder().next(0, out);
    for (size_t k = 0; k < count; k++) {
      const Wire wire = parsed(bytes_of(out[k]));
      ASSERT_TRUE(roce_is_roce(wire.class_));
      ASSERT_EQ(
          icrc_check(wire.bytes.data(), static_cast<uint32_t>(wire.bytes.size()), wire.packet),
          Icrc::Good);
    }
  }
  EXPECT_GT(counts().invalid, 0U);
  EXPECT_GT(counts().in_order, 0U);
}

TEST_F(ResponderTest, TakesTurns) {
  for (const uint32_t qp : {0x20U, 0x21U}) {
    Headers headers = read(0, 100 * 1024);
    headers.dest_qp = qp;
    feed(headers);
  }
  const std::vector<Wire> all = drain();
  ASSERT_EQ(all.size(), 200U);
  size_t changes = 0;
  for (size_t i = 1; i < all.size(); i++)
    changes += all[i].qp() != all[i - 1].qp();
  EXPECT_GE(changes, 6U);
}

} // namespace
} // namespace xr::responder::responder_test
