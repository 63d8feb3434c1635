/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Actions of rules. First a verdict is computed without a change to the frame, then the frame is
 * edited. The IPv4 checksum, and a UDP checksum in use, are always updated. The iCRC stays valid
 * unless a rule corrupts the packet: it does not cover the fields that marking and FECN/BECN
 * change.
 */
#ifndef ROCE_ACT_H
#define ROCE_ACT_H

#include "checksum.h"
#include "parse.h"
#include "select.h"

/* 1 when the header at offset `l3` is an IPv4 header. */
static ROCE_INLINE __u8 roce_frame_is_ipv4(struct roce_frame *frame, __u32 l3) {
  __u8 first = 0;

  return !roce_frame_load(frame, l3, &first) && first >> 4 == 4;
}

/* A byte to change, by XOR with `mask`. */
struct roce_edit {
  __u32 offset; /* from the start of the frame */
  __u32 mask;
};

#define ROCE_EDITS 2

/* The decision on a packet. */
struct roce_verdict {
  __u32 act;      /* enum roce_action_bits that apply to this packet */
  __u32 excess;   /* 1: dropped by a policer */
  __u32 bth4_set; /* FECN and BECN in BTH byte 4: bits to set, bits to clear */
  __u32 bth4_clear;
  __u8 tos; /* new value, for CE, RED, SET_DSCP, SET_ECN */
  __u8 cnp_tos;
  __u8 limited; /* 1: no action, as the rule has reached its limit */
  __u8 reserved;
  __u32 period; /* for roce_limit_return */
  __u32 cnp_qp;
  struct roce_edit edit[ROCE_EDITS];
};

/*
 * Adds a frame to a queue that drains at the rule's rate. Returns the queue's length before the
 * frame, as time (ns * 256). The queue never exceeds `most`; with `refuse`, a frame that would
 * exceed it is not added, and ~0 is returned.
 */
static ROCE_INLINE __u64 roce_queue_add(const struct roce_queue *queue,
                                        struct roce_rule_state *state, __u32 length, __u64 now_ns,
                                        __u64 most, int refuse) {
  __u64 cost = (length + queue->overhead) * queue->byte_cost >> ROCE_COST_SHIFT;
  __u64 now = now_ns << ROCE_QUEUE_SHIFT, held = 0;

  ROCE_ROLLED
  for (int i = 0; i < 8; i++) {
    __u64 seen = ROCE_LOAD(&state->backlog), sum;

    held = seen ? seen - now : 0; /* modulo 2^64 (two years): a very large value is in the past */
    if (held > most + ROCE_QUEUE_SKEW)
      held = 0;
    sum = held + cost;
    if (sum > most) {
      if (refuse)
        return ~0ull;
      sum = held > most ? held : most;
    }
    if (ROCE_CAS(&state->backlog, seen, now + sum))
      break;
  }
  return held;
}

/* DCQCN's congestion point: no marks up to KMIN, PMAX at KMAX, all above (Zhu et al. 2015, 3.1). */
static ROCE_INLINE int roce_red_marks(const struct roce_queue *queue, __u64 held, __u64 random) {
  if (held <= queue->low)
    return 0;
  if (held > queue->high)
    return 1;
  return roce_chance(random, (held - queue->low) * queue->slope);
}

/* 1 when the packet can be marked CE. */
static ROCE_INLINE int roce_can_mark(__u32 ecn, int class_, __u32 act) {
  if (class_ != ROCE_CLASS_V2)
    return 0;
  return ecn == ROCE_ECN_ECT0 || ecn == ROCE_ECN_ECT1 ||
         (act & ROCE_ACT_FORCE && ecn != ROCE_ECN_CE);
}

/* Lengths of the extension headers, RDETH to IETH: the order of their bits and of the wire. */
static const __u8 roce_header_length[10] = {4, 8, 4, 4, 16, 28, 4, 8, 4, 4};

/* Offset of an extension header in the frame; 0: the packet does not have it. */
static ROCE_INLINE __u32 roce_header_at(const struct roce_packet *p, __u32 header) {
  __u32 at = p->bth + ROCE_BTH_LEN;

  if (!header)
    return p->bth;
  if (!(p->info & 1u << header))
    return 0;
  for (__u32 i = 0; i < sizeof(roce_header_length); i++)
    if (8 + i < header && p->info & 1u << (8 + i))
      at += roce_header_length[i];
  return at;
}

static ROCE_INLINE void roce_edit_bit(struct roce_edit *edit, __u32 start, __u64 bit) {
  edit->offset = start + (__u32)(bit >> 3);
  edit->mask = 0x80u >> (bit & 7);
}

/* Chooses the checksum to corrupt, by the offset of its second byte; 0: the packet has none. */
static ROCE_INLINE int roce_plan_checksum(__u32 act, const struct roce_packet *p, int class_,
                                          struct roce_edit *edit) {
  if (class_ != ROCE_CLASS_V2 || (act & ROCE_ACT_CORRUPT_IP_CHECKSUM && !p->ipv4))
    return 0;
  edit[0].offset = act & ROCE_ACT_CORRUPT_IP_CHECKSUM ? p->l3 + 11 : p->bth - 1;
  edit[0].mask = 0xff;
  return 1;
}

/* Chooses the bytes to corrupt; 0: the packet has none for this kind of corruption. */
static ROCE_INLINE int roce_plan_corruption(const struct roce_action *action,
                                            const struct roce_packet *p, int class_, __u32 length,
                                            __u64 random, struct roce_edit *edit) {
  int roce = roce_is_roce(class_);
  __u32 start, bits, act = action->act;

  if (act & ROCE_ACT_CORRUPT_ICRC) {
    if (!roce)
      return 0;
    if (p->ipv4) { /* the IPv4 identification, which the iCRC covers */
      edit[0].offset = p->l3 + 4;
      edit[1].offset = p->l3 + 5;
      edit[0].mask = edit[1].mask = 0xff;
    } else { /* the reserved bits next to AckReq, which the iCRC covers */
      edit[0].offset = p->bth + 8;
      edit[0].mask = 0x7f;
    }
    return 1;
  }
  if (act & ROCE_ACTS_CHECKSUM)
    return roce_plan_checksum(act, p, class_, edit);
  if (act & ROCE_ACT_CORRUPT_PAYLOAD) {
    start = p->bth + ROCE_BTH_LEN + ROCE_EXT_LEN(p->info);
    bits = roce ? p->payload * 8 : 0;
  } else if (act & ROCE_ACT_CORRUPT_HEADER) {
    start = roce ? roce_header_at(p, action->header) : 0;
    bits = start ? action->bits : 0;
  } else if (roce) {
    start = p->bth;
    bits = (p->end - p->bth) * 8;
    if (action->bits) {
      if (action->first_bit >= bits)
        return 0;
      roce_edit_bit(edit, start, action->first_bit);
      return 1;
    }
  } else if (action->bits) {
    return 0;
  } else { /* after the Ethernet header and a possible IP header */
    start = ROCE_ETH_LEN + ROCE_IPV6_LEN;
    bits = length > start ? (length - start) * 8 : 0;
  }
  if (!bits)
    return 0;
  roce_edit_bit(edit, start,
                roce_uniform(random, 0, bits - 1) +
                    (act & ROCE_ACT_CORRUPT_HEADER ? action->first_bit : 0));
  return 1;
}

/*
 * 1 when the action applies to this packet: RED and policers choose among the selected packets,
 * other actions take all. `now` is the clock in ns; 0: it was not read.
 */
static ROCE_INLINE int roce_gate(struct roce_env *env, const struct roce_rule *rule,
                                 struct roce_rule_state *state, __u32 length, __u64 n, __u64 *now) {
  const struct roce_queue *queue = &rule->action.queue;
  __u64 held;

  *now = 0;
  if (!(rule->action.act & (ROCE_ACT_RED | ROCE_ACT_POLICE)))
    return 1;
  *now = roce_clock(env);
  if (rule->action.act & ROCE_ACT_POLICE)
    return roce_queue_add(queue, state, length, *now, queue->low, 1) == ~0ull;
  held = roce_queue_add(queue, state, length, *now, queue->most, 0);
  if (held <= queue->low || held > queue->high)
    return held > queue->high;
  return roce_red_marks(queue, held, roce_random_of(rule, state, n, ROCE_DRAW_MARK));
}

static ROCE_INLINE void roce_plan_header(const struct roce_action *action, __u32 act,
                                         const struct roce_packet *p, struct roce_verdict *v) {
  v->tos = p->tos;
  if (act & ROCE_ACT_CE)
    v->tos |= ROCE_ECN_CE;
  if (act & ROCE_ACT_SET_DSCP)
    v->tos = (__u8)((v->tos & 3) | action->dscp << 2);
  if (act & ROCE_ACT_SET_ECN)
    v->tos = (__u8)((v->tos & ~3) | action->ecn);
  if (act & ROCE_ACT_SET_FECN) {
    v->bth4_set |= action->fecn ? 0x80 : 0;
    v->bth4_clear |= action->fecn ? 0 : 0x80;
  }
  if (act & ROCE_ACT_SET_BECN) {
    v->bth4_set |= action->becn ? 0x40 : 0;
    v->bth4_clear |= action->becn ? 0 : 0x40;
  }
}

/*
 * Computes the verdict of a rule on a packet that it selected; v->act is 0 for no action. CNP in
 * v->act is only a request: the sender's QPN is not looked up yet.
 */
static ROCE_INLINE void roce_plan(struct roce_env *env, const struct roce_rule *rule,
                                  struct roce_rule_state *state, const struct roce_packet *p,
                                  int class_, __u32 length, __u64 n, struct roce_verdict *v) {
  __u32 act = rule->action.act & ~(ROCE_ACT_RED | ROCE_ACT_FORCE | ROCE_ACT_POLICE);
  int markable = roce_can_mark(p->ecn, class_, rule->action.act);
  int roce = roce_is_roce(class_);

  __builtin_memset(v, 0, sizeof(*v));
  if (rule->action.act & ROCE_ACT_RED)
    act |= ROCE_ACT_CE;
  if (!markable)
    act &= ~(__u32)ROCE_ACT_CE;
  if (class_ != ROCE_CLASS_V2)
    act &= ~(__u32)(ROCE_ACT_SET_DSCP | ROCE_ACT_SET_ECN | ROCE_ACT_CNP);
  if (!roce)
    act &= ~(__u32)(ROCE_ACT_SET_FECN | ROCE_ACT_SET_BECN);
  if (act & ROCE_ACTS_CORRUPT &&
      !roce_plan_corruption(&rule->action, p, class_, length,
                            roce_random_of(rule, state, n, ROCE_DRAW_EDIT), v->edit))
    act &= ~(__u32)ROCE_ACTS_CORRUPT;
  ROCE_STAGE();
  if (!act)
    return;
  if (!roce_within_limit(env, rule, state, &v->period)) {
    v->limited = 1;
    return;
  }
  v->excess = (rule->action.act & ROCE_ACT_POLICE) != 0;
  v->act = act;
  roce_plan_header(&rule->action, act, p, v);
}

/*
 * Updates the checksum at offset `at`, which covers the bytes from `start` on, after the byte at
 * `offset` has changed.
 */
static ROCE_INLINE void roce_mend(struct roce_frame *frame, __u32 at, __u32 start, __u32 offset,
                                  __u8 old, __u8 now, int udp) {
  __u8 high = 0, low = 0;
  __u16 sum;
  int shift = (offset - start) & 1 ? 0 : 8;

  if (roce_frame_load(frame, at, &high) || roce_frame_load(frame, at + 1, &low))
    return;
  sum = (__u16)(high << 8 | low);
  if (udp && !sum) /* not in use */
    return;
  sum = roce_checksum_after(sum, (__u16)(old << shift), (__u16)(now << shift));
  if (udp && !sum)
    sum = 0xffff;
  roce_frame_store(frame, at, (__u8)(sum >> 8));
  roce_frame_store(frame, at + 1, (__u8)sum);
}

/* Changes one byte of a frame and updates the checksums that cover it. */
static ROCE_INLINE void roce_edit_byte(struct roce_frame *frame, const struct roce_packet *p,
                                       int class_, __u32 offset, __u32 set, __u32 clear,
                                       __u32 flip) {
  __u32 udp = p->bth - ROCE_UDP_LEN;
  __u8 old = 0, now;

  if (roce_frame_load(frame, offset, &old))
    return;
  now = (__u8)(((old | set) & ~clear) ^ flip);
  if (now == old)
    return;
  roce_frame_store(frame, offset, now);
  if (class_ != ROCE_CLASS_V2)
    return;
  if (offset >= udp)
    roce_mend(frame, udp + 6, udp, offset, old, now, 1);
  else if (p->ipv4)
    roce_mend(frame, p->l3 + 10, p->l3, offset, old, now, 0);
}

/*
 * Makes the checksum whose second byte is at `offset` wrong. In ones' complement 0 is 0xffff, so
 * both bytes are never inverted; 0 would be a UDP checksum that is not in use. If that is what the
 * frame has, it becomes 0x00ff.
 */
static ROCE_INLINE void roce_spoil_checksum(struct roce_frame *frame, __u32 offset) {
  __u8 high = 0, low = 0;

  if (roce_frame_load(frame, offset - 1, &high) || roce_frame_load(frame, offset, &low))
    return;
  if (high || low != 0xff)
    roce_frame_store(frame, offset, low ^ 0xff);
  else
    roce_frame_store(frame, offset - 1, 0xff);
}

/* Applies the verdict's corruption and its FECN and BECN bits. */
static ROCE_INLINE void roce_edit_frame(struct roce_frame *frame, const struct roce_packet *p,
                                        int class_, const struct roce_verdict *v) {
  ROCE_ROLLED
  for (int i = 0; i < ROCE_EDITS; i++)
    if (v->act & (ROCE_ACTS_CORRUPT & ~ROCE_ACTS_CHECKSUM) && v->edit[i].mask)
      roce_edit_byte(frame, p, class_, v->edit[i].offset, 0, 0, v->edit[i].mask);
  if (v->bth4_set | v->bth4_clear)
    roce_edit_byte(frame, p, class_, p->bth + 4, v->bth4_set, v->bth4_clear, 0);
  if (v->act & ROCE_ACTS_CHECKSUM)
    roce_spoil_checksum(frame, v->edit[0].offset);
}

/* Writes the TOS or traffic class; the bytes [ip, end) are available. */
static ROCE_INLINE void roce_set_tos(__u8 *ip, const __u8 *end, int ipv4, __u8 tos) {
  __u16 sum;

  if (ip + ROCE_IPV4_LEN > end)
    return;
  if (!ipv4 || ip[0] >> 4 != 4) { /* IPv6; `ipv4` is also set for v4-mapped addresses */
    ip[0] = (__u8)((ip[0] & 0xf0) | tos >> 4);
    ip[1] = (__u8)((ip[1] & 0x0f) | tos << 4);
    return;
  }
  sum = roce_checksum_after(roce_be16(ip + 10), ip[1], tos);
  ip[1] = tos;
  roce_put16(ip + 10, roce_swap16(sum));
}

/* Changes the frame as the verdict says. */
static ROCE_INLINE void roce_rewrite(struct roce_frame *frame, const struct roce_packet *p,
                                     int class_, const struct roce_verdict *v) {
  if (class_ == ROCE_CLASS_V2 && v->tos != p->tos)
    roce_set_tos(roce_frame_l3(frame, p->l3), roce_frame_end(frame), p->ipv4, v->tos);
  if (v->act & ROCE_ACTS_CORRUPT || v->bth4_set | v->bth4_clear)
    roce_edit_frame(frame, p, class_, v);
}

#endif
