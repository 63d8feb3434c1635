/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Times between the requests of a QP pair and their answers, without probes (README.md 11). Of
 * requests, only those are timed that are at or ahead of the newest PSN: what is sent again is not.
 */
#ifndef ROCE_TIMING_H
#define ROCE_TIMING_H

#include "fall.h"
#include "link.h"
#include "timed.h"

static ROCE_INLINE void roce_timing_give(struct roce_env *env, struct roce_timing *t, int kind,
                                         __u64 from, __u64 now, int bound) {
  if (from)
    roce_emit_latency(env, t, kind, now > from ? now - from : 0, bound);
}

static ROCE_INLINE struct roce_awaited *roce_timing_nth(struct roce_timing *t, __u32 number) {
  return &t->awaited[number & (ROCE_AWAITED - 1)];
}

/* See roce_follows() in follow.h. */
static ROCE_INLINE int roce_times(struct roce_env *env, const void *one, const void *other) {
  return one && other && roce_features(env) & ROCE_FEATURE_TIME;
}

/* Frees the places of the oldest that wait no longer. */
ROCE_OUTLINE int roce_timing_advance(struct roce_timing *t) {
  if (!t)
    return 0;
  t->flags &= ~(__u32)ROCE_TIMING_FULL;
  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_AWAITED; i++) {
    if (t->head == t->tail || roce_timing_nth(t, t->head)->what != ROCE_AWAIT_NOTHING)
      break;
    t->head++;
  }
  return 1;
}

/* How many of the oldest were passed over, as a later one was answered: those before the last. */
ROCE_OUTLINE __u32 roce_timing_passed(const struct roce_timing *t) {
  if (!t)
    return 0;
  ROCE_ROLLED
  for (__u32 i = ROCE_AWAITED - 1; i; i--)
    if (t->awaited[(t->head + i) & (ROCE_AWAITED - 1)].what == ROCE_AWAIT_NOTHING)
      return i;
  return 0;
}

/* No place is left: those that were passed over make way. */
ROCE_OUTLINE int roce_timing_make_way(struct roce_timing *t) {
  __u32 passed = roce_timing_passed(t);

  if (!t)
    return 0;
  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_AWAITED && i < passed; i++) {
    struct roce_awaited *a = roce_timing_nth(t, t->head + i);

    t->unanswered += a->what != ROCE_AWAIT_NOTHING;
    a->what = ROCE_AWAIT_NOTHING;
  }
  return roce_timing_advance(t);
}

/* A place for the next request that waits, or NULL. */
static ROCE_INLINE struct roce_awaited *roce_timing_add(struct roce_timing *t) {
  if (t->tail - t->head == ROCE_AWAITED && !(t->flags & ROCE_TIMING_FULL))
    roce_timing_make_way(t);
  if (t->tail - t->head == ROCE_AWAITED) {
    t->flags |= ROCE_TIMING_FULL;
    t->full++;
    return ROCE_NULL;
  }
  return roce_timing_nth(t, t->tail++);
}

/* PSNs [psn, end) pass again: an answer to them may be to either transmission. */
ROCE_OUTLINE int roce_timing_again(struct roce_timing *t, __u32 psn, __u32 end) {
  if (!t)
    return 0;
  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_AWAITED; i++) {
    struct roce_awaited *a = roce_timing_nth(t, t->head + i);

    if (i == t->tail - t->head)
      break;
    if (a->what == ROCE_AWAIT_NOTHING || roce_psn_diff(a->next, end) >= 0 ||
        (a->open ? a->next != psn : roce_psn_diff(a->end, psn) <= 0))
      continue;
    t->ambiguous += a->sent_ns != 0;
    a->sent_ns = 0;
    if (!a->first_ns || a->what == ROCE_AWAIT_ATOMIC)
      a->what = ROCE_AWAIT_NOTHING;
  }
  return roce_timing_advance(t);
}

/* Restarts with this request: the first, or after a new use of the QPN. */
ROCE_OUTLINE int roce_timing_start(struct roce_timing *t, __u32 psn) {
  if (!t)
    return 0;
  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_AWAITED && t->head != t->tail; i++)
    t->unanswered += roce_timing_nth(t, t->head++)->what != ROCE_AWAIT_NOTHING;
  t->next = psn;
  t->flags = ROCE_TIMING_STARTED;
  roce_fall_forget(t);
  return 1;
}

/* A request that follows the newest one within a message shows the sender's pace. */
static ROCE_INLINE void roce_timing_pace(struct roce_env *env, struct roce_timing *t,
                                         const struct roce_packet *p, __u64 now) {
  if (!roce_falls(env))
    return;
  if (t->flags & ROCE_TIMING_MESSAGE && p->info & (ROCE_OP_MIDDLE | ROCE_OP_LAST))
    roce_fall_gap(env, t, t->newest_ns, now);
  t->newest_ns = now;
}

/* The beginning of the message that packet `p` ends; 0: it ends none, or it is not known. */
static ROCE_INLINE __u64 roce_timing_message(struct roce_timing *t, const struct roce_packet *p,
                                             __u64 now) {
  __u64 began = t->flags & ROCE_TIMING_MESSAGE ? t->message_ns : 0;

  if (p->info & ROCE_OP_FIRST) {
    t->message_ns = now;
    t->flags |= ROCE_TIMING_MESSAGE;
    return 0;
  }
  if (!(p->info & ROCE_OP_ENDS_MESSAGE))
    return 0;
  t->flags &= ~(__u32)ROCE_TIMING_MESSAGE;
  return p->info & ROCE_OP_LAST ? began : now;
}

/* Whether the time of this packet matters; the clock costs as much as the rest. */
static ROCE_INLINE int roce_timing_needs_clock(const struct roce_packet *p) {
  return p->ack_req || p->ecn == ROCE_ECN_CE || !(p->info & ROCE_OP_REQUEST) ||
         p->info & ROCE_OP_FIRST || p->info & ROCE_OP_ENDS_MESSAGE;
}

/* A request of `psns` PSNs; 0: a READ whose length in PSNs is not known. */
ROCE_OUTLINE int roce_timing_request(struct roce_env *env, struct roce_timing *t,
                                     const struct roce_packet *p, __u32 psns, __u64 now) {
  struct roce_awaited *a;
  __u64 first_ns;
  __s32 ahead;
  int open = !psns;
  __u32 end;

  if (!roce_times(env, t, p))
    return 0;
  end = roce_psn_add(p->psn, psns ? psns : 1);
  ahead = roce_psn_diff(p->psn, t->next);
  if (!(t->flags & ROCE_TIMING_STARTED) || ahead >= ROCE_RESYNC_DISTANCE ||
      ahead <= -ROCE_RESYNC_DISTANCE) {
    roce_timing_start(t, p->psn);
    ahead = 0;
  }
  if (ahead < 0) {
    roce_fall_forget(t);
    roce_timing_again(t, p->psn, end);
    return 1;
  }
  if (ahead && t->flags & ROCE_TIMING_MESSAGE) {
    t->broken++;
    t->flags &= ~(__u32)ROCE_TIMING_MESSAGE;
  }
  roce_timing_pace(env, t, p, now);
  t->next = end;
  t->flags &= ~(__u32)ROCE_TIMING_OPEN;
  if (open)
    t->flags |= ROCE_TIMING_OPEN;
  first_ns = roce_timing_message(t, p, now);
  if (!p->ack_req && !first_ns)
    return 1;
  a = roce_timing_add(t);
  if (!a)
    return 1;
  a->what = p->info & ROCE_OP_READ_REQUEST ? ROCE_AWAIT_READ
            : p->info & ROCE_OP_ATOMIC     ? ROCE_AWAIT_ATOMIC
                                           : ROCE_AWAIT_ACK;
  a->sent_ns = p->ack_req || a->what != ROCE_AWAIT_ACK ? now : 0;
  a->first_ns = first_ns;
  a->next = p->psn;
  a->end = end;
  a->open = open != 0;
  return 1;
}

/* A response of PSN `psn` to a READ. 1: it was the last. */
static ROCE_INLINE int roce_timing_read(struct roce_env *env, struct roce_timing *t,
                                        struct roce_awaited *a, const struct roce_packet *p,
                                        __u64 now) {
  if (!(p->info & ROCE_OP_READ_RESPONSE) || p->psn != a->next)
    return 0;
  roce_timing_give(env, t, ROCE_LATENCY_READ_FIRST, a->sent_ns, now, 0);
  a->sent_ns = 0;
  a->next = roce_psn_add(p->psn, 1);
  if (!(p->info & ROCE_OP_ENDS_MESSAGE))
    return 0;
  roce_timing_give(env, t, ROCE_LATENCY_READ, a->first_ns, now, 0);
  return 1;
}

/* The PSN after those that answer `p` covers: a NAK of any kind is for the first that it does not.
 */
static ROCE_INLINE __u32 roce_timing_covered(const struct roce_packet *p) {
  return !(p->info & ROCE_OP_ACK) || ROCE_SYNDROME_TYPE(p->syndrome) == ROCE_ACK
             ? roce_psn_add(p->psn, 1)
             : p->psn;
}

/* What an answer says of request `number`, which waits. 1: it waits no longer. */
ROCE_OUTLINE int roce_timing_answer(struct roce_env *env, struct roce_timing *t,
                                    const struct roce_packet *p, __u32 number, __u64 now) {
  struct roce_awaited *a;
  __u32 covered;
  int done = 0;

  if (!roce_times(env, t, p))
    return 0;
  a = roce_timing_nth(t, number);
  covered = roce_timing_covered(p);
  if (a->what == ROCE_AWAIT_READ) {
    done = roce_timing_read(env, t, a, p, now);
  } else if (a->what == ROCE_AWAIT_ATOMIC) {
    done = p->info & ROCE_OP_ATOMIC && p->psn == a->next;
    if (done)
      roce_timing_give(env, t, ROCE_LATENCY_ATOMIC, a->sent_ns, now, 0);
  } else if (a->what == ROCE_AWAIT_ACK && roce_psn_diff(covered, a->end) >= 0) {
    int bound = covered != a->end || p->psn != a->next;

    done = 1;
    roce_timing_give(env, t, ROCE_LATENCY_ACK, a->sent_ns, now, bound);
    roce_timing_give(env, t, ROCE_LATENCY_MESSAGE, a->first_ns, now, bound);
  }
  if (done)
    a->what = ROCE_AWAIT_NOTHING;
  return done;
}

/* An answer of any kind, without CNPs. */
ROCE_OUTLINE int roce_timing_answers(struct roce_env *env, struct roce_timing *t,
                                     const struct roce_packet *p, __u64 now) {
  __s32 ahead;

  if (!roce_times(env, t, p) || !(t->flags & ROCE_TIMING_STARTED))
    return 0;
  ahead = roce_psn_diff(p->psn, t->next);
  if (ahead >= ROCE_RESYNC_DISTANCE || ahead <= -ROCE_RESYNC_DISTANCE)
    return 0;
  if (ahead >= 0 && t->flags & ROCE_TIMING_OPEN && p->info & ROCE_OP_READ_RESPONSE)
    t->next = roce_timing_covered(p); /* the READ's length shows in its responses */
  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_AWAITED; i++) {
    if (i == t->tail - t->head || roce_psn_diff(p->psn, roce_timing_nth(t, t->head + i)->next) < 0)
      break;
    roce_timing_answer(env, t, p, t->head + i, now);
  }
  roce_timing_advance(t);
  return 1;
}

static ROCE_INLINE void roce_timing_ce(struct roce_timing *t, const struct roce_packet *p,
                                       __u64 now) {
  if (p->ecn != ROCE_ECN_CE)
    return;
  if (p->info & ROCE_OP_RESPONSE) {
    if (!t->answers_ce++)
      t->answers_ce_ns = now;
  } else if (!t->ce++) {
    t->ce_ns = now;
  }
}

/* Resets the record, for request stream `id`. */
static ROCE_INLINE void roce_timing_anew(struct roce_env *env, struct roce_timing *t, __u32 id,
                                         const struct roce_key *key) {
  t->key = *key;
  t->check = roce_pair_check(key);
  t->request = id;
  t->response = ROCE_NO_STREAM;
  t->flags = t->head = t->tail = t->ce = t->answers_ce = 0;
  t->full = t->ambiguous = t->unanswered = t->broken = 0;
  __builtin_memset(&t->fall, 0, sizeof(t->fall));
  roce_timing_forget(env, t);
}

/*
 * Enters the record of request stream `id`; NULL: it has none, or could not be entered. See
 * roce_follow_open_record.
 */
static ROCE_INLINE struct roce_timing *roce_timing_open(struct roce_env *env, __u32 id) {
  const struct roce_stream *s = roce_stream_at(env, id);
  struct roce_timing *t = s ? roce_timing_at(env, id) : ROCE_NULL;

  if (!t || !roce_pair_enter(env, &t->lock))
    return ROCE_NULL;
  if (ROCE_UNLIKELY(!roce_key_equal(&t->key, &s->key)))
    roce_timing_anew(env, t, id, &s->key);
  return t;
}

/* Gives the time to a CNP, which `t` and `answered` may both explain. */
static ROCE_INLINE void roce_timing_slow(struct roce_env *env, struct roce_timing *t,
                                         struct roce_timing *answered, __u64 now) {
  __u32 asks = t ? t->ce : 0, answers = answered ? answered->answers_ce : 0;

  if (answers && (!asks || answered->answers_ce_ns < t->ce_ns))
    roce_timing_give(env, answered, ROCE_LATENCY_CNP, answered->answers_ce_ns, now,
                     answers + asks > 1);
  else if (asks)
    roce_timing_give(env, t, ROCE_LATENCY_CNP, t->ce_ns, now, asks + answers > 1);
  if (t)
    t->ce = 0;
  if (answered)
    answered->answers_ce = 0;
}

/*
 * A CNP of stream `id` slows down a QP: its requests, and its answers to requests of the other
 * side. With several marks since the CNP before, it may be for a later one.
 */
static ROCE_SEPARATE void roce_timing_cnp(struct roce_env *env, __u32 id, __u64 now) {
  struct roce_scratch *scratch = roce_scratch_of(env);
  const struct roce_stream *s = roce_stream_at(env, id);
  const __u32 *link = roce_pair_link_at(env, id);
  struct roce_timing *t = ROCE_NULL, *answered = ROCE_NULL;
  __u32 other;

  if (!scratch || !s)
    return;
  roce_sibling_key(&s->key, &scratch->answered);
  other = roce_table_find(env, &scratch->answered,
                          roce_key_hash(&scratch->answered, roce_hash_seed(env)));
  if (other != ROCE_NO_STREAM)
    answered = roce_timing_open(env, other);
  if (link && *link)
    t = roce_timing_open(env, *link - 1);
  roce_timing_slow(env, t, answered, now);
  if (t) {
    if (roce_falls(env))
      roce_fall_cnp(env, t, now);
    roce_pair_leave(env, &t->lock);
  }
  if (answered)
    roce_pair_leave(env, &answered->lock);
}

/* A request was timed. 1: those that come now may be skipped, as far as timing is concerned. */
static ROCE_INLINE int roce_timing_may_skip(struct roce_env *env, struct roce_timing *t) {
  t->flags &= ~(__u32)ROCE_TIMING_SKIPS;
  if (!(roce_features(env) & ROCE_FEATURE_SKIP) || t->flags & ROCE_TIMING_OPEN || roce_falls(env))
    return 0;
  t->flags |= ROCE_TIMING_SKIPS;
  return 1;
}

/*
 * Entry point: packet `p` of stream `id`, after roce_track. `before`: of requests, all before
 * this PSN were tracked before. 1: requests may be skipped from now on.
 */
static ROCE_INLINE int roce_timing_packet(struct roce_env *env, const struct roce_packet *p,
                                          __u32 id, __u32 before, __u64 now) {
  const struct roce_stream *s = roce_stream_at(env, id);
  __u32 transport = p->opcode & ROCE_TRANSPORT_MASK, request;
  struct roce_timing *t;
  int skip;

  if (p->info & ROCE_OP_CNP) {
    roce_timing_cnp(env, id, now);
    return 0;
  }
  if (!s || (transport != ROCE_RC && transport != ROCE_XRC) || p->cut)
    return 0;
  if (p->info & ROCE_OP_REQUEST) {
    t = roce_timing_open(env, id);
    if (!t)
      return 0;
    if (t->flags & ROCE_TIMING_SKIPS && roce_skip_count(t->next, before))
      t->next = before;
    if (!(t->flags & ROCE_TIMING_STARTED) || (p->psn ^ t->next) >> ROCE_PAIR_SHIFT ||
        !(p->psn & ((1 << ROCE_PAIR_SHIFT) - 1)))
      roce_pair_note(env, &s->key, p->psn, id);
    roce_timing_ce(t, p, now);
    roce_timing_request(
        env, t, p, roce_stream_psns(p, (s->word & ROCE_WORD_PMTU) >> ROCE_WORD_PMTU_SHIFT), now);
    skip = roce_timing_may_skip(env, t);
    roce_pair_leave(env, &t->lock);
    return skip;
  }
  request = roce_pair_link(env, p, id);
  if (request == ROCE_NO_STREAM) {
    roce_timing_unpaired(env);
    return 0;
  }
  t = roce_timing_open(env, request);
  if (!t)
    return 0;
  t->response = id;
  roce_timing_ce(t, p, now);
  roce_timing_answers(env, t, p, now);
  roce_pair_leave(env, &t->lock);
  return 0;
}

#endif
