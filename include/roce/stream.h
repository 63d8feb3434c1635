/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * One stream's state: a stream is the packets of one PSN space seen from one side (source IP,
 * destination IP, DestQP, request or response). track.h has the rules by which a packet changes it.
 */
#ifndef ROCE_STREAM_H
#define ROCE_STREAM_H

#include <linux/bpf.h> /* struct bpf_spin_lock */

#include "parse.h"

/* Intervals of skipped PSNs that a stream remembers. */
#define ROCE_HOLES 16

/* A PSN with all these bits is the last of its half of the round: behind it, holes are aged. */
#define ROCE_PSN_HALF 0x7fffffu

/* Bits of roce_stream.word: expected PSN, flags, and the bytes of packets not yet folded. */
#define ROCE_WORD_PSN 0xffffffull
#define ROCE_WORD_FAST (1ull << 24)      /* the next packet may take the fast path */
#define ROCE_WORD_READ_OPEN (1ull << 25) /* the last READ RESPONSE was a FIRST or MIDDLE */
#define ROCE_WORD_ASKS (1ull << 25)      /* requests: their answers are to tell the sender's QPN */
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
#define ROCE_STREAM_STARTED 1u /* expected, last and base mean something */
#define ROCE_STREAM_CE_RUN 2u  /* the previous packet was marked CE */
#define ROCE_STREAM_SRC_QP 4u  /* src_qp is known */
#define ROCE_STREAM_VOTE 8u    /* answers that agreed on src_qp so far, two bits */
#define ROCE_STREAM_VOTES (3u * ROCE_STREAM_VOTE)
#define ROCE_STREAM_TRANSPORT_SHIFT 5 /* (opcode >> 5) + 1; 0: only CNPs seen */

/* Requests to be answered, or answers, behind which the search for the sender's QPN is given up. */
#define ROCE_ASKED_MAX 63
/* Answers in a row that must agree on it. */
#define ROCE_VOTES_NEEDED 3

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
  __u32 run_asked : 8;    /* see roce_run and roce_asked; kernels refuse bit fields off a byte */
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

/* Length of the backward run, up to 3. */
static ROCE_INLINE __u32 roce_run(const struct roce_stream *s) { return s->run_asked & 3; }
static ROCE_INLINE void roce_set_run(struct roce_stream *s, __u32 run) {
  s->run_asked = (s->run_asked & ~3u) | run;
}

/* Packets that might have told src_qp, up to ROCE_ASKED_MAX. */
static ROCE_INLINE __u32 roce_asked(const struct roce_stream *s) { return s->run_asked >> 2; }

/* Whether it is still to be found out which QP of the sender this stream belongs to. */
static ROCE_INLINE int roce_stream_asks(const struct roce_stream *s) {
  return !(s->flags & ROCE_STREAM_SRC_QP) && roce_asked(s) < ROCE_ASKED_MAX;
}

/* Its src_qp is `qp` from now on. */
static ROCE_INLINE void roce_stream_set_src_qp(struct roce_stream *s, __u32 qp) {
  s->src_qp = qp;
  s->flags = (s->flags & ~ROCE_STREAM_VOTES) | ROCE_STREAM_SRC_QP;
}

static ROCE_INLINE void roce_stream_forget_src_qp(struct roce_stream *s) {
  s->flags = s->flags & ~(ROCE_STREAM_VOTES | ROCE_STREAM_SRC_QP);
  s->run_asked = roce_run(s);
}

/* Events that one stream may report in a window (2^30 ns); the rest are counted as limited. */
#define ROCE_EVENTS_PER_WINDOW 20

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

/* What a packet was found to be: all of it, for who captures packets. Events are limited in number.
 * Without ROCE_FOUND_SLOW it was in order, or a plain ACK, with nothing else to it. */
enum roce_found {
  ROCE_FOUND_SLOW = 1 << 0, /* it took the slow path: outcome is of this very packet */
  ROCE_FOUND_GAP = 1 << 1,
  ROCE_FOUND_FILLED = 1 << 2,
  ROCE_FOUND_DUPLICATE = 1 << 3,
  ROCE_FOUND_REWIND = 1 << 4,
  ROCE_FOUND_RESYNC = 1 << 5,
  ROCE_FOUND_JUMP = 1 << 6,
  ROCE_FOUND_CE_RUN = 1 << 7, /* the first of a run of CE marks */
  ROCE_FOUND_NAK = 1 << 8,
  ROCE_FOUND_RNR_NAK = 1 << 9,
  ROCE_FOUND_CNP = 1 << 10,
  ROCE_FOUND_CNP_AFTER_CE = 1 << 11,
  ROCE_FOUND_CNP_AFTER_NAK = 1 << 12,
  ROCE_FOUND_CNP_AFTER_NEITHER = 1 << 13,
  ROCE_FOUND_CNP_UNEXPLAINED = 1 << 14,
  ROCE_FOUND_NEW = 1 << 15,  /* the first packet of its stream */
  ROCE_FOUND_FULL = 1 << 16, /* its stream found no room */
  ROCE_FOUND_CONTENDED = 1 << 17,
  ROCE_FOUND_MADE_WAY = 1 << 18,  /* an idle stream was forgotten for this one */
  ROCE_FOUND_ANNOUNCED = 1 << 19, /* RDMA CM: it began a QP's life */
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
  __u8 asks;      /* a request whose answer may tell the sender's QPN; an answer that may */
  __u8 nak;       /* it is one, whether or not there is an event of it */
  __u32 flags;    /* of the word */
  __u32 last;     /* end of the previous packet */
  __u32 psns;     /* that the packet covers */
  __u32 end;      /* expected PSN behind the packet */
  struct roce_interval hole; /* to be opened */
  __u32 found;               /* enum roce_found */
  __u32 filled;              /* PSNs that had been skipped */
  __u32 jumped;              /* PSNs between the previous packet and this one */
};

/* Of the packet in hand, for who captures it; cleared only when somebody does. */
struct roce_trace {
  __u32 found; /* enum roce_found */
  __u32 rule;  /* id of the one that it met; 0: none */
  __u32 act;   /* enum roce_action_bits: what that did; 0: it let the packet go */
  __u32 reserved;
};

#endif
