/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the counting program is measured against, and the feeder: it gives the packet that
 * BPF_PROG_TEST_RUN repeats unchanged the next PSN of the only stream, or of a random one of many.
 * The feeder tail-calls all of them; `empty` measures its own cost.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define FLOWS_MAX 100000

const volatile __u32 flows = 1;           /* QPNs 0 .. flows - 1, in random order */
const volatile __u32 bth_offset = 42;     /* of the packet given to BPF_PROG_TEST_RUN */
const volatile __u32 sequence_offset = 0; /* of GRE, the same number as the PSN; 0: none */
const volatile __u32 tos = 0; /* written into the IPv4 header, if not 0: marks are undone */

struct {
  __uint(type, BPF_MAP_TYPE_PROG_ARRAY);
  __type(key, __u32);
  __type(value, __u32);
  __uint(max_entries, 1);
} target SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __type(key, __u32);
  __type(value, __u32);
  __uint(max_entries, FLOWS_MAX);
} next_psn SEC(".maps");

__u32 random_state = 1;

SEC("xdp.frags")
int feed(struct xdp_md *ctx) {
  __u8 *data = (__u8 *)(long)ctx->data, *end = (__u8 *)(long)ctx->data_end;
  __u8 *bth;
  __u32 flow = 0, *psn;

  if (tos) {
    if (data + 16 > end)
      return XDP_ABORTED;
    data[15] = tos;
  }
  bth = data + (bth_offset & 127);
  if (bth + 12 > end)
    return XDP_ABORTED;
  if (flows > 1) {
    random_state = random_state * 1664525 + 1013904223;
    flow = (__u64)random_state * flows >> 32;
  }
  psn = bpf_map_lookup_elem(&next_psn, &flow);
  if (!psn)
    return XDP_ABORTED;
  *(__u32 *)(bth + 4) = bpf_htonl(flow);
  *(__u32 *)(bth + 8) = bpf_htonl(*psn & 0xffffff);
  if (sequence_offset) {
    data += sequence_offset & 127;
    if (data + 4 > end)
      return XDP_ABORTED;
    *(__u32 *)data = bpf_htonl(*psn);
  }
  *psn += 1;
  bpf_tail_call(ctx, &target, 0);
  return XDP_ABORTED;
}

SEC("xdp.frags")
int empty(struct xdp_md *ctx) { return XDP_DROP; }

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __type(key, __u32);
  __type(value, __u64);
  __uint(max_entries, 1);
} packets SEC(".maps");

struct flow_key {
  __u32 src, dst, qp;
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __type(key, struct flow_key);
  __type(value, __u64);
  __uint(max_entries, FLOWS_MAX);
} flow_packets SEC(".maps");

static __always_inline struct iphdr *parse(struct xdp_md *ctx) {
  void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
  struct ethhdr *eth = data;
  struct iphdr *ip = data + sizeof(*eth);
  struct udphdr *udp = (void *)(ip + 1);

  if ((void *)(udp + 1) + 12 > end || eth->h_proto != bpf_htons(ETH_P_IP) || ip->ihl != 5 ||
      ip->protocol != IPPROTO_UDP || udp->dest != bpf_htons(4791))
    return 0;
  return ip;
}

static __always_inline void count(void) {
  __u32 zero = 0;
  __u64 *n = bpf_map_lookup_elem(&packets, &zero);

  if (n)
    *n += 1;
}

SEC("xdp.frags")
int bare(struct xdp_md *ctx) {
  if (parse(ctx))
    count();
  return XDP_DROP;
}

SEC("xdp.frags")
int hash(struct xdp_md *ctx) {
  struct iphdr *ip = parse(ctx);
  struct flow_key key;
  __u64 *n;

  if (!ip)
    return XDP_DROP;
  count();
  key.src = ip->saddr;
  key.dst = ip->daddr;
  key.qp = *(__u32 *)((void *)(ip + 1) + sizeof(struct udphdr) + 4);
  n = bpf_map_lookup_elem(&flow_packets, &key);
  if (n)
    *n += 1;
  return XDP_DROP;
}

struct {
  __uint(type, BPF_MAP_TYPE_DEVMAP);
  __type(key, __u32);
  __type(value, struct bpf_devmap_val);
  __uint(max_entries, 1);
} out SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_DEVMAP);
  __type(key, __u32);
  __type(value, struct bpf_devmap_val);
  __uint(max_entries, 1);
} in SEC(".maps");

/* The way of a frame in forward_bench: into the wire, through the middle, out of it. */
SEC("xdp.frags")
int enter(struct xdp_md *ctx) { return (int)bpf_redirect_map(&in, 0, XDP_DROP); }

SEC("xdp.frags")
int arrive(struct xdp_md *ctx) {
  count();
  return XDP_DROP;
}

#define ARRIVALS 131072

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, __u32);
  __type(value, __u64);
  __uint(max_entries, ARRIVALS);
} arrivals SEC(".maps");

/* When the frame whose number is the payload's first 4 bytes arrived. */
SEC("xdp.frags")
int arrive_at(struct xdp_md *ctx) {
  __u8 *data = (__u8 *)(long)ctx->data, *end = (__u8 *)(long)ctx->data_end;
  __u32 number;
  __u64 *at;

  if (data + 58 > end)
    return XDP_DROP;
  number = *(__u32 *)(data + 54) & (ARRIVALS - 1);
  at = bpf_map_lookup_elem(&arrivals, &number);
  if (at)
    *at = bpf_ktime_get_ns();
  count();
  return XDP_DROP;
}

SEC("xdp.frags")
int redirect(struct xdp_md *ctx) { return (int)bpf_redirect_map(&out, 0, XDP_DROP); }

struct {
  __uint(type, BPF_MAP_TYPE_XSKMAP);
  __type(key, __u32);
  __type(value, __u32);
  __uint(max_entries, 1);
} sockets SEC(".maps");

/* For wire_bench: to a process that forwards. */
SEC("xdp.frags")
int to_socket(struct xdp_md *ctx) {
  return (int)bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_DROP);
}

char _license[] SEC("license") = "GPL";
