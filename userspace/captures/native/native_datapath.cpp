// SPDX-License-Identifier: Apache-2.0
#include "native/native_datapath.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/address.h"
#include "native/following.h"
#include "native/pair_links.h"
#include "native/timed_pairs.h"
#include "roce/pair.h"
#include "roce/port.h"
#include "roce/timing.h"

namespace {

// Tables of which few entries are used: pages that are not touched take no memory.
struct Tables {
  std::array<__u64, ROCE_HINTS> hints;
  std::array<roce_aside, ROCE_ASIDES> asides;
  std::array<roce_mirror, ROCE_MIRRORS> mirrors;
  std::array<roce_rule_state, ROCE_RULE_SLOTS> states;
  std::array<roce_rule_count, ROCE_RULE_SLOTS> counts;
  std::array<__u64, ROCE_PACES> paces;
};

struct Free {
  void operator()(void *memory) const { std::free(memory); } // NOLINT: of calloc
};

std::unique_ptr<Tables, Free> make_tables() {
  static_assert(std::is_trivially_copyable_v<Tables>);
  void *const memory = std::calloc(1, sizeof(Tables)); // NOLINT: its pages are zero
  if (!memory)
    throw std::bad_alloc();
  return std::unique_ptr<Tables, Free>(static_cast<Tables *>(memory));
}

} // namespace

// The native host (include/roce/env.h): vectors.
struct roce_env {
  std::vector<roce_bucket> buckets;
  std::vector<roce_stream> streams;
  std::vector<__u64> births; // of each stream: the order of the frame with which it began
  roce_shared shared{};
  __u64 seed = 0;
  std::unique_ptr<Tables, Free> tables = make_tables();
  std::array<roce_opcode_count, ROCE_OPCODE_COUNTS> opcodes{};
  roce_totals totals{};
  roce_scratch scratch{};
  __u64 now = 0;
  std::function<void(const roce_event &)> callback;
  std::function<void(__u64, unsigned, bool, __u64)> on_time;
  std::unique_ptr<xr::PairLinks> links; // with one of these:
  std::unique_ptr<xr::Following> following;
  std::unique_ptr<xr::TimedPairs> timed;
  std::vector<__u32> job_of; // by stream, with:
  std::vector<roce_job_pair> job_pairs;

  bool track = true;
  __u64 cnp_window_ns = 0;
  __u32 features = 0;
  __u16 port_be = 0;

  std::vector<roce_class_count> classes;
  std::array<roce_pfc, ROCE_PFC_COUNTS> pfc{};
  __u32 quantum_ps = 0;

  // for frames in tunnels
  __u32 decap = 0;
  std::vector<roce_mirrored> mirrored;

  // for rules
  std::unique_ptr<roce_ruleset> rules;
  std::map<__u32, std::vector<__u32>> points;
  std::map<std::pair<xr::Address, __u32>, __u32> peers;
  roce_passing passing{};
};

// `captured` bytes of `length` are available. Without `bytes` they are read only.
struct roce_frame {
  __u8 *data;
  __u32 captured, length;
  std::vector<uint8_t> *bytes = nullptr;
};

static roce_bucket *roce_bucket_at(roce_env *env, __u32 index) { return &env->buckets[index]; }
static roce_stream *roce_stream_at(roce_env *env, __u32 id) {
  return id < env->streams.size() ? &env->streams[id] : nullptr;
}
static roce_shared *roce_shared_of(roce_env *env) { return &env->shared; }
static __u64 *roce_hint_at(roce_env *env, __u32 index) { return &env->tables->hints[index]; }
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
static __u64 roce_clock(roce_env *env) { return env->now; }
static __u64 roce_jiffies(roce_env *env) { return env->now / 4'000'000; }
static __u64 roce_cnp_window(roce_env *env) { return env->cnp_window_ns; }
static __u32 roce_sides(roce_env *) { return 0; }
static __u32 roce_side(roce_env *) { return 0; }
static __u32 roce_tracks(roce_env *env) { return env->track; }
static roce_aside *roce_aside_at(roce_env *env, __u32 index) { return &env->tables->asides[index]; }

static roce_class_count *roce_class_count_at(roce_env *env, __u32 index) {
  return index < env->classes.size() ? &env->classes[index] : nullptr;
}
static roce_pfc *roce_pfc_at(roce_env *env, __u32 priority) {
  return priority < env->pfc.size() ? &env->pfc[priority] : nullptr;
}
static __u32 roce_quantum(roce_env *env) { return env->quantum_ps; }
static __u32 roce_decap(roce_env *env) { return env->decap; }
static roce_mirror *roce_mirror_at(roce_env *env, __u32 index) {
  return index < env->tables->mirrors.size() ? &env->tables->mirrors[index] : nullptr;
}
static roce_mirrored *roce_mirrored_at(roce_env *env, __u32 id) {
  return id < env->mirrored.size() ? &env->mirrored[id] : nullptr;
}

static __u32 *roce_pair_link_at(roce_env *env, __u32 id) { return env->links->link(id); }
static __u64 *roce_pair_hint_at(roce_env *env, __u32 index) {
  static_assert(xr::PairLinks::kHints == ROCE_PAIR_HINTS);
  return &env->links->hints[index];
}
static roce_follow *roce_follow_at(roce_env *env, __u32 id) { return env->following->record(id); }
static int roce_pair_enter(roce_env *, __u32 *) { return 1; }
static void roce_pair_leave(roce_env *, __u32 *) {}
static void roce_emit_episode(roce_env *env, const roce_episode *episode) {
  env->following->add(*episode);
}
static void roce_emit_finding(roce_env *env, const roce_finding *finding) {
  env->following->add(*finding);
}
static void roce_follow_unpaired(roce_env *env, const roce_packet *) {
  env->totals.pairs_unknown++;
  env->following->unpaired++;
}
static roce_timing *roce_timing_at(roce_env *env, __u32 id) { return env->timed->record(id); }
static void roce_emit_latency(roce_env *env, roce_timing *t, int kind, __u64 ns, int bound) {
  env->timed->add(t, static_cast<unsigned>(kind), bound != 0, ns);
  if (env->on_time)
    env->on_time(env->now, static_cast<unsigned>(kind), bound != 0, ns);
}
static int roce_falls(roce_env *env) { return !(env->features & ROCE_FEATURE_SKIP); }
static void roce_timing_forget(roce_env *env, roce_timing *t) { env->timed->forget(t); }
static void roce_timing_unpaired(roce_env *env) {
  if (!env->following) // which counts them itself
    env->totals.pairs_unknown++;
  env->timed->unpaired();
}

static __u32 *roce_job_of_at(roce_env *env, __u32 id) {
  return id < env->job_of.size() ? &env->job_of[id] : nullptr;
}
static roce_job_pair *roce_job_pair_at(roce_env *env, __u32 index) {
  return index < env->job_pairs.size() ? &env->job_pairs[index] : nullptr;
}

static const roce_ruleset *roce_rules_of(roce_env *env) { return env->rules.get(); }
static roce_rule_state *roce_rule_state_at(roce_env *env, __u32 slot) {
  return slot < env->tables->states.size() ? &env->tables->states[slot] : nullptr;
}
static roce_rule_count *roce_rule_count_at(roce_env *env, __u32 slot) {
  return slot < env->tables->counts.size() ? &env->tables->counts[slot] : nullptr;
}
static __u32 roce_rule_point(roce_env *env, __u32 slot, __u32 index) {
  const auto found = env->points.find(slot);
  return found != env->points.end() && index < found->second.size() ? found->second[index] : 0;
}
static __u64 *roce_pace_at(roce_env *env, __u32 index) { return &env->tables->paces[index]; }
static __u32 roce_peer_qp(roce_env *env, const roce_peer *peer) {
  const auto found =
      env->peers.find({{peer->src[0], peer->src[1], peer->src[2], peer->src[3]}, peer->dest_qp});
  return found != env->peers.end() ? found->second : ROCE_QPN_UNKNOWN;
}
static roce_passing *roce_passing_of(roce_env *env) { return &env->passing; }
static __u32 roce_features(roce_env *env) { return env->features; }
static __u32 roce_uses(roce_env *env) { return env->rules ? env->rules->used : 0; }
static __u16 roce_port_be(roce_env *env) { return env->port_be; }
static __u8 *roce_frame_data(roce_frame *frame) { return frame->data; }
static __u8 *roce_frame_end(roce_frame *frame) { return frame->data + frame->captured; }
static __u8 *roce_frame_l3(roce_frame *frame, __u32 l3) { return frame->data + l3; }
static __u32 roce_frame_length(roce_frame *frame, __u32) { return frame->length; }
static int roce_frame_resize(roce_frame *frame, __s32 delta) {
  if (!frame->bytes)
    return -1;
  frame->bytes->resize(frame->bytes->size() + static_cast<size_t>(delta));
  frame->data = frame->bytes->data();
  frame->captured = frame->length = static_cast<__u32>(frame->bytes->size());
  return 0;
}
static int roce_frame_load(roce_frame *frame, __u32 offset, __u8 *byte) {
  if (offset >= frame->captured)
    return -1;
  *byte = frame->data[offset];
  return 0;
}
static int roce_frame_store(roce_frame *frame, __u32 offset, __u8 byte) {
  if (offset >= frame->captured)
    return -1;
  frame->data[offset] = byte;
  return 0;
}
static void roce_lock(roce_stream *) {}
static void roce_unlock(roce_stream *) {}

namespace xr {

namespace {

// Resizes the stream table to n records, n not less than before. Records stay, the index is
// rebuilt.
void resize(roce_env &env, uint32_t n) {
  env.streams.resize(n);
  env.buckets.assign(ROCE_BUCKETS_FOR(n), {});
  for (uint32_t id = 0; id < env.shared.streams_used; id++)
    roce_table_publish(&env, roce_key_hash(&env.streams[id].key, env.seed), id);
  if (env.decap)
    env.mirrored.resize(n);
  if (env.links)
    env.links->links.resize(n);
  if (env.following)
    env.following->places.resize(n);
  if (env.timed)
    env.timed->resize(n);
  if (!env.job_pairs.empty())
    env.job_of.resize(n);
}

bool follow(roce_env &env, const NativeDatapath::FrameView &frame, const roce_packet &packet,
            uint32_t id, bool slow) {
  const uint32_t aeth = packet.bth + ROCE_BTH_LEN;
  roce_step step{};
  step.now = frame.time_ns;
  step.frame = frame.number;
  step.length = frame.length;
  if (packet.info & ROCE_HAS_AETH && aeth + ROCE_AETH_LEN <= frame.captured)
    step.msn = roce_be24(frame.data + aeth);
  return roce_follow_packet_of_stream(&env, &packet, id, slow, &step) != 0;
}

roce_frame in_hand(std::vector<uint8_t> &bytes) {
  const auto length = static_cast<__u32>(bytes.size());
  return {bytes.data(), length, length, &bytes};
}

} // namespace

struct NativeDatapath::Memory {
  roce_env env;
  // Times that frames were missing; of each stream and QP pair, those it knows of.
  uint32_t aways = 0;
  std::vector<uint32_t> stream_aways, pair_aways;
  Options options;
  std::vector<uint8_t> cnp;
  bool held = false;

  void continue_elsewhere(const roce_packet &packet);

  // Before a frame: its time, no trace of the one before, and room for the streams it may add.
  void begin(uint64_t time_ns) {
    env.now = time_ns;
    if (env.features & ROCE_FEATURE_CAPTURE || env.links)
      env.scratch.trace = {};
    if (!options.streams && env.track && env.shared.streams_used + 2 > env.streams.size())
      resize(env, static_cast<uint32_t>(env.streams.size()) * 2);
  }
};

NativeDatapath::NativeDatapath(const Options &options) : memory_(std::make_unique<Memory>()) {
  memory_->options = options;
  memory_->env.seed = options.hash_seed;
  memory_->env.track = options.track;
  memory_->env.cnp_window_ns = options.cnp_window_ns;
  memory_->env.features = options.features;
  memory_->env.port_be = roce_swap16(options.udp_port);
  memory_->env.decap = options.decap;
  if (options.decap)
    memory_->env.features |= ROCE_FEATURE_DECAP;
  memory_->env.quantum_ps = options.quantum_ps;
  if (options.classes || options.features & ROCE_FEATURE_CLASSES) {
    memory_->env.features |= ROCE_FEATURE_CLASSES;
    memory_->env.classes.resize(ROCE_CLASS_COUNTS);
  }
  if ((options.follow || options.features & ROCE_FEATURE_FOLLOW) && options.track) {
    memory_->env.features |= ROCE_FEATURE_FOLLOW;
    memory_->env.following = std::make_unique<Following>();
  }
  if ((options.latency || options.features & ROCE_FEATURE_TIME) && options.track) {
    memory_->env.features |= ROCE_FEATURE_TIME;
    memory_->env.timed = std::make_unique<TimedPairs>();
  }
  if (memory_->env.following || memory_->env.timed)
    memory_->env.links = std::make_unique<PairLinks>();
  if (options.features & ROCE_FEATURE_JOB && options.track)
    memory_->env.job_pairs.resize(ROCE_JOB_PAIRS);
  resize(memory_->env, options.streams ? options.streams : options.first_streams);
}

NativeDatapath::~NativeDatapath() = default;

void NativeDatapath::away(uint32_t times) { memory_->aways = times; }

static_assert(NativeDatapath::kNoStream == ROCE_NO_STREAM);

namespace {

// The next packet is at a legal place, wherever it is.
void stream_away(roce_stream &s) {
  const __u64 word = roce_stream_take(&s);
  roce_set_run(&s, 0);
  if (s.flags & ROCE_STREAM_STARTED)
    s.read_len = ROCE_READ_LEN_CUT;
  roce_stream_publish(&s, word);
}

void pair_away(roce_env &env, uint32_t request) {
  if (env.following && env.following->places[request]) {
    roce_follow *f = env.following->record(request);
    roce_follow_finish_record(&env, f);
    f->flags &= ~(__u32)ROCE_FOLLOW_STARTED;
  }
  if (env.timed)
    if (roce_timing *t = env.timed->record(request))
      t->flags &= ~(__u32)ROCE_TIMING_STARTED;
}

} // namespace

// The packet's stream and QP pair begin elsewhere, if frames were missing since their last packet.
void NativeDatapath::Memory::continue_elsewhere(const roce_packet &packet) {
  roce_key key = packet.key;
  roce_key_fill(&key);
  const uint32_t id = roce_table_find(&env, &key, roce_key_hash(&key, env.seed));
  if (id >= env.streams.size())
    return;
  stream_aways.resize(env.streams.size());
  pair_aways.resize(env.streams.size());
  if (std::exchange(stream_aways[id], aways) != aways)
    stream_away(env.streams[id]);
  uint32_t request = id;
  if (env.links && packet.info & ROCE_OP_RESPONSE) {
    const __u32 link = *env.links->link(id);
    if (!link)
      return;
    request = link - 1;
  }
  if (env.links && std::exchange(pair_aways[request], aways) != aways)
    pair_away(env, request);
}

void NativeDatapath::on_event(std::function<void(const roce_event &)> callback) {
  memory_->env.callback = std::move(callback);
}

void NativeDatapath::on_time(std::function<void(uint64_t, unsigned, bool, uint64_t)> callback) {
  memory_->env.on_time = std::move(callback);
}

const roce_stream &NativeDatapath::stream(uint32_t record) const {
  return memory_->env.streams.at(record);
}

const roce_totals &NativeDatapath::totals() const { return memory_->env.totals; }

const std::array<roce_pfc, ROCE_PFC_COUNTS> &NativeDatapath::pfc() const {
  return memory_->env.pfc;
}

roce_class NativeDatapath::parse(const FrameView &frame, roce_packet &packet) const {
  packet = {};
  const int class_ = roce_parse(frame.data, frame.data + frame.captured,
                                roce_swap16(memory_->options.udp_port), &packet);
  return static_cast<roce_class>(roce_check_length(class_, frame.length, &packet));
}

roce_class NativeDatapath::parse(const FrameView &frame, const Layer3 &at,
                                 roce_packet &packet) const {
  packet = {};
  packet.vlan = at.vlan;
  const int class_ = roce_parse_l3(frame.data, frame.data + std::min(at.l3, frame.captured),
                                   frame.data + frame.captured, roce_swap16(at.ethertype),
                                   roce_swap16(memory_->options.udp_port), &packet);
  return static_cast<roce_class>(roce_check_length(class_, frame.length, &packet));
}

roce_class NativeDatapath::unwrap(FrameView &frame, const std::optional<Layer3> &at,
                                  roce_packet &packet) {
  roce_env &env = memory_->env;
  roce_inner &inner = env.scratch.inner;
  roce_frame read_only{const_cast<__u8 *>(frame.data), frame.captured, frame.length};
  packet = {};
  roce_inner_begin(&inner, at ? at->l3 : 0, at ? roce_swap16(at->ethertype) : __u16{0});
  inner.vlan = at ? at->vlan : __u16{0};
  roce_inner_find(&read_only, &env);
  const int class_ = roce_inner_parse(frame.data, frame.data + frame.captured, env.port_be, &inner,
                                      &packet, &frame.length);
  roce_origin_see(&read_only, &env);
  frame.data += inner.start;
  frame.captured -= std::min(inner.start, frame.captured);
  return static_cast<roce_class>(class_);
}

const roce_origin &NativeDatapath::origin() const { return memory_->env.scratch.inner.from; }

bool NativeDatapath::truncated() const { return origin().flags & ROCE_ORIGIN_TRUNCATED; }

uint32_t NativeDatapath::account(const FrameView &frame, roce_class class_, roce_packet &packet,
                                 bool track) {
  roce_env &env = memory_->env;
  memory_->begin(frame.time_ns);
  if (memory_->aways && track && roce_is_roce(class_))
    memory_->continue_elsewhere(packet);
  if (!roce_account(&env, class_, &packet, frame.data, frame.data + frame.captured, frame.length,
                    track && env.track))
    return ROCE_NO_STREAM;
  roce_learn_mad(&env, &packet);
  int skipped = 0;
  const uint32_t id = roce_track_or_skip(&env, &packet, frame.length, &skipped);
  if (env.births.size() < env.shared.streams_used)
    env.births.resize(env.shared.streams_used, frame.order);
  if (env.decap)
    roce_inner_marked(&env, id);
  roce_job_packet(&env, &packet, id);
  if (id != ROCE_NO_STREAM && !skipped)
    follow_and_time(frame, packet, id);
  return id;
}

void NativeDatapath::follow_and_time(const FrameView &frame, const roce_packet &packet,
                                     uint32_t id) {
  roce_env &env = memory_->env;
  const bool slow = env.scratch.trace.found & ROCE_FOUND_SLOW;
  bool skip = env.features & ROCE_FEATURE_SKIP;
  if (env.following) {
    env.following->order = frame.order;
    if (packet.info & ROCE_OP_CNP && memory_->options.cnp_times)
      env.following->cnps.add(env.streams[id].key, frame.time_ns);
    if (frame.damaged)
      env.following->add_damaged(packet, id, frame.time_ns, frame.number);
    skip &= follow(env, frame, packet, id, slow);
  }
  if (env.timed && frame.time_ns)
    skip &= roce_timing_packet(&env, &packet, id, roce_pair_before(&env.scratch, &packet, slow),
                               frame.time_ns) != 0;
  if (skip)
    roce_pair_skip(&env, id, &packet);
}

void NativeDatapath::cnp_time(const roce_key &key, uint64_t time_ns) {
  memory_->env.following->cnps.add(key, time_ns);
}

void NativeDatapath::episodes(std::span<NativeDatapath *const> parts, Episodes &into) {
  std::vector<FollowedPart> followed;
  for (NativeDatapath *part : parts) {
    roce_env &env = part->memory_->env;
    if (!env.following)
      return;
    for (size_t i = 0; i < env.following->records.size(); i++) {
      roce_follow &record = env.following->records[i];
      env.following->end(i);
      record.requests = roce_follow_requests_so_far(&record, &env.streams[record.request]);
      roce_follow_finish_record(&env, &record);
    }
    followed.push_back({env.following.get(), &env.streams});
  }
  fill_followed(into, followed);
}

void NativeDatapath::latency(Parts parts, PassiveLatency &into) {
  std::vector<TimedPairs::Part> timed;
  for (const NativeDatapath *part : parts)
    if (part->memory_->env.timed)
      timed.push_back({part->memory_->env.timed.get(), &part->memory_->env.streams});
  if (!timed.empty())
    TimedPairs::fill(into, timed);
}

JobBursts NativeDatapath::job() const {
  JobBursts to;
  to.full = memory_->env.totals.job_full;
  for (const roce_job_pair &pair : memory_->env.job_pairs)
    to.add(pair, pair.count);
  return to;
}

NativeDatapath::Used NativeDatapath::used() const {
  Used used;
  if (const Following *following = memory_->env.following.get()) {
    used.followed = following->records.size();
    used.episodes = following->episodes.size();
    used.findings = following->findings.size();
    used.damaged = following->damaged_packets;
  }
  if (memory_->env.timed)
    used.timed = memory_->env.timed->pairs();
  return used;
}

bool NativeDatapath::has_room(const Used &used) {
  return used.followed < Following::kPairs && used.timed < TimedPairs::kPairs &&
         used.episodes < Following::kEpisodes && used.findings < Following::kEpisodes &&
         used.damaged < DamagedPackets::kPackets;
}

void NativeDatapath::change_rules(std::unique_ptr<roce_ruleset> set,
                                  std::map<uint32_t, std::vector<uint32_t>> points) {
  memory_->env.rules = std::move(set);
  memory_->env.points.clear();
  for (auto &[slot, list] : points)
    memory_->env.points[slot].assign(list.begin(), list.end());
}

void NativeDatapath::rules(std::unique_ptr<roce_ruleset> set,
                           std::map<uint32_t, std::vector<uint32_t>> points) {
  change_rules(std::move(set), std::move(points));
  memory_->env.tables->states = {};
  memory_->env.tables->counts = {};
}

void NativeDatapath::peer(const roce_peer &peer, uint32_t src_qp) {
  memory_->env.peers[{{peer.src[0], peer.src[1], peer.src[2], peer.src[3]}, peer.dest_qp}] = src_qp;
}

const roce_rule_state &NativeDatapath::rule_state(uint32_t slot) const {
  return memory_->env.tables->states.at(slot);
}

const roce_rule_count &NativeDatapath::rule_count(uint32_t slot) const {
  return memory_->env.tables->counts.at(slot);
}

const roce_trace &NativeDatapath::trace() const { return memory_->env.scratch.trace; }

Fate NativeDatapath::impair(std::vector<uint8_t> &bytes, uint64_t time_ns) {
  roce_env &env = memory_->env;
  memory_->begin(time_ns);
  roce_frame frame = in_hand(bytes);
  const int outcome = roce_enter(&frame, &env);
  memory_->held = outcome & ROCE_HELD;
  const auto fate = static_cast<Fate>(outcome & ROCE_FATE_MASK);
  if (fate == Fate::GoOnWithCnp) {
    memory_->cnp = bytes;
    roce_frame copy = in_hand(memory_->cnp);
    if (!roce_answer_copy(&copy, &env))
      memory_->cnp.clear();
  }
  return fate;
}

const roce_held *NativeDatapath::held() const {
  return memory_->held ? &memory_->env.passing.held : nullptr;
}

void NativeDatapath::restart_qp_numbers() {
  roce_env &env = memory_->env;
  env.tables->hints[ROCE_HINTS_NUMBERS] = env.shared.qps[0];
}

const std::vector<uint8_t> &NativeDatapath::cnp() const { return memory_->cnp; }

void NativeDatapath::frame(const FrameView &frame) {
  memory_->begin(frame.time_ns);
  roce_frame read_only{const_cast<__u8 *>(frame.data), frame.captured, frame.length};
  // The short way takes the bytes at hand for the whole frame.
  if (frame.captured == frame.length)
    roce_count_entered(&read_only, &memory_->env, &memory_->env.passing.noted);
  else if (memory_->env.decap)
    roce_count_inner(&read_only, &memory_->env);
  else
    roce_count_frame(&read_only, &memory_->env, nullptr);
}

namespace {

// All records, also of streams that were only announced, in the order in which they began.
std::vector<NativeDatapath::StreamPlace> in_order(const std::vector<const roce_env *> &envs) {
  std::vector<NativeDatapath::StreamPlace> all;
  for (uint32_t part = 0; part < envs.size(); part++)
    for (uint32_t i = 0; i < envs[part]->shared.streams_used && i < envs[part]->streams.size(); i++)
      all.push_back({part, i});
  if (envs.size() > 1)
    std::ranges::stable_sort(all, {}, [&](const NativeDatapath::StreamPlace &at) {
      return envs[at.part]->births[at.record];
    });
  return all;
}

// Counters of which each is a sum.
template <typename T> void add_counters(T &to, const T &more) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(uint64_t) == 0);
  std::array<uint64_t, sizeof(T) / sizeof(uint64_t)> sum, other;
  std::memcpy(sum.data(), &to, sizeof(T));
  std::memcpy(other.data(), &more, sizeof(T));
  for (size_t i = 0; i < sum.size(); i++)
    sum[i] += other[i];
  std::memcpy(&to, sum.data(), sizeof(T));
}

void add_sums(Snapshot &into, const roce_env &env) {
  add_counters(into.opcodes, env.opcodes);
  add_counters(into.totals, env.totals);
  for (size_t i = 0; i < into.episodes.size(); i++)
    into.episodes[i] += env.shared.causes[0][i];
  into.classes.resize(env.classes.size());
  for (size_t i = 0; i < env.classes.size(); i++)
    add_counters(into.classes[i], env.classes[i]);
}

void fill_mirrors(Snapshot &into, const roce_env &env) {
  into.mirrors.clear();
  into.mirror_slots.clear();
  for (uint32_t slot = 0; slot < env.tables->mirrors.size(); slot++) {
    if (!env.tables->mirrors[slot].check)
      continue;
    into.mirrors.push_back(env.tables->mirrors[slot]);
    into.mirror_slots.push_back(slot);
  }
}

// Numbers of QPs, of those that their own datapath gave them.
class QpNumbers {
public:
  explicit QpNumbers(size_t parts) : one_(parts == 1) {}

  uint32_t of(uint32_t part, uint32_t own) {
    if (one_ || !own)
      return own;
    return numbers_.try_emplace({part, own}, numbers_.size() + 1).first->second;
  }

private:
  bool one_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> numbers_;
};

} // namespace

std::vector<NativeDatapath::StreamPlace> NativeDatapath::places(Parts parts) {
  std::vector<const roce_env *> envs;
  for (const NativeDatapath *part : parts)
    envs.push_back(&part->memory_->env);
  std::vector<StreamPlace> all = in_order(envs);
  std::erase_if(all, [&](const StreamPlace &at) {
    return !roce_stream_packets(&envs[at.part]->streams[at.record]);
  });
  return all;
}

void NativeDatapath::snapshot(Parts parts, uint64_t now, Snapshot &into) {
  std::vector<const roce_env *> envs;
  for (const NativeDatapath *part : parts)
    envs.push_back(&part->memory_->env);
  const roce_env &first = *envs[0];
  const Options &options = parts[0]->memory_->options;
  into.opcodes = {};
  into.totals = {};
  into.episodes = {};
  into.classes.assign(first.classes.size(), {});
  into.tracked = options.track;
  into.stream_capacity = options.streams;
  into.decap = first.decap;
  into.quantum_ps = first.quantum_ps;
  into.streams.clear();
  into.qp_numbers.clear();
  into.mirrored.clear();
  for (const roce_env *env : envs)
    add_sums(into, *env);
  into.pfc = first.pfc; // PFC frames are of no QP pair
  for (roce_pfc &pfc : into.pfc)
    pfc.paused_ns = roce_pfc_paused(&pfc, now);
  fill_mirrors(into, first);
  QpNumbers numbers(envs.size());
  for (const StreamPlace &at : in_order(envs)) {
    const roce_env &env = *envs[at.part];
    const uint32_t number =
        numbers.of(at.part, roce_number_in(&env.tables->asides[at.record & (ROCE_ASIDES - 1)],
                                           at.record, env.tables->hints[ROCE_HINTS_NUMBERS]));
    if (!roce_stream_packets(&env.streams[at.record]))
      continue;
    into.streams.push_back(env.streams[at.record]);
    if (env.decap)
      into.mirrored.push_back(env.mirrored[at.record]);
    into.qp_numbers.push_back(number);
  }
}

void NativeDatapath::snapshot(Snapshot &into) const {
  const NativeDatapath *const self = this;
  snapshot({&self, 1}, memory_->env.now, into);
}

void NativeDatapath::episodes(Episodes &into) {
  NativeDatapath *const self = this;
  episodes({&self, 1}, into);
}

void NativeDatapath::latency(PassiveLatency &into) const {
  const NativeDatapath *const self = this;
  latency({&self, 1}, into);
}

} // namespace xr
