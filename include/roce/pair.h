/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Which stream of answers belongs to which stream of requests, and the one entry of following.
 *
 * The QPN of a request's sender is not in the packet. learn.h knows it after three answers that
 * agree; a first loss may come earlier. So until then an answer belongs to the only stream between
 * the same hosts that used PSNs near its own: the requests leave a hint for each block of PSNs.
 */
#ifndef ROCE_PAIR_H
#define ROCE_PAIR_H

#include "answers.h"
#include "learn.h"

#define ROCE_PAIR_HINTS 16384
#define ROCE_PAIR_SHIFT 6 /* a hint is for 64 PSNs */

static ROCE_INLINE __u64 *roce_pair_hint(struct roce_env *env, const __u32 *src, const __u32 *dst,
                                         __u32 psn, const struct roce_key *key, __u64 *hash) {
  *hash =
      roce_read_hash(env, src, dst, ~(psn >> ROCE_PAIR_SHIFT), (key->qp_kind & ROCE_KEY_IPV4) != 0);
  return roce_pair_hint_at(env, (__u32)*hash & (ROCE_PAIR_HINTS - 1));
}

/* Request stream `id` uses these PSNs. */
static ROCE_INLINE void roce_pair_note(struct roce_env *env, const struct roce_key *key, __u32 psn,
                                       __u32 id) {
  __u64 hash, *hint = roce_pair_hint(env, key->src, key->dst, psn, key, &hash), old;
  __u32 value = id + 1;

  if (!hint)
    return;
  old = *hint;
  if (!((old ^ hash) & ROCE_HINT_CHECK) && (__u32)old && (__u32)old != value)
    value = ROCE_HINT_AMBIGUOUS;
  *hint = (hash & ROCE_HINT_CHECK) | value;
}

/* The request stream that uses PSN `psn`, answered by stream `key`, or ROCE_NO_STREAM. */
static ROCE_INLINE __u32 roce_pair_hinted(struct roce_env *env, const struct roce_key *key,
                                          __u32 psn) {
  __u64 hash, *hint = roce_pair_hint(env, key->dst, key->src, psn, key, &hash);
  const struct roce_stream *s;
  __u32 id;

  if (!hint || (*hint ^ hash) & ROCE_HINT_CHECK || !(__u32)*hint ||
      (__u32)*hint == ROCE_HINT_AMBIGUOUS)
    return ROCE_NO_STREAM;
  id = (__u32)*hint - 1;
  s = roce_stream_at(env, id);
  return s && roce_answers(key, &s->key) ? id : ROCE_NO_STREAM;
}

/* The request stream that the answers of stream `id` belong to, or ROCE_NO_STREAM. */
static ROCE_INLINE __u32 roce_pair_request(struct roce_env *env, const struct roce_packet *p,
                                           const struct roce_key *key, __u32 id) {
  struct roce_scratch *scratch = roce_scratch_of(env);
  __u32 found;

  if (!scratch)
    return ROCE_NO_STREAM;
  if (roce_stream_answered(env, p, id, scratch))
    return roce_table_find(env, &scratch->answered,
                           roce_key_hash(&scratch->answered, roce_hash_seed(env)));
  found = roce_pair_hinted(env, key, p->psn);
  return found != ROCE_NO_STREAM
             ? found
             : roce_pair_hinted(env, key, (p->psn - (1 << ROCE_PAIR_SHIFT)) & ROCE_PSN_MASK);
}

/*
 * Links answers to requests, both ways; a link is the other stream's record id + 1. One that
 * learn.h contradicts is replaced. Returns the request stream, or ROCE_NO_STREAM.
 */
static ROCE_INLINE __u32 roce_pair_link(struct roce_env *env, const struct roce_packet *p,
                                        __u32 id) {
  const struct roce_stream *s = roce_stream_at(env, id), *linked;
  __u32 *link = roce_pair_link_at(env, id), *back, request;
  int sure = s && s->flags & ROCE_STREAM_SRC_QP;

  if (!link || !s)
    return ROCE_NO_STREAM;
  if (*link) {
    linked = roce_stream_at(env, *link - 1);
    if (linked && roce_answers(&s->key, &linked->key) &&
        (!sure || roce_key_qp(&linked->key) == s->src_qp))
      return *link - 1;
  }
  request = roce_pair_request(env, p, &s->key, id);
  back = request != ROCE_NO_STREAM ? roce_pair_link_at(env, request) : ROCE_NULL;
  if (!back || (*back && *back != id + 1 && !sure))
    return ROCE_NO_STREAM;
  *link = request + 1;
  *back = id + 1;
  return request;
}

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
