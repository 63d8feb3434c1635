// SPDX-License-Identifier: GPL-2.0-only
// Redirects each frame with almost no room in front of it, as a program that adds a tunnel's
// headers does: the first LENGTH bytes move to the front, the previous frame follows as padding. On
// a veth, the next program then cannot add metadata (bpf_xdp_adjust_meta: EINVAL).
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#define ROOM 200 /* of 256 bytes, 40 of which are the kernel's */

SEC("xdp")
int no_headroom(struct xdp_md *ctx) {
  unsigned char *data, *end;

  if (bpf_xdp_adjust_head(ctx, -ROOM))
    return XDP_DROP;
  data = (unsigned char *)(long)ctx->data;
  end = (unsigned char *)(long)ctx->data_end;
  if (data + ROOM + LENGTH > end)
    return XDP_DROP;
#pragma unroll
  for (int i = 0; i < LENGTH; i++)
    data[i] = data[ROOM + i];
  return (int)bpf_redirect(IFINDEX, 0);
}

char _license[] SEC("license") = "GPL";
