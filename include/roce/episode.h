/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Episodes: one for each time that a requester went back, and what the packets of a QP pair show
 * that a correct peer does not do. follow.h finds them.
 */
#ifndef ROCE_EPISODE_H
#define ROCE_EPISODE_H

#include "parse.h"

/* What made the requester go back. */
enum roce_cause {
  ROCE_CAUSE_UNKNOWN, /* it went back; the stream of its answers is not known */
  ROCE_CAUSE_NAK,     /* PSN sequence error */
  ROCE_CAUSE_READ,    /* implied NAK: a READ response or ATOMIC ACK is missing before a newer one */
  ROCE_CAUSE_TIMEOUT,
  ROCE_CAUSE_RNR,
  ROCE_CAUSE_DUPLICATE, /* nothing did: packets passed twice */
  ROCE_CAUSES,
};

/*
 * Times are of the host's clock, 0: did not happen. Frames are numbers of the capture's frames from
 * 1, 0: none.
 */
struct roce_episode {
  __u64 last_sent_ns; /* the request before the first packet sent again */
  __u64 seen_ns;      /* the first packet after a missing PSN */
  __u64 nak_ns;       /* NAK or RNR NAK */
  __u64 reread_ns;    /* the READ or atomic was requested again */
  __u64 resent_ns;    /* the first packet sent again */
  __u64 recovered_ns; /* every missing PSN has been seen */
  __u64 nak_frame;
  __u64 resent_frame;
  __u64 resent_bytes; /* frames without FCS */
  __u32 resent_packets;
  __u32 resent_needlessly; /* of these, packets that had passed before, without first_missing */
  __u32 request;           /* record ids of the streams; the other may be ROCE_NO_STREAM */
  __u32 response;
  __u32 first_missing; /* PSN */
  __u32 missing;       /* PSNs not seen when the episode began; 0: lost after the observer */
  __u32 end;           /* PSN after the last that was missing */
  __u32 findings;      /* bits of enum roce_finding_type */
  __u32 naks;          /* more than one: NAKs repeated for the same PSN */
  __u8 cause;          /* enum roce_cause */
  __u8 kind;           /* enum roce_kind: the stream that misses PSNs */
  __u8 corrupted;      /* what is missing passed here with a wrong iCRC; captures only */
  __u8 rnr_timer;      /* code of the RNR NAK's timer (rnr.h), plus 1; 0: no RNR NAK */
};
ROCE_STATIC_ASSERT(sizeof(struct roce_episode) == 112, "roce_episode is 112 bytes");

/* What a correct peer does not do. Each names its two frames. IBA vol. 1, 9.7. */
enum roce_finding_type {
  ROCE_FINDING_REPEATED_NAK,    /* a second NAK for a PSN before it arrived (9.7.5.2.3) */
  ROCE_FINDING_NAK_WITHOUT_GAP, /* a NAK for a PSN that nothing followed, or that was ACKed */
  ROCE_FINDING_WRONG_PSN,       /* the requester resumed at another PSN than that of the NAK */
  ROCE_FINDING_ACK_BEYOND,      /* an ACK for a request that was sent after it */
  ROCE_FINDING_MSN,             /* the MSN is not the number of requests completed */
  /* Congestion: what the observer saw does not explain it; a mark may be made after it. */
  ROCE_FINDING_CE_WITHOUT_CNP, /* requests marked CE, and no CNP from their receiver to anyone */
  ROCE_FINDING_CNP_WITHOUT_CE, /* a CNP to a QP of which no packet was marked, nor NAKed */
  ROCE_FINDING_PMTU, /* a payload that disagrees with the path MTU of the packets before it */
  ROCE_FINDING_PSN_VIOLATION,   /* PSNs that no message has were skipped, and acknowledged */
  ROCE_FINDING_READ_NOT_OBEYED, /* what answers stepped over was not requested again */
  ROCE_FINDING_ICRC,            /* a packet whose iCRC is wrong; captures only */
  ROCE_FINDINGS,
};

struct roce_finding {
  __u64 time_ns;
  __u64 frame;       /* that shows it */
  __u64 other_frame; /* with which it does not agree */
  __u32 request;     /* record ids of the streams */
  __u32 response;
  __u32 psn;
  __u32 value;    /* MSN found; PSN resumed; bytes of payload; PSNs */
  __u32 expected; /* MSN or PSN expected; bytes of payload before */
  __u8 type;      /* enum roce_finding_type */
  __u8 reserved[3];
};
ROCE_STATIC_ASSERT(sizeof(struct roce_finding) == 48, "roce_finding is 48 bytes");

#endif
