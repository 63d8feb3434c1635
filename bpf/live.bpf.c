/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * `send --engine live`: the kernel runs this program on frames that it recycles
 * (BPF_F_TEST_XDP_LIVE_FRAMES, 5.18 and later). Each run writes the flow's next packet and sends it
 * out of the port. A run that has nothing to send gives the frame back.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "roce/live.h"

const volatile struct roce_live_plan plan;

struct roce_live_state state;

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __type(key, __u32);
  __type(value, struct roce_live_qp);
  __uint(max_entries, 1);
} live_qps SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_DEVMAP);
  __type(key, __u32);
  __type(value, struct bpf_devmap_val);
  __uint(max_entries, 1);
} live_port SEC(".maps");

/* `which` is a constant: what its shape does not need is removed when the program is loaded. */
static ROCE_INLINE int make(struct xdp_md *ctx, struct roce_live_qp *qp, __u32 which, __u64 now) {
  if (plan.shapes[which].head && bpf_xdp_adjust_head(ctx, -plan.shapes[which].head))
    return XDP_ABORTED;
  if (plan.shapes[which].tail && bpf_xdp_adjust_tail(ctx, plan.shapes[which].tail))
    return XDP_ABORTED;
  if (roce_live_write(&plan, qp, which, (__u8 *)(long)ctx->data, (__u8 *)(long)ctx->data_end))
    return XDP_ABORTED;
  if (plan.paced)
    roce_live_pace(&state, now, plan.shapes[which].interval);
  roce_live_advance(&plan, &state, qp, which);
  return (int)bpf_redirect_map(&live_port, 0, XDP_DROP);
}

SEC("xdp")
int xdp_roce_live(struct xdp_md *ctx) {
  struct roce_live_qp *qp;
  __u32 at = 0, which;
  __u64 now = 0;

  if (state.sent >= state.limit)
    return XDP_DROP;
  if (plan.paced) {
    now = bpf_ktime_get_ns();
    if (!roce_live_is_due(&state, now))
      return XDP_DROP;
  }
  if (plan.qps > 1)
    at = state.at;
  qp = bpf_map_lookup_elem(&live_qps, &at);
  if (!qp)
    return XDP_ABORTED;
  which = roce_live_which(&plan, qp);
  if (which == ROCE_LIVE_MIDDLE)
    return make(ctx, qp, ROCE_LIVE_MIDDLE, now);
  if (which == ROCE_LIVE_LAST)
    return make(ctx, qp, ROCE_LIVE_LAST, now);
  return make(ctx, qp, ROCE_LIVE_FIRST, now);
}

char _license[] SEC("license") = "GPL";
