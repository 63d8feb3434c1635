// SPDX-License-Identifier: Apache-2.0
// Connections by RDMA CM between a requester and a responder, in virtual time: every MAD is lost
// once, doubled, refused, or delayed by an MRA.
#include <functional>

#include "conversation.h"
#include "packet/icrc.h"
#include "requester/cm_source.h"
#include "requester/open.h"
#include "requester/verify.h"

namespace xr::requester::cm_connector_test {
namespace {

using packet::CmKind;
using packet::CmMessage;
using packet::Verb;

constexpr uint64_t kTimeout = 1'000'000; // until a MAD is sent again, ns

// A packet on its way, and its MAD if it is one.
struct Passing {
  bool to_responder;
  Bytes bytes;
  roce_packet packet{};
  roce_class class_ = ROCE_CLASS_MAX;
  std::optional<CmMessage> mad;

  Passing(bool to, Bytes given) : to_responder(to), bytes(std::move(given)) {
    const uint8_t *data = bytes.data();
    const auto length = static_cast<uint32_t>(bytes.size());
    const int got = roce_parse(data, data + length, roce_swap16(ROCE_UDP_PORT), &packet);
    class_ = static_cast<roce_class>(roce_check_length(got, length, &packet));
    if (packet.opcode == ROCE_OPCODE_UD_SEND_ONLY)
      mad = packet::parse_cm_mad(std::span(bytes).subspan(packet.bth + 20, packet.payload));
  }
  bool is(CmKind kind) const { return mad && mad->kind == kind; }
};

class ConnectTest : public testing::Test {
protected:
  // How often a packet arrives.
  using Fate = std::function<unsigned(Passing &)>;

  ConnectTest() {
    flow_.path.src = ipv4(1);
    flow_.path.dst = ipv4(2);
    flow_.qps = 3;
    flow_.messages = 5;
    flow_.size.parts = {{.bytes = 3000}};
    flow_.seed = 9;
    options_.first_qp = 0x500;
    options_.seed = 3;
    reliability_.timeout_code = 6;
    cm_options_.timeout_ns = kTimeout;
    cm_options_.retries = 3;
    cm_options_.seed = 11;
  }
  static unsigned once(Passing &) { return 1; }
  // Loses the first MAD of that kind.
  static Fate losing(CmKind kind) {
    return [kind, lost = false](Passing &passing) mutable {
      if (lost || !passing.is(kind))
        return 1U;
      lost = true;
      return 0U;
    };
  }

  void run(const Fate &fate, uint64_t end = 1'000'000'000) {
    responder_ = std::make_unique<responder::Responder>(options_);
    source_ = std::make_unique<CmSource>(std::vector{flow_}, cm_options_,
                                         [this](std::vector<flow::Flow> flows, uint32_t reads) {
                                           flows_ = flows;
                                           Reliability reliability = reliability_;
                                           reliability.answered = reads;
                                           return make(std::move(flows), reliability);
                                         });
    std::multimap<uint64_t, Passing> wire;
    for (now_ = 0; now_ < end && !source_->done();) {
      while (!wire.empty() && wire.begin()->first <= now_) {
        const auto node = wire.extract(wire.begin());
        const Passing &p = node.mapped();
        packet::Source &to = p.to_responder ? static_cast<packet::Source &>(*responder_) : *source_;
        to.receive(now_, p.bytes, p.class_, p.packet);
      }
      drain(*source_, true, fate, wire);
      drain(*responder_, false, fate, wire);
      if (source_->done())
        break;
      const uint64_t arrival = wire.empty() ? kNever : wire.begin()->first;
      const uint64_t next = std::min({source_->wake_at(), responder_->wake_at(), arrival});
      now_ = std::max(now_ + 1, next);
    }
    EXPECT_TRUE(source_->done());
    EXPECT_EQ(source_->wake_at(), kNever);
  }
  virtual std::unique_ptr<Requester> make(std::vector<flow::Flow> flows,
                                          const Reliability &reliability) {
    return std::make_unique<ReliableSource>(std::move(flows), congestion::Rate{}, 1e11,
                                            reliability);
  }
  void expect_complete() {
    const CmCounts &c = cm();
    EXPECT_EQ(c.requested, flow_.qps);
    EXPECT_EQ(c.established, flow_.qps);
    EXPECT_EQ(c.ended, flow_.qps);
    EXPECT_EQ(c.rejected + c.timed_out + c.not_ended + c.ended_by_peer, 0U);
    EXPECT_EQ(source_->counts().messages, flow_.qps * flow_.messages);
    EXPECT_EQ(source_->counts().failed_qps, 0U);
    EXPECT_EQ(responder_->counts().cm_connections, flow_.qps);
  }
  const CmCounts &cm() const { return *source_->cm(); }

  flow::Flow flow_;
  Reliability reliability_;
  CmOptions cm_options_;
  responder::ResponderOptions options_;
  std::unique_ptr<responder::Responder> responder_;
  std::unique_ptr<CmSource> source_;
  std::vector<flow::Flow> flows_; // as connected
  uint64_t now_ = 0;

private:
  void drain(packet::Source &from, bool to_responder, const Fate &fate,
             std::multimap<uint64_t, Passing> &wire) {
    std::vector<packet::Outgoing> out(16);
    while (const size_t count = from.next(now_, out))
      for (size_t i = 0; i < count; i++) {
        Passing passing(to_responder, bytes_of(out[i]));
        for (unsigned copies = fate(passing); copies; copies--)
          wire.emplace(now_ + kDelayNs, passing);
      }
  }
};

TEST_F(ConnectTest, ConnectsSendsAndDisconnects) {
  std::vector<CmKind> order;
  std::map<uint32_t, uint32_t> first_psns, psns; // by the responder's QPN
  run([&](Passing &p) {
    if (p.mad) {
      order.push_back(p.mad->kind);
      if (p.is(CmKind::Rep))
        psns[p.mad->qpn] = p.mad->psn;
    } else if (p.to_responder) {
      first_psns.try_emplace(roce_key_qp(&p.packet.key), p.packet.psn);
    }
    return 1U;
  });
  expect_complete();
  EXPECT_EQ(first_psns, psns);
  EXPECT_EQ(psns.size(), 3U);
  EXPECT_EQ(cm().mads_sent, 9U);
  EXPECT_EQ(cm().mads_received, 6U);
  EXPECT_EQ(cm().mads_resent + cm().strays, 0U);
  EXPECT_EQ(order,
            (std::vector{CmKind::Req, CmKind::Req, CmKind::Req, CmKind::Rep, CmKind::Rep,
                         CmKind::Rep, CmKind::Rtu, CmKind::Rtu, CmKind::Rtu, CmKind::Dreq,
                         CmKind::Dreq, CmKind::Dreq, CmKind::Drep, CmKind::Drep, CmKind::Drep}));
  EXPECT_EQ(flows_[0].dest_qp(0), 0x500U);
  EXPECT_LT(now_, kTimeout);
}

TEST_F(ConnectTest, TheRequestHasWhatServersCheck) {
  std::optional<CmMessage> req;
  flow_.pmtu = 2048;
  flow_.src_qp = 0x77;
  flow_.qps = 1;
  run([&](Passing &p) {
    if (p.is(CmKind::Req))
      req = p.mad;
    return 1U;
  });
  ASSERT_TRUE(req);
  EXPECT_EQ(req->service_id, 0x0000000001061c06U); // TCP port 7174
  EXPECT_EQ(req->qpn, 0x77U);
  EXPECT_EQ(req->pmtu_code, 4);
  EXPECT_EQ(req->transport, 0);
  EXPECT_EQ(req->local_gid, flow_.path.src);
  EXPECT_EQ(req->remote_gid, flow_.path.dst);
  EXPECT_EQ(req->private_data[1] >> 4, 4);
  EXPECT_EQ(Bytes(req->private_data.begin() + 32, req->private_data.begin() + 36),
            (Bytes{192, 0, 2, 2}));
  EXPECT_GE(packet::cm_time_ns(req->remote_timeout), kTimeout);
}

// Each message is lost once. An RTU that is lost is not missed: requests follow.
TEST_F(ConnectTest, SendsLostMadsAgain) {
  for (const auto &[kind, again] :
       {std::pair(CmKind::Req, 1U), std::pair(CmKind::Rep, 1U), std::pair(CmKind::Rtu, 0U),
        std::pair(CmKind::Dreq, 1U), std::pair(CmKind::Drep, 1U)}) {
    run(losing(kind));
    SCOPED_TRACE(static_cast<int>(kind));
    expect_complete();
    EXPECT_EQ(cm().mads_resent, again);
    EXPECT_EQ(now_ >= kTimeout, again > 0);
  }
}

TEST_F(ConnectTest, IsNotDisturbedByDoubledMads) {
  run([](Passing &p) { return p.mad ? 2U : 1U; });
  expect_complete();
  EXPECT_EQ(cm().mads_resent, 0U);
  EXPECT_EQ(responder_->counts().qps, 3U);
  EXPECT_GT(cm().mads_sent, 9U); // an RTU for each REP
}

TEST_F(ConnectTest, LosesManyMads) {
  flow_.qps = 20;
  cm_options_.retries = 30;
  std::mt19937 random(7);
  run([&](Passing &p) { return p.mad && random() % 2 ? 0U : 1U; });
  expect_complete();
  EXPECT_GT(cm().mads_resent, 20U);
}

TEST_F(ConnectTest, GivesUpWithoutAnAnswer) {
  std::vector<CmKind> seen;
  flow_.qps = 1;
  run([&](Passing &p) {
    seen.push_back(p.mad->kind);
    return 0U;
  });
  EXPECT_EQ(cm().timed_out, 1U);
  EXPECT_EQ(cm().established, 0U);
  EXPECT_EQ(seen, (std::vector{CmKind::Req, CmKind::Req, CmKind::Req, CmKind::Req, CmKind::Rej}));
  EXPECT_EQ(now_ / kTimeout, 4U); // the first and three retries
  EXPECT_EQ(source_->counts().packets, 0U);
}

TEST_F(ConnectTest, EndsOnItsOwnWithoutADrep) {
  run([](Passing &p) { return p.is(CmKind::Drep) ? 0U : 1U; });
  EXPECT_EQ(cm().not_ended, 3U);
  EXPECT_EQ(cm().ended, 0U);
  EXPECT_EQ(cm().mads_resent, 9U);
}

TEST_F(ConnectTest, IsRejected) {
  options_.cm_reject = 8;
  run(once);
  EXPECT_EQ(cm().rejected, 3U);
  EXPECT_EQ(cm().reason, 8U);
  EXPECT_EQ(cm().established, 0U);
  EXPECT_EQ(responder_->counts().cm_rejected, 3U);
  EXPECT_EQ(responder_->counts().cm_connections, 0U);
  EXPECT_EQ(source_->counts().packets, 0U);
}

// One of three is rejected: the other two are ended again, and nothing is sent.
TEST_F(ConnectTest, SendsNothingWithoutAllConnections) {
  options_.qps = 2;
  run(once);
  EXPECT_EQ(cm().rejected, 1U);
  EXPECT_EQ(cm().reason, 1U);
  EXPECT_EQ(cm().established, 2U);
  EXPECT_EQ(cm().ended, 2U);
  EXPECT_EQ(source_->counts().packets, 0U);
}

// The peer asks for 4 ms more.
TEST_F(ConnectTest, WaitsAfterAnMra) {
  CmMessage mra;
  CmConnector connector({{ipv4(1), ipv4(2), 0x11, 3, 0}}, cm_options_);
  connector.start(0);
  const auto req = connector.next(0);
  ASSERT_TRUE(req);
  mra.kind = CmKind::Mra;
  mra.remote_id = req->message.local_id;
  mra.local_id = 0x99;
  mra.remote_timeout = packet::cm_time_code(4 * kTimeout);
  connector.receive(kTimeout / 2, ipv4(2), mra);
  EXPECT_EQ(connector.counts().mras, 1U);
  const uint64_t service = packet::cm_time_ns(mra.remote_timeout);
  EXPECT_EQ(connector.wake_at(), kTimeout / 2 + service + kTimeout);
  EXPECT_FALSE(connector.next(kTimeout / 2 + service));
  const auto again = connector.next(kTimeout / 2 + service + kTimeout);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->message.kind, CmKind::Req);
  CmMessage answer = mra;
  answer.kind = CmKind::Rep;
  answer.qpn = 0x123;
  answer.psn = 0x456;
  connector.receive(2 * service, ipv4(2), answer);
  EXPECT_TRUE(connector.settled());
  EXPECT_EQ(connector.peer(0).qpn, 0x123U);
  EXPECT_EQ(connector.peer(0).psn, 0x456U);
}

TEST_F(ConnectTest, IgnoresStrangers) {
  CmConnector connector({{ipv4(1), ipv4(2), 0x11, 3, 0}}, cm_options_);
  connector.start(0);
  const auto req = connector.next(0);
  ASSERT_TRUE(req);
  CmMessage rep;
  rep.kind = CmKind::Rep;
  rep.remote_id = req->message.local_id;
  connector.receive(1, ipv4(3), rep); // another host
  rep.remote_id++;
  connector.receive(1, ipv4(2), rep); // another connection
  CmMessage theirs;
  theirs.kind = CmKind::Req;
  connector.receive(1, ipv4(2), theirs);
  EXPECT_EQ(connector.counts().strays, 3U);
  EXPECT_FALSE(connector.settled());
}

TEST_F(ConnectTest, ThePeerMayDisconnect) {
  CmConnector connector({{ipv4(1), ipv4(2), 0x11, 3, 0}}, cm_options_);
  connector.start(0);
  CmMessage message;
  message.kind = CmKind::Rep;
  message.remote_id = connector.next(0)->message.local_id;
  message.local_id = 5;
  connector.receive(1, ipv4(2), message);
  EXPECT_EQ(connector.next(1)->message.kind, CmKind::Rtu);
  message.kind = CmKind::Dreq;
  for (int i = 0; i < 2; i++) { // also the second time
    connector.receive(2, ipv4(2), message);
    const auto drep = connector.next(2);
    ASSERT_TRUE(drep);
    EXPECT_EQ(drep->message.kind, CmKind::Drep);
    EXPECT_EQ(drep->message.remote_id, 5U);
  }
  EXPECT_EQ(connector.counts().ended_by_peer, 1U);
  EXPECT_TRUE(connector.all_ended());
  EXPECT_FALSE(connector.abandon());
}

TEST_F(ConnectTest, AwaitsFewAnswersAtATime) {
  flow_.qps = 300;
  flow_.messages = 1;
  size_t awaited = 0, most = 0;
  run([&](Passing &p) {
    awaited += p.is(CmKind::Req);
    awaited -= p.is(CmKind::Rep);
    most = std::max(most, awaited);
    return 1U;
  });
  expect_complete();
  EXPECT_EQ(most, CmConnector::kAwaited);
}

TEST_F(ConnectTest, LeavesWithDreqs) {
  CmConnector connector({{ipv4(1), ipv4(2), 0x11, 3, 0}, {ipv4(1), ipv4(2), 0x12, 3, 0}},
                        cm_options_);
  connector.start(0);
  for (auto mad = connector.next(0); mad; mad = connector.next(0)) {
    CmMessage rep;
    rep.kind = CmKind::Rep;
    rep.remote_id = mad->message.local_id;
    rep.local_id = 70 + static_cast<uint32_t>(mad->index);
    if (mad->message.kind == CmKind::Req)
      connector.receive(1, ipv4(2), rep);
  }
  for (uint32_t i = 0; i < 2; i++) {
    const auto dreq = connector.abandon();
    ASSERT_TRUE(dreq);
    EXPECT_EQ(dreq->message.kind, CmKind::Dreq);
    EXPECT_EQ(dreq->message.remote_id, 70 + i);
  }
  EXPECT_FALSE(connector.abandon());
  EXPECT_EQ(connector.counts().not_ended, 2U);
}

// The REP says how many READs the peer executes at a time.
TEST_F(ConnectTest, KeepsToTheResourcesOfThePeer) {
  flow_.verb = Verb::Read;
  flow_.qps = 1;
  flow_.messages = 50;
  size_t outstanding = 0, most = 0;
  run([&](Passing &p) {
    if (p.is(CmKind::Rep)) {
      p.bytes[p.packet.bth + 44 + 24] = 2;
      icrc_write(p.bytes.data(), p.packet);
    }
    outstanding += (p.packet.info & ROCE_OP_READ_REQUEST) != 0;
    outstanding -= p.packet.opcode == ROCE_RC_RDMA_READ_RESPONSE_LAST;
    most = std::max(most, outstanding);
    return 1U;
  });
  expect_complete();
  EXPECT_EQ(most, 2U);
}

TEST_F(ConnectTest, AnswersTheChosenVersionOnly) {
  options_.cm_v2 = false;
  run(once);
  EXPECT_EQ(cm().timed_out, 3U);
  EXPECT_EQ(responder_->counts().cm_other_version, 12U); // 4 REQs for each
  flow_.path.network = packet::Network::V1;
  run(once);
  expect_complete();
}

TEST_F(ConnectTest, ConnectsUnreliableFlows) {
  flow_.transport = ROCE_UC;
  responder_ = std::make_unique<responder::Responder>(options_);
  CmSource source({flow_}, cm_options_, [](std::vector<flow::Flow> flows, uint32_t) {
    return std::make_unique<OpenSource>(std::move(flows), congestion::Rate{}, 1e11);
  });
  Network network({}, 1);
  converse(source, *responder_, network);
  EXPECT_EQ(responder_->counts().unreliable, 45U);
  EXPECT_EQ(responder_->counts().uc_dropped + responder_->counts().out_of_order, 0U);
  EXPECT_EQ(source.cm()->ended, 3U);
}

class ConnectVerifyTest : public ConnectTest {
protected:
  std::unique_ptr<Requester> make(std::vector<flow::Flow> flows,
                                  const Reliability &reliability) override {
    return std::make_unique<VerifySource>(std::move(flows), congestion::Rate{}, 1e11, reliability);
  }
};

// The peer's REP says where its memory is; words of the flow win.
TEST_F(ConnectVerifyTest, UsesTheMemoryOfThePeer) {
  auto memory = responder::Memory::make({.size = 1 << 16, .va = 0x5000000, .rkey = 99});
  ASSERT_TRUE(memory.ok());
  options_.memory = memory->get();
  flow_.verb = Verb::Write;
  std::vector flows = {flow_};
  ASSERT_TRUE(prepare_verify(flows, 0).ok());
  flow_ = flows[0];
  run(once);
  EXPECT_EQ(source_->verified()->messages, 15U);
  EXPECT_EQ(source_->verified()->different_packets, 0U);
  EXPECT_EQ(responder_->counts().bad_rkey + responder_->counts().out_of_bounds, 0U);
  EXPECT_EQ(flows_[0].rkey, 99U);
  EXPECT_EQ(cm().ended, 3U);
  flow_.memory_given = true;
  run(once);
  EXPECT_EQ(responder_->counts().bad_rkey, 3U);
}

TEST(CheckCm, RefusesWhatHasNoConnection) {
  flow::Flow flow;
  flow.path.dst = ipv4(2);
  EXPECT_TRUE(check_cm(flow).ok());
  flow.transport = ROCE_UD;
  EXPECT_FALSE(check_cm(flow).ok());
  flow.transport = ROCE_RC;
  flow.pmtu = 1000;
  EXPECT_FALSE(check_cm(flow).ok());
  flow.pmtu = 4096;
  flow.psn = 5;
  EXPECT_FALSE(check_cm(flow).ok());
}

} // namespace
} // namespace xr::requester::cm_connector_test
