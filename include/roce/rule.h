/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Impairment rules as the datapath reads them. A rule matches packets, selects some of them and
 * acts on those; the first of a port's rules that matches a packet has it, whether it selects it or
 * not. match.h, select.h and act.h have the logic; userspace/impair makes these from words.
 */
#ifndef ROCE_RULE_H
#define ROCE_RULE_H

#include "types.h"

#define ROCE_RULES 64 /* of a port; a set of rules is a word of bits */
#define ROCE_RULE_SLOTS                                                                            \
  128 /* states: a new set's stand beside the old one's until it is in place */
#define ROCE_RULE_POINTS 1024 /* distances of one rule */
#define ROCE_RULE_TEXT                                                                             \
  8192 /* bytes of a rule's words, with the final 0: a table of points fits                        \
        */

/*
 * What a packet is, for `opcode` and `non-roce`: its opcode; for ACKNOWLEDGE and ATOMIC ACKNOWLEDGE
 * what their syndrome says; RDMA CM messages; everything that is no RoCE.
 */
#define ROCE_WHAT_AETH 256 /* + transport (opcode >> 5) * 8 + 4 if ATOMIC ACK + syndrome type */
#define ROCE_WHAT_CM 320
#define ROCE_WHAT_OTHER 321
#define ROCE_WHAT_VERSION 322 /* no RoCE either: a BTH whose TVer is not 0 */
#define ROCE_WHATS 323
#define ROCE_WHAT_MASK 511 /* bounds an index: the verifier sees that it is inside a ruleset */
ROCE_STATIC_ASSERT(ROCE_WHATS <= ROCE_WHAT_MASK + 1, "the mask changes no valid index");

static ROCE_INLINE __u32 roce_what_aeth(__u32 opcode, __u32 syndrome) {
  return ROCE_WHAT_AETH + (opcode >> 5) * 8 + ((opcode & 0x1f) == 0x12 ? 4 : 0) +
         ((syndrome >> 5) & 3);
}

/* roce_rule.checks: conditions that the tables of a set only narrow down. */
enum roce_rule_check {
  ROCE_CHECK_SRC = 1 << 0,
  ROCE_CHECK_DST = 1 << 1,
  ROCE_CHECK_QP = 1 << 2,
  ROCE_CHECK_PSN = 1 << 3,
  ROCE_CHECK_SIZE = 1 << 4,
  ROCE_CHECK_VLAN = 1 << 5,
  ROCE_CHECK_EVENT = 1 << 6,
  ROCE_CHECK_PKEY = 1 << 7,
  /* the same conditions, turned round by `not` */
  ROCE_CHECK_NOT_SRC = 1 << 8,
  ROCE_CHECK_NOT_DST = 1 << 9,
  ROCE_CHECK_NOT_QP = 1 << 10,
  ROCE_CHECK_NOT_PSN = 1 << 11,
  ROCE_CHECK_NOT_SIZE = 1 << 12,
  ROCE_CHECK_NOT_VLAN = 1 << 13,
  ROCE_CHECK_NOT_PKEY = 1 << 14,
};

struct roce_prefix {
  __u32 address[4]; /* network order, IPv4 as v4-mapped IPv6; zero where the mask is */
  __u32 mask[4];
};

/* Host order, both ends included. */
struct roce_range {
  __u32 from;
  __u32 to;
};

#define ROCE_RULE_RANGES 8
#define ROCE_QP_BY_NUMBER 0 /* roce_event_match.qp_number: DestQP is a condition of its own */

/* An exact event: a packet of a stream, by its place in it. */
struct roce_event_match {
  __u32 qp_number;          /* the n-th QP that the port saw, from 1 */
  struct roce_range packet; /* PSN - the stream's first PSN + 1 */
  __u32 iteration;          /* 1 + the stream's rewinds so far; 0: any */
};

enum roce_select {
  ROCE_SELECT_ALWAYS,
  ROCE_SELECT_PROBABILITY,
  ROCE_SELECT_EVERY,     /* the n-th, 2n-th, ... matched packet */
  ROCE_SELECT_POSITIONS, /* those at given places, from 1: points are distances, taken in turn */
  ROCE_SELECT_DISTANCE,  /* points are distances, drawn at random */
  ROCE_SELECT_BURST,     /* runs of packets that begin by chance or every so many */
  ROCE_SELECT_GILBERT,   /* Gilbert-Elliott, as netem's gemodel */
  ROCE_SELECT_BER,       /* by bit error rate and length */
};

#define ROCE_BER_SHIFT 44

/* Probabilities are 64-bit fractions: p * 2^64, and ~0 is certain. */
struct roce_selector {
  __u8 kind;                  /* enum roce_select */
  __u8 schedule;              /* enum roce_schedule */
  __u16 points;               /* POSITIONS, DISTANCE: how many, up to ROCE_RULE_POINTS */
  __u32 every;                /* EVERY, BURST: 0 is by chance */
  __u32 burst_from, burst_to; /* BURST: packets, both included */
  __u64 probability;          /* PROBABILITY; BURST: of a beginning; GILBERT: p, good to bad */
  __u64 bad_to_good;          /* GILBERT: r */
  __u64 loss_bad;             /* GILBERT: 1-h */
  __u64 loss_good;            /* GILBERT: 1-k */
  __u64 ber_log2;    /* BER: -8 * log2(1 - BER) << ROCE_BER_SHIFT: the exponent of a byte */
  __u64 limit;       /* acts so many times; 0 is no limit */
  __u64 start_ns;    /* of the schedule, CLOCK_MONOTONIC */
  __u64 duration_ns; /* ONCE, REPEAT */
  __u64 period_ns;   /* REPEAT */
  __u64 seed;
};

enum roce_schedule { ROCE_CONTINUOUS, ROCE_ONCE, ROCE_REPEAT };

enum roce_action_bits {
  ROCE_ACT_DROP = 1 << 0,
  ROCE_ACT_CE = 1 << 1,
  ROCE_ACT_RED = 1 << 2,    /* decides which go on to CE */
  ROCE_ACT_POLICE = 1 << 3, /* decides which are in excess */
  ROCE_ACT_CORRUPT_ICRC = 1 << 4,
  ROCE_ACT_CORRUPT_PAYLOAD = 1 << 5,
  ROCE_ACT_CORRUPT_HEADER = 1 << 6,
  ROCE_ACT_CORRUPT_BIT = 1 << 7,
  ROCE_ACT_SET_DSCP = 1 << 8,
  ROCE_ACT_SET_ECN = 1 << 9,
  ROCE_ACT_SET_FECN = 1 << 10,
  ROCE_ACT_SET_BECN = 1 << 11,
  ROCE_ACT_CNP = 1 << 12,
  ROCE_ACT_DUPLICATE = 1 << 13,
  ROCE_ACT_FORCE = 1 << 14, /* CE, RED: mark what is not ECN-capable too */
};
#define ROCE_ACTS_CORRUPT                                                                          \
  (ROCE_ACT_CORRUPT_ICRC | ROCE_ACT_CORRUPT_PAYLOAD | ROCE_ACT_CORRUPT_HEADER |                    \
   ROCE_ACT_CORRUPT_BIT)
#define ROCE_ACTS_REWRITE                                                                          \
  (ROCE_ACT_SET_DSCP | ROCE_ACT_SET_ECN | ROCE_ACT_SET_FECN | ROCE_ACT_SET_BECN)

/* What becomes of a frame: it goes on, it is dropped, it goes on twice, it goes on and a copy goes
 * back as CNP, it goes back as CNP itself. */
enum roce_fate { ROCE_GO_ON, ROCE_GONE, ROCE_TWICE, ROCE_GO_ON_WITH_CNP, ROCE_BACK_AS_CNP };

enum roce_cnp_scope { ROCE_CNP_STREAM, ROCE_CNP_PAIR, ROCE_CNP_PORT };

/* Time that bytes take, for RED and policers: nanoseconds * 256. */
#define ROCE_QUEUE_SHIFT 8
#define ROCE_QUEUE_SKEW (1ull << 38) /* clocks of two CPUs are no farther apart: 1 s */
#define ROCE_COST_SHIFT 24           /* byte_cost is that much finer still */

struct roce_queue {
  __u64 byte_cost; /* time a byte takes at the rate, * 2^ROCE_COST_SHIFT */
  __u32 overhead;  /* bytes that each frame takes beside its own (L1: 24) */
  __u32 reserved;
  __u64 low;   /* RED: KMIN as time; policer: the burst as time */
  __u64 high;  /* RED: KMAX as time */
  __u64 most;  /* RED: what the queue holds at most, as time */
  __u64 slope; /* RED: PMAX * 2^64 / (high - low), a 64-bit fraction for each unit of time */
};

struct roce_action {
  __u32 act;       /* enum roce_action_bits */
  __u8 dscp;       /* SET_DSCP */
  __u8 ecn;        /* SET_ECN */
  __u8 fecn, becn; /* SET_FECN, SET_BECN: the bit's value */
  __u8 cnp_dscp;
  __u8 cnp_scope; /* enum roce_cnp_scope */
  __u8 reserved[2];
  /* CORRUPT_HEADER: one of `bits` bits is flipped, `first_bit` bits behind the header's start */
  __u16 header; /* ROCE_OPCODE_INFO bit's number of the header (12: RETH, ...), 0: BTH */
  __u16 first_bit;
  __u16 bits;
  __u16 reserved2;
  __u64 cnp_interval_ns;
  struct roce_queue queue;
};

struct roce_rule {
  __u32 checks; /* enum roce_rule_check */
  __u32 slot;   /* of its state and points */
  __u32 id;     /* for people */
  __u32 qps;    /* ranges of QPs in use */
  struct roce_prefix src, dst;
  struct roce_range qp[ROCE_RULE_RANGES];
  struct roce_range psn;  /* modulo 2^24: from may be above to */
  struct roce_range size; /* bytes without FCS */
  struct roce_range vlan; /* VIDs; an untagged frame is in none */
  struct roce_range pkey;
  struct roce_event_match event;
  struct roce_selector select;
  struct roce_action action;
};

/* roce_ruleset.used: tables that rule something out. The others need not be looked at. */
enum roce_rule_uses {
  ROCE_USES_TOS = 1 << 0,
  ROCE_USES_SRC = 1 << 1,
  ROCE_USES_DST = 1 << 2,
  ROCE_USES_QP = 1 << 3,
  ROCE_USES_PSN = 1 << 4,
  ROCE_USES_SIZE = 1 << 5,
  ROCE_USES_VLAN = 1 << 6,
  ROCE_USES_PACKET = 1 << 7,
  ROCE_USES_BTH_FLAGS = 1 << 8,
  ROCE_USES_BTH_MARKS = 1 << 9,
  ROCE_USES_BTH_ACK = 1 << 10,
  ROCE_USES_PKEY = 1 << 11,
};
/* Those that need bytes of the BTH that nothing else reads. */
#define ROCE_USES_BTH                                                                              \
  (ROCE_USES_BTH_FLAGS | ROCE_USES_BTH_MARKS | ROCE_USES_BTH_ACK | ROCE_USES_PKEY)

#define ROCE_SIZE_SHIFT 6

/*
 * A port's rules, replaced as a whole. Each table has, for each value that a byte of the packet may
 * have, the rules (bit i is rule[i]) that this value does not rule out; the AND over all tables is
 * what is left to check (Lakshman and Stiliadis, SIGCOMM 1998).
 */
struct roce_ruleset {
  __u32 used; /* enum roce_rule_uses */
  __u32 count;
  __u64 what[ROCE_WHATS];
  __u64 tos[256];
  __u64 family[2];   /* [1]: IPv4 */
  __u64 src[4][256]; /* the last four bytes of the address */
  __u64 dst[4][256];
  __u64 qp[3][256];     /* from the most significant byte on */
  __u64 psn[2][256];    /* likewise, its two first bytes */
  __u64 size[256];      /* length >> ROCE_SIZE_SHIFT; the last: and longer */
  __u64 vlan[2][256];   /* low byte of the VID; [1]: tagged */
  __u64 packet[256];    /* low byte of the place in the stream, for events */
  __u64 bth_flags[256]; /* BTH byte 1: SE, MigReq, PadCnt, TVer */
  __u64 bth_marks[256]; /* byte 4: FECN, BECN, reserved */
  __u64 bth_ack[256];   /* byte 8: AckReq, reserved */
  __u64 pkey[2][256];   /* from the more significant byte on */
  struct roce_rule rule[ROCE_RULES];
};

/* A slot's rule for people, and what of it must outlive the process that made it. */
struct roce_rule_note {
  __u64 start_ns; /* of its schedule */
  __u32 id;
  __u32 reserved;
  char text[ROCE_RULE_TEXT];
};

/* What a rule counts; in the kernel each CPU has its own. */
struct roce_rule_count {
  __u64 matched;
  __u64 acted;
};

/* What a rule remembers. All CPUs share it; every word is written atomically. */
struct roce_rule_state {
  __u64 place;   /* packets that had one: the n-th matched, where the selector wants to know */
  __u64 limited; /* acts so far, where there is a limit */
  __u64 next;    /* selectors that keep a place: where they act next, or stop */
  __u64 word;    /* GILBERT: 1 is the bad state; POSITIONS: points taken */
  __u64 backlog; /* queue: when it will be empty, nanoseconds * 256 */
  __u64 draws;   /* places given out for chance alone */
  __u64 reserved[2];
};
ROCE_STATIC_ASSERT(sizeof(struct roce_rule_state) == 64, "a rule's state is a cache line");

#endif
