/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Packet sequence numbers: 24 bits, modulo 2^24 (IBA vol. 1, 9.7.1). Host order throughout. */
#ifndef ROCE_PSN_H
#define ROCE_PSN_H

#include "types.h"

#define ROCE_PSN_MASK 0xffffffu

/* psn + n modulo 2^24. */
static ROCE_INLINE __u32 roce_psn_add(__u32 psn, __u32 n) { return (psn + n) & ROCE_PSN_MASK; }

/* Signed distance from b to a, in [-2^23, 2^23 - 1]: positive when a is ahead of b. */
static ROCE_INLINE __s32 roce_psn_diff(__u32 a, __u32 b) { return (__s32)((a - b) << 8) >> 8; }

/* Path MTU codes of RDMA CM: 1..5 are 256..4096 bytes, 0 is unknown. */
static ROCE_INLINE __u32 roce_pmtu_bytes(__u32 code) { return 128u << code; }

static ROCE_INLINE __u32 roce_pmtu_code(__u32 bytes) {
  return bytes == 256    ? 1
         : bytes == 512  ? 2
         : bytes == 1024 ? 3
         : bytes == 2048 ? 4
         : bytes == 4096 ? 5
                         : 0;
}

/* PSNs used by a READ REQUEST of `length` bytes: max(1, ceil(length / PMTU)); code is 1..5. */
static ROCE_INLINE __u32 roce_read_psns(__u32 length, __u32 code) {
  __u32 n = (__u32)(((__u64)length + roce_pmtu_bytes(code) - 1) >> (7 + code));
  return n ? n & ROCE_PSN_MASK : 1;
}

#endif
