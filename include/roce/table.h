/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The stream table: a hash index and an array of streams. A kernel hash map would need a 48-byte
 * header and a separate key for each stream, a bucket, and a helper call for each packet. This is
 * an array that both compilers can access; a stream costs its record plus 6.4 bytes of index, for
 * IPv4 and IPv6 alike.
 *
 * A bucket is one cache line. A stream is in its home bucket or, if that is full, in one of the
 * next ROCE_PROBES - 1. Streams with the same home bucket are added one at a time (`version` is odd
 * meanwhile), so a key is never in the table twice. Records are allocated in order; when all are in
 * use, the record of a stream that was idle for long is reused (roce_table_reclaim).
 */
#ifndef ROCE_TABLE_H
#define ROCE_TABLE_H

#include "config.h"
#include "env.h"
#include "track.h"

static ROCE_INLINE __u64 roce_mix(__u64 h) {
  h ^= h >> 32;
  h *= 0x9e3779b97f4a7c15ull;
  return h ^ h >> 32;
}

/* Independent products, so that the CPU computes them in parallel; the caller applies roce_mix. */
static ROCE_INLINE __u64 roce_hash_pair(const __u32 *src, const __u32 *dst, int ipv4, __u64 seed) {
  __u64 h = (((__u64)src[3] << 32 | dst[3]) ^ seed) * 0xff51afd7ed558ccdull;

  if (!ipv4)
    h += (((__u64)src[0] << 32 | dst[0]) ^ seed) * 0xc4ceb9fe1a85ec53ull +
         (((__u64)src[1] << 32 | dst[1]) ^ seed) * 0xbf58476d1ce4e5b9ull +
         (((__u64)src[2] << 32 | dst[2]) ^ seed) * 0x94d049bb133111ebull;
  return h;
}

static ROCE_INLINE __u64 roce_key_hash(const struct roce_key *k, __u64 seed) {
  return roce_mix(roce_hash_pair(k->src, k->dst, (k->qp_kind & ROCE_KEY_IPV4) != 0, seed) +
                  (k->qp_kind ^ seed) * 0xd6e8feb86659fd93ull);
}

/* The result of a search. `id` is valid only if `stream` is not NULL. */
struct roce_place {
  struct roce_stream *stream;
  __u32 id;
  int go_on; /* not in this bucket, which is full: continue with the next */
};

static ROCE_INLINE void roce_bucket_find(struct roce_env *env, const struct roce_bucket *bucket,
                                         __u32 tag, const struct roce_key *key,
                                         struct roce_place *place) {
  place->stream = ROCE_NULL;
  place->go_on = 0;
  ROCE_ROLLED
  for (int i = 0; i < ROCE_SLOTS; i++) {
    __u32 slot = ROCE_LOAD(&bucket->slot[i]);
    struct roce_stream *s;

    if (!slot)
      return;
    if (slot >> 24 != tag)
      continue;
    s = roce_stream_at(env, (slot & ROCE_SLOT_ID) - 1);
    if (s && roce_key_equal(&s->key, key)) {
      place->stream = s;
      place->id = (slot & ROCE_SLOT_ID) - 1;
      return;
    }
  }
  place->go_on = 1;
}

static ROCE_INLINE __u32 roce_tag(__u64 hash) { return (__u32)hash & 0xff; }

static ROCE_INLINE __u32 roce_home(struct roce_env *env, __u64 hash) {
  return (__u32)((hash >> 32) * roce_bucket_count(env) >> 32);
}

/*
 * A division, though few searches come here: a verifier would go through each later bucket once for
 * each bucket at which a comparison may have begun again with 0.
 */
static ROCE_INLINE __u32 roce_next_bucket(struct roce_env *env, __u32 index) {
  return (index + 1) % roce_bucket_count(env);
}

#define ROCE_NO_STREAM 0xffffffffu

/* Searches all buckets that may have the key. Returns its record's id, or ROCE_NO_STREAM. */
ROCE_OUTLINE __u32 roce_table_find(struct roce_env *env, const struct roce_key *key, __u64 hash) {
  struct roce_place place = {};
  __u32 index = roce_home(env, hash);

  if (!key)
    return ROCE_NO_STREAM;
  ROCE_ROLLED
  for (int probe = 0; probe < ROCE_PROBES; probe++) {
    const struct roce_bucket *bucket = roce_bucket_at(env, index);

    if (!bucket)
      break;
    roce_bucket_find(env, bucket, roce_tag(hash), key, &place);
    if (place.stream)
      return place.id;
    if (!place.go_on)
      break;
    index = roce_next_bucket(env, index);
  }
  return ROCE_NO_STREAM;
}

/* A slot whose record was removed: a search continues after it, and it can be reused. */
#define ROCE_TOMBSTONE 0xff000000u

/*
 * In the buckets of `hash`, replaces the first slot that has record id + 1 == `from` (0: a free
 * slot) with `to`. 1 when there was one.
 */
static ROCE_INLINE int roce_replace_slot(struct roce_env *env, __u64 hash, __u32 from, __u32 to) {
  __u32 index = roce_home(env, hash);

  ROCE_ROLLED
  for (int probe = 0; probe < ROCE_PROBES; probe++) {
    struct roce_bucket *bucket = roce_bucket_at(env, index);

    if (!bucket)
      return 0;
    ROCE_ROLLED
    for (int i = 0; i < ROCE_SLOTS; i++) {
      __u32 slot = ROCE_LOAD(&bucket->slot[i]);

      if ((slot & ROCE_SLOT_ID) == from && ROCE_CAS(&bucket->slot[i], slot, to))
        return 1;
    }
    index = roce_next_bucket(env, index);
  }
  return 0;
}

/* Adds the record to the index; 0: no slot is free. */
ROCE_OUTLINE int roce_table_publish(struct roce_env *env, __u64 hash, __u32 id) {
  return roce_replace_slot(env, hash, 0, roce_tag(hash) << 24 | (id + 1));
}

/* Records that are checked for an idle stream each time a record is needed. */
#define ROCE_RECLAIM_TRIES 8

/*
 * The table is full: retires an idle stream. Returns its record's id, or ROCE_NO_STREAM if none of
 * the records checked was idle; `forgotten` is the stream's key, which is still in the index.
 */
ROCE_OUTLINE __u32 roce_table_reclaim(struct roce_env *env, __u8 window,
                                      struct roce_key *forgotten) {
  struct roce_shared *shared = roce_shared_of(env);

  if (!shared || !forgotten)
    return ROCE_NO_STREAM;
  ROCE_ROLLED
  for (int i = 0; i < ROCE_RECLAIM_TRIES; i++) {
    __u32 id = __sync_fetch_and_add(&shared->hand, 1) % roce_stream_capacity(env);
    struct roce_stream *s = roce_stream_at(env, id);
    int retired;

    if (!s)
      continue;
    *forgotten = s->key;
    roce_lock(s);
    retired = roce_stream_retire(s, window);
    roce_unlock(s);
    if (retired)
      return id;
  }
  return ROCE_NO_STREAM;
}

/* Removes the record of an idle stream from the index. */
ROCE_OUTLINE int roce_table_forget(struct roce_env *env, const struct roce_key *key, __u32 id) {
  return key ? roce_replace_slot(env, roce_key_hash(key, roce_hash_seed(env)), id + 1,
                                 ROCE_TOMBSTONE)
             : 0;
}

/*
 * Allocates a record: an unused one, or that of an idle stream, whose key is then in `forgotten`.
 */
static ROCE_INLINE __u32 roce_table_take(struct roce_env *env, __u8 window,
                                         struct roce_key *forgotten) {
  struct roce_shared *shared = roce_shared_of(env);
  __u32 id;

  if (!shared)
    return ROCE_NO_STREAM;
  id = ROCE_LOAD(&shared->spare);
  if (id && ROCE_CAS(&shared->spare, id, 0))
    return id - 1;
  if (ROCE_LOAD(&shared->streams_used) < roce_stream_capacity(env)) {
    id = __sync_fetch_and_add(&shared->streams_used, 1);
    if (id < roce_stream_capacity(env))
      return id;
  }
  id = roce_table_reclaim(env, window, forgotten);
  if (id != ROCE_NO_STREAM)
    roce_table_forget(env, forgotten, id);
  return id;
}

static ROCE_INLINE void roce_table_spare(struct roce_env *env, struct roce_stream *s, __u32 id) {
  struct roce_shared *shared = roce_shared_of(env);

  s->key.qp_kind = ROCE_KEY_NONE;
  if (shared)
    (void)ROCE_CAS(&shared->spare, 0, id + 1);
}

/*
 * Attempts to claim a home bucket before a packet is counted as contended. Each attempt searches
 * for the key, because another CPU is probably adding it. That takes some 50 ns, so the other CPU
 * has 50 us, many times the time that it needs.
 */
#define ROCE_CLAIM_TRIES 1024

enum roce_insert {
  ROCE_INSERT_NEW,
  ROCE_INSERT_OLD, /* another CPU added the key */
  ROCE_INSERT_FULL,
  ROCE_INSERT_CONTENDED, /* other CPUs are adding keys of the same home bucket */
};

struct roce_inserted {
  __u32 id;                  /* out: id of the key's record, or ROCE_NO_STREAM */
  __u32 window;              /* in: roce_window, for the age of idle streams */
  struct roce_key forgotten; /* out: key of the idle stream that was removed, if any */
};

/* One attempt to add a key: of its own, as a verifier goes through the loop around it each time. */
ROCE_OUTLINE int roce_table_try(struct roce_env *env, const struct roce_key *key, __u64 hash,
                                struct roce_inserted *out) {
  struct roce_bucket *home = roce_bucket_at(env, roce_home(env, hash));
  struct roce_stream *s;
  __u32 version;

  if (!home || !key || !out)
    return ROCE_INSERT_FULL;
  version = __sync_fetch_and_add(&home->version, 0); /* read before the search */
  out->id = roce_table_find(env, key, hash);
  if (out->id != ROCE_NO_STREAM)
    return ROCE_INSERT_OLD;
  if (version & 1 || !ROCE_CAS(&home->version, version, version + 1))
    return ROCE_INSERT_CONTENDED;
  /* no CPU added the key since `version` was read: `version` would have changed */
  out->id = roce_table_take(env, (__u8)out->window, &out->forgotten);
  s = roce_stream_at(env, out->id);
  if (s) {
    s->key = *key;
    if (!roce_table_publish(env, hash, out->id)) { /* all its buckets are full */
      roce_table_spare(env, s, out->id);
      out->id = ROCE_NO_STREAM;
    }
  }
  ROCE_STORE(&home->version, version + 2);
  return s && out->id != ROCE_NO_STREAM ? ROCE_INSERT_NEW : ROCE_INSERT_FULL;
}

/*
 * Adds a key that was not found; it must be complete (roce_key_fill). Returns enum roce_insert.
 * With ROCE_INSERT_NEW, `forgotten` is the key of the idle stream that was removed for it; if none
 * was, its qp_kind is unchanged.
 */
static ROCE_INLINE int roce_table_insert(struct roce_env *env, const struct roce_key *key,
                                         __u64 hash, struct roce_inserted *out) {
  int done = ROCE_INSERT_CONTENDED;

  ROCE_ROLLED
  for (int i = 0; i < ROCE_CLAIM_TRIES && done == ROCE_INSERT_CONTENDED; i++)
    done = roce_table_try(env, key, hash, out);
  return done;
}

#endif
