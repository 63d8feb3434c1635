/* SPDX-License-Identifier: GPL-2.0-only */
/* The programs: a frame enters the port (include/roce/port.h), and its fate becomes a verdict. */
#include "capture.bpf.h"

static ROCE_INLINE void count_not_forwarded(void) {
  struct roce_totals *t = roce_totals_of(0);

  if (t)
    t->not_forwarded++;
}

/* Counted when the rule chose it, and nobody gets it. */
static ROCE_INLINE void take_back_duplicate(void) {
  struct roce_totals *t = roce_totals_of(0);

  if (t)
    t->duplicated--;
}

/* Out by a bridge's other port. */
static ROCE_INLINE int forward_frame(void) {
  int verdict = (int)bpf_redirect_map(&forward, 0, XDP_DROP);

  if (verdict != XDP_REDIRECT)
    count_not_forwarded();
  return verdict;
}

/*
 * To the endpoint in userspace that has the frame's address. Where none reads, or none has it, the
 * frame is the host's.
 */
static __attribute__((noinline)) int to_socket(struct xdp_md *ctx) {
  const __u8 *data = (const __u8 *)(long)ctx->data;
  const __u8 *end = (const __u8 *)(long)ctx->data_end;
  struct roce_endpoint to = {};
  __u32 what = roce_steer(data, end, config.udp_port_be, &to);
  struct roce_totals *t;
  const __u32 *takes;
  int verdict;

  if (!what)
    return XDP_PASS;
  takes = bpf_map_lookup_elem(&endpoints, &to);
  if (!takes || !(*takes & what))
    return XDP_PASS;
  verdict = (int)bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
  if (verdict != XDP_REDIRECT && (t = roce_totals_of(0)))
    t->no_socket++;
  return verdict;
}

/* Frames that nothing holds back. */
static ROCE_INLINE int let_go(struct xdp_md *ctx) {
  if (config.features & ROCE_FEATURE_FORWARD)
    return forward_frame();
  return config.features & ROCE_FEATURE_SOCKETS ? to_socket(ctx) : XDP_PASS;
}

static ROCE_INLINE int verdict_of(struct xdp_md *ctx, int fate) {
  if (fate == ROCE_GONE)
    return XDP_DROP;
  /* a bridge's ports are known to take redirects; veth's XDP_TX wants more of its other end */
  if (fate == ROCE_BACK_AS_CNP)
    return config.features & ROCE_FEATURE_FORWARD ? (int)bpf_redirect(ctx->ingress_ifindex, 0)
                                                  : XDP_TX;
  if (config.features & ROCE_FEATURE_CLONE && fate == ROCE_TWICE) {
    if (roce_other_port_is_there())
      return (int)bpf_redirect_map(&twice, 0, BPF_F_BROADCAST);
    take_back_duplicate();
  }
  if (config.features & ROCE_FEATURE_CLONE && fate == ROCE_GO_ON_WITH_CNP) {
    if (!roce_other_port_is_there()) /* the CNP goes back all the same */
      count_not_forwarded();
    return (int)bpf_redirect_map(&with_cnp, 0, BPF_F_BROADCAST);
  }
  return let_go(ctx);
}

SEC("xdp.frags")
int xdp_roce(struct xdp_md *ctx) {
  int fate, verdict;

  if (config.features & ROCE_FEATURE_CAPTURE)
    capture_begin(ctx);
  fate = roce_enter(ctx, 0);
  verdict = verdict_of(ctx, fate);
  if (config.features & ROCE_FEATURE_CAPTURE)
    capture_end(ctx, fate, verdict);
  return verdict;
}

/* On a copy that goes back to where the frame came from. */
SEC("xdp.frags/devmap")
int cnp_egress(struct xdp_md *ctx) { return roce_answer_copy(ctx, 0) ? XDP_PASS : XDP_DROP; }

char _license[] SEC("license") = "GPL";
