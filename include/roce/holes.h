/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The PSNs that a stream skipped and has not received yet, as at most ROCE_HOLES intervals. The
 * caller holds the stream's lock.
 */
#ifndef ROCE_HOLES_H
#define ROCE_HOLES_H

#include "stream.h"

/* A packet this far from the expected PSN starts a new use of the QPN; it is not a loss. */
#define ROCE_RESYNC_DISTANCE 65536

/*
 * Holes are not sorted. A hole of length 0 is a free entry. The oldest hole is the farthest from
 * the expected PSN, because new holes are only opened at the expected PSN. (Loops that keep no
 * order between iterations are also easier for the kernel's verifier.)
 */

/*
 * If no entry is free, the new hole replaces the oldest one, seen from `expected`; the PSNs of the
 * old hole stay missing. The search starts after the entry used last: an index that the verifier
 * does not know, otherwise it would verify each of the sixteen entries separately.
 */
static ROCE_INLINE void roce_holes_open(struct roce_stream *s, struct roce_interval hole,
                                        __u32 expected) {
  __u32 first = s->hole_cursor, place = first % ROCE_HOLES, oldest = 0;

  for (__u32 k = 0; k < ROCE_HOLES; k++) {
    __u32 i = (first + k) % ROCE_HOLES, age = ROCE_PSN_MASK + 1;

    if (roce_hole_length(s, i))
      age = (expected - s->hole_start[i]) & ROCE_PSN_MASK;
    if (age > oldest) {
      oldest = age;
      place = i;
    }
  }
  if (oldest <= ROCE_PSN_MASK)
    roce_stream_count(s, ROCE_HOLES_FORGOTTEN, 1);
  roce_hole_set(s, place, hole.start, hole.length);
  s->hole_cursor = place + 1;
}

/*
 * Removes [psn, psn + n) from the holes and counts the PSNs filled. A packet inside a hole splits
 * it in two: the second part is returned in `rest` (otherwise of length 0), for the caller to open.
 * Returns the number of PSNs filled, read back from the counter: the verifier does not know that
 * value, so it has no further states to follow.
 */
static ROCE_INLINE __u32 roce_holes_fill(struct roce_stream *s, __u32 psn, __u32 n,
                                         struct roce_interval *rest) {
  __u32 before = s->counter_low[ROCE_FILLED], first = s->hole_cursor;

  for (__u32 k = 0; k < ROCE_HOLES; k++) {
    __u32 i = (first + k) % ROCE_HOLES;
    __u32 length = roce_hole_length(s, i), start = roce_hole_start(s, i);
    __s32 from = roce_psn_diff(start, psn), to = from + (__s32)length, hi;

    if (from >= (__s32)n || to <= 0) /* no overlap; a free entry that passes fills nothing below */
      continue;
    hi = to < (__s32)n ? to : (__s32)n;
    if (from >= 0) {
      roce_stream_count(s, ROCE_FILLED, hi - from);
      roce_hole_set(s, i, roce_psn_add(psn, hi), to - hi);
      continue;
    }
    roce_stream_count(s, ROCE_FILLED, hi);
    roce_hole_set(s, i, start, -from);
    rest->start = roce_psn_add(psn, hi);
    rest->length = to - hi;
  }
  return s->counter_low[ROCE_FILLED] - before;
}

/*
 * Late packets cannot reach a hole any more after the stream has advanced by ROCE_RESYNC_DISTANCE;
 * if kept, it would match packets of the next cycle of the 24-bit PSN. Called twice per cycle.
 */
static ROCE_INLINE void roce_holes_age(struct roce_stream *s, __u32 expected) {
  for (__u32 i = 0; i < ROCE_HOLES; i++)
    if (((expected - s->hole_start[i]) & ROCE_PSN_MASK) >= 2 * ROCE_RESYNC_DISTANCE)
      roce_hole_set(s, i, 0, 0);
}

static ROCE_INLINE void roce_holes_clear(struct roce_stream *s) {
  for (__u32 i = 0; i < ROCE_HOLES; i++)
    roce_hole_set(s, i, 0, 0);
}

#endif
