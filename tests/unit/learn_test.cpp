// SPDX-License-Identifier: Apache-2.0
// The QPN of a stream's sender, which packets do not contain, is learnt from RDMA CM and from
// responses. It may stay unknown, but must never be wrong.
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "frames.h"
#include "native/native_datapath.h"
#include "roce/stream.h"

namespace xr::test::learn_test {
namespace {

using Kind = roce_kind;

// Who sends to whose QP.
struct Way {
  uint8_t from, to;
  uint32_t qp;
};

// What one port, or both of a bridge, sees.
class Wire {
public:
  Wire() : accountant_({}) {}

  void send(const Way &way, FrameBuilder frame, bool ack_req = true) {
    Frame f = frame.from(way.from).to(way.to).qp(way.qp).build();
    f.bytes[f.bth + 8] = ack_req ? 0x80 : 0;
    accountant_.frame({f.bytes.data(), f.length, f.length, now_ += 1000});
  }
  void ask(const Way &way, uint32_t psn, uint8_t opcode = 0x04) {
    send(way, FrameBuilder(opcode).psn(psn & 0xffffff).dma_len(100));
  }
  void answer(const Way &way, uint32_t psn, uint8_t opcode = 0x11, uint8_t syndrome = 0x1f) {
    send(way, FrameBuilder(opcode).psn(psn & 0xffffff).syndrome(syndrome));
  }

  // The stream's sender, if it is known.
  std::optional<uint32_t> sender(const Way &way, Kind kind = ROCE_KIND_REQUEST) const {
    Snapshot snapshot;
    accountant_.snapshot(snapshot);
    for (const roce_stream &s : snapshot.streams)
      if (roce_key_qp(&s.key) == way.qp && roce_key_kind(&s.key) == kind &&
          last_byte(s.key.src) == way.from && last_byte(s.key.dst) == way.to)
        return s.flags & ROCE_STREAM_SRC_QP ? std::optional<uint32_t>(s.src_qp) : std::nullopt;
    return std::nullopt;
  }

private:
  static uint8_t last_byte(const __u32 *address) {
    uint8_t bytes[16];
    memcpy(bytes, address, sizeof(bytes));
    return bytes[15];
  }

  NativeDatapath accountant_;
  uint64_t now_ = 1'000'000;
};

// A connection: requests of host 1's QP 0xa to host 2's QP 0xb, and the answers.
constexpr uint32_t kA = 0xa, kB = 0xb;
constexpr Way kAsks{1, 2, kB}, kAnswers{2, 1, kA};
using Known = std::optional<uint32_t>;

TEST(LearnByAnswers, ThreeThatAgree) {
  Wire wire;
  for (uint32_t psn = 100; psn < 103; psn++) {
    EXPECT_EQ(wire.sender(kAsks), Known());
    EXPECT_EQ(wire.sender(kAnswers, ROCE_KIND_RESPONSE), Known());
    wire.ask(kAsks, psn);
    wire.answer(kAnswers, psn);
  }
  EXPECT_EQ(wire.sender(kAsks), Known(kA));
  EXPECT_EQ(wire.sender(kAnswers, ROCE_KIND_RESPONSE), Known(kB));
}

TEST(LearnByAnswers, OfEveryKind) {
  struct Case {
    uint8_t ask, answer;
    bool learns;
  };
  for (const Case &c : {Case{0x04, 0x11, true}, Case{0x0c, 0x10, true}, Case{0x0c, 0x0d, true},
                        Case{0x13, 0x12, true}, Case{0x14, 0x12, true}, Case{0xa4, 0xb1, true},
                        Case{0xac, 0xb0, true}, Case{0x1c, 0x10, true}, Case{0x1d, 0x10, true},
                        // neither the middle nor the end of an answer has the PSN of a request
                        Case{0x0c, 0x0e, false}, Case{0x0c, 0x0f, false},
                        // UC has no answers
                        Case{0x24, 0x24, false}}) {
    Wire wire;
    for (uint32_t psn = 0xfffffe; psn < 0x1000005; psn++) {
      wire.ask(kAsks, psn, c.ask);
      wire.answer(kAnswers, psn, c.answer);
    }
    EXPECT_EQ(wire.sender(kAsks), c.learns ? Known(kA) : Known())
        << int{c.ask} << " " << int{c.answer};
  }
}

TEST(LearnByAnswers, OverEveryNetwork) {
  for (const int net : {0, 1, 2, 3}) {
    Wire wire;
    const auto over = [net](FrameBuilder frame) {
      if (net == 1)
        frame.ipv6();
      if (net >= 2)
        frame.v1();
      if (net == 3)
        frame.mapped();
      return frame;
    };
    for (uint32_t psn = 0; psn < 3; psn++) {
      wire.send(kAsks, over(FrameBuilder(0x04).psn(psn)));
      wire.send(kAnswers, over(FrameBuilder(0x11).psn(psn)));
    }
    EXPECT_EQ(wire.sender(kAsks), Known(kA)) << net;
  }
}

TEST(LearnByAnswers, NaksDoNotCount) {
  for (const uint8_t syndrome : {0x60, 0x20, 0x40}) {
    Wire wire;
    for (uint32_t psn = 0; psn < 10; psn++) {
      wire.ask(kAsks, psn);
      wire.answer(kAnswers, psn, 0x11, syndrome);
    }
    EXPECT_EQ(wire.sender(kAsks), Known());
  }
}

// Only what asks for an answer is remembered.
TEST(LearnByAnswers, OnlyToWhatAsks) {
  Wire wire;
  for (uint32_t psn = 0; psn < 10; psn++) {
    wire.send(kAsks, FrameBuilder(0x04).psn(psn), false);
    wire.answer(kAnswers, psn);
  }
  EXPECT_EQ(wire.sender(kAsks), Known());
}

// A request is answered once: a repeated answer shows nothing new.
TEST(LearnByAnswers, RepeatedAnswersCountOnce) {
  Wire wire;
  for (uint32_t psn = 0; psn < 2; psn++) {
    wire.ask(kAsks, psn);
    for (int i = 0; i < 5; i++)
      wire.answer(kAnswers, psn);
  }
  EXPECT_EQ(wire.sender(kAsks), Known());
}

TEST(LearnByAnswers, DisagreementBeginsAnew) {
  Wire wire;
  uint32_t psn = 0;
  const auto answered_for = [&](uint32_t qp) {
    wire.ask(kAsks, psn);
    wire.answer({2, 1, qp}, psn++);
  };
  for (const uint32_t qp : {0x1U, 0x1U, 0x2U, 0x2U, 0x1U, 0x1U, 0x3U, 0x3U})
    answered_for(qp);
  EXPECT_EQ(wire.sender(kAsks), Known());
  answered_for(0x3);
  EXPECT_EQ(wire.sender(kAsks), Known(0x3));
}

TEST(LearnByAnswers, OnlyBetweenTheSameHosts) {
  Wire wire;
  for (uint32_t psn = 0; psn < 10; psn++) {
    wire.ask(kAsks, psn);
    wire.answer({3, 1, kA}, psn);
    wire.answer({2, 3, kA}, psn);
    wire.answer({1, 2, kA}, psn);
  }
  EXPECT_EQ(wire.sender(kAsks), Known());
}

TEST(LearnByAnswers, OnlyToWhatWasAsked) {
  Wire wire;
  for (uint32_t psn = 0; psn < 10; psn++) {
    wire.ask(kAsks, 2 * psn);
    wire.answer(kAnswers, 2 * psn + 1);
  }
  EXPECT_EQ(wire.sender(kAsks), Known());
}

// Two connections between the same hosts wait for answers with the same PSNs.
TEST(LearnByAnswers, AmbiguousPsnsNeverCount) {
  Wire wire;
  const Way asks{1, 2, 0xbb}, answers{2, 1, 0xaa};
  uint32_t psn = 0;
  for (; psn < 20; psn++) {
    wire.ask(kAsks, psn);
    wire.ask(asks, psn);
    wire.answer(kAnswers, psn);
    wire.answer(answers, psn);
  }
  EXPECT_EQ(wire.sender(kAsks), Known());
  EXPECT_EQ(wire.sender(asks), Known());
  for (; psn < 30; psn++) { // one is done before the other asks
    wire.ask(kAsks, psn);
    wire.answer(kAnswers, psn);
    wire.ask(asks, psn);
    wire.answer(answers, psn);
  }
  EXPECT_EQ(wire.sender(kAsks), Known(kA));
  EXPECT_EQ(wire.sender(asks), Known(0xaa));
}

// A's search ended without a result, and the answers to it still come: they are not B's.
TEST(LearnByAnswers, AnswersToThoseWhoGaveUp) {
  Wire wire;
  const Way asks{1, 2, 0xbb};
  for (uint32_t psn = 0; psn < 70; psn++)
    wire.ask(kAsks, psn);
  for (uint32_t psn = 70; psn < 90; psn++) {
    wire.ask(kAsks, psn);
    wire.ask(asks, psn);
    wire.answer(kAnswers, psn);
  }
  EXPECT_NE(wire.sender(asks), Known(kA));
}

// Answers that acknowledge many requests, as hardware sends them.
TEST(LearnByAnswers, CoalescedAnswers) {
  for (const uint32_t each : {1, 4, 16, 20, 32, 64, 128}) {
    Wire wire;
    for (uint32_t psn = 0; psn < 4096; psn++) {
      wire.ask(kAsks, psn);
      if (psn % each == each - 1)
        wire.answer(kAnswers, psn);
    }
    const Known known = wire.sender(kAsks);
    printf("an ACK for every %u requests: %s\n", each, known ? "learnt" : "not learnt");
    EXPECT_TRUE(known == Known(kA) || (each > 20 && !known)) << each;
  }
}

// More requests on their way than may ask, before the first is answered.
TEST(LearnByAnswers, DeepQueues) {
  Wire wire;
  for (uint32_t psn = 0xfff0; psn < 0xfff0 + 500; psn++)
    wire.ask(kAsks, psn);
  for (uint32_t psn = 0xfff0; psn < 0xfff0 + 500; psn++)
    wire.answer(kAnswers, psn);
  EXPECT_EQ(wire.sender(kAsks), Known(kA));
}

// A QPN's next life, on PSNs far away, may be of another connection.
TEST(LearnByAnswers, ReuseForgets) {
  Wire wire;
  const auto three = [&](uint32_t psn, uint32_t qp) {
    for (uint32_t end = psn + 3; psn < end; psn++) {
      wire.ask(kAsks, psn);
      wire.answer({2, 1, qp}, psn);
    }
  };
  three(0, kA);
  EXPECT_EQ(wire.sender(kAsks), Known(kA));
  wire.ask(kAsks, 0x800000);
  EXPECT_EQ(wire.sender(kAsks), Known());
  three(0x800001, 0xaa);
  EXPECT_EQ(wire.sender(kAsks), Known(0xaa));
}

// A QP of host 1 gets another QP of host 2 as its peer.
TEST(LearnByAnswers, ReuseOfTheSendersQp) {
  Wire wire;
  for (uint32_t psn = 0; psn < 3; psn++) {
    wire.ask(kAsks, psn);
    wire.answer(kAnswers, psn);
  }
  EXPECT_EQ(wire.sender(kAnswers, ROCE_KIND_RESPONSE), Known(kB));
  const Way other{1, 2, 0xcc};
  for (uint32_t psn = 0x700000; psn < 0x700010; psn++) {
    wire.ask(other, psn);
    wire.answer(kAnswers, psn);
  }
  const Known known = wire.sender(other), answering = wire.sender(kAnswers, ROCE_KIND_RESPONSE);
  printf("the sender's QP again, with another peer: %s, its answers' sender %s\n",
         known ? "learnt" : "not learnt", answering == Known(0xcc) ? "too" : "not");
  EXPECT_TRUE(!known || known == Known(kA));
}

// RDMA CM messages of two hosts that connect.
struct Handshake {
  uint8_t from = 1, to = 2; // of the REQ
  uint32_t req_qp = 0x123456, rep_qp = 0x654321, req_psn = 0x100, rep_psn = 0x200;
  uint32_t req_id = 0x11111111, rep_id = 0x22222222;
};

void put(Bytes &mad, size_t b, uint32_t value, int bytes) {
  for (int i = bytes - 1; i >= 0; i--, value >>= 8)
    mad.at(b - 20 + static_cast<size_t>(i)) = static_cast<uint8_t>(value);
}

void send_mad(Wire &wire, uint8_t from, uint8_t to, const Bytes &mad) {
  wire.send({from, to, ROCE_QPN_GSI}, FrameBuilder(0x64).src_qp(1).payload(mad));
}

Bytes mad_of(uint32_t attribute) {
  Bytes mad(ROCE_MAD_LEN);
  put(mad, 20, 0x01070203, 4);
  put(mad, 36, attribute, 2);
  return mad;
}

void send_req(Wire &wire, const Handshake &h) {
  Bytes mad = mad_of(0x10);
  put(mad, 44, h.req_id, 4);
  put(mad, 76, h.req_qp, 3);
  put(mad, 88, h.req_psn, 3);
  put(mad, 94, 0x30, 1);
  send_mad(wire, h.from, h.to, mad);
}

void send_rep(Wire &wire, const Handshake &h) {
  Bytes mad = mad_of(0x13);
  put(mad, 44, h.rep_id, 4);
  put(mad, 48, h.req_id, 4);
  put(mad, 56, h.rep_qp, 3);
  put(mad, 64, h.rep_psn, 3);
  send_mad(wire, h.to, h.from, mad);
}

// A packet each way, so that the streams are to be seen.
void talk(Wire &wire, const Handshake &h) {
  wire.ask({h.from, h.to, h.rep_qp}, h.rep_psn, 0x24); // UC: alone it would show nothing
  wire.ask({h.to, h.from, h.req_qp}, h.req_psn, 0x24);
}

TEST(LearnByCm, BothDirections) {
  for (const bool other_way : {false, true}) {
    Handshake h;
    if (other_way)
      std::swap(h.from, h.to);
    Wire wire;
    send_req(wire, h);
    send_rep(wire, h);
    talk(wire, h);
    EXPECT_EQ(wire.sender({h.from, h.to, h.rep_qp}), Known(h.req_qp));
    EXPECT_EQ(wire.sender({h.to, h.from, h.req_qp}), Known(h.rep_qp));
  }
}

TEST(LearnByCm, AnswersToo) {
  Wire wire;
  const Handshake h;
  send_req(wire, h);
  send_rep(wire, h);
  wire.ask({1, 2, h.rep_qp}, h.rep_psn);
  wire.answer({2, 1, h.req_qp}, h.rep_psn);
  EXPECT_EQ(wire.sender({2, 1, h.req_qp}, ROCE_KIND_RESPONSE), Known(h.rep_qp));
}

TEST(LearnByCm, NeedsBothMessages) {
  const Handshake h;
  Wire no_rep, no_req, other;
  send_req(no_rep, h);
  talk(no_rep, h);
  send_rep(no_req, h);
  talk(no_req, h);
  send_req(other, h);
  Handshake reply = h; // to another REQ
  reply.req_id++;
  send_rep(other, reply);
  talk(other, h);
  for (const Wire *wire : {&no_rep, &no_req, &other}) {
    EXPECT_EQ(wire->sender({1, 2, h.rep_qp}), Known());
    EXPECT_EQ(wire->sender({2, 1, h.req_qp}), Known());
  }
}

TEST(LearnByCm, RepeatedMessagesChangeNothing) {
  Wire wire;
  const Handshake h;
  for (int i = 0; i < 3; i++) {
    send_req(wire, h);
    send_rep(wire, h);
    talk(wire, h);
    send_rep(wire, h);
    send_req(wire, h);
    EXPECT_EQ(wire.sender({1, 2, h.rep_qp}), Known(h.req_qp));
    EXPECT_EQ(wire.sender({2, 1, h.req_qp}), Known(h.rep_qp));
  }
}

TEST(LearnByCm, NextLifeOfAQp) {
  Wire wire;
  Handshake h;
  send_req(wire, h);
  send_rep(wire, h);
  talk(wire, h);
  wire.ask({1, 2, h.rep_qp}, h.rep_psn + 1);
  wire.answer({2, 1, h.req_qp}, h.rep_psn + 1);
  // This QP of host 1 with a new one of host 2, which has not replied yet.
  Handshake next = h;
  next.req_id++, next.rep_id++, next.rep_qp = 0x777, next.req_psn += 10;
  send_req(wire, next);
  EXPECT_EQ(wire.sender({2, 1, h.req_qp}), Known());
  EXPECT_EQ(wire.sender({2, 1, h.req_qp}, ROCE_KIND_RESPONSE), Known());
  send_rep(wire, next);
  talk(wire, next);
  EXPECT_EQ(wire.sender({2, 1, next.req_qp}), Known(0x777));
  EXPECT_EQ(wire.sender({2, 1, next.req_qp}, ROCE_KIND_RESPONSE), Known(0x777));
  EXPECT_EQ(wire.sender({1, 2, 0x777}), Known(next.req_qp));
}

TEST(LearnByCm, ManyConnections) {
  Wire wire;
  std::vector<Handshake> all;
  for (uint32_t i = 0; i < 100; i++)
    all.push_back(
        {.req_qp = 0x1000 + i, .rep_qp = 0x2000 + 7 * i, .req_id = i, .rep_id = 1000 + i});
  for (const Handshake &h : all)
    send_req(wire, h);
  for (const Handshake &h : all)
    send_rep(wire, h);
  int known = 0;
  for (const Handshake &h : all) {
    talk(wire, h);
    const Known one = wire.sender({1, 2, h.rep_qp}), other = wire.sender({2, 1, h.req_qp});
    EXPECT_TRUE(!one || one == Known(h.req_qp));
    EXPECT_TRUE(!other || other == Known(h.rep_qp));
    known += one && other;
  }
  EXPECT_GE(known, 90); // some messages share a hint's place
}

/*
 * Many connections between two hosts, on PSNs as near to each other as can be, with losses before
 * the observer and after it, and answers for several requests at once.
 */
struct Connection {
  uint32_t asker, answerer; // QPs
  uint32_t first, next;     // PSNs
  uint32_t asked = 0;       // after the last that needs an answer
  uint32_t each;            // requests of an answer
  uint32_t since = 0;
};

void random_round(uint64_t seed, size_t &known, size_t &total) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  const auto below = [&random](uint64_t n) { return static_cast<uint32_t>(random() % n); };
  Wire wire;
  std::vector<Connection> all(2 + below(12));
  const uint32_t apart = 1 + below(below(2) ? 4 : 200), loss = below(3) ? 0 : 20;
  for (uint32_t i = 0; i < all.size(); i++)
    all[i] = {.asker = 0x100 + i,
              .answerer = 0x900 - i,
              .first = below(apart),
              .next = 0,
              .each = 1 + below(6)};
  for (Connection &c : all)
    c.next = c.asked = c.first;
  const bool all_ask = below(2);
  const uint32_t steps = 200 + below(2000);
  for (uint32_t step = 0; step < steps; step++) {
    Connection &c = all[below(all.size())];
    const Way asks{1, 2, c.answerer}, answers{2, 1, c.asker};
    bool lost = false; // in a burst with a loss, all after that is sent again: another time
    for (uint32_t burst = 1 + below(4); burst && !lost; burst--) {
      const bool ack_req = burst == 1 || all_ask;
      lost = loss && !below(loss);
      if (!lost)
        wire.send(asks, FrameBuilder(0x04).psn(c.next++), ack_req);
      if (!lost && (ack_req || !below(50)))
        c.asked = c.next;
    }
    if (++c.since < c.each || c.asked == c.first)
      continue;
    c.since = 0;
    for (uint32_t times = below(8) ? 1 : 2; times && (!loss || below(loss)); times--)
      wire.answer(answers, c.asked - 1);
  }
  for (const Connection &c : all) {
    const Known asker = wire.sender({1, 2, c.answerer});
    const Known answerer = wire.sender({2, 1, c.asker}, ROCE_KIND_RESPONSE);
    EXPECT_TRUE(!asker || asker == Known(c.asker)) << "QP " << c.answerer << ": " << *asker;
    EXPECT_TRUE(!answerer || answerer == Known(c.answerer))
        << "QP " << c.asker << ": " << *answerer;
    known += asker.has_value();
    total++;
  }
}

TEST(LearnByAnswers, NeverWrong) {
  const uint64_t first = (uint64_t{std::random_device{}()} << 20);
  size_t known = 0, total = 0;
  for (uint64_t round = 0; round < 300; round++)
    random_round(first + round, known, total);
  printf("learnt %zu of %zu, whose PSNs are near each other\n", known, total);
  EXPECT_GT(known, total / 10);
}

} // namespace
} // namespace xr::test::learn_test
