/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The PSNs that a stream skipped and has not seen yet, as at most ROCE_HOLES intervals. The
 * stream's lock is held.
 */
#ifndef ROCE_HOLES_H
#define ROCE_HOLES_H

#include "stream.h"

/* A packet this far from where its stream stands is another life of the QPN, not a loss. */
#define ROCE_RESYNC_DISTANCE 65536

/*
 * Holes stand in no order: a hole of length 0 is a free place, and the oldest is the one farthest
 * behind, since holes only ever open at the front. (Loops that carry no order from round to round
 * are also what the kernel's verifier can follow.)
 */

/*
 * The oldest hole, seen from `expected`, makes way; what is missing there stays missing. The search
 * starts behind the place used last: a number the verifier does not know, or it would follow each
 * of the sixteen places on its own.
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
 * Takes [psn, psn + n) out of the holes and counts what it fills. A packet inside a hole leaves
 * two: the second is handed back in `rest` (else of length 0), to be opened. Returns the PSNs
 * filled, read back from the counter: to the verifier an unknown number, and not one more thing to
 * follow.
 */
static ROCE_INLINE __u32 roce_holes_fill(struct roce_stream *s, __u32 psn, __u32 n,
                                         struct roce_interval *rest) {
  __u32 before = s->counter_low[ROCE_FILLED], first = s->hole_cursor;

  for (__u32 k = 0; k < ROCE_HOLES; k++) {
    __u32 i = (first + k) % ROCE_HOLES;
    __u32 length = roce_hole_length(s, i), start = roce_hole_start(s, i);
    __s32 from = roce_psn_diff(start, psn), to = from + (__s32)length, hi;

    if (from >= (__s32)n || to <= 0) /* elsewhere; a free place inside fills nothing below */
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
 * A hole is out of reach of late packets once its stream has moved on by ROCE_RESYNC_DISTANCE; left
 * there, it would catch packets of the next round of the 24-bit PSN. Called twice a round.
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
