/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * From a CNP to the fall of its sender's rate (README.md 11). The gaps between packets of a message
 * before the CNP and after it are divided in two where that explains them best; the fall is there
 * if those of the second part are clearly longer.
 */
#ifndef ROCE_FALL_H
#define ROCE_FALL_H

#include "env.h"
#include "timed.h"

#define ROCE_FALL_HORIZON 200000u /* ns: before and after a CNP; also the longest gap */
#define ROCE_FALL_LEAST 8         /* gaps after the fall */
#define ROCE_FALL_MORE 32         /* they are longer by 1/32 at least */
#define ROCE_FALL_SIGNIFICANCE 36 /* t squared */

struct roce_gaps {
  __u64 count, sum, squares;
};

static ROCE_INLINE void roce_gaps_add(struct roce_gaps *g, __u64 gap) {
  g->count++;
  g->sum += gap;
  g->squares += gap * gap;
}

static ROCE_INLINE __u64 roce_gaps_inner(const struct roce_gaps *g) {
  return g->squares - g->sum * g->sum / g->count; /* squared deviations from their mean */
}

/* Squared deviations that a division into these two explains; 0 if the second are not longer. */
static ROCE_INLINE __u64 roce_gaps_between(const struct roce_gaps *a, const struct roce_gaps *b) {
  __u64 first = a->sum * b->count, second = b->sum * a->count;

  if (second * ROCE_FALL_MORE < first * (ROCE_FALL_MORE + 1))
    return 0;
  return (second - first) * (second - first) / (a->count * b->count * (a->count + b->count));
}

static ROCE_INLINE int roce_gaps_differ(const struct roce_gaps *a, const struct roce_gaps *b) {
  return roce_gaps_between(a, b) * (a->count + b->count - 2) >=
         ROCE_FALL_SIGNIFICANCE * (roce_gaps_inner(a) + roce_gaps_inner(b) + 1);
}

/* Where the gaps after the CNP divide best: how many are still like those before. -1: nowhere. */
static ROCE_SEPARATE int roce_fall_find(const struct roce_fall *f, struct roce_gaps *before) {
  struct roce_gaps a = {}, b = {}, best = {};
  __u64 most = 0;
  int at = -1;

  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_FALL_BEFORE; i++)
    roce_gaps_add(&a, f->before[i]);
  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_FALL_AFTER && i < f->count; i++)
    roce_gaps_add(&b, f->after[i]);
  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_FALL_AFTER && b.count >= ROCE_FALL_LEAST; i++) {
    __u64 between = roce_gaps_between(&a, &b);

    if (between > most) {
      most = between;
      at = roce_gaps_differ(&a, &b) ? (int)i : -1;
      best = a;
    }
    roce_gaps_add(&a, f->after[i]);
    b.count--;
    b.sum -= f->after[i];
    b.squares -= (__u64)f->after[i] * f->after[i];
  }
  *before = best;
  return at;
}

/* Gives the time from the CNP that waits, if the rate has fallen. */
static ROCE_SEPARATE void roce_fall_decide(struct roce_env *env, struct roce_timing *t) {
  struct roce_fall *f = &t->fall;
  struct roce_gaps before;
  __u64 late;
  int at;

  if (f->count < ROCE_FALL_LEAST) {
    f->unmeasured++;
  } else {
    at = roce_fall_find(f, &before);
    /* when the first late packet was due: the gap's beginning, and a gap as before */
    late = at >= 0 ? f->begins[at] + before.sum / before.count : 0;
    if (at < 0)
      f->steady++;
    else if (late < f->cnp_ns)
      f->unmeasured++; /* it was late before the CNP passed */
    else
      roce_emit_latency(env, t, ROCE_LATENCY_FALL, late - f->cnp_ns,
                        f->other_ns && f->other_ns < late);
  }
  f->cnp_ns = 0;
  f->seen = 0; /* those before are of another pace */
}

/* What passed is no measure of the sender's pace: packets are sent again, or the QPN is new. */
static ROCE_INLINE void roce_fall_forget(struct roce_timing *t) {
  t->fall.unmeasured += t->fall.cnp_ns != 0;
  t->fall.cnp_ns = 0;
  t->fall.seen = 0;
}

/* A packet of a message came `now`, the packet before it at `from`. */
static ROCE_INLINE void roce_fall_gap(struct roce_env *env, struct roce_timing *t, __u64 from,
                                      __u64 now) {
  struct roce_fall *f = &t->fall;
  __u64 gap = now > from ? now - from : 0;

  if (f->cnp_ns && now > f->cnp_ns + ROCE_FALL_HORIZON)
    roce_fall_decide(env, t);
  if (gap > ROCE_FALL_HORIZON) {
    f->seen = 0;
    return;
  }
  f->newest_ns = now;
  if (!f->cnp_ns) {
    f->before[f->seen++ & (ROCE_FALL_BEFORE - 1)] = (__u32)gap;
    return;
  }
  f->begins[f->count & (ROCE_FALL_AFTER - 1)] = from;
  f->after[f->count++ & (ROCE_FALL_AFTER - 1)] = (__u32)gap;
  if (f->count < ROCE_FALL_AFTER)
    return;
  roce_fall_decide(env, t);
  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_FALL_BEFORE; i++)
    f->before[i] = f->after[i + ROCE_FALL_AFTER - ROCE_FALL_BEFORE];
  f->seen = ROCE_FALL_BEFORE;
}

/* A CNP for the sender of these requests. */
static ROCE_INLINE void roce_fall_cnp(struct roce_env *env, struct roce_timing *t, __u64 now) {
  struct roce_fall *f = &t->fall;
  int near = f->last_cnp_ns && now < f->last_cnp_ns + ROCE_FALL_HORIZON;

  f->last_cnp_ns = now;
  if (f->cnp_ns && now > f->cnp_ns + ROCE_FALL_HORIZON)
    roce_fall_decide(env, t);
  if (f->cnp_ns && !f->other_ns)
    f->other_ns = now;
  if (near) {
    f->close++;
    return;
  }
  if (f->seen < ROCE_FALL_BEFORE || now > f->newest_ns + ROCE_FALL_HORIZON) {
    f->unmeasured++;
    return;
  }
  f->cnp_ns = now;
  f->other_ns = 0;
  f->count = 0;
}

#endif
