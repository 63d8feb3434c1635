/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Frames that the wire process holds: what the program puts in front of them, and what the process
 * reports. A frame is held by rules with an action of ROCE_ACTS_HOLD, by the queue of the port that
 * it leaves by (a link), or by both.
 */
#ifndef ROCE_HOLD_H
#define ROCE_HOLD_H

#include "rule.h"

/*
 * The XDP metadata of a held frame, the bytes before its first byte, in host byte order. 32 bytes
 * are the most that all kernels allow.
 */
struct roce_held {
  __u16 magic;      /* ROCE_HELD_MAGIC */
  __u16 generation; /* of the set of rules that `rules` refers to: roce_ruleset.generation */
  __u32 copies;     /* ROCE_HELD_... */
  __u64 arrived_ns; /* CLOCK_MONOTONIC */
  __u64 rules;      /* bit i: rule i of the set holds the frame, or only counts it (reorder) */
  __u64 selected;   /* bit i: rule i selected the frame */
};
ROCE_STATIC_ASSERT(sizeof(struct roce_held) == 32, "metadata of XDP has at most 32 bytes");
#define ROCE_HELD_MAGIC 0x5848

/*
 * roce_held.copies, which the process makes: it sends the frame twice, and it returns a CNP to the
 * QP in the low 24 bits with the DSCP in the 6 bits above.
 */
#define ROCE_HELD_CNP_QP 0xffffffu
#define ROCE_HELD_CNP_DSCP_SHIFT 24
#define ROCE_HELD_CNP (1u << 30)
#define ROCE_HELD_TWICE (1u << 31)

/* `hold` map: what the port's program hands over. */
struct roce_hold {
  __u32 link; /* 1: every frame that is forwarded, as the other port has a link */
  __u32 reserved;
};

/* `link` map: the words of the port's link (`xdp-roce link`). */
#define ROCE_LINK_TEXT 4080
struct roce_link_note {
  __u64 changes;             /* rises with every change */
  __u64 since_ns;            /* CLOCK_MONOTONIC of the last change */
  char text[ROCE_LINK_TEXT]; /* with a final 0; "": no link */
};

/*
 * `wire` map: counts and histograms that the wire process keeps for the port, in a layout of its
 * own (userspace/foundation/model/wire_counts.h). They stay readable when the process has ended.
 */
#define ROCE_WIRE_MEMORY 1048576 /* 1 MiB */
struct roce_wire_memory {
  __u8 bytes[ROCE_WIRE_MEMORY];
};

#endif
