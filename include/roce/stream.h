/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * One stream's state and the rules by which a packet changes it: a stream is the packets of one PSN
 * space seen from one side (source IP, destination IP, DestQP, request or response).
 *
 * In order, with nothing unusual about it, a packet costs one compare-and-swap: everything that
 * such a packet changes is in `word`. All else is done by roce_stream_slow with the stream's lock
 * held, which first takes ROCE_WORD_FAST away, so that no compare-and-swap can succeed meanwhile.
 */
#ifndef ROCE_STREAM_H
#define ROCE_STREAM_H

#include <linux/bpf.h> /* struct bpf_spin_lock */

#include "parse.h"

/* Intervals of skipped PSNs that a stream remembers. */
#define ROCE_HOLES 16

/* A packet this far from where its stream stands is another life of the QPN, not a loss. */
#define ROCE_RESYNC_DISTANCE 65536

/* In windows of 2^30 ns: a stream without a packet for so long makes way when the table is full. */
#define ROCE_IDLE_WINDOWS 30

/* Events that one stream may report in a window (2^30 ns); the rest are counted as limited. */
#define ROCE_EVENTS_PER_WINDOW 20

/* A PSN with all these bits is the last of its half of the round: behind it, holes are aged. */
#define ROCE_PSN_HALF 0x7fffffu

/* Bits of roce_stream.word: expected PSN, flags, and the bytes of packets not yet folded. */
#define ROCE_WORD_PSN 0xffffffull
#define ROCE_WORD_FAST (1ull << 24)      /* the next packet may take the fast path */
#define ROCE_WORD_READ_OPEN (1ull << 25) /* the last READ RESPONSE was a FIRST or MIDDLE */
#define ROCE_WORD_PMTU_SHIFT 26          /* PMTU code, 0 is unknown */
#define ROCE_WORD_PMTU (7ull << ROCE_WORD_PMTU_SHIFT)
#define ROCE_WORD_PMTU_FIXED (1ull << 29) /* told by RDMA CM: payload sizes do not change it */
#define ROCE_WORD_LINKED (1ull << 29)     /* responses: the request stream has learnt our PMTU */
#define ROCE_WORD_PLAIN (1ull << 30)      /* transport known, no CE run: ACKs only need counting */
#define ROCE_WORD_IDLE (1ull << 31)       /* no packet since the search for idle streams came by */
#define ROCE_WORD_BYTES_SHIFT 32

#define ROCE_WORD_FLAGS (ROCE_WORD_READ_OPEN | ROCE_WORD_PMTU | ROCE_WORD_PMTU_FIXED)

/* roce_stream.read_len of a READ whose RETH was cut off by a snap length. */
#define ROCE_READ_LEN_CUT 0xffffffffu

/* roce_stream.flags */
#define ROCE_STREAM_STARTED 1u        /* expected, last and base mean something */
#define ROCE_STREAM_CE_RUN 2u         /* the previous packet was marked CE */
#define ROCE_STREAM_SRC_QP 4u         /* src_qp is known */
#define ROCE_STREAM_TRANSPORT_SHIFT 5 /* (opcode >> 5) + 1; 0: only CNPs seen */

/* Counters of what does not happen to every packet: 48 bits each, see roce_stream_counter. */
enum roce_stream_counters {
  ROCE_GAPS,
  ROCE_SKIPPED,
  ROCE_FILLED,
  ROCE_DUPLICATES,
  ROCE_REWINDS,
  ROCE_REORDERED,
  ROCE_RESYNCS,
  ROCE_JUMPS,
  ROCE_JUMPED,
  ROCE_STREAM_CE,
  ROCE_STREAM_CNPS,
  ROCE_HOLES_FORGOTTEN,
  ROCE_STREAM_COUNTERS,
};

struct roce_stream {
  struct roce_key key;
  struct bpf_spin_lock lock;
  __u64 word;
  __u64 packets; /* without the fast ones since the last fold: (word's expected - base) */
  __u64 bytes;   /* likewise: frames without FCS */
  __u64 messages;

  __u32 first_psn : 24;
  __u32 run : 8;          /* length of the backward run, up to 3 */
  __u32 last : 24;        /* end of the previous packet */
  __u32 hole_cursor : 8;  /* where the search for a free place starts */
  __u32 base : 24;        /* expected PSN at the last fold */
  __u32 event_window : 8; /* of its last event, or when it was found idle */
  __u32 run_filled : 24;  /* PSNs that the run's first packet filled */
  __u32 event_count : 8;
  __u32 src_qp : 24;
  __u32 flags : 8;
  __u32 read_len; /* the previous packet was a READ of this many bytes and the PMTU is unknown */

  __u32 counter_low[ROCE_STREAM_COUNTERS];
  __u16 counter_high[ROCE_STREAM_COUNTERS];

  /* A hole is [start, start + length): start and the length's low byte, then its high byte. */
  __u32 hole_start[ROCE_HOLES];
  __u8 hole_length_high[ROCE_HOLES];
};
ROCE_STATIC_ASSERT(sizeof(struct roce_stream) == 248, "a stream costs 248 bytes");
ROCE_STATIC_ASSERT(__builtin_offsetof(struct roce_stream, messages) == 64,
                   "what every packet touches is the first cache line");

static ROCE_INLINE __u64 roce_stream_counter(const struct roce_stream *s, int i) {
  return s->counter_low[i] | (__u64)s->counter_high[i] << 32;
}

static ROCE_INLINE void roce_stream_count(struct roce_stream *s, int i, __u32 n) {
  s->counter_low[i] += n;
  if (s->counter_low[i] < n)
    s->counter_high[i]++;
}

static ROCE_INLINE void roce_stream_uncount(struct roce_stream *s, int i, __u32 n) {
  if (s->counter_low[i] < n)
    s->counter_high[i]--;
  s->counter_low[i] -= n;
}

static ROCE_INLINE __u32 roce_hole_start(const struct roce_stream *s, __u32 i) {
  return s->hole_start[i] & ROCE_PSN_MASK;
}

static ROCE_INLINE __u32 roce_hole_length(const struct roce_stream *s, __u32 i) {
  return s->hole_start[i] >> 24 | (__u32)s->hole_length_high[i] << 8;
}

static ROCE_INLINE void roce_hole_set(struct roce_stream *s, __u32 i, __u32 start, __u32 length) {
  s->hole_start[i] = start | length << 24;
  s->hole_length_high[i] = (__u8)(length >> 8);
}

/* Packets and bytes as of now, the unfolded ones included. */
static ROCE_INLINE __u64 roce_stream_packets(const struct roce_stream *s) {
  return s->packets + ((s->word - s->base) & ROCE_WORD_PSN);
}
static ROCE_INLINE __u64 roce_stream_bytes(const struct roce_stream *s) {
  return s->bytes + (s->word >> ROCE_WORD_BYTES_SHIFT);
}

/* What a packet did to its stream, for events and for what has to happen outside the lock. */
enum roce_event_type {
  ROCE_EVENT_GAP,
  ROCE_EVENT_REWIND,
  ROCE_EVENT_NAK,
  ROCE_EVENT_RNR_NAK,
  ROCE_EVENT_CNP,
  ROCE_EVENT_CE_RUN,
  ROCE_EVENT_STREAM_NEW,
  ROCE_EVENT_STREAM_FORGOTTEN,
  ROCE_EVENT_TYPES,
};

struct roce_interval {
  __u32 start;
  __u32 length;
};

/*
 * What a packet did: `events`, `limited` and the requests for more are for the caller, the rest is
 * what one stage tells the next. In the kernel it lives in a map: see ROCE_STAGE.
 */
struct roce_outcome {
  __u32 events;       /* bit per enum roce_event_type, after the rate limit */
  __u32 limited;      /* events that the rate limit kept back */
  __u32 expected;     /* before the packet */
  __u32 skipped;      /* of ROCE_EVENT_GAP */
  __u8 register_read; /* a READ whose length in PSNs is unknown: see account.h */
  __u8 link_pmtu;     /* PMTU code that the request stream may want to know */

  __u8 legal;     /* a jump that is no gap */
  __u8 resync;    /* another life of the QPN */
  __u8 duplicate; /* nothing in it was missing */
  __u8 pmtu_code;
  __u8 forgotten; /* the record is no more this stream's */
  __u8 reserved;
  __u32 flags;               /* of the word */
  __u32 last;                /* end of the previous packet */
  __u32 psns;                /* that the packet covers */
  __u32 end;                 /* expected PSN behind the packet */
  struct roce_interval hole; /* to be opened */
};

/* Packets that need no lock: in order, one PSN, no mark, no PMTU to learn. 1 when done. */
static ROCE_INLINE int roce_stream_fast(struct roce_stream *s, const struct roce_packet *p,
                                        __u32 length) {
  __u64 seen = ROCE_LOAD(&s->word), word = seen, next;

  if (ROCE_UNLIKELY((word & (ROCE_WORD_FAST | ROCE_WORD_PSN)) != (ROCE_WORD_FAST | p->psn) ||
                    (p->psn & ROCE_PSN_HALF) == ROCE_PSN_HALF || p->ecn == ROCE_ECN_CE))
    return 0;
  word &= ~ROCE_WORD_IDLE;
  next = word + 1 + ((__u64)length << ROCE_WORD_BYTES_SHIFT);
  if (ROCE_UNLIKELY(next < word)) /* the bytes want folding */
    return 0;
  if (p->info & (ROCE_OP_FIRST | ROCE_OP_MIDDLE)) {
    __u32 code = (word & ROCE_WORD_PMTU) >> ROCE_WORD_PMTU_SHIFT;

    if (ROCE_UNLIKELY(roce_pmtu_bytes(code) != p->payload && !(word & ROCE_WORD_PMTU_FIXED)))
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
  }
  if (!ROCE_CAS(&s->word, seen, next))
    return 0;
  if (p->info & ROCE_OP_ENDS_MESSAGE)
    ROCE_ADD(&s->messages, 1);
  return 1;
}

/* A plain ACK in a stream that has had one: counted, nothing else. 1 when done. */
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

/*
 * Holes stand in no order: a hole of length 0 is a free place, and the oldest is the one farthest
 * behind, since holes only ever open at the front. (Loops that carry no order from round to round
 * are also what the kernel's verifier can follow.)
 */

/*
 * The oldest hole, seen from `expected`, makes way; what is missing there stays missing. The search
 * starts behind the place used last: a number the verifier does not know, or it would follow each
 * of the sixteen places on its own.
 */
static ROCE_INLINE void roce_holes_open(struct roce_stream *s, struct roce_interval hole,
                                        __u32 expected) {
  __u32 first = s->hole_cursor, place = first % ROCE_HOLES, oldest = 0;

  for (__u32 k = 0; k < ROCE_HOLES; k++) {
    __u32 i = (first + k) % ROCE_HOLES, age = ROCE_PSN_MASK + 1;

    if (roce_hole_length(s, i))
      age = (expected - s->hole_start[i]) & ROCE_PSN_MASK;
    if (age > oldest) {
      oldest = age;
      place = i;
    }
  }
  if (oldest <= ROCE_PSN_MASK)
    roce_stream_count(s, ROCE_HOLES_FORGOTTEN, 1);
  roce_hole_set(s, place, hole.start, hole.length);
  s->hole_cursor = place + 1;
}

/*
 * Takes [psn, psn + n) out of the holes and counts what it fills. A packet inside a hole leaves
 * two: the second is handed back in `rest` (else of length 0), to be opened. Returns the PSNs
 * filled, read back from the counter: to the verifier an unknown number, and not one more thing to
 * follow.
 */
static ROCE_INLINE __u32 roce_holes_fill(struct roce_stream *s, __u32 psn, __u32 n,
                                         struct roce_interval *rest) {
  __u32 before = s->counter_low[ROCE_FILLED], first = s->hole_cursor;

  for (__u32 k = 0; k < ROCE_HOLES; k++) {
    __u32 i = (first + k) % ROCE_HOLES;
    __u32 length = roce_hole_length(s, i), start = roce_hole_start(s, i);
    __s32 from = roce_psn_diff(start, psn), to = from + (__s32)length, hi;

    if (from >= (__s32)n || to <= 0) /* elsewhere; a free place inside fills nothing below */
      continue;
    hi = to < (__s32)n ? to : (__s32)n;
    if (from >= 0) {
      roce_stream_count(s, ROCE_FILLED, hi - from);
      roce_hole_set(s, i, roce_psn_add(psn, hi), to - hi);
      continue;
    }
    roce_stream_count(s, ROCE_FILLED, hi);
    roce_hole_set(s, i, start, -from);
    rest->start = roce_psn_add(psn, hi);
    rest->length = to - hi;
  }
  return s->counter_low[ROCE_FILLED] - before;
}

/*
 * A hole is out of reach of late packets once its stream has moved on by ROCE_RESYNC_DISTANCE; left
 * there, it would catch packets of the next round of the 24-bit PSN. Called twice a round.
 */
static ROCE_INLINE void roce_holes_age(struct roce_stream *s, __u32 expected) {
  for (__u32 i = 0; i < ROCE_HOLES; i++)
    if (((expected - s->hole_start[i]) & ROCE_PSN_MASK) >= 2 * ROCE_RESYNC_DISTANCE)
      roce_hole_set(s, i, 0, 0);
}

static ROCE_INLINE void roce_holes_clear(struct roce_stream *s) {
  for (__u32 i = 0; i < ROCE_HOLES; i++)
    roce_hole_set(s, i, 0, 0);
}

/* An event happened: let it pass, or not. */
static ROCE_INLINE void roce_stream_limit(struct roce_stream *s, __u8 window,
                                          struct roce_outcome *o) {
  if (!o->events)
    return;
  if (s->event_window != window) {
    s->event_window = window;
    s->event_count = 0;
  }
  if (s->event_count < ROCE_EVENTS_PER_WINDOW) {
    s->event_count = s->event_count + 1;
  } else {
    o->limited++;
    o->events = 0;
  }
}

/* Packets that are counted and move no tracker: ACK, NAK, CNP. */
static ROCE_INLINE void roce_stream_answer(struct roce_stream *s, const struct roce_packet *p,
                                           struct roce_outcome *o) {
  if (p->info & ROCE_OP_CNP) {
    roce_stream_count(s, ROCE_STREAM_CNPS, 1);
    o->events |= 1u << ROCE_EVENT_CNP;
  } else if (!p->cut && ROCE_SYNDROME_TYPE(p->syndrome) == ROCE_NAK) {
    o->events |= 1u << ROCE_EVENT_NAK;
  } else if (!p->cut && ROCE_SYNDROME_TYPE(p->syndrome) == ROCE_RNR_NAK) {
    o->events |= 1u << ROCE_EVENT_RNR_NAK;
  }
}

/* PSNs that the packet covers; 0: a READ of more than 256 bytes, and the PMTU is unknown. */
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
 * The packet behind a READ whose length in PSNs was unknown: with the PMTU known by now, go on from
 * where the READ ended; else its distance from the READ may tell the PMTU, and its jump is legal.
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
    if (roce_psn_diff(o->last, o->expected) > 0)
      o->expected = o->last;
    return;
  }
  taken = (p->psn + 1 - o->last) & ROCE_PSN_MASK;
  for (__u32 code = 1; code <= 5; code++)
    if (taken > 1 && taken == roce_read_psns(length, code))
      o->pmtu_code = (__u8)code;
}

/* Stage one: where the stream stands, what the packet covers, and whether it may jump. */
static ROCE_INLINE void roce_stream_stand(struct roce_stream *s, const struct roce_packet *p,
                                          struct roce_outcome *o) {
  __u32 seen = roce_pmtu_code(p->payload);

  o->last = s->last;
  if (!(s->flags & ROCE_STREAM_STARTED)) {
    s->flags = s->flags | ROCE_STREAM_STARTED;
    s->first_psn = o->expected = o->last = p->psn;
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

/* At or ahead of expected. */
static ROCE_INLINE void roce_stream_ahead(struct roce_stream *s, __u32 d, struct roce_outcome *o) {
  if (d && !o->legal) {
    roce_stream_count(s, ROCE_GAPS, 1);
    roce_stream_count(s, ROCE_SKIPPED, d);
    o->hole.start = o->expected;
    o->hole.length = o->skipped = d;
    o->events |= 1u << ROCE_EVENT_GAP;
  }
  s->run = 0;
  if ((o->end ^ o->expected) & ~ROCE_PSN_HALF)
    roce_holes_age(s, o->end);
}

/* Behind expected: late, repeated, or the stream goes back and goes on from there. */
static ROCE_INLINE void roce_stream_behind(struct roce_stream *s, __u32 psn,
                                           struct roce_outcome *o) {
  __u32 filled = roce_holes_fill(s, psn, o->psns, &o->hole);

  if (!filled) {
    o->duplicate = 1;
    roce_stream_count(s, ROCE_DUPLICATES, 1);
  }
  if (s->run > 0 && roce_psn_diff(psn, o->last) >= 0) {
    if (s->run == 1) {
      roce_stream_count(s, ROCE_REWINDS, 1);
      roce_stream_uncount(s, ROCE_REORDERED, s->run_filled);
      o->events |= 1u << ROCE_EVENT_REWIND;
    }
    s->run = s->run < 3 ? s->run + 1 : 3;
  } else {
    s->run = 1;
    s->run_filled = filled;
    roce_stream_count(s, ROCE_REORDERED, filled);
  }
  if (roce_psn_diff(o->end, o->expected) < 0)
    o->end = o->expected;
}

/* Stage two: the packet against expected. */
static ROCE_INLINE void roce_stream_judge(struct roce_stream *s, const struct roce_packet *p,
                                          struct roce_outcome *o) {
  __s32 d = roce_psn_diff(p->psn, o->expected);

  o->end = roce_psn_add(p->psn, o->psns);
  if (d >= ROCE_RESYNC_DISTANCE || d <= -ROCE_RESYNC_DISTANCE) {
    o->resync = 1;
    roce_stream_count(s, ROCE_RESYNCS, 1);
    roce_holes_clear(s);
    s->run = 0;
  } else if (d >= 0) {
    roce_stream_ahead(s, d, o);
  } else {
    roce_stream_behind(s, p->psn, o);
  }
}

/* Stage three: the packet against the one before, and what is left to write down. */
static ROCE_INLINE void roce_stream_close(struct roce_stream *s, const struct roce_packet *p,
                                          struct roce_outcome *o) {
  __s32 e = roce_psn_diff(p->psn, o->last);

  if (o->hole.length)
    roce_holes_open(s, o->hole, o->end);
  ROCE_STAGE();
  if (e > 0 && !o->resync && !o->legal) {
    roce_stream_count(s, ROCE_JUMPS, 1);
    roce_stream_count(s, ROCE_JUMPED, e);
  }
  if (p->info & ROCE_OP_ENDS_MESSAGE && !o->duplicate)
    ROCE_ADD(&s->messages, 1);
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

/* A packet of the stream's own PSN space. */
static ROCE_INLINE void roce_stream_track(struct roce_stream *s, const struct roce_packet *p,
                                          struct roce_outcome *o) {
  roce_stream_stand(s, p, o);
  ROCE_STAGE();
  roce_stream_judge(s, p, o);
  ROCE_STAGE();
  roce_stream_close(s, p, o);
}

/*
 * Takes the word over from the fast path, returns its expected PSN and flags, and leaves its counts
 * in the totals. The lock is held; until roce_stream_publish nobody else changes the word.
 */
static ROCE_INLINE __u64 roce_stream_take(struct roce_stream *s) {
  __u64 word = __sync_fetch_and_and(&s->word, ~ROCE_WORD_FAST);

  if (word & ROCE_WORD_FAST) /* the previous packet was in order */
    s->last = word & ROCE_WORD_PSN;
  ROCE_ADD(&s->packets, (word - s->base) & ROCE_WORD_PSN);
  ROCE_ADD(&s->bytes, word >> ROCE_WORD_BYTES_SHIFT);
  return word & (ROCE_WORD_PSN | ROCE_WORD_FLAGS);
}

/*
 * Publishes a new word (expected PSN and flags). FAST only when nothing is left to remember.
 * Neither FAST nor PLAIN before a packet has told the transport: of a stream that RDMA CM announced
 * or that a CNP began, the first one has yet to.
 */
static ROCE_INLINE void roce_stream_publish(struct roce_stream *s, __u64 word) {
  s->base = word & ROCE_WORD_PSN;
  if (s->flags >> ROCE_STREAM_TRANSPORT_SHIFT && !(s->flags & ROCE_STREAM_CE_RUN)) {
    word |= ROCE_WORD_PLAIN;
    if (s->flags & ROCE_STREAM_STARTED && s->last == (word & ROCE_WORD_PSN) && !s->run &&
        !s->read_len)
      word |= ROCE_WORD_FAST;
  }
  ROCE_STORE(&s->word, word);
}

static ROCE_INLINE void roce_stream_describe(struct roce_stream *s, const struct roce_packet *p) {
  if (!(p->info & ROCE_OP_CNP))
    s->flags = (s->flags & ((1u << ROCE_STREAM_TRANSPORT_SHIFT) - 1)) |
               ((p->opcode >> 5) + 1u) << ROCE_STREAM_TRANSPORT_SHIFT;
  if ((p->opcode & ROCE_TRANSPORT_MASK) == ROCE_UD && !p->cut) {
    s->src_qp = p->src_qp;
    s->flags = s->flags | ROCE_STREAM_SRC_QP;
  }
}

/* Ages `s`: 1 when it was idle long enough to be given up, and now has neither key nor counts. */
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

/* Everything that the fast path is not for. The caller holds s->lock and has zeroed `o`. */
static ROCE_INLINE void roce_stream_slow(struct roce_stream *s, const struct roce_packet *p,
                                         __u32 length, __u8 window, struct roce_outcome *o) {
  __u64 word = roce_stream_take(s);

  o->expected = o->end = word & ROCE_WORD_PSN;
  o->flags = word & ROCE_WORD_FLAGS;
  ROCE_ADD(&s->packets, 1);
  ROCE_ADD(&s->bytes, length);
  if (p->ecn == ROCE_ECN_CE) {
    roce_stream_count(s, ROCE_STREAM_CE, 1);
    if (!(s->flags & ROCE_STREAM_CE_RUN))
      o->events |= 1u << ROCE_EVENT_CE_RUN;
    s->flags = s->flags | ROCE_STREAM_CE_RUN;
  } else {
    s->flags = s->flags & ~ROCE_STREAM_CE_RUN;
  }
  roce_stream_describe(s, p);
  ROCE_STAGE();
  if (p->info & ROCE_OP_DATAGRAM)
    ROCE_ADD(&s->messages, 1);
  else if (p->info & (ROCE_OP_ACK | ROCE_OP_CNP))
    roce_stream_answer(s, p, o);
  else
    roce_stream_track(s, p, o);
  ROCE_STAGE();
  roce_stream_limit(s, window, o);
  roce_stream_publish(s, o->end | o->flags);
}

/*
 * RDMA CM announced the first PSN (and, if pmtu_code is not 0, the PMTU) of this request stream:
 * the QPN begins a life, perhaps not its first. The caller holds s->lock.
 */
static ROCE_INLINE void roce_stream_announce(struct roce_stream *s, __u32 psn, __u32 pmtu_code) {
  __u64 word = roce_stream_take(s);

  if (s->flags & ROCE_STREAM_STARTED && ((word ^ psn) & ROCE_WORD_PSN))
    roce_stream_count(s, ROCE_RESYNCS, 1);
  s->flags = s->flags | ROCE_STREAM_STARTED;
  s->first_psn = s->last = psn;
  roce_holes_clear(s);
  s->run = 0;
  s->read_len = 0;
  word = psn;
  if (pmtu_code)
    word |= ROCE_WORD_PMTU_FIXED | (__u64)pmtu_code << ROCE_WORD_PMTU_SHIFT;
  roce_stream_publish(s, word);
}

/* The reverse direction told the PMTU of this request stream. The caller holds s->lock. */
static ROCE_INLINE void roce_stream_learn_pmtu(struct roce_stream *s, __u32 pmtu_code) {
  __u64 word = roce_stream_take(s);

  if (!(word & ROCE_WORD_PMTU))
    word |= (__u64)pmtu_code << ROCE_WORD_PMTU_SHIFT;
  roce_stream_publish(s, word);
}

#endif
