/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What was lost before the observer: README.md 7, "Losses". track.h calls roce_lost_track for each
 * packet of RC and XRC that has a PSN and is not in order. The caller holds the stream's lock.
 */
#ifndef ROCE_LOST_H
#define ROCE_LOST_H

#include "holes.h"

/* Two transmissions lost side by side look like a late packet; more are taken for one. */
#define ROCE_LOST_SIDE_BY_SIDE 2
/* PSNs lost again side by side at the begin of a round. With more between them, two packets need
 * not be of one round. */
#define ROCE_ROUND_GAP 4
/* PSNs around a late packet in which others may be late, too. */
#define ROCE_LATE_NEAR 128
/* A receiver that still misses what passed so far back does not go back, or what is missing was
 * lost on the way to the observer only. */
#define ROCE_LOST_REACH 16384

static ROCE_INLINE int roce_lost_flag(const struct roce_stream *s, __u32 flag) {
  return (s->lost_flags & flag) != 0;
}

static ROCE_INLINE __u32 roce_lost_end(const struct roce_packet *p, const struct roce_outcome *o) {
  return roce_psn_add(p->psn, o->psns);
}

/* A stream of answers: the packet is to a request with its own PSN. */
static ROCE_INLINE int roce_lost_begins(const struct roce_packet *p) {
  return p->info & ROCE_OP_RESPONSE && p->info & (ROCE_OP_FIRST | ROCE_OP_ONLY | ROCE_OP_ATOMIC);
}

/*
 * A stream of answers: the packet is not of the answer of the previous one. PSNs between two
 * answers need not have been sent.
 */
static ROCE_INLINE int roce_lost_apart(const struct roce_packet *p, const struct roce_outcome *o) {
  return p->info & ROCE_OP_RESPONSE && (roce_lost_begins(p) || !(o->flags & ROCE_WORD_READ_OPEN));
}

/* The state of a new stream, or of a new use of its QPN, that expects `psn`. */
static ROCE_INLINE void roce_lost_start(struct roce_stream *s, __u32 psn) {
  s->accepted = psn;
  s->lost_flags = 0;
  s->back_psn = s->back_last = psn;
  s->head = 0;
  s->gone = 0;
  for (__u32 i = 0; i < ROCE_AGAIN; i++)
    s->again[i].length = 0;
}

/* Whether losses near PSN `psn` are unsure: packets were late there. */
static ROCE_INLINE int roce_lost_near_late(const struct roce_stream *s, __u32 psn) {
  __s32 away = roce_psn_diff(psn, s->late_psn);

  return roce_lost_flag(s, ROCE_LOST_LATE) && away < ROCE_LATE_NEAR && away > -ROCE_LATE_NEAR;
}

static ROCE_INLINE void roce_lost_count(struct roce_stream *s, __u32 psn, __u32 n) {
  roce_stream_count(s, roce_lost_near_late(s, psn) ? ROCE_LOST_UNSURE : ROCE_LOST, n);
}

/* Takes `n` PSNs, or as many as there are, out of a counter; how many. */
static ROCE_INLINE __u32 roce_lost_uncount(struct roce_stream *s, int counter, __u32 n) {
  __u64 have = roce_stream_counter(s, counter);

  if (n > have)
    n = (__u32)have;
  roce_stream_uncount(s, counter, n);
  return n;
}

/* `n` PSNs that counted as lost are unsure; those that were unsure before stay so. */
static ROCE_INLINE void roce_lost_doubt(struct roce_stream *s, __u32 n) {
  roce_stream_count(s, ROCE_LOST_UNSURE, roce_lost_uncount(s, ROCE_LOST, n));
}

/* `n` PSNs that counted as lost, or as unsure, were late. */
static ROCE_INLINE void roce_lost_late(struct roce_stream *s, __u32 n) {
  roce_stream_count(s, ROCE_LATE, n);
  roce_lost_uncount(s, ROCE_LOST_UNSURE, n - roce_lost_uncount(s, ROCE_LOST, n));
}

/* A go-back-N receiver here accepts [psn, end). What was lost before it in this round is sure. */
static ROCE_INLINE void roce_lost_accept(struct roce_stream *s, __u32 psn, __u32 end) {
  if (roce_psn_diff(psn, s->accepted) > 0 || roce_psn_diff(end, s->accepted) <= 0)
    return;
  s->accepted = end;
  if (s->head)
    roce_lost_count(s, end, s->head);
  s->head = 0;
}

/* Takes the packet's PSNs out of what was not sent again in this round, and counts those in it. */
static ROCE_INLINE void roce_again_take(struct roce_stream *s, const struct roce_packet *p,
                                        struct roce_outcome *o) {
  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_AGAIN; i++) {
    __s32 from = roce_psn_diff(s->again[i].start, p->psn);
    __s32 to = from + (__s32)s->again[i].length;
    __s32 low = from > 0 ? from : 0, high = to < (__s32)o->psns ? to : (__s32)o->psns;

    if (high <= low)
      continue;
    o->missing += (__u32)(high - low);
    if (from < low && high == to) {
      s->again[i].length = (__u32)(low - from);
    } else { /* in its middle: the part before it is no longer remembered */
      s->again[i].start = roce_psn_add(p->psn, (__u32)high);
      s->again[i].length = (__u32)(to - high);
    }
  }
}

/*
 * Sent before, but not in this round: lost again, unless the receiver had acknowledged them, or, as
 * the next packet is of another answer (`apart`), had not requested them again.
 */
static ROCE_INLINE void roce_lost_skipped(struct roce_stream *s, __u32 from, __u32 to, int apart) {
  __s32 length = roce_psn_diff(to, from), accepted = roce_psn_diff(s->accepted, from);
  struct roce_interval *again;

  if (length <= 0)
    return;
  if (apart)
    accepted = length;
  if (accepted > 0) {
    roce_stream_count(s, ROCE_LOST_UNSURE, (__u32)(accepted < length ? accepted : length));
    from = s->accepted;
    length -= accepted;
  }
  if (length <= 0)
    return;
  if (roce_lost_near_late(s, from)) {
    roce_stream_count(s, ROCE_LOST_UNSURE, (__u32)length);
    return;
  }
  roce_stream_count(s, ROCE_LOST, (__u32)length);
  again = &s->again[s->again_next & (ROCE_AGAIN - 1)];
  again->start = from;
  again->length = (__u32)length;
  s->again_next = s->again_next + 1;
}

/*
 * The packet is the next one after the round before: the requester did not go back, and the packets
 * that seemed so were late.
 */
static ROCE_INLINE void roce_lost_returned(struct roce_stream *s) {
  __s32 head = roce_psn_diff(s->back_psn, s->accepted);

  roce_lost_uncount(s, ROCE_GO_BACKS, 1);
  if (head > 0 && s->head >= (__u32)head)
    s->head -= (__u32)head;
}

/* A packet that is not before the end of the previous one, o->last. */
static ROCE_INLINE void roce_lost_forward(struct roce_stream *s, const struct roce_packet *p,
                                          const struct roce_outcome *o) {
  if (o->legal) {
    if (s->accepted == o->last)
      s->accepted = p->psn;
  } else {
    if (o->filled && p->psn != o->last && roce_lost_near_late(s, p->psn)) {
      roce_lost_doubt(s, o->filled); /* perhaps late, of the round before */
    }
    ROCE_STAGE();
    if (p->psn == s->back_last && roce_psn_diff(p->psn, o->last) > ROCE_ROUND_GAP)
      roce_lost_returned(s);
    else
      roce_lost_skipped(s, o->last, roce_psn_diff(p->psn, o->expected) < 0 ? p->psn : o->expected,
                        roce_lost_apart(p, o));
    ROCE_STAGE();
    roce_stream_count(s, ROCE_LOST, o->skipped);
    if (roce_lost_apart(p, o)) /* the end of the answer before, or the FIRST of this one */
      roce_lost_doubt(s, o->skipped ? o->skipped - 1 : 0);
    if (!o->skipped && p->psn != o->last && roce_lost_apart(p, o) && !roce_lost_begins(p))
      roce_stream_count(s, ROCE_LOST, roce_lost_uncount(s, ROCE_LOST_UNSURE, 1));
  }
  ROCE_STAGE();
  roce_lost_accept(s, p->psn, roce_lost_end(p, o));
}

/*
 * The packets in `back` began a new round. `missing`: of the packet that shows it, PSNs that were
 * missing in the round before.
 */
static ROCE_INLINE void roce_lost_went_back(struct roce_stream *s, __u32 missing, int begins) {
  __u32 gone = s->back_filled + missing;

  roce_stream_count(s, ROCE_GO_BACKS, 1);
  if (roce_lost_flag(s, ROCE_LOST_PENDING) && roce_psn_diff(s->back_psn, s->late_psn) <= 0) {
    /* the late packet comes again: the first one was late, and no retransmission */
    if (!roce_lost_flag(s, ROCE_LOST_ASKED))
      roce_stream_count(s, ROCE_LOST, roce_lost_uncount(s, ROCE_LOST_UNSURE, s->late_filled));
    roce_lost_late(s, s->late_filled);
  }
  ROCE_STAGE();
  for (__u32 i = 0; i < ROCE_AGAIN; i++) {
    gone += s->again[i].length;
    s->again[i].length = 0;
  }
  if (gone) {
    if (!s->gone || roce_psn_diff(s->back_psn, s->gone_end) >= 0) {
      s->gone = 0;
      s->gone_psn = s->back_psn;
      s->gone_end = s->back_last;
    }
    if (roce_psn_diff(s->back_psn, s->gone_psn) < 0)
      s->gone_psn = s->back_psn;
    if (roce_psn_diff(s->back_last, s->gone_end) > 0)
      s->gone_end = s->back_last;
    s->gone += gone;
  }
  ROCE_STAGE();
  if (!begins && roce_psn_diff(s->back_psn, s->accepted) > 0)
    s->head += (s->back_psn - s->accepted) & ROCE_PSN_MASK;
  s->lost_flags =
      (s->lost_flags & ~(ROCE_LOST_BACK | ROCE_LOST_PENDING | ROCE_LOST_ASKED)) | ROCE_LOST_ROUNDS;
  roce_lost_accept(s, s->back_psn, s->back_next);
}

/* The packets in `back` were no new round: late ones, or copies. */
static ROCE_INLINE void roce_lost_were_late(struct roce_stream *s) {
  __u32 n = s->back_filled, between = (s->back_last - s->back_end) & ROCE_PSN_MASK;
  int asked = roce_lost_flag(s, ROCE_LOST_NAK) && s->nak_psn == s->back_psn;
  int rounds = roce_lost_flag(s, ROCE_LOST_ROUNDS);

  s->lost_flags = s->lost_flags & ~ROCE_LOST_BACK;
  if (n) {
    s->late_psn = s->back_psn;
    s->lost_flags = s->lost_flags | ROCE_LOST_LATE;
    if (rounds && between > ROCE_LOST_SIDE_BY_SIDE) { /* a requester that goes back had done so */
      roce_lost_late(s, n);
    } else {
      s->late_filled = (__u16)n;
      s->lost_flags = s->lost_flags & ~ROCE_LOST_ASKED;
      s->lost_flags = s->lost_flags | ROCE_LOST_PENDING;
      if (asked && !rounds) { /* what the NAK requested, alone: selective repeat */
        s->lost_flags = s->lost_flags | ROCE_LOST_ASKED;
      } else {
        roce_lost_doubt(s, n);
      }
    }
  } else if (s->head && s->back_psn == s->accepted) {
    s->head--;
  } else if (s->gone && roce_psn_diff(s->back_psn, s->gone_psn) >= 0 &&
             roce_psn_diff(s->back_psn, s->gone_end) < 0) {
    s->gone--; /* it may be the one that seemed to be lost */
    roce_lost_doubt(s, 1);
  }
  ROCE_STAGE();
  roce_lost_accept(s, s->back_psn, s->back_next);
}

/* A packet before the end of the previous one, o->last: the next ones show what it is. */
static ROCE_INLINE void roce_lost_before_end(struct roce_stream *s, const struct roce_packet *p,
                                             const struct roce_outcome *o) {
  s->back_psn = p->psn;
  s->back_last = o->last;
  s->back_next = s->back_end = s->back_tail = roce_lost_end(p, o);
  for (__u32 i = 0; i < ROCE_BACK_GAPS; i++)
    s->back_gap[i].length = 0;
  s->back_filled = (__u16)o->missing;
  s->lost_flags = (s->lost_flags & ~ROCE_LOST_BEGINS) | ROCE_LOST_BACK;
  if (roce_lost_begins(p))
    s->lost_flags = s->lost_flags | ROCE_LOST_BEGINS;
}

/* The packet is one more of those in `back`, which were missing, too. */
static ROCE_INLINE void roce_lost_join(struct roce_stream *s, const struct roce_packet *p,
                                       const struct roce_outcome *o) {
  s->back_tail = roce_lost_end(p, o);
  if (p->psn == s->back_next)
    s->back_next = s->back_tail;
  if (roce_psn_diff(s->back_tail, s->back_end) > 0)
    s->back_end = s->back_tail;
  s->back_filled = (__u16)(s->back_filled + o->missing);
}

/*
 * The packet is ahead of those in `back`: the round may have lost what is between, or each of them
 * was late or a copy. 0: there are too many gaps for a round.
 */
static ROCE_INLINE int roce_lost_gap(struct roce_stream *s, const struct roce_packet *p,
                                     const struct roce_outcome *o) {
  struct roce_interval *gap = &s->back_gap[s->back_gap[0].length != 0];

  int none = o->legal || roce_lost_apart(p, o); /* there need be no packets between */

  if (none && s->back_next == s->back_tail)
    s->back_next = roce_lost_end(p, o);
  if (!none) {
    if (gap->length)
      return 0;
    gap->start = s->back_tail;
    gap->length = (p->psn - s->back_tail) & ROCE_PSN_MASK;
  }
  s->back_tail = s->back_end = roce_lost_end(p, o);
  s->back_filled = (__u16)(s->back_filled + o->missing);
  return 1;
}

/* The round that began with those in `back` lost again what is between them. */
static ROCE_INLINE void roce_lost_gaps(struct roce_stream *s) {
  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_BACK_GAPS; i++) {
    __u32 start = s->back_gap[i].start, end = roce_psn_add(start, s->back_gap[i].length);

    if (!s->back_gap[i].length)
      break;
    roce_lost_skipped(s, start, end, 0);
    roce_lost_accept(s, end, !i && s->back_gap[1].length ? s->back_gap[1].start : s->back_tail);
  }
}

/* A packet while others wait in `back`. 1 when nothing is left to be done for it. */
static ROCE_INLINE int roce_lost_while_back(struct roce_stream *s, const struct roce_packet *p,
                                            struct roce_outcome *o) {
  __s32 on = roce_psn_diff(p->psn, s->back_end);

  o->last = roce_psn_diff(s->back_end, s->back_last) > 0 ? s->back_end : s->back_last;
  if (roce_psn_diff(p->psn, o->last) >= 0)
    return 0;
  if (o->missing && (on < 0 || s->back_filled)) {
    roce_lost_join(s, p, o);
    return 1;
  }
  if (on < 0)
    return 0;
  if (roce_psn_diff(p->psn, s->back_tail) > ROCE_ROUND_GAP)
    return roce_lost_gap(s, p, o);
  ROCE_STAGE();
  roce_lost_went_back(s, o->missing, roce_lost_flag(s, ROCE_LOST_BEGINS));
  ROCE_STAGE();
  roce_lost_gaps(s);
  ROCE_STAGE();
  if (!o->legal)
    roce_lost_skipped(s, s->back_tail, p->psn, roce_lost_apart(p, o));
  ROCE_STAGE();
  roce_lost_accept(s, p->psn, roce_lost_end(p, o));
  return 1;
}

/*
 * Handles a packet before o->end. A stream of answers has no packet for PSNs between two responses;
 * a response that begins with FIRST or ONLY is to a request with its own PSN.
 */
static ROCE_INLINE void roce_lost_track(struct roce_stream *s, const struct roce_packet *p,
                                        struct roce_outcome *o) {
  if ((p->opcode & ROCE_TRANSPORT_MASK) == ROCE_UC)
    return;
  if (o->resync) {
    roce_lost_start(s, roce_lost_end(p, o));
    return;
  }
  if (roce_lost_begins(p) && !(o->flags & ROCE_WORD_READ_OPEN))
    o->legal = 1;
  o->missing = o->filled;
  roce_again_take(s, p, o);
  ROCE_STAGE();
  if (roce_lost_flag(s, ROCE_LOST_BACK)) {
    if (roce_lost_while_back(s, p, o))
      return;
    ROCE_STAGE();
    roce_lost_were_late(s);
  }
  ROCE_STAGE();
  if (roce_psn_diff(p->psn, o->last) >= 0)
    roce_lost_forward(s, p, o);
  else
    roce_lost_before_end(s, p, o);
}

/*
 * A NAK for `psn` of these requests passed. What had been accepted here was lost after the
 * observer, or discarded there. A packet that came late here may be what the NAK is for. The fast
 * path may go on meanwhile: `expected` is what the stream's word says now.
 */
static ROCE_INLINE void roce_lost_nak(struct roce_stream *s, __u32 expected, __u32 psn) {
  if (!(s->flags & ROCE_STREAM_STARTED))
    return;
  if (!roce_lost_flag(s, ROCE_LOST_STUCK))
    s->accepted = expected;
  s->nak_psn = psn;
  s->lost_flags = s->lost_flags | ROCE_LOST_NAK;
  if (roce_psn_diff(psn, s->accepted) >= 0 ||
      roce_psn_diff(psn, s->accepted) <= -ROCE_RESYNC_DISTANCE ||
      roce_lost_flag(s, ROCE_LOST_BACK) || roce_lost_near_late(s, psn))
    return;
  roce_stream_count(s, ROCE_LOST_AFTER, 1);
  s->accepted = psn;
  s->lost_flags = s->lost_flags | ROCE_LOST_STUCK;
}

/* For readers: PSNs that are certainly lost, and those that may be lost, too. */
struct roce_lost {
  __u64 sure, unsure;
};
static ROCE_INLINE struct roce_lost roce_stream_lost(const struct roce_stream *s) {
  struct roce_lost lost = {roce_stream_counter(s, ROCE_LOST),
                           roce_stream_counter(s, ROCE_LOST_UNSURE)};
  __u64 waiting = roce_lost_flag(s, ROCE_LOST_BACK) ? s->back_filled : 0;

  waiting = waiting < lost.sure ? waiting : lost.sure;
  lost.sure -= waiting;
  lost.unsure += waiting;
  return lost;
}

#endif
