/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts what passes: parse, count, track, pass. */
#include "env.bpf.h"

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

/* Any frame at all. */
__attribute__((noinline)) int count_frame(struct xdp_md *ctx) {
  const __u8 *data = (const __u8 *)(long)ctx->data;
  const __u8 *end = (const __u8 *)(long)ctx->data_end;
  __u32 linear = (__u32)(end - data), length = whole_length(ctx, linear);
  struct roce_scratch *scratch = roce_scratch_of(0);
  struct roce_packet *p;
  int class_;

  if (!scratch)
    return 0;
  p = &scratch->packet;
  __builtin_memset(p, 0, sizeof(*p));
  class_ = roce_parse(data, end, config.udp_port_be, p);
  class_ = roce_check_length(class_, length, p);
  if (class_ != ROCE_CLASS_V2 && class_ != ROCE_CLASS_V1) {
    roce_count_other(0, class_, p, length, linear < length);
    return 0;
  }
  roce_count(0, class_, p, length);
  if (!config.track)
    return 0;
  if (roce_is_gsi(p))
    learn_cm(data, end, p);
  roce_track_any(0, p, length);
  return 0;
}

/*
 * The frames that make up the traffic; 0 for those that want count_frame. Inlined for each value of
 * `track`: without it, most of what the parser finds is never read, and so not even looked for.
 */
static ROCE_INLINE int count_plain(struct xdp_md *ctx, int track) {
  const __u8 *data = (const __u8 *)(long)ctx->data;
  const __u8 *end = (const __u8 *)(long)ctx->data_end;
  __u32 linear = (__u32)(end - data), length = linear;
  struct roce_packet p = {};

  if (roce_parse_plain(data, end, config.udp_port_be, &p) != ROCE_CLASS_V2)
    return 0;
  if (ROCE_UNLIKELY(p.end > linear)) {
    length = whole_length(ctx, linear);
    if (p.end > length)
      return 0;
  }
  if (track && ROCE_UNLIKELY(roce_is_gsi(&p)))
    return 0;
  roce_count(0, ROCE_CLASS_V2, &p, length);
  if (track)
    roce_track(0, &p, length);
  return 1;
}

/* A function of its own, so that count_frame does not stand on top of its stack. */
static __attribute__((noinline)) int track_plain(struct xdp_md *ctx) { return count_plain(ctx, 1); }

SEC("xdp.frags")
int xdp_roce(struct xdp_md *ctx) {
  if (!(config.track ? track_plain(ctx) : count_plain(ctx, 0)))
    count_frame(ctx);
  return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
