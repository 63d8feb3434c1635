/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Mirror sessions, and what they say about PSNs that are missing. A session numbers its frames, so
 * a gap in the numbers is the mirror's loss. When a stream skips PSNs, the frames that its session
 * lost since the stream's previous packet decide (README.md 10):
 *   none: the network lost the PSNs;
 *   some: the mirror lost as many PSNs as it lost frames, each frame counted for one stream only.
 *     Of responses, the rest was lost by the network; of requests it is unknown, as one lost READ
 *     REQUEST covers several PSNs.
 * Without numbers it is unknown. If the stream comes by two sessions, a number that is missing
 * shows only when a later one of its session comes: what is not explained by then waits (`waiting`)
 * for the stream's next packet by the other one, and is unknown until then. A session that is new
 * to the stream has no number to compare with, so what its first packet skips is unknown; of three
 * at once all that no session lost. PSNs that arrive later are taken from those that the network
 * lost, then from the unknown ones.
 */
#ifndef ROCE_MIRROR_H
#define ROCE_MIRROR_H

#include "account.h"

#define ROCE_MARK_SKIPPED ((1ull << ROCE_MARK_SHIFT) - 1)

static ROCE_INLINE __u64 roce_mark(const struct roce_mirror *m, __u32 index) {
  return (__u64)(index + 1) << ROCE_MARK_SHIFT | (ROCE_LOAD(&m->skipped) & ROCE_MARK_SKIPPED);
}

static ROCE_INLINE __u64 roce_origin_hash(struct roce_env *env, const struct roce_origin *from) {
  __u64 hash = roce_mix((from->pair ^ roce_hash_seed(env)) * 0xff51afd7ed558ccdull +
                        ((__u64)from->tunnel << 32 | from->id) * 0xd6e8feb86659fd93ull);

  return hash ? hash : 1;
}

/* The addresses of the tunnel's IP header, which is at offset from->ip. */
static ROCE_INLINE void roce_read_origin(struct roce_frame *frame, __u32 at,
                                         struct roce_mirror *m) {
  const __u8 *end = roce_frame_end(frame), *ip;

  ROCE_BOUND(at, ROCE_INNER_MAX);
  ip = roce_frame_data(frame) + at;
  if (ip + ROCE_IPV4_LEN > end)
    return;
  if (ip[0] >> 4 == 4) {
    m->src[2] = m->dst[2] = ROCE_MAPPED_PREFIX;
    m->src[3] = roce_load32(ip + 12);
    m->dst[3] = roce_load32(ip + 16);
    return;
  }
  if (ip + ROCE_IPV6_LEN > end)
    return;
  for (int i = 0; i < 4; i++) {
    m->src[i] = roce_load32(ip + 8 + 4 * i);
    m->dst[i] = roce_load32(ip + 24 + 4 * i);
  }
}

#define ROCE_NO_MIRROR 0xffffffffu

/* Finds or adds a session that is not in its home record. Returns its index or ROCE_NO_MIRROR. */
ROCE_OUTLINE __u32 roce_mirror_find(struct roce_frame *frame, struct roce_env *env,
                                    const struct roce_origin *from) {
  __u64 hash;

  if (!from)
    return ROCE_NO_MIRROR;
  hash = roce_origin_hash(env, from);
  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_MIRROR_PROBES; i++) {
    __u32 index = ((__u32)(hash >> 32) + i) & (ROCE_MIRRORS - 1);
    struct roce_mirror *m = roce_mirror_at(env, index);
    __u64 check;

    if (!m)
      return ROCE_NO_MIRROR;
    check = ROCE_LOAD(&m->check);
    if (!check && ROCE_CAS(&m->check, 0, hash)) {
      m->id = from->id;
      m->tunnel = from->tunnel;
      roce_read_origin(frame, from->ip, m);
      return index;
    }
    if (ROCE_LOAD(&m->check) == hash)
      return index;
  }
  return ROCE_NO_MIRROR;
}

#define ROCE_MIRROR_TRIES 4 /* to store the next number, against other CPUs */

/* A frame whose number is not the expected one. */
ROCE_OUTLINE int roce_mirror_jump(struct roce_env *env, __u32 index, __u32 number) {
  struct roce_mirror *m = roce_mirror_at(env, index);

  if (!m)
    return 0;
  ROCE_ROLLED
  for (int i = 0; i < ROCE_MIRROR_TRIES; i++) {
    __u64 next = ROCE_LOAD(&m->next), anew = (__u64)1 << 32 | number;
    __s32 ahead = (__s32)(number - (__u32)next);

    if (next && ahead > -ROCE_MIRROR_DISTANCE && ahead < 0) {
      if (ROCE_LOAD(&m->late) < ROCE_LOAD(&m->skipped)) {
        ROCE_ADD(&m->late, 1);
      } else {
        ROCE_ADD(&m->repeated, 1);
        ROCE_ADD(&m->frames, 1);
      }
      return 0;
    }
    if (next && ahead >= 0 && ahead < ROCE_MIRROR_DISTANCE) {
      if (!ROCE_CAS(&m->next, next, next + (__u32)ahead + 1))
        continue;
      if (ahead) {
        ROCE_ADD(&m->gaps, 1);
        ROCE_ADD(&m->skipped, (__u32)ahead);
      }
      return 0;
    }
    if (!ROCE_CAS(&m->next, next, anew + 1))
      continue;
    if (next) {
      ROCE_ADD(&m->restarts, 1);
      ROCE_ADD(&m->frames, next - m->first);
    }
    m->first = anew;
    return 0;
  }
  ROCE_ADD(&m->frames, 1); /* other CPUs were faster each time: counted, but its number is not */
  return 0;
}

/* Accounts for a frame of a session; returns its mark. */
static ROCE_INLINE __u64 roce_mirror_see(struct roce_frame *frame, struct roce_env *env,
                                         const struct roce_origin *from) {
  __u64 hash = roce_origin_hash(env, from), next;
  __u32 index = (__u32)(hash >> 32) & (ROCE_MIRRORS - 1);
  struct roce_mirror *m = roce_mirror_at(env, index);

  if (ROCE_UNLIKELY(!m || ROCE_LOAD(&m->check) != hash)) {
    index = roce_mirror_find(frame, env, from);
    m = roce_mirror_at(env, index);
  }
  if (!m) {
    struct roce_totals *t = roce_totals_of(env);

    if (t)
      t->mirrors_full++;
    return 0;
  }
  if (from->flags & ROCE_ORIGIN_TRUNCATED)
    ROCE_ADD(&m->truncated, 1);
  if (!(from->flags & ROCE_ORIGIN_SEQUENCED)) {
    ROCE_ADD(&m->frames, 1);
    return 0;
  }
  next = ROCE_LOAD(&m->next);
  if (ROCE_UNLIKELY((__u32)next != from->sequence || !next || !ROCE_CAS(&m->next, next, next + 1)))
    roce_mirror_jump(env, index, from->sequence);
  return roce_mark(m, index);
}

/* PSNs of `d` skipped ones that the session lost: those of the frames that no stream claimed yet.
 */
static ROCE_INLINE __u32 roce_claim(struct roce_env *env, __u64 mark, __u64 lost, __u32 d) {
  struct roce_mirror *m = roce_mirror_at(env, (__u32)(mark >> ROCE_MARK_SHIFT) - 1);
  __u64 left;

  if (!m)
    return 0;
  left = ROCE_LOAD(&m->skipped) - ROCE_LOAD(&m->late);
  left = left > ROCE_LOAD(&m->claimed) ? left - ROCE_LOAD(&m->claimed) : 0;
  if (lost > left)
    lost = left;
  if (d > lost)
    d = (__u32)lost;
  ROCE_ADD(&m->claimed, d);
  return d;
}

/* Takes the PSNs that came with the current packet from those that were missing before it. */
static ROCE_INLINE void roce_mirrored_came(struct roce_mirrored *r, const struct roce_stream *s) {
  __u64 missing = roce_stream_counter(s, ROCE_SKIPPED) - roce_stream_counter(s, ROCE_FILLED);

  missing -= r->skipped;
  r->network -= r->filled < r->network ? r->filled : r->network;
  if (r->network + r->mirror > missing)
    r->mirror = missing > r->network ? missing - r->network : 0;
  missing -= r->network + r->mirror;
  if (r->waiting > missing)
    r->waiting = (__u32)missing;
  if (r->doubtful > r->waiting)
    r->doubtful = r->waiting;
}

static ROCE_INLINE int roce_same_session(__u64 mark, __u64 other) {
  return !((mark ^ other) >> ROCE_MARK_SHIFT);
}

static ROCE_INLINE int roce_came_recently(__u32 packets, __u32 came) {
  return packets - came <= ROCE_MIRROR_RECENT;
}

/* The stream's `packets`-th packet came by another session than the one before; its last mark. */
static ROCE_INLINE __u64 roce_change_session(struct roce_mirrored *r, __u64 mark, __u32 packets) {
  __u64 before = 0;

  if (mark && r->other && roce_same_session(mark, r->other)) {
    before = r->other;
  } else {
    if (r->other && mark)
      r->third_came = packets;
    r->waiting = r->doubtful = 0;
  }
  r->other = mark ? r->mark : 0;
  r->other_came = packets - 1;
  return before;
}

/* Attributes what waited for the session of this packet, which lost `lost` frames. */
static ROCE_INLINE __u64 roce_attribute_waiting(struct roce_env *env, struct roce_mirrored *r,
                                                __u64 mark, __u64 lost, int certain) {
  __u32 claimed = lost ? roce_claim(env, mark, lost, r->waiting) : 0;
  __u32 doubtful = r->doubtful > claimed ? r->doubtful - claimed : 0;

  r->mirror += claimed;
  if (certain)
    r->network += r->waiting - claimed - doubtful;
  r->waiting = r->doubtful = 0;
  return lost - claimed;
}

/* Attributes what is missing in stream `id` after a packet with this mark. */
ROCE_OUTLINE int roce_attribute(struct roce_env *env, __u32 id, __u64 mark) {
  struct roce_mirrored *r = roce_mirrored_at(env, id);
  const struct roce_stream *s = roce_stream_at(env, id);
  __u32 skipped, claimed, packets;
  __u64 before, lost;
  int certain, changed;

  if (!r || !s)
    return 0;
  packets = (__u32)roce_stream_packets(s);
  skipped = r->skipped;
  if (skipped | r->filled)
    roce_mirrored_came(r, s);
  r->skipped = r->filled = 0;
  changed = !roce_same_session(mark, r->mark);
  before = r->mark;
  if (changed)
    before = roce_change_session(r, mark, packets);
  r->mark = mark;
  if (!before)
    return 0;
  lost = (mark - before) & ROCE_MARK_SKIPPED;
  certain = (!lost || roce_key_kind(&s->key) == ROCE_KIND_RESPONSE) &&
            !(r->third_came && roce_came_recently(packets, r->third_came));
  if (changed)
    lost = roce_attribute_waiting(env, r, mark, lost, certain);
  if (!skipped)
    return 0;
  claimed = lost ? roce_claim(env, mark, lost, skipped) : 0;
  r->mirror += claimed;
  skipped -= claimed;
  if (r->other && roce_came_recently(packets, r->other_came)) {
    r->waiting += skipped;
    r->doubtful += certain ? 0 : skipped;
  } else if (certain) {
    r->network += skipped;
  }
  return 0;
}

/* After a packet of stream `id` (or ROCE_NO_STREAM) that came with this mark. */
static ROCE_INLINE void roce_marked(struct roce_env *env, __u32 id, __u64 mark) {
  const struct roce_mirrored *r = roce_mirrored_at(env, id);

  if (r && (r->mark != mark || r->skipped | r->filled))
    roce_attribute(env, id, mark);
}

#endif
