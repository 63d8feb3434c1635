// SPDX-License-Identifier: Apache-2.0
// A reliable requester and a responder in virtual time, and the network between them.
#pragma once

#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "requester/reliable.h"
#include "responder/responder.h"
#include "unit/two_hosts.h"

namespace xr::requester {

using packet::ipv4;
using test::Bytes;

inline constexpr uint64_t kDelayNs = 5'000, kSlotNs = 100;
inline constexpr uint64_t kLongest = 100'000'000'000; // of virtual time

struct Harm {
  double loss = 0, doubled = 0, reordered = 0, damaged = 0;
  double request_loss = 0; // of requests alone, also of those sent again
  double marked = 0;       // CE, of READ responses
};

// A packet that is lost at its first transmission.
struct Lost {
  bool request;
  uint32_t psn;
  auto operator<=>(const Lost &) const = default;
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
    const uint32_t psn = roce_be24(&bytes[42 + 8]);
    if (to_responder)
      next_psn_ = roce_psn_add(psn, 1);
    if (to_responder && first_of_qp(bytes))
      return wire_.put(at, to_responder, std::move(bytes));
    if (drawn(harm_.loss) || (to_responder && drawn(harm_.request_loss)) ||
        lose_.erase({to_responder, psn}))
      return void(lost_++);
    if (roce_opcode_info[bytes[42]] & ROCE_OP_READ_RESPONSE && drawn(harm_.marked))
      bytes[15] |= ROCE_ECN_CE;
    if (drawn(harm_.doubled))
      wire_.put(at + kSlotNs * (1 + random_() % 100), to_responder, bytes);
    if (drawn(harm_.damaged)) {
      const size_t payload = 42 + random_() % (bytes.size() - 42);
      bytes[payload] ^= static_cast<uint8_t>(1U << random_() % 8);
    }
    wire_.put(at + (drawn(harm_.reordered) ? kSlotNs * (1 + random_() % 20) : 0), to_responder,
              std::move(bytes));
  }
  uint64_t next_at() const { return wire_.next_at(); }

  // What has arrived by now goes to its receiver.
  void deliver(uint64_t now, packet::Source &requester, packet::Source &responder) {
    wire_.deliver(now, [&](bool to_responder, const Bytes &bytes) {
      const roce_packet parsed =
          packet::deliver_frame(to_responder ? responder : requester, now, bytes);
      if (!to_responder && parsed.syndrome == ROCE_NAK << 5 && parsed.info & ROCE_OP_ACK)
        behind_naks_ += static_cast<uint32_t>(roce_psn_diff(next_psn_, parsed.psn));
      if (!to_responder && (parsed.opcode & 31) == ROCE_RC_ATOMIC_ACKNOWLEDGE)
        note_atomic(bytes, parsed);
    });
  }
  void lose(std::set<Lost> what) { lose_ = std::move(what); }
  uint64_t lost() const { return lost_; }
  // For one QP: how many packets were sent from the missing one on when its NAK arrived, summed.
  uint64_t behind_naks() const { return behind_naks_; }
  // The largest value that atomics of any QP found, by QP.
  const std::map<uint32_t, uint64_t> &originals() const { return originals_; }

private:
  bool drawn(double probability) {
    return std::uniform_real_distribution<>(0, 1)(random_) < probability;
  }
  bool first_of_qp(const Bytes &bytes) {
    return harm_.loss < 1 && qps_.insert(roce_be24(&bytes[42 + 4])).second;
  }
  void note_atomic(const Bytes &bytes, const roce_packet &parsed) {
    if (harm_.damaged > 0)
      return;
    uint64_t &largest = originals_[roce_key_qp(&parsed.key)];
    largest = std::max<uint64_t>(largest, roce_be32(&bytes[parsed.bth + ROCE_BTH_LEN + 8]));
  }

  Harm harm_;
  std::mt19937_64 random_;
  test::Wire wire_;
  std::set<uint32_t> qps_;
  std::set<Lost> lose_;
  uint32_t next_psn_ = 0;
  uint64_t behind_naks_ = 0;
  std::map<uint32_t, uint64_t> originals_;
  uint64_t free_at_[2] = {0, 0}, lost_ = 0;
};

inline void send_all(uint64_t now, packet::Source &source, bool to_responder, Network &network) {
  std::vector<packet::Outgoing> out(64);
  while (const size_t count = source.next(now, out))
    for (size_t i = 0; i < count; i++)
      network.send(now, to_responder, bytes_of(out[i]));
}

// Until the requester is done. How long it took.
inline uint64_t converse(packet::Source &requester, packet::Source &responder, Network &network) {
  uint64_t now = 0;
  while (now < kLongest) {
    network.deliver(now, requester, responder);
    send_all(now, responder, false, network);
    send_all(now, requester, true, network);
    if (requester.done())
      return now;
    const uint64_t next = std::min({requester.wake_at(), responder.wake_at(), network.next_at()});
    if (next == kNever) {
      ADD_FAILURE() << "nobody has anything to do";
      return now;
    }
    now = std::max(now + 1, next);
  }
  ADD_FAILURE() << "no end";
  return now;
}

// One QP at one packet a slot, and what is lost of it.
class OneQp : public testing::Test {
protected:
  static constexpr uint32_t kFirst = 0xffffff - 1000;

  OneQp() {
    flow_.path.src = ipv4(1);
    flow_.path.dst = ipv4(2);
    flow_.psn = kFirst;
    flow_.messages = 100;
    flow_.size.parts = {{.bytes = 20 * 1024}};
    flow_.pacing.rate = {
        .kind = congestion::Rate::Kind::Packets, .value = 1e9 / kSlotNs, .text = {}};
    reliability_.window = 1 << 20;
    reliability_.timeout_code = 12;
  }
  // Far enough apart for one round to end before the next.
  static std::set<Lost> every(uint32_t distance, uint32_t end, bool request) {
    std::set<Lost> lost;
    for (uint32_t at = distance; at < end; at += distance)
      lost.insert({request, roce_psn_add(kFirst, at)});
    return lost;
  }
  void talk(Network &network, bool selective) {
    reliability_.selective = options_.selective = selective;
    ReliableSource requester({flow_}, {}, 1e11, reliability_);
    responder::Responder responder(options_);
    took_ = converse(requester, responder, network);
    sent_ = requester.counts();
    seen_ = responder.counts();
    EXPECT_EQ(sent_.messages, flow_.messages);
    EXPECT_EQ(sent_.failed_qps, 0U);
  }

  flow::Flow flow_;
  Reliability reliability_;
  responder::ResponderOptions options_;
  SendCounts sent_;
  RespondCounts seen_;
  uint64_t took_ = 0;
};

} // namespace xr::requester
