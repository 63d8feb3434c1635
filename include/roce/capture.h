/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Records of captured packets: the frame as it entered the port, and its outcome. The kernel sends
 * both in one record if nothing can change the frame in between, otherwise in two records with the
 * same CPU and number.
 */
#ifndef ROCE_CAPTURE_H
#define ROCE_CAPTURE_H

#include "config.h"
#include "match.h"

/* The kind of a frame, for capture filters. A packet marked CE has CE in addition to its kind. */
enum roce_capture_kind {
  ROCE_CAPTURE_DATA = 1 << 0, /* RoCE that is not an ACK, NAK or CNP */
  ROCE_CAPTURE_ACK = 1 << 1,
  ROCE_CAPTURE_NAK = 1 << 2, /* includes RNR NAKs */
  ROCE_CAPTURE_CNP = 1 << 3,
  ROCE_CAPTURE_CE = 1 << 4,
  ROCE_CAPTURE_OTHER = 1 << 5, /* not RoCE, or cannot be parsed */
};
#define ROCE_CAPTURE_ROCE                                                                          \
  (ROCE_CAPTURE_DATA | ROCE_CAPTURE_ACK | ROCE_CAPTURE_NAK | ROCE_CAPTURE_CNP | ROCE_CAPTURE_CE)
#define ROCE_CAPTURE_ALL (ROCE_CAPTURE_ROCE | ROCE_CAPTURE_OTHER)

/* Most bytes of a frame: the length of a perf record, with its headers, has 16 bits. */
#define ROCE_CAPTURE_SNAP 65024

/*
 * The number of a call that gives the NIC's time. It is no helper's: before the program is loaded
 * the call is replaced by one of bpf_xdp_metadata_rx_timestamp(), or taken out.
 */
#define ROCE_NIC_TIME_CALL 0x7f000001

/* `capture_filter` map: the frames to capture. */
struct roce_capture_filter {
  __u32 kinds;  /* enum roce_capture_kind; 0: none */
  __u32 snap;   /* bytes of a frame, 1 to ROCE_CAPTURE_SNAP */
  __u32 stream; /* 1: only RoCE packets that match src, dst and dest_qp */
  struct roce_prefix src, dst;
  struct roce_range dest_qp;
  __u32 reserved;
};
ROCE_STATIC_ASSERT(sizeof(struct roce_capture_filter) == 88, "roce_capture_filter is 88 bytes");

/* `capture_counts` map, per CPU. */
struct roce_capture_counts {
  __u64 seen;          /* all frames */
  __u64 taken;         /* frames that match the filter */
  __u64 lost;          /* matching frames lost because the ring was full */
  __u64 outcomes_lost; /* outcomes lost because the ring was full */
  __u64 unread;        /* matching frames while no reader was attached */
};

enum roce_capture_fate {
  ROCE_CAPTURE_PASSED, /* to the host */
  ROCE_CAPTURE_DROPPED,
  ROCE_CAPTURE_FORWARDED,
  ROCE_CAPTURE_FORWARDED_TWICE,
  ROCE_CAPTURE_FORWARDED_WITH_CNP, /* and a copy was returned as CNP */
  ROCE_CAPTURE_BACK_AS_CNP,
  ROCE_CAPTURE_NOT_FORWARDED, /* dropped: the other port is gone */
  ROCE_CAPTURE_TO_SOCKET,
};

/* roce_capture.parts: the contents of a record. */
#define ROCE_CAPTURE_FRAME 1
#define ROCE_CAPTURE_OUTCOME 2

/* A record. With ROCE_CAPTURE_FRAME, `captured` bytes of the frame follow. */
struct roce_capture {
  __u64 time_ns; /* CLOCK_MONOTONIC, when the frame arrived */
  __u64 nic_ns; /* with ROCE_FEATURE_NIC_TIME: when the NIC received it, by its clock; 0: unknown */
  __u64 number; /* among the frames captured on its CPU, from 1 */
  __u32 length; /* of the frame, without FCS */
  __u32 captured;
  __u32 kinds; /* enum roce_capture_kind */
  __u32 psn;
  struct roce_key key; /* complete; RoCE only */
  __u8 parts;
  __u8 class_; /* enum roce_class */
  __u8 opcode;
  __u8 syndrome; /* of an AETH */
  /* outcome */
  struct roce_trace trace;
  __u32 expected; /* with ROCE_FOUND_SLOW: expected PSN before the packet */
  __u32 skipped;  /* PSNs skipped by a gap */
  __u32 filled;   /* PSNs received that had been skipped */
  __u32 jumped;
  __u32 fate; /* enum roce_capture_fate */
  __u32 reserved;
};
ROCE_STATIC_ASSERT(sizeof(struct roce_capture) == 120, "roce_capture is 120 bytes");

static ROCE_INLINE __u32 roce_capture_kinds(int class_, const struct roce_packet *p) {
  __u32 kinds = ROCE_CAPTURE_DATA;

  if (!roce_is_roce(class_))
    return ROCE_CAPTURE_OTHER;
  if (p->info & ROCE_OP_CNP)
    kinds = ROCE_CAPTURE_CNP;
  else if (p->info & ROCE_HAS_AETH && !p->cut && !(p->info & ROCE_OP_READ_RESPONSE))
    kinds = ROCE_SYNDROME_TYPE(p->syndrome) == ROCE_NAK ||
                    ROCE_SYNDROME_TYPE(p->syndrome) == ROCE_RNR_NAK
                ? ROCE_CAPTURE_NAK
                : ROCE_CAPTURE_ACK;
  return p->ecn == ROCE_ECN_CE ? kinds | ROCE_CAPTURE_CE : kinds;
}

/* 1 when the filter selects the packet, whose key must be complete. */
static ROCE_INLINE int roce_capture_wants(const struct roce_capture_filter *filter, __u32 kinds,
                                          const struct roce_packet *p) {
  if (!(filter->kinds & kinds))
    return 0;
  if (!filter->stream)
    return 1;
  return !(kinds & ROCE_CAPTURE_OTHER) && roce_in_prefix(p->key.src, &filter->src) &&
         roce_in_prefix(p->key.dst, &filter->dst) &&
         roce_in_range(roce_key_qp(&p->key), &filter->dest_qp);
}

/* `went`: 1 when the frame left through another port or into a socket. */
static ROCE_INLINE __u32 roce_capture_fate(__u32 features, int fate, int went) {
  switch (fate) {
  case ROCE_GONE:
    return ROCE_CAPTURE_DROPPED;
  case ROCE_BACK_AS_CNP:
    return ROCE_CAPTURE_BACK_AS_CNP;
  case ROCE_TWICE:
    return went ? ROCE_CAPTURE_FORWARDED_TWICE : ROCE_CAPTURE_NOT_FORWARDED;
  case ROCE_GO_ON_WITH_CNP:
    return went ? ROCE_CAPTURE_FORWARDED_WITH_CNP : ROCE_CAPTURE_NOT_FORWARDED;
  default:
    break;
  }
  if (features & ROCE_FEATURE_FORWARD)
    return went ? ROCE_CAPTURE_FORWARDED : ROCE_CAPTURE_NOT_FORWARDED;
  return went ? ROCE_CAPTURE_TO_SOCKET : ROCE_CAPTURE_PASSED;
}

#endif
