/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Takes one tunnel off a frame: what a mirror (ERSPAN, GRE), an overlay (VXLAN, GENEVE, IP in IP)
 * or a network of labels (MPLS) has put around it. inner.h takes off all that a frame has.
 */
#ifndef ROCE_TUNNEL_H
#define ROCE_TUNNEL_H

#include "parse.h"

/* Bits of roce_config.decap are 1 << these. */
enum roce_tunnel {
  ROCE_TUNNEL_ERSPAN, /* types I, II and III */
  ROCE_TUNNEL_GRE,    /* around an Ethernet frame (0x6558, 0x8949), IP or MPLS */
  ROCE_TUNNEL_VXLAN,
  ROCE_TUNNEL_GENEVE,
  ROCE_TUNNEL_MPLS, /* a stack of labels, also in IP */
  ROCE_TUNNEL_IPIP, /* IPv4 or IPv6 in IPv4 or IPv6 */
  ROCE_TUNNEL_QINQ, /* VLAN tags before the last */
  ROCE_TUNNELS,
};
#define ROCE_TUNNELS_ALL ((1u << ROCE_TUNNELS) - 1)
#define ROCE_TUNNEL_COUNTS 8 /* the next power of two: a mask bounds it */

#define ROCE_TUNNEL_LABELS 8 /* of a stack of MPLS */
#define ROCE_INNER_MAX 1023  /* 2^n - 1: largest offset of what is inside */

enum roce_origin_flags {
  ROCE_ORIGIN_SESSION = 1 << 0,   /* sent by a mirror session: ERSPAN or GRE */
  ROCE_ORIGIN_SEQUENCED = 1 << 1, /* `sequence` is valid */
  ROCE_ORIGIN_TRUNCATED = 1 << 2, /* the mirror cut the frame */
  ROCE_ORIGIN_FRAGMENT = 1 << 3,  /* a fragment of a tunnel's packet, which is not taken off */
  ROCE_ORIGIN_DEEP = 1 << 4,      /* another tunnel is inside, which is not taken off */
  ROCE_ORIGIN_COPY = 1 << 5,      /* of a mirror: what is inside is a copy, see README.md 10 */
  ROCE_ORIGIN_IP = 1 << 6,        /* the tunnel has an IP header, with these ECN bits: */
  ROCE_ORIGIN_ECN_SHIFT = 8,
  ROCE_ORIGIN_ECN = 3 << ROCE_ORIGIN_ECN_SHIFT,
  ROCE_ORIGIN_NOT_ECT = 1 << 10, /* CE around not-ECT: the tunnel's end drops the packet */
};

/* Where a frame in a tunnel comes from. */
struct roce_origin {
  __u64 pair; /* of the tunnel's two addresses: the same for the same pair */
  __u32 id;   /* ERSPAN session or GRE key */
  __u32 sequence;
  __u16 ip;     /* offset of the tunnel's IP header */
  __u8 tunnel;  /* enum roce_tunnel */
  __u8 tunnels; /* all that were taken off: 1 << enum roce_tunnel */
  __u32 flags;  /* enum roce_origin_flags */
};

struct roce_peeled {
  const __u8 *at; /* the first byte inside */
  __u16 type_be;  /* EtherType of what begins there; 0: an Ethernet header */
};

/*
 * RFC 6040, 4.2: the ECN bits with which a packet leaves a tunnel, by those of the tunnel's header
 * and its own: two bits each of a table. Not-ECT in CE, which is dropped, stays not-ECT.
 */
#define ROCE_ECN_DECAP 0xfce4d4e4u

static ROCE_INLINE __u8 roce_ecn_decap(__u32 outer, __u32 inner) {
  return (__u8)(ROCE_ECN_DECAP >> ((outer & 3) << 3 | (inner & 3) << 1) & 3);
}

/* ROCE_ORIGIN_NOT_ECT if a packet with these bits is dropped at the end of the tunnel. */
static ROCE_INLINE __u32 roce_ecn_drops(__u32 outer, __u32 inner) {
  return (outer & 3) == ROCE_ECN_CE && !(inner & 3) ? ROCE_ORIGIN_NOT_ECT : 0;
}

static ROCE_INLINE __u32 roce_outer_ecn(__u32 flags) { return flags >> ROCE_ORIGIN_ECN_SHIFT & 3; }

/*
 * Flags of the ECN bits after a further tunnel (`now`) inside those taken off so far (`before`).
 * Of a mirror's copies, only what is inside counts. A label stack has no ECN bits.
 */
static ROCE_INLINE __u32 roce_nest_ecn(__u32 before, __u32 now) {
  const __u32 of = ROCE_ORIGIN_ECN | ROCE_ORIGIN_NOT_ECT;
  __u32 outer = roce_outer_ecn(before), inner = roce_outer_ecn(now);

  if (now & ROCE_ORIGIN_COPY)
    return 0;
  if (!(now & ROCE_ORIGIN_IP))
    return before & of;
  return (before & ROCE_ORIGIN_NOT_ECT) | roce_ecn_drops(outer, inner) |
         (__u32)roce_ecn_decap(outer, inner) << ROCE_ORIGIN_ECN_SHIFT;
}

static ROCE_INLINE int roce_is_network(__u16 type_be) {
  return type_be == roce_swap16(ROCE_ETHERTYPE_IPV4) ||
         type_be == roce_swap16(ROCE_ETHERTYPE_IPV6) ||
         type_be == roce_swap16(ROCE_ETHERTYPE_ROCEV1) ||
         type_be == roce_swap16(ROCE_ETHERTYPE_MPLS) ||
         type_be == roce_swap16(ROCE_ETHERTYPE_MPLS_MULTICAST);
}

static ROCE_INLINE int roce_takes(__u32 kinds, int tunnel, struct roce_origin *from) {
  from->tunnel = (__u8)tunnel;
  return (kinds >> tunnel) & 1;
}

static ROCE_INLINE void roce_read_session(const __u8 *erspan, struct roce_origin *from) {
  __u32 word = roce_be16(erspan + 2);

  from->id = word & ROCE_ERSPAN_SESSION;
  if (word & ROCE_ERSPAN_TRUNCATED)
    from->flags |= ROCE_ORIGIN_TRUNCATED;
}

/* `erspan` follows a GRE header of this type. */
static ROCE_INLINE int roce_peel_erspan(const __u8 *erspan, const __u8 *end, __u16 type_be,
                                        struct roce_origin *from, struct roce_peeled *in) {
  in->at = erspan;
  if (type_be == roce_swap16(ROCE_ETHERTYPE_ERSPAN)) {
    if (!(from->flags & ROCE_ORIGIN_SEQUENCED)) /* type I has no header of its own */
      return 1;
    if (erspan + ROCE_ERSPAN_II_LEN > end || erspan[0] >> 4 != ROCE_ERSPAN_II_VERSION)
      return 0;
    roce_read_session(erspan, from);
    in->at = erspan + ROCE_ERSPAN_II_LEN;
    return 1;
  }
  if (erspan + ROCE_ERSPAN_III_LEN > end || erspan[0] >> 4 != ROCE_ERSPAN_III_VERSION)
    return 0;
  roce_read_session(erspan, from);
  in->at = erspan + ROCE_ERSPAN_III_LEN + (erspan[11] & 1) * ROCE_ERSPAN_PLATFORM_LEN;
  return 1;
}

static ROCE_INLINE int roce_peel_gre(const __u8 *gre, const __u8 *end, __u32 kinds,
                                     struct roce_origin *from, struct roce_peeled *in) {
  const __u8 *cur;
  __u32 flags;
  __u16 type;

  if (gre + ROCE_GRE_LEN > end)
    return 0;
  flags = roce_be16(gre);
  type = roce_load16(gre + 2);
  if (flags & (ROCE_GRE_ROUTING | ROCE_GRE_VERSION))
    return 0;
  if (flags & ROCE_GRE_KEY) {
    cur = gre + ROCE_GRE_LEN + ((flags & ROCE_GRE_CHECKSUM) >> 13);
    if (cur + 4 > end)
      return 0;
    from->id = roce_be32(cur);
  }
  cur = gre + ROCE_GRE_LEN + ((flags & ROCE_GRE_CHECKSUM) >> 13) + ((flags & ROCE_GRE_KEY) >> 11) +
        ((flags & ROCE_GRE_SEQUENCE) >> 10);
  if (cur > end)
    return 0;
  from->flags |= ROCE_ORIGIN_SESSION;
  if (flags & ROCE_GRE_SEQUENCE) {
    from->sequence = roce_be32(cur - 4);
    from->flags |= ROCE_ORIGIN_SEQUENCED;
  }
  in->type_be = 0;
  if (type == roce_swap16(ROCE_ETHERTYPE_ERSPAN) ||
      type == roce_swap16(ROCE_ETHERTYPE_ERSPAN_III)) {
    from->flags |= ROCE_ORIGIN_COPY;
    return roce_takes(kinds, ROCE_TUNNEL_ERSPAN, from) &&
           roce_peel_erspan(cur, end, type, from, in);
  }
  in->at = cur;
  if (type == roce_swap16(ROCE_ETHERTYPE_MIRROR) ||
      (type == roce_swap16(ROCE_ETHERTYPE_TRANSPARENT) && flags & ROCE_GRE_SEQUENCE))
    from->flags |= ROCE_ORIGIN_COPY;
  if (type != roce_swap16(ROCE_ETHERTYPE_TRANSPARENT) &&
      type != roce_swap16(ROCE_ETHERTYPE_MIRROR)) {
    if (!roce_is_network(type))
      return 0;
    in->type_be = type;
  }
  return roce_takes(kinds, ROCE_TUNNEL_GRE, from);
}

static ROCE_INLINE int roce_peel_udp(const __u8 *udp, const __u8 *end, __u32 kinds,
                                     struct roce_origin *from, struct roce_peeled *in) {
  const __u8 *header = udp + ROCE_UDP_LEN;
  __u16 port, type;

  if (header + ROCE_VXLAN_LEN > end)
    return 0;
  port = roce_load16(udp + 2);
  in->at = header + ROCE_VXLAN_LEN;
  in->type_be = 0;
  if (port == roce_swap16(ROCE_VXLAN_PORT))
    return header[0] & ROCE_VXLAN_VNI && roce_takes(kinds, ROCE_TUNNEL_VXLAN, from);
  if (port != roce_swap16(ROCE_GENEVE_PORT) || header[0] >> 6)
    return 0;
  type = roce_load16(header + 2);
  if (type != roce_swap16(ROCE_ETHERTYPE_TRANSPARENT)) {
    if (!roce_is_network(type))
      return 0;
    in->type_be = type;
  }
  in->at += (header[0] & 63) * 4; /* options */
  return roce_takes(kinds, ROCE_TUNNEL_GENEVE, from);
}

/*
 * A label stack says nothing about what it carries. As in routers, the first four bits decide: 4
 * and 6 are IP, 0 may be a control word (RFC 4385, of zeroes and a sequence number), any other an
 * Ethernet frame.
 */
static ROCE_INLINE int roce_peel_mpls(const __u8 *cur, const __u8 *end, __u32 kinds,
                                      struct roce_origin *from, struct roce_peeled *in) {
  if (!roce_takes(kinds, ROCE_TUNNEL_MPLS, from))
    return 0;
  ROCE_ROLLED
  for (int i = 0; i < ROCE_TUNNEL_LABELS; i++) {
    if (cur + ROCE_MPLS_LEN + 2 > end)
      return 0;
    if (roce_be32(cur) & ROCE_MPLS_BOTTOM) {
      const __u8 *inside = cur + ROCE_MPLS_LEN;

      in->at = inside;
      in->type_be = inside[0] >> 4 == 4   ? roce_swap16(ROCE_ETHERTYPE_IPV4)
                    : inside[0] >> 4 == 6 ? roce_swap16(ROCE_ETHERTYPE_IPV6)
                                          : 0;
      if (!roce_load16(inside))
        in->at = inside + ROCE_MPLS_LEN;
      return 1;
    }
    cur += ROCE_MPLS_LEN;
  }
  return 0;
}

/* `cur` is the start of a header of IP protocol `proto`. */
static ROCE_INLINE int roce_peel_ip(const __u8 *cur, const __u8 *end, __u8 proto, __u32 kinds,
                                    struct roce_origin *from, struct roce_peeled *in) {
  if (proto == ROCE_IPPROTO_GRE)
    return roce_peel_gre(cur, end, kinds, from, in);
  if (proto == ROCE_IPPROTO_UDP)
    return roce_peel_udp(cur, end, kinds, from, in);
  if (proto == ROCE_IPPROTO_MPLS)
    return roce_peel_mpls(cur, end, kinds, from, in);
  in->at = cur;
  in->type_be = proto == ROCE_IPPROTO_IPV4 ? roce_swap16(ROCE_ETHERTYPE_IPV4)
                                           : roce_swap16(ROCE_ETHERTYPE_IPV6);
  return (proto == ROCE_IPPROTO_IPV4 || proto == ROCE_IPPROTO_IPV6) &&
         roce_takes(kinds, ROCE_TUNNEL_IPIP, from);
}

static ROCE_INLINE int roce_is_tunnel(__u8 proto) {
  return proto == ROCE_IPPROTO_GRE || proto == ROCE_IPPROTO_IPV4 || proto == ROCE_IPPROTO_IPV6 ||
         proto == ROCE_IPPROTO_MPLS;
}

/* Fragments are not put together. With UDP inside they have a class of their own (parse.h). */
static ROCE_INLINE int roce_refuse_fragment(__u8 proto, struct roce_origin *from) {
  if (roce_is_tunnel(proto))
    from->flags |= ROCE_ORIGIN_FRAGMENT;
  return 0;
}

static ROCE_INLINE int roce_peel_ipv4(const __u8 *ip, const __u8 *end, __u32 kinds, int plain,
                                      struct roce_origin *from, struct roce_peeled *in) {
  __u32 header = ROCE_IPV4_LEN;

  if (ip + ROCE_IPV4_LEN > end || ip[0] >> 4 != 4)
    return 0;
  if (!plain)
    header = (ip[0] & 15) * 4;
  else if (ip[0] != 0x45)
    return 0;
  if (header < ROCE_IPV4_LEN)
    return 0;
  if (roce_load16(ip + 6) & roce_swap16(0x3fff))
    return roce_refuse_fragment(ip[9], from);
  from->pair = (__u64)roce_load32(ip + 12) << 32 | roce_load32(ip + 16);
  from->flags |= ROCE_ORIGIN_IP | (__u32)(ip[1] & 3) << ROCE_ORIGIN_ECN_SHIFT;
  return roce_peel_ip(ip + header, end, ip[9], kinds, from, in);
}

static ROCE_INLINE __u64 roce_pair6(const __u8 *ip) {
  __u64 pair = 1;

  for (int i = 0; i < 4; i++)
    pair = (pair ^ ((__u64)roce_load32(ip + 8 + 4 * i) << 32 | roce_load32(ip + 24 + 4 * i))) *
           0xff51afd7ed558ccdull;
  return pair;
}

static ROCE_INLINE int roce_peel_ipv6(const __u8 *ip, const __u8 *end, __u32 kinds, int plain,
                                      struct roce_origin *from, struct roce_peeled *in) {
  const __u8 *cur = ip + ROCE_IPV6_LEN;
  __u8 next;

  if (cur > end || ip[0] >> 4 != 6)
    return 0;
  next = ip[6];
  from->pair = roce_pair6(ip);
  from->flags |= ROCE_ORIGIN_IP | (__u32)(ip[1] >> 4 & 3) << ROCE_ORIGIN_ECN_SHIFT;
  for (int i = 0; !plain && i < ROCE_IPV6_EXT_MAX; i++) {
    if (next != ROCE_IPPROTO_HOPOPTS && next != ROCE_IPPROTO_ROUTING &&
        next != ROCE_IPPROTO_DSTOPTS && next != ROCE_IPPROTO_FRAGMENT)
      break;
    if (cur + 8 > end)
      return 0;
    if (next == ROCE_IPPROTO_FRAGMENT) {
      next = cur[0];
      if (roce_load16(cur + 2) & roce_swap16(0xfff9))
        return roce_refuse_fragment(next, from);
      cur += 8;
    } else {
      next = cur[0];
      cur += 8 + 8 * cur[1];
    }
  }
  return roce_peel_ip(cur, end, next, kinds, from, in);
}

/*
 * Takes off the tunnel of which `l3` is the first header, of EtherType `type_be`. 1 when done: `in`
 * and `from` are set; 0: there is none of these kinds, or it is not complete, and both are
 * undefined but for from->flags. `plain`: only IPv4 without options and IPv6 without extension
 * headers, with few paths for the verifier.
 */
static ROCE_INLINE int roce_peel(const __u8 *l3, const __u8 *end, __u16 type_be, __u32 kinds,
                                 int plain, struct roce_origin *from, struct roce_peeled *in) {
  if (ROCE_LIKELY(type_be == roce_swap16(ROCE_ETHERTYPE_IPV4)))
    return roce_peel_ipv4(l3, end, kinds, plain, from, in);
  if (type_be == roce_swap16(ROCE_ETHERTYPE_IPV6))
    return roce_peel_ipv6(l3, end, kinds, plain, from, in);
  if (!plain && (type_be == roce_swap16(ROCE_ETHERTYPE_MPLS) ||
                 type_be == roce_swap16(ROCE_ETHERTYPE_MPLS_MULTICAST)))
    return roce_peel_mpls(l3, end, kinds, from, in);
  return 0;
}

#endif
