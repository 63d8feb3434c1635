/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Conditions of a rule on what the other headers do not keep: MAC addresses, PCP, inner tag, MPLS
 * label, ports of TCP, UDP and SCTP, raw bytes. They read the frame again; only rules that have
 * such a condition, and whose other conditions are met, pay for it.
 */
#ifndef ROCE_OUTER_H
#define ROCE_OUTER_H

#include "env.h"
#include "parse.h"
#include "rule.h"

#define ROCE_MPLS_LABELS 4 /* labels of a stack before its payload is not looked at */

/* What a frame has in front of its payload, in host order. */
struct roce_layers {
  __u32 tags;      /* VLAN tags, up to ROCE_VLAN_MAX */
  __u32 tci;       /* of the outer tag */
  __u32 inner_tci; /* of the next one */
  __u32 type;      /* EtherType after the tags */
  __u32 labelled;  /* 1: has an MPLS label */
  __u32 label;     /* the first of the stack */
  __u32 ported;    /* 1: has ports */
  __u32 src_port, dst_port;
};

/* `l4` is the start of a header of protocol `proto`. TCP, UDP and SCTP begin with their ports. */
static ROCE_INLINE void roce_read_ports(const __u8 *l4, const __u8 *end, __u8 proto,
                                        struct roce_layers *l) {
  if (proto != ROCE_IPPROTO_TCP && proto != ROCE_IPPROTO_UDP && proto != ROCE_IPPROTO_SCTP)
    return;
  if (l4 + 4 > end)
    return;
  l->ported = 1;
  l->src_port = roce_be16(l4);
  l->dst_port = roce_be16(l4 + 2);
}

/* Fragments other than the first have no ports. */
static ROCE_INLINE void roce_read_ipv4(const __u8 *ip, const __u8 *end, struct roce_layers *l) {
  __u32 header;

  if (ip + ROCE_IPV4_LEN > end || ip[0] >> 4 != 4)
    return;
  header = (ip[0] & 15) * 4;
  if (header < ROCE_IPV4_LEN || roce_load16(ip + 6) & roce_swap16(0x1fff))
    return;
  roce_read_ports(ip + header, end, ip[9], l);
}

static ROCE_INLINE void roce_read_ipv6(const __u8 *ip, const __u8 *end, struct roce_layers *l) {
  const __u8 *cur = ip + ROCE_IPV6_LEN;
  __u8 next;

  if (cur > end || ip[0] >> 4 != 6)
    return;
  next = ip[6];
  for (int i = 0; i < ROCE_IPV6_EXT_MAX; i++) {
    if (next != ROCE_IPPROTO_HOPOPTS && next != ROCE_IPPROTO_ROUTING &&
        next != ROCE_IPPROTO_DSTOPTS && next != ROCE_IPPROTO_FRAGMENT)
      break;
    if (cur + 8 > end)
      return;
    if (next == ROCE_IPPROTO_FRAGMENT) {
      if (roce_load16(cur + 2) & roce_swap16(0xfff8))
        return;
      next = cur[0];
      cur += 8;
    } else {
      next = cur[0];
      cur += 8 + 8 * cur[1];
    }
  }
  ROCE_MEET(cur, ip, ROCE_UDP_FARTHEST);
  roce_read_ports(cur, end, next, l);
}

/* A label stack says nothing about its payload: as everywhere, the IP version decides. */
static ROCE_INLINE void roce_read_mpls(const __u8 *cur, const __u8 *end, struct roce_layers *l) {
  for (int i = 0; i < ROCE_MPLS_LABELS; i++) {
    __u32 entry;

    if (cur + 4 > end)
      return;
    entry = roce_be32(cur);
    if (!i) {
      l->labelled = 1;
      l->label = entry >> 12;
    }
    cur += 4;
    if (!(entry & 0x100)) /* not the last of the stack */
      continue;
    if (cur + 1 > end)
      return;
    if (cur[0] >> 4 == 4)
      roce_read_ipv4(cur, end, l);
    else
      roce_read_ipv6(cur, end, l);
    return;
  }
}

/* Reads the headers of the frame in [data, end). `l` is 0 before. */
static ROCE_INLINE void roce_read_layers(const __u8 *data, const __u8 *end, struct roce_layers *l) {
  const __u8 *cur = data + ROCE_ETH_LEN;
  __u16 type;

  if (cur > end)
    return;
  type = roce_load16(data + 12);
  for (int i = 0; i < ROCE_VLAN_MAX && roce_is_vlan(type); i++) {
    if (cur + ROCE_VLAN_LEN > end)
      return;
    l->tags++;
    if (i)
      l->inner_tci = roce_be16(cur);
    else
      l->tci = roce_be16(cur);
    type = roce_load16(cur + 2);
    cur += ROCE_VLAN_LEN;
  }
  ROCE_MEET(cur, data, 31);
  l->type = roce_swap16(type);
  if (l->type == ROCE_ETHERTYPE_IPV4)
    roce_read_ipv4(cur, end, l);
  else if (l->type == ROCE_ETHERTYPE_IPV6)
    roce_read_ipv6(cur, end, l);
  else if (l->type == ROCE_ETHERTYPE_MPLS || l->type == ROCE_ETHERTYPE_MPLS_MULTICAST)
    roce_read_mpls(cur, end, l);
}

/* 1 when the frame has these bytes. */
ROCE_OUTLINE int roce_raw_holds(struct roce_frame *frame, const struct roce_raw_match *raw) {
  __u64 value = 0;

  if (!raw)
    return 0;
  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_RAW_BYTES; i++) {
    __u8 byte = 0;

    if (i < raw->length && roce_frame_load(frame, raw->offset + i, &byte))
      return 0;
    value = value << 8 | byte;
  }
  return (value & raw->mask) == raw->value;
}

static ROCE_INLINE int roce_outer_range(__u32 value, const struct roce_range *range) {
  return value >= range->from && value <= range->to;
}

/* The conditions that hold among those in `used`, without `inverted`. */
static ROCE_INLINE __u32 roce_outer_met(const struct roce_outer_match *outer,
                                        const struct roce_layers *l) {
  __u32 met = 0, pcp = l->tags ? l->tci >> 13 : ROCE_PCP_NONE;

  if (outer->pcps >> (pcp & 15) & 1)
    met |= ROCE_OUTER_PCP;
  if (l->tags > 1 && roce_outer_range(l->inner_tci & ROCE_VLAN_VID, &outer->inner_vlan))
    met |= ROCE_OUTER_INNER_VLAN;
  if (l->labelled && roce_outer_range(l->label, &outer->mpls))
    met |= ROCE_OUTER_MPLS;
  if (l->ported && roce_outer_range(l->src_port, &outer->src_port))
    met |= ROCE_OUTER_SRC_PORT;
  if (l->ported && roce_outer_range(l->dst_port, &outer->dst_port))
    met |= ROCE_OUTER_DST_PORT;
  if ((l->type == ROCE_ETHERTYPE_ROCEV1 ? 1 : 2) == outer->version)
    met |= ROCE_OUTER_VERSION;
  return met;
}

/* 1 when the current frame meets the rule's conditions of this file. */
ROCE_OUTLINE int roce_outer_holds(struct roce_frame *frame, const struct roce_rule *rule) {
  struct roce_layers layers = {};
  __u32 met = 0;

  if (!rule)
    return 0;
  for (int i = 0; i < ROCE_RAW_MATCHES; i++)
    if (rule->outer.used & 1u << i && roce_raw_holds(frame, &rule->outer.raw[i]))
      met |= 1u << i;
  if (rule->outer.used >> ROCE_RAW_MATCHES) {
    roce_read_layers(roce_frame_data(frame), roce_frame_end(frame), &layers);
    met |= roce_outer_met(&rule->outer, &layers);
  }
  return ((met ^ rule->outer.inverted) & rule->outer.used) == rule->outer.used;
}

static ROCE_INLINE int roce_check_outer(struct roce_frame *frame, struct roce_env *env,
                                        const struct roce_rule *rule) {
  return !(roce_uses(env) & ROCE_USES_OUTER) || !(rule->checks & ROCE_CHECK_OUTER) ||
         roce_outer_holds(frame, rule);
}

#endif
