/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Times between the requests of a QP pair and their answers, without probes (README.md 11). Of
 * requests, only those are timed that are at or ahead of the newest PSN: what is sent again is not.
 */
#ifndef ROCE_TIMING_H
#define ROCE_TIMING_H

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

/* Frees the places of the oldest that wait no longer. */
static ROCE_INLINE void roce_timing_advance(struct roce_timing *t) {
  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_AWAITED; i++) {
    if (t->head == t->tail || roce_timing_nth(t, t->head)->what != ROCE_AWAIT_NOTHING)
      return;
    t->head++;
  }
}

/* No place is left: those make way that were passed over, as a later one was answered. */
static ROCE_SEPARATE void roce_timing_make_way(struct roce_timing *t) {
  __u32 passed = 0;

  ROCE_ROLLED
  for (__u32 i = 1; i < ROCE_AWAITED; i++)
    if (roce_timing_nth(t, t->head + i)->what == ROCE_AWAIT_NOTHING)
      passed = i;
  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_AWAITED && i < passed; i++) {
    struct roce_awaited *a = roce_timing_nth(t, t->head + i);

    t->unanswered += a->what != ROCE_AWAIT_NOTHING;
    a->what = ROCE_AWAIT_NOTHING;
  }
  roce_timing_advance(t);
}

/* A place for the next request that waits, or NULL. */
static ROCE_INLINE struct roce_awaited *roce_timing_add(struct roce_timing *t) {
  if (t->tail - t->head == ROCE_AWAITED)
    roce_timing_make_way(t);
  if (t->tail - t->head == ROCE_AWAITED) {
    t->full++;
    return ROCE_NULL;
  }
  return roce_timing_nth(t, t->tail++);
}

/* PSNs [psn, end) pass again: an answer to them may be to either transmission. */
static ROCE_SEPARATE void roce_timing_again(struct roce_timing *t, __u32 psn, __u32 end) {
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
  roce_timing_advance(t);
}

/* Begins anew with this request: the first, or after a new use of the QPN. */
static ROCE_INLINE void roce_timing_start(struct roce_timing *t, __u32 psn) {
  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_AWAITED && t->head != t->tail; i++)
    t->unanswered += roce_timing_nth(t, t->head++)->what != ROCE_AWAIT_NOTHING;
  t->next = psn;
  t->flags = ROCE_TIMING_STARTED;
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

/* A request, [psn, end); `open`: a READ whose length in PSNs is not known. */
static ROCE_SEPARATE void roce_timing_request(struct roce_timing *t, const struct roce_packet *p,
                                              __u32 end, int open, __u64 now) {
  __s32 ahead = roce_psn_diff(p->psn, t->next);
  struct roce_awaited *a;
  __u64 first_ns;

  if (!(t->flags & ROCE_TIMING_STARTED) || ahead >= ROCE_RESYNC_DISTANCE ||
      ahead <= -ROCE_RESYNC_DISTANCE) {
    roce_timing_start(t, p->psn);
    ahead = 0;
  }
  if (ahead < 0) {
    roce_timing_again(t, p->psn, end);
    return;
  }
  if (ahead && t->flags & ROCE_TIMING_MESSAGE) {
    t->broken++;
    t->flags &= ~(__u32)ROCE_TIMING_MESSAGE;
  }
  t->next = end;
  t->flags &= ~(__u32)ROCE_TIMING_OPEN;
  if (open)
    t->flags |= ROCE_TIMING_OPEN;
  first_ns = roce_timing_message(t, p, now);
  if (!p->ack_req && !first_ns)
    return;
  a = roce_timing_add(t);
  if (!a)
    return;
  a->what = p->info & ROCE_OP_READ_REQUEST ? ROCE_AWAIT_READ
            : p->info & ROCE_OP_ATOMIC     ? ROCE_AWAIT_ATOMIC
                                           : ROCE_AWAIT_ACK;
  a->sent_ns = p->ack_req || a->what != ROCE_AWAIT_ACK ? now : 0;
  a->first_ns = first_ns;
  a->next = p->psn;
  a->end = end;
  a->open = open != 0;
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

/* What an answer says of one request that waits: `covered` is the PSN after those it covers. */
static ROCE_INLINE void roce_timing_answer(struct roce_env *env, struct roce_timing *t,
                                           struct roce_awaited *a, const struct roce_packet *p,
                                           __u32 covered, __u64 now) {
  int done = 0;

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
}

/* An answer of any kind, without CNPs. */
static ROCE_SEPARATE void roce_timing_answers(struct roce_env *env, struct roce_timing *t,
                                              const struct roce_packet *p, __u64 now) {
  __s32 ahead = roce_psn_diff(p->psn, t->next);
  __u32 covered = p->psn; /* a NAK, of any kind, is for the first PSN that it does not cover */

  if (!(t->flags & ROCE_TIMING_STARTED) || ahead >= ROCE_RESYNC_DISTANCE ||
      ahead <= -ROCE_RESYNC_DISTANCE)
    return;
  if (!(p->info & ROCE_OP_ACK) || ROCE_SYNDROME_TYPE(p->syndrome) == ROCE_ACK)
    covered = roce_psn_add(covered, 1);
  if (ahead >= 0 && t->flags & ROCE_TIMING_OPEN && p->info & ROCE_OP_READ_RESPONSE)
    t->next = covered; /* the READ's length shows in its responses */
  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_AWAITED; i++) {
    struct roce_awaited *a = roce_timing_nth(t, t->head + i);

    if (i == t->tail - t->head || roce_psn_diff(p->psn, a->next) < 0)
      break;
    roce_timing_answer(env, t, a, p, covered, now);
  }
  roce_timing_advance(t);
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

/*
 * A CNP of stream `id` slows down a QP: its requests, and its answers to requests of the other
 * side. With several marks since the CNP before, it may be for a later one.
 */
static ROCE_SEPARATE void roce_timing_cnp(struct roce_env *env, __u32 id, __u64 now) {
  struct roce_scratch *scratch = roce_scratch_of(env);
  const struct roce_stream *s = roce_stream_at(env, id);
  const __u32 *link = roce_pair_link_at(env, id);
  struct roce_timing *t = link && *link ? roce_timing_at(env, *link - 1) : ROCE_NULL;
  struct roce_timing *answered = ROCE_NULL;
  __u32 other;

  if (!scratch || !s)
    return;
  roce_sibling_key(&s->key, &scratch->answered);
  other = roce_table_find(env, &scratch->answered,
                          roce_key_hash(&scratch->answered, roce_hash_seed(env)));
  if (other != ROCE_NO_STREAM)
    answered = roce_timing_at(env, other);
  if (answered && answered->answers_ce && (!t || !t->ce || answered->answers_ce_ns < t->ce_ns))
    roce_timing_give(env, answered, ROCE_LATENCY_CNP, answered->answers_ce_ns, now,
                     answered->answers_ce + (t ? t->ce : 0) > 1);
  else if (t && t->ce)
    roce_timing_give(env, t, ROCE_LATENCY_CNP, t->ce_ns, now,
                     t->ce + (answered ? answered->answers_ce : 0) > 1);
  if (t)
    t->ce = 0;
  if (answered)
    answered->answers_ce = 0;
}

/* The one entry: packet `p` of stream `id`, after roce_track. */
static ROCE_INLINE void roce_timing_packet(struct roce_env *env, const struct roce_packet *p,
                                           __u32 id, __u64 now) {
  const struct roce_stream *s = roce_stream_at(env, id);
  __u32 transport = p->opcode & ROCE_TRANSPORT_MASK, psns, request;
  struct roce_timing *t;

  if (p->info & ROCE_OP_CNP) {
    roce_timing_cnp(env, id, now);
    return;
  }
  if (!s || (transport != ROCE_RC && transport != ROCE_XRC) || p->cut)
    return;
  if (p->info & ROCE_OP_REQUEST) {
    t = roce_timing_at(env, id);
    if (!t)
      return;
    if (!(t->flags & ROCE_TIMING_STARTED) || (p->psn ^ t->next) >> ROCE_PAIR_SHIFT ||
        !(p->psn & ((1 << ROCE_PAIR_SHIFT) - 1)))
      roce_pair_note(env, &s->key, p->psn, id);
    psns = roce_stream_psns(p, (s->word & ROCE_WORD_PMTU) >> ROCE_WORD_PMTU_SHIFT);
    roce_timing_ce(t, p, now);
    roce_timing_request(t, p, roce_psn_add(p->psn, psns ? psns : 1), !psns, now);
    return;
  }
  request = roce_pair_link(env, p, id);
  t = request != ROCE_NO_STREAM ? roce_timing_at(env, request) : ROCE_NULL;
  if (!t) {
    roce_timing_unpaired(env);
    return;
  }
  t->response = id;
  roce_timing_ce(t, p, now);
  roce_timing_answers(env, t, p, now);
}

#endif
