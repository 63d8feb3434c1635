/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Timers of RNR NAKs, by the value of the syndrome (IBA vol. 1, 9.7.5.2.8, table 46). */
#ifndef ROCE_RNR_H
#define ROCE_RNR_H

#include "types.h"
#include "wire.h"

/* In units of 10 us. */
static const __u32 roce_rnr_timers[32] = {65536, 1,    2,    3,     4,     6,     8,     12,
                                          16,    24,   32,   48,    64,    96,    128,   192,
                                          256,   384,  512,  768,   1024,  1536,  2048,  3072,
                                          4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

static ROCE_INLINE __u32 roce_rnr_us(__u8 syndrome) {
  return roce_rnr_timers[ROCE_SYNDROME_VALUE(syndrome)] * 10;
}

#endif
