/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Finds the rules that match a packet: first with tables, then by the conditions that the tables do
 * not decide (rule.h).
 */
#ifndef ROCE_MATCH_H
#define ROCE_MATCH_H

#include "cm.h"
#include "rule.h"
#include "stream.h"

/*
 * Index of the lowest set bit of a word, not 0. BPF has no instruction for it: de Bruijn sequence.
 */
#ifdef __bpf__
static const __u8 roce_bit_number[64] = {
    0,  1,  48, 2,  57, 49, 28, 3,  61, 58, 50, 42, 38, 29, 17, 4,  62, 55, 59, 36, 53, 51,
    43, 22, 45, 39, 33, 30, 24, 18, 12, 5,  63, 47, 56, 27, 60, 41, 37, 16, 54, 35, 52, 21,
    44, 32, 23, 11, 46, 26, 40, 15, 34, 20, 31, 10, 25, 14, 19, 9,  13, 8,  7,  6};
static ROCE_INLINE __u32 roce_lowest(__u64 word) {
  __u64 product;

  if (word & 1)
    return 0;
  product = (word & -word) * 0x03f79d71b4cb0a89ull;
  /* clang 17 and 18 recognise a bit scan here, cannot emit it for BPF, and crash */
  ROCE_OPAQUE(product);
  return roce_bit_number[product >> 58];
}
#else
static ROCE_INLINE __u32 roce_lowest(__u64 word) { return (__u32)__builtin_ctzll(word); }
#endif

/* The first of the rules in `left`, which is not 0. */
static ROCE_INLINE const struct roce_rule *roce_first_rule(const struct roce_ruleset *set,
                                                           __u64 left) {
  __u64 index = roce_lowest(left);

  ROCE_BOUND(index, ROCE_RULES - 1);
  return &set->rule[index];
}

/* The packet's index in roce_ruleset.what. */
static ROCE_INLINE __u32 roce_what(const struct roce_packet *p, int roce) {
  if (!roce)
    return ROCE_WHAT_OTHER;
  if (p->info & ROCE_HAS_AETH && !(p->info & ROCE_OP_READ_RESPONSE))
    return roce_what_aeth(p->opcode, p->syndrome);
  return roce_is_gsi(p) ? ROCE_WHAT_CM : p->opcode;
}

/* The packet's place in its stream since the last resync, from 1. */
static ROCE_INLINE __u32 roce_place(__u32 psn, const struct roce_stream *s) {
  return ((psn - s->first_psn) & ROCE_PSN_MASK) + 1;
}

/* The stream's iteration, from 1. A rewind counts from the first packet of its backward run. */
static ROCE_INLINE __u64 roce_iteration(const struct roce_stream *s) {
  return 1 + roce_stream_counter(s, ROCE_REWINDS) + (roce_run(s) == 1);
}

/*
 * The packet fields that the tables use. For frames that are not RoCE, of the fields read from the
 * packet only `vlan` is valid, and `bth` with ROCE_WHAT_VERSION.
 */
struct roce_facts {
  __u32 what; /* roce_what */
  __u32 length;
  __u32 vlan;
  __u32 tos;
  __u32 qp_kind;
  __u32 psn;
  __u32 src; /* last word of the address, in network order */
  __u32 dst;
  __u32 place; /* roce_place; 0: no stream */
  __u32 bth;   /* BTH bytes 1, 4 and 8: << 16, << 8, << 0; read only if a rule needs them */
  __u32 pkey;  /* read only if a rule needs it */
};

/* Reads the BTH fields that only rules use. The whole BTH is available. */
static ROCE_INLINE void roce_facts_read(const __u8 *bth, struct roce_facts *facts) {
  facts->bth = (__u32)bth[1] << 16 | (__u32)bth[4] << 8 | bth[8];
  facts->pkey = roce_be16(bth + 2);
}

/*
 * Sets `what` for a frame with a complete BTH whose version is not 0: the parser classifies it as
 * malformed, but a rule may match the version.
 */
static ROCE_INLINE void roce_facts_version(__u32 bth, __u32 end, int class_,
                                           struct roce_facts *facts) {
  if (class_ == ROCE_CLASS_MALFORMED && end <= facts->length &&
      end >= bth + ROCE_BTH_LEN + ROCE_ICRC_LEN && (facts->bth >> 16) & 15)
    facts->what = ROCE_WHAT_VERSION;
}

static ROCE_INLINE void roce_facts_fill(struct roce_facts *facts, const struct roce_packet *p,
                                        __u32 length, int roce, const struct roce_stream *s) {
  facts->what = roce_what(p, roce);
  facts->length = length;
  facts->vlan = p->vlan;
  facts->tos = p->tos;
  facts->qp_kind = p->key.qp_kind;
  facts->psn = p->psn;
  facts->src = p->key.src[3];
  facts->dst = p->key.dst[3];
  facts->place = s ? roce_place(p->psn, s) : 0;
  facts->bth = facts->pkey = 0;
}

static ROCE_INLINE struct roce_facts roce_facts_of(const struct roce_packet *p, __u32 length,
                                                   int roce, const struct roce_stream *s) {
  struct roce_facts facts;

  roce_facts_fill(&facts, p, length, roce, s);
  return facts;
}

/*
 * The rules that may match the packet: bit i is rule i. `used` has the tables that at least one
 * rule needs; in the kernel it is constant, and the code of the other tables is removed.
 */
static ROCE_INLINE __u64 roce_match_tables(const struct roce_ruleset *set, __u32 used,
                                           const struct roce_facts *f) {
  __u64 what = f->what, left;

  ROCE_BOUND(what, ROCE_WHAT_MASK);
  left = set->what[what];
  if (used & ROCE_USES_SIZE) {
    __u64 size = f->length >> ROCE_SIZE_SHIFT;

    size = size < 255 ? size : 255;
    ROCE_BOUND(size, 255);
    left &= set->size[size];
  }
  if (used & ROCE_USES_VLAN)
    left &= set->vlan[(f->vlan >> 12) & 1][f->vlan & 255];
  if (used & ROCE_USES_BTH_FLAGS && f->what != ROCE_WHAT_OTHER)
    left &= set->bth_flags[(f->bth >> 16) & 255];
  if (f->what >= ROCE_WHAT_OTHER)
    return left;
  if (used & ROCE_USES_TOS)
    left &= set->tos[f->tos & 255];
  if (used & ROCE_USES_QP)
    left &= set->qp[0][(f->qp_kind >> 16) & 255] & set->qp[1][(f->qp_kind >> 8) & 255] &
            set->qp[2][f->qp_kind & 255];
  if (used & (ROCE_USES_SRC | ROCE_USES_DST))
    left &= set->family[(f->qp_kind & ROCE_KEY_IPV4) != 0];
  if (used & ROCE_USES_SRC) {
    __u32 src = roce_swap32(f->src);

    left &= set->src[0][src >> 24] & set->src[1][(src >> 16) & 255] &
            set->src[2][(src >> 8) & 255] & set->src[3][src & 255];
  }
  if (used & ROCE_USES_DST) {
    __u32 dst = roce_swap32(f->dst);

    left &= set->dst[0][dst >> 24] & set->dst[1][(dst >> 16) & 255] &
            set->dst[2][(dst >> 8) & 255] & set->dst[3][dst & 255];
  }
  if (used & ROCE_USES_PSN)
    left &= set->psn[0][(f->psn >> 16) & 255] & set->psn[1][(f->psn >> 8) & 255];
  if (used & ROCE_USES_PACKET && f->place)
    left &= set->packet[f->place & 255];
  if (used & ROCE_USES_BTH_MARKS)
    left &= set->bth_marks[(f->bth >> 8) & 255];
  if (used & ROCE_USES_BTH_ACK)
    left &= set->bth_ack[f->bth & 255];
  if (used & ROCE_USES_PKEY) {
    __u64 high = f->pkey >> 8, low = f->pkey;

    /* A mask of the high byte of 16 bits is needless to clang, but not to a verifier. */
    ROCE_BOUND(high, 255);
    ROCE_BOUND(low, 255);
    left &= set->pkey[0][high] & set->pkey[1][low];
  }
  return left;
}

static ROCE_INLINE int roce_in_prefix(const __u32 *address, const struct roce_prefix *prefix) {
  __u32 differ = 0;

  for (int i = 0; i < 4; i++)
    differ |= (address[i] & prefix->mask[i]) ^ prefix->address[i];
  return !differ;
}

static ROCE_INLINE int roce_in_range(__u32 value, const struct roce_range *range) {
  return value >= range->from && value <= range->to;
}

static ROCE_INLINE int roce_in_qps(__u32 qp, const struct roce_rule *rule) {
  for (__u32 i = 0; i < ROCE_RULE_RANGES; i++)
    if (i < rule->qps && roce_in_range(qp, &rule->qp[i]))
      return 1;
  return 0;
}

/* 1 when the packet is the event. `number` is the number of its QP on the port, from 1; 0: none. */
static ROCE_INLINE int roce_is_event(const struct roce_event_match *event,
                                     const struct roce_packet *p, const struct roce_stream *s,
                                     __u32 number) {
  if (!s || p->info & (ROCE_OP_ACK | ROCE_OP_CNP | ROCE_OP_DATAGRAM))
    return 0; /* these have no place in a stream */
  if (event->qp_number && event->qp_number != number)
    return 0;
  return roce_in_range(roce_place(p->psn, s), &event->packet) &&
         (!event->iteration || event->iteration == roce_iteration(s));
}

/* 1 when a condition that the tables do not decide fails; with NOT, when it holds. */
#define ROCE_UNMET_(rule, check, holds)                                                            \
  (((rule)->checks & (ROCE_CHECK_##check | ROCE_CHECK_NOT_##check)) &&                             \
   !(holds) != !!((rule)->checks & ROCE_CHECK_NOT_##check))

/*
 * 1 when the packet meets the rule's conditions that the tables do not decide. Its key is complete.
 */
static ROCE_INLINE int roce_rule_holds(const struct roce_rule *rule, const struct roce_packet *p,
                                       __u32 length, int roce, const struct roce_stream *s,
                                       __u32 number) {
  if (ROCE_UNMET_(rule, SIZE, roce_in_range(length, &rule->size)) ||
      ROCE_UNMET_(rule, VLAN, p->vlan && roce_in_range(p->vlan & ROCE_VLAN_VID, &rule->vlan)))
    return 0;
  if (!roce)
    return 1;
  if (ROCE_UNMET_(rule, SRC, roce_in_prefix(p->key.src, &rule->src)) ||
      ROCE_UNMET_(rule, DST, roce_in_prefix(p->key.dst, &rule->dst)) ||
      ROCE_UNMET_(rule, QP, roce_in_qps(roce_key_qp(&p->key), rule)) ||
      ROCE_UNMET_(rule, PKEY, roce_in_range(p->pkey, &rule->pkey)) ||
      ROCE_UNMET_(rule, PSN,
                  ((p->psn - rule->psn.from) & ROCE_PSN_MASK) <=
                      ((rule->psn.to - rule->psn.from) & ROCE_PSN_MASK)))
    return 0;
  return !(rule->checks & ROCE_CHECK_EVENT) || roce_is_event(&rule->event, p, s, number);
}

#endif
