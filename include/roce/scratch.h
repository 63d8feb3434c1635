/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What the accounting of a packet keeps while it works on it. */
#ifndef ROCE_SCRATCH_H
#define ROCE_SCRATCH_H

#include "event.h"
#include "table.h"

/* Working memory of one CPU: BPF's stack is 512 bytes for all calls together. */
struct roce_scratch {
  struct roce_packet packet;
  struct roce_packet forgotten; /* names the stream that makes way */
  struct roce_packet announced; /* names the stream that RDMA CM speaks of */
  struct roce_outcome outcome;
  struct roce_event event;
  struct roce_inserted inserted;
  struct roce_key answered; /* the stream that an answer or a CNP speaks of */
  struct roce_trace trace;
};

/* Windows of 2^30 ns: for the rate limit of events and the age of idle streams. */
static ROCE_INLINE __u8 roce_window(struct roce_env *env) { return (__u8)(roce_time(env) >> 30); }

#endif
