/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's environment (include/roce/env.h): configuration, maps, clock. Map sizes that depend
 * on --streams are set at load.
 */
#ifndef XDP_ROCE_ENV_BPF_H
#define XDP_ROCE_ENV_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#define roce_frame xdp_md /* the program's context */
#include "roce/found.h"
#include "roce/port.h"
#include "roce/steer.h"
#include "roce/times.h"

/*
 * For tables that all CPUs use: values begin at a page, so that a record shares no cache line with
 * another CPU's. In other arrays they follow the kernel's own fields, 56 bytes into a line with
 * 6.18. Nobody maps these tables.
 */
#define ROCE_ALIGNED BPF_F_MMAPABLE

const volatile struct roce_config config = {
    .abi = ROCE_ABI,
    .udp_port_be = roce_swap16(ROCE_UDP_PORT),
    .track = 1,
    .frags = 1,
    .streams = 65536,
    .buckets = ROCE_BUCKETS_FOR(65536),
    .cnp_window_ns = ROCE_CNP_WINDOW_NS,
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __type(key, __u32);
  __type(value, struct roce_opcode_count);
  __uint(max_entries, ROCE_OPCODE_COUNTS);
} opcodes SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __type(key, __u32);
  __type(value, struct roce_totals);
  __uint(max_entries, 1);
} totals SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, ROCE_ALIGNED);
  __type(key, __u32);
  __type(value, struct roce_bucket);
  __uint(max_entries, 1);
} buckets SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, ROCE_ALIGNED);
  __type(key, __u32);
  __type(value, struct roce_stream);
  __uint(max_entries, 1);
} streams SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, ROCE_ALIGNED);
  __type(key, __u32);
  __type(value, struct roce_shared);
  __uint(max_entries, 1);
} shared SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, ROCE_ALIGNED);
  __type(key, __u32);
  __type(value, __u64);
  __uint(max_entries, ROCE_HINTS);
} hints SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, ROCE_ALIGNED);
  __type(key, __u32);
  __type(value, struct roce_aside);
  __uint(max_entries, ROCE_ASIDES);
} asides SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __type(key, __u32);
  __type(value, struct roce_class_count);
  __uint(max_entries, 1);
} classes SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, ROCE_ALIGNED);
  __type(key, __u32);
  __type(value, struct roce_pfc);
  __uint(max_entries, ROCE_PFC_COUNTS);
} pfc SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, ROCE_ALIGNED);
  __type(key, __u32);
  __type(value, struct roce_mirror);
  __uint(max_entries, 1);
} mirrors SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, ROCE_ALIGNED);
  __type(key, __u32);
  __type(value, struct roce_mirrored);
  __uint(max_entries, 1);
} mirrored SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __type(key, __u32);
  __type(value, struct roce_scratch);
  __uint(max_entries, 1);
} scratch SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 20);
} events SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_XSKMAP);
  __type(key, __u32);
  __type(value, __u32);
  __uint(max_entries, ROCE_SOCKETS);
} sockets SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __type(key, struct roce_endpoint);
  __type(value, __u32);
  __uint(max_entries, ROCE_ENDPOINTS);
} endpoints SEC(".maps");

/* Empty: the maps are globals. */
struct roce_env {
  int none;
};

static ROCE_INLINE struct roce_bucket *roce_bucket_at(struct roce_env *env, __u32 index) {
  return bpf_map_lookup_elem(&buckets, &index);
}
static ROCE_INLINE struct roce_stream *roce_stream_at(struct roce_env *env, __u32 id) {
  return bpf_map_lookup_elem(&streams, &id);
}
static ROCE_INLINE struct roce_shared *roce_shared_of(struct roce_env *env) {
  __u32 zero = 0;

  return bpf_map_lookup_elem(&shared, &zero);
}
static ROCE_INLINE __u64 *roce_hint_at(struct roce_env *env, __u32 index) {
  return bpf_map_lookup_elem(&hints, &index);
}
static ROCE_INLINE __u32 roce_bucket_count(struct roce_env *env) { return config.buckets; }
static ROCE_INLINE __u32 roce_stream_capacity(struct roce_env *env) { return config.streams; }
static ROCE_INLINE __u64 roce_hash_seed(struct roce_env *env) { return config.hash_seed; }

static ROCE_INLINE struct roce_opcode_count *roce_opcode_count_at(struct roce_env *env,
                                                                  __u32 index) {
  return bpf_map_lookup_elem(&opcodes, &index);
}
static ROCE_INLINE struct roce_totals *roce_totals_of(struct roce_env *env) {
  __u32 zero = 0;

  return bpf_map_lookup_elem(&totals, &zero);
}

/* Seconds are enough for the rate limit of events; the exact clock costs 25 ns. */
static ROCE_INLINE __u64 roce_time(struct roce_env *env) { return bpf_ktime_get_coarse_ns(); }

static ROCE_INLINE __u64 roce_clock(struct roce_env *env) { return bpf_ktime_get_ns(); }

static ROCE_INLINE __u64 roce_jiffies(struct roce_env *env) { return bpf_jiffies64(); }
static ROCE_INLINE __u64 roce_cnp_window(struct roce_env *env) { return config.cnp_window_ns; }
static ROCE_INLINE __u32 roce_sides(struct roce_env *env) { return config.sides; }
static ROCE_INLINE __u32 roce_side(struct roce_env *env) { return config.side; }
static ROCE_INLINE __u32 roce_tracks(struct roce_env *env) { return config.track; }
static ROCE_INLINE __u32 roce_features(struct roce_env *env) { return config.features; }
static ROCE_INLINE __u16 roce_port_be(struct roce_env *env) { return config.udp_port_be; }
static ROCE_INLINE struct roce_class_count *roce_class_count_at(struct roce_env *env, __u32 index) {
  return bpf_map_lookup_elem(&classes, &index);
}
static ROCE_INLINE struct roce_pfc *roce_pfc_at(struct roce_env *env, __u32 priority) {
  return bpf_map_lookup_elem(&pfc, &priority);
}
static ROCE_INLINE __u32 roce_quantum(struct roce_env *env) { return config.quantum_ps; }
static ROCE_INLINE __u32 roce_decap(struct roce_env *env) { return config.decap; }
static ROCE_INLINE struct roce_mirror *roce_mirror_at(struct roce_env *env, __u32 index) {
  return bpf_map_lookup_elem(&mirrors, &index);
}
static ROCE_INLINE struct roce_mirrored *roce_mirrored_at(struct roce_env *env, __u32 id) {
  return bpf_map_lookup_elem(&mirrored, &id);
}
static ROCE_INLINE struct roce_aside *roce_aside_at(struct roce_env *env, __u32 index) {
  return bpf_map_lookup_elem(&asides, &index);
}

static ROCE_INLINE struct roce_scratch *roce_scratch_of(struct roce_env *env) {
  __u32 zero = 0;

  return bpf_map_lookup_elem(&scratch, &zero);
}

static ROCE_INLINE void roce_lock(struct roce_stream *s) { bpf_spin_lock(&s->lock); }
static ROCE_INLINE void roce_unlock(struct roce_stream *s) { bpf_spin_unlock(&s->lock); }

static ROCE_INLINE int roce_emit(struct roce_env *env, const struct roce_event *event) {
  struct roce_event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

  if (!e)
    return -1;
  *e = *event;
  e->time_ns = bpf_ktime_get_ns();
  e->cpu = bpf_get_smp_processor_id();
  bpf_ringbuf_submit(e, 0);
  return 0;
}

#include "follow.bpf.h"

#endif
