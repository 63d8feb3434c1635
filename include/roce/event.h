/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Events, which the kernel reports through a ring buffer. */
#ifndef ROCE_EVENT_H
#define ROCE_EVENT_H

#include "stream.h"

struct roce_event {
  __u64 time_ns; /* CLOCK_MONOTONIC; in a capture, the packet's timestamp */
  struct roce_key key;
  __u8 type; /* enum roce_event_type */
  __u8 opcode;
  __u8 syndrome; /* of a NAK or RNR NAK */
  __u8 reserved;
  __u32 psn;      /* of the packet */
  __u32 expected; /* expected PSN before the packet */
  __u32 skipped;  /* PSNs skipped by a gap */
  __u32 cpu;
};
ROCE_STATIC_ASSERT(sizeof(struct roce_event) == 64, "roce_event is 64 bytes");

#endif
