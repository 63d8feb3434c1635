// SPDX-License-Identifier: Apache-2.0
// Queue pairs with both sides, and the tools' traffic over them.
#include <gtest/gtest.h>

#include <random>

#include "peer/hub.h"
#include "peer/perftest_traffic.h"
#include "peer/small_tools.h"
#include "station/queue_pairs.h"
#include "unit/two_hosts.h"

namespace xr::station::queue_pairs_test {
namespace {

using Kind = QpEvent::Kind;
using packet::ipv4;
using packet::Verb;
using test::Bytes;

constexpr uint64_t kMs = 1'000'000;

std::unique_ptr<responder::Memory> memory_of(uint8_t host) {
  return std::move(
      responder::Memory::make({.size = 1 << 20, .va = 0x100000, .rkey = 0x100U + host}).get());
}

// One side: its memory, its QPs, and what it heard of.
struct Side : QpProgram {
  explicit Side(uint8_t host, const QueuePairOptions &more = {})
      : memory(memory_of(host)), qps(options(host, more)) {
    qps.run(this);
  }
  QueuePairOptions options(uint8_t host, QueuePairOptions made) const {
    made.responder.addresses = {ipv4(host)};
    made.responder.mac = {2, 0, 0, 0, 0, host};
    made.responder.memory = memory.get();
    made.reliability.timeout_code = 8; // 1 ms
    made.line_bits = 1e10;
    made.seed = host;
    return made;
  }
  void event(uint64_t, const QpEvent &event) override {
    kinds.push_back(event.kind);
    if (event.kind == Kind::Arrived) {
      messages.push_back(event.message);
      data.emplace_back(event.bytes.begin(), event.bytes.end());
    }
    if (event.kind == Kind::Failed)
      syndrome = event.syndrome;
    if (event.kind == Kind::Connected)
      connected.push_back(event.qp);
  }
  size_t count(Kind kind) const { return static_cast<size_t>(std::ranges::count(kinds, kind)); }

  std::unique_ptr<responder::Memory> memory;
  QueuePairs qps;
  std::vector<Kind> kinds;
  std::vector<responder::Arrived> messages;
  std::vector<Bytes> data;
  std::vector<uint32_t> connected;
  uint8_t syndrome = 0;
};

class QueuePairsTest : public test::TwoHosts {
protected:
  packet::Source &host(bool b) override { return (b ? b_ : a_)->qps; }
  void make(const QueuePairOptions &a = {}, const QueuePairOptions &b = {}) {
    a_ = std::make_unique<Side>(1, a);
    b_ = std::make_unique<Side>(2, b);
    wire_ = {};
    lose_ = {};
  }
  QpEnds ends(uint8_t from, uint8_t to, uint32_t qp, uint32_t peer_qp) const {
    QpEnds made;
    made.path.src = ipv4(from);
    made.path.dst = ipv4(to);
    made.path.src_mac = {2, 0, 0, 0, 0, from};
    made.path.dst_mac = {2, 0, 0, 0, 0, to};
    made.qp = qp;
    made.peer_qp = peer_qp;
    made.psn = 0xfffff0U + from; // wraps soon
    made.peer_psn = 0xfffff0U + to;
    made.rkey = 0x100U + to;
    return made;
  }
  void open(std::optional<uint8_t> transport = ROCE_RC, uint32_t count = 1) {
    std::vector<QpEnds> at_a, at_b;
    for (uint32_t i = 0; i < count; i++) {
      at_a.push_back(ends(1, 2, 0x11 + i, 0x2011 + i));
      at_b.push_back(ends(2, 1, 0x2011 + i, 0x11 + i));
      at_a.back().transport = at_b.back().transport = transport;
    }
    a_->qps.open(at_a);
    b_->qps.open(at_b);
  }
  // Loses that part of all packets.
  void lose(double part) {
    lose_ = [this, part](bool, const Bytes &) {
      return std::uniform_real_distribution<>()(random_) < part;
    };
  }

  std::unique_ptr<Side> a_, b_;
  std::mt19937 random_{7};
};

// SENDs, WRITEs, READs and atomics of one QP complete in their order, with their data, also where
// packets are lost; and both sides do so at once.
TEST_F(QueuePairsTest, VerbsOfOneQpCompleteInOrderBothWays) {
  for (const double loss : {0.0, 0.02}) {
    SCOPED_TRACE(loss);
    make();
    open();
    if (loss > 0)
      lose(loss);
    b_->qps.keep(0x2011, 64);
    const Bytes text(5000, 0x5a), own(3000, 0xa5);
    a_->memory->write(0x100000, own);
    std::vector<Bytes> read(20, Bytes(2500));
    for (size_t i = 0; i < read.size(); i++) {
      const uint64_t va = 0x110000 + i * 5000;
      a_->qps.post(now_, 0x11, {.verb = Verb::Write, .bytes = 5000, .va = va, .data = text.data()});
      a_->qps.post(now_, 0x11,
                   {.verb = Verb::Read, .bytes = 2500, .va = va, .into = read[i].data()});
      a_->qps.post(now_, 0x11, {.verb = Verb::Send, .bytes = i + 1, .data = text.data()});
      a_->qps.post(now_, 0x11, {.verb = Verb::FetchAdd, .bytes = 8, .va = 0x100000});
      b_->qps.post(now_, 0x2011,
                   {.verb = Verb::WriteImmediate,
                    .bytes = 100,
                    .va = 0x180000,
                    .immediate = 77,
                    .data = text.data()});
    }
    run_for(500 * kMs);
    EXPECT_EQ(a_->count(Kind::Sent), 80U);
    EXPECT_EQ(b_->count(Kind::Sent), 20U);
    EXPECT_EQ(a_->count(Kind::Failed) + b_->count(Kind::Failed), 0U);
    EXPECT_EQ(a_->qps.outstanding(0x11), 0U);
    for (const Bytes &each : read)
      EXPECT_EQ(each, Bytes(2500, 0x5a));
    uint64_t sends = 0, adds = 0;
    for (size_t i = 0; i < b_->messages.size(); i++) {
      const responder::Arrived &m = b_->messages[i];
      if (m.send) {
        EXPECT_EQ(m.bytes, ++sends);
        EXPECT_EQ(Bytes(b_->data[i].begin(), b_->data[i].begin() + static_cast<ptrdiff_t>(m.bytes)),
                  Bytes(m.bytes, 0x5a));
      }
      adds += !m.send && !m.write && !m.read;
    }
    EXPECT_EQ(sends, 20U);
    EXPECT_EQ(adds, 20U);
    EXPECT_EQ(b_->memory->fetch_add(0x100000, 0), 20U);
    ASSERT_EQ(a_->messages.size(), 20U);
    EXPECT_EQ(a_->messages.front().immediate, 77U);
  }
}

TEST_F(QueuePairsTest, ReceivesRunOutAndTheSenderWaits) {
  QueuePairOptions b;
  b.responder.rnr_timer = 1; // 10 us
  make({}, b);
  open();
  b_->qps.receives(0x2011, 3);
  for (int i = 0; i < 5; i++)
    a_->qps.post(now_, 0x11, {.verb = Verb::Send, .bytes = 1500});
  run_for(5 * kMs);
  EXPECT_EQ(a_->count(Kind::Sent), 3U);
  EXPECT_GT(a_->qps.sent().rnr_naks, 10U);
  b_->qps.receives(0x2011, 2);
  run_for(5 * kMs);
  EXPECT_EQ(a_->count(Kind::Sent), 5U);
  EXPECT_EQ(b_->messages.size(), 5U);
}

TEST_F(QueuePairsTest, AQpFailsByItsRetriesOrByTheNakThatEndsIt) {
  make();
  open();
  lose_ = [](bool to_b, const Bytes &) { return to_b; };
  a_->qps.post(now_, 0x11, {.verb = Verb::Send, .bytes = 10});
  run_for(100 * kMs);
  EXPECT_EQ(a_->count(Kind::Failed), 1U);
  EXPECT_EQ(a_->syndrome, 0U);
  EXPECT_EQ(a_->qps.sent().timeouts, 8U); // 7 retries
  make();
  open();
  a_->qps.post(now_, 0x11, {.verb = Verb::Write, .bytes = 10, .va = 0x100000, .rkey = 0xbad});
  run_for(10 * kMs);
  EXPECT_EQ(a_->count(Kind::Failed), 1U);
  EXPECT_EQ(a_->syndrome, 0x62U); // remote access error
  EXPECT_EQ(b_->qps.responded().bad_rkey, 1U);
}

TEST_F(QueuePairsTest, UcAndUdCompleteWhenTheyAreSentAndTheTransportIsSeen) {
  for (const uint8_t transport : {ROCE_UC, ROCE_UD}) {
    make();
    open(transport);
    b_ = std::make_unique<Side>(2);
    QpEnds unknown = ends(2, 1, 0x2011, 0x11);
    unknown.transport = {};
    b_->qps.open({unknown});
    b_->qps.keep(0x2011, 2000);
    const Bytes text(900, 0x33);
    for (int i = 0; i < 10; i++)
      a_->qps.post(now_, 0x11, {.verb = Verb::Send, .bytes = 900, .data = text.data()});
    run_for(kMs);
    EXPECT_EQ(a_->count(Kind::Sent), 10U);
    ASSERT_EQ(b_->messages.size(), 10U);
    EXPECT_EQ(b_->messages.back().transport, transport);
    EXPECT_EQ(b_->data.back(), text);
    EXPECT_EQ(a_->qps.sent().acks, 0U);
    b_->qps.use_transport(b_->messages.back().transport);
    b_->qps.post(now_, 0x2011, {.verb = Verb::Send, .bytes = 500});
    run_for(kMs);
    ASSERT_EQ(a_->messages.size(), 1U);
    EXPECT_EQ(a_->messages.back().bytes, 500U);
  }
}

TEST_F(QueuePairsTest, RdmaCmConnectsAndEitherSideEnds) {
  for (const bool passive_ends : {false, true}) {
    make();
    QpEnds first = ends(1, 2, 0x11, 0);
    a_->qps.connect(now_, {first}, packet::cm_service(7471));
    run_for(5 * kMs);
    ASSERT_EQ(a_->count(Kind::Opened), 1U);
    ASSERT_EQ(b_->connected.size(), 1U);
    const uint32_t there = b_->connected.front();
    a_->qps.post(now_, 0x11, {.verb = Verb::Send, .bytes = 3000});
    b_->qps.post(now_, there, {.verb = Verb::Send, .bytes = 10});
    run_for(5 * kMs);
    EXPECT_EQ(a_->messages.size() + b_->messages.size(), 2U);
    EXPECT_EQ(a_->count(Kind::Sent) + b_->count(Kind::Sent), 2U);
    QueuePairs &ends_it = passive_ends ? b_->qps : a_->qps;
    Side &hears = passive_ends ? *a_ : *b_;
    ends_it.disconnect(now_);
    run_for(5 * kMs);
    EXPECT_EQ(hears.count(Kind::Disconnected), 1U);
    EXPECT_TRUE(ends_it.disconnected());
  }
}

// Each fault of the answers, and what the other side does about it.
TEST_F(QueuePairsTest, FaultsOfAnswers) {
  struct Case {
    const char *name;
    AnswerFault::Kind kind;
    bool fails;
  };
  using enum AnswerFault::Kind;
  for (const Case &c :
       {Case{"skip", Skip, false}, Case{"repeat", Repeat, false}, Case{"icrc", Icrc, false},
        Case{"psn", Psn, false}, Case{"late", Late, false}, Case{"cut", Cut, false},
        Case{"nak", Nak, true}, Case{"silent", Silent, true}}) {
    SCOPED_TRACE(c.name);
    AnswerFault fault{.kind = c.kind, .when = {}, .late_ns = 3 * kMs, .nak_code = 3};
    fault.when.when = flow::Fault::When::Positions;
    fault.when.positions = {5};
    QueuePairOptions b;
    b.answer_faults = {fault};
    make({}, b);
    open();
    Bytes into(3000);
    for (int i = 0; i < 20; i++)
      a_->qps.post(now_, 0x11,
                   {.verb = c.kind == Cut ? Verb::Read : Verb::Write,
                    .bytes = 3000,
                    .va = 0x100000,
                    .into = into.data()});
    run_for(100 * kMs);
    EXPECT_EQ(a_->count(Kind::Sent), c.fails ? 4U : 20U);
    EXPECT_EQ(a_->count(Kind::Failed), c.fails);
    const Reaction reaction = b_->qps.reaction();
    EXPECT_EQ(reaction.faults, 1U);
    EXPECT_GT(reaction.first_fault_ns, 0U);
    if (c.kind == Silent) {
      EXPECT_EQ(reaction.rounds, 7U); // its retries
      EXPECT_GE(reaction.first_again_ns - reaction.first_fault_ns, kMs);
    }
    if (c.kind == Repeat) {
      EXPECT_EQ(a_->qps.sent().duplicate_acks, 1U);
    }
    if (c.kind == Icrc) {
      EXPECT_EQ(a_->qps.sent().bad_icrc_received, 1U);
    }
  }
}

// perftest's tests between a client and a server that does not know which one it is.
struct Pair {
  std::unique_ptr<peer::Hub> hub;
  std::unique_ptr<peer::PerftestTraffic> traffic;
};

class Perftest : public QueuePairsTest {
protected:
  Pair side(Side &of, peer::PerftestPlan plan, const std::vector<uint32_t> &qps,
            const std::vector<peer::PerftestKey> &theirs) {
    plan.memory = of.memory.get();
    Pair pair{std::make_unique<peer::Hub>(of.qps),
              std::make_unique<peer::PerftestTraffic>(of.qps, plan)};
    pair.traffic->use(qps, theirs);
    pair.hub->traffic(pair.traffic.get());
    return pair;
  }
};

TEST_F(Perftest, AServerSeesWhichTestItIs) {
  using enum peer::PerftestTest;
  for (const peer::PerftestTest test :
       {WriteBw, ReadBw, SendBw, AtomicBw, WriteLat, ReadLat, SendLat, AtomicLat})
    for (const bool both : {false, true}) {
      const size_t number = static_cast<size_t>(test);
      SCOPED_TRACE(testing::Message() << peer::kPerftestTests[number] << (both ? " -b" : ""));
      const bool latency = peer::is_latency(test);
      if (latency && both)
        continue;
      make();
      open();
      const bool sends = peer::is_send(test);
      const bool asks = peer::is_answered(test);
      const auto key = [&](uint32_t host) {
        return peer::PerftestKey{
            .out_reads = asks ? 16U : 1U, .rkey = sends ? 0 : 0x100U + host, .va = 0x100000};
      };
      const uint64_t size = latency ? 100 : 5000;
      Pair client = side(*a_,
                         {.client = true,
                          .test = test,
                          .size = size,
                          .iterations = 50,
                          .depth = 8,
                          .both_ways = both},
                         {0x11}, {key(2)});
      Pair server = side(*b_, {}, {0x2011}, {key(1)});
      server.traffic->begin(now_, false);
      if (latency || sends || both)
        server.traffic->begin(now_, true);
      client.traffic->begin(now_, both);
      run_for(3000 * kMs);
      EXPECT_TRUE(client.traffic->over());
      const peer::PerftestResult at_client = client.traffic->result();
      const peer::PerftestResult at_server = server.traffic->result();
      EXPECT_EQ(at_client.sent, 50U);
      EXPECT_EQ(at_server.arrived, 50U);
      EXPECT_EQ(at_client.failed_qps, 0U);
      if (both && !asks) {
        EXPECT_EQ(at_client.arrived, 50U);
      }
      if (latency) {
        EXPECT_EQ(at_client.latencies_us.size(), 49U);
      }
      if (!both) {
        EXPECT_EQ(server.traffic->seen_test(), peer::kPerftestTests[number]);
      }
    }
}

TEST_F(Perftest, APingpongCompletesWherePacketsAreLost) {
  make();
  open();
  lose(0.02);
  peer::Hub at_a(a_->qps), at_b(b_->qps);
  peer::EchoTraffic asks(a_->qps, {.client = true,
                                   .size = 4096,
                                   .first = 1,
                                   .most = 200,
                                   .awaits = 200,
                                   .fill = 0x7b,
                                   .checks = true});
  peer::EchoTraffic answers(b_->qps, {.fill = 0x7b, .checks = true});
  at_a.traffic(&asks);
  at_b.traffic(&answers);
  answers.begin(now_, {0x2011});
  asks.begin(now_, {0x11});
  run_for(2000 * kMs);
  EXPECT_TRUE(asks.over());
  EXPECT_EQ(asks.result().arrived, 200U);
  EXPECT_EQ(asks.result().bad_data + answers.result().bad_data, 0U);
  EXPECT_GT(a_->qps.sent().retransmitted, 0U);
}

TEST_F(Perftest, RpingReadsAndWritesBackWhatTheClientHas) {
  for (const uint64_t size : {64U, 4000U}) {
    make();
    open();
    lose(0.02);
    peer::Hub at_a(a_->qps), at_b(b_->qps);
    peer::RpingTraffic asks(
        a_->qps, {.client = true, .size = size, .rounds = 100, .memory = a_->memory.get()});
    peer::RpingTraffic answers(b_->qps, {});
    at_a.traffic(&asks);
    at_b.traffic(&answers);
    b_->qps.keep(0x2011, 16);
    asks.begin(now_, {0x11});
    run_for(3000 * kMs);
    EXPECT_TRUE(asks.over());
    EXPECT_EQ(asks.result().arrived, 100U);
    EXPECT_EQ(answers.result().arrived, 100U);
    EXPECT_EQ(asks.result().bad_data + answers.result().bad_data, 0U);
  }
}

} // namespace
} // namespace xr::station::queue_pairs_test
