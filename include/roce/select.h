/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Selects packets among those that a rule matches. Every random choice depends only on the packet's
 * place among them, from 1, and on the rule's seed: the same packets in the same order have the
 * same result, in the kernel and in userspace. Several CPUs share a rule's state; each word is
 * updated atomically.
 */
#ifndef ROCE_SELECT_H
#define ROCE_SELECT_H

#include "env.h"
#include "rule.h"

/* The random numbers that one packet may need. */
enum roce_draw { ROCE_DRAW_SELECT, ROCE_DRAW_SECOND, ROCE_DRAW_MARK, ROCE_DRAW_EDIT };

/* 64 random bits for the n-th packet: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). */
static ROCE_INLINE __u64 roce_random(__u64 seed, __u64 n, __u32 draw) {
  __u64 z = seed + (n * 4 + draw) * 0x9e3779b97f4a7c15ull;

  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

/* 1 with `probability`, a 64-bit fraction; ~0 is certain. */
static ROCE_INLINE int roce_chance(__u64 random, __u64 probability) {
  return random < probability || probability == ~0ull;
}

/* An integer in [from, to], uniformly distributed. */
static ROCE_INLINE __u32 roce_uniform(__u64 random, __u32 from, __u32 to) {
  return from + (__u32)((random >> 32) * ((__u64)(to - from) + 1) >> 32);
}

#define ROCE_LN2_Q32 2977044472ull /* ln 2 * 2^32 */

/*
 * 1 - 2^-x as a 64-bit fraction; the argument is x * 2^ROCE_BER_SHIFT. For small x t - t^2/2, with
 * 64 bits; otherwise the Taylor series of exp(-t) up to t^10, with 32 bits.
 */
static ROCE_INLINE __u64 roce_one_minus_exp2(__u64 x) {
  __u64 whole = x >> ROCE_BER_SHIFT, t, term = 1ull << 32, sum = 1ull << 32;

  if (whole >= 32)
    return ~0ull;
  if (x >> 32 == 0) { /* x below 2^-12 */
    t = (x * ROCE_LN2_Q32) >> (ROCE_BER_SHIFT - 32);
    return t - (((t >> 32) * (t >> 32)) >> 1);
  }
  t = ((x >> (ROCE_BER_SHIFT - 32) & 0xffffffff) * ROCE_LN2_Q32) >> 32;
  for (__u32 i = 1; i <= 10; i++) {
    term = ((term * t) >> 32) / i;
    sum = i & 1 ? sum - term : sum + term;
  }
  sum >>= whole; /* 2^-x, at most 2^32 */
  return sum >> 32 ? 0 : ((1ull << 32) - sum) << 32;
}

/* Moves the next place from `next` on by `distance`. 1 on the CPU that did it: it acts. */
static ROCE_INLINE int roce_select_next(struct roce_rule_state *state, __u64 next, __u64 n,
                                        __u64 distance) {
  return n >= next && ROCE_CAS(&state->next, next, next + distance);
}

static ROCE_INLINE int roce_select_positions(struct roce_env *env, const struct roce_rule *rule,
                                             struct roce_rule_state *state, __u64 n) {
  __u64 next = ROCE_LOAD(&state->next), taken;
  __u32 distance;

  if (!next) { /* the first matched packet */
    next = roce_rule_point(env, rule->slot, 0);
    ROCE_STORE(&state->next, next);
  }
  if (n < next)
    return 0;
  taken = ROCE_LOAD(&state->word) + 1;
  distance = taken < rule->select.points ? roce_rule_point(env, rule->slot, (__u32)taken) : 0;
  if (!roce_select_next(state, next, n, distance ? distance : 1ull << 62))
    return 0;
  ROCE_STORE(&state->word, taken);
  return 1;
}

static ROCE_INLINE __u32 roce_select_draw(struct roce_env *env, const struct roce_rule *rule,
                                          __u64 n) {
  __u64 random = roce_random(rule->select.seed, n, ROCE_DRAW_SELECT);
  __u32 points = rule->select.points, distance;

  distance = roce_rule_point(env, rule->slot, (__u32)((random >> 32) * points >> 32));
  return distance ? distance : 1;
}

static ROCE_INLINE int roce_select_distance(struct roce_env *env, const struct roce_rule *rule,
                                            struct roce_rule_state *state, __u64 n) {
  __u64 next = ROCE_LOAD(&state->next);

  if (!next) {
    next = roce_select_draw(env, rule, 0);
    ROCE_STORE(&state->next, next);
  }
  return n >= next && roce_select_next(state, next, n, roce_select_draw(env, rule, n));
}

/* state->next: the last place of the run. */
static ROCE_INLINE int roce_select_burst(const struct roce_rule *rule,
                                         struct roce_rule_state *state, __u64 n) {
  const struct roce_selector *select = &rule->select;
  int begins;

  if (n <= ROCE_LOAD(&state->next))
    return 1;
  if (select->every)
    begins = n % select->every == 0;
  else
    begins = roce_chance(roce_random(select->seed, n, ROCE_DRAW_SELECT), select->probability);
  if (begins)
    ROCE_STORE(&state->next, n - 1 +
                                 roce_uniform(roce_random(select->seed, n, ROCE_DRAW_SECOND),
                                              select->burst_from, select->burst_to));
  return begins;
}

/* Like netem's gemodel: the state before the transition decides. */
static ROCE_INLINE int roce_select_gilbert(const struct roce_rule *rule,
                                           struct roce_rule_state *state, __u64 n) {
  const struct roce_selector *select = &rule->select;
  __u64 bad = ROCE_LOAD(&state->word);

  if (roce_chance(roce_random(select->seed, n, ROCE_DRAW_SELECT),
                  bad ? select->bad_to_good : select->probability))
    ROCE_STORE(&state->word, !bad);
  return roce_chance(roce_random(select->seed, n, ROCE_DRAW_SECOND),
                     bad ? select->loss_bad : select->loss_good);
}

static ROCE_INLINE int roce_in_schedule(struct roce_env *env, const struct roce_selector *select) {
  __u64 since;

  if (select->schedule == ROCE_CONTINUOUS)
    return 1;
  since = roce_clock(env) - select->start_ns;
  if (select->schedule == ROCE_REPEAT && select->period_ns)
    since %= select->period_ns;
  return since < select->duration_ns;
}

/* The selectors that the hot path does not need inlined. `n` is the packet's place, from 1. */
ROCE_OUTLINE int roce_select_other(struct roce_env *env, const struct roce_rule *rule,
                                   struct roce_rule_state *state, __u64 n, __u32 length) {
  const struct roce_selector *select;

  if (!rule || !state)
    return 0;
  select = &rule->select;
  if (!roce_in_schedule(env, select))
    return 0;
  switch (select->kind) {
  case ROCE_SELECT_ALWAYS:
    return 1;
  case ROCE_SELECT_PROBABILITY:
    return roce_chance(roce_random(select->seed, n, ROCE_DRAW_SELECT), select->probability);
  case ROCE_SELECT_EVERY:
    return select->every && n % select->every == 0;
  case ROCE_SELECT_POSITIONS:
    return roce_select_positions(env, rule, state, n);
  case ROCE_SELECT_DISTANCE:
    return roce_select_distance(env, rule, state, n);
  case ROCE_SELECT_BURST:
    return roce_select_burst(rule, state, n);
  case ROCE_SELECT_GILBERT:
    return roce_select_gilbert(rule, state, n);
  case ROCE_SELECT_BER:
    return roce_chance(roce_random(select->seed, n, ROCE_DRAW_SELECT),
                       roce_one_minus_exp2(length * select->ber_log2));
  case ROCE_SELECT_SPACED: /* where n * fraction passes a whole number (Bresenham's line) */
    return n % ROCE_SPACED_WHOLE * select->every % ROCE_SPACED_WHOLE < select->every;
  default:
    return 0;
  }
}

/*
 * Counts the packet as matched; 1 when the rule selects it. `n` is its place, or 0 if it is not
 * needed: an atomic operation costs a fifth of the processing of a packet.
 */
static ROCE_INLINE int roce_select(struct roce_env *env, const struct roce_rule *rule,
                                   struct roce_rule_state *state, struct roce_rule_count *count,
                                   __u32 length, __u64 *n) {
  const struct roce_selector *select = &rule->select;

  *n = 0;
  count->matched++;
  count->matched_bytes += length;
  if (select->kind == ROCE_SELECT_ALWAYS && select->schedule == ROCE_CONTINUOUS)
    return 1;
  if (select->kind == ROCE_SELECT_PROBABILITY && select->schedule == ROCE_CONTINUOUS) {
    /* two CPUs may get the same place at once: the probabilities stay the same */
    *n = ROCE_LOAD(&state->place) + 1;
    ROCE_STORE(&state->place, *n);
    return roce_chance(roce_random(select->seed, *n, ROCE_DRAW_SELECT), select->probability);
  }
  *n = __sync_fetch_and_add(&state->place, 1) + 1;
  return roce_select_other(env, rule, state, *n, length);
}

/* A random number for a selected packet; a packet without a place gets one from `draws`. */
static ROCE_INLINE __u64 roce_random_of(const struct roce_rule *rule, struct roce_rule_state *state,
                                        __u64 n, __u32 draw) {
  if (!n)
    n = __sync_fetch_and_add(&state->draws, 1) + 1;
  return roce_random(rule->select.seed, n, draw);
}

/* Like roce_within_limit, for a limit in each period. `period` gets the period's number. */
static ROCE_INLINE int roce_within_period(struct roce_env *env, const struct roce_selector *select,
                                          struct roce_rule_state *state, __u32 *period) {
  *period = (__u32)((roce_clock(env) - select->start_ns) / select->limit_ns);
  ROCE_ROLLED
  for (int i = 0; i < 8; i++) {
    __u64 seen = ROCE_LOAD(&state->limited);
    __u32 ahead = (__u32)(seen >> 32) - *period;
    __u64 actions = 0;

    if (ahead < 8) { /* another CPU, whose clock was read later, may have begun a new period */
      *period += ahead;
      actions = seen & 0xffffffff;
    }
    if (actions >= select->limit)
      return 0;
    if (ROCE_CAS(&state->limited, seen, (__u64)*period << 32 | (actions + 1)))
      return 1;
  }
  return 0; /* many CPUs at once: fewer actions than the limit */
}

/*
 * 0 when the rule has reached its limit; otherwise counts one more action. `period` is for
 * roce_limit_return.
 */
static ROCE_INLINE int roce_within_limit(struct roce_env *env, const struct roce_rule *rule,
                                         struct roce_rule_state *state, __u32 *period) {
  *period = 0;
  if (!rule->select.limit)
    return 1;
  if (rule->select.limit_ns)
    return roce_within_period(env, &rule->select, state, period);
  if (__sync_fetch_and_add(&state->limited, 1) < rule->select.limit)
    return 1;
  ROCE_ADD(&state->limited, (__u64)-1);
  return 0;
}

/* The counted action was not possible. */
static ROCE_INLINE void roce_limit_return(const struct roce_rule *rule,
                                          struct roce_rule_state *state, __u32 period) {
  __u64 seen;

  if (!rule->select.limit)
    return;
  if (!rule->select.limit_ns) {
    ROCE_ADD(&state->limited, (__u64)-1);
    return;
  }
  seen = ROCE_LOAD(&state->limited);
  if (seen >> 32 == period && seen & 0xffffffff)
    (void)ROCE_CAS(&state->limited, seen, seen - 1);
}

#endif
