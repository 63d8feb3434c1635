// SPDX-License-Identifier: Apache-2.0
#include "capture/accountant.h"

#include <algorithm>
#include <vector>

#include "roce/account.h"

// What include/roce asks of its environment: here, vectors.
struct roce_env {
  std::vector<roce_bucket> buckets;
  std::vector<roce_stream> streams;
  roce_shared shared{};
  __u64 seed = 0;
  std::array<__u64, ROCE_HINTS> hints{};
  std::array<roce_opcode_count, ROCE_OPCODE_COUNTS> opcodes{};
  roce_totals totals{};
  roce_scratch scratch{};
  __u64 now = 0;
  std::function<void(const roce_event &)> callback;
};

static roce_bucket *roce_bucket_at(roce_env *env, __u32 index) { return &env->buckets[index]; }
static roce_stream *roce_stream_at(roce_env *env, __u32 id) {
  return id < env->streams.size() ? &env->streams[id] : nullptr;
}
static roce_shared *roce_shared_of(roce_env *env) { return &env->shared; }
static __u64 *roce_hint_at(roce_env *env, __u32 index) { return &env->hints[index]; }
static __u32 roce_bucket_count(roce_env *env) { return static_cast<__u32>(env->buckets.size()); }
static __u32 roce_stream_capacity(roce_env *env) { return static_cast<__u32>(env->streams.size()); }
static __u64 roce_hash_seed(roce_env *env) { return env->seed; }
static roce_opcode_count *roce_opcode_count_at(roce_env *env, __u32 index) {
  return &env->opcodes[index];
}
static roce_totals *roce_totals_of(roce_env *env) { return &env->totals; }
static __u64 roce_time(roce_env *env) { return env->now; }
static int roce_emit(roce_env *env, const roce_event *event) {
  if (env->callback) {
    roce_event timed = *event;
    timed.time_ns = env->now;
    env->callback(timed);
  }
  return 0;
}
static roce_scratch *roce_scratch_of(roce_env *env) { return &env->scratch; }
static void roce_lock(roce_stream *) {}
static void roce_unlock(roce_stream *) {}

namespace xr {

namespace {

constexpr uint32_t kFirstStreams = 1024;

// A table of n streams, n no less than before: the records stay, the index is made anew.
void resize(roce_env &env, uint32_t n) {
  env.streams.resize(n);
  env.buckets.assign(ROCE_BUCKETS_FOR(n), {});
  for (uint32_t id = 0; id < env.shared.streams_used; id++)
    roce_table_publish(&env, roce_key_hash(&env.streams[id].key, env.seed), id);
}

} // namespace

struct Accountant::Memory {
  roce_env env;
  Options options;
};

Accountant::Accountant(const Options &options) : memory_(std::make_unique<Memory>()) {
  memory_->options = options;
  memory_->env.seed = options.hash_seed;
  resize(memory_->env, options.streams ? options.streams : kFirstStreams);
}

Accountant::~Accountant() = default;

void Accountant::on_event(std::function<void(const roce_event &)> callback) {
  memory_->env.callback = std::move(callback);
}

roce_class Accountant::parse(const Frame &frame, roce_packet &packet) const {
  packet = {};
  const int class_ = roce_parse(frame.data, frame.data + frame.captured,
                                roce_swap16(memory_->options.udp_port), &packet);
  return static_cast<roce_class>(roce_check_length(class_, frame.length, &packet));
}

roce_class Accountant::parse(const Frame &frame, const Layer3 &at, roce_packet &packet) const {
  packet = {};
  const int class_ = roce_parse_l3(frame.data, frame.data + std::min(at.l3, frame.captured),
                                   frame.data + frame.captured, roce_swap16(at.ethertype),
                                   roce_swap16(memory_->options.udp_port), &packet);
  return static_cast<roce_class>(roce_check_length(class_, frame.length, &packet));
}

void Accountant::account(const Frame &frame, roce_class class_, const roce_packet &packet,
                         bool track) {
  roce_env &env = memory_->env;
  env.now = frame.time_ns;
  if (class_ != ROCE_CLASS_V2 && class_ != ROCE_CLASS_V1) {
    roce_count_other(&env, class_, &packet, frame.length, frame.captured < frame.length);
    return;
  }
  roce_count(&env, class_, &packet, frame.length);
  if (!track || !memory_->options.track)
    return;
  if (!memory_->options.streams && env.shared.streams_used + 2 > env.streams.size())
    resize(env, static_cast<uint32_t>(env.streams.size()) * 2);
  if (roce_is_gsi(&packet)) {
    roce_cm cm{};
    roce_parse_cm(frame.data + packet.bth, frame.data + frame.captured, &cm);
    roce_packet copy = packet;
    if (cm.attribute)
      roce_learn_cm(&env, &copy, &cm);
  }
  roce_track(&env, &packet, frame.length);
}

void Accountant::frame(const Frame &frame) {
  roce_packet packet;
  const roce_class class_ = parse(frame, packet);
  account(frame, class_, packet);
}

void Accountant::snapshot(Snapshot &into) const {
  const roce_env &env = memory_->env;
  into.opcodes = env.opcodes;
  into.totals = env.totals;
  into.tracked = memory_->options.track;
  into.stream_capacity = memory_->options.streams;
  into.streams.clear();
  for (uint32_t i = 0; i < env.shared.streams_used && i < env.streams.size(); i++)
    if (roce_stream_packets(&env.streams[i]))
      into.streams.push_back(env.streams[i]);
}

} // namespace xr
