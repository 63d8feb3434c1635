/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Builds congestion notification packets (IBA annex A17.9.3) from a packet of the stream whose
 * sender has to slow down. RoCEv2 only: RoCEv1 has no ECN and no CNP.
 */
#ifndef ROCE_CNP_H
#define ROCE_CNP_H

#include "checksum.h"
#include "parse.h"

#define ROCE_CNP_PAYLOAD 16
/* Length from the UDP header to the iCRC. */
#define ROCE_CNP_UDP (ROCE_UDP_LEN + ROCE_BTH_LEN + ROCE_CNP_PAYLOAD + ROCE_ICRC_LEN)
#define ROCE_CNP_LEN4 (ROCE_IPV4_LEN + ROCE_CNP_UDP)
#define ROCE_CNP_LEN6 (ROCE_IPV6_LEN + ROCE_CNP_UDP)
#define ROCE_CNP_TTL 64
#define ROCE_BECN 0x40
#define ROCE_FECN 0x80

/* CRC-32 of IEEE 802.3, reflected; four bits per step. */
static const __u32 roce_crc_nibble[16] = {
    0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
    0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};

/* The CRC register after the eight bytes of 0xff that an iCRC starts with. */
#define ROCE_ICRC_START 0xdebb20e3u

static ROCE_INLINE __u32 roce_crc_byte(__u32 crc, __u8 byte) {
  crc ^= byte;
  crc = crc >> 4 ^ roce_crc_nibble[crc & 15];
  return crc >> 4 ^ roce_crc_nibble[crc & 15];
}

static ROCE_INLINE void roce_store16(__u8 *p, __u16 v) {
  p[0] = (__u8)(v >> 8);
  p[1] = (__u8)v;
}

/* A CNP, from the IP header to the iCRC. */
struct roce_cnp {
  __u32 length;
  __u8 bytes[ROCE_CNP_LEN6];
};

static ROCE_INLINE void roce_store_address(__u8 *to, __u32 wire) {
  __builtin_memcpy(to, &wire, sizeof(wire));
}

/* Replaces the fields that are masked for the iCRC with their values on the wire. */
static ROCE_INLINE void roce_cnp_unmask(struct roce_cnp *cnp, __u32 ipv4, __u8 tos) {
  __u8 *ip = cnp->bytes, *udp = ip + (ipv4 ? ROCE_IPV4_LEN : ROCE_IPV6_LEN);

  if (ipv4) {
    ip[1] = tos;
    ip[8] = ROCE_CNP_TTL;
    ip[10] = ip[11] = 0;
    roce_store16(ip + 10, roce_ipv4_checksum(ip));
  } else {
    ip[0] = (__u8)(0x60 | tos >> 4);
    ip[1] = (__u8)(tos << 4);
    ip[2] = ip[3] = 0;
    ip[7] = ROCE_CNP_TTL;
  }
  udp[6] = udp[7] = 0; /* RoCEv2 needs no UDP checksum, over IPv6 either */
  udp[ROCE_UDP_LEN + 4] = ROCE_BECN;
}

/*
 * Builds the CNP that answers packet `p`, whose key is complete: to the source address of `p` and
 * QP `qpn` there. The ports are in network order; `tos` includes the DSCP.
 */
static ROCE_INLINE void roce_cnp_build(struct roce_cnp *cnp, const struct roce_packet *p, __u32 qpn,
                                       __u16 source_port_be, __u16 port_be, __u8 tos) {
  __u32 ipv4 = p->ipv4, crc = ROCE_ICRC_START, end;
  __u8 *ip = cnp->bytes, *udp;

  __builtin_memset(cnp, 0, sizeof(*cnp));
  if (ipv4) {
    ip[0] = 0x45;
    ip[1] = 0xff;
    roce_store16(ip + 2, ROCE_CNP_LEN4);
    ip[6] = 0x40; /* do not fragment */
    ip[8] = 0xff;
    ip[9] = ROCE_IPPROTO_UDP;
    ip[10] = ip[11] = 0xff;
    roce_store_address(ip + 12, p->key.dst[3]);
    roce_store_address(ip + 16, p->key.src[3]);
    udp = ip + ROCE_IPV4_LEN;
    cnp->length = ROCE_CNP_LEN4;
  } else {
    ip[0] = 0x6f;
    ip[1] = ip[2] = ip[3] = 0xff;
    roce_store16(ip + 4, ROCE_CNP_UDP);
    ip[6] = ROCE_IPPROTO_UDP;
    ip[7] = 0xff;
    for (int i = 0; i < 4; i++) {
      roce_store_address(ip + 8 + 4 * i, p->key.dst[i]);
      roce_store_address(ip + 24 + 4 * i, p->key.src[i]);
    }
    udp = ip + ROCE_IPV6_LEN;
    cnp->length = ROCE_CNP_LEN6;
  }
  udp[0] = (__u8)source_port_be;
  udp[1] = (__u8)(source_port_be >> 8);
  udp[2] = (__u8)port_be;
  udp[3] = (__u8)(port_be >> 8);
  roce_store16(udp + 4, ROCE_CNP_UDP);
  udp[6] = udp[7] = 0xff;
  udp[8] = ROCE_OPCODE_CNP;
  udp[10] = udp[11] = 0xff; /* the default P_Key */
  udp[12] = 0xff;           /* the iCRC does not cover FECN, BECN and reserved bits */
  udp[13] = (__u8)(qpn >> 16);
  roce_store16(udp + 14, (__u16)qpn);
  end = cnp->length - ROCE_ICRC_LEN;
  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_CNP_LEN6 - ROCE_ICRC_LEN && i < end; i++)
    crc = roce_crc_byte(crc, cnp->bytes[i]);
  crc = ~crc;
  udp += ROCE_CNP_UDP - ROCE_ICRC_LEN;
  for (int i = 0; i < ROCE_ICRC_LEN; i++)
    udp[i] = (__u8)(crc >> 8 * i);
  roce_cnp_unmask(cnp, ipv4, tos);
}

/*
 * Overwrites a frame, already resized to the CNP's length, with the CNP that answers it. `l3` is
 * the start of the network layer. 1 when done; 0: the frame is too short.
 */
static ROCE_INLINE int roce_cnp_write(__u8 *data, const __u8 *end, __u8 *l3,
                                      const struct roce_cnp *cnp) {
  __u8 mac[6];

  if (data + ROCE_ETH_LEN > end || l3 + ROCE_CNP_LEN4 > end)
    return 0;
  __builtin_memcpy(mac, data, 6);
  __builtin_memcpy(data, data + 6, 6);
  __builtin_memcpy(data + 6, mac, 6);
  __builtin_memcpy(l3, cnp->bytes, ROCE_CNP_LEN4);
  if (cnp->length == ROCE_CNP_LEN4)
    return 1;
  if (l3 + ROCE_CNP_LEN6 > end)
    return 0;
  __builtin_memcpy(l3 + ROCE_CNP_LEN4, cnp->bytes + ROCE_CNP_LEN4, ROCE_CNP_LEN6 - ROCE_CNP_LEN4);
  return 1;
}

#endif
