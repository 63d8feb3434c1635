/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The record of a followed QP pair: the requests of one direction, and the answers to them. */
#ifndef ROCE_FOLLOWED_H
#define ROCE_FOLLOWED_H

#include "episode.h"
#include "round.h"
#include "skip.h"

/* Ends of messages that are remembered to check MSNs. */
#define ROCE_FOLLOW_ENDS 64

enum roce_follow_flags {
  ROCE_FOLLOW_STARTED = 1 << 0,
  ROCE_FOLLOW_OPEN = 1 << 1,         /* `open` is in use */
  ROCE_FOLLOW_UNKNOWN_READ = 1 << 2, /* the previous READ's length in PSNs is not known */
  ROCE_FOLLOW_ANSWERED = 1 << 3,     /* `answer_next`, `answer_last` are valid */
  ROCE_FOLLOW_NAKED = 1 << 4,        /* `nak_psn` is valid: nothing was ACKed since */
  ROCE_FOLLOW_MSN = 1 << 5,          /* `msn_offset` is valid */
  ROCE_FOLLOW_NAK_AGAIN = 1 << 6,    /* the open episode's NAK was repeated */
  ROCE_FOLLOW_READ_OPEN = 1 << 7,    /* the last READ response was a FIRST or MIDDLE */
  ROCE_FOLLOW_BEYOND = 1 << 8,       /* `beyond_psn` is valid */
  ROCE_FOLLOW_REREAD = 1 << 9,       /* the answers to [reread_from, reread_to) have begun */
  ROCE_FOLLOW_ALONE = 1 << 10,       /* only the NAK's own PSN has been sent again so far */
  ROCE_FOLLOW_CNP_TOLD = 1 << 11,    /* a CNP without CE was reported */
  ROCE_FOLLOW_BACK = 1 << 12,        /* `back` is in use */
  ROCE_FOLLOW_SKIPS = 1 << 13,       /* requests may have been skipped: skip.h */
  ROCE_FOLLOW_ABOUT = 1 << 14,       /* `sent_ns` is the latest that it can be */
  ROCE_FOLLOW_PAYLOAD = 1 << 15,     /* the newest FIRST or MIDDLE request had not `payload` */
  ROCE_FOLLOW_MISSED = 1 << 16,      /* acknowledged since the last MSN: PSNs that did not pass */
  ROCE_FOLLOW_JUMP = 1 << 17,        /* `jump_from`, `jump_to`, `jump_frame` are valid */
  ROCE_FOLLOW_REFUSED = 1 << 18,     /* `rnr_psn` is valid: nothing was acknowledged since */
  ROCE_FOLLOW_AFTER = 1 << 19,       /* `after_psn`, `after_frame` are valid */
  ROCE_FOLLOW_TURN = 1 << 20,        /* READ or atomic `turn_psn` is not answered */
};

/*
 * A packet before the end of the previous one, until a request shows what it was; with those after
 * it that had not passed before either: they may be late, or sent again.
 */
struct roce_back {
  __u64 ns;
  __u64 frame;
  __u64 sent_ns; /* of the request before it; `about`: at the latest */
  __u64 gap_ns;  /* of the packet after `gap` */
  __u32 psn;
  __u32 end;
  __u32 last; /* end of the request before it */
  __u32 packets, bytes;
  __u32 arrived;      /* those that had passed before, without the one that was missing */
  __u32 gap, gap_end; /* PSNs between them, the first time; equal: none */
  __u32 expected;     /* the PSN expected in the round before it */
  __u32 missing;      /* PSNs missing from its own on */
  __u32 missing_end;
  __u8 seen;     /* the latest of them had passed before */
  __u8 reaction; /* it is what the open NAK asked for */
  __u8 about;
  __u8 reserved[5];
};

/* When the request before it was sent; 0: not known, as it was skipped. */
static ROCE_INLINE __u64 roce_back_sent(const struct roce_back *b) {
  return b->about ? 0 : b->sent_ns;
}

/* PSNs that answers stepped over, and that were not answered since. */
#define ROCE_OVERS 8
struct roce_over {
  __u64 ns; /* of the answer after them */
  __u32 from, to;
  __u32 fresh; /* from here on, they never passed */
  __u32 first; /* roce_follow.read_first at that time */
  __u32 turn;  /* of roce_follow, in which all READs and atomics were sent after that answer */
  __u32
      open; /* 1: in a READ response, so that at least `from` is missing; else perhaps no READ's */
  __u64 frame; /* of that answer */
};

/* Turns without asking again after which the requester has not obeyed: README.md 9. */
#define ROCE_OVER_TURNS 2

/* Totals of a pair. */
struct roce_follow_sums {
  __u64 acks, acked_psns;           /* acks: ACKNOWLEDGE that acknowledge at least one PSN more */
  __u32 causes[ROCE_CAUSES];        /* episodes */
  __u32 naks;                       /* PSN sequence errors */
  __u32 go_backs, selective;        /* reactions to NAKs: all sent again, or the missing only */
  __u32 timers_grown, timers_fixed; /* a further timeout for one PSN: later than before, or not */
  __u32 ce, answers_ce;             /* packets marked CE: requests, answers */
  __u32 ce_psn;                     /* of the first */
  __u32 cnps;                       /* to the QP of the requests' sender */
  __u32 msn_unchecked;              /* too many messages outstanding, or some did not pass here */
  __u32 reads_again;                /* READ REQUESTs sent again */
  __u32 reads_cut;                  /* READ REQUESTs without their length: cut by a snap length */
  __u32 unseen;                     /* answers that acknowledge PSNs that did not pass here */
  __u64 cnp_ns;                     /* the last of `cnps` */
  __u64 cnp_least_ns;               /* the least time between two of them; 0: there were no two */
};

/* The payload of packets that fill the path MTU, FIRST and MIDDLE: more than any has. */
#define ROCE_PAYLOAD_UNKNOWN 0xffffffffu

struct roce_follow {
  /* what a request in order touches: 64 bytes */
  __u32 lock;    /* 1: a CPU is changing the record; roce_pair_enter */
  __u32 flags;   /* enum roce_follow_flags */
  __u32 next;    /* the PSN after the newest request */
  __u32 newest;  /* its first PSN */
  __u64 sent_ns; /* the previous request */
  __u64 requests;
  __u32 request; /* record ids; ROCE_NO_STREAM: not known */
  __u32 response;
  __u32 check;             /* roce_pair_check(&key) */
  __u32 payload;           /* of requests that fill the path MTU; ROCE_PAYLOAD_UNKNOWN */
  struct roce_round round; /* its holes are beyond the 64 bytes */

  struct roce_key key; /* of the stream of requests */
  struct roce_episode open;
  struct roce_finding found; /* the last one */
  struct roce_back back;
  struct roce_over over[ROCE_OVERS]; /* the oldest is replaced */
  __u64 ahead_ns;                    /* the first packet after round.expected; 0: none */
  __u64 nak_frame;                   /* of nak_psn */
  __u64 ack_frame;                   /* of the last ACK in order */
  __u64 beyond_frame;
  __u64 ce_frame;                            /* the first request marked CE */
  __u64 payload_frame, answer_payload_frame; /* the first with `payload`, `answer_payload` */
  __u64 jump_frame;   /* the first request after a jump of PSNs between two messages */
  __u64 after_frame;  /* the frame of after_psn */
  __u64 timeout_ns;   /* time between the last two timeouts for timeout_psn */
  __u64 timed_out_ns; /* the last timeout */
  __u32 acked;        /* all before this PSN are acknowledged */
  __u32 ahead_of;     /* round.expected at ahead_ns */
  __u32 nak_psn;      /* of the last NAK */
  __u32 nak_before;   /* of the one before it, and `acked` before it: */
  __u32 acked_before;
  __u32 beyond_psn;         /* of an ACK for what was not sent */
  __u32 jump_from, jump_to; /* the PSN expected and the one that came */
  __u32 begun;              /* PSN of the first request that was followed */
  __u32 rnr_psn;            /* of the last RNR NAK */
  __u32 after_psn;          /* where the requester resumed, after the PSN of the NAK */
  __u32 read_len;           /* DMALen of the newest request: ROCE_FOLLOW_UNKNOWN_READ; 0: cut */
  __u32 read_first;         /* first PSN of the newest READ response */
  __u32 turns; /* READs or atomics answered, each sent after the answer to the one before */
  __u32 turn_psn;
  __u32 msn_forgotten; /* round.forgotten at the last MSN */
  __u32 payload_last;  /* of the last FIRST or MIDDLE request; of answers: */
  __u32 answer_payload, answer_payload_last;
  __u32 answer_next, answer_last;
  __u32 reread_from, reread_to; /* requested again: their answers are no duplicates */
  __u32 overs;                  /* ever; the next is over[overs % ROCE_OVERS] */
  __u32 answer_left;            /* the next PSN that the open episode's recovery needs */
  __u32 timeout_psn;
  __u32 msn_offset; /* MSN minus messages counted, modulo 2^24 */
  __u32 msn_other;  /* that of the last answer */
  __u32 ends_count; /* messages whose last packet was seen */
  __u32 ends[ROCE_FOLLOW_ENDS];
  struct roce_follow_sums sum;
};

ROCE_STATIC_ASSERT(__builtin_offsetof(struct roce_follow, round.hole) == 64,
                   "what a request in order touches is a cache line");

/* The requests of a record, with those that were skipped since; `s` is their stream now. */
static ROCE_INLINE __u64 roce_follow_requests_so_far(const struct roce_follow *f,
                                                     const struct roce_stream *s) {
  if (!(f->flags & ROCE_FOLLOW_SKIPS) || !roce_key_equal(&f->key, &s->key))
    return f->requests;
  return f->requests + roce_skip_count(f->next, (__u32)(s->word & ROCE_WORD_PSN));
}

/* The current packet. */
struct roce_step {
  __u64 now;
  __u64 frame; /* number in the capture, from 1 */
  __u32 psn;
  __u32 end;    /* after its PSNs */
  __u32 length; /* of the frame */
  union {
    __u32 msn;     /* of an answer's AETH */
    __u32 dma_len; /* of a READ REQUEST; 0: cut */
  };
  __u32 payload; /* bytes */
  __u8 seen;     /* the tracker had seen all its PSNs */
  __u8 unknown;  /* a READ of unknown length in PSNs */
  __u8 asks;     /* READ or atomic: answered by packets of their own */
  __u8 ends;     /* the last packet of a message */
  __u32 info;    /* of the opcode */
  __u8 syndrome;
};

#endif
