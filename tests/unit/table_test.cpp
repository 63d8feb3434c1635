// SPDX-License-Identifier: Apache-2.0
// The stream table: each key has one record, keys are not confused, and every loss is counted.
#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "memory_env.h"

namespace xr::test::table_test {
namespace {

// A packet of its own stream for each n; every other one IPv6.
roce_packet packet_of(uint32_t n, bool v6) {
  static const roce_packet bases[] = {
      parse(FrameBuilder(ROCE_RC_SEND_ONLY).build()).packet,
      parse(FrameBuilder(ROCE_RC_SEND_ONLY).ipv6().build()).packet,
  };
  roce_packet p = bases[v6];
  roce_key_fill(&p.key);
  p.key.qp_kind = (p.key.qp_kind & ~0xffffffu) | (n * 7 & 0xffffff);
  p.key.src[3] += roce_swap32(n % 97 << 8);
  if (v6)
    p.key.src[1] = n * 0x9e3779b9u;
  return p;
}
roce_packet packet_of(uint32_t n) { return packet_of(n, n & 1); }

class TableFill : public testing::TestWithParam<uint32_t> {};

TEST_P(TableFill, EveryStreamIsFoundAgain) {
  const uint32_t capacity = GetParam();
  MemoryTable table(capacity, 0, 0x123456789abcdef);
  roce_env env(table);
  for (int round = 0; round < 3; round++)
    for (uint32_t n = 0; n < capacity; n++) {
      roce_packet p = packet_of(n);
      p.psn = static_cast<__u32>(round);
      roce_track(&env, &p, 100);
    }
  EXPECT_EQ(table.used(), capacity);
  EXPECT_EQ(env.totals.streams_full, 0u);
  EXPECT_EQ(env.totals.streams_contended, 0u);
  std::set<const roce_stream *> seen;
  for (uint32_t n = 0; n < capacity; n++) {
    const roce_packet p = packet_of(n);
    const roce_stream *s = find(env, p.key);
    ASSERT_NE(s, nullptr) << n;
    ASSERT_TRUE(seen.insert(s).second) << n;
    ASSERT_TRUE(roce_key_equal(&s->key, &p.key)) << n;
    ASSERT_EQ(counts_of(*s), (Counts{.packets = 3, .messages = 3})) << n;
  }
  EXPECT_EQ(find(env, packet_of(capacity + 1).key), nullptr);

  for (int i = 0; i < 5; i++) {
    const roce_packet late = packet_of(capacity);
    roce_track(&env, &late, 100);
  }
  EXPECT_EQ(env.totals.streams_full, 5u);
  EXPECT_EQ(find(env, packet_of(capacity).key), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Capacities, TableFill, testing::Values(1, 2, 64, 1000, 65536));

// Eight buckets, all of them within reach of every key: fifteen slots each, and not one more.
TEST(Table, EverySlotCanBeUsed) {
  MemoryTable table(200, 8);
  roce_env env(table);
  for (uint32_t n = 0; n < 120; n++) {
    const roce_packet p = packet_of(n);
    roce_track(&env, &p, 100);
  }
  EXPECT_EQ(env.totals.streams_full, 0u);
  for (uint32_t n = 0; n < 120; n++)
    EXPECT_NE(find(env, packet_of(n).key), nullptr) << n;
  const roce_packet p = packet_of(120);
  roce_track(&env, &p, 100);
  EXPECT_EQ(env.totals.streams_full, 1u);
}

// Keys that all want the same bucket, the last of the table: they go on over its end.
std::vector<roce_packet> of_one_home(roce_env &env, uint32_t home, size_t count) {
  std::vector<roce_packet> packets;
  for (uint32_t n = 0; packets.size() < count; n++) {
    const roce_packet p = packet_of(n);
    if (roce_home(&env, roce_key_hash(&p.key, env.table->seed)) == home)
      packets.push_back(p);
  }
  return packets;
}

TEST(Table, OneHomeForAll) {
  MemoryTable table(1000, 20);
  roce_env env(table);
  const std::vector<roce_packet> packets = of_one_home(env, 19, 121);
  for (int round = 0; round < 2; round++)
    for (size_t i = 0; i < 120; i++) {
      roce_packet p = packets[i];
      p.psn = static_cast<__u32>(round);
      roce_track(&env, &p, 100);
    }
  EXPECT_EQ(table.used(), 120u);
  for (size_t i = 0; i < 120; i++) {
    const roce_stream *s = find(env, packets[i].key);
    ASSERT_NE(s, nullptr) << i;
    EXPECT_EQ(counts_of(*s).packets, 2u);
  }
  roce_track(&env, &packets[120], 100);
  EXPECT_EQ(env.totals.streams_full, 1u);
  EXPECT_EQ(find(env, packets[120].key), nullptr);
}

// A stream that finds no slot must not take, packet by packet, the records that others could have.
TEST(Table, AStreamWithoutASlotSpendsNoRecords) {
  MemoryTable table(1000, 20);
  roce_env env(table);
  const std::vector<roce_packet> packets = of_one_home(env, 0, 121);
  for (const roce_packet &p : packets)
    roce_track(&env, &p, 100);
  const uint32_t used = table.used();
  for (int i = 0; i < 2000; i++)
    roce_track(&env, &packets[120], 100);
  EXPECT_EQ(env.totals.streams_full, 2001u);
  EXPECT_EQ(table.used(), used);
  const roce_packet other = of_one_home(env, 10, 1)[0];
  roce_track(&env, &other, 100);
  EXPECT_NE(find(env, other.key), nullptr);
}

TEST(Table, FamiliesKindsAndEveryWordOfAnAddressAreApart) {
  MemoryTable table(64);
  roce_env env(table);
  std::vector<roce_packet> packets = {packet_of(5, false)};
  roce_packet v6 = packets[0]; // the IPv4 key's own words, as an IPv6 key
  v6.key.qp_kind &= ~ROCE_KEY_IPV4;
  packets.push_back(v6);
  for (int word = 0; word < 4; word++) {
    roce_packet p = v6;
    p.key.src[word] ^= 0x100;
    packets.push_back(p);
    p = v6;
    p.key.dst[word] ^= 0x100;
    packets.push_back(p);
  }
  for (uint32_t kind : {ROCE_KIND_RESPONSE, ROCE_KIND_DATAGRAM}) {
    roce_packet p = packets[0];
    p.key.qp_kind |= kind << ROCE_KIND_SHIFT;
    packets.push_back(p);
  }
  std::swap(v6.key.src, v6.key.dst);
  packets.push_back(v6);
  for (int round = 0; round < 2; round++)
    for (roce_packet p : packets) {
      p.psn = static_cast<__u32>(round);
      roce_track(&env, &p, 100);
    }
  EXPECT_EQ(table.used(), packets.size());
  for (const roce_packet &p : packets) {
    ASSERT_NE(find(env, p.key), nullptr);
    EXPECT_EQ(counts_of(*find(env, p.key)).packets, 2u);
  }
}

TEST(Table, KeysAreComparedWordByWord) {
  const roce_packet v6 = packet_of(5, true), v4 = packet_of(5, false);
  EXPECT_TRUE(roce_key_equal(&v6.key, &v6.key));
  for (size_t word = 0; word < 9; word++) {
    for (const roce_packet &p : {v6, v4}) {
      roce_packet other = p;
      (word < 4   ? other.key.src[word]
       : word < 8 ? other.key.dst[word - 4]
                  : other.key.qp_kind) ^= 1;
      const bool constant = p.key.qp_kind & ROCE_KEY_IPV4 && word != 3 && word < 7;
      EXPECT_EQ(roce_key_equal(&p.key, &other.key), constant) << "word " << word;
    }
  }
}

// Two CPUs miss the same key, and one is first to add it.
TEST(Table, AKeyThatCameMeanwhileIsFound) {
  MemoryTable table(8);
  roce_env env(table);
  roce_packet p = packet_of(3);
  const __u64 hash = roce_key_hash(&p.key, table.seed);
  roce_inserted first{}, second{};
  EXPECT_EQ(roce_table_insert(&env, &p.key, hash, &first), ROCE_INSERT_NEW);
  EXPECT_EQ(roce_table_insert(&env, &p.key, hash, &second), ROCE_INSERT_OLD);
  EXPECT_EQ(first.id, second.id);
  EXPECT_EQ(table.used(), 1u);
}

// A CPU that holds a bucket for longer than others try: their packets are counted as contended.
TEST(Table, AClaimedBucketIsGivenUp) {
  MemoryTable table(8);
  roce_env env(table);
  const roce_packet p = packet_of(3);
  roce_bucket &home = table.buckets[roce_home(&env, roce_key_hash(&p.key, table.seed))];
  home.version = 7;
  roce_track(&env, &p, 100);
  EXPECT_EQ(env.totals.streams_contended, 1u);
  EXPECT_EQ(table.used(), 0u);
  home.version = 8;
  roce_track(&env, &p, 100);
  EXPECT_EQ(table.used(), 1u);
  EXPECT_EQ(home.version & 1, 0u) << "and lets it go again";
  EXPECT_EQ(env.totals.streams_contended, 1u);
}

// An IPv4 key is only compared by its last words: unset ones of the hot path must not matter.
TEST(Table, Ipv4KeysNeedNotBeFilled) {
  MemoryTable table(8);
  roce_env env(table);
  for (const FrameBuilder &b : {FrameBuilder(0x04), FrameBuilder(0x04).ipv6().mapped()})
    feed(env, b.build());
  ASSERT_EQ(table.used(), 1u);
  EXPECT_EQ(roce_stream_packets(&table.streams[0]), 2u);
  EXPECT_EQ(table.streams[0].key.src[2], ROCE_MAPPED_PREFIX);
  EXPECT_EQ(table.streams[0].key.dst[0], 0u);
}

TEST(Table, TheSeedMovesStreamsAndChangesNothing) {
  std::set<uint32_t> homes;
  for (uint64_t seed : {0ull, 1ull, 0xdeadbeefcafebabeull, ~0ull}) {
    MemoryTable table(1000, 0, seed);
    roce_env env(table);
    for (uint32_t n = 0; n < 1000; n++) {
      const roce_packet p = packet_of(n);
      roce_track(&env, &p, 100);
    }
    EXPECT_EQ(table.used(), 1000u);
    EXPECT_EQ(env.totals.streams_full, 0u);
    const roce_packet any = packet_of(1);
    homes.insert(roce_home(&env, roce_key_hash(&any.key, seed)));
  }
  EXPECT_GT(homes.size(), 1u);
}

// ---- idle streams make way when the table is full ----

constexpr uint64_t kWindow = 1ull << 30;

void track_at(roce_env &env, uint64_t window, const roce_packet &p) {
  env.now = window * kWindow;
  roce_track(&env, &p, 100);
}

TEST(Reclaim, AnIdleStreamMakesWay) {
  MemoryTable table(4);
  roce_env env(table);
  for (uint32_t n = 0; n < 4; n++)
    track_at(env, 0, packet_of(n));
  // the search only now begins to note idle streams
  track_at(env, 1, packet_of(10));
  EXPECT_EQ(env.totals.streams_full, 1u);
  roce_packet alive = packet_of(2);
  alive.psn = 1;
  track_at(env, 20, alive);
  track_at(env, 1 + ROCE_IDLE_WINDOWS - 1, packet_of(10));
  EXPECT_EQ(env.totals.streams_full, 2u) << "a window too early";
  env.events.clear();
  track_at(env, 1 + ROCE_IDLE_WINDOWS, packet_of(10));
  EXPECT_EQ(env.totals.streams_full, 2u);
  EXPECT_EQ(env.totals.streams_forgotten, 1u);
  ASSERT_EQ(env.events.size(), 2u);
  EXPECT_EQ(env.events[0].type, ROCE_EVENT_STREAM_FORGOTTEN);
  EXPECT_EQ(env.events[1].type, ROCE_EVENT_STREAM_NEW);

  const roce_stream *s = find(env, packet_of(10).key);
  ASSERT_NE(s, nullptr);
  EXPECT_EQ(counts_of(*s), (Counts{.packets = 1, .messages = 1})) << "nothing is left of the old";
  EXPECT_EQ(roce_stream_bytes(s), 100u);
  EXPECT_NE(find(env, alive.key), nullptr) << "had a packet meanwhile";
  int left = 0;
  for (uint32_t n : {0u, 1u, 3u}) {
    const roce_packet p = packet_of(n);
    if (!find(env, p.key)) {
      left++;
      EXPECT_TRUE(roce_key_equal(&env.events[0].key, &p.key));
    }
  }
  EXPECT_EQ(left, 1);

  track_at(env, 1 + ROCE_IDLE_WINDOWS, packet_of(11));
  track_at(env, 1 + ROCE_IDLE_WINDOWS, packet_of(12));
  EXPECT_EQ(env.totals.streams_forgotten, 3u);
  track_at(env, 1 + ROCE_IDLE_WINDOWS, packet_of(13));
  EXPECT_EQ(env.totals.streams_forgotten, 3u) << "all the rest are alive";
  EXPECT_NE(find(env, alive.key), nullptr);
}

// Twenty times as many streams as there is room for, each silent once the next ones come.
TEST(Reclaim, ATableLivesOnForEver) {
  constexpr uint32_t kRoom = 50;
  MemoryTable table(kRoom);
  roce_env env(table);
  uint64_t window = 0;
  for (uint32_t first = 0; first < 20 * kRoom; first += kRoom) {
    for (int age = 0; age < 3; age++, window += ROCE_IDLE_WINDOWS)
      for (uint32_t n = first; n < first + kRoom; n++)
        track_at(env, window, packet_of(n));
    for (uint32_t n = first; n < first + kRoom; n++)
      EXPECT_NE(find(env, packet_of(n).key), nullptr) << n;
  }
  EXPECT_EQ(env.totals.streams_forgotten, 19u * kRoom);
  uint32_t slots = 0;
  for (const roce_bucket &b : table.buckets)
    slots +=
        static_cast<uint32_t>(std::count_if(std::begin(b.slot), std::end(b.slot),
                                            [](__u32 slot) { return (slot & ROCE_SLOT_ID) != 0; }));
  EXPECT_EQ(slots, kRoom) << "no index entry may outlive its stream";
}

// A stream of ACKs takes no slow path, and is not idle all the same.
TEST(Reclaim, AcksKeepAStreamAlive) {
  MemoryTable table(1);
  roce_env env(table);
  const roce_packet ack = parse(FrameBuilder(ROCE_RC_ACKNOWLEDGE).build()).packet;
  for (uint64_t window = 0; window < 10 * ROCE_IDLE_WINDOWS; window += ROCE_IDLE_WINDOWS - 1) {
    track_at(env, window, ack);
    track_at(env, window, packet_of(9));
  }
  EXPECT_NE(find(env, ack.key), nullptr);
  EXPECT_EQ(env.totals.streams_forgotten, 0u);
}

// The READ that a record's previous stream had sent is none of the new stream's.
TEST(Reclaim, AReclaimedRecordLearnsNothing) {
  MemoryTable table(2);
  roce_env env(table);
  const auto request = [](uint8_t host, uint8_t opcode) {
    return parse(FrameBuilder(opcode).from(host).psn(100).dma_len(8192).build()).packet;
  };
  const roce_packet reader = request(1, ROCE_RC_RDMA_READ_REQUEST);
  track_at(env, 0, reader);
  const roce_packet answer = parse(FrameBuilder(ROCE_RC_RDMA_READ_RESPONSE_FIRST)
                                       .from(2)
                                       .to(1)
                                       .psn(100)
                                       .payload(2048)
                                       .build())
                                 .packet;
  roce_packet early = answer; // its stream must be there before the table is full
  early.psn = 50;
  track_at(env, 0, early);
  const roce_packet other = request(77, ROCE_RC_SEND_ONLY);
  track_at(env, 1, other);
  early.psn = 51;
  track_at(env, 2 + ROCE_IDLE_WINDOWS, early);
  track_at(env, 2 + ROCE_IDLE_WINDOWS, other);
  ASSERT_EQ(find(env, reader.key), nullptr);
  ASSERT_NE(find(env, other.key), nullptr);
  track_at(env, 2 + ROCE_IDLE_WINDOWS, answer);
  EXPECT_EQ(find(env, other.key)->word & ROCE_WORD_PMTU, 0u);
}

} // namespace
} // namespace xr::test::table_test
