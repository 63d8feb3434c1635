/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's environment, continued: the maps of rules and bridges, and the current frame. */
#ifndef XDP_ROCE_IMPAIR_BPF_H
#define XDP_ROCE_IMPAIR_BPF_H

#include "env.bpf.h"

struct ruleset {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(struct roce_ruleset));
  __uint(max_entries, 1);
};

/* One entry, replaced as a whole: the kernel then waits until no program reads the previous one. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(key_size, sizeof(__u32));
  __uint(max_entries, 1);
  __array(values, struct ruleset);
} rules SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, ROCE_ALIGNED);
  __type(key, __u32);
  __type(value, struct roce_rule_state);
  __uint(max_entries, ROCE_RULE_SLOTS);
} rule_states SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __type(key, __u32);
  __type(value, struct roce_rule_count);
  __uint(max_entries, ROCE_RULE_SLOTS);
} rule_counts SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __type(key, __u32);
  __type(value, __u32);
  __uint(max_entries, ROCE_RULE_SLOTS *ROCE_RULE_POINTS);
} rule_points SEC(".maps");

/* The text of the rules in the slots. No program reads it. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __type(key, __u32);
  __type(value, struct roce_rule_note);
  __uint(max_entries, ROCE_RULE_SLOTS);
} rule_notes SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, ROCE_ALIGNED);
  __type(key, __u32);
  __type(value, __u64);
  __uint(max_entries, ROCE_PACES);
} paces SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct roce_peer);
  __type(value, __u32);
  __uint(max_entries, ROCE_PEERS);
} peers SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __type(key, __u32);
  __type(value, struct roce_passing);
  __uint(max_entries, 1);
} passings SEC(".maps");

/*
 * Ports where frames leave: the other port; the other port twice; the other port and, as a CNP, the
 * ingress port.
 */
struct {
  __uint(type, BPF_MAP_TYPE_DEVMAP);
  __type(key, __u32);
  __type(value, struct bpf_devmap_val);
  __uint(max_entries, 1);
} forward SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_DEVMAP);
  __type(key, __u32);
  __type(value, struct bpf_devmap_val);
  __uint(max_entries, 2);
} twice SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_DEVMAP);
  __type(key, __u32);
  __type(value, struct bpf_devmap_val);
  __uint(max_entries, 2);
} with_cnp SEC(".maps");

/* What is handed over to the wire process, and the words of the port's link for that process. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __type(key, __u32);
  __type(value, struct roce_hold);
  __uint(max_entries, 1);
} hold SEC(".maps");

/* Mapped into the wire process too, which then sees a change without a system call. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, __u32);
  __type(value, struct roce_link_note);
  __uint(max_entries, 1);
} link SEC(".maps");

/* The wire process's own counts; no program reads them. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, __u32);
  __type(value, struct roce_wire_memory);
  __uint(max_entries, 1);
} wire SEC(".maps");

/* A redirect with BPF_F_BROADCAST returns XDP_REDIRECT even if the map is empty. */
static ROCE_INLINE int roce_other_port_is_there(void) {
  const __u32 zero = 0;

  return bpf_map_lookup_elem(&forward, &zero) != 0;
}

static ROCE_INLINE const struct roce_ruleset *roce_rules_of(struct roce_env *env) {
  __u32 zero = 0;
  void *set = bpf_map_lookup_elem(&rules, &zero);

  return set ? bpf_map_lookup_elem(set, &zero) : 0;
}
static ROCE_INLINE struct roce_rule_state *roce_rule_state_at(struct roce_env *env, __u32 slot) {
  return bpf_map_lookup_elem(&rule_states, &slot);
}
static ROCE_INLINE struct roce_rule_count *roce_rule_count_at(struct roce_env *env, __u32 slot) {
  return bpf_map_lookup_elem(&rule_counts, &slot);
}
static ROCE_INLINE __u32 roce_rule_point(struct roce_env *env, __u32 slot, __u32 index) {
  __u32 key = slot * ROCE_RULE_POINTS + index;
  const __u32 *point = bpf_map_lookup_elem(&rule_points, &key);

  return point ? *point : 0;
}
static ROCE_INLINE __u64 *roce_pace_at(struct roce_env *env, __u32 index) {
  return bpf_map_lookup_elem(&paces, &index);
}
static ROCE_INLINE __u32 roce_peer_qp(struct roce_env *env, const struct roce_peer *peer) {
  const __u32 *qp = bpf_map_lookup_elem(&peers, peer);

  return qp ? *qp : ROCE_QPN_UNKNOWN;
}
static ROCE_INLINE struct roce_passing *roce_passing_of(struct roce_env *env) {
  __u32 zero = 0;

  return bpf_map_lookup_elem(&passings, &zero);
}

static ROCE_INLINE __u32 roce_uses(struct roce_env *env) { return config.uses; }

/* Bytes after the first buffer are accessed with a helper (kernel 5.18). */
#define FRAME_OFFSET_MAX 0x3fff /* 2^n - 1 */

static ROCE_INLINE __u8 *roce_frame_data(struct xdp_md *ctx) { return (__u8 *)(long)ctx->data; }
static ROCE_INLINE __u8 *roce_frame_end(struct xdp_md *ctx) { return (__u8 *)(long)ctx->data_end; }
static ROCE_INLINE __u8 *roce_frame_l3(struct xdp_md *ctx, __u32 l3) {
  ROCE_BOUND(l3, 31); /* after two tags it is 22 */
  return roce_frame_data(ctx) + l3;
}
/* Kernels before 5.18 have neither multi-buffer frames nor the helper for their length. */
static ROCE_INLINE __u32 roce_frame_length(struct xdp_md *ctx, __u32 linear) {
  return config.frags ? (__u32)bpf_xdp_get_buff_len(ctx) : linear;
}
static ROCE_INLINE __u8 *byte_at(struct xdp_md *ctx, __u32 offset) {
  ROCE_BOUND(offset, FRAME_OFFSET_MAX);
  return roce_frame_data(ctx) + offset;
}
static ROCE_INLINE int roce_frame_load(struct xdp_md *ctx, __u32 offset, __u8 *byte) {
  const __u8 *at = byte_at(ctx, offset);

  if (offset > FRAME_OFFSET_MAX)
    return -1;
  if (at + 1 <= roce_frame_end(ctx)) {
    *byte = *at;
    return 0;
  }
  return config.frags ? (int)bpf_xdp_load_bytes(ctx, offset, byte, 1) : -1;
}
static ROCE_INLINE int roce_frame_store(struct xdp_md *ctx, __u32 offset, __u8 byte) {
  __u8 *at = byte_at(ctx, offset);

  if (offset > FRAME_OFFSET_MAX)
    return -1;
  if (at + 1 <= roce_frame_end(ctx)) {
    *at = byte;
    return 0;
  }
  return config.frags ? (int)bpf_xdp_store_bytes(ctx, offset, &byte, 1) : -1;
}
static ROCE_INLINE int roce_frame_resize(struct xdp_md *ctx, __s32 delta) {
  return (int)bpf_xdp_adjust_tail(ctx, delta);
}

#endif
