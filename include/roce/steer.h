/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Decides which frames go to a userspace endpoint: RoCE packets and neighbour messages (ARP, RFC
 * 826; neighbour discovery, RFC 4861; echo messages, RFC 792 and 4443). All other frames go to the
 * host, unless it takes them all.
 */
#ifndef ROCE_STEER_H
#define ROCE_STEER_H

#include "parse.h"

#define ROCE_ETHERTYPE_ARP 0x0806
#define ROCE_ARP_LEN 28
#define ROCE_ARP_TARGET 24
#define ROCE_IPPROTO_ICMPV6 58
#define ROCE_IPPROTO_ICMP 1
#define ROCE_ICMP_REPLY 0
#define ROCE_ICMP_REQUEST 8
#define ROCE_ICMPV6_REQUEST 128
#define ROCE_ICMPV6_REPLY 129
#define ROCE_ND_SOLICITATION 135
#define ROCE_ND_ADVERTISEMENT 136
#define ROCE_ND_LEN 24 /* up to the end of the target's address */
#define ROCE_ND_TARGET 8

/*
 * Frames that an endpoint takes for an address, as bits. It takes neighbour messages only if the
 * host does not have the address. ROCE_STEER_OTHERS is of the address :: alone: all frames that no
 * other endpoint takes.
 */
enum roce_steered { ROCE_STEER_ROCE = 1, ROCE_STEER_NEIGHBOURS = 2, ROCE_STEER_OTHERS = 4 };

/* Network order, IPv4 as v4-mapped IPv6. */
struct roce_endpoint {
  __u32 address[4];
};

static ROCE_INLINE void roce_endpoint4(const __u8 *wire, struct roce_endpoint *to) {
  to->address[0] = to->address[1] = 0;
  to->address[2] = ROCE_MAPPED_PREFIX;
  to->address[3] = roce_load32(wire);
}

static ROCE_INLINE void roce_endpoint6(const __u8 *wire, struct roce_endpoint *to) {
  for (int i = 0; i < 4; i++)
    to->address[i] = roce_load32(wire + 4 * i);
}

/* A solicitation is for its target; an advertisement is for its destination address. */
static ROCE_INLINE int roce_steer_ipv6(const __u8 *ip, const __u8 *end, __u16 port_be,
                                       struct roce_endpoint *to) {
  const __u8 *next = ip + ROCE_IPV6_LEN;

  if (next + ROCE_UDP_LEN > end)
    return 0;
  if (ip[6] == ROCE_IPPROTO_ICMPV6 && next[0] == ROCE_ND_SOLICITATION) {
    if (next + ROCE_ND_LEN > end)
      return 0;
    roce_endpoint6(next + ROCE_ND_TARGET, to);
    return ROCE_STEER_NEIGHBOURS;
  }
  roce_endpoint6(ip + 24, to);
  if (ip[6] == ROCE_IPPROTO_ICMPV6)
    return next[0] == ROCE_ND_ADVERTISEMENT || next[0] == ROCE_ICMPV6_REQUEST ||
                   next[0] == ROCE_ICMPV6_REPLY
               ? ROCE_STEER_NEIGHBOURS
               : 0;
  return ip[6] == ROCE_IPPROTO_UDP && roce_load16(next + 2) == port_be ? ROCE_STEER_ROCE : 0;
}

static ROCE_INLINE int roce_steer_ipv4(const __u8 *ip, const __u8 *end, __u16 port_be,
                                       struct roce_endpoint *to) {
  __u32 header;

  if (ip + ROCE_IPV4_LEN > end)
    return 0;
  if (roce_load16(ip + 6) & roce_swap16(0x3fff)) /* fragments */
    return 0;
  header = (ip[0] & 15) * 4;
  if (header < ROCE_IPV4_LEN || ip + header + ROCE_UDP_LEN > end)
    return 0;
  roce_endpoint4(ip + 16, to);
  if (ip[9] == ROCE_IPPROTO_ICMP)
    return ip[header] == ROCE_ICMP_REQUEST || ip[header] == ROCE_ICMP_REPLY ? ROCE_STEER_NEIGHBOURS
                                                                            : 0;
  return ip[9] == ROCE_IPPROTO_UDP && roce_load16(ip + header + 2) == port_be ? ROCE_STEER_ROCE : 0;
}

/*
 * Returns enum roce_steered, or 0 for the host. `to` is the address that the frame in [data, end)
 * is for; `port_be` is in network order.
 */
static ROCE_INLINE int roce_steer(const __u8 *data, const __u8 *end, __u16 port_be,
                                  struct roce_endpoint *to) {
  const __u8 *l3 = data + ROCE_ETH_LEN;
  __u16 ethertype;

  if (l3 > end)
    return 0;
  ethertype = roce_load16(data + 12);
  for (int i = 0; i < ROCE_VLAN_MAX && roce_is_vlan(ethertype); i++) {
    if (l3 + ROCE_VLAN_LEN > end)
      return 0;
    ethertype = roce_load16(l3 + 2);
    l3 += ROCE_VLAN_LEN;
  }
  if (ethertype == roce_swap16(ROCE_ETHERTYPE_IPV4))
    return roce_steer_ipv4(l3, end, port_be, to);
  if (ethertype == roce_swap16(ROCE_ETHERTYPE_IPV6))
    return roce_steer_ipv6(l3, end, port_be, to);
  if (ethertype == roce_swap16(ROCE_ETHERTYPE_ROCEV1)) {
    if (l3 + ROCE_GRH_LEN > end)
      return 0;
    roce_endpoint6(l3 + 24, to);
    return ROCE_STEER_ROCE;
  }
  if (ethertype == roce_swap16(ROCE_ETHERTYPE_ARP)) {
    if (l3 + ROCE_ARP_LEN > end)
      return 0;
    roce_endpoint4(l3 + ROCE_ARP_TARGET, to);
    return ROCE_STEER_NEIGHBOURS;
  }
  return 0;
}

#endif
