/* SPDX-License-Identifier: GPL-2.0-only */
/* The XDP programs: include/roce/port.h gives each frame's fate, which becomes the XDP verdict. */
#include "capture.bpf.h"

static ROCE_INLINE void count_not_forwarded(void) {
  struct roce_totals *t = roce_totals_of(0);

  if (t)
    t->not_forwarded++;
}

/* The rule counted the duplicate, but the other port is gone. */
static ROCE_INLINE void take_back_duplicate(void) {
  struct roce_totals *t = roce_totals_of(0);

  if (t)
    t->duplicated--;
}

static ROCE_INLINE int forward_frame(void) {
  int verdict = (int)bpf_redirect_map(&forward, 0, XDP_DROP);

  if (verdict != XDP_REDIRECT)
    count_not_forwarded();
  return verdict;
}

/*
 * PAUSE and PFC frames are for this end of the link: the process that sends on it obeys them,
 * and they are never forwarded (IEEE 802.1Q, 36; 802.3, annex 31B).
 */
static ROCE_INLINE int is_mac_control(struct xdp_md *ctx) {
  const __u8 *data = roce_frame_data(ctx);

  return data + ROCE_ETH_LEN <= roce_frame_end(ctx) &&
         roce_be16(data + ROCE_ETH_LEN - 2) == ROCE_ETHERTYPE_MAC_CONTROL;
}

/*
 * Redirects to the userspace endpoint that has the frame's address, or that takes all others.
 * Without such an endpoint, or without its socket on this queue, the frame goes to the host. PAUSE
 * and PFC frames have no address: they go to the socket of the queue.
 */
static __attribute__((noinline)) int to_socket(struct xdp_md *ctx) {
  const __u8 *data = (const __u8 *)(long)ctx->data;
  const __u8 *end = (const __u8 *)(long)ctx->data_end;
  struct roce_endpoint to = {};
  __u32 what = roce_steer(data, end, config.udp_port_be, &to);
  struct roce_totals *t;
  const __u32 *takes = 0;
  int verdict;

  if (!what && is_mac_control(ctx))
    return (int)bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
  if (what)
    takes = bpf_map_lookup_elem(&endpoints, &to);
  if (!takes || !(*takes & what)) {
    __builtin_memset(&to, 0, sizeof(to));
    takes = bpf_map_lookup_elem(&endpoints, &to);
    if (!takes || !(*takes & ROCE_STEER_OTHERS))
      return XDP_PASS;
  }
  verdict = (int)bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
  if (verdict != XDP_REDIRECT && (t = roce_totals_of(0)))
    t->no_socket++;
  return verdict;
}

/*
 * Hands the frame over to the wire process, with struct roce_held in front of it. XDP_PASS: there
 * is no process, and the frame is forwarded at once.
 */
static __attribute__((noinline)) int to_wire(struct xdp_md *ctx, int fate) {
  struct roce_passing *passing = roce_passing_of(0);
  struct roce_totals *t = roce_totals_of(0);
  struct roce_held *held;

  if (!passing || !t)
    return XDP_PASS;
  /* Asked once: a process that ends takes its sockets away at any moment. */
  if (bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS) != XDP_REDIRECT) {
    t->not_held++;
    if (fate & ROCE_HELD)
      roce_not_held(0, roce_frame_length(ctx, (__u32)(ctx->data_end - ctx->data)));
    return XDP_PASS;
  }
  if (!(fate & ROCE_HELD)) /* only the other port's link holds it */
    passing->held.rules = passing->held.selected = 0;
  passing->held.copies = 0;
  if ((fate & ROCE_FATE_MASK) == ROCE_TWICE)
    passing->held.copies = ROCE_HELD_TWICE;
  if ((fate & ROCE_FATE_MASK) == ROCE_GO_ON_WITH_CNP)
    passing->held.copies = ROCE_HELD_CNP | (passing->cnp_qp & ROCE_HELD_CNP_QP) |
                           (passing->cnp_tos & 0xfc) << (ROCE_HELD_CNP_DSCP_SHIFT - 2);
  if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(*held)) == 0) {
    held = (struct roce_held *)(long)ctx->data_meta;
    if ((void *)(held + 1) <= (void *)(long)ctx->data) {
      *held = passing->held;
      held->magic = ROCE_HELD_MAGIC;
      held->arrived_ns = bpf_ktime_get_ns();
    }
  } else { /* the process matches the rules that hold again, but makes no copies */
    if (fate & ROCE_HELD)
      t->held_without_rules++;
    if (passing->held.copies) {
      t->not_cloned++;
      t->duplicated -= (passing->held.copies & ROCE_HELD_TWICE) != 0;
    }
  }
  t->held++;
  return XDP_REDIRECT;
}

static ROCE_INLINE int is_held(int fate) {
  const __u32 zero = 0;
  const struct roce_hold *to_hold;

  if (fate & ROCE_HELD)
    return 1;
  if (fate == ROCE_GONE || fate == ROCE_BACK_AS_CNP)
    return 0;
  to_hold = bpf_map_lookup_elem(&hold, &zero);
  return to_hold && to_hold->link;
}

/* The verdict for frames that no rule drops, copies or returns. */
static ROCE_INLINE int let_go(struct xdp_md *ctx) {
  if (config.features & ROCE_FEATURE_FORWARD)
    return forward_frame();
  return config.features & ROCE_FEATURE_SOCKETS ? to_socket(ctx) : XDP_PASS;
}

/* On a port of a bridge or with sockets, or where frames are held or copied. */
static ROCE_INLINE int far_verdict_of(struct xdp_md *ctx, int fate) {
  if (config.features & ROCE_FEATURE_HOLD) {
    if (fate != ROCE_GONE && is_mac_control(ctx))
      return to_wire(ctx, ROCE_GO_ON) == XDP_REDIRECT ? XDP_REDIRECT : XDP_DROP;
    if (is_held(fate) && to_wire(ctx, fate) == XDP_REDIRECT)
      return XDP_REDIRECT;
    fate &= ROCE_FATE_MASK;
  }
  if (fate == ROCE_GONE)
    return XDP_DROP;
  /* a bridge's ports accept redirects; XDP_TX on veth also depends on its peer */
  if (fate == ROCE_BACK_AS_CNP)
    return config.features & ROCE_FEATURE_FORWARD ? (int)bpf_redirect(ctx->ingress_ifindex, 0)
                                                  : XDP_TX;
  if (config.features & ROCE_FEATURE_CLONE && fate == ROCE_TWICE) {
    if (roce_other_port_is_there())
      return (int)bpf_redirect_map(&twice, 0, BPF_F_BROADCAST);
    take_back_duplicate();
  }
  if (config.features & ROCE_FEATURE_CLONE && fate == ROCE_GO_ON_WITH_CNP) {
    if (!roce_other_port_is_there()) /* the CNP is still returned */
      count_not_forwarded();
    return (int)bpf_redirect_map(&with_cnp, 0, BPF_F_BROADCAST);
  }
  return let_go(ctx);
}

static ROCE_INLINE int verdict_of(struct xdp_md *ctx, int fate) {
  /* One test: a verifier takes the code away, but not the test of each feature. */
  if (config.features &
      (ROCE_FEATURE_HOLD | ROCE_FEATURE_CLONE | ROCE_FEATURE_FORWARD | ROCE_FEATURE_SOCKETS))
    return far_verdict_of(ctx, fate);
  if (!(config.features & ROCE_FEATURE_RULES))
    return XDP_PASS;
  return fate == ROCE_GONE ? XDP_DROP : fate == ROCE_BACK_AS_CNP ? XDP_TX : XDP_PASS;
}

SEC("xdp.frags")
int xdp_roce(struct xdp_md *ctx) {
  int fate, verdict;

  if (config.features & ROCE_FEATURE_CAPTURE)
    capture_begin(ctx);
  fate = roce_enter(ctx, 0);
  verdict = verdict_of(ctx, fate);
  if (config.features & ROCE_FEATURE_CAPTURE)
    capture_end(ctx, fate & ROCE_FATE_MASK, verdict);
  return verdict;
}

/* Runs on the copy that is returned to the frame's ingress port. */
SEC("xdp.frags/devmap")
int cnp_egress(struct xdp_md *ctx) { return roce_answer_copy(ctx, 0) ? XDP_PASS : XDP_DROP; }

char _license[] SEC("license") = "GPL";
