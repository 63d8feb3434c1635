// SPDX-License-Identifier: Apache-2.0
// The reliable requester and the responder in virtual time, over a network that drops, duplicates,
// reorders and corrupts packets: every message completes exactly once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <queue>
#include <random>
#include <set>

#include "requester/reliable.h"
#include "responder/responder.h"

namespace xr::requester {
namespace {

using Bytes = std::vector<uint8_t>;
using packet::Verb;

constexpr uint64_t kDelayNs = 5'000, kSlotNs = 100;
constexpr uint64_t kLongest = 100'000'000'000; // of virtual time

packet::Address ipv4(uint8_t host) {
  return {0, 0, ROCE_MAPPED_PREFIX, roce_swap32(0xc0000200U | host)};
}

Bytes bytes_of(const packet::Outgoing &out) {
  if (!out.shape)
    return {out.raw.begin(), out.raw.end()};
  Bytes bytes(out.shape->bytes().begin(), out.shape->bytes().end());
  out.shape->stamp(bytes.data(), out.fields);
  return bytes;
}

struct Harm {
  double loss = 0, doubled = 0, reordered = 0, damaged = 0;
};

// Both directions. A QP's first packet arrives whole and in time: without RDMA CM the responder
// learns from it where to begin.
class Network {
public:
  Network(const Harm &harm, uint64_t seed) : harm_(harm), random_(seed) {}

  void send(uint64_t now, bool to_responder, Bytes bytes) {
    uint64_t &slot = free_at_[to_responder];
    slot = std::max(slot + kSlotNs, now);
    const uint64_t at = slot + kDelayNs;
    if (to_responder && first_of_qp(bytes))
      return put(at, to_responder, std::move(bytes));
    if (drawn(harm_.loss))
      return void(lost_++);
    if (drawn(harm_.doubled))
      put(at + kSlotNs * (1 + random_() % 100), to_responder, bytes);
    if (drawn(harm_.damaged)) {
      const size_t payload = 42 + random_() % (bytes.size() - 42);
      bytes[payload] ^= static_cast<uint8_t>(1U << random_() % 8);
    }
    put(at + (drawn(harm_.reordered) ? kSlotNs * (1 + random_() % 20) : 0), to_responder,
        std::move(bytes));
  }
  uint64_t next_at() const { return packets_.empty() ? packet::kNever : packets_.top().at; }

  // What has arrived by now goes to its receiver.
  void deliver(uint64_t now, packet::Source &requester, packet::Source &responder) {
    while (next_at() <= now) {
      const Packet packet = packets_.top();
      packets_.pop();
      roce_packet parsed{};
      const uint8_t *data = packet.bytes.data();
      const auto length = static_cast<uint32_t>(packet.bytes.size());
      const int class_ = roce_parse(data, data + length, roce_swap16(ROCE_UDP_PORT), &parsed);
      const auto checked = static_cast<roce_class>(roce_check_length(class_, length, &parsed));
      (packet.to_responder ? responder : requester).receive(now, packet.bytes, checked, parsed);
      if (!packet.to_responder && (parsed.opcode & 31) == ROCE_RC_ATOMIC_ACKNOWLEDGE)
        note_atomic(packet.bytes, parsed);
    }
  }
  uint64_t lost() const { return lost_; }
  // The largest value that atomics of any QP found, by QP.
  const std::map<uint32_t, uint64_t> &originals() const { return originals_; }

private:
  struct Packet {
    uint64_t at, number;
    bool to_responder;
    Bytes bytes;
    bool operator<(const Packet &other) const {
      return std::pair(at, number) > std::pair(other.at, other.number);
    }
  };

  bool drawn(double probability) {
    return std::uniform_real_distribution<>(0, 1)(random_) < probability;
  }
  bool first_of_qp(const Bytes &bytes) {
    return harm_.loss < 1 && qps_.insert(roce_be24(&bytes[42 + 4])).second;
  }
  void put(uint64_t at, bool to_responder, Bytes bytes) {
    packets_.push({at, number_++, to_responder, std::move(bytes)});
  }
  void note_atomic(const Bytes &bytes, const roce_packet &parsed) {
    if (harm_.damaged > 0)
      return;
    uint64_t &largest = originals_[roce_key_qp(&parsed.key)];
    largest = std::max<uint64_t>(largest, roce_be32(&bytes[parsed.bth + ROCE_BTH_LEN + 8]));
  }

  Harm harm_;
  std::mt19937_64 random_;
  std::priority_queue<Packet> packets_;
  std::set<uint32_t> qps_;
  std::map<uint32_t, uint64_t> originals_;
  uint64_t free_at_[2] = {0, 0}, number_ = 0, lost_ = 0;
};

void send_all(uint64_t now, packet::Source &source, bool to_responder, Network &network) {
  std::vector<packet::Outgoing> out(64);
  while (const size_t count = source.next(now, out))
    for (size_t i = 0; i < count; i++)
      network.send(now, to_responder, bytes_of(out[i]));
}

// Until the requester is done. How long it took.
uint64_t converse(packet::Source &requester, packet::Source &responder, Network &network) {
  uint64_t now = 0;
  while (now < kLongest) {
    network.deliver(now, requester, responder);
    send_all(now, responder, false, network);
    send_all(now, requester, true, network);
    if (requester.done())
      return now;
    const uint64_t next = std::min({requester.wake_at(), responder.wake_at(), network.next_at()});
    if (next == packet::kNever) {
      ADD_FAILURE() << "nobody has anything to do";
      return now;
    }
    now = std::max(now + 1, next);
  }
  ADD_FAILURE() << "no end";
  return now;
}

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
  void talk(const Harm &harm, uint64_t seed, uint64_t rnr = 0) {
    SCOPED_TRACE(testing::Message() << GetParam().name << ", seed " << seed);
    const std::vector<flow::Flow> all = flows(seed);
    Reliability reliability;
    reliability.window = seed % 2 ? 64 : 16;
    reliability.timeout_code = 9;
    ReliableSource requester(all, {}, 1e11, reliability);
    responder::ResponderOptions options;
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
} // namespace xr::requester
