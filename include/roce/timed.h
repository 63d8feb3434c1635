/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The record of a timed QP pair: which requests wait for which answers. timing.h fills it. */
#ifndef ROCE_TIMED_H
#define ROCE_TIMED_H

#include "parse.h"

/* Times that the packets of a QP pair show. Each is exact, or an upper bound. */
enum roce_latency {
  ROCE_LATENCY_ACK,        /* a request with AckReq, to the first answer that covers it */
  ROCE_LATENCY_READ_FIRST, /* READ REQUEST to its first response */
  ROCE_LATENCY_READ,       /* READ REQUEST to its last response, all before it having come */
  ROCE_LATENCY_ATOMIC,     /* atomic to its ATOMIC ACK */
  ROCE_LATENCY_MESSAGE,    /* first packet of a message to the first answer that covers its last */
  ROCE_LATENCY_CNP,        /* the first CE mark since the CNP before, to the CNP */
  ROCE_LATENCY_FALL,       /* a CNP, to the fall of its sender's rate */
  ROCE_LATENCIES,
};

/* What a request waits for; ROCE_AWAIT_NOTHING: no longer. */
enum roce_await { ROCE_AWAIT_NOTHING, ROCE_AWAIT_ACK, ROCE_AWAIT_READ, ROCE_AWAIT_ATOMIC };

struct roce_awaited {
  __u64 sent_ns;  /* 0: not timed, or its PSN passed again, so that an answer may be to either */
  __u64 first_ns; /* of the message that it ends; 0: it ends none, or its beginning is not known */
  __u32 next;     /* READ: PSN of the next response; otherwise its own PSN */
  __u32 end : 24; /* after its PSNs; READ: of no meaning if `open` */
  __u32 what : 7; /* enum roce_await */
  __u32 open : 1; /* a READ of unknown length in PSNs */
};
ROCE_STATIC_ASSERT(sizeof(struct roce_awaited) == 24, "roce_awaited is 24 bytes");

/* Requests of a pair that may wait at once; more are counted. A power of two. */
#define ROCE_AWAITED 128

enum roce_timing_flags {
  ROCE_TIMING_STARTED = 1 << 0,
  ROCE_TIMING_MESSAGE = 1 << 1, /* `message_ns` is valid: no PSN was skipped since the FIRST */
  ROCE_TIMING_OPEN = 1 << 2,    /* the newest request is a READ of unknown length in PSNs */
  ROCE_TIMING_SKIPS = 1 << 3,   /* requests may have been skipped: skip.h */
  ROCE_TIMING_FULL = 1 << 4,    /* no place is left, and none makes way before the next answer */
};

#define ROCE_FALL_BEFORE 16 /* gaps between packets; powers of two */
#define ROCE_FALL_AFTER 32

/* The pace of a sender around a CNP. */
struct roce_fall {
  __u64 cnp_ns;                   /* of the CNP that is measured; 0: none */
  __u64 last_cnp_ns;              /* of the newest */
  __u64 other_ns;                 /* the first CNP after that at cnp_ns; 0: none */
  __u64 newest_ns;                /* the end of the newest gap */
  __u64 begins[ROCE_FALL_AFTER];  /* of the gaps after the CNP */
  __u32 before[ROCE_FALL_BEFORE]; /* ns; a ring of which `seen` were written */
  __u32 after[ROCE_FALL_AFTER];
  __u32 seen, count;
  /* CNPs without a time */
  __u64 steady;     /* the rate did not fall measurably */
  __u64 unmeasured; /* too few packets before or after, or packets sent again */
  __u64 close;      /* too soon after another */
};

struct roce_timing {
  /* what a packet in order touches */
  __u32 lock;    /* 1: a CPU is changing the record; roce_pair_enter */
  __u32 flags;   /* enum roce_timing_flags */
  __u32 next;    /* the PSN after the newest request */
  __u32 request; /* record ids; ROCE_NO_STREAM: not known */
  __u32 response;
  __u32 check; /* roce_pair_check(&key) */

  struct roce_key key;                       /* of the stream of requests */
  struct roce_awaited awaited[ROCE_AWAITED]; /* number n is at n % ROCE_AWAITED */
  __u32 head, tail;                          /* numbers of the oldest and of the next */
  __u64 message_ns;
  /* CE marks since the last CNP: the first, and how many */
  __u64 ce_ns, answers_ce_ns;
  __u32 ce, answers_ce;
  __u64 newest_ns; /* of the newest request */
  struct roce_fall fall;
  /* not timed */
  __u64 full;       /* requests beyond ROCE_AWAITED */
  __u64 ambiguous;  /* their PSN passed again before an answer */
  __u64 unanswered; /* later ones were answered, and they made way; or the stream was reset */
  __u64 broken;     /* messages of which PSNs were skipped */
};

#endif
