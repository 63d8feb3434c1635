// SPDX-License-Identifier: Apache-2.0
// Responders that share their connections over several queues, frame by frame: they answer as one
// responder does, whatever queue a frame comes on.
#include "endpoint/queue_share.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "packet/cm.h"
#include "responder/responder.h"
#include "unit/responder_requests.h"

namespace xr::test::queue_share_test {
namespace {

using endpoint::QueueShare;
using endpoint::SharingSource;
using packet::CmKind;
using packet::CmMessage;
using packet::Headers;
using responder::Bytes;
using responder::parsed;
using responder::path_to;
using responder::Responder;
using responder::ResponderOptions;
using responder::Wire;

// The responders of `count` queues, as RespondRun has them; with one, nothing is shared.
class Queues {
public:
  explicit Queues(uint32_t count, ResponderOptions options = {}) {
    if (count > 1)
      share_ = std::move(QueueShare::make(count, options.qps).get());
    options.siblings = share_.get();
    for (uint32_t i = 0; i < count; i++) {
      options.number = i;
      options.seed++;
      auto own = std::make_unique<Responder>(options);
      responders_.push_back(own.get());
      if (share_)
        sources_.push_back(std::make_unique<SharingSource>(std::move(own), share_->passed(i)));
      else
        sources_.push_back(std::move(own));
    }
  }

  size_t count() const { return sources_.size(); }
  void receive(size_t queue, const Bytes &bytes) {
    const Wire wire = parsed(bytes);
    sources_[queue]->receive(0, wire.bytes, wire.class_, wire.packet);
  }
  // What all send until none has more to send.
  std::vector<Bytes> answers() {
    std::vector<Bytes> all;
    std::array<packet::Outgoing, 16> out;
    for (bool more = true; more;) {
      more = false;
      for (const auto &source : sources_)
        while (source->wake_at() != kNever) {
          more = true;
          const size_t sent = source->next(0, out);
          for (size_t i = 0; i < sent; i++)
            all.push_back(bytes_of(out[i]));
        }
    }
    return all;
  }
  std::vector<Bytes> answers_to(size_t queue, const Bytes &bytes) {
    receive(queue, bytes);
    return answers();
  }
  RespondCounts counts() const {
    RespondCounts all;
    for (const Responder *one : responders_)
      add(all, one->counts());
    return all;
  }

private:
  std::unique_ptr<QueueShare> share_;
  std::vector<std::unique_ptr<packet::Source>> sources_;
  std::vector<Responder *> responders_;
};

Headers request_to(uint32_t qp, uint8_t opcode, uint32_t psn) {
  Headers headers = responder::request(opcode, psn);
  headers.dest_qp = qp;
  return headers;
}

Bytes built(const packet::Path &path, const Headers &headers, uint32_t payload = 0) {
  return packet::build(path, headers, packet::counting_payload(payload)).get().bytes;
}

// Requests of a few QPs of two peers, of all kinds; some lost, some twice, some with wrong opcodes.
std::vector<Bytes> conversation(std::mt19937_64 &random, double harm, size_t count) {
  std::vector<Bytes> frames;
  std::map<std::pair<uint8_t, uint32_t>, uint32_t> psns;
  std::bernoulli_distribution harmed(harm);
  while (frames.size() < count) {
    const auto host = static_cast<uint8_t>(1 + random() % 2);
    const auto qp = static_cast<uint32_t>(0x11 + random() % 3);
    packet::Path path = path_to(2);
    path.src = packet::ipv4(host + 10);
    uint32_t &psn = psns.try_emplace({host, qp}, static_cast<uint32_t>(random())).first->second;
    const auto length = static_cast<uint32_t>(random() % 5000);
    Bytes frame;
    uint32_t used = 1;
    psn &= ROCE_PSN_MASK;
    switch (random() % 4) {
    case 0: {
      Headers read = request_to(qp, ROCE_RC_RDMA_READ_REQUEST, psn);
      read.dma_len = length;
      used = std::max(1U, (length + 1023) / 1024);
      frame = built(path, read);
      break;
    }
    case 1:
      frame = built(path, request_to(qp, ROCE_RC_FETCH_ADD, psn));
      break;
    default:
      frame =
          built(path, request_to(qp, harmed(random) ? ROCE_RC_SEND_MIDDLE : ROCE_RC_SEND_ONLY, psn),
                length % 512);
    }
    psn = roce_psn_add(psn, used);
    const unsigned times = harmed(random) ? static_cast<unsigned>(random() % 3) : 1;
    for (unsigned i = 0; i < times; i++)
      frames.push_back(frame);
  }
  return frames;
}

void expect_equal(RespondCounts counts, const RespondCounts &of_one) {
  counts.other_queue = 0;
  const RespondCounts difference = since(counts, of_one);
  const RespondCounts none;
  EXPECT_EQ(memcmp(&difference, &none, sizeof(none)), 0)
      << "frames " << counts.frames << " for " << of_one.frames << ", requests " << counts.requests
      << " for " << of_one.requests << ", NAKs " << counts.naks << " for " << of_one.naks;
}

TEST(QueueShare, AnswersAsOneResponder) {
  for (const uint32_t count : {2U, 4U})
    for (const double harm : {0.0, 0.02}) {
      std::mt19937_64 random(count);
      Queues one(1), several(count);
      const std::vector<Bytes> frames = conversation(random, harm, 3000);
      for (const Bytes &frame : frames)
        ASSERT_EQ(several.answers_to(random() % count, frame), one.answers_to(0, frame));
      const RespondCounts counts = several.counts();
      expect_equal(counts, one.counts());
      EXPECT_EQ(counts.naks > 0, harm > 0);
      EXPECT_EQ(counts.qps, 6U);
      // Each frame has its own queue by one chance of `count`.
      const double others = static_cast<double>(counts.other_queue) / 3000;
      EXPECT_NEAR(others, 1 - 1.0 / count, 0.05);
      EXPECT_EQ(counts.other_queue_full, 0U);
    }
}

// Damaged frames, and those for others, claim no connection and are not passed on.
TEST(QueueShare, CountsBadFramesWhereTheyCome) {
  ResponderOptions options;
  options.addresses = {packet::ipv4(2)};
  options.last_qp = 0x1000;
  Queues queues(2, options);
  Bytes damaged = built(path_to(2), request_to(0x11, ROCE_RC_SEND_ONLY, 1), 64);
  damaged[60] ^= 1;
  for (const Bytes &bad : {damaged, built(path_to(3), request_to(0x11, ROCE_RC_SEND_ONLY, 1)),
                           built(path_to(2), request_to(0x1001, ROCE_RC_SEND_ONLY, 1))})
    EXPECT_TRUE(queues.answers_to(0, bad).empty());
  EXPECT_EQ(queues.answers_to(1, built(path_to(2), request_to(0x11, ROCE_RC_SEND_ONLY, 5))).size(),
            1U);
  EXPECT_EQ(queues.counts().other_queue, 0U);
  EXPECT_EQ(queues.counts().bad_icrc, 1U);
  EXPECT_EQ(queues.counts().not_mine, 1U);
  EXPECT_EQ(queues.counts().no_qp, 1U);
}

TEST(QueueShare, LimitsTheConnectionsOfAll) {
  ResponderOptions options;
  options.qps = 5;
  Queues queues(4, options);
  for (int again = 0; again < 2; again++)
    for (uint32_t qp = 0; qp < 8; qp++) {
      const Bytes frame = built(path_to(2), request_to(0x100 + qp, ROCE_RC_SEND_ONLY, 1 + again));
      EXPECT_EQ(queues.answers_to((qp + again) % 4, frame).size(), qp < 5 ? 1U : 0U);
    }
  EXPECT_EQ(queues.counts().qps, 5U);
  EXPECT_EQ(queues.counts().qps_full, 6U);
  EXPECT_EQ(queues.counts().other_queue, 5U);
}

TEST(QueueShare, CountsWhatOverflows) {
  Queues queues(2);
  EXPECT_EQ(queues.answers_to(0, built(path_to(2), request_to(0x11, ROCE_RC_SEND_ONLY, 0))).size(),
            1U);
  constexpr uint32_t kFrames = 3000;
  for (uint32_t psn = 1; psn <= kFrames; psn++)
    queues.receive(1, built(path_to(2), request_to(0x11, ROCE_RC_SEND_ONLY, psn), 1000));
  const size_t answers = queues.answers().size();
  const RespondCounts counts = queues.counts();
  EXPECT_EQ(counts.other_queue, kFrames);
  EXPECT_GT(counts.other_queue_full, kFrames / 2);
  EXPECT_LT(counts.other_queue_full, kFrames);
  EXPECT_EQ(counts.frames, 1 + kFrames - counts.other_queue_full);
  EXPECT_EQ(counts.in_order, counts.frames);
  EXPECT_EQ(answers, kFrames - counts.other_queue_full);
  // The owner answers what waits in pieces, and then has nothing to do.
  EXPECT_TRUE(queues.answers().empty());
}

// CNPs for READ responses slow them down wherever they come.
TEST(QueueShare, PassesCnpsOn) {
  ResponderOptions options;
  options.control.kind = congestion::Control::Kind::Dcqcn;
  options.line_bits = 1e10;
  Queues queues(2, options);
  Headers read = request_to(0x11, ROCE_RC_RDMA_READ_REQUEST, 1);
  read.dma_len = 10;
  EXPECT_EQ(queues.answers_to(0, built(path_to(2), read)).size(), 1U);
  Headers cnp = request_to(0x11, ROCE_OPCODE_CNP, 0);
  cnp.ack_req = false;
  for (size_t queue = 0; queue < 2; queue++)
    queues.answers_to(queue, built(path_to(2), cnp));
  cnp.dest_qp = 0x12;
  queues.answers_to(1, built(path_to(2), cnp));
  EXPECT_EQ(queues.counts().cnps_received, 2U);
  EXPECT_EQ(queues.counts().cnps_stray, 1U);
}

class SharedCm : public testing::TestWithParam<uint32_t> {
protected:
  size_t any() { return random_() % queues_.count(); }
  std::optional<CmMessage> ask(const packet::Path &path, const CmMessage &message) {
    const auto answers = queues_.answers_to(any(), packet::cm_frame(path, message, 1).get().bytes);
    if (answers.size() != 1)
      return {};
    const Wire answer = parsed(answers[0]);
    return packet::parse_cm_mad(
        std::span(answer.bytes).subspan(answer.packet.bth + 20, answer.packet.payload));
  }

  std::mt19937_64 random_{GetParam()};
  Queues queues_{GetParam()};
};

// Messages and requests come on any queue; QPNs that peers without RDMA CM use are not given away.
TEST_P(SharedCm, ConnectsAndDisconnects) {
  constexpr uint32_t kConnections = 40, kPlain = 7;
  packet::Path path = path_to(2);
  uint64_t sent = 0;
  for (uint32_t qp = 2; qp < 2 + kPlain; qp++, sent++)
    EXPECT_EQ(queues_.answers_to(any(), built(path, request_to(qp, ROCE_RC_SEND_ONLY, 9))).size(),
              1U);
  std::set<uint32_t> before;
  for (int round = 0; round < 3; round++) {
    std::map<uint32_t, CmMessage> reps; // by the peer's ID
    std::set<uint32_t> qps, ids;
    for (uint32_t id = 0; id < kConnections; id++) {
      path.src = packet::ipv4(1 + id % 3);
      CmMessage req;
      req.kind = CmKind::Req;
      req.local_id = id;
      req.qpn = 0x500 + id;
      req.pmtu_code = 4;
      req.local_gid = path.src;
      req.remote_gid = path.dst;
      const auto rep = ask(path, req);
      ASSERT_TRUE(rep && rep->kind == CmKind::Rep) << id;
      const auto again = ask(path, req);
      ASSERT_TRUE(again);
      EXPECT_EQ(again->qpn, rep->qpn);
      EXPECT_EQ(again->local_id, rep->local_id);
      EXPECT_TRUE(qps.insert(rep->qpn).second) << rep->qpn;
      EXPECT_TRUE(ids.insert(rep->local_id).second);
      EXPECT_FALSE(before.contains(rep->qpn));
      reps[id] = *rep;
    }
    before = qps;
    for (uint32_t i = 0; i < 5; i++)
      for (const auto &[id, rep] : reps) {
        path.src = packet::ipv4(1 + id % 3);
        const auto answers = queues_.answers_to(
            any(),
            built(path, request_to(rep.qpn, ROCE_RC_SEND_ONLY, roce_psn_add(rep.psn, i)), 20));
        sent++;
        ASSERT_EQ(answers.size(), 1U);
        const Wire ack = parsed(answers[0]);
        EXPECT_EQ(ack.packet.syndrome, 0x1f);
        EXPECT_EQ(ack.packet.psn, roce_psn_add(rep.psn, i));
        EXPECT_EQ(ack.msn(), i + 1);
        EXPECT_EQ(ack.qp(), 0x500 + id);
      }
    for (const auto &[id, rep] : reps) {
      path.src = packet::ipv4(1 + id % 3);
      CmMessage dreq;
      dreq.kind = CmKind::Dreq;
      dreq.local_id = id;
      dreq.remote_id = rep.local_id;
      dreq.qpn = rep.qpn;
      const auto drep = ask(path, dreq);
      ASSERT_TRUE(drep);
      EXPECT_EQ(drep->kind, CmKind::Drep);
    }
  }
  const RespondCounts counts = queues_.counts();
  EXPECT_EQ(counts.cm_connections, 3 * kConnections);
  EXPECT_EQ(counts.cm_messages, 9 * kConnections);
  EXPECT_EQ(counts.messages, sent);
  EXPECT_EQ(counts.naks + counts.out_of_order + counts.qps_full + counts.cm_rejected, 0U);
  EXPECT_EQ(counts.other_queue > 0, queues_.count() > 1);
}

INSTANTIATE_TEST_SUITE_P(Queues, SharedCm, testing::Values(1U, 2U, 4U));

} // namespace
} // namespace xr::test::queue_share_test
