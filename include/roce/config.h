/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The configuration of an attachment, constant while it is attached, and the layout of its maps. */
#ifndef ROCE_CONFIG_H
#define ROCE_CONFIG_H

#include "episode.h"

/*
 * Incremented when the key, value or meaning of a map that userspace reads changes. Every
 * attachment has it in its .rodata.
 */
#define ROCE_ABI 14

struct roce_config {
  __u32 abi;
  __u16 udp_port_be;
  __u8 track;    /* 0: count opcodes only */
  __u8 frags;    /* the program accepts multi-buffer frames (kernel 5.18) */
  __u32 streams; /* records in the stream table */
  __u32 buckets; /* in the index of the stream table */
  __u64 hash_seed;
  __u64 attached_ns;   /* CLOCK_REALTIME */
  __u64 cnp_window_ns; /* a CNP is attributed to a CE mark or NAK at most this old */
  __u32 features;      /* enum roce_feature */
  __u32 side;          /* ROCE_KEY_SIDE on a bridge's second port */
  __u32 sides;         /* ROCE_KEY_SIDE if answers arrive on the other port */
  __u32 peer_ifindex;  /* bridge: the other port */
  __u32 uses;          /* enum roce_rule_uses: tables that at least one rule needs */
  __u32 decap;         /* tunnels to take off: 1 << enum roce_tunnel */
  __u32 quantum_ps;    /* 512 bits at the port's speed, the unit of PFC; 0: not known */
  __u32 pairs;         /* QP pairs that can be followed, and timed */
};
ROCE_STATIC_ASSERT(sizeof(struct roce_config) == 72, "roce_config is 72 bytes");

/* Features of the loaded program: the kernel removes the code of all others. */
enum roce_feature {
  ROCE_FEATURE_FORWARD = 1 << 0, /* bridge: frames leave through the other port */
  ROCE_FEATURE_RULES = 1 << 1,
  ROCE_FEATURE_EVENTS = 1 << 2, /* rules that need the packet's stream */
  ROCE_FEATURE_EDIT = 1 << 3,   /* rules that change bytes */
  ROCE_FEATURE_CNP = 1 << 4,
  ROCE_FEATURE_CLONE = 1 << 5,   /* duplicates, or CNPs without dropping the packet */
  ROCE_FEATURE_SOCKETS = 1 << 6, /* frames for a userspace endpoint go to its AF_XDP sockets */
  ROCE_FEATURE_CAPTURE = 1 << 7, /* copies of frames and their outcomes go to a reader */
  ROCE_FEATURE_PASSING =
      1 << 8,                   /* attached by endpoints and captures, detached with the last one */
  ROCE_FEATURE_HOLD = 1 << 9,   /* frames that rules or a link hold go to the wire process */
  ROCE_FEATURE_NEXT = 1 << 10,  /* rules that end with `next` */
  ROCE_FEATURE_DECAP = 1 << 11, /* takes tunnels off before it counts; without rules only */
  ROCE_FEATURE_CLASSES = 1 << 12, /* counts by DSCP and PCP */
  ROCE_FEATURE_FOLLOW = 1 << 13,  /* follows QP pairs, for episodes */
  ROCE_FEATURE_TIME = 1 << 14,    /* times QP pairs */
  ROCE_FEATURE_SKIP = 1 << 15,    /* both leave out packets in order: skip.h */
  ROCE_FEATURE_JOB = 1 << 16,     /* bursts by pair of hosts: job.h */
  ROCE_FEATURE_NIC_TIME =
      1 << 17, /* captured frames have the NIC's time; the program is its alone */
};
/*
 * Features that depend on the rules in force alone. ROCE_FEATURE_HOLD stays until the port is
 * detached.
 */
#define ROCE_FEATURES_OF_RULES                                                                     \
  ((__u32)(ROCE_FEATURE_RULES | ROCE_FEATURE_EVENTS | ROCE_FEATURE_EDIT | ROCE_FEATURE_CNP |       \
           ROCE_FEATURE_CLONE | ROCE_FEATURE_NEXT))
/* Features of the options that the port was attached with. */
#define ROCE_FEATURES_OF_OPTIONS                                                                   \
  ((__u32)(ROCE_FEATURE_DECAP | ROCE_FEATURE_CLASSES | ROCE_FEATURE_FOLLOW | ROCE_FEATURE_TIME |   \
           ROCE_FEATURE_SKIP | ROCE_FEATURE_JOB))
/* Features that only a bridge can have. */
#define ROCE_FEATURES_OF_BRIDGES ((__u32)(ROCE_FEATURE_CLONE | ROCE_FEATURE_HOLD))

/* `sockets` map: indexed by receive queue. `endpoints` map: keyed by address. */
#define ROCE_SOCKETS 64
#define ROCE_ENDPOINTS 1024

/* Hints of PSNs in use, which link the streams of a QP pair: link.h. One is for 64 PSNs. */
#define ROCE_PAIR_HINTS 16384
#define ROCE_PAIR_SHIFT 6

/* The partner records of a stream, by its record id. */
struct roce_pair {
  __u32 link;   /* the stream of the other direction: link.h */
  __u32 follow; /* stream of requests: number + 1 of its roce_follow; 0: none yet */
  __u32 timing; /* its number + 1 of its roce_timing; 0: none yet */
};

#define ROCE_CNP_WINDOW_NS 50000 /* DCQCN: the CNP interval of a notification point */

/*
 * Largest frame that is copied, in bytes; it must have a single buffer. For other frames the
 * kernel's clone (xdpf_clone) is not safe, or it fails and the original frame is lost too.
 */
#define ROCE_CLONE_MAX 3500

/* Times of the last CNPs: words of check << 40 | time, in units of 2^ROCE_PACE_SHIFT ns. */
#define ROCE_PACES 4096
#define ROCE_PACE_SHIFT 8
#define ROCE_PACE_TIME 0xffffffffffull

/*
 * Data for which a stream record has no room, at index record id & (ROCE_ASIDES - 1): words of (id
 * + 1) << 40 | value, so that each word identifies its stream. The first ROCE_ASIDES streams of a
 * port share no entry.
 */
#define ROCE_ASIDES 4096
struct roce_aside {
  __u64 ce;     /* time of the last CE mark; units as in paces */
  __u64 nak;    /* time of the last NAK */
  __u64 passed; /* time of its last CNP */
  __u64 cnp;    /* the CNP to send: DSCP << 26 | QPN */
  __u64 number; /* number of its QP, in the order seen by the port: see roce_number_in */
};

/* The QP's number as reported, from 1; 0: none. `before`: see roce_numbers_before. */
static ROCE_INLINE __u32 roce_number_in(const struct roce_aside *aside, __u32 id, __u64 before) {
  __u64 word = ROCE_LOAD(&aside->number), number = word & ROCE_PACE_TIME;

  return word >> 40 == id + 1 && number > before ? (__u32)(number - before) : 0;
}

/*
 * Hints: small direct-mapped tables that connect one packet with another; each entry is one word,
 * check << 32 | value. First third: READ REQUESTs whose length in PSNs is unknown, by (source,
 * destination, PSN); the value is their stream's record id + 1. Second third: RDMA CM messages
 * seen. Last third: requests that expect an answer, also by PSN; their answers give the sender's
 * QPN. After these, one word for each side of a bridge: the last QP number given before the
 * numbering was restarted.
 */
#define ROCE_HINTS_CM 4096
#define ROCE_HINTS_ASKED 8192
#define ROCE_HINTS_NUMBERS 12288
#define ROCE_HINTS 12290

/* Key of the `peers` map: QPNs given by the user, where no packet has them. */
struct roce_peer {
  __u32 src[4]; /* network order, IPv4 as v4-mapped IPv6 */
  __u32 dest_qp;
};
#define ROCE_PEERS 4096

/*
 * Mirror sessions of a port with ROCE_FEATURE_DECAP. A session is in one of ROCE_MIRROR_PROBES
 * records from its home on.
 */
#define ROCE_MIRRORS 256
#define ROCE_MIRROR_PROBES 8

#define ROCE_SLOTS 15
#define ROCE_PROBES 8
#define ROCE_SLOT_ID 0xffffffu
#define ROCE_STREAMS_MAX (ROCE_SLOT_ID - 1)

struct roce_bucket {
  __u32 version;
  __u32 slot[ROCE_SLOTS]; /* tag << 24 | record id + 1; 0 is empty */
};
ROCE_STATIC_ASSERT(sizeof(struct roce_bucket) == 64, "a bucket is a cache line");

/* Buckets for a table of n streams: two thirds of the slots are used when all n are present. */
#define ROCE_BUCKETS_FOR(n) ((n) / 10 + ROCE_PROBES)

/* State shared by all CPUs, written by the programs. */
struct roce_shared {
  __u32 streams_used; /* records allocated; may exceed `streams` by the number of CPUs */
  __u32 hand;         /* next record to check for an idle stream */
  __u32 spare;        /* id + 1 of a record that found no slot in the index; 0: none */
  __u32 qps[2];       /* QPs seen on each side */
  __u32 cnps_seen;    /* 1: a CNP was seen, so CE marks are stored with their time */
  __u32 follows_used; /* records of QP pairs given out; may exceed `pairs` */
  __u32 timings_used;
  __u64 episodes; /* found, with those that newer ones replaced */
  __u64 findings;
  __u64 causes[2][ROCE_CAUSES]; /* episodes begun of the requests of each side */
};

#endif
