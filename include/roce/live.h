/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Frames of one flow, made in place: userspace prepares a plan, and the program of live frames
 * (bpf/live.bpf.c) writes each packet into a frame that the kernel recycles. A recycled frame keeps
 * its last contents, possibly changed on its way, so all headers are written, and the payload bytes
 * that the end of a shorter frame covered. Payload begins at the same place in every frame; longer
 * headers begin earlier.
 *
 * CRC is linear: the iCRC of a packet is that of its QP's first PSN 0, changed by a table for each
 * byte of the PSN.
 */
#ifndef ROCE_LIVE_H
#define ROCE_LIVE_H

#include "types.h"

#define ROCE_LIVE_HEADER 128           /* bytes of the longest headers, a multiple of 8 */
#define ROCE_LIVE_FRACTION 24          /* ticks of 2^-24 ns, as congestion/pacer.h */
#define ROCE_LIVE_PATIENCE 50000000ULL /* ns: a schedule that is later than that loses the rest */

/* Unrolls a loop of at most 16 rounds, whose rounds the verifier can then remove one by one. */
#ifdef __clang__
#define ROCE_UNROLLED _Pragma("clang loop unroll(full)")
#else
#define ROCE_UNROLLED _Pragma("GCC unroll 16")
#endif

/* Which packet of a message; a message of one packet has only the last. */
enum roce_live_which { ROCE_LIVE_FIRST, ROCE_LIVE_MIDDLE, ROCE_LIVE_LAST, ROCE_LIVE_SHAPES };

/* When AckReq is set. */
enum roce_live_ask { ROCE_LIVE_ASK_NEVER, ROCE_LIVE_ASK_ALWAYS, ROCE_LIVE_ASK_LAST };

struct roce_live_shape {
  __u32 length;   /* bytes of the frame */
  __u32 header;   /* bytes before the payload */
  __s32 head;     /* bytes that its headers are longer than those of the frame that is recycled */
  __s32 tail;     /* bytes that it ends later; never above 0 */
  __u32 mend;     /* offset of 8 bytes that another shape may have overwritten; 0: none */
  __u32 ask;      /* change of the iCRC by AckReq */
  __u64 mended;   /* those 8 bytes */
  __u64 interval; /* ticks until the next packet */
  __u64 words[ROCE_LIVE_HEADER / 8]; /* the headers */
  __u64 last_word;                   /* their last 8 bytes */
  __u32 change[3][256];              /* of the iCRC, by byte of the PSN, the lowest first */
};
ROCE_STATIC_ASSERT(sizeof(struct roce_live_shape) == 3248, "no padding");

struct roce_live_plan {
  __u32 qps;
  __u32 packets;    /* of a message */
  __u32 psns;       /* PSNs of the last packet */
  __u32 by_message; /* QPs take turns by message; 0: by packet */
  __u32 ask;        /* enum roce_live_ask */
  __u32 ack_every;  /* with ROCE_LIVE_ASK_LAST also every so many packets; 0: no others */
  __u32 paced;
  __u32 bth;       /* offset */
  __u32 port;      /* offset of the UDP source port; 0: RoCEv1 */
  __u32 src_qp;    /* offset of the word in the DETH; 0: none */
  __u32 psn_flags; /* BTH bytes 8 to 11 without AckReq and PSN */
  __u32 reserved;
  struct roce_live_shape shapes[ROCE_LIVE_SHAPES];
};
ROCE_STATIC_ASSERT(sizeof(struct roce_live_plan) == 48 + 3 * 3248, "no padding");

struct roce_live_qp {
  __u32 psn;
  __u32 index; /* of the next packet in its message */
  __u32 since_ack;
  __u32 dest_qp; /* as on the wire, with the byte before it */
  __u32 src_qp;  /* as dest_qp */
  __u16 port;    /* as on the wire */
  __u16 reserved;
  __u32 icrc[ROCE_LIVE_SHAPES]; /* of its packets with PSN 0 and without AckReq */
  __u32 unused;
};
ROCE_STATIC_ASSERT(sizeof(struct roce_live_qp) == 40, "no padding");

/* Values as in LogHistogram<4, 32> of userspace/foundation/base/histogram.h. */
#define ROCE_LIVE_BUCKETS (29 << 4)

/* Shared with userspace while the program runs. */
struct roce_live_state {
  __u64 sent, limit; /* packets */
  __u64 due;         /* of the next packet, ns; with `paced` */
  __u64 fraction;    /* ticks after that */
  __u64 end;         /* nothing is due from then on, ns */
  __u64 slipped;     /* ns of the schedule given up */
  __u64 last_due, last_sent, last_late;
  __u32 at; /* the QP whose turn it is */
  __u32 reserved;
  __u64 late[ROCE_LIVE_BUCKETS], jitter[ROCE_LIVE_BUCKETS];
};

#ifdef __bpf__
static ROCE_INLINE void roce_live_put32(__u8 *p, __u32 v) { *(__u32 *)p = v; }
static ROCE_INLINE void roce_live_put64(__u8 *p, __u64 v) { *(__u64 *)p = v; }
#else
static ROCE_INLINE void roce_live_put32(__u8 *p, __u32 v) { __builtin_memcpy(p, &v, sizeof(v)); }
static ROCE_INLINE void roce_live_put64(__u8 *p, __u64 v) { __builtin_memcpy(p, &v, sizeof(v)); }
#endif

static ROCE_INLINE __u32 roce_live_which(const volatile struct roce_live_plan *plan,
                                         const struct roce_live_qp *qp) {
  if (qp->index + 1 == plan->packets)
    return ROCE_LIVE_LAST;
  return qp->index ? ROCE_LIVE_MIDDLE : ROCE_LIVE_FIRST;
}

static ROCE_INLINE __u32 roce_live_asks(const volatile struct roce_live_plan *plan,
                                        struct roce_live_qp *qp, __u32 which) {
  __u32 ask = which == ROCE_LIVE_LAST;

  if (plan->ask != ROCE_LIVE_ASK_LAST)
    return plan->ask == ROCE_LIVE_ASK_ALWAYS;
  if (plan->ack_every && ++qp->since_ack == plan->ack_every) {
    qp->since_ack = 0;
    ask = 1;
  }
  return ask;
}

/*
 * Writes the packet of `qp` into the frame between `data` and `end`, which has its length already.
 * `which` is a constant, so that the verifier knows all offsets. -1: the frame has another length.
 */
static ROCE_INLINE int roce_live_write(const volatile struct roce_live_plan *plan,
                                       struct roce_live_qp *qp, __u32 which, __u8 *data,
                                       const __u8 *end) {
  const volatile struct roce_live_shape *shape = &plan->shapes[which];
  __u32 length = shape->length, header = shape->header, bth = plan->bth, mend = shape->mend;
  __u32 psn = qp->psn, ask = roce_live_asks(plan, qp, which), i;
  __u32 icrc = qp->icrc[which];

  if (!length || data + length > end)
    return -1;
  ROCE_UNROLLED
  for (i = 0; i < ROCE_LIVE_HEADER / 8; i++)
    if (8 * i + 8 <= header)
      roce_live_put64(data + 8 * i, shape->words[i]);
  roce_live_put64(data + header - 8, shape->last_word);
  if (mend)
    roce_live_put64(data + mend, shape->mended);
  if (plan->port)
    roce_put16(data + plan->port, qp->port);
  if (plan->src_qp)
    roce_live_put32(data + plan->src_qp, qp->src_qp);
  roce_live_put32(data + bth + 4, qp->dest_qp);
  roce_live_put32(data + bth + 8, roce_swap32(plan->psn_flags | psn | ask << 31));
  icrc ^= shape->change[0][psn & 0xff] ^ shape->change[1][psn >> 8 & 0xff] ^
          shape->change[2][psn >> 16 & 0xff];
  if (ask)
    icrc ^= shape->ask;
  roce_live_put32(data + length - 4, icrc);
  return 0;
}

/* After a packet of `qp`: its next packet, and whose turn it is. */
static ROCE_INLINE void roce_live_advance(const volatile struct roce_live_plan *plan,
                                          struct roce_live_state *state, struct roce_live_qp *qp,
                                          __u32 which) {
  __u32 last = which == ROCE_LIVE_LAST;

  qp->psn = (qp->psn + (last ? plan->psns : 1)) & 0xffffff;
  qp->index = last ? 0 : qp->index + 1;
  state->sent++;
  if (plan->qps > 1 && (last || !plan->by_message)) {
    __u32 at = state->at + 1;

    state->at = at == plan->qps ? 0 : at;
  }
}

static ROCE_INLINE __u32 roce_live_bucket(__u64 ns) {
  __u32 value = ns >> 32 ? 0xffffffff : (__u32)ns, shift = 0, top = value;

  if (value < 32)
    return value;
  if (top >> 16) {
    top >>= 16;
    shift += 16;
  }
  if (top >> 8) {
    top >>= 8;
    shift += 8;
  }
  if (top >> 4) {
    top >>= 4;
    shift += 4;
  }
  if (top >> 2) {
    top >>= 2;
    shift += 2;
  }
  shift += (top >> 1) - 4; /* value >> shift: 16 to 31 */
  return ((shift + 1) << 4) + (value >> shift) - 16;
}

/* The value in the middle of a bucket. */
static ROCE_INLINE __u64 roce_live_value(__u32 bucket) {
  __u32 shift = (bucket >> 4) - 1;

  if (bucket < 32)
    return bucket;
  return ((__u64)((bucket & 15) + 16) << shift) + (((__u64)1 << shift) - 1) / 2;
}

static ROCE_INLINE int roce_live_is_due(const struct roce_live_state *state, __u64 now) {
  return state->due <= now && state->due < state->end;
}

/* With `paced`, when a packet was made at `now`: how even that was, and when the next one is due.
 */
static ROCE_INLINE void roce_live_pace(struct roce_live_state *state, __u64 now, __u64 interval) {
  __u64 late = now - state->due, ticks = interval + state->fraction, earliest;
  __u32 bucket = roce_live_bucket(late);

  if (bucket < ROCE_LIVE_BUCKETS)
    state->late[bucket]++;
  if (state->last_sent) {
    __s64 off = (__s64)(now - state->last_sent) - (__s64)(state->due - state->last_due);

    bucket = roce_live_bucket(off < 0 ? -off : off);
    if (bucket < ROCE_LIVE_BUCKETS)
      state->jitter[bucket]++;
  }
  state->last_late = late;
  state->last_due = state->due;
  state->last_sent = now;
  state->due += ticks >> ROCE_LIVE_FRACTION;
  state->fraction = ticks & ((1 << ROCE_LIVE_FRACTION) - 1);
  earliest = now > ROCE_LIVE_PATIENCE ? now - ROCE_LIVE_PATIENCE : 0;
  if (earliest > state->end) /* the schedule ends there */
    earliest = state->end;
  if (state->due < earliest) {
    state->slipped += earliest - state->due;
    state->due = earliest;
    state->fraction = 0;
  }
}

#endif
