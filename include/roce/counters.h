/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Counters of a port, not of a stream. In the kernel each CPU has its own copy. */
#ifndef ROCE_COUNTERS_H
#define ROCE_COUNTERS_H

#include "episode.h"
#include "parse.h"
#include "pfc_record.h"
#include "tunnel.h"

/*
 * Packets of one opcode by ECN codepoint, and the bytes of their frames. RoCEv1 has no ECN: all its
 * packets are in [0].
 */
struct roce_opcode_count {
  __u64 packets[4];
  __u64 bytes;
};

/* A port has 512: RoCEv2 by opcode, then RoCEv1 by opcode. */
#define ROCE_OPCODE_COUNTS 512
#define ROCE_OPCODE_COUNT_V1 256

/* Packets by traffic class, and the bytes of their frames: with ROCE_FEATURE_CLASSES. */
struct roce_class_count {
  __u64 packets;
  __u64 bytes;
};
/* RoCEv2 by DSCP; RoCE by PCP of the outer tag; RoCE without a tag. */
#define ROCE_CLASS_PCP 64
#define ROCE_CLASS_UNTAGGED 72
#define ROCE_CLASS_COUNTS 73

/* AETH syndromes of ACKNOWLEDGE and ATOMIC ACKNOWLEDGE, in the order of the report's keys. */
enum roce_aeth_count {
  ROCE_AETH_ACK,
  ROCE_AETH_RNR_NAK,
  ROCE_AETH_NAK_PSN_SEQUENCE_ERROR,
  ROCE_AETH_NAK_INVALID_REQUEST,
  ROCE_AETH_NAK_REMOTE_ACCESS_ERROR,
  ROCE_AETH_NAK_REMOTE_OPERATIONAL_ERROR,
  ROCE_AETH_NAK_INVALID_RD_REQUEST,
  ROCE_AETH_RESERVED,
  ROCE_AETH_COUNTS,
};
ROCE_STATIC_ASSERT(!(ROCE_AETH_COUNTS & (ROCE_AETH_COUNTS - 1)), "a mask bounds it");

struct roce_totals {
  __u64 frames[ROCE_CLASS_MAX]; /* V2 and V1 stay 0: they are summed from the opcodes */
  __u64 bytes;                  /* of the frames counted here */
  __u64 aeth[ROCE_AETH_COUNTS];
  __u64 cut; /* frames of class OTHER whose headers exceed the available bytes */
  /* losses */
  __u64 streams_full;      /* packets whose stream had no room in the table */
  __u64 streams_contended; /* packets not tracked because several CPUs changed the table at once */
  __u64 streams_forgotten; /* idle streams replaced by new ones */
  __u64 events_dropped;    /* the ring was full */
  __u64 events_limited;    /* suppressed by a stream's rate limit */
  /* CNPs seen, by their likely cause */
  __u64 cnps_after_ce;
  __u64 cnps_after_nak;
  __u64 cnps_after_neither;
  __u64 cnps_unexplained; /* the stream that they slow down is unknown */
  /* actions of rules */
  __u64 dropped_programmed;
  __u64 dropped_policed;
  __u64 marked;
  __u64 corrupted;
  __u64 rewritten; /* header fields set: ROCE_ACTS_REWRITE */
  __u64 duplicated;
  __u64 cnps_sent;
  __u64 cnps_paced;         /* not sent: too soon after the previous one */
  __u64 cnps_unknown_peer;  /* not sent: the sender's QPN is unknown */
  __u64 not_cloned;         /* copies not made: see roce_copy */
  __u64 not_forwarded;      /* dropped: the other port is gone */
  __u64 held;               /* handed over to the wire process */
  __u64 not_held;           /* to be held, but forwarded at once: no process took them */
  __u64 held_without_rules; /* handed over without their rules: the driver has no room for them */
  __u64 no_socket;          /* left to the host: the endpoint has no socket on the queue */
  /* tunnels taken off, with ROCE_FEATURE_DECAP */
  __u64 tunnels[ROCE_TUNNEL_COUNTS]; /* frames by enum roce_tunnel; in two tunnels: in both */
  __u64 truncated;                   /* frames that their mirror cut */
  __u64 tunnel_fragments;            /* parts of a tunnel's packet: not taken off */
  __u64 tunnels_deep;                /* frames with more tunnels than are taken off */
  __u64 not_ect_in_ce; /* RoCEv2 without ECT in a tunnel with CE: dropped at its end */
  __u64 mirrors_full;  /* frames whose mirror session had no room in the table */
  /* ROCE_FEATURE_FOLLOW, ROCE_FEATURE_TIME: packets that were not followed or timed */
  __u64 pairs_full;      /* their QP pair had no room in the table */
  __u64 pairs_contended; /* other CPUs were changing its record; also of ROCE_FEATURE_JOB */
  __u64 pairs_unknown;   /* answers whose requests are not known */
  __u64 job_full; /* ROCE_FEATURE_JOB: packets whose pair of hosts had no room in the table */
  /* PFC and PAUSE frames by priority: pfc.h */
  __u64 pfc_xoff[ROCE_PFC_COUNTS];
  __u64 pfc_xon[ROCE_PFC_COUNTS];
  __u64 pfc_quanta[ROCE_PFC_COUNTS];
};

static ROCE_INLINE __u32 roce_aeth_index(__u8 syndrome) {
  __u32 value = ROCE_SYNDROME_VALUE(syndrome);

  if (syndrome & 0x80)
    return ROCE_AETH_RESERVED;
  switch (ROCE_SYNDROME_TYPE(syndrome)) {
  case ROCE_ACK:
    return ROCE_AETH_ACK;
  case ROCE_RNR_NAK:
    return ROCE_AETH_RNR_NAK;
  case ROCE_NAK:
    return value > 4 ? (__u32)ROCE_AETH_RESERVED : ROCE_AETH_NAK_PSN_SEQUENCE_ERROR + value;
  default:
    return ROCE_AETH_RESERVED;
  }
}

#endif
