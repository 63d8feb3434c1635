/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * A training job seen live (ROCE_FEATURE_JOB): for each pair of hosts, the bytes and times of its
 * bursts of data, in bounded memory.
 *
 * Data are requests of SEND and WRITE with payload. What is sent again counts again. A WRITE ONLY
 * without immediate, of at most ROCE_JOB_CTS_BYTES, is a clear-to-send, and in no burst: the
 * receiver of data writes it, so it is counted in the pair of the opposite direction.
 *
 * The clock is read for packets that begin or end a message; others add bytes only. A burst ends
 * when a message begins ROCE_JOB_GAP_NS or more after the newest of these times. So the middle of a
 * message that takes longer than that does not continue a burst for the messages of other QPs.
 */
#ifndef ROCE_JOB_H
#define ROCE_JOB_H

#include "job_record.h"
#include "scratch.h"
#include "table.h"

#define ROCE_JOB_PARTS (ROCE_OP_FIRST | ROCE_OP_MIDDLE | ROCE_OP_LAST | ROCE_OP_ONLY)
#define ROCE_JOB_CTS (1u << 0) /* beside ROCE_JOB_PARTS */
#define ROCE_JOB_WRITE_ONLY 0x0a

#define ROCE_JOB_PROBES 16
#define ROCE_JOB_NO_ROOM                                                                           \
  0x80000000u /* `job_of`: no room for the pair; the rest checks its hash                          \
               */

static ROCE_INLINE __u64 roce_job_hash(struct roce_env *env, const struct roce_key *key) {
  return roce_mix(
      roce_hash_pair(key->src, key->dst, (key->qp_kind & ROCE_KEY_IPV4) != 0, roce_hash_seed(env)));
}

/* Whether the record is of these hosts. Of an IPv4 key, the last words suffice. */
static ROCE_INLINE int roce_job_is_of(const struct roce_job_pair *pair,
                                      const struct roce_key *key) {
  if (pair->state != (ROCE_JOB_USED | (key->qp_kind & ROCE_KEY_IPV4)) ||
      pair->src[3] != key->src[3] || pair->dst[3] != key->dst[3])
    return 0;
  return key->qp_kind & ROCE_KEY_IPV4 ||
         !((pair->src[0] ^ key->src[0]) | (pair->src[1] ^ key->src[1]) |
           (pair->src[2] ^ key->src[2]) | (pair->dst[0] ^ key->dst[0]) |
           (pair->dst[1] ^ key->dst[1]) | (pair->dst[2] ^ key->dst[2]));
}

/* The record that stream `id` had last, if it is of these hosts. */
static ROCE_INLINE struct roce_job_pair *roce_job_known(struct roce_env *env, __u32 id,
                                                        const struct roce_key *key) {
  const __u32 *place = roce_job_of_at(env, id);
  struct roce_job_pair *pair;
  __u32 number = place ? ROCE_LOAD(place) : 0;

  if (!number || number & ROCE_JOB_NO_ROOM)
    return ROCE_NULL;
  pair = roce_job_pair_at(env, number - 1);
  return pair && roce_job_is_of(pair, key) ? pair : ROCE_NULL;
}

enum roce_job_probe { ROCE_JOB_OTHER, ROCE_JOB_FOUND, ROCE_JOB_BUSY };

/*
 * Whether record `index` is of the hosts in scratch->job_key; a free one is claimed. Records are
 * never released, so two CPUs that look for the same hosts do not claim two. It takes no lock: the
 * calls of roce_pair_enter do not fit on the stack below this function.
 */
ROCE_OUTLINE int roce_job_probe(struct roce_env *env, __u32 index) {
  struct roce_scratch *scratch = roce_scratch_of(env);
  struct roce_job_pair *pair;
  __u32 state;

  ROCE_FORGET(env);
  if (!(roce_features(env) & ROCE_FEATURE_JOB))
    return ROCE_JOB_BUSY;
  pair = roce_job_pair_at(env, index);
  if (!scratch || !pair)
    return ROCE_JOB_BUSY;
  state = __sync_fetch_and_add(&pair->state, 0); /* before the addresses, on any processor */
  if (!state) {
    if (!ROCE_CAS(&pair->state, 0, ROCE_JOB_CLAIMED))
      return ROCE_JOB_BUSY;
    __builtin_memcpy(pair->src, scratch->job_key.src, sizeof(pair->src));
    __builtin_memcpy(pair->dst, scratch->job_key.dst, sizeof(pair->dst));
    (void)ROCE_CAS(&pair->state, ROCE_JOB_CLAIMED,
                   ROCE_JOB_USED | (scratch->job_key.qp_kind & ROCE_KEY_IPV4));
    return ROCE_JOB_FOUND;
  }
  if (state == ROCE_JOB_CLAIMED)
    return ROCE_JOB_BUSY;
  return roce_job_is_of(pair, &scratch->job_key) ? ROCE_JOB_FOUND : ROCE_JOB_OTHER;
}

/*
 * Finds or claims the record of the hosts in scratch->job_key, for stream `id`. 0: there is none,
 * and the packet is counted.
 */
ROCE_OUTLINE int roce_job_find(struct roce_env *env, __u32 id) {
  struct roce_scratch *scratch = roce_scratch_of(env);
  __u32 *place, none;
  struct roce_totals *totals;
  __u64 hash;
  int found;

  ROCE_FORGET(env);
  if (!(roce_features(env) & ROCE_FEATURE_JOB) || !scratch)
    return 0;
  place = roce_job_of_at(env, id);
  if (!place)
    return 0;
  hash = roce_job_hash(env, &scratch->job_key);
  none = ROCE_JOB_NO_ROOM | (__u32)(hash >> 32);
  totals = roce_totals_of(env);
  if (!totals)
    return 0;
  if (ROCE_LOAD(place) != none) {
    ROCE_ROLLED
    for (__u32 i = 0; i < ROCE_JOB_PROBES; i++) {
      const __u32 index = ((__u32)hash + i) & (ROCE_JOB_PAIRS - 1);

      found = roce_job_probe(env, index);
      if (found == ROCE_JOB_BUSY) {
        totals->pairs_contended++;
        return 0;
      }
      if (found == ROCE_JOB_FOUND) {
        ROCE_STORE(place, index + 1);
        return 1;
      }
    }
    ROCE_STORE(place, none);
  }
  totals->job_full++;
  return 0;
}

/* The open burst has ended: it goes into the ring. MIDDLE packets may add bytes meanwhile. */
static ROCE_INLINE void roce_job_end_burst(struct roce_job_pair *pair) {
  __u32 at = (__u32)pair->count & (ROCE_JOB_BURSTS - 1);
  struct roce_job_burst *ended;
  __u64 bytes = ROCE_LOAD(&pair->open.bytes);

  ROCE_BOUND(at, ROCE_JOB_BURSTS - 1);
  ended = &pair->bursts[at];
  ended->bytes = bytes;
  ended->messages = pair->open.messages;
  ended->first_ns = pair->open.first_ns;
  ended->last_ns = pair->open.last_ns;
  ROCE_ADD(&pair->open.bytes, -bytes);
  pair->open.messages = 0;
  pair->open.first_ns = pair->open.last_ns = 0;
  pair->count++;
}

/* A packet that begins or ends a message, or both. The pair is entered. */
static ROCE_INLINE void roce_job_time(struct roce_job_pair *pair, __u32 what, __u32 payload,
                                      __u64 now) {
  const __u32 begins = what & (ROCE_OP_FIRST | ROCE_OP_ONLY);

  if (begins && pair->open.last_ns && now >= pair->open.last_ns + ROCE_JOB_GAP_NS)
    roce_job_end_burst(pair);
  if (!pair->open.last_ns)
    pair->open.first_ns = now;
  if (now > pair->open.last_ns) /* another CPU may have read the clock later, and entered first */
    pair->open.last_ns = now;
  if (what & (ROCE_OP_LAST | ROCE_OP_ONLY))
    pair->open.messages++;
  ROCE_ADD(&pair->open.bytes, (__u64)payload);
}

/*
 * A packet of stream `id` between the hosts in scratch->job_key; `what` is of ROCE_JOB_PARTS and
 * ROCE_JOB_CTS.
 */
ROCE_OUTLINE int roce_job_count(struct roce_env *env, __u32 id, __u32 what, __u32 payload) {
  struct roce_scratch *scratch = roce_scratch_of(env);
  struct roce_job_pair *pair;
  __u64 now;

  ROCE_FORGET(env);
  if (!(roce_features(env) & ROCE_FEATURE_JOB) || !scratch)
    return 0;
  roce_key_fill(&scratch->job_key);
  pair = roce_job_known(env, id, &scratch->job_key);
  if (!pair) {
    if (!roce_job_find(env, id))
      return 0;
    pair = roce_job_known(env, id, &scratch->job_key);
    if (!pair)
      return 0;
  }
  if (what & ROCE_JOB_CTS) {
    ROCE_ADD(&pair->cts, 1);
    return 1;
  }
  if (what & ROCE_OP_MIDDLE) {
    ROCE_ADD(&pair->open.bytes, (__u64)payload);
    return 1;
  }
  now = roce_clock(env);
  if (!roce_pair_enter(env, &pair->lock))
    return 0;
  roce_job_time(pair, what, payload, now);
  roce_pair_leave(env, &pair->lock);
  return 1;
}

/*
 * After packet `p` was tracked in stream `id`, or in none (ROCE_NO_STREAM). A packet in the middle
 * of a message takes no lock and calls no function.
 */
static ROCE_INLINE void roce_job_packet(struct roce_env *env, const struct roce_packet *p,
                                        __u32 id) {
  __u32 what = p->info & ROCE_JOB_PARTS;
  struct roce_scratch *scratch;
  struct roce_job_pair *pair;

  if (!(roce_features(env) & ROCE_FEATURE_JOB) || id == ROCE_NO_STREAM || !what ||
      !(p->info & ROCE_OP_REQUEST) || !p->payload)
    return;
  if (ROCE_LIKELY(what & ROCE_OP_MIDDLE)) {
    pair = roce_job_known(env, id, &p->key);
    if (ROCE_LIKELY(pair)) {
      ROCE_ADD(&pair->open.bytes, (__u64)p->payload);
      return;
    }
  }
  scratch = roce_scratch_of(env);
  if (!scratch)
    return;
  if ((p->opcode & ~ROCE_TRANSPORT_MASK) == ROCE_JOB_WRITE_ONLY && p->payload <= ROCE_JOB_CTS_BYTES)
    what |= ROCE_JOB_CTS;
  scratch->job_key = p->key;
  roce_job_count(env, id, what, p->payload);
}

#endif
