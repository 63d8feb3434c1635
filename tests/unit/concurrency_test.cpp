// SPDX-License-Identifier: Apache-2.0
// Several threads, standing for CPUs, update one stream table: no update may be lost. Also run
// under ThreadSanitizer (tools/test sanitize).
#include <atomic>
#include <random>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "memory_env.h"

namespace xr::test::concurrency_test {
namespace {

constexpr int kThreads = 4;
constexpr uint32_t kLength = 100;

struct Kind {
  uint8_t opcode;
  uint8_t syndrome;
  uint8_t ecn;
  uint32_t dma_len;
};
const Kind kKinds[] = {
    {ROCE_RC_SEND_ONLY, 0, 2, 0},
    {ROCE_RC_SEND_ONLY, 0, 3, 0},
    {ROCE_RC_RDMA_READ_REQUEST, 0, 2, 99},
    {ROCE_RC_RDMA_READ_REQUEST, 0, 2, 9999},
    {ROCE_RC_ACKNOWLEDGE, 0x1f, 2, 0},
    {ROCE_RC_ACKNOWLEDGE, 0x60, 2, 0},
    {ROCE_OPCODE_CNP, 0, 2, 0},
    {ROCE_RC_RDMA_READ_RESPONSE_FIRST, 0x1f, 2, 0},
    {ROCE_UD_SEND_ONLY, 0, 2, 0},
    {ROCE_RC_RDMA_READ_RESPONSE_LAST, 0x1f, 2, 0},
};

roce_packet packet_of(const Kind &kind, uint32_t key, uint32_t psn) {
  FrameBuilder b(kind.opcode);
  b.qp(key).psn(psn & 0xffffff).syndrome(kind.syndrome).ecn(kind.ecn).dma_len(kind.dma_len);
  b.payload(kind.opcode == ROCE_RC_RDMA_READ_RESPONSE_FIRST ? 1024 : 0);
  return parse(key % 3 ? b.build() : b.ipv6().build()).packet;
}

// Runs `body` on every thread at once, each with an environment of its own over `table`; the
// totals.
template <typename Body> roce_totals on_all_threads(MemoryTable &table, Body body) {
  std::vector<roce_env> envs(kThreads, roce_env(table));
  std::vector<std::thread> threads;
  std::atomic<int> ready = 0;
  for (int t = 0; t < kThreads; t++)
    threads.emplace_back([&, t] {
      for (ready++; ready < kThreads;)
        std::this_thread::yield();
      body(envs[t], t);
    });
  for (std::thread &thread : threads)
    thread.join();
  roce_totals sum{};
  for (const roce_env &env : envs) {
    sum.streams_full += env.totals.streams_full;
    sum.streams_contended += env.totals.streams_contended;
    sum.streams_forgotten += env.totals.streams_forgotten;
  }
  return sum;
}

void expect_each_key_once(const MemoryTable &table) {
  std::set<std::vector<__u32>> keys;
  for (uint32_t id = 0; id < table.used() && id < table.streams.size(); id++) {
    const __u32 *words = table.streams[id].key.src;
    EXPECT_TRUE(keys.insert(std::vector<__u32>(words, words + 9)).second) << "record " << id;
  }
}

// All kinds of packets, mostly out of order, to keys that all threads add and use at once.
TEST(Concurrency, EveryPacketIsCounted) {
  constexpr uint32_t kKeys = 200, kPackets = 60000;
  MemoryTable table(4 * kKeys);
  const roce_totals lost = on_all_threads(table, [](roce_env &env, int thread) {
    std::mt19937 rng(static_cast<unsigned>(thread) + 1);
    std::vector<roce_packet> packets;
    for (uint32_t key = 0; key < kKeys; key++)
      for (const Kind &kind : kKinds)
        packets.push_back(packet_of(kind, key, 0));
    for (uint32_t i = 0; i < kPackets; i++) {
      roce_packet p = packets[rng() % packets.size()];
      p.psn = i / kKeys + rng() % 4;
      roce_track(&env, &p, kLength);
      if (env.events.size() > 1000)
        env.events.clear();
    }
  });
  EXPECT_EQ(lost.streams_full, 0u);
  uint64_t packets = 0, bytes = 0;
  for (const roce_stream &s : table.streams) {
    packets += roce_stream_packets(&s);
    bytes += roce_stream_bytes(&s);
  }
  EXPECT_EQ(packets + lost.streams_contended, uint64_t{kThreads} * kPackets);
  EXPECT_EQ(bytes, packets * kLength);
  EXPECT_EQ(table.used(), 3 * kKeys) << "a request, a response and a datagram stream each";
  expect_each_key_once(table);
}

// One PSN each, taken in order and tracked nearly so: the fast path and the slow one meet on the
// same words all the time. A packet is a message unless it is a duplicate.
TEST(Concurrency, FastAndSlowPathOnOneStream) {
  constexpr uint32_t kKeys = 4, kPackets = 200000;
  MemoryTable table(64);
  std::atomic<uint32_t> next[kKeys] = {};
  const roce_totals lost = on_all_threads(table, [&next](roce_env &env, int thread) {
    std::vector<roce_packet> plain, marked;
    for (uint32_t key = 0; key < kKeys; key++) {
      plain.push_back(packet_of(kKinds[0], key + 1, 0));
      marked.push_back(packet_of(kKinds[1], key + 1, 0));
    }
    for (uint32_t i = 0; i < kPackets; i++) {
      const uint32_t key = (i + static_cast<uint32_t>(thread)) % kKeys;
      roce_packet &p = i % 16 ? plain[key] : marked[key];
      p.psn = (0xffff00 + next[key]++) & 0xffffff;
      roce_track(&env, &p, kLength);
      if (env.events.size() > 1000)
        env.events.clear();
    }
  });
  EXPECT_EQ(table.used(), kKeys);
  expect_each_key_once(table);
  Counts sum;
  uint64_t bytes = 0;
  for (uint32_t id = 0; id < kKeys; id++) {
    const Counts c = counts_of(table.streams[id]);
    sum.packets += c.packets;
    sum.ce += c.ce;
    bytes += roce_stream_bytes(&table.streams[id]);
    EXPECT_EQ(c.messages + c.duplicates, c.packets);
    EXPECT_LE(c.filled, c.skipped);
    EXPECT_LE(c.reordered, c.filled);
    if (!c.holes_forgotten && !c.resyncs && !lost.streams_contended) {
      EXPECT_EQ(c.filled, c.skipped) << "every PSN did come";
    }
  }
  EXPECT_EQ(sum.packets + lost.streams_contended, uint64_t{kThreads} * kPackets);
  EXPECT_EQ(bytes, sum.packets * kLength);
  EXPECT_GT(sum.ce, 0u);
}

// All threads add the same keys at the same moment, into few buckets.
TEST(Concurrency, EveryKeyIsAddedOnce) {
  for (int round = 0; round < 40; round++) {
    constexpr uint32_t kKeys = 100;
    MemoryTable table(2 * kKeys, 10, static_cast<uint64_t>(round) * 0x9e3779b97f4a7c15);
    const roce_totals lost = on_all_threads(table, [](roce_env &env, int) {
      for (uint32_t key = 0; key < kKeys; key++) {
        const roce_packet p = packet_of(kKinds[8], key, 0);
        roce_track(&env, &p, kLength);
      }
    });
    uint64_t packets = 0, messages = 0;
    for (const roce_stream &s : table.streams) {
      packets += roce_stream_packets(&s);
      messages += s.messages;
    }
    EXPECT_EQ(packets + lost.streams_contended, uint64_t{kThreads} * kKeys);
    EXPECT_EQ(messages, packets);
    EXPECT_EQ(lost.streams_full, 0u);
    EXPECT_LE(table.used(), kKeys);
    expect_each_key_once(table);
    if (HasFailure())
      return;
  }
}

} // namespace
} // namespace xr::test::concurrency_test
