// SPDX-License-Identifier: Apache-2.0
// A host of include/roce/account.h (include/roce/env.h) in memory that several threads share, with
// totals per thread, as the kernel has them per CPU. Include it in one file of a test program only,
// because its functions are static.
#pragma once

#include <array>
#include <cstdint>
#include <thread>
#include <vector>

#include "frames.h"
#include "reference.h"
#include "roce/account.h"

// What all threads share.
struct MemoryTable {
  explicit MemoryTable(uint32_t capacity, uint32_t bucket_count = 0, uint64_t seed_ = 0)
      : streams(capacity), buckets(bucket_count ? bucket_count : ROCE_BUCKETS_FOR(capacity)),
        seed(seed_) {}

  std::vector<roce_stream> streams;
  std::vector<roce_bucket> buckets;
  std::vector<__u64> hints = std::vector<__u64>(ROCE_HINTS);
  std::vector<roce_aside> asides = std::vector<roce_aside>(ROCE_ASIDES);
  roce_shared shared{};
  __u64 seed;

  uint32_t used() const { return shared.streams_used; }
};

struct roce_env {
  explicit roce_env(MemoryTable &t) : table(&t) {}

  MemoryTable *table;
  std::array<roce_opcode_count, ROCE_OPCODE_COUNTS> opcodes{};
  roce_totals totals{};
  roce_scratch scratch{};
  __u64 now = 0;
  std::vector<roce_event> events;
  bool ring_full = false;
};

static roce_bucket *roce_bucket_at(roce_env *env, __u32 index) {
  return &env->table->buckets.at(index);
}
static roce_stream *roce_stream_at(roce_env *env, __u32 id) {
  return id < env->table->streams.size() ? &env->table->streams[id] : nullptr;
}
static roce_shared *roce_shared_of(roce_env *env) { return &env->table->shared; }
static roce_scratch *roce_scratch_of(roce_env *env) { return &env->scratch; }
static __u64 *roce_hint_at(roce_env *env, __u32 index) { return &env->table->hints.at(index); }
static __u32 roce_bucket_count(roce_env *env) {
  return static_cast<__u32>(env->table->buckets.size());
}
static __u32 roce_stream_capacity(roce_env *env) {
  return static_cast<__u32>(env->table->streams.size());
}
static __u64 roce_hash_seed(roce_env *env) { return env->table->seed; }
static roce_opcode_count *roce_opcode_count_at(roce_env *env, __u32 index) {
  return &env->opcodes.at(index);
}
static roce_totals *roce_totals_of(roce_env *env) { return &env->totals; }
static __u64 roce_time(roce_env *env) { return env->now; }
static __u64 roce_clock(roce_env *env) { return env->now; }
static __u64 roce_jiffies(roce_env *env) { return env->now / 4'000'000; }
static __u64 roce_cnp_window(roce_env *) { return ROCE_CNP_WINDOW_NS; }
static __u32 roce_sides(roce_env *) { return 0; }
static roce_aside *roce_aside_at(roce_env *env, __u32 index) {
  return &env->table->asides.at(index);
}
static __u32 roce_features(roce_env *) { return 0; }
static roce_class_count *roce_class_count_at(roce_env *, __u32) { return nullptr; }
static roce_pfc *roce_pfc_at(roce_env *, __u32) { return nullptr; }
static __u32 roce_quantum(roce_env *) { return 0; }
static roce_mirrored *roce_mirrored_at(roce_env *, __u32) { return nullptr; }
static int roce_emit(roce_env *env, const roce_event *event) {
  if (env->ring_full)
    return -1;
  env->events.push_back(*event);
  return 0;
}
static void roce_lock(roce_stream *s) {
  while (__atomic_exchange_n(&s->lock.val, 1, __ATOMIC_ACQUIRE))
    std::this_thread::yield();
}
static void roce_unlock(roce_stream *s) { __atomic_store_n(&s->lock.val, 0, __ATOMIC_RELEASE); }

namespace xr::test {

// A frame on its whole way, as the XDP program takes it.
inline void feed(roce_env &env, const Frame &frame) {
  const Parsed got = parse(frame);
  roce_packet p = got.packet;
  const uint8_t *data = frame.bytes.data();
  if (roce_account(&env, got.class_, &p, data, data + frame.bytes.size(), frame.length, 1))
    roce_track(&env, &p, frame.length);
}

// The stream with this key, if the table has it.
inline roce_stream *find(roce_env &env, roce_key key) {
  roce_key_fill(&key);
  return roce_stream_at(&env, roce_table_find(&env, &key, roce_key_hash(&key, env.table->seed)));
}

inline Counts counts_of(const roce_stream &s) {
  const auto counter = [&s](int i) { return roce_stream_counter(&s, i); };
  return {.packets = roce_stream_packets(&s),
          .messages = s.messages,
          .gaps = counter(ROCE_GAPS),
          .skipped = counter(ROCE_SKIPPED),
          .filled = counter(ROCE_FILLED),
          .duplicates = counter(ROCE_DUPLICATES),
          .rewinds = counter(ROCE_REWINDS),
          .reordered = counter(ROCE_REORDERED),
          .resyncs = counter(ROCE_RESYNCS),
          .jumps = counter(ROCE_JUMPS),
          .jumped = counter(ROCE_JUMPED),
          .ce = counter(ROCE_STREAM_CE),
          .cnps = counter(ROCE_STREAM_CNPS),
          .holes_forgotten = counter(ROCE_HOLES_FORGOTTEN),
          .lost = counter(ROCE_LOST),
          .unsure = counter(ROCE_LOST_UNSURE),
          .late = counter(ROCE_LATE),
          .go_backs = counter(ROCE_GO_BACKS)};
}

} // namespace xr::test
