/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Working memory for the accounting of a packet. */
#ifndef ROCE_SCRATCH_H
#define ROCE_SCRATCH_H

#include "event.h"
#include "table.h"

/* One per CPU. It is not on BPF's stack, which has 512 bytes for all nested calls together. */
struct roce_scratch {
  struct roce_packet packet;
  struct roce_packet forgotten; /* identifies the stream that was removed */
  struct roce_packet announced; /* identifies the stream that RDMA CM announces */
  struct roce_outcome outcome;
  struct roce_event event;
  struct roce_inserted inserted;
  struct roce_key answered; /* the stream that an answer or a CNP refers to */
  struct roce_trace trace;
};

/* The time in windows of 2^30 ns, for the rate limit of events and the age of idle streams. */
static ROCE_INLINE __u8 roce_window(struct roce_env *env) { return (__u8)(roce_time(env) >> 30); }

#endif
