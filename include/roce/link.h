/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Which stream of answers belongs to which stream of requests.
 *
 * The QPN of a request's sender is not in the packet. learn.h knows it after three answers that
 * agree; a first loss may come earlier. So until then an answer belongs to the only stream between
 * the same hosts that used PSNs near its own: the requests leave a hint for each block of PSNs.
 */
#ifndef ROCE_LINK_H
#define ROCE_LINK_H

#include "learn.h"

/* Part of a key, to notice cheaply that a record is of another stream. */
static ROCE_INLINE __u32 roce_pair_check(const struct roce_key *key) {
  return (key->src[3] * 31 + key->dst[3]) * 31 + key->qp_kind;
}

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
ROCE_OUTLINE __u32 roce_pair_link(struct roce_env *env, const struct roce_packet *p, __u32 id) {
  const struct roce_stream *s = roce_stream_at(env, id), *linked;
  __u32 *link = roce_pair_link_at(env, id), *back, request;
  int sure = s && s->flags & ROCE_STREAM_SRC_QP;

  if (!p || !link || !s)
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

#endif
