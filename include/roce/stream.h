/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The state of a stream: the packets of one PSN space in one direction (source IP, destination IP,
 * DestQP, request or response). track.h has the rules by which a packet changes it.
 */
#ifndef ROCE_STREAM_H
#define ROCE_STREAM_H

#include <linux/bpf.h> /* struct bpf_spin_lock */

#include "parse.h"

/* Most intervals of skipped PSNs that a stream stores. */
#define ROCE_HOLES 16

/* A PSN with all these bits set ends a half of the PSN cycle: after it, holes are aged. */
#define ROCE_PSN_HALF 0x7fffffu

/* Bits of roce_stream.word: expected PSN, flags, and the bytes of packets not yet folded. */
#define ROCE_WORD_PSN 0xffffffull
#define ROCE_WORD_FAST (1ull << 24)      /* the next packet may take the fast path */
#define ROCE_WORD_READ_OPEN (1ull << 25) /* the last READ RESPONSE was a FIRST or MIDDLE */
#define ROCE_WORD_ASKS (1ull << 25) /* requests: answers are needed to learn the sender's QPN */
#define ROCE_WORD_PMTU_SHIFT 26     /* PMTU code, 0 is unknown */
#define ROCE_WORD_PMTU (7ull << ROCE_WORD_PMTU_SHIFT)
#define ROCE_WORD_PMTU_FIXED (1ull << 29) /* set by RDMA CM: payload sizes do not change it */
#define ROCE_WORD_LINKED (1ull << 29)     /* responses: the request stream has this PMTU */
#define ROCE_WORD_PLAIN (1ull << 30)   /* answers: known transport, no CE run: ACKs are counted */
#define ROCE_WORD_SKIP (1ull << 30)    /* requests: those in the middle are not followed: skip.h */
#define ROCE_WORD_IDLE (1ull << 31)    /* no packet since the last check for idle streams */
#define ROCE_WORD_SKIPPED (1ull << 32) /* the last packet of the fast path was not followed */
#define ROCE_WORD_TICK_SHIFT 33        /* when it was: roce_skip_tick */
#define ROCE_WORD_TICK (0xffull << ROCE_WORD_TICK_SHIFT)
#define ROCE_WORD_BYTES_SHIFT 41

#define ROCE_WORD_FLAGS (ROCE_WORD_READ_OPEN | ROCE_WORD_PMTU | ROCE_WORD_PMTU_FIXED)

/* roce_stream.read_len of a READ whose RETH was cut off by a snap length. */
#define ROCE_READ_LEN_CUT 0xffffffffu

/* roce_stream.flags */
#define ROCE_STREAM_STARTED 1u /* expected, last and base are valid */
#define ROCE_STREAM_CE_RUN 2u  /* the previous packet was marked CE */
#define ROCE_STREAM_SRC_QP 4u  /* src_qp is known */
#define ROCE_STREAM_VOTE 8u    /* number of answers that agree on src_qp, two bits */
#define ROCE_STREAM_VOTES (3u * ROCE_STREAM_VOTE)
#define ROCE_STREAM_TRANSPORT_SHIFT 5 /* (opcode >> 5) + 1; 0: only CNPs seen */

/* Requests or answers used in the search for the sender's QPN before it is given up. */
#define ROCE_ASKED_MAX 63
/* Consecutive answers that must agree on the QPN. */
#define ROCE_VOTES_NEEDED 3

/* Counters of rare events: 48 bits each, see roce_stream_counter. */
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
  ROCE_LOST,        /* PSNs lost before the observer: lost.h */
  ROCE_LOST_UNSURE, /* perhaps also these */
  ROCE_LOST_AFTER,  /* NAKs for PSNs that had passed */
  ROCE_LATE,        /* PSNs that came late, and were not sent again */
  ROCE_GO_BACKS,    /* rounds: times that the sender went back */
  ROCE_STREAM_COUNTERS,
};

struct roce_interval {
  __u32 start;
  __u32 length;
};

/* Gaps between the first packets of a round, at most. */
#define ROCE_BACK_GAPS 2

/* Intervals that were not sent again, or lost again, in a round; a power of two. */
#define ROCE_AGAIN 4

/* roce_stream.lost_flags */
#define ROCE_LOST_STUCK 1u    /* `accepted` is not the expected PSN */
#define ROCE_LOST_BACK 2u     /* `back_*` are in use */
#define ROCE_LOST_BEGINS 4u   /* the first of them begins an answer */
#define ROCE_LOST_ROUNDS 8u   /* the sender is known to go back */
#define ROCE_LOST_NAK 16u     /* `nak_psn` is valid */
#define ROCE_LOST_LATE 32u    /* `late_psn` is valid */
#define ROCE_LOST_PENDING 64u /* `late_filled` PSNs from there may have been sent again */
#define ROCE_LOST_ASKED 128u  /* a NAK had requested them, so that they count as lost */

struct roce_stream {
  struct roce_key key;
  struct bpf_spin_lock lock;
  __u64 word;
  __u64 packets; /* without those of the fast path since the last fold: (word's expected - base) */
  __u64 bytes;   /* as packets; frames without FCS */
  __u64 messages;

  __u32 first_psn : 24;
  __u32 run_asked : 8;    /* roce_run, roce_asked; kernels reject bit fields off a byte boundary */
  __u32 last : 24;        /* PSN after the previous packet */
  __u32 hole_cursor : 8;  /* where the search for a free entry starts */
  __u32 base : 24;        /* expected PSN at the last fold */
  __u32 event_window : 8; /* window of the last event, or when it was found idle */
  __u32 run_filled : 24;  /* PSNs filled by the run's first packet */
  __u32 event_count : 8;
  __u32 src_qp : 24;
  __u32 flags : 8;
  __u32 read_len; /* bytes, if the previous packet was a READ and the PMTU is unknown */

  __u32 counter_low[ROCE_STREAM_COUNTERS];
  __u16 counter_high[ROCE_STREAM_COUNTERS];

  /* A hole is [start, start + length). hole_start has start and the length's low byte. */
  __u32 hole_start[ROCE_HOLES];
  __u8 hole_length_high[ROCE_HOLES];

  /* What a go-back-N receiver at the observer's place has, and what was lost before it: lost.h. */
  __u32 accepted : 24; /* its next PSN */
  __u32 lost_flags : 8;
  /* Packets before the end of the previous one, `back_last`: late, or the first of a new round. */
  __u32 back_psn, back_last;
  __u32 back_next;   /* the PSN after those in order from back_psn on */
  __u32 back_end;    /* after the highest */
  __u32 back_tail;   /* after the newest */
  __u16 back_filled; /* their PSNs that were missing in the round */
  __u16 late_filled;
  struct roce_interval back_gap[ROCE_BACK_GAPS]; /* between them: lost, if they are a round */
  __u32 late_psn;                                /* of the newest late packet */
  __u32 nak_psn;                                 /* of the newest NAK */
  __u32 head; /* PSNs lost again at the begin of this round, if the receiver was without them */
  __u32 gone_psn, gone_end, gone; /* the rounds before, and how many seemed lost again in them */
  __u32 again_next;
  struct roce_interval again[ROCE_AGAIN]; /* not sent again in this round */
};
ROCE_STATIC_ASSERT(sizeof(struct roce_stream) == 384, "a stream costs 384 bytes");
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

/* Current packets and bytes, including those not yet folded. */
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

/* Packets that could have given src_qp, up to ROCE_ASKED_MAX. */
static ROCE_INLINE __u32 roce_asked(const struct roce_stream *s) { return s->run_asked >> 2; }

/* 1 while the search for the QPN of this stream's sender continues. */
static ROCE_INLINE int roce_stream_asks(const struct roce_stream *s) {
  return !(s->flags & ROCE_STREAM_SRC_QP) && roce_asked(s) < ROCE_ASKED_MAX;
}

static ROCE_INLINE void roce_stream_set_src_qp(struct roce_stream *s, __u32 qp) {
  s->src_qp = qp;
  s->flags = (s->flags & ~ROCE_STREAM_VOTES) | ROCE_STREAM_SRC_QP;
}

static ROCE_INLINE void roce_stream_forget_src_qp(struct roce_stream *s) {
  s->flags = s->flags & ~(ROCE_STREAM_VOTES | ROCE_STREAM_SRC_QP);
  s->run_asked = roce_run(s);
}

/* Events that a stream may report per window (2^30 ns); the rest are counted as limited. */
#define ROCE_EVENTS_PER_WINDOW 20

/* Events that a packet causes in its stream. */
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

/*
 * All findings about a packet, for capture; unlike events, they are not limited in number. Without
 * ROCE_FOUND_SLOW the packet was in order, or a plain ACK, with no other finding.
 */
enum roce_found {
  ROCE_FOUND_SLOW = 1 << 0, /* slow path: the outcome is of this packet */
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
  ROCE_FOUND_FULL = 1 << 16, /* no room for its stream in the table */
  ROCE_FOUND_CONTENDED = 1 << 17,
  ROCE_FOUND_MADE_WAY = 1 << 18,  /* an idle stream was removed for this one */
  ROCE_FOUND_ANNOUNCED = 1 << 19, /* RDMA CM: starts a new use of a QP */
  ROCE_FOUND_EPISODE = 1 << 20,   /* following: see roce_follow_mark_for_capture */
};

/*
 * What a packet did. `events`, `limited`, `register_read` and `link_pmtu` are for the caller, the
 * rest passes data between the stages. In the kernel it is in a map: see ROCE_STAGE.
 */
struct roce_outcome {
  __u32 events;       /* one bit per enum roce_event_type, after the rate limit */
  __u32 limited;      /* events suppressed by the rate limit */
  __u32 expected;     /* expected PSN before the packet */
  __u32 skipped;      /* PSNs skipped by ROCE_EVENT_GAP */
  __u8 register_read; /* a READ whose length in PSNs is unknown: see roce_register_read */
  __u8 link_pmtu;     /* PMTU code for the request stream; 0: none */

  __u8 legal;     /* a jump that is not a gap */
  __u8 resync;    /* a new use of the QPN */
  __u8 duplicate; /* none of its PSNs was missing */
  __u8 pmtu_code;
  __u8 forgotten; /* the record no longer belongs to this stream */
  __u8 asks;      /* a request whose answer may give the sender's QPN, or such an answer */
  __u8 nak;       /* a NAK, even if its event was suppressed */
  __u8 window;    /* of the rate limit of events */
  __u32 flags;    /* of roce_stream.word */
  __u32 last;     /* PSN after the previous packet */
  __u32 psns;     /* number of PSNs that the packet covers */
  __u32 end;      /* expected PSN after the packet */
  struct roce_interval hole; /* the hole to open */
  __u32 found;               /* enum roce_found */
  __u32 filled;              /* PSNs received that had been skipped */
  __u32 jumped;              /* PSNs between the previous packet and this one */
  __u32 missing;             /* of its PSNs, those that were missing in the round: lost.h */
};

/* Data on the current packet, for capture; cleared only when capture is enabled. */
struct roce_trace {
  __u32 found; /* enum roce_found */
  __u32 rule;  /* id of the rule that it matched; 0: none */
  __u32 act;   /* enum roce_action_bits: the action taken; 0: none */
  __u32 reserved;
};

#endif
