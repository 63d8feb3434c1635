// SPDX-License-Identifier: Apache-2.0
// The reliable requester and the responder in virtual time, over a network that drops, duplicates,
// reorders and corrupts packets: every message completes exactly once.
#include "conversation.h"

namespace xr::requester::conversation_test {
namespace {

using packet::Verb;

struct Case {
  const char *name;
  Verb verb;
  uint8_t transport = ROCE_RC;
  std::vector<uint64_t> sizes;
  uint64_t messages = 40;
};

const Case kCases[] = {
    {.name = "send", .verb = Verb::Send, .sizes = {3000, 1, 0, 1024, 70000}},
    {.name = "small", .verb = Verb::SendImmediate, .sizes = {64}, .messages = 500},
    {.name = "write", .verb = Verb::Write, .sizes = {1024, 4096, 5, 20000}},
    {.name = "read", .verb = Verb::Read, .sizes = {1, 1024, 1025, 0, 70000, 4096}},
    {.name = "atomic", .verb = Verb::FetchAdd, .sizes = {8}, .messages = 300},
    {.name = "swap", .verb = Verb::CompareSwap, .sizes = {8}},
    {.name = "flush", .verb = Verb::Flush, .sizes = {4096}},
    {.name = "atomic_write", .verb = Verb::AtomicWrite, .sizes = {8}},
    {.name = "xrc_send", .verb = Verb::Send, .transport = ROCE_XRC, .sizes = {3000, 100}},
    {.name = "xrc_read", .verb = Verb::Read, .transport = ROCE_XRC, .sizes = {3000, 100}},
    {.name = "xrc_atomic", .verb = Verb::FetchAdd, .transport = ROCE_XRC, .sizes = {8}},
};

// Which end does selective repeat.
struct Ends {
  bool requester = false, responder = false;
};

class Conversation : public testing::TestWithParam<Case> {
protected:
  static constexpr uint32_t kQps = 4;

  std::vector<flow::Flow> flows(uint64_t seed) const {
    const Case &c = GetParam();
    flow::Flow flow;
    flow.path.src = ipv4(1);
    flow.path.dst = ipv4(2);
    flow.transport = c.transport;
    flow.verb = c.verb;
    flow.qps = kQps;
    flow.messages = c.messages;
    flow.psn = 0xfffff0; // wraps soon
    flow.size.parts.clear();
    for (const uint64_t size : c.sizes)
      flow.size.parts.push_back({.bytes = size});
    flow.seed = seed;
    return {flow};
  }
  uint64_t wanted_bytes(const flow::Flow &flow) const {
    uint64_t bytes = 0;
    for (uint64_t number = 0; number < flow.messages; number++)
      bytes += kQps * flow.size.of(number, 0);
    return bytes;
  }

  // `rnr`: every so many messages are refused once.
  void talk(const Harm &harm, uint64_t seed, uint64_t rnr = 0, Ends selective = {}) {
    SCOPED_TRACE(testing::Message() << GetParam().name << ", seed " << seed << ", selective "
                                    << selective.requester << selective.responder);
    const std::vector<flow::Flow> all = flows(seed);
    Reliability reliability;
    reliability.window = seed % 2 ? 64 : 16;
    reliability.timeout_code = 9;
    reliability.selective = selective.requester;
    ReliableSource requester(all, {}, 1e11, reliability);
    responder::ResponderOptions options;
    options.selective = selective.responder;
    options.rnr_every = rnr;
    options.rnr_timer = 1;
    responder::Responder responder(options);
    Network network(harm, seed);
    converse(requester, responder, network);
    compare(all[0], requester.counts(), responder.counts());
    EXPECT_EQ(requester.counts().rnr_naks > 0, rnr > 0);
    if (network.lost()) {
      EXPECT_GT(requester.counts().retransmitted, 0U);
    } else if (!harm.doubled && !harm.reordered && !harm.damaged && !rnr) {
      clean(requester.counts(), responder.counts());
    }
    if (GetParam().verb == Verb::FetchAdd)
      for (const auto &[qp, largest] : network.originals()) {
        EXPECT_EQ(largest, all[0].messages - 1) << "QP " << qp;
      }
  }
  void compare(const flow::Flow &flow, const SendCounts &sent, const RespondCounts &seen) {
    EXPECT_EQ(sent.messages, kQps * flow.messages);
    EXPECT_EQ(sent.failed_qps, 0U);
    EXPECT_EQ(sent.invalid_naks + sent.access_naks + sent.operational_naks, 0U);
    EXPECT_EQ(seen.invalid, 0U);
    EXPECT_EQ(seen.qps, kQps);
    EXPECT_EQ(sent.completion_ns.count(), sent.messages);
    const bool data =
        flow.verb == Verb::Send || flow.verb == Verb::SendImmediate || flow.verb == Verb::Write;
    if (data || flow.verb == Verb::Read) {
      EXPECT_EQ(sent.message_bytes, wanted_bytes(flow));
    }
    if (data) {
      EXPECT_EQ(seen.messages, sent.messages);
      EXPECT_EQ(seen.message_bytes, sent.message_bytes);
    }
  }
  void clean(const SendCounts &sent, const RespondCounts &seen) {
    EXPECT_EQ(sent.retransmitted, 0U);
    EXPECT_EQ(sent.timeouts, 0U);
    EXPECT_EQ(sent.naks, 0U);
    EXPECT_EQ(sent.stray, 0U);
    EXPECT_EQ(sent.duplicate_acks, 0U);
    EXPECT_EQ(seen.out_of_order, 0U);
    EXPECT_EQ(seen.duplicates, 0U);
    EXPECT_GE(sent.rtt_ns.min(), 2 * kDelayNs);
  }
};

TEST_P(Conversation, Clean) { talk({}, 1); }

TEST_P(Conversation, LossOnly) {
  for (uint64_t seed = 1; seed <= 4; seed++)
    talk({.loss = 0.03}, seed);
}

TEST_P(Conversation, Reordered) {
  for (uint64_t seed = 1; seed <= 4; seed++)
    talk({.reordered = 0.02}, seed);
}

TEST_P(Conversation, AllThatGoesWrong) {
  for (uint64_t seed = 10; seed <= 17; seed++)
    talk({.loss = 0.02, .doubled = 0.02, .reordered = 0.02, .damaged = 0.02}, seed);
}

TEST_P(Conversation, ReceiverNotReady) {
  talk({}, 1, 3);
  talk({.loss = 0.02}, 2, 2);
}

TEST_P(Conversation, SelectiveRepeat) {
  for (const Ends ends : {Ends{true, true}, Ends{true, false}, Ends{false, true}}) {
    talk({}, 1, 0, ends);
    for (uint64_t seed = 1; seed <= 4; seed++) {
      talk({.loss = 0.03}, seed, 0, ends);
      talk({.reordered = 0.02}, seed, 0, ends);
      talk({.loss = 0.02, .doubled = 0.02, .reordered = 0.02, .damaged = 0.02}, seed, 0, ends);
    }
    talk({}, 1, 3, ends);
    talk({.loss = 0.02}, 2, 2, ends);
  }
}

TEST_P(Conversation, NobodyThere) {
  Reliability reliability;
  reliability.timeout_code = 4;
  reliability.retries = 3;
  ReliableSource requester(flows(1), {}, 1e11, reliability);
  responder::Responder responder({});
  Network network({.loss = 1}, 1);
  converse(requester, responder, network);
  const SendCounts &sent = requester.counts();
  EXPECT_EQ(sent.failed_qps, kQps);
  EXPECT_EQ(sent.messages, 0U);
  EXPECT_EQ(sent.timeouts, kQps * 4);
  EXPECT_EQ(sent.retransmitted, sent.packets / 4 * 3);
  EXPECT_EQ(responder.counts().frames, 0U);
}

INSTANTIATE_TEST_SUITE_P(Verbs, Conversation, testing::ValuesIn(kCases),
                         [](const auto &info) { return std::string(info.param.name); });

// Flows of several kinds at once, to the same responder, with a limit on all together.
TEST(Conversations, Mixed) {
  std::vector<flow::Flow> flows;
  for (const Verb verb : {Verb::Send, Verb::Write, Verb::Read, Verb::FetchAdd}) {
    flow::Flow flow;
    flow.path.src = ipv4(1);
    flow.path.dst = ipv4(2);
    flow.verb = verb;
    flow.qp = 0x100 + 0x10 * static_cast<uint32_t>(flows.size());
    flow.qps = 5;
    flow.messages = 30;
    flow.size.kind = flow::Sizes::Kind::Uniform;
    flow.size.parts = {{.bytes = 1}, {.bytes = 9000}};
    flow.seed = flows.size();
    flow.pacing.rate = {.kind = congestion::Rate::Kind::Packets, .value = 2e6, .text = {}};
    flows.push_back(flow);
  }
  const congestion::Rate total{.kind = congestion::Rate::Kind::Packets, .value = 4e6, .text = {}};
  Reliability reliability;
  reliability.timeout_code = 9;
  ReliableSource requester(flows, total, 1e11, reliability);
  responder::Responder responder({});
  Network network({.loss = 0.01, .doubled = 0.01, .reordered = 0.01}, 99);
  const uint64_t took = converse(requester, responder, network);
  EXPECT_EQ(requester.counts().messages, 4 * 5 * 30U);
  EXPECT_GE(static_cast<double>(took), static_cast<double>(requester.counts().packets) * 249);
}

} // namespace
} // namespace xr::requester::conversation_test
