// SPDX-License-Identifier: GPL-2.0-only
// Another XDP program on the hook, which passes everything.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp") int other(struct xdp_md *ctx) {
  (void)ctx;
  return XDP_PASS;
}
char _license[] SEC("license") = "GPL";
