/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The one entry of following: each packet of a QP pair, after the tracker. */
#ifndef ROCE_PAIR_H
#define ROCE_PAIR_H

#include "answers.h"
#include "link.h"

/* Whether the tracker had seen all PSNs of this packet; its outcome is the packet's own. */
static ROCE_INLINE int roce_pair_seen(const struct roce_scratch *scratch, int slow) {
  return slow && scratch->outcome.duplicate;
}

/*
 * A CNP of stream `id` slows down a QP: its requests, and its answers to requests of the other
 * side. Reported if none of them was marked CE here, and no NAK explains it either.
 */
static ROCE_SEPARATE void roce_follow_cnp(struct roce_env *env, const struct roce_packet *p,
                                          __u32 id, const struct roce_step *step) {
  struct roce_scratch *scratch = roce_scratch_of(env);
  const struct roce_stream *s = roce_stream_at(env, id);
  const __u32 *link = roce_pair_link_at(env, id);
  struct roce_follow *f = link && *link ? roce_follow_at(env, *link - 1) : ROCE_NULL;
  const struct roce_follow *answered = ROCE_NULL;
  __u32 other;

  if (!scratch || !s || !f)
    return;
  f->cnps++;
  roce_sibling_key(&s->key, &scratch->answered);
  other = roce_table_find(env, &scratch->answered,
                          roce_key_hash(&scratch->answered, roce_hash_seed(env)));
  if (other != ROCE_NO_STREAM)
    answered = roce_follow_at(env, other);
  if (f->ce || f->naks || (answered && answered->answers_ce) || f->flags & ROCE_FOLLOW_CNP_TOLD)
    return;
  f->flags |= ROCE_FOLLOW_CNP_TOLD;
  roce_follow_find(env, f, ROCE_FINDING_CNP_WITHOUT_CE, step, 0, p->psn, 0, 0);
}

/* Counts a packet of requests or answers that is marked CE. */
static ROCE_INLINE void roce_follow_ce(struct roce_follow *f, const struct roce_packet *p,
                                       const struct roce_step *step) {
  if (p->ecn != ROCE_ECN_CE)
    return;
  if (p->info & ROCE_OP_RESPONSE) {
    f->answers_ce++;
    return;
  }
  if (!f->ce++) {
    f->ce_frame = step->frame;
    f->ce_psn = p->psn;
  }
}

/*
 * Follows packet `p` of stream `id`, after roce_track. `step` has now, frame, length and msn.
 * `slow`: roce_track took its slow path, so that scratch->outcome is of this packet.
 */
static ROCE_INLINE void roce_follow_packet(struct roce_env *env, const struct roce_packet *p,
                                           __u32 id, int slow, struct roce_step *step) {
  struct roce_scratch *scratch = roce_scratch_of(env);
  const struct roce_stream *s = roce_stream_at(env, id);
  __u32 transport = p->opcode & ROCE_TRANSPORT_MASK, psns, request;
  struct roce_follow *f;

  if (p->info & ROCE_OP_CNP) {
    roce_follow_cnp(env, p, id, step);
    return;
  }
  if (!scratch || !s || (transport != ROCE_RC && transport != ROCE_XRC) || p->cut)
    return;
  psns = roce_stream_psns(p, (s->word & ROCE_WORD_PMTU) >> ROCE_WORD_PMTU_SHIFT);
  step->psn = p->psn;
  step->unknown = !psns;
  step->end = roce_psn_add(p->psn, psns ? psns : 1);
  step->seen = (__u8)roce_pair_seen(scratch, slow);
  step->asks = (p->info & (ROCE_OP_READ_REQUEST | ROCE_OP_ATOMIC)) != 0;
  step->ends = (p->info & ROCE_OP_ENDS_MESSAGE) != 0;
  step->info = p->info;
  step->syndrome = p->syndrome;
  if (p->info & ROCE_OP_REQUEST) {
    const __u32 *link = roce_pair_link_at(env, id);

    f = roce_follow_at(env, id);
    if (!f || !link)
      return;
    f->request = id;
    f->response = *link ? *link - 1 : ROCE_NO_STREAM;
    if (!(f->flags & ROCE_FOLLOW_STARTED) || (p->psn ^ f->next) >> ROCE_PAIR_SHIFT ||
        !(p->psn & ((1 << ROCE_PAIR_SHIFT) - 1)))
      roce_pair_note(env, &s->key, p->psn, id);
    roce_follow_ce(f, p, step);
    roce_follow_request(env, f, step);
    return;
  }
  request = roce_pair_link(env, p, id);
  f = request != ROCE_NO_STREAM ? roce_follow_at(env, request) : ROCE_NULL;
  if (!f) {
    roce_follow_unpaired(env, p);
    return;
  }
  f->request = request;
  f->response = id;
  roce_follow_ce(f, p, step);
  roce_follow_answers(env, f, step);
}

/* The end of the capture: what still waits is decided, and the open episode is given out. */
static ROCE_INLINE void roce_follow_finish(struct roce_env *env, struct roce_follow *f) {
  roce_follow_settle(env, f, ROCE_NULL);
  roce_follow_close(env, f);
}

#endif
