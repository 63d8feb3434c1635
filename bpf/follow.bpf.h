/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's environment for following and timing QP pairs (include/roce/pair.h, timing.h), and
 * for bursts (job.h): the records, and what was found. A map has one entry while its feature is
 * off.
 */
#ifndef XDP_ROCE_FOLLOW_BPF_H
#define XDP_ROCE_FOLLOW_BPF_H

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, ROCE_ALIGNED);
  __type(key, __u32);
  __type(value, struct roce_pair);
  __uint(max_entries, 1);
} pairs SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, ROCE_ALIGNED);
  __type(key, __u32);
  __type(value, __u64);
  __uint(max_entries, 1);
} pair_hints SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, ROCE_ALIGNED);
  __type(key, __u32);
  __type(value, struct roce_follow);
  __uint(max_entries, 1);
} follows SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __type(key, __u32);
  __type(value, struct roce_found_episode);
  __uint(max_entries, 1);
} episodes SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __type(key, __u32);
  __type(value, struct roce_found_finding);
  __uint(max_entries, 1);
} findings SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, ROCE_ALIGNED);
  __type(key, __u32);
  __type(value, struct roce_timing);
  __uint(max_entries, 1);
} timings SEC(".maps");

/* ROCE_TIME_SERIES of each record of `timings`. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, ROCE_ALIGNED);
  __type(key, __u32);
  __type(value, struct roce_pair_times);
  __uint(max_entries, 1);
} pair_times SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __type(key, __u32);
  __type(value, struct roce_port_times);
  __uint(max_entries, 1);
} port_times SEC(".maps");

/* ---- bursts of pairs of hosts */

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, ROCE_ALIGNED);
  __type(key, __u32);
  __type(value, __u32);
  __uint(max_entries, 1);
} job_of SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, ROCE_ALIGNED);
  __type(key, __u32);
  __type(value, struct roce_job_pair);
  __uint(max_entries, 1);
} job_pairs SEC(".maps");

static ROCE_INLINE __u32 *roce_job_of_at(struct roce_env *env, __u32 id) {
  return bpf_map_lookup_elem(&job_of, &id);
}

static ROCE_INLINE struct roce_job_pair *roce_job_pair_at(struct roce_env *env, __u32 index) {
  return bpf_map_lookup_elem(&job_pairs, &index);
}

/* ---- following */

static ROCE_INLINE __u32 *roce_pair_link_at(struct roce_env *env, __u32 id) {
  struct roce_pair *pair = bpf_map_lookup_elem(&pairs, &id);

  return pair ? &pair->link : ROCE_NULL;
}

static ROCE_INLINE __u64 *roce_pair_hint_at(struct roce_env *env, __u32 index) {
  return bpf_map_lookup_elem(&pair_hints, &index);
}

/*
 * The index of a record, whose number + 1 is in `place`; a new one is `used`. ROCE_NO_STREAM: there
 * is no room. Two CPUs may take one each at once; one of the two is not used.
 */
static ROCE_INLINE __u32 pair_record(__u32 *place, __u32 *used) {
  __u32 number = ROCE_LOAD(place);
  struct roce_totals *t;

  if (ROCE_LIKELY(number))
    return number - 1;
  if (*used < config.pairs) {
    number = __sync_fetch_and_add(used, 1);
    if (number < config.pairs) {
      (void)ROCE_CAS(place, 0, number + 1);
      return ROCE_LOAD(place) - 1;
    }
  }
  t = roce_totals_of(0);
  if (t)
    t->pairs_full++;
  return ROCE_NO_STREAM;
}

static ROCE_INLINE struct roce_follow *roce_follow_at(struct roce_env *env, __u32 id) {
  struct roce_pair *pair = bpf_map_lookup_elem(&pairs, &id);
  struct roce_shared *shared = roce_shared_of(0);
  __u32 index;

  if (!pair || !shared)
    return ROCE_NULL;
  index = pair_record(&pair->follow, &shared->follows_used);
  return bpf_map_lookup_elem(&follows, &index);
}

/*
 * Attempts to enter a record, of some 20 ns each. A packet takes less than 1 us in it, but the
 * hypervisor may stop a virtual CPU there.
 */
#define PAIR_TRIES 4000
#define PAIR_TRIES_OF_A_CALL 50 /* a verifier goes through 50 + 80 of them, not 4,000 */

ROCE_OUTLINE int try_pair(__u32 *lock) {
  if (!lock)
    return 0;
  ROCE_ROLLED
  for (int i = 0; i < PAIR_TRIES_OF_A_CALL; i++)
    if (ROCE_CAS(lock, 0, 1))
      return 1;
  return 0;
}

ROCE_OUTLINE int enter_pair(__u32 *lock) {
  struct roce_totals *t;

  if (!lock || !(config.features & (ROCE_FEATURE_FOLLOW | ROCE_FEATURE_TIME | ROCE_FEATURE_JOB)))
    return 0;
  ROCE_ROLLED
  for (int i = 0; i < PAIR_TRIES / PAIR_TRIES_OF_A_CALL; i++)
    if (try_pair(lock))
      return 1;
  t = roce_totals_of(0);
  if (t)
    t->pairs_contended++;
  return 0;
}

static ROCE_INLINE int roce_pair_enter(struct roce_env *env, __u32 *lock) {
  return ROCE_LIKELY(ROCE_CAS(lock, 0, 1)) || enter_pair(lock);
}

static ROCE_INLINE void roce_pair_leave(struct roce_env *env, __u32 *lock) {
#ifdef __TARGET_ARCH_x86 /* a store is visible after all that is before it */
  asm volatile("" ::: "memory");
  ROCE_STORE(lock, 0);
#else
  (void)ROCE_CAS(lock, 1, 0);
#endif
}

static ROCE_INLINE void roce_follow_unpaired(struct roce_env *env, const struct roce_packet *p) {
  struct roce_totals *t = roce_totals_of(0);

  if (t)
    t->pairs_unknown++;
}

static ROCE_INLINE void name_found(struct roce_found_name *name, __u32 request, __u32 response) {
  const struct roce_stream *asks = roce_stream_at(0, request);
  const struct roce_stream *answers = roce_stream_at(0, response);

  if (asks)
    name->request = asks->key;
  name->response_qp = answers ? roce_key_qp(&answers->key) : ROCE_QPN_UNKNOWN;
}

static ROCE_SEPARATE void roce_emit_episode(struct roce_env *env,
                                            const struct roce_episode *episode) {
  struct roce_shared *shared = roce_shared_of(0);
  struct roce_found_episode *slot;
  __u64 number;
  __u32 index;

  if (!shared)
    return;
  number = __sync_fetch_and_add(&shared->episodes, 1) + 1;
  index = (__u32)number & (ROCE_FOUND_KEPT - 1);
  slot = bpf_map_lookup_elem(&episodes, &index);
  if (!slot)
    return;
  ROCE_STORE(&slot->name.number, 0);
  name_found(&slot->name, episode->request, episode->response);
  slot->episode = *episode;
  (void)ROCE_CAS(&slot->name.number, 0, number); /* after what was written */
}

static ROCE_SEPARATE void roce_emit_finding(struct roce_env *env,
                                            const struct roce_finding *finding) {
  struct roce_shared *shared = roce_shared_of(0);
  struct roce_found_finding *slot;
  __u64 number;
  __u32 index;

  if (!shared)
    return;
  number = __sync_fetch_and_add(&shared->findings, 1) + 1;
  index = (__u32)number & (ROCE_FOUND_KEPT - 1);
  slot = bpf_map_lookup_elem(&findings, &index);
  if (!slot)
    return;
  ROCE_STORE(&slot->name.number, 0);
  name_found(&slot->name, finding->request, finding->response);
  slot->finding = *finding;
  (void)ROCE_CAS(&slot->name.number, 0, number);
}

/* ---- timing */

static ROCE_INLINE struct roce_timing *roce_timing_at(struct roce_env *env, __u32 id) {
  struct roce_pair *pair = bpf_map_lookup_elem(&pairs, &id);
  struct roce_shared *shared = roce_shared_of(0);
  __u32 index;

  if (!pair || !shared)
    return ROCE_NULL;
  index = pair_record(&pair->timing, &shared->timings_used);
  return bpf_map_lookup_elem(&timings, &index);
}

/* The times of the record of request stream `id`, of one series; NULL: none. */
static ROCE_INLINE struct roce_pair_times *pair_times_of(__u32 id, __u32 series) {
  const struct roce_pair *pair = bpf_map_lookup_elem(&pairs, &id);
  __u32 index;

  if (!pair || !pair->timing)
    return ROCE_NULL;
  index = (pair->timing - 1) * ROCE_TIME_SERIES + series;
  return bpf_map_lookup_elem(&pair_times, &index);
}

ROCE_OUTLINE int pair_times_clear(__u32 id) {
  if (!(config.features & ROCE_FEATURE_TIME))
    return 0;
  ROCE_ROLLED
  for (__u32 series = 0; series < ROCE_TIME_SERIES; series++) {
    struct roce_pair_times *times = pair_times_of(id, series);

    if (times)
      __builtin_memset(times, 0, sizeof(*times));
  }
  return 1;
}

static ROCE_INLINE void roce_timing_forget(struct roce_env *env, struct roce_timing *t) {
  pair_times_clear(t->request);
}

/* Adds a time of series `series` of request stream `id`. */
ROCE_OUTLINE int add_time(__u32 id, __u32 series, __u64 ns) {
  struct roce_pair_times *own = pair_times_of(id, series);
  struct roce_port_times *all = bpf_map_lookup_elem(&port_times, &series);
  __u32 bucket;

  if (!(config.features & ROCE_FEATURE_TIME) || !own || !all)
    return 0;
  roce_time_sum(&own->sum, ns);
  bucket = roce_time_bucket(ns, ROCE_PAIR_TIME_BITS);
  if (bucket < ROCE_TIME_BUCKETS(ROCE_PAIR_TIME_BITS))
    own->bucket[bucket]++;
  roce_time_sum(&all->sum, ns);
  bucket = roce_time_bucket(ns, ROCE_PORT_TIME_BITS);
  if (bucket < ROCE_TIME_BUCKETS(ROCE_PORT_TIME_BITS))
    all->bucket[bucket]++;
  return 1;
}

static ROCE_INLINE void roce_emit_latency(struct roce_env *env, struct roce_timing *t, int kind,
                                          __u64 ns, int bound) {
  add_time(t->request, ROCE_TIME_SERIES_OF((__u32)kind, bound), ns);
}

static ROCE_INLINE int roce_falls(struct roce_env *env) { return 0; }

static ROCE_INLINE void roce_timing_unpaired(struct roce_env *env) {
  struct roce_totals *t = roce_totals_of(0);

  if (t && !(config.features & ROCE_FEATURE_FOLLOW)) /* which counts them itself */
    t->pairs_unknown++;
}

#endif
