/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Working memory for the accounting of a packet. */
#ifndef ROCE_SCRATCH_H
#define ROCE_SCRATCH_H

#include "cm.h"
#include "episode.h"
#include "event.h"
#include "followed.h"
#include "table.h"
#include "tunnel.h"

/* The frame inside the tunnels of the current frame. */
struct roce_inner {
  __u32 start;   /* its offset: of its link layer, or as far before `l3` as in the outer frame */
  __u32 l3;      /* offset of its network layer */
  __u16 type_be; /* EtherType at l3; 0 before its Ethernet header is read */
  __u16 vlan;    /* as in roce_packet */
  __u32 depth;   /* tunnels taken off */
  __u32 cut;     /* the bytes end inside its Ethernet header */
  __u64 mark;    /* of its mirror session: roce_mark */
  struct roce_origin from;
};

/* The packet that was tracked in the current frame, for following and timing. */
struct roce_tracked {
  __u32 stream; /* its record id + 1; 0: none */
  __u32 start;  /* offset of the frame that it is in: not 0 in tunnels */
  __u32 length; /* of that frame */
};

/* One per CPU. It is not on BPF's stack, which has 512 bytes for all nested calls together. */
struct roce_scratch {
  struct roce_packet packet;
  struct roce_packet forgotten; /* identifies the stream that was removed */
  struct roce_packet announced; /* identifies the stream that RDMA CM announces */
  struct roce_outcome outcome;
  struct roce_event event;
  struct roce_inserted inserted;
  struct roce_key answered; /* the stream that an answer or a CNP refers to */
  struct roce_cm cm;        /* the RDMA CM message in `packet`; attribute 0: none */
  struct roce_trace trace;
  struct roce_inner inner;
  struct roce_episode copy;    /* given out by following */
  struct roce_tracked tracked; /* whose packet is in `packet` */
  struct roce_step step;       /* that packet, for following */
  struct roce_key job_key;     /* of the packet whose pair of hosts is looked for */
};

/* The time in windows of 2^30 ns, for the rate limit of events and the age of idle streams. */
static ROCE_INLINE __u8 roce_window(struct roce_env *env) { return (__u8)(roce_time(env) >> 30); }

#endif
