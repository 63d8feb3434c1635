/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What is fixed for the life of an attachment, and how to tell that two builds mean the same. */
#ifndef ROCE_CONFIG_H
#define ROCE_CONFIG_H

#include "types.h"

/* Raised whenever a map's key, value or meaning changes. It stands in every attachment's .rodata.
 */
#define ROCE_ABI 1

struct roce_config {
  __u32 abi;
  __u16 udp_port_be;
  __u8 track;    /* 0: count opcodes only */
  __u8 frags;    /* the program may meet frames in several buffers (kernel 5.18) */
  __u32 streams; /* records in the stream table */
  __u32 buckets; /* of its index */
  __u64 hash_seed;
  __u64 attached_ns; /* CLOCK_REALTIME */
};
ROCE_STATIC_ASSERT(sizeof(struct roce_config) == 32, "roce_config is 32 bytes");

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
  __u32 reserved;
};

#endif
