/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Impairment rules as the datapath reads them. A rule matches packets, selects some of them and
 * acts on those. The first of a port's rules that matches a packet applies to it, even if it does
 * not select the packet; the next one that matches applies too if the rule ends with `next`. The
 * logic is in match.h, select.h and act.h; userspace/spec/impair builds these structures from text.
 */
#ifndef ROCE_RULE_H
#define ROCE_RULE_H

#include "types.h"

#define ROCE_RULES 64 /* per port; a set of rules is a 64-bit mask */
#define ROCE_RULE_SLOTS                                                                            \
  128 /* rule states: while a set is replaced, the old and the new one both have theirs */
#define ROCE_RULE_POINTS 1024 /* most distances of one rule */
#define ROCE_RULE_TEXT                                                                             \
  8192 /* bytes of a rule's text, with the final 0; enough for a table of points */

/*
 * The kind of a packet, for `opcode` and `non-roce`: its opcode; for ACKNOWLEDGE and ATOMIC
 * ACKNOWLEDGE, the type of the syndrome; RDMA CM messages; frames that are not RoCE.
 */
#define ROCE_WHAT_AETH 256 /* + transport (opcode >> 5) * 8 + 4 if ATOMIC ACK + syndrome type */
#define ROCE_WHAT_CM 320
#define ROCE_WHAT_OTHER 321
#define ROCE_WHAT_VERSION 322 /* not RoCE either: a BTH whose TVer is not 0 */
#define ROCE_WHATS 323
#define ROCE_WHAT_MASK 511 /* index mask: shows the verifier that an access is in bounds */
ROCE_STATIC_ASSERT(ROCE_WHATS <= ROCE_WHAT_MASK + 1, "the mask changes no valid index");

static ROCE_INLINE __u32 roce_what_aeth(__u32 opcode, __u32 syndrome) {
  return ROCE_WHAT_AETH + (opcode >> 5) * 8 + ((opcode & 0x1f) == 0x12 ? 4 : 0) +
         ((syndrome >> 5) & 3);
}

/* roce_rule.checks: conditions that the tables of a set do not fully decide. */
enum roce_rule_check {
  ROCE_CHECK_SRC = 1 << 0,
  ROCE_CHECK_DST = 1 << 1,
  ROCE_CHECK_QP = 1 << 2,
  ROCE_CHECK_PSN = 1 << 3,
  ROCE_CHECK_SIZE = 1 << 4,
  ROCE_CHECK_VLAN = 1 << 5,
  ROCE_CHECK_EVENT = 1 << 6,
  ROCE_CHECK_PKEY = 1 << 7,
  /* the same conditions, negated by `not` */
  ROCE_CHECK_NOT_SRC = 1 << 8,
  ROCE_CHECK_NOT_DST = 1 << 9,
  ROCE_CHECK_NOT_QP = 1 << 10,
  ROCE_CHECK_NOT_PSN = 1 << 11,
  ROCE_CHECK_NOT_SIZE = 1 << 12,
  ROCE_CHECK_NOT_VLAN = 1 << 13,
  ROCE_CHECK_NOT_PKEY = 1 << 14,
  ROCE_CHECK_OUTER = 1 << 15,    /* roce_rule.outer */
  ROCE_CHECK_DISABLED = 1 << 16, /* no table has the rule: read by userspace only */
};

struct roce_prefix {
  __u32 address[4]; /* network order, IPv4 as v4-mapped IPv6; 0 where the mask is 0 */
  __u32 mask[4];
};

/* Host order; includes both ends. */
struct roce_range {
  __u32 from;
  __u32 to;
};

#define ROCE_RULE_RANGES 8
#define ROCE_QP_BY_NUMBER 0 /* roce_event_match.qp_number: any; DestQP is a separate condition */

/* An event: a packet identified by its place in its stream. */
struct roce_event_match {
  __u32 qp_number;          /* the n-th QP that the port saw, from 1 */
  struct roce_range packet; /* roce_place: PSN - first PSN of the stream, or of its resync, + 1 */
  __u32 iteration;          /* 1 + the stream's rewinds so far; 0: any */
};

/* roce_outer_match.used: conditions that read the frame again (outer.h). */
enum roce_outer_field {
  ROCE_OUTER_SRC_MAC = 1 << 0, /* bit i: raw[i] */
  ROCE_OUTER_DST_MAC = 1 << 1,
  ROCE_OUTER_BYTES = 1 << 2,
  ROCE_OUTER_PCP = 1 << 3,
  ROCE_OUTER_INNER_VLAN = 1 << 4,
  ROCE_OUTER_MPLS = 1 << 5,
  ROCE_OUTER_SRC_PORT = 1 << 6,
  ROCE_OUTER_DST_PORT = 1 << 7,
  ROCE_OUTER_VERSION = 1 << 8,
};
enum roce_raw { ROCE_RAW_SRC_MAC, ROCE_RAW_DST_MAC, ROCE_RAW_ANY, ROCE_RAW_MATCHES };
#define ROCE_RAW_BYTES 6
#define ROCE_PCP_NONE 8 /* an untagged frame, in roce_outer_match.pcps */

/* Six bytes of a frame as a number, the first being the most significant. */
struct roce_raw_match {
  __u64 value; /* 0 where the mask is 0 */
  __u64 mask;  /* 0 for the bytes after `length` */
  __u32 offset;
  __u32 length; /* bytes that the frame must have, up to ROCE_RAW_BYTES */
};

struct roce_outer_match {
  __u32 used;     /* enum roce_outer_field */
  __u32 inverted; /* those after `not` */
  struct roce_raw_match raw[ROCE_RAW_MATCHES];
  struct roce_range inner_vlan; /* VIDs */
  struct roce_range mpls;
  struct roce_range src_port, dst_port;
  __u32 pcps;    /* bit i: PCP i, or ROCE_PCP_NONE */
  __u32 version; /* of RoCE: 1 or 2 */
};

enum roce_select {
  ROCE_SELECT_ALWAYS,
  ROCE_SELECT_PROBABILITY,
  ROCE_SELECT_EVERY,     /* the n-th, 2n-th, ... matched packet */
  ROCE_SELECT_POSITIONS, /* given places, from 1; points are the distances between them, in order */
  ROCE_SELECT_DISTANCE,  /* points are distances, drawn at random */
  ROCE_SELECT_BURST,     /* runs of packets that begin at random or every n packets */
  ROCE_SELECT_GILBERT,   /* Gilbert-Elliott, as netem's gemodel */
  ROCE_SELECT_BER,       /* by bit error rate and length */
  ROCE_SELECT_SPACED,    /* a fraction of the packets, evenly spaced: every / ROCE_SPACED_WHOLE */
};

#define ROCE_SPACED_WHOLE 1000000000ull

#define ROCE_BER_SHIFT 44

/* Probabilities are 64-bit fractions: p * 2^64; ~0 is 1. */
struct roce_selector {
  __u8 kind;                  /* enum roce_select */
  __u8 schedule;              /* enum roce_schedule */
  __u16 points;               /* POSITIONS, DISTANCE: number of points, up to ROCE_RULE_POINTS */
  __u32 every;                /* EVERY, BURST: n; BURST: 0 is at random; SPACED: the fraction */
  __u32 burst_from, burst_to; /* BURST: length in packets, inclusive */
  __u64 probability;          /* PROBABILITY; BURST: of a start; GILBERT: p, good to bad */
  __u64 bad_to_good;          /* GILBERT: r */
  __u64 loss_bad;             /* GILBERT: 1-h */
  __u64 loss_good;            /* GILBERT: 1-k */
  __u64 ber_log2;             /* BER: -8 * log2(1 - BER) << ROCE_BER_SHIFT: the exponent per byte */
  __u64 limit;                /* most actions; 0: no limit */
  __u64 limit_ns;             /* most actions in each period of this length; 0: in all */
  __u64 start_ns;             /* of the schedule, CLOCK_MONOTONIC */
  __u64 duration_ns;          /* ONCE, REPEAT */
  __u64 period_ns;            /* REPEAT */
  __u64 seed;
};

enum roce_schedule { ROCE_CONTINUOUS, ROCE_ONCE, ROCE_REPEAT };

enum roce_action_bits {
  ROCE_ACT_DROP = 1 << 0,
  ROCE_ACT_CE = 1 << 1,
  ROCE_ACT_RED = 1 << 2,    /* chooses the packets that get CE */
  ROCE_ACT_POLICE = 1 << 3, /* chooses the packets in excess */
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
  ROCE_ACT_FORCE = 1 << 14, /* CE, RED: also mark packets that are not ECN-capable */
  /* The process of `wire` performs these: it holds the frame. They change no byte. */
  ROCE_ACT_DELAY = 1 << 15,
  ROCE_ACT_ACCUMULATE = 1 << 16,
  ROCE_ACT_REORDER = 1 << 17,
  ROCE_ACT_SHAPE = 1 << 18,
  ROCE_ACT_CORRUPT_IP_CHECKSUM = 1 << 19,
  ROCE_ACT_CORRUPT_UDP_CHECKSUM = 1 << 20,
};
#define ROCE_ACTS_CHECKSUM (ROCE_ACT_CORRUPT_IP_CHECKSUM | ROCE_ACT_CORRUPT_UDP_CHECKSUM)
#define ROCE_ACTS_CORRUPT                                                                          \
  (ROCE_ACT_CORRUPT_ICRC | ROCE_ACT_CORRUPT_PAYLOAD | ROCE_ACT_CORRUPT_HEADER |                    \
   ROCE_ACT_CORRUPT_BIT | ROCE_ACTS_CHECKSUM)
#define ROCE_ACTS_REWRITE                                                                          \
  (ROCE_ACT_SET_DSCP | ROCE_ACT_SET_ECN | ROCE_ACT_SET_FECN | ROCE_ACT_SET_BECN)
#define ROCE_ACTS_HOLD (ROCE_ACT_DELAY | ROCE_ACT_ACCUMULATE | ROCE_ACT_REORDER | ROCE_ACT_SHAPE)

/*
 * What happens to a frame: it continues; it is dropped; it continues twice; it continues and a copy
 * is returned as CNP; it is returned as CNP itself. A frame that continues, in any of these ways,
 * may be held as well: ROCE_HELD is added, and roce_passing.held is filled in.
 */
enum roce_fate { ROCE_GO_ON, ROCE_GONE, ROCE_TWICE, ROCE_GO_ON_WITH_CNP, ROCE_BACK_AS_CNP };
#define ROCE_FATE_MASK 7
#define ROCE_HELD 8

enum roce_cnp_scope { ROCE_CNP_STREAM, ROCE_CNP_PAIR, ROCE_CNP_PORT };

/* Queue lengths of RED and policers are transmission times, in ns * 256. */
#define ROCE_QUEUE_SHIFT 8
#define ROCE_QUEUE_SKEW (1ull << 38) /* largest difference between the clocks of two CPUs: 1 s */
#define ROCE_COST_SHIFT 24           /* number of additional fraction bits of byte_cost */

struct roce_queue {
  __u64 byte_cost; /* transmission time of a byte at the rate, * 2^ROCE_COST_SHIFT */
  __u32 overhead;  /* bytes per frame in addition to its length (L1: 24) */
  __u32 reserved;
  __u64 low;   /* RED: KMIN as time; policer: the burst as time */
  __u64 high;  /* RED: KMAX as time */
  __u64 most;  /* RED: the queue's capacity, as time */
  __u64 slope; /* RED: PMAX * 2^64 / (high - low): 64-bit fraction per unit of time */
};

struct roce_action {
  __u32 act;       /* enum roce_action_bits */
  __u8 dscp;       /* SET_DSCP */
  __u8 ecn;        /* SET_ECN */
  __u8 fecn, becn; /* SET_FECN, SET_BECN: the bit's value */
  __u8 cnp_dscp;
  __u8 cnp_scope; /* enum roce_cnp_scope */
  __u8 next;      /* 1: later rules apply to the packet too, whether this one selected it or not */
  __u8 reserved;
  /*
   * CORRUPT_HEADER: flips one of `bits` bits, from bit `first_bit` of the header on. CORRUPT_BIT: 1
   * in `bits` is bit `first_bit` from the BTH on; 0: any bit.
   */
  __u16 header; /* the header's bit number in enum roce_opcode_bits (12: RETH, ...); 0: BTH */
  __u16 first_bit;
  __u16 bits;
  __u16 reserved2;
  __u64 cnp_interval_ns;
  struct roce_queue queue;
};

struct roce_rule {
  __u32 checks; /* enum roce_rule_check */
  __u32 slot;   /* index of its state and points */
  __u32 id;     /* as shown to users */
  __u32 qps;    /* number of ranges in `qp` */
  /* What a packet that matches needs first is together in three cache lines. */
  struct roce_selector select;
  struct roce_action action;
  struct roce_prefix src, dst;
  struct roce_range qp[ROCE_RULE_RANGES];
  struct roce_range psn;  /* modulo 2^24: from may exceed to */
  struct roce_range size; /* bytes without FCS */
  struct roce_range vlan; /* VIDs; an untagged frame matches none */
  struct roce_range pkey;
  struct roce_event_match event;
  struct roce_outer_match outer;
};

/* roce_ruleset.used: tables that exclude at least one rule. The others need no lookup. */
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
  ROCE_USES_OUTER = 1 << 12, /* no table: a rule has conditions that read the frame again */
};
/* Tables that need BTH bytes that nothing else reads. */
#define ROCE_USES_BTH                                                                              \
  (ROCE_USES_BTH_FLAGS | ROCE_USES_BTH_MARKS | ROCE_USES_BTH_ACK | ROCE_USES_PKEY)

#define ROCE_SIZE_SHIFT 6

/*
 * A port's rules, replaced as a whole. For each value of a packet byte, a table has the rules (bit
 * i is rule[i]) that this value does not exclude. The AND over all tables gives the rules left to
 * check (Lakshman and Stiliadis, SIGCOMM 1998).
 */
struct roce_ruleset {
  __u32 used; /* enum roce_rule_uses */
  __u32 count;
  __u32 generation; /* another one for each set; roce_held.generation has its low bits */
  __u32 reserved;
  __u64 holds;           /* rules that hold what they match, and do no more: roce_holds_all */
  __u64 next;            /* rules that end with `next` */
  __u8 slot[ROCE_RULES]; /* of each rule */
  __u64 what[ROCE_WHATS];
  __u64 tos[256];
  __u64 family[2];   /* [1]: IPv4 */
  __u64 src[4][256]; /* the last four bytes of the address */
  __u64 dst[4][256];
  __u64 qp[3][256];     /* most significant byte first */
  __u64 psn[2][256];    /* the two most significant bytes */
  __u64 size[256];      /* length >> ROCE_SIZE_SHIFT; the last entry is for all longer frames */
  __u64 vlan[2][256];   /* low byte of the VID; [1]: tagged */
  __u64 packet[256];    /* low byte of the place in the stream, for events */
  __u64 bth_flags[256]; /* BTH byte 1: SE, MigReq, PadCnt, TVer */
  __u64 bth_marks[256]; /* byte 4: FECN, BECN, reserved */
  __u64 bth_ack[256];   /* byte 8: AckReq, reserved */
  __u64 pkey[2][256];   /* most significant byte first */
  struct roce_rule rule[ROCE_RULES];
};

ROCE_STATIC_ASSERT(ROCE_RULE_SLOTS <= 256, "a slot's number is a byte");

/* 1 for a rule that needs nothing but to be counted where the tables match: it holds the packet. */
static ROCE_INLINE int roce_holds_all(const struct roce_rule *rule) {
  return !rule->checks && rule->action.act & ROCE_ACTS_HOLD &&
         !(rule->action.act & ~(__u32)ROCE_ACTS_HOLD) && !rule->select.limit &&
         rule->select.kind == ROCE_SELECT_ALWAYS && rule->select.schedule == ROCE_CONTINUOUS;
}

/* A slot's rule as text, and the data that must outlive the process that created it. */
struct roce_rule_note {
  __u64 start_ns; /* of its schedule */
  __u32 id;
  __u32 reserved;
  char text[ROCE_RULE_TEXT];
};

/* A rule's counters; in the kernel each CPU has its own. */
struct roce_rule_count {
  __u64 matched;
  __u64 acted;
  __u64 matched_bytes; /* of the frames, without FCS */
  __u64 acted_bytes;
  /* Selected packets without an action; with `acted` they are all that were selected. */
  __u64 spared;         /* by RED, or within the policer's rate */
  __u64 limited;        /* the rule had reached its limit */
  __u64 not_applicable; /* no action of the rule changes such a packet */
  __u64 refused;        /* no CNP (paced, or its receiver unknown), or no copy was possible */
};

/* A rule's state, shared by all CPUs; every word is written atomically. */
struct roce_rule_state {
  __u64 place; /* places given: the n-th matched packet, if the selector needs it */
  __u64
      limited; /* actions so far, if there is a limit; with a period: its number << 32 | actions */
  __u64 next;  /* selectors that store a place: of the next action, or of the last */
  __u64 word;  /* GILBERT: 1 is the bad state; POSITIONS: points used */
  __u64 backlog;  /* queue: time when it will be empty, ns * 256 */
  __u64 draws;    /* places given only for random numbers */
  __u64 not_held; /* packets that it was to hold, and that no process took */
  __u64 reserved;
};
ROCE_STATIC_ASSERT(sizeof(struct roce_rule_state) == 64, "a rule's state is a cache line");

#endif
