// SPDX-License-Identifier: Apache-2.0
// What is written is read back and compared, in virtual time, over networks that harm packets.
#include "requester/verify.h"

#include <functional>

#include "conversation.h"
#include "packet/icrc.h"
#include "requester/pattern.h"

namespace xr::requester::verify_test {
namespace {

using packet::Verb;

// A responder that gets some frames changed, with the right iCRC again.
class Changing : public packet::Source {
public:
  using Change = std::function<bool(Bytes &, const roce_packet &)>; // true: it changed the frame
  Changing(packet::Source &of, Change change) : of_(of), change_(std::move(change)) {}

  void receive(uint64_t now, std::span<const uint8_t> frame, roce_class class_,
               const roce_packet &packet) override {
    Bytes bytes(frame.begin(), frame.end());
    if (change_(bytes, packet))
      icrc_write(bytes.data(), packet);
    of_.receive(now, bytes, class_, packet);
  }
  size_t next(uint64_t now, std::span<packet::Outgoing> out) override { return of_.next(now, out); }
  uint64_t wake_at() const override { return of_.wake_at(); }
  bool done() const override { return of_.done(); }

private:
  packet::Source &of_;
  Change change_;
};

class VerifyTest : public testing::Test {
protected:
  VerifyTest() {
    flow_.path.src = ipv4(1);
    flow_.path.dst = ipv4(2);
    flow_.verb = Verb::Write;
    flow_.qps = 3;
    flow_.messages = 20;
    flow_.seed = 5;
    flow_.size.parts = {{.bytes = 5000}};
    flow_.psn = 0xffffff - 30;
    reliability_.timeout_code = 5;
    reliability_.retries = 100;
    reliability_.window = 64;
  }

  void verify(Network &network, uint64_t memory = 0, Changing::Change change = {}) {
    std::vector<flow::Flow> flows = {flow_};
    ASSERT_TRUE(prepare_verify(flows, memory).ok());
    auto region = responder::Memory::make({.size = 1 << 20});
    ASSERT_TRUE(region.ok());
    if (with_memory_)
      options_.memory = region->get();
    responder::Responder responder(options_);
    VerifySource source(flows, {}, 1e11, reliability_);
    Changing changing(
        responder, change ? change : [](Bytes &, const roce_packet &) { return false; });
    converse(source, changing, network);
    verified_ = *source.verified();
    sent_ = source.counts();
    seen_ = responder.counts();
    over_ = source.over();
    expected_ = source.expected();
  }

  flow::Flow flow_;
  Reliability reliability_;
  responder::ResponderOptions options_;
  bool with_memory_ = true;
  VerifyCounts verified_;
  SendCounts sent_;
  RespondCounts seen_;
  uint64_t over_ = 0, expected_ = 0;
};

TEST_F(VerifyTest, ReadsBackAllThatItWrites) {
  for (const uint64_t memory : {0, 100'000, 1'000'000}) {
    Network network({}, 1);
    verify(network, memory);
    EXPECT_EQ(verified_.messages, 60U);
    EXPECT_EQ(verified_.bytes, 60 * 5000U);
    EXPECT_EQ(verified_.different_packets, 0U);
    EXPECT_EQ(sent_.messages, 120U);
    EXPECT_EQ(seen_.message_bytes, 60 * 5000U);
    EXPECT_EQ(seen_.read_responses, 60 * 5U);
    EXPECT_EQ(seen_.out_of_bounds + seen_.bad_rkey, 0U);
    EXPECT_EQ(seen_.qps, 3U); // the PSNs continue from part to part
    EXPECT_EQ(sent_.stray + sent_.duplicate_acks, 0U);
    EXPECT_EQ(over_, expected_);
  }
}

TEST_F(VerifyTest, ReadsBackOverALossyNetwork) {
  flow_.size = {.kind = flow::Sizes::Kind::Uniform, .parts = {{.bytes = 1}, {.bytes = 9000}}};
  for (const bool selective : {false, true})
    for (uint64_t seed = 1; seed <= 5; seed++) {
      reliability_.selective = options_.selective = selective;
      Network network({.loss = 0.03, .doubled = 0.02, .reordered = 0.03, .damaged = 0.01}, seed);
      verify(network, seed * 30'000);
      EXPECT_EQ(verified_.messages, 60U);
      EXPECT_EQ(verified_.different_packets, 0U) << selective << ' ' << seed;
      EXPECT_EQ(sent_.failed_qps, 0U);
      EXPECT_GT(sent_.retransmitted, 0U);
      uint64_t bytes = 0;
      for (uint32_t qp = 0; qp < 3; qp++)
        for (uint64_t number = 0; number < 20; number++)
          bytes += flow_.size.of(number, flow_.size_seed(qp));
      EXPECT_EQ(verified_.bytes, bytes);
    }
}

// One byte of one WRITE changes on its way, under a good iCRC.
TEST_F(VerifyTest, NamesWhatDiffers) {
  Network network({}, 1);
  uint32_t firsts = 0;
  verify(network, 0, [&](Bytes &bytes, const roce_packet &packet) {
    const bool first = packet.opcode == ROCE_RC_RDMA_WRITE_FIRST;
    if (roce_key_qp(&packet.key) != 0x12 || !first || ++firsts != 8)
      return false;
    bytes[packet.end - ROCE_ICRC_LEN - 1024 + 77] ^= 0x40;
    return true;
  });
  EXPECT_EQ(verified_.messages, 60U);
  EXPECT_EQ(verified_.different_packets, 1U);
  EXPECT_EQ(verified_.different_bytes, 1U);
  ASSERT_EQ(verified_.differences.size(), 1U);
  const VerifyCounts::Difference &one = verified_.differences[0];
  EXPECT_EQ(one.qp, 0x12U);
  EXPECT_EQ(one.message, 7U);
  EXPECT_EQ(one.offset, 77U);
  EXPECT_EQ(one.va, 0x10000U + 5000 + 77);
  EXPECT_EQ(one.read, one.written ^ 0x40);
}

// A WRITE that arrives at another address: what was there before is read.
TEST_F(VerifyTest, FindsAWriteThatWentElsewhere) {
  Network network({}, 1);
  uint32_t firsts = 0;
  verify(network, 0, [&](Bytes &bytes, const roce_packet &packet) {
    if (packet.opcode != ROCE_RC_RDMA_WRITE_FIRST || ++firsts != 10)
      return false;
    bytes[packet.bth + ROCE_BTH_LEN + 5] ^= 8; // 2^19 more
    return true;
  });
  EXPECT_EQ(verified_.different_packets, 5U);
  EXPECT_GT(verified_.different_bytes, 4900U);
  EXPECT_EQ(verified_.messages, 60U);
}

TEST_F(VerifyTest, FindsThatThereIsNoMemory) {
  with_memory_ = false;
  Network network({}, 1);
  verify(network);
  EXPECT_EQ(verified_.different_packets, 300U);
  EXPECT_EQ(verified_.differences.size(), VerifyCounts::kMost);
}

TEST_F(VerifyTest, LeavesOutQpsThatFail) {
  flow_.va = 0x10000 + (1 << 20) - 10'000; // room for two of the three
  Network network({}, 1);
  verify(network);
  EXPECT_EQ(sent_.access_naks, 1U);
  EXPECT_EQ(sent_.failed_qps, 1U);
  EXPECT_EQ(verified_.messages, 40U);
  EXPECT_EQ(verified_.different_packets, 0U);
  flow_.rkey = 1;
  Network other({}, 1);
  verify(other);
  EXPECT_EQ(sent_.failed_qps, 3U);
  EXPECT_EQ(verified_.messages, 0U);
}

TEST_F(VerifyTest, EndsWithItsDuration) {
  flow_.messages = 0;
  flow_.duration_ns = 1'000'000;
  Network network({}, 1);
  verify(network);
  EXPECT_GT(verified_.messages, 3U);
  EXPECT_EQ(verified_.messages % 3, 0U);
  EXPECT_EQ(verified_.different_packets, 0U);
  EXPECT_EQ(expected_, 0U);
}

TEST_F(VerifyTest, RefusesWhatItCannotVerify) {
  const auto says = [](flow::Flow flow, uint64_t memory = 0) {
    std::vector<flow::Flow> flows = {std::move(flow)};
    const Status status = prepare_verify(flows, memory);
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(says(flow_), "");
  flow::Flow other = flow_;
  other.verb = Verb::Send;
  EXPECT_EQ(says(other), "send writes no memory that could be read back");
  EXPECT_NE(says(flow_, 14'999), "");
  EXPECT_EQ(says(flow_, 15'000), "");
  other = flow_;
  other.faults = {{.kind = flow::Fault::Kind::Repeat, .positions = {}}};
  EXPECT_NE(says(other), "");
  other = flow_;
  other.pmtu = 1000;
  EXPECT_NE(says(other), "");
  std::vector<flow::Flow> two = {flow_, flow_};
  two[1].qp = 0x20;
  two[1].va += 14'999;
  EXPECT_FALSE(prepare_verify(two, 0).ok());
  two[1].va++;
  EXPECT_TRUE(prepare_verify(two, 0).ok());
}

TEST(Pattern, DiffersByAllThatItFollowsFrom) {
  const auto bytes = [](uint64_t seed, uint32_t qp, uint64_t message, uint64_t offset) {
    Bytes made(20);
    Pattern(seed, qp, message).write(offset, made);
    return made;
  };
  const Bytes one = bytes(1, 2, 3, 0);
  for (const Bytes &other :
       {bytes(2, 2, 3, 0), bytes(1, 3, 3, 0), bytes(1, 2, 4, 0), bytes(1, 2, 3, 8)})
    EXPECT_NE(one, other);
  Bytes whole(4096);
  Pattern(1, 2, 3).write(0, whole);
  EXPECT_TRUE(std::equal(one.begin(), one.end(), whole.begin()));
  const Bytes later = bytes(1, 2, 3, 1024);
  EXPECT_TRUE(std::equal(later.begin(), later.end(), whole.begin() + 1024));
}

} // namespace
} // namespace xr::requester::verify_test
