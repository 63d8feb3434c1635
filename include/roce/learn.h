/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What one direction of a connection shows about the other: the QPN of a request's sender (it is
 * not in the packet), the PMTU of its READs, and the cause of a CNP.
 */
#ifndef ROCE_LEARN_H
#define ROCE_LEARN_H

#include "counters.h"
#include "scratch.h"

/* The key of the stream of requests to QPN `qpn` on the host that sent `from`. */
static ROCE_INLINE void roce_reverse_request_key(struct roce_env *env, const struct roce_key *from,
                                                 __u32 qpn, struct roce_key *key) {
  for (int i = 0; i < 4; i++) {
    key->src[i] = from->dst[i];
    key->dst[i] = from->src[i];
  }
  key->qp_kind = qpn | ROCE_KIND_REQUEST << ROCE_KIND_SHIFT |
                 (from->qp_kind & (ROCE_KEY_IPV4 | ROCE_KEY_SIDE | ROCE_KEY_V1));
  key->qp_kind ^= roce_sides(env);
}

/* The key of the same QP's other stream: of its responses, or of its requests. */
static ROCE_INLINE void roce_sibling_key(const struct roce_key *of, struct roce_key *key) {
  *key = *of;
  key->qp_kind ^= ROCE_KIND_RESPONSE << ROCE_KIND_SHIFT;
}

static ROCE_INLINE __u64 roce_read_hash(struct roce_env *env, const __u32 *src, const __u32 *dst,
                                        __u32 psn, int ipv4) {
  return roce_mix(roce_hash_pair(src, dst, ipv4, roce_hash_seed(env)) +
                  psn * 0xd6e8feb86659fd93ull);
}

/* Stores a READ of unknown length, so that its first response can give the PMTU. */
static ROCE_INLINE void roce_register_read(struct roce_env *env, const struct roce_packet *p,
                                           __u32 id) {
  __u64 hash =
      roce_read_hash(env, p->key.src, p->key.dst, p->psn, (p->key.qp_kind & ROCE_KEY_IPV4) != 0);
  __u64 *hint = roce_hint_at(env, (__u32)hash & (ROCE_HINTS_CM - 1));
  __u64 check = hash & 0xffffffff00000000ull, old;

  if (!hint)
    return;
  old = ROCE_LOAD(hint);
  if ((old & 0xffffffff00000000ull) == check && (__u32)old != id + 1)
    id = ~0u; /* ambiguous: two connections have a READ with this PSN */
  ROCE_STORE(hint, check | (__u32)(id + 1));
}

/* 1 when version is the same and the addresses are reversed: the hint's record may belong to
 * another stream by now. */
static ROCE_INLINE int roce_answers(const struct roce_key *response,
                                    const struct roce_key *request) {
  __u32 differ = (response->qp_kind ^ request->qp_kind) & ROCE_KEY_V1;

  for (int i = 0; i < 4; i++)
    differ |= (response->src[i] ^ request->dst[i]) | (response->dst[i] ^ request->src[i]);
  return !differ && roce_key_kind(request) == ROCE_KIND_REQUEST;
}

/* Gives the PMTU of a READ RESPONSE FIRST to the connection's request stream. 1 when done. */
static ROCE_INLINE int roce_link_read(struct roce_env *env, const struct roce_packet *p,
                                      __u32 pmtu_code) {
  __u64 hash =
      roce_read_hash(env, p->key.dst, p->key.src, p->psn, (p->key.qp_kind & ROCE_KEY_IPV4) != 0);
  __u64 *hint = roce_hint_at(env, (__u32)hash & (ROCE_HINTS_CM - 1));
  struct roce_stream *s;
  __u64 value;
  int same;

  if (!hint)
    return 0;
  value = ROCE_LOAD(hint);
  if ((value ^ hash) >> 32 || !(__u32)value)
    return 0;
  s = roce_stream_at(env, (__u32)value - 1);
  if (!s)
    return 0;
  roce_lock(s);
  same = roce_answers(&p->key, &s->key);
  if (same)
    roce_stream_learn_pmtu(s, pmtu_code);
  roce_unlock(s);
  return same;
}

static ROCE_INLINE void roce_set_linked(struct roce_stream *s) {
  __sync_fetch_and_or(&s->word, ROCE_WORD_LINKED);
}

/* A response answers a request whose PSN is at most this much lower than the expected one. */
#define ROCE_ANSWER_WINDOW 4096

#define ROCE_HINT_CHECK 0xffffffff00000000ull
#define ROCE_HINT_AMBIGUOUS 0xffffffffu

static ROCE_INLINE __u64 *roce_asked_at(struct roce_env *env, __u64 hash) {
  return roce_hint_at(env, ROCE_HINTS_ASKED + ((__u32)hash & (ROCE_HINTS_CM - 1)));
}

/* Stores a request that expects an answer, by its PSN. */
static ROCE_INLINE void roce_remember_asked(struct roce_env *env, const struct roce_packet *p,
                                            __u32 id) {
  __u64 hash =
      roce_read_hash(env, p->key.src, p->key.dst, p->psn, (p->key.qp_kind & ROCE_KEY_IPV4) != 0);
  __u64 *hint = roce_asked_at(env, hash), old;
  __u32 value = id + 1;

  if (!hint)
    return;
  old = ROCE_LOAD(hint);
  if (!((old ^ hash) & ROCE_HINT_CHECK) && (__u32)old && (__u32)old != value)
    value = ROCE_HINT_AMBIGUOUS; /* two connections expect an answer with this PSN */
  ROCE_STORE(hint, (hash & ROCE_HINT_CHECK) | value);
}

/*
 * A stream that stops the search for its sender's QPN still receives answers, and they look like
 * answers to another stream with the same PSNs. So answers in the following 64 Ki PSNs are ignored
 * for a while. For each block of 64 Ki PSNs between two hosts, a hint has the last PSN that is
 * used, and the window (<< 24) in which it was stored.
 */
#define ROCE_UNHEARD_SHIFT 16

static ROCE_INLINE __u64 roce_unheard_hash(struct roce_env *env, const __u32 *src, const __u32 *dst,
                                           const struct roce_key *key, __u32 psn) {
  return roce_read_hash(env, src, dst, ROCE_PSN_MASK + 1 + (psn >> ROCE_UNHEARD_SHIFT),
                        (key->qp_kind & ROCE_KEY_IPV4) != 0);
}

/* In the block of `psn`, ignores answers to PSNs after `last`. */
static ROCE_INLINE void roce_stop_hearing(struct roce_env *env, const struct roce_packet *p,
                                          __u32 psn, __u32 last) {
  __u64 hash = roce_unheard_hash(env, p->key.src, p->key.dst, &p->key, psn);
  __u64 *hint = roce_asked_at(env, hash), old;

  if (!hint)
    return;
  old = ROCE_LOAD(hint);
  if (!((old ^ hash) & ROCE_HINT_CHECK) && roce_psn_diff(old & ROCE_PSN_MASK, last) < 0)
    last = old & ROCE_PSN_MASK;
  ROCE_STORE(hint, (hash & ROCE_HINT_CHECK) | (__u32)roce_window(env) << 24 | last);
}

static ROCE_INLINE int roce_is_unheard(struct roce_env *env, const struct roce_packet *p) {
  __u64 hash = roce_unheard_hash(env, p->key.dst, p->key.src, &p->key, p->psn);
  __u64 *hint = roce_asked_at(env, hash), value;

  value = hint ? ROCE_LOAD(hint) : ~hash;
  return !((value ^ hash) & ROCE_HINT_CHECK) &&
         (__u8)(roce_window(env) - (__u8)(value >> 24)) <= ROCE_IDLE_WINDOWS &&
         roce_psn_diff(p->psn, value & ROCE_PSN_MASK) > 0;
}

/* Takes the stream whose request has this answer's PSN, or ROCE_NO_STREAM. A hint is used once. */
static ROCE_INLINE __u32 roce_take_asked(struct roce_env *env, const struct roce_packet *p) {
  __u64 hash =
      roce_read_hash(env, p->key.dst, p->key.src, p->psn, (p->key.qp_kind & ROCE_KEY_IPV4) != 0);
  __u64 *hint = roce_asked_at(env, hash), value;

  if (!hint)
    return ROCE_NO_STREAM;
  value = ROCE_LOAD(hint);
  if ((value ^ hash) & ROCE_HINT_CHECK || !(__u32)value || (__u32)value == ROCE_HINT_AMBIGUOUS)
    return ROCE_NO_STREAM;
  return ROCE_CAS(hint, value, 0) ? (__u32)value - 1 : ROCE_NO_STREAM;
}

/* Counts an answer from QP `qp`; the caller holds the lock of `s`. 1 when enough answers agree. */
static ROCE_INLINE int roce_vote(struct roce_stream *s, __u32 qp) {
  __u32 votes = (s->flags & ROCE_STREAM_VOTES) / ROCE_STREAM_VOTE;

  if (s->flags & ROCE_STREAM_SRC_QP)
    return s->src_qp == qp;
  if (!votes || s->src_qp == qp) /* progress: restarts the count of attempts */
    s->run_asked = roce_run(s);
  else
    votes = 0;
  votes++;
  s->src_qp = qp;
  s->flags = (s->flags & ~ROCE_STREAM_VOTES) | votes * ROCE_STREAM_VOTE;
  if (votes < ROCE_VOTES_NEEDED)
    return 0;
  roce_stream_set_src_qp(s, qp);
  return 1;
}

/*
 * Packet `p` answers the request stream `id`. 1 when the DestQP of `p` is known to be the QPN of
 * that stream's sender; `own` is then the DestQP of the stream.
 */
static ROCE_INLINE int roce_answered(struct roce_env *env, __u32 id, const struct roce_packet *p,
                                     __u32 *own) {
  struct roce_stream *s = roce_stream_at(env, id);
  int known = 0;
  __u64 word;
  __s32 behind;

  if (!s)
    return 0;
  roce_lock(s);
  word = roce_stream_take(s);
  behind = roce_psn_diff(word & ROCE_WORD_PSN, p->psn);
  if (roce_answers(&p->key, &s->key) && behind > 0 && behind <= ROCE_ANSWER_WINDOW)
    known = roce_vote(s, roce_key_qp(&p->key));
  *own = roce_key_qp(&s->key);
  roce_stream_publish(s, word);
  roce_unlock(s);
  return known;
}

/* 1 when the same QP's request stream has its source QPN already (from RDMA CM). */
static ROCE_INLINE int roce_sibling_src_qp(struct roce_env *env, const struct roce_key *key,
                                           struct roce_scratch *scratch, __u32 *qp) {
  const struct roce_stream *s;

  roce_sibling_key(key, &scratch->answered);
  s = roce_stream_at(env, roce_table_find(env, &scratch->answered,
                                          roce_key_hash(&scratch->answered, roce_hash_seed(env))));
  if (!s || !(s->flags & ROCE_STREAM_SRC_QP))
    return 0;
  *qp = s->src_qp;
  return 1;
}

/* A request that expects an answer, or an answer: stream `id` may learn its sender's QPN. */
ROCE_OUTLINE int roce_ask(struct roce_env *env, const struct roce_packet *p, __u32 id) {
  struct roce_scratch *scratch = roce_scratch_of(env);
  struct roce_stream *s = roce_stream_at(env, id);
  __u32 qp = 0;
  __u64 word;

  if (!p || !scratch || !s)
    return 0;
  if (p->info & ROCE_OP_REQUEST) {
    roce_remember_asked(env, p, id);
    if (!roce_stream_asks(s)) {
      __u32 next = roce_psn_add(p->psn | ((1 << ROCE_UNHEARD_SHIFT) - 1), 1);

      roce_stop_hearing(env, p, p->psn, p->psn);
      roce_stop_hearing(env, p, next, (next - 1) & ROCE_PSN_MASK);
    }
    return 0;
  }
  if (!roce_sibling_src_qp(env, &p->key, scratch, &qp) &&
      (roce_is_unheard(env, p) || !roce_answered(env, roce_take_asked(env, p), p, &qp)))
    return 0;
  roce_lock(s);
  word = roce_stream_take(s);
  roce_stream_set_src_qp(s, qp);
  roce_stream_publish(s, word);
  roce_unlock(s);
  return 0;
}

/* A time for words of check << 40 | time, in which the check identifies the owner. */
static ROCE_INLINE __u64 roce_moment(__u64 ns) { return (ns >> ROCE_PACE_SHIFT) & ROCE_PACE_TIME; }

static ROCE_INLINE __u64 roce_moment_now(struct roce_env *env) {
  return roce_moment(roce_clock(env));
}

/* A CE mark without a time, while no CNPs are seen: the clock costs more than the mark. */
static ROCE_INLINE __u64 roce_timeless(__u32 id) { return (__u64)(id + 1) << 40; }

/* Stores that a packet of stream `id` is CE, on arrival or by a rule. `now` in ns; 0: not read. */
static ROCE_INLINE void roce_remember_ce(struct roce_env *env, __u32 id, __u64 now) {
  struct roce_aside *aside = roce_aside_at(env, id & (ROCE_ASIDES - 1));
  const struct roce_shared *shared = roce_shared_of(env);

  if (!aside || !shared || id == ROCE_NO_STREAM)
    return;
  if (!now && ROCE_LOAD(&shared->cnps_seen))
    now = roce_clock(env);
  ROCE_STORE(&aside->ce, roce_timeless(id) | roce_moment(now));
}

static ROCE_INLINE void roce_remember_nak(struct roce_env *env, __u32 id) {
  struct roce_aside *aside = roce_aside_at(env, id & (ROCE_ASIDES - 1));

  if (aside)
    ROCE_STORE(&aside->nak, (__u64)(id + 1) << 40 | roce_moment_now(env));
}

/*
 * 1 within the window before or after `now`: another CPU may have stored it after `now` was read.
 */
static ROCE_INLINE int roce_is_recent(struct roce_env *env, __u64 word, __u32 id, __u64 now) {
  __u64 window = roce_cnp_window(env) >> ROCE_PACE_SHIFT;

  return word >> 40 == (id + 1) && ((now - word + window) & ROCE_PACE_TIME) <= 2 * window;
}

/*
 * Writes to scratch->answered the key of the stream of requests that the CNPs and answers of stream
 * `id` refer to. 0: not known.
 */
static ROCE_INLINE int roce_stream_answered(struct roce_env *env, const struct roce_packet *p,
                                            __u32 id, struct roce_scratch *scratch) {
  const struct roce_stream *s = roce_stream_at(env, id);
  __u32 qp = 0;

  if (!s)
    return 0;
  if (s->flags & ROCE_STREAM_SRC_QP)
    qp = s->src_qp;
  else if (!roce_sibling_src_qp(env, &p->key, scratch, &qp))
    return 0;
  roce_reverse_request_key(env, &p->key, qp, &scratch->answered);
  return 1;
}

/*
 * CE marks within `span` from `since` on, of the streams that a CNP of stream `id` slows down
 * (requests and READ responses): 1, there are; 0, there are none; -1, no such stream is known.
 */
static ROCE_INLINE int roce_marked_since(struct roce_env *env, const struct roce_packet *p,
                                         __u32 id, struct roce_scratch *scratch, __u64 since,
                                         __u64 span) {
  int marked = -1;

  if (!roce_stream_answered(env, p, id, scratch))
    return -1;
  ROCE_ROLLED
  for (int i = 0; i < 2 && marked < 1; i++) {
    __u32 slowed = roce_table_find(env, &scratch->answered,
                                   roce_key_hash(&scratch->answered, roce_hash_seed(env)));
    const struct roce_aside *aside = roce_aside_at(env, slowed & (ROCE_ASIDES - 1));
    __u64 ce = aside ? ROCE_LOAD(&aside->ce) : 0;

    if (slowed != ROCE_NO_STREAM)
      marked = ce == roce_timeless(slowed) ||
               (ce >> 40 == slowed + 1 && ((ce - since) & ROCE_PACE_TIME) <= span);
    scratch->answered.qp_kind ^= ROCE_KIND_RESPONSE << ROCE_KIND_SHIFT;
  }
  return marked;
}

/*
 * Counts a CNP of stream `id` by its likely cause. A mark since the CNP before has not been
 * answered; nor, perhaps, one within the window before that one, if it passed just now: a
 * notification point paces its CNPs, and they take a while.
 */
ROCE_OUTLINE int roce_explain_cnp(struct roce_env *env, const struct roce_packet *p, __u32 id) {
  struct roce_scratch *scratch = roce_scratch_of(env);
  struct roce_aside *own = roce_aside_at(env, id & (ROCE_ASIDES - 1));
  struct roce_shared *shared = roce_shared_of(env);
  __u64 now = roce_moment_now(env), window = roce_cnp_window(env) >> ROCE_PACE_SHIFT, before = 0;
  struct roce_totals *t;
  int marked, refused;

  if (!p || !scratch || !own || !shared)
    return 0;
  if (!ROCE_LOAD(&shared->cnps_seen))
    ROCE_STORE(&shared->cnps_seen, 1);
  refused = roce_is_recent(env, ROCE_LOAD(&own->nak), id, now);
  if (ROCE_LOAD(&own->passed) >> 40 == id + 1)
    before = (now - ROCE_LOAD(&own->passed)) & ROCE_PACE_TIME;
  if (before > ROCE_PACE_TIME >> 1) /* another CPU's, later */
    before = 0;
  ROCE_STORE(&own->passed, (__u64)(id + 1) << 40 | now);
  if (before <= 2 * window)
    before += window;
  marked = roce_marked_since(env, p, id, scratch, now - before, before + window);
  t = roce_totals_of(env);
  if (!t)
    return 0;
  if (marked > 0) {
    t->cnps_after_ce++;
    scratch->trace.found |= ROCE_FOUND_CNP_AFTER_CE;
  } else if (refused) {
    t->cnps_after_nak++;
    scratch->trace.found |= ROCE_FOUND_CNP_AFTER_NAK;
  } else if (!marked) {
    t->cnps_after_neither++;
    scratch->trace.found |= ROCE_FOUND_CNP_AFTER_NEITHER;
  } else {
    t->cnps_unexplained++;
    scratch->trace.found |= ROCE_FOUND_CNP_UNEXPLAINED;
  }
  return 0;
}

/* A NAK of stream `id`: the stream of requests that it answers learns what its receiver misses. */
ROCE_OUTLINE int roce_pass_nak(struct roce_env *env, const struct roce_packet *p, __u32 id) {
  struct roce_scratch *scratch = roce_scratch_of(env);
  struct roce_stream *s;

  if (!p || !scratch || ROCE_SYNDROME_VALUE(p->syndrome) ||
      !roce_stream_answered(env, p, id, scratch))
    return 0;
  s = roce_stream_at(env, roce_table_find(env, &scratch->answered,
                                          roce_key_hash(&scratch->answered, roce_hash_seed(env))));
  if (!s)
    return 0;
  roce_lock(s);
  roce_lost_nak(s, (__u32)(ROCE_LOAD(&s->word) & ROCE_WORD_PSN), p->psn);
  roce_unlock(s);
  return 0;
}

/* Learns about the other direction from a packet that took the slow path. */
ROCE_OUTLINE int roce_learn(struct roce_env *env, const struct roce_packet *p, __u32 id) {
  struct roce_scratch *scratch = roce_scratch_of(env);

  if (!p || !scratch || scratch->outcome.forgotten)
    return 0;
  if (p->ecn == ROCE_ECN_CE)
    roce_remember_ce(env, id, roce_clock(env));
  if (scratch->outcome.nak) {
    roce_remember_nak(env, id);
    roce_pass_nak(env, p, id);
  }
  if (scratch->outcome.asks)
    return roce_ask(env, p, id);
  if (p->info & ROCE_OP_CNP)
    return roce_explain_cnp(env, p, id);
  return 0;
}

#endif
