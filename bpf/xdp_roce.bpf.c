/* SPDX-License-Identifier: GPL-2.0-only */
/* What passes a port: parse, count, track, impair, and pass it on. */
#include "impair.bpf.h"

/* Frames in several buffers: the helper that knows their whole length came with them (5.18). */
static ROCE_INLINE __u32 whole_length(struct xdp_md *ctx, __u32 linear) {
  return config.frags ? (__u32)bpf_xdp_get_buff_len(ctx) : linear;
}

static ROCE_INLINE void learn_cm(const __u8 *data, const __u8 *end, struct roce_packet *p) {
  struct roce_cm cm = {};
  __u32 bth = p->bth;

  if (bth > 255)
    return;
  /* the verifier must see the bound on the very register that is added to the pointer */
  asm volatile("%0 &= 255" : "+r"(bth));
  roce_parse_cm(data + bth, end, &cm);
  if (cm.attribute)
    roce_learn_cm(0, p, &cm);
}

/* Any frame at all; with rules it is then in hand for them. */
__attribute__((noinline)) int count_frame(struct xdp_md *ctx) {
  const __u8 *data = (const __u8 *)(long)ctx->data;
  const __u8 *end = (const __u8 *)(long)ctx->data_end;
  __u32 linear = (__u32)(end - data), length = whole_length(ctx, linear);
  struct roce_scratch *scratch = roce_scratch_of(0);
  __u32 id = ROCE_NO_STREAM;
  struct roce_packet *p;
  int class_;

  if (!scratch)
    return 0;
  p = &scratch->packet;
  __builtin_memset(p, 0, sizeof(*p));
  class_ = roce_parse(data, end, config.udp_port_be, p);
  class_ = roce_check_length(class_, length, p);
  p->key.qp_kind |= config.side;
  if (class_ != ROCE_CLASS_V2 && class_ != ROCE_CLASS_V1) {
    roce_count_other(0, class_, p, length, linear < length);
  } else {
    roce_count(0, class_, p, length);
    if (config.track) {
      if (roce_is_gsi(p))
        learn_cm(data, end, p);
      id = roce_track_any(0, p, length);
    }
  }
  if (config.features & ROCE_FEATURE_RULES) {
    struct roce_passing *passing = roce_passing_of(0);

    if (!passing)
      return 0;
    passing->packet = *p;
    passing->class_ = class_;
    passing->length = length;
    passing->linear = linear;
    passing->stream = id;
  }
  return 0;
}

/* The frames that make up the traffic; 0 for those that want count_frame. */
static ROCE_INLINE int parse_plain(struct xdp_md *ctx, int track, struct roce_packet *p,
                                   __u32 *linear, __u32 *length) {
  const __u8 *data = (const __u8 *)(long)ctx->data;
  const __u8 *end = (const __u8 *)(long)ctx->data_end;

  *linear = *length = (__u32)(end - data);
  if (roce_parse_plain(data, end, config.udp_port_be, p) != ROCE_CLASS_V2)
    return 0;
  if (ROCE_UNLIKELY(p->end > *linear)) {
    *length = whole_length(ctx, *linear);
    if (p->end > *length)
      return 0;
  }
  if (track && ROCE_UNLIKELY(roce_is_gsi(p)))
    return 0;
  p->key.qp_kind |= config.side;
  return 1;
}

/*
 * Inlined for each value of `track`: without it, most of what the parser finds is never read, and
 * so not even looked for.
 */
static ROCE_INLINE int count_plain(struct xdp_md *ctx, int track) {
  struct roce_packet p = {};
  __u32 linear, length;

  if (!parse_plain(ctx, track, &p, &linear, &length))
    return 0;
  roce_count(0, ROCE_CLASS_V2, &p, length);
  if (track)
    roce_track(0, &p, length);
  return 1;
}

/* A function of its own, so that count_frame does not stand on top of its stack. */
static __attribute__((noinline)) int track_plain(struct xdp_md *ctx) { return count_plain(ctx, 1); }

/* With rules: the packet is then in hand for them. */
static __attribute__((noinline)) int impair_plain(struct xdp_md *ctx) {
  __u32 linear, length, id = ROCE_NO_STREAM;
  struct roce_passing *passing;
  struct roce_packet p = {};

  if (!parse_plain(ctx, 1, &p, &linear, &length))
    return 0;
  passing = roce_passing_of(0);
  if (!passing)
    return 0;
  passing->packet = p;
  passing->class_ = ROCE_CLASS_V2;
  passing->length = length;
  passing->linear = linear;
  roce_count(0, ROCE_CLASS_V2, &p, length);
  if (config.track)
    id = roce_track(0, &p, length);
  passing->stream = id;
  return 1;
}

/* Frames that the rules let go on leave by a bridge's other port. */
static ROCE_INLINE int go_on(int fate) {
  int verdict;

  if (!(config.features & ROCE_FEATURE_FORWARD))
    return XDP_PASS;
  if (config.features & ROCE_FEATURE_CLONE && fate == ROCE_TWICE)
    return (int)bpf_redirect_map(&twice, 0, BPF_F_BROADCAST);
  if (config.features & ROCE_FEATURE_CLONE && fate == ROCE_GO_ON_WITH_CNP)
    return (int)bpf_redirect_map(&with_cnp, 0, BPF_F_BROADCAST);
  verdict = (int)bpf_redirect_map(&forward, 0, XDP_DROP);
  if (verdict != XDP_REDIRECT) {
    struct roce_totals *t = roce_totals_of(0);

    if (t)
      t->not_forwarded++;
  }
  return verdict;
}

SEC("xdp.frags")
int xdp_roce(struct xdp_md *ctx) {
  int fate = ROCE_GO_ON;

  if (config.features & ROCE_FEATURE_RULES) {
    if (!impair_plain(ctx))
      count_frame(ctx);
    fate = roce_meet_rules(ctx, 0);
    if (fate == ROCE_GONE)
      return XDP_DROP;
    if (fate == ROCE_BACK_AS_CNP)
      return XDP_TX;
  } else if (!(config.track ? track_plain(ctx) : count_plain(ctx, 0))) {
    count_frame(ctx);
  }
  return go_on(fate);
}

/* On a copy that goes back to where the frame came from: makes the CNP of it. */
SEC("xdp.frags/devmap")
int cnp_egress(struct xdp_md *ctx) {
  const __u8 *data = (const __u8 *)(long)ctx->data;
  const __u8 *end = (const __u8 *)(long)ctx->data_end;
  struct roce_passing *passing = roce_passing_of(0);
  struct roce_totals *t = roce_totals_of(0);
  const struct roce_aside *aside;
  struct roce_packet *p;
  __u32 id;
  __u64 cnp;

  if (!passing || !t)
    return XDP_DROP;
  p = &passing->packet;
  __builtin_memset(p, 0, sizeof(*p));
  if (roce_parse(data, end, config.udp_port_be, p) != ROCE_CLASS_V2)
    return XDP_DROP;
  p->key.qp_kind |= config.side;
  roce_key_fill(&p->key);
  id = roce_table_find(0, &p->key, roce_key_hash(&p->key, config.hash_seed));
  aside = roce_aside_at(0, id & (ROCE_ASIDES - 1));
  cnp = aside ? ROCE_LOAD(&aside->cnp) : 0;
  if (id == ROCE_NO_STREAM || cnp >> 40 != id + 1 ||
      !roce_become_cnp(ctx, 0, (__u32)(end - data), cnp & 0xffffff, (cnp >> 24) & 0xfc)) {
    t->not_cloned++;
    return XDP_DROP;
  }
  t->cnps_sent++;
  return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
