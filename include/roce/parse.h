/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Parses a frame into the fields that accounting needs. Every frame has exactly one class. Lengths
 * come from the UDP length or the GRH's PayLen, never from the frame, which may be padded or cut.
 */
#ifndef ROCE_PARSE_H
#define ROCE_PARSE_H

#include "opcode.h"
#include "psn.h"
#include "types.h"
#include "wire.h"

enum roce_class {
  ROCE_CLASS_OTHER,
  ROCE_CLASS_V2,
  ROCE_CLASS_V1,
  ROCE_CLASS_PFC,       /* PFC and PAUSE */
  ROCE_CLASS_FRAGMENT,  /* an IP fragment of UDP, first or not */
  ROCE_CLASS_MALFORMED, /* RoCE's UDP port or EtherType, but no complete and consistent BTH */
  ROCE_CLASS_MAX,
};

static ROCE_INLINE int roce_is_roce(int class_) {
  return class_ == ROCE_CLASS_V2 || class_ == ROCE_CLASS_V1;
}

/* Stream kinds and flags, above the 24 bits of DestQP in a key. */
#define ROCE_KIND_SHIFT 24
enum roce_kind { ROCE_KIND_REQUEST = 0, ROCE_KIND_RESPONSE = 1, ROCE_KIND_DATAGRAM = 2 };
#define ROCE_KEY_IPV4 (1u << 26)
#define ROCE_KEY_SIDE (1u << 27)  /* a bridge's second port: its two ports share one table */
#define ROCE_KEY_V1 (1u << 28)    /* RoCEv1 */
#define ROCE_KEY_NONE 0xffffffffu /* qp_kind of a record that belongs to no stream */

/* A stream: addresses in network order, IPv4 as v4-mapped IPv6; qp_kind in host order. */
struct roce_key {
  __u32 src[4];
  __u32 dst[4];
  __u32 qp_kind; /* DestQP | kind << 24 | ROCE_KEY_IPV4 if both addresses are IPv4 | side | v1 */
};
ROCE_STATIC_ASSERT(sizeof(struct roce_key) == 36, "roce_key is 36 bytes in BPF and userspace");

static ROCE_INLINE __u32 roce_key_qp(const struct roce_key *k) { return k->qp_kind & 0xffffff; }
static ROCE_INLINE __u32 roce_key_kind(const struct roce_key *k) {
  return (k->qp_kind >> ROCE_KIND_SHIFT) & 3;
}

static ROCE_INLINE int roce_key_equal(const struct roce_key *a, const struct roce_key *b) {
  if (a->qp_kind != b->qp_kind || a->src[3] != b->src[3] || a->dst[3] != b->dst[3])
    return 0;
  if (b->qp_kind & ROCE_KEY_IPV4)
    return 1;
  return !((a->src[0] ^ b->src[0]) | (a->src[1] ^ b->src[1]) | (a->src[2] ^ b->src[2]) |
           (a->dst[0] ^ b->dst[0]) | (a->dst[1] ^ b->dst[1]) | (a->dst[2] ^ b->dst[2]));
}

#define ROCE_MAPPED_PREFIX roce_swap32(0x0000ffffu)

/* Host order, except for the key's addresses. The class and `cut` decide which fields are valid. */
struct roce_packet {
  struct roce_key key; /* for IPv4 only the last word of each address is set: see roce_key_fill */
  __u32 info;          /* roce_opcode_info[opcode] */
  __u32 psn;
  __u32 payload; /* bytes between the extension headers and the pad */
  __u32 end;     /* offset of the first byte after the iCRC */
  __u32 bth;     /* offset of the BTH */
  __u32 l3;      /* offset of the IP header or GRH */
  __u32 dma_len; /* READ REQUEST: bytes requested */
  __u32 src_qp;  /* UD: DETH SrcQP */
  __u8 opcode;
  __u8 ecn;
  __u8 syndrome; /* of an AETH */
  __u8 pad;      /* bytes */
  __u8 cut;      /* the available bytes end before the headers do */
  __u8 tos;      /* IPv4 TOS, IPv6 or GRH traffic class */
  __u16 vlan;    /* PCP << 13 | ROCE_VLAN_TAGGED | VID of the outer tag; 0: none */
  __u8 ack_req;
  __u8 ipv4;  /* IPv4 header at l3, set for rules; the key's bit is set for v4-mapped IPv6 too */
  __u16 pkey; /* set only for rules that match it, not by roce_parse */
};

#define ROCE_VLAN_TAGGED 0x1000
#define ROCE_VLAN_VID 0x0fff
#define ROCE_VLAN_TCI 0xefff /* PCP and VID, without DEI */
#define ROCE_VLAN_PCP_SHIFT 13

/* Sets the constant words of an IPv4 key, which the hot path leaves unset. */
static ROCE_INLINE void roce_key_fill(struct roce_key *k) {
  if (!(k->qp_kind & ROCE_KEY_IPV4))
    return;
  k->src[0] = k->src[1] = k->dst[0] = k->dst[1] = 0;
  k->src[2] = k->dst[2] = ROCE_MAPPED_PREFIX;
}

static ROCE_INLINE __u32 roce_kind_of(__u32 info) {
  return info & ROCE_OP_RESPONSE  ? ROCE_KIND_RESPONSE
         : info & ROCE_OP_REQUEST ? ROCE_KIND_REQUEST
                                  : ROCE_KIND_DATAGRAM;
}

/* Reads the extension header fields that accounting needs; sets `cut` if they are not available. */
static ROCE_INLINE void roce_parse_ext(const __u8 *ext, const __u8 *end, struct roce_packet *p) {
  if (p->info & (ROCE_HAS_RDETH | ROCE_HAS_XRCETH))
    ext += 4;
  if (p->info & ROCE_OP_READ_REQUEST) {
    if (p->info & ROCE_HAS_DETH)
      ext += ROCE_DETH_LEN;
    if (ext + ROCE_RETH_LEN > end)
      p->cut = 1;
    else
      p->dma_len = roce_be32(ext + ROCE_RETH_DMALEN);
  } else if (p->info & ROCE_HAS_AETH) {
    if (ext + ROCE_AETH_LEN > end)
      p->cut = 1;
    else
      p->syndrome = *ext;
  } else if (p->info & ROCE_HAS_DETH) {
    if (ext + ROCE_DETH_LEN > end)
      p->cut = 1;
    else
      p->src_qp = roce_be24(ext + ROCE_DETH_SRCQP);
  }
}

/*
 * Parses [bth, end); `length` is from BTH to iCRC according to the layer below. Returns its class.
 */
static ROCE_INLINE int roce_parse_bth(const __u8 *bth, const __u8 *end, __u32 length,
                                      struct roce_packet *p, int class_if_good) {
  __u32 needed;

  if (length < ROCE_BTH_LEN + ROCE_ICRC_LEN)
    return ROCE_CLASS_MALFORMED;
  if (bth + ROCE_BTH_LEN > end) {
    p->cut = 1;
    return ROCE_CLASS_OTHER;
  }
  p->opcode = bth[0];
  p->info = roce_opcode_info[p->opcode];
  p->pad = (bth[1] >> 4) & 3;
  needed = ROCE_BTH_LEN + ROCE_ICRC_LEN + ROCE_EXT_LEN(p->info) + p->pad;
  if (length < needed || (bth[1] & 15) != 0)
    return ROCE_CLASS_MALFORMED;
  p->payload = length - needed;
  p->key.qp_kind |= roce_be24(bth + 4) | roce_kind_of(p->info) << ROCE_KIND_SHIFT;
  p->psn = roce_be32(bth + 8);
  p->ack_req = p->psn >> 31;
  p->psn &= ROCE_PSN_MASK;
  if (p->info & (ROCE_OP_READ_REQUEST | ROCE_HAS_AETH | ROCE_HAS_DETH))
    roce_parse_ext(bth + ROCE_BTH_LEN, end, p);
  return class_if_good;
}

/* v4-mapped addresses on both sides (GIDs of RoCEv1 between IPv4 hosts) give an IPv4 key. */
static ROCE_INLINE void roce_parse_addresses6(const __u8 *src, struct roce_packet *p) {
  for (__u64 i = 0; i < 4; i++) {
    p->key.src[i] = roce_load32(src + 4 * i);
    p->key.dst[i] = roce_load32(src + 16 + 4 * i);
  }
  if (ROCE_UNLIKELY(p->key.src[2] == ROCE_MAPPED_PREFIX && p->key.dst[2] == ROCE_MAPPED_PREFIX &&
                    !(p->key.src[0] | p->key.src[1] | p->key.dst[0] | p->key.dst[1])))
    p->key.qp_kind = ROCE_KEY_IPV4;
}

static ROCE_INLINE int roce_parse_udp(const __u8 *data, const __u8 *udp, const __u8 *end,
                                      __u16 port_be, struct roce_packet *p) {
  __u32 length;

  if (udp + ROCE_UDP_LEN > end) {
    p->cut = 1;
    return ROCE_CLASS_OTHER;
  }
  if (roce_load16(udp + 2) != port_be)
    return ROCE_CLASS_OTHER;
  length = roce_be16(udp + 4);
  p->bth = (__u32)(udp + ROCE_UDP_LEN - data);
  p->end = p->bth - ROCE_UDP_LEN + length;
  if (length < ROCE_UDP_LEN)
    return ROCE_CLASS_MALFORMED;
  return roce_parse_bth(udp + ROCE_UDP_LEN, end, length - ROCE_UDP_LEN, p, ROCE_CLASS_V2);
}

static ROCE_INLINE int roce_parse_ipv4(const __u8 *data, const __u8 *ip, const __u8 *end,
                                       __u16 port_be, int options, struct roce_packet *p) {
  __u32 header = ROCE_IPV4_LEN;

  if (ip + ROCE_IPV4_LEN > end) {
    p->cut = 1;
    return ROCE_CLASS_OTHER;
  }
  if (options)
    header = (ip[0] & 15) * 4;
  if (ip[0] >> 4 != 4 || header < ROCE_IPV4_LEN || ip[9] != ROCE_IPPROTO_UDP)
    return ROCE_CLASS_OTHER;
  if (roce_load16(ip + 6) & roce_swap16(0x3fff)) /* offset or more fragments */
    return ROCE_CLASS_FRAGMENT;
  p->tos = ip[1];
  p->ecn = ip[1] & 3;
  p->key.src[3] = roce_load32(ip + 12);
  p->key.dst[3] = roce_load32(ip + 16);
  p->key.qp_kind = ROCE_KEY_IPV4;
  return roce_parse_udp(data, ip + header, end, port_be, p);
}

#define ROCE_UDP_FARTHEST                                                                          \
  0x3fff /* offset of a UDP header after ROCE_IPV6_EXT_MAX headers: 12,346 */

/* Skips hop-by-hop, routing and destination options. An atomic fragment (RFC 6946) is complete. */
static ROCE_INLINE int roce_parse_ipv6(const __u8 *data, const __u8 *ip, const __u8 *end,
                                       __u16 port_be, int extensions, struct roce_packet *p) {
  const __u8 *cur = ip + ROCE_IPV6_LEN;
  __u8 next;

  if (cur > end) {
    p->cut = 1;
    return ROCE_CLASS_OTHER;
  }
  if (ip[0] >> 4 != 6)
    return ROCE_CLASS_OTHER;
  next = ip[6];
  p->tos = (__u8)(ip[0] << 4 | ip[1] >> 4);
  p->ecn = p->tos & 3;
  roce_parse_addresses6(ip + 8, p);
  for (int i = 0; extensions && next != ROCE_IPPROTO_UDP && i < ROCE_IPV6_EXT_MAX; i++) {
    if (next != ROCE_IPPROTO_HOPOPTS && next != ROCE_IPPROTO_ROUTING &&
        next != ROCE_IPPROTO_DSTOPTS && next != ROCE_IPPROTO_FRAGMENT)
      return ROCE_CLASS_OTHER;
    if (cur + 8 > end) {
      p->cut = 1;
      return ROCE_CLASS_OTHER;
    }
    if (next == ROCE_IPPROTO_FRAGMENT) {
      next = cur[0];
      if (roce_load16(cur + 2) & roce_swap16(0xfff9)) /* offset or more fragments */
        return next == ROCE_IPPROTO_UDP ? ROCE_CLASS_FRAGMENT : ROCE_CLASS_OTHER;
      cur += 8;
    } else {
      next = cur[0];
      cur += 8 + 8 * cur[1];
    }
  }
  if (next != ROCE_IPPROTO_UDP)
    return ROCE_CLASS_OTHER;
  if (extensions)
    ROCE_MEET(cur, data, ROCE_UDP_FARTHEST);
  return roce_parse_udp(data, cur, end, port_be, p);
}

static ROCE_INLINE int roce_parse_grh(const __u8 *data, const __u8 *grh, const __u8 *end,
                                      struct roce_packet *p) {
  p->bth = (__u32)(grh + ROCE_GRH_LEN - data);
  p->end = p->bth + ROCE_BTH_LEN + ROCE_ICRC_LEN; /* the minimum */
  if (grh + ROCE_GRH_LEN > end) {
    p->cut = 1;
    return ROCE_CLASS_OTHER;
  }
  p->end = p->bth + roce_be16(grh + 4);
  if (grh[0] >> 4 != 6 || grh[6] != ROCE_GRH_NEXT_BTH)
    return ROCE_CLASS_MALFORMED;
  roce_parse_addresses6(grh + 8, p);
  p->key.qp_kind |= ROCE_KEY_V1;
  return roce_parse_bth(grh + ROCE_GRH_LEN, end, roce_be16(grh + 4), p, ROCE_CLASS_V1);
}

/* Parses from the network layer on: `l3` is the start of its header, `ethertype_be` its type. */
static ROCE_INLINE int roce_parse_l3(const __u8 *data, const __u8 *l3, const __u8 *end,
                                     __u16 ethertype_be, __u16 port_be, struct roce_packet *p) {
  p->l3 = (__u32)(l3 - data);
  if (ROCE_LIKELY(ethertype_be == roce_swap16(ROCE_ETHERTYPE_IPV4)))
    return roce_parse_ipv4(data, l3, end, port_be, 1, p);
  if (ethertype_be == roce_swap16(ROCE_ETHERTYPE_IPV6))
    return roce_parse_ipv6(data, l3, end, port_be, 1, p);
  if (ethertype_be == roce_swap16(ROCE_ETHERTYPE_ROCEV1))
    return roce_parse_grh(data, l3, end, p);
  if (ethertype_be == roce_swap16(ROCE_ETHERTYPE_MAC_CONTROL)) {
    if (l3 + 2 > end) {
      p->cut = 1;
      return ROCE_CLASS_OTHER;
    }
    if (roce_be16(l3) == ROCE_MAC_CONTROL_PFC || roce_be16(l3) == ROCE_MAC_CONTROL_PAUSE)
      return ROCE_CLASS_PFC;
  }
  return ROCE_CLASS_OTHER;
}

static ROCE_INLINE int roce_is_vlan(__u16 ethertype_be) {
  return ethertype_be == roce_swap16(ROCE_ETHERTYPE_VLAN) ||
         ethertype_be == roce_swap16(ROCE_ETHERTYPE_QINQ);
}

/*
 * Parses an Ethernet frame, of which the bytes [data, end) are available; `port_be` in network
 * order. Returns enum roce_class, final except for the check of the frame's length: see
 * roce_check_length. The scalar fields of `p` must be 0.
 */
static ROCE_INLINE int roce_parse(const __u8 *data, const __u8 *end, __u16 port_be,
                                  struct roce_packet *p) {
  const __u8 *cur = data + ROCE_ETH_LEN;
  __u16 ethertype;

  if (cur > end) {
    p->cut = 1;
    return ROCE_CLASS_OTHER;
  }
  ethertype = roce_load16(data + 12);
  for (int i = 0; i < ROCE_VLAN_MAX && ROCE_UNLIKELY(roce_is_vlan(ethertype)); i++) {
    if (cur + ROCE_VLAN_LEN > end) {
      p->cut = 1;
      return ROCE_CLASS_OTHER;
    }
    if (!i)
      p->vlan = ROCE_VLAN_TAGGED | (roce_be16(cur) & ROCE_VLAN_TCI);
    ethertype = roce_load16(cur + 2);
    cur += ROCE_VLAN_LEN;
  }
  ROCE_MEET(cur, data, 31);
  return roce_parse_l3(data, cur, end, ethertype, port_be, p);
}

/*
 * The common case of roce_parse, with few paths for the verifier: at most one VLAN tag, IPv4
 * without options, IPv6 without extension headers. ROCE_CLASS_MAX: the caller uses roce_parse.
 */
static ROCE_INLINE int roce_parse_plain(const __u8 *data, const __u8 *end, __u16 port_be,
                                        struct roce_packet *p) {
  const __u8 *l3 = data + ROCE_ETH_LEN;
  __u16 ethertype;

  if (l3 + ROCE_VLAN_LEN > end)
    return ROCE_CLASS_MAX;
  ethertype = roce_load16(data + 12);
  if (roce_is_vlan(ethertype)) {
    p->vlan = ROCE_VLAN_TAGGED | (roce_be16(data + 14) & ROCE_VLAN_TCI);
    ethertype = roce_load16(data + 16);
    l3 += ROCE_VLAN_LEN;
  }
  p->l3 = (__u32)(l3 - data);
  if (ROCE_LIKELY(ethertype == roce_swap16(ROCE_ETHERTYPE_IPV4))) {
    if (l3 + ROCE_IPV4_LEN > end || l3[0] != 0x45)
      return ROCE_CLASS_MAX;
    return roce_parse_ipv4(data, l3, end, port_be, 0, p);
  }
  if (ethertype == roce_swap16(ROCE_ETHERTYPE_IPV6)) {
    if (l3 + ROCE_IPV6_LEN > end || l3[6] != ROCE_IPPROTO_UDP)
      return ROCE_CLASS_MAX;
    return roce_parse_ipv6(data, l3, end, port_be, 0, p);
  }
  return ROCE_CLASS_MAX;
}

/*
 * The class when the frame's length on the wire (without FCS) is known. A packet that claims to be
 * longer than its frame is malformed; it was not cut by a snap length, so `cut` is cleared.
 */
static ROCE_INLINE int roce_check_length(int class_, __u32 frame_length, struct roce_packet *p) {
  if (p->end > frame_length) {
    p->cut = 0;
    return ROCE_CLASS_MALFORMED;
  }
  return class_;
}

#endif
