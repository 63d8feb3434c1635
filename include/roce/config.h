/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What is fixed for the life of an attachment, and how to tell that two builds mean the same. */
#ifndef ROCE_CONFIG_H
#define ROCE_CONFIG_H

#include "types.h"

/* Raised whenever key, value or meaning of a map changes that userspace reads. It stands in every
 * attachment's .rodata.
 */
#define ROCE_ABI 5

struct roce_config {
  __u32 abi;
  __u16 udp_port_be;
  __u8 track;    /* 0: count opcodes only */
  __u8 frags;    /* the program may meet frames in several buffers (kernel 5.18) */
  __u32 streams; /* records in the stream table */
  __u32 buckets; /* of its index */
  __u64 hash_seed;
  __u64 attached_ns;   /* CLOCK_REALTIME */
  __u64 cnp_window_ns; /* a CNP is put down to a CE mark or NAK so recent */
  __u32 features;      /* enum roce_feature */
  __u32 side;          /* ROCE_KEY_SIDE on a bridge's second port */
  __u32 sides;         /* ROCE_KEY_SIDE when answers come in on the other port */
  __u32 peer_ifindex;  /* of a bridge */
  __u32 uses;          /* enum roce_rule_uses: tables that some rule wants */
  __u32 reserved;
};
ROCE_STATIC_ASSERT(sizeof(struct roce_config) == 64, "roce_config is 64 bytes");

/* What the program is made for; what is not in it is not in the program. */
enum roce_feature {
  ROCE_FEATURE_FORWARD = 1 << 0, /* a bridge: frames leave by the other port */
  ROCE_FEATURE_RULES = 1 << 1,
  ROCE_FEATURE_EVENTS = 1 << 2, /* rules that want a packet's stream */
  ROCE_FEATURE_EDIT = 1 << 3,   /* rules that change bytes */
  ROCE_FEATURE_CNP = 1 << 4,
  ROCE_FEATURE_CLONE = 1 << 5,   /* duplicates, or CNPs while the packet goes on */
  ROCE_FEATURE_SOCKETS = 1 << 6, /* frames for an endpoint in userspace go to its AF_XDP sockets */
  ROCE_FEATURE_CAPTURE = 1 << 7, /* copies of frames, and what became of them, go to a reader */
  ROCE_FEATURE_PASSING = 1 << 8, /* attached by an endpoint or a capture, goes with the last one */
};
/* Those that come and go with the rules. */
#define ROCE_FEATURES_OF_RULES                                                                     \
  ((__u32)(ROCE_FEATURE_RULES | ROCE_FEATURE_EVENTS | ROCE_FEATURE_EDIT | ROCE_FEATURE_CNP |       \
           ROCE_FEATURE_CLONE))

/* `sockets` map: by receive queue. `endpoints` map: struct roce_endpoint, addresses. */
#define ROCE_SOCKETS 64
#define ROCE_ENDPOINTS 1024

#define ROCE_CNP_WINDOW_NS 50000 /* as DCQCN's notification points pace them */

/*
 * Copies are made of frames in one buffer that leave room in a page: of others the kernel's clone
 * (xdpf_clone) is not sound, or fails and takes the frame with it.
 */
#define ROCE_CLONE_MAX 3500

/* Paces of CNPs: words of check << 40 | time in units of 2^ROCE_PACE_SHIFT ns. */
#define ROCE_PACES 4096
#define ROCE_PACE_SHIFT 8
#define ROCE_PACE_TIME 0xffffffffffull

/*
 * What a record has no room for, by record id & (ROCE_ASIDES - 1): words of (id + 1) << 40 and a
 * value, so that each tells whose it is. A port's first streams have theirs for sure.
 */
#define ROCE_ASIDES 4096
struct roce_aside {
  __u64 ce;     /* when it had its last CE mark; units as those of paces */
  __u64 nak;    /* and its last NAK */
  __u64 cnp;    /* the CNP to be made for it: DSCP << 26 | QPN */
  __u64 number; /* of its QP in the order in which the port saw them: see roce_number_in */
};

/* Its number as people know it, from 1; 0: it has none. */
static ROCE_INLINE __u32 roce_number_in(const struct roce_aside *aside, __u32 id, __u64 before) {
  __u64 number = aside->number & ROCE_PACE_TIME;

  return aside->number >> 40 == id + 1 && number > before ? (__u32)(number - before) : 0;
}

/*
 * Hints: small direct-mapped memories of what one packet tells about another, each entry one word,
 * check << 32 | value. The first third: READ REQUESTs whose length in PSNs is unknown, by (source,
 * destination, PSN), with the record id + 1 of their stream. The second: RDMA CM messages seen. The
 * third: requests to be answered, likewise by PSN, whose answers tell the sender's QPN. Behind
 * them, a word for each side of a bridge: the last number of a QP given before QPs were numbered
 * anew.
 */
#define ROCE_HINTS_CM 4096
#define ROCE_HINTS_ASKED 8192
#define ROCE_HINTS_NUMBERS 12288
#define ROCE_HINTS 12290

/* `peer` map: told by the user, where nothing on the wire tells. */
struct roce_peer {
  __u32 src[4]; /* network order, IPv4 as v4-mapped IPv6 */
  __u32 dest_qp;
};
#define ROCE_PEERS 4096

#define ROCE_SLOTS 15
#define ROCE_PROBES 8
#define ROCE_SLOT_ID 0xffffffu
#define ROCE_STREAMS_MAX (ROCE_SLOT_ID - 1)

struct roce_bucket {
  __u32 version;
  __u32 slot[ROCE_SLOTS]; /* tag << 24 | record id + 1; 0 is empty */
};
ROCE_STATIC_ASSERT(sizeof(struct roce_bucket) == 64, "a bucket is a cache line");

/* Buckets for a table of n streams: two thirds full when all n are there. */
#define ROCE_BUCKETS_FOR(n) ((n) / 10 + ROCE_PROBES)

/* State that programs write for all CPUs together. */
struct roce_shared {
  __u32 streams_used; /* records handed out; may pass `streams` by the number of CPUs */
  __u32 hand;         /* where the search for an idle stream goes on */
  __u32 spare;        /* a record that found no slot in the index, its id + 1 */
  __u32 qps[2];       /* QPs seen by each side */
  __u32 cnps_seen;    /* some CNP came, so that marks are noted with their time */
};

#endif
