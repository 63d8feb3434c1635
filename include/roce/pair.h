/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The one entry of following: each packet of a QP pair, after the tracker. */
#ifndef ROCE_PAIR_H
#define ROCE_PAIR_H

#include "answers.h"
#include "link.h"

/* Resets the record, for request stream `id`. */
static ROCE_INLINE void roce_follow_reset_record(struct roce_follow *f, __u32 id,
                                                 const struct roce_key *key) {
  __builtin_memset(&f->sum, 0, sizeof(f->sum));
  f->key = *key;
  f->request = id;
  f->response = ROCE_NO_STREAM;
  f->flags = 0;
  f->round.forgotten = 0;
  f->requests = 0;
  f->check = roce_pair_check(key);
}

/*
 * Enters the record of request stream `id`, whose key is `key`; NULL: it has none, or could not be
 * entered. A record of another stream, whose entry in the stream table was reused, is
 * reset. roce_pair_leave ends it.
 */
static ROCE_INLINE struct roce_follow *roce_follow_open_record(struct roce_env *env, __u32 id,
                                                               const struct roce_key *key) {
  struct roce_follow *f = roce_follow_at(env, id);

  if (!f || !roce_pair_enter(env, &f->lock))
    return ROCE_NULL;
  if (ROCE_UNLIKELY(!roce_key_equal(&f->key, key)))
    roce_follow_reset_record(f, id, key);
  return f;
}

/* Whether the tracker had seen all PSNs of this packet; its outcome is the packet's own. */
static ROCE_INLINE int roce_pair_seen(const struct roce_scratch *scratch, int slow) {
  return slow && scratch->outcome.duplicate;
}

/*
 * Reports the CNP `p` unless a mark or a NAK that passed here explains it; `marked`: answers of its
 * QP were marked, or a rule here marked packets of it.
 */
static ROCE_INLINE void roce_follow_report_uncaused_cnp(struct roce_env *env, struct roce_follow *f,
                                                        __u32 marked, const struct roce_packet *p,
                                                        const struct roce_step *step) {
  if (f->sum.ce || f->sum.naks || marked || f->flags & ROCE_FOLLOW_CNP_TOLD)
    return;
  f->flags |= ROCE_FOLLOW_CNP_TOLD;
  roce_follow_report_finding_here(env, f, ROCE_FINDING_CNP_WITHOUT_CE, step, 0, p->psn, 0, 0);
}

static ROCE_INLINE void roce_follow_note_cnp_distance(struct roce_follow *f, __u64 now) {
  struct roce_follow_sums *sum = &f->sum;

  if (sum->cnps++ && now > sum->cnp_ns &&
      (!sum->cnp_least_ns || now - sum->cnp_ns < sum->cnp_least_ns))
    sum->cnp_least_ns = now - sum->cnp_ns;
  sum->cnp_ns = now;
}

/* Whether a packet of stream `id` was CE, on arrival or by a rule: roce_remember_ce. */
static ROCE_INLINE __u32 roce_ever_marked(struct roce_env *env, __u32 id) {
  const struct roce_aside *aside = roce_aside_at(env, id & (ROCE_ASIDES - 1));

  return id != ROCE_NO_STREAM && aside && ROCE_LOAD(&aside->ce) >> 40 == id + 1;
}

/*
 * A CNP of stream `id` slows down a QP: its requests, and its answers to requests of the other
 * side. Reported if none of them was marked CE here, and no NAK explains it either.
 */
static ROCE_SEPARATE void roce_follow_cnp_of_stream(struct roce_env *env,
                                                    const struct roce_packet *p, __u32 id,
                                                    const struct roce_step *step) {
  struct roce_scratch *scratch = roce_scratch_of(env);
  const struct roce_stream *s = roce_stream_at(env, id);
  const __u32 *link = roce_pair_link_at(env, id);
  const struct roce_stream *slowed = link && *link ? roce_stream_at(env, *link - 1) : ROCE_NULL;
  __u32 other, marked;
  struct roce_follow *f;

  if (!scratch || !s || !slowed)
    return;
  roce_sibling_key(&s->key, &scratch->answered);
  other = roce_table_find(env, &scratch->answered,
                          roce_key_hash(&scratch->answered, roce_hash_seed(env)));
  marked = roce_ever_marked(env, other) || roce_ever_marked(env, *link - 1);
  f = other != ROCE_NO_STREAM ? roce_follow_open_record(env, other, &scratch->answered) : ROCE_NULL;
  if (f) {
    marked |= f->sum.answers_ce != 0;
    roce_pair_leave(env, &f->lock);
  }
  f = roce_follow_open_record(env, *link - 1, &slowed->key);
  if (!f)
    return;
  roce_follow_note_cnp_distance(f, step->now);
  roce_follow_report_uncaused_cnp(env, f, marked, p, step);
  roce_pair_leave(env, &f->lock);
}

/* Counts a packet of requests or answers that is marked CE. */
static ROCE_INLINE void roce_follow_count_ce(struct roce_follow *f, const struct roce_packet *p,
                                             const struct roce_step *step) {
  if (p->ecn != ROCE_ECN_CE)
    return;
  if (p->info & ROCE_OP_RESPONSE) {
    f->sum.answers_ce++;
    return;
  }
  if (!f->sum.ce++) {
    f->ce_frame = step->frame;
    f->sum.ce_psn = p->psn;
  }
}

/* The PSN before which all requests before this packet were tracked. */
static ROCE_INLINE __u32 roce_pair_before(const struct roce_scratch *scratch,
                                          const struct roce_packet *p, int slow) {
  return slow ? scratch->outcome.expected : p->psn;
}

/*
 * After a request of record `f` was followed. 1: those that come now may be skipped, as far as
 * following is concerned.
 */
static ROCE_INLINE int roce_follow_may_skip(struct roce_env *env, struct roce_follow *f) {
  if (!(roce_features(env) & ROCE_FEATURE_SKIP))
    return 0;
  f->flags &= ~(__u32)ROCE_FOLLOW_SKIPS;
  if (!roce_follow_has_nothing_open(f))
    return 0;
  f->flags |= ROCE_FOLLOW_SKIPS;
  return 1;
}

/*
 * An answer to stream `s` was followed. If it opened something, no more requests are skipped, and
 * those are added that were while it was followed. Where the tracker has ended it before, its next
 * request adds them.
 */
static ROCE_INLINE void roce_follow_stop_skipping(struct roce_env *env, struct roce_follow *f,
                                                  struct roce_stream *s, __u64 now) {
  __u64 word;

  if (!(f->flags & ROCE_FOLLOW_SKIPS) || roce_follow_has_nothing_open(f) ||
      !(ROCE_LOAD(&s->word) & ROCE_WORD_SKIP))
    return;
  word = __sync_fetch_and_and(&s->word, ~ROCE_WORD_SKIP);
  if (!(word & ROCE_WORD_SKIP))
    return;
  roce_follow_add_skipped_requests(env, f, roce_skip_end(word), word, now);
  f->flags &= ~(__u32)ROCE_FOLLOW_SKIPS;
}

/*
 * Follows packet `p` of stream `id`, after roce_track. `step` has now, frame, length and msn.
 * `slow`: roce_track took its slow path, so that scratch->outcome is of this packet. 1: requests
 * may be skipped from now on.
 */
static ROCE_INLINE int roce_follow_packet_of_stream(struct roce_env *env,
                                                    const struct roce_packet *p, __u32 id, int slow,
                                                    struct roce_step *step) {
  struct roce_scratch *scratch = roce_scratch_of(env);
  struct roce_stream *s = roce_stream_at(env, id);
  __u32 transport = p->opcode & ROCE_TRANSPORT_MASK, psns, request;
  struct roce_follow *f;
  __u64 word;
  int skip;

  if (p->info & ROCE_OP_CNP) {
    roce_follow_cnp_of_stream(env, p, id, step);
    return 0;
  }
  if (!scratch || !s || (transport != ROCE_RC && transport != ROCE_XRC) ||
      (p->cut && p->info & ROCE_OP_ACK))
    return 0;
  psns = roce_stream_psns(p, (s->word & ROCE_WORD_PMTU) >> ROCE_WORD_PMTU_SHIFT);
  step->psn = p->psn;
  step->unknown = !psns;
  step->end = roce_psn_add(p->psn, psns ? psns : 1);
  step->seen = (__u8)roce_pair_seen(scratch, slow);
  step->asks = (p->info & (ROCE_OP_READ_REQUEST | ROCE_OP_ATOMIC)) != 0;
  step->ends = (p->info & ROCE_OP_ENDS_MESSAGE) != 0;
  step->info = p->info;
  step->payload = (p->payload + 3) & ~3u; /* with its pad, whose length may be corrupted */
  if (p->info & ROCE_OP_READ_REQUEST)
    step->dma_len = p->dma_len;
  step->syndrome = p->syndrome;
  if (p->info & ROCE_OP_REQUEST) {
    const __u32 *link = roce_pair_link_at(env, id);

    f = link ? roce_follow_open_record(env, id, &s->key) : ROCE_NULL;
    if (!f)
      return 0;
    roce_follow_add_skipped_requests(env, f, roce_pair_before(scratch, p, slow),
                                     ROCE_LOAD(&s->word), step->now);
    f->response = *link ? *link - 1 : ROCE_NO_STREAM;
    if (!(f->flags & ROCE_FOLLOW_STARTED) || (p->psn ^ f->next) >> ROCE_PAIR_SHIFT ||
        !(p->psn & ((1 << ROCE_PAIR_SHIFT) - 1)))
      roce_pair_note(env, &s->key, p->psn, id);
    roce_follow_count_ce(f, p, step);
    roce_follow_request(env, f, step);
    skip = roce_follow_may_skip(env, f);
    roce_pair_leave(env, &f->lock);
    return skip;
  }
  request = roce_pair_link(env, p, id);
  s = request != ROCE_NO_STREAM ? roce_stream_at(env, request) : ROCE_NULL;
  if (!s) {
    roce_follow_unpaired(env, p);
    return 0;
  }
  f = roce_follow_open_record(env, request, &s->key);
  if (!f)
    return 0;
  word = ROCE_LOAD(&s->word);
  if (word & ROCE_WORD_SKIP)
    roce_follow_add_skipped_requests(env, f, roce_skip_end(word), word, step->now);
  f->response = id;
  roce_follow_count_ce(f, p, step);
  roce_follow_answers(env, f, step);
  roce_follow_stop_skipping(env, f, s, step->now);
  roce_pair_leave(env, &f->lock);
  return 0;
}

/* The end of the capture: what still waits is decided, and the open episode is given out. */
static ROCE_INLINE void roce_follow_finish_record(struct roce_env *env, struct roce_follow *f) {
  roce_follow_settle_going_back(env, f, ROCE_NULL);
  roce_follow_close_episode(env, f);
}

#endif
