/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The Internet checksum (RFC 1071) and its incremental update (RFC 1624). Host order. */
#ifndef ROCE_CHECKSUM_H
#define ROCE_CHECKSUM_H

#include "types.h"
#include "wire.h"

/* Checksum of a 20-byte IPv4 header whose checksum field is 0. */
static ROCE_INLINE __u16 roce_ipv4_checksum(const __u8 *ip) {
  __u32 sum = 0;

  for (int i = 0; i < ROCE_IPV4_LEN; i += 2)
    sum += (__u32)ip[i] << 8 | ip[i + 1];
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return (__u16)~sum;
}

/* The checksum after a 16-bit word that it covers changed from `old` to `now` (RFC 1624). */
static ROCE_INLINE __u16 roce_checksum_after(__u16 checksum, __u16 old, __u16 now) {
  __u32 sum = (__u32)(__u16)~checksum + (__u16)~old + now;

  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return (__u16)~sum;
}

#endif
