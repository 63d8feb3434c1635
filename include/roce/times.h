/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Times in log-linear histograms, as a port keeps them (README.md 11): 2^bits buckets an octave,
 * exact below 2^bits ns. Userspace reads them by LogBuckets of base/histogram.h.
 */
#ifndef ROCE_TIMES_H
#define ROCE_TIMES_H

#include "timed.h"

#define ROCE_TIME_WIDTH 36 /* bits: 68 s; longer times are in the last bucket */
#define ROCE_TIME_BUCKETS(bits) ((ROCE_TIME_WIDTH - (bits) + 1) << (bits))

/* Histogram resolution: for all streams of a port, and for one QP pair. */
#define ROCE_PORT_TIME_BITS 4
#define ROCE_PAIR_TIME_BITS 2

/* Series by enum roce_latency: exact, then upper bounds. */
#define ROCE_TIME_SERIES (2 * ROCE_LATENCIES)
#define ROCE_TIME_SERIES_OF(kind, bound) (2 * (kind) + ((bound) != 0))

struct roce_time_sums {
  __u64 count, sum_ns;
  __u64 min_ns, max_ns; /* min_ns is valid if count is not 0 */
};

/* One of ROCE_TIME_SERIES on each CPU. */
struct roce_port_times {
  struct roce_time_sums sum;
  __u64 bucket[ROCE_TIME_BUCKETS(ROCE_PORT_TIME_BITS)];
};

/* A pair has ROCE_TIME_SERIES. */
struct roce_pair_times {
  struct roce_time_sums sum;
  __u32 bucket[ROCE_TIME_BUCKETS(ROCE_PAIR_TIME_BITS)];
};

/* The number of bits of `value`, without those that are 0 at the front. */
static ROCE_INLINE __u32 roce_bit_width(__u64 value) {
  __u32 bits = 0;

  for (__u32 step = 32; step; step >>= 1)
    if (value >> step) {
      value >>= step;
      bits += step;
    }
  return bits + (value != 0);
}

static ROCE_INLINE __u32 roce_time_bucket(__u64 ns, __u32 bits) {
  __u32 shift;

  if (ns < 1u << bits)
    return (__u32)ns;
  if (ns >> ROCE_TIME_WIDTH)
    return ROCE_TIME_BUCKETS(bits) - 1;
  shift = roce_bit_width(ns) - bits - 1;
  return ((shift + 1) << bits) + (__u32)(ns >> shift) - (1u << bits);
}

static ROCE_INLINE void roce_time_sum(struct roce_time_sums *sum, __u64 ns) {
  if (!sum->count++ || ns < sum->min_ns)
    sum->min_ns = ns;
  if (ns > sum->max_ns)
    sum->max_ns = ns;
  sum->sum_ns += ns;
}

#endif
