/* SPDX-License-Identifier: GPL-2.0-only */
/* Sends copies of frames and their outcomes to a userspace reader (include/roce/capture.h). */
#ifndef XDP_ROCE_CAPTURE_BPF_H
#define XDP_ROCE_CAPTURE_BPF_H

#include <linux/errno.h>

#include "impair.bpf.h"

#include "roce/capture.h"

/* One ring per CPU, present while a reader is attached. Its helper copies multi-buffer frames. */
struct {
  __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(__u32));
} capture_ring SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __type(key, __u32);
  __type(value, struct roce_capture_filter);
  __uint(max_entries, 1);
} capture_filter SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __type(key, __u32);
  __type(value, struct roce_capture_counts);
  __uint(max_entries, 1);
} capture_counts SEC(".maps");

/* The record of the current frame; `parts` is 0 if it is not captured or its copy was lost. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __type(key, __u32);
  __type(value, struct roce_capture);
  __uint(max_entries, 1);
} capture_record SEC(".maps");

static ROCE_INLINE struct roce_capture *record_of(void) {
  __u32 zero = 0;

  return bpf_map_lookup_elem(&capture_record, &zero);
}
static ROCE_INLINE struct roce_capture_counts *capture_counts_of(void) {
  __u32 zero = 0;

  return bpf_map_lookup_elem(&capture_counts, &zero);
}
static ROCE_INLINE const struct roce_capture_filter *filter_of(void) {
  __u32 zero = 0;

  return bpf_map_lookup_elem(&capture_filter, &zero);
}

/* With rules, the frame is copied before they act on it, and its outcome is in a second record. */
static ROCE_INLINE int copied_first(void) { return (config.features & ROCE_FEATURE_RULES) != 0; }

static ROCE_INLINE long tell(struct xdp_md *ctx, struct roce_capture *record, __u32 bytes) {
  return bpf_perf_event_output(ctx, &capture_ring, BPF_F_CURRENT_CPU | (__u64)bytes << 32, record,
                               sizeof(*record));
}

/* 0: `time` is the NIC's, of the frame. See ROCE_NIC_TIME_CALL. */
static int (*const nic_time)(struct xdp_md *ctx, __u64 *time) = (void *)ROCE_NIC_TIME_CALL;

static ROCE_INLINE __u64 nic_time_of(struct xdp_md *ctx) {
  __u64 time = 0;

  if (!(config.features & ROCE_FEATURE_NIC_TIME) || nic_time(ctx, &time))
    return 0;
  return time;
}

static ROCE_INLINE void count_lost(struct roce_capture_counts *counts, long error) {
  if (error == -ENOENT)
    counts->unread++;
  else
    counts->lost++;
}

/* Parses the frame, or the one inside its tunnels; `length` is the frame's. */
static ROCE_INLINE int parse_for_filter(struct xdp_md *ctx, struct roce_scratch *scratch,
                                        __u32 length) {
  const __u8 *data, *end;

  if (!(config.features & ROCE_FEATURE_DECAP)) {
    data = roce_frame_data(ctx);
    end = roce_frame_end(ctx);
    return roce_check_length(roce_parse(data, end, config.udp_port_be, &scratch->packet), length,
                             &scratch->packet);
  }
  roce_inner_begin(&scratch->inner, 0, 0);
  roce_inner_find(ctx, 0);
  data = roce_frame_data(ctx);
  end = roce_frame_end(ctx);
  return roce_inner_parse(data, end, config.udp_port_be, &scratch->inner, &scratch->packet,
                          &length);
}

/* Runs first: decides whether the frame is captured, and starts its record. */
__attribute__((noinline)) int capture_begin(struct xdp_md *ctx) {
  struct roce_scratch *scratch = roce_scratch_of(0);
  struct roce_capture *record = record_of();
  struct roce_capture_counts *counts = capture_counts_of();
  const struct roce_capture_filter *filter = filter_of();
  struct roce_packet *p;
  long error;

  if (!(config.features & ROCE_FEATURE_CAPTURE) || !scratch || !record || !counts || !filter)
    return 0;
  __builtin_memset(&scratch->trace, 0, sizeof(scratch->trace));
  record->time_ns = bpf_ktime_get_ns();
  record->nic_ns = nic_time_of(ctx);
  record->length = roce_frame_length(ctx, (__u32)(roce_frame_end(ctx) - roce_frame_data(ctx)));
  record->parts = 0;
  if (!filter->kinds)
    return 0;
  p = &scratch->packet;
  __builtin_memset(p, 0, sizeof(*p));
  record->class_ = (__u8)parse_for_filter(ctx, scratch, record->length);
  ROCE_STAGE();
  record->kinds = roce_capture_kinds(record->class_, p);
  roce_key_fill(&p->key);
  counts->seen++;
  if (!roce_capture_wants(filter, record->kinds, p))
    return 0;
  record->number = ++counts->taken;
  record->captured = record->length < filter->snap ? record->length : filter->snap;
  record->key = p->key;
  record->psn = p->psn;
  record->opcode = p->opcode;
  record->syndrome = p->syndrome;
  record->fate = 0;
  __builtin_memset(&record->trace, 0, sizeof(record->trace));
  record->expected = record->skipped = record->filled = record->jumped = 0;
  record->parts = ROCE_CAPTURE_FRAME;
  if (!copied_first())
    return 0;
  error = tell(ctx, record, record->captured);
  if (error) {
    count_lost(counts, error);
    record->parts = 0;
  }
  return 0;
}

/*
 * 1 when the frame left the port. XDP_REDIRECT alone does not show it: the CNP is redirected too.
 */
static ROCE_INLINE int went(int fate, int verdict) {
  return verdict == XDP_REDIRECT && (fate != ROCE_GO_ON_WITH_CNP || roce_other_port_is_there());
}

/* Runs last: completes the record with the frame's outcome. */
__attribute__((noinline)) int capture_end(struct xdp_md *ctx, int fate, int verdict) {
  const struct roce_scratch *scratch = roce_scratch_of(0);
  struct roce_capture *record = record_of();
  struct roce_capture_counts *counts = capture_counts_of();
  long error;

  if (!(config.features & ROCE_FEATURE_CAPTURE) || !scratch || !record || !counts || !record->parts)
    return 0;
  record->trace = scratch->trace;
  if (record->trace.found & ROCE_FOUND_SLOW) {
    record->expected = scratch->outcome.expected;
    record->skipped = scratch->outcome.skipped;
    record->filled = scratch->outcome.filled;
    record->jumped = scratch->outcome.jumped;
  }
  record->fate = roce_capture_fate(config.features, fate, went(fate, verdict));
  if (copied_first()) {
    record->parts = ROCE_CAPTURE_OUTCOME;
    if (tell(ctx, record, 0))
      counts->outcomes_lost++;
    return 0;
  }
  record->parts = ROCE_CAPTURE_FRAME | ROCE_CAPTURE_OUTCOME;
  error = tell(ctx, record, record->captured);
  if (error)
    count_lost(counts, error);
  return 0;
}

#endif
