/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * How a packet changes its stream.
 *
 * A packet in order with nothing unusual costs one compare-and-swap: everything that it changes is
 * in `word`. All other packets go to roce_stream_slow, under the stream's lock. It first clears
 * ROCE_WORD_FAST, so that no compare-and-swap of the fast path can succeed meanwhile.
 */
#ifndef ROCE_TRACK_H
#define ROCE_TRACK_H

#include "lost.h"
#include "skip.h"

/* Windows of 2^30 ns without a packet after which a stream can be removed from a full table. */
#define ROCE_IDLE_WINDOWS 30

/*
 * Handles a packet without the lock: in order, one PSN, no mark, no PMTU to learn. 1 when done.
 * `skipped`: it need not be followed.
 */
static ROCE_INLINE int roce_stream_fast(struct roce_env *env, struct roce_stream *s,
                                        const struct roce_packet *p, __u32 length, int *skipped) {
  __u64 seen = ROCE_LOAD(&s->word), word = seen, next;

  if (ROCE_UNLIKELY((word & (ROCE_WORD_FAST | ROCE_WORD_PSN)) != (ROCE_WORD_FAST | p->psn) ||
                    (p->psn & ROCE_PSN_HALF) == ROCE_PSN_HALF || p->ecn == ROCE_ECN_CE))
    return 0;
  word &= ~ROCE_WORD_IDLE;
  next = word + 1 + ((__u64)length << ROCE_WORD_BYTES_SHIFT);
  if (ROCE_UNLIKELY(next < word)) /* overflow: the bytes must be folded */
    return 0;
  if (p->info & (ROCE_OP_FIRST | ROCE_OP_MIDDLE)) {
    __u32 code = (word & ROCE_WORD_PMTU) >> ROCE_WORD_PMTU_SHIFT;

    if (ROCE_UNLIKELY(roce_pmtu_bytes(code) != p->payload && !(word & ROCE_WORD_PMTU_FIXED)) &&
        roce_pmtu_code(p->payload))
      return 0;
  }
  if (p->info & ROCE_OP_RESPONSE) {
    if (p->info & ROCE_OP_FIRST && !(word & ROCE_WORD_LINKED))
      return 0;
    if (p->info & (ROCE_OP_FIRST | ROCE_OP_MIDDLE))
      next |= ROCE_WORD_READ_OPEN;
    else if (p->info & ROCE_OP_READ_RESPONSE)
      next &= ~ROCE_WORD_READ_OPEN;
  } else if (p->info & ROCE_OP_READ_REQUEST && (p->dma_len > 256 || p->cut)) {
    return 0; /* more than one PSN */
  } else if (ROCE_UNLIKELY(p->ack_req && word & ROCE_WORD_ASKS)) {
    return 0;
  }
  if (roce_features(env) & ROCE_FEATURE_SKIP) {
    next &= ~ROCE_WORD_SKIPPED;
    *skipped = roce_skips(p, word);
    if (*skipped)
      next = (next & ~ROCE_WORD_TICK) | ROCE_WORD_SKIPPED | roce_skip_tick(roce_jiffies(env));
  }
  if (!ROCE_CAS(&s->word, seen, next)) {
    *skipped = 0;
    return 0;
  }
  if (p->info & ROCE_OP_ENDS_MESSAGE)
    ROCE_ADD(&s->messages, 1);
  return 1;
}

/* Counts a plain ACK if nothing else in its stream changes (ROCE_WORD_PLAIN). 1 when done. */
static ROCE_INLINE int roce_stream_fast_ack(struct roce_stream *s, const struct roce_packet *p,
                                            __u32 length) {
  if ((p->info & (ROCE_OP_ACK | ROCE_OP_DATAGRAM)) != ROCE_OP_ACK ||
      ROCE_SYNDROME_TYPE(p->syndrome) != ROCE_ACK || p->ecn == ROCE_ECN_CE ||
      (ROCE_LOAD(&s->word) & (ROCE_WORD_PLAIN | ROCE_WORD_IDLE)) != ROCE_WORD_PLAIN)
    return 0;
  ROCE_ADD(&s->packets, 1);
  ROCE_ADD(&s->bytes, length);
  return 1;
}

/* Applies the rate limit to the packet's events. */
static ROCE_INLINE void roce_stream_limit(struct roce_stream *s, struct roce_outcome *o) {
  if (!o->events)
    return;
  if (s->event_window != o->window) {
    s->event_window = o->window;
    s->event_count = 0;
  }
  if (s->event_count < ROCE_EVENTS_PER_WINDOW) {
    s->event_count = s->event_count + 1;
  } else {
    o->limited++;
    o->events = 0;
  }
}

/* Packets that are counted and do not change the PSN state: ACK, NAK, CNP. */
static ROCE_INLINE void roce_stream_answer(struct roce_stream *s, const struct roce_packet *p,
                                           struct roce_outcome *o) {
  if (p->info & ROCE_OP_CNP) {
    roce_stream_count(s, ROCE_STREAM_CNPS, 1);
    o->events |= 1u << ROCE_EVENT_CNP;
    o->found |= ROCE_FOUND_CNP;
  } else if (!p->cut && ROCE_SYNDROME_TYPE(p->syndrome) == ROCE_NAK) {
    o->nak = 1;
    o->events |= 1u << ROCE_EVENT_NAK;
    o->found |= ROCE_FOUND_NAK;
  } else if (!p->cut && ROCE_SYNDROME_TYPE(p->syndrome) == ROCE_RNR_NAK) {
    o->events |= 1u << ROCE_EVENT_RNR_NAK;
    o->found |= ROCE_FOUND_RNR_NAK;
  }
}

/* PSNs that the packet covers; 0: a READ longer than 256 bytes or cut, with an unknown PMTU. */
static ROCE_INLINE __u32 roce_stream_psns(const struct roce_packet *p, __u32 pmtu_code) {
  if (!(p->info & ROCE_OP_READ_REQUEST))
    return 1;
  if (p->cut)
    return 0;
  if (p->dma_len <= 256)
    return 1;
  return pmtu_code ? roce_read_psns(p->dma_len, pmtu_code) : 0;
}

/*
 * The packet after a READ whose length in PSNs was unknown. If the PMTU is known by now, the stream
 * continues where the READ ended. Otherwise the distance from the READ may give the PMTU, and the
 * jump is legal.
 */
static ROCE_INLINE void roce_stream_after_read(struct roce_stream *s, const struct roce_packet *p,
                                               struct roce_outcome *o) {
  __u32 length = s->read_len, taken;

  if (!length)
    return;
  s->read_len = 0;
  o->legal = 1;
  if (length == ROCE_READ_LEN_CUT)
    return;
  if (o->pmtu_code) {
    o->legal = 0;
    o->last = roce_psn_add(o->last, roce_read_psns(length, o->pmtu_code & 7) - 1);
    if (s->accepted == s->last)
      s->accepted = o->last;
    if (roce_psn_diff(o->last, o->expected) > 0)
      o->expected = o->last;
    return;
  }
  taken = (p->psn + 1 - o->last) & ROCE_PSN_MASK;
  for (__u32 code = 1; code <= 5; code++)
    if (taken > 1 && taken == roce_read_psns(length, code))
      o->pmtu_code = (__u8)code;
}

/*
 * Stage one: the stream's position, the PSNs that the packet covers, and whether a jump is legal.
 */
static ROCE_INLINE void roce_stream_stand(struct roce_stream *s, const struct roce_packet *p,
                                          struct roce_outcome *o) {
  __u32 seen = roce_pmtu_code(p->payload);

  o->last = s->last;
  if (!(s->flags & ROCE_STREAM_STARTED)) {
    s->flags = s->flags | ROCE_STREAM_STARTED;
    s->first_psn = o->expected = o->last = p->psn;
    roce_lost_start(s, p->psn);
  }
  o->pmtu_code = (o->flags & ROCE_WORD_PMTU) >> ROCE_WORD_PMTU_SHIFT;
  if (p->info & (ROCE_OP_FIRST | ROCE_OP_MIDDLE) && !(o->flags & ROCE_WORD_PMTU_FIXED) && seen)
    o->pmtu_code = (__u8)seen;
  ROCE_STAGE();
  roce_stream_after_read(s, p, o);
  ROCE_STAGE();
  o->psns = roce_stream_psns(p, o->pmtu_code & 7);
  if (!o->psns) {
    o->psns = 1;
    o->register_read = !p->cut;
    s->read_len = p->cut ? ROCE_READ_LEN_CUT : p->dma_len;
  }
  if (p->info & ROCE_OP_RESPONSE && !(o->flags & ROCE_WORD_READ_OPEN) &&
      p->info & (ROCE_OP_FIRST | ROCE_OP_ONLY | ROCE_OP_ATOMIC) &&
      roce_psn_diff(p->psn, o->expected) > 0)
    o->legal = 1;
}

/* The packet is at or ahead of the expected PSN. */
static ROCE_INLINE void roce_stream_ahead(struct roce_stream *s, __u32 d, struct roce_outcome *o) {
  if (d && !o->legal) {
    roce_stream_count(s, ROCE_GAPS, 1);
    roce_stream_count(s, ROCE_SKIPPED, d);
    o->hole.start = o->expected;
    o->hole.length = o->skipped = d;
    o->events |= 1u << ROCE_EVENT_GAP;
    o->found |= ROCE_FOUND_GAP;
  }
  roce_set_run(s, 0);
  if ((o->end ^ o->expected) & ~ROCE_PSN_HALF)
    roce_holes_age(s, o->end);
}

/*
 * The PSN is lower than the expected one: the packet is late, repeated, or part of a rewind. UC
 * sends nothing again, so that there each packet is late, or a copy.
 */
static ROCE_INLINE void roce_stream_behind(struct roce_stream *s, const struct roce_packet *p,
                                           struct roce_outcome *o) {
  __u32 psn = p->psn, filled = roce_holes_fill(s, psn, o->psns, &o->hole);

  o->filled = filled;
  o->found |= filled ? ROCE_FOUND_FILLED : ROCE_FOUND_DUPLICATE;
  if (!filled) {
    o->duplicate = 1;
    roce_stream_count(s, ROCE_DUPLICATES, 1);
  }
  if ((p->opcode & ROCE_TRANSPORT_MASK) == ROCE_UC) {
    roce_stream_count(s, ROCE_REORDERED, filled);
  } else if (roce_run(s) > 0 && roce_psn_diff(psn, o->last) >= 0) {
    if (roce_run(s) == 1) {
      roce_stream_count(s, ROCE_REWINDS, 1);
      roce_stream_uncount(s, ROCE_REORDERED, s->run_filled);
      o->events |= 1u << ROCE_EVENT_REWIND;
      o->found |= ROCE_FOUND_REWIND;
    }
    roce_set_run(s, roce_run(s) < 3 ? roce_run(s) + 1 : 3);
  } else {
    roce_set_run(s, 1);
    s->run_filled = filled;
    roce_stream_count(s, ROCE_REORDERED, filled);
  }
  if (roce_psn_diff(o->end, o->expected) < 0)
    o->end = o->expected;
}

/* Stage two: compares the packet with the expected PSN. */
static ROCE_INLINE void roce_stream_judge(struct roce_stream *s, const struct roce_packet *p,
                                          struct roce_outcome *o) {
  __s32 d = roce_psn_diff(p->psn, o->expected);

  o->end = roce_psn_add(p->psn, o->psns);
  if (d >= ROCE_RESYNC_DISTANCE || d <= -ROCE_RESYNC_DISTANCE) {
    o->resync = 1;
    o->found |= ROCE_FOUND_RESYNC;
    roce_stream_forget_src_qp(s);
    roce_stream_count(s, ROCE_RESYNCS, 1);
    roce_holes_clear(s);
    roce_set_run(s, 0);
    s->first_psn = p->psn;
  } else if (d >= 0) {
    roce_stream_ahead(s, d, o);
  } else {
    roce_stream_behind(s, p, o);
  }
}

/* Stage three: compares the packet with the previous one, and stores the new state. */
static ROCE_INLINE void roce_stream_close(struct roce_stream *s, const struct roce_packet *p,
                                          struct roce_outcome *o) {
  __s32 e = roce_psn_diff(p->psn, o->last);

  if (o->hole.length)
    roce_holes_open(s, o->hole, o->end);
  ROCE_STAGE();
  if (e > 0 && !o->resync && !o->legal) {
    roce_stream_count(s, ROCE_JUMPS, 1);
    roce_stream_count(s, ROCE_JUMPED, e);
    o->jumped = e;
    o->found |= ROCE_FOUND_JUMP;
  }
  if (p->info & ROCE_OP_ENDS_MESSAGE && !o->duplicate)
    ROCE_ADD(&s->messages, 1);
  ROCE_STAGE();
  roce_lost_track(s, p, o);
  ROCE_STAGE();
  s->last = roce_psn_add(p->psn, o->psns);

  o->flags &= ROCE_WORD_PMTU_FIXED | ROCE_WORD_READ_OPEN;
  o->flags |= (__u32)o->pmtu_code << ROCE_WORD_PMTU_SHIFT;
  if (p->info & ROCE_OP_READ_RESPONSE) {
    o->flags &= ~(__u32)ROCE_WORD_READ_OPEN;
    if (p->info & (ROCE_OP_FIRST | ROCE_OP_MIDDLE))
      o->flags |= ROCE_WORD_READ_OPEN;
    if (p->info & ROCE_OP_FIRST && !(o->flags & ROCE_WORD_LINKED))
      o->link_pmtu = o->pmtu_code;
  }
}

/* Tracks a packet whose PSN is in the stream's PSN space. */
static ROCE_INLINE void roce_stream_track(struct roce_stream *s, const struct roce_packet *p,
                                          struct roce_outcome *o) {
  roce_stream_stand(s, p, o);
  ROCE_STAGE();
  roce_stream_judge(s, p, o);
  ROCE_STAGE();
  roce_stream_close(s, p, o);
}

/*
 * Takes the word from the fast path, returns its expected PSN and flags, and adds its counts to the
 * totals. The caller holds the lock; no other CPU changes the word until roce_stream_publish.
 */
static ROCE_INLINE __u64 roce_stream_take(struct roce_stream *s) {
  __u64 word = __sync_fetch_and_and(&s->word, ~ROCE_WORD_FAST);

  if (word & ROCE_WORD_FAST) /* the previous packet was in order */
    s->last = word & ROCE_WORD_PSN;
  if (!(s->lost_flags & ROCE_LOST_STUCK)) {
    s->accepted = word & ROCE_WORD_PSN;
  } else if (roce_psn_diff(word & ROCE_WORD_PSN, s->accepted) > ROCE_LOST_REACH) {
    s->accepted = word & ROCE_WORD_PSN;
    s->head = 0;
  }
  ROCE_ADD(&s->packets, (word - s->base) & ROCE_WORD_PSN);
  ROCE_ADD(&s->bytes, word >> ROCE_WORD_BYTES_SHIFT);
  return word & (ROCE_WORD_PSN | ROCE_WORD_FLAGS);
}

/*
 * Publishes a new word (expected PSN and flags). FAST is set only if no other state is pending.
 * Neither FAST nor PLAIN is set before a packet has shown the transport: a stream that RDMA CM
 * announced or a CNP created does not know it. Neither is set while answers are needed to learn the
 * sender's QPN.
 */
static ROCE_INLINE void roce_stream_publish(struct roce_stream *s, __u64 word) {
  int asks = roce_stream_asks(s), request = roce_key_kind(&s->key) == ROCE_KIND_REQUEST;

  s->base = word & ROCE_WORD_PSN;
  s->lost_flags = s->lost_flags & ~ROCE_LOST_STUCK;
  if (s->accepted != (word & ROCE_WORD_PSN))
    s->lost_flags = s->lost_flags | ROCE_LOST_STUCK;
  if (request) {
    word = (word & ~ROCE_WORD_ASKS) | (ROCE_LOAD(&s->word) & ROCE_WORD_TICK);
    if (asks)
      word |= ROCE_WORD_ASKS;
  }
  if (roce_key_kind(&s->key) != ROCE_KIND_RESPONSE)
    asks = 0;
  if (s->flags >> ROCE_STREAM_TRANSPORT_SHIFT && !(s->flags & ROCE_STREAM_CE_RUN) && !asks) {
    if (!request)
      word |= ROCE_WORD_PLAIN;
    if (s->flags & ROCE_STREAM_STARTED && s->last == (word & ROCE_WORD_PSN) && !roce_run(s) &&
        !s->read_len)
      word |= ROCE_WORD_FAST;
  }
  ROCE_STORE(&s->word, word);
}

static ROCE_INLINE void roce_stream_describe(struct roce_stream *s, const struct roce_packet *p) {
  if (!(p->info & ROCE_OP_CNP))
    s->flags = (s->flags & ((1u << ROCE_STREAM_TRANSPORT_SHIFT) - 1)) |
               ((p->opcode >> 5) + 1u) << ROCE_STREAM_TRANSPORT_SHIFT;
  if ((p->opcode & ROCE_TRANSPORT_MASK) == ROCE_UD && !p->cut)
    roce_stream_set_src_qp(s, p->src_qp);
}

/* 1 for answers that repeat a request's PSN: ACKs, first packets of READ responses, atomic ACKs. */
static ROCE_INLINE int roce_answers_a_request(const struct roce_packet *p) {
  if (p->info & ROCE_OP_ACK)
    return !p->cut && ROCE_SYNDROME_TYPE(p->syndrome) == ROCE_ACK;
  return (p->info & ROCE_OP_READ_RESPONSE && p->info & (ROCE_OP_FIRST | ROCE_OP_ONLY)) ||
         p->info & ROCE_OP_ATOMIC;
}

/* 1 when this packet may give the sender's QPN; ROCE_ASKED_MAX limits the number of attempts. */
static ROCE_INLINE int roce_stream_ask(struct roce_stream *s, const struct roce_packet *p) {
  int helps = p->info & ROCE_OP_RESPONSE  ? roce_answers_a_request(p)
              : p->info & ROCE_OP_REQUEST ? p->ack_req
                                          : 0;

  if (!helps || !roce_stream_asks(s))
    return 0;
  s->run_asked = s->run_asked + 4;
  return 1;
}

/* Ages `s`: 1 when it was idle for long and was removed; its key and counters are then cleared. */
static ROCE_INLINE int roce_stream_retire(struct roce_stream *s, __u8 window) {
  __u64 word = ROCE_LOAD(&s->word);

  if (s->key.qp_kind == ROCE_KEY_NONE)
    return 0;
  if (!(word & ROCE_WORD_IDLE)) {
    s->event_window = window;
    s->event_count = 0;
    __sync_fetch_and_or(&s->word, ROCE_WORD_IDLE);
    return 0;
  }
  if ((__u8)(window - s->event_window) < ROCE_IDLE_WINDOWS || !ROCE_CAS(&s->word, word, 0))
    return 0;
  s->key.qp_kind = ROCE_KEY_NONE;
  __builtin_memset((__u8 *)s + __builtin_offsetof(struct roce_stream, packets), 0,
                   sizeof(*s) - __builtin_offsetof(struct roce_stream, packets));
  return 1;
}

/* Handles every packet that the fast path does not. The caller holds s->lock and has zeroed `o`. */
static ROCE_INLINE void roce_stream_slow(struct roce_stream *s, const struct roce_packet *p,
                                         __u32 length, __u8 window, struct roce_outcome *o) {
  __u64 word = roce_stream_take(s);

  o->expected = o->end = word & ROCE_WORD_PSN;
  o->flags = word & ROCE_WORD_FLAGS;
  o->window = window;
  ROCE_ADD(&s->packets, 1);
  ROCE_ADD(&s->bytes, length);
  if (p->ecn == ROCE_ECN_CE) {
    roce_stream_count(s, ROCE_STREAM_CE, 1);
    if (!(s->flags & ROCE_STREAM_CE_RUN)) {
      o->events |= 1u << ROCE_EVENT_CE_RUN;
      o->found |= ROCE_FOUND_CE_RUN;
    }
    s->flags = s->flags | ROCE_STREAM_CE_RUN;
  } else {
    s->flags = s->flags & ~ROCE_STREAM_CE_RUN;
  }
  roce_stream_describe(s, p);
  o->asks = (__u8)roce_stream_ask(s, p);
  ROCE_STAGE();
  if (p->info & ROCE_OP_DATAGRAM)
    ROCE_ADD(&s->messages, 1);
  else if (p->info & (ROCE_OP_ACK | ROCE_OP_CNP))
    roce_stream_answer(s, p, o);
  else
    roce_stream_track(s, p, o);
  ROCE_STAGE();
  roce_stream_limit(s, o);
  roce_stream_publish(s, o->end | o->flags);
}

/*
 * RDMA CM announced the first PSN (and, if pmtu_code is not 0, the PMTU) of this request stream: a
 * new use of the QPN starts. The caller holds s->lock.
 */
static ROCE_INLINE void roce_stream_announce(struct roce_stream *s, __u32 psn, __u32 pmtu_code) {
  __u64 word = roce_stream_take(s);

  if (s->flags & ROCE_STREAM_STARTED && ((word ^ psn) & ROCE_WORD_PSN))
    roce_stream_count(s, ROCE_RESYNCS, 1);
  s->flags = s->flags | ROCE_STREAM_STARTED;
  roce_stream_forget_src_qp(s);
  s->first_psn = s->last = psn;
  roce_lost_start(s, psn);
  roce_holes_clear(s);
  roce_set_run(s, 0);
  s->read_len = 0;
  word = psn;
  if (pmtu_code)
    word |= ROCE_WORD_PMTU_FIXED | (__u64)pmtu_code << ROCE_WORD_PMTU_SHIFT;
  roce_stream_publish(s, word);
}

/* Sets this request stream's PMTU, learnt from the other direction. The caller holds s->lock. */
static ROCE_INLINE void roce_stream_learn_pmtu(struct roce_stream *s, __u32 pmtu_code) {
  __u64 word = roce_stream_take(s);

  if (!(word & ROCE_WORD_PMTU))
    word |= (__u64)pmtu_code << ROCE_WORD_PMTU_SHIFT;
  roce_stream_publish(s, word);
}

#endif
