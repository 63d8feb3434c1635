/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What a go-back-N receiver at the observer's place would have accepted of a request stream. A
 * round begins when the requester goes back: all after that PSN is sent again.
 */
#ifndef ROCE_ROUND_H
#define ROCE_ROUND_H

#include "stream.h"

#define ROCE_ROUND_HOLES 16

struct roce_round {
  __u32 expected; /* the first PSN not seen in order */
  __u32 last;     /* the end of the previous packet in sequence */
  __u32 holes;    /* in use */
  __u32 forgotten;
  struct roce_interval hole[ROCE_ROUND_HOLES]; /* between expected and last, ascending */
};

static ROCE_INLINE void roce_round_start(struct roce_round *r, __u32 psn) {
  r->expected = r->last = psn;
  r->holes = 0;
}

/* The PSN after hole `i`. */
static ROCE_INLINE __u32 roce_round_hole_end(const struct roce_round *r, __u32 i) {
  i &= ROCE_ROUND_HOLES - 1;
  return roce_psn_add(r->hole[i].start, r->hole[i].length);
}

/* Recomputes `expected` after holes changed; it does not move back. */
static ROCE_INLINE void roce_round_accept(struct roce_round *r) {
  __u32 reached = r->holes ? r->hole[0].start : r->last;

  if (roce_psn_diff(reached, r->expected) > 0)
    r->expected = reached;
}

/* PSNs from `psn` on that are missing. */
static ROCE_INLINE __u32 roce_round_missing(const struct roce_round *r, __u32 psn) {
  __u32 sum = 0;

  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_ROUND_HOLES; i++) {
    __s32 from, to;

    if (i >= r->holes)
      break;
    from = roce_psn_diff(r->hole[i].start, psn);
    to = from + (__s32)r->hole[i].length;
    if (to > 0)
      sum += (__u32)(from > 0 ? to - from : to);
  }
  return sum;
}

/* The PSN after the last missing one; `expected` if none is. */
static ROCE_INLINE __u32 roce_round_missing_end(const struct roce_round *r) {
  return r->holes ? roce_round_hole_end(r, r->holes - 1) : r->expected;
}

/* Adds [start, end) after all other holes. Without room it is forgotten and counted. */
static ROCE_INLINE void roce_round_open(struct roce_round *r, __u32 start, __u32 end) {
  if (roce_psn_diff(start, r->expected) < 0)
    start = r->expected;
  if (roce_psn_diff(end, start) <= 0)
    return;
  if (r->holes >= ROCE_ROUND_HOLES) {
    r->forgotten++;
    return;
  }
  r->hole[r->holes & (ROCE_ROUND_HOLES - 1)].start = start;
  r->hole[r->holes & (ROCE_ROUND_HOLES - 1)].length = (end - start) & ROCE_PSN_MASK;
  r->holes++;
}

/* Puts [start, end) at index `at`. Without room the last one is forgotten and counted. */
static ROCE_INLINE void roce_round_insert(struct roce_round *r, __u32 at, __u32 start, __u32 end) {
  ROCE_ROLLED
  for (__u32 i = ROCE_ROUND_HOLES - 1; i > 0; i--)
    if (i > at)
      r->hole[i] = r->hole[i - 1];
  r->hole[at & (ROCE_ROUND_HOLES - 1)].start = start;
  r->hole[at & (ROCE_ROUND_HOLES - 1)].length = (end - start) & ROCE_PSN_MASK;
  if (r->holes < ROCE_ROUND_HOLES)
    r->holes++;
  else
    r->forgotten++;
}

/* Keeps of each hole the parts before `psn` and from `end` on. */
ROCE_OUTLINE int roce_round_remove(struct roce_round *r, __u32 psn, __u32 end) {
  __u32 kept = 0;

  if (!r)
    return 0;
  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_ROUND_HOLES; i++) {
    __u32 start, stop;
    int before, after;

    if (i >= r->holes)
      break;
    start = r->hole[i].start;
    stop = roce_round_hole_end(r, i);
    before = roce_psn_diff(start, psn) < 0;
    after = roce_psn_diff(stop, end) > 0;
    if (before && after) { /* the others are not in it */
      r->hole[i].length = (psn - start) & ROCE_PSN_MASK;
      roce_round_insert(r, i + 1, end, stop);
      return 1;
    }
    if (before && roce_psn_diff(stop, psn) > 0)
      stop = psn;
    else if (after && roce_psn_diff(start, end) < 0)
      start = end;
    else if (!before && !after)
      continue;
    r->hole[kept & (ROCE_ROUND_HOLES - 1)].start = start;
    r->hole[kept & (ROCE_ROUND_HOLES - 1)].length = (stop - start) & ROCE_PSN_MASK;
    kept++;
  }
  r->holes = kept;
  return 1;
}

/* A packet at or after `last`. */
static ROCE_INLINE void roce_round_forward(struct roce_round *r, __u32 psn, __u32 end) {
  if (psn != r->last)
    roce_round_open(r, r->last, psn);
  r->last = end;
  if (!r->holes) {
    if (roce_psn_diff(end, r->expected) > 0)
      r->expected = end;
  }
}

/* A single packet before `last`: late, or sent again alone. */
static ROCE_INLINE void roce_round_fill(struct roce_round *r, __u32 psn, __u32 end) {
  if (!r->holes)
    return;
  roce_round_remove(r, psn, end);
  roce_round_accept(r);
}

/* The receiver has everything before `psn`, as its answer says. */
static ROCE_INLINE void roce_round_reach(struct roce_round *r, __u32 psn) {
  if (roce_psn_diff(psn, r->expected) <= 0)
    return;
  if (r->holes)
    roce_round_remove(r, r->expected, psn);
  r->expected = psn;
  if (roce_psn_diff(r->last, psn) < 0)
    r->last = psn;
  roce_round_accept(r);
}

/* The receiver has not got `psn`, as its NAK says. */
static ROCE_INLINE void roce_round_refuse(struct roce_round *r, __u32 psn) {
  if (roce_psn_diff(psn, r->expected) < 0) {
    r->expected = psn;
    roce_round_insert(r, 0, psn, roce_psn_add(psn, 1));
  } else {
    roce_round_reach(r, psn);
  }
}

/* A new round: the packet [psn, end) was the first sent again, when `expected` was expected. */
static ROCE_INLINE void roce_round_again(struct roce_round *r, __u32 expected, __u32 psn,
                                         __u32 end) {
  __s32 ahead = roce_psn_diff(psn, expected);

  r->expected = expected;
  r->holes = 0;
  r->last = end;
  if (ahead > 0)
    roce_round_open(r, expected, psn);
  else if (roce_psn_diff(end, expected) > 0)
    r->expected = end;
}

#endif
