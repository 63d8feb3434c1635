/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The records of mirror sessions, and of what is missing in streams: see mirror.h. */
#ifndef ROCE_MIRROR_RECORD_H
#define ROCE_MIRROR_RECORD_H

#include "types.h"

struct roce_mirror {
  __u64 check;   /* hash of the session, not 0; 0: free */
  __u64 next;    /* (1 + wraps) << 32 | the next number; 0: none yet */
  __u64 first;   /* as next, of the session's first frame or the first after its last restart */
  __u64 frames;  /* that have no number, and numbered ones before the last restart */
  __u64 skipped; /* numbers that did not come in their place */
  __u64 late;    /* of these, numbers that came later */
  __u64 claimed; /* of these, frames that account for missing PSNs */
  __u64 gaps;
  __u64 restarts;  /* numbers too far from the expected one for a gap */
  __u64 truncated; /* frames that the mirror cut */
  __u64 repeated;  /* frames whose number was seen before */
  __u32 src[4];    /* network order, IPv4 as v4-mapped IPv6 */
  __u32 dst[4];
  __u32 id;
  __u32 tunnel; /* enum roce_tunnel */
};
ROCE_STATIC_ASSERT(sizeof(struct roce_mirror) == 128, "roce_mirror is two cache lines");

/* A restart: the session's counter was reset, or the observer was away for long. */
#define ROCE_MIRROR_DISTANCE 65536

/* Frames of a session that arrived. */
static ROCE_INLINE __u64 roce_mirror_frames(const struct roce_mirror *m) {
  return m->frames + (m->first ? m->next - m->first : 0) - (m->skipped - m->late);
}

/* A session and what it had skipped: (index + 1) << 48 | skipped. 0: nothing is known. */
#define ROCE_MARK_SHIFT 48

/* Mirror state of the stream whose record has the same index. */
struct roce_mirrored {
  __u64 mark;    /* of the stream's previous packet: roce_mark */
  __u32 skipped; /* by the current packet, until it is accounted for; filled too */
  __u32 filled;
  __u64 mirror; /* PSNs missing because the mirror lost frames */
  __u64 network;
  __u64 other;      /* mark of the last packet by the session before, 0: none */
  __u32 other_came; /* the stream's packets at that time */
  __u32 third_came; /* other_came when it last came by a third session; 0: never */
  __u32 waiting;    /* missing PSNs whose frames may be lost numbers of the session `other` */
  __u32 doubtful;   /* of these, not lost by the network if `other` did not lose them either */
};
ROCE_STATIC_ASSERT(sizeof(struct roce_mirrored) == 56, "roce_mirrored is 56 bytes");

/* A session by which none of so many packets of a stream came carries it no longer. */
#define ROCE_MIRROR_RECENT 64

#endif
