/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What a port keeps of a training job, by pair of hosts. job.h fills it. */
#ifndef ROCE_JOB_RECORD_H
#define ROCE_JOB_RECORD_H

#include "types.h"

#define ROCE_JOB_PAIRS 1024     /* a power of two */
#define ROCE_JOB_BURSTS 32      /* ended bursts of a pair that are kept; a power of two */
#define ROCE_JOB_GAP_NS 10000   /* a pause this long between messages ends a burst */
#define ROCE_JOB_CTS_BYTES 512u /* the most that a clear-to-send has */

/* Times are of roce_clock. `last_ns`: a message began or ended. */
struct roce_job_burst {
  __u64 bytes;    /* payload */
  __u64 messages; /* that ended in it */
  __u64 first_ns;
  __u64 last_ns; /* 0: nothing was timed yet */
};

/* `state`; 0: free */
#define ROCE_JOB_USED 1u    /* with ROCE_KEY_IPV4: the record is of a pair, and remains so */
#define ROCE_JOB_CLAIMED 2u /* a CPU is writing its addresses */

struct roce_job_pair {
  /* what a packet in the middle of a message touches */
  __u32 lock; /* roce_pair_enter: the bursts, but for bytes */
  __u32 state;
  __u32 src[4], dst[4];       /* as in roce_key */
  struct roce_job_burst open; /* its bytes are added without the lock */

  __u64 count; /* bursts that have ended; number n is at n % ROCE_JOB_BURSTS */
  __u64 cts;   /* clears-to-send from src to dst */
  __u64 unused[5];
  struct roce_job_burst bursts[ROCE_JOB_BURSTS];
};
ROCE_STATIC_ASSERT(sizeof(struct roce_job_pair) == 128 + ROCE_JOB_BURSTS * 32,
                   "a pair begins at a cache line");

#endif
