/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The host of the datapath: everything that the headers of this folder ask of the file that
 * includes them. They touch no map, call no helper and read no clock; they call these functions.
 * The includer defines struct roce_env, struct roce_frame if it hands frames in, and those of the
 * functions that the headers it includes use: account.h all but the last two groups, port.h all.
 *
 * bpf/env.bpf.h and bpf/impair.bpf.h are the kernel's host, userspace/capture/native_datapath.cpp
 * the native one, tests/unit/memory_env.h one whose memory several threads share.
 */
#ifndef ROCE_ENV_H
#define ROCE_ENV_H

#include "types.h"

struct roce_env;   /* where its memory is; BPF's maps are globals, and its env is NULL */
struct roce_frame; /* the frame in hand; BPF's is struct xdp_md */

struct roce_aside;
struct roce_bucket;
struct roce_event;
struct roce_opcode_count;
struct roce_passing;
struct roce_peer;
struct roce_rule_count;
struct roce_rule_state;
struct roce_ruleset;
struct roce_scratch;
struct roce_shared;
struct roce_stream;
struct roce_totals;

/* Not all includers use all of them. One that is used and has no definition is an error. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

/*
 * Memory. Each function may give NULL at any call: beyond the table's end or, as BPF's verifier
 * sees it, anywhere. Sizes of tables are in config.h and rule.h.
 */

/* Shared by all CPUs: the stream table (an id beyond it gives NULL), its index, its state. */
static struct roce_stream *roce_stream_at(struct roce_env *env, __u32 id);
static struct roce_bucket *roce_bucket_at(struct roce_env *env, __u32 index);
static struct roce_shared *roce_shared_of(struct roce_env *env);
/* ROCE_HINTS and ROCE_ASIDES entries. */
static __u64 *roce_hint_at(struct roce_env *env, __u32 index);
static struct roce_aside *roce_aside_at(struct roce_env *env, __u32 index);
/* This CPU's counters, of ROCE_OPCODE_COUNTS opcodes and of the port. */
static struct roce_opcode_count *roce_opcode_count_at(struct roce_env *env, __u32 index);
static struct roce_totals *roce_totals_of(struct roce_env *env);
/* This CPU's working memory, in any state. */
static struct roce_scratch *roce_scratch_of(struct roce_env *env);

/* A stream's lock. No function is called while it is held, and no other lock is taken. */
static void roce_lock(struct roce_stream *s);
static void roce_unlock(struct roce_stream *s);

/* Nanoseconds: one clock, coarse (seconds will do) and exact. CLOCK_MONOTONIC in the kernel. */
static __u64 roce_time(struct roce_env *env);
static __u64 roce_clock(struct roce_env *env);

/* Gives an event to its reader, with time and CPU. Not 0: it was lost; the caller counts it. */
static int roce_emit(struct roce_env *env, const struct roce_event *event);

/* What is fixed while a program is attached: see struct roce_config. */
static __u32 roce_bucket_count(struct roce_env *env);
static __u32 roce_stream_capacity(struct roce_env *env);
static __u64 roce_hash_seed(struct roce_env *env);
static __u64 roce_cnp_window(struct roce_env *env);
static __u32 roce_sides(struct roce_env *env);

/*
 * Rules: select.h, act.h, impair.h.
 */

/* The rules in force, one whole set for as long as the frame is in hand. NULL: none. */
static const struct roce_ruleset *roce_rules_of(struct roce_env *env);
/* What a rule remembers, shared by all CPUs, and what it counts, this CPU's. ROCE_RULE_SLOTS. */
static struct roce_rule_state *roce_rule_state_at(struct roce_env *env, __u32 slot);
static struct roce_rule_count *roce_rule_count_at(struct roce_env *env, __u32 slot);
/* A distance of `positions` or `distance`. 0: the rule has none there. */
static __u32 roce_rule_point(struct roce_env *env, __u32 slot, __u32 index);
/* When CNPs went out: ROCE_PACES words, shared by all CPUs. */
static __u64 *roce_pace_at(struct roce_env *env, __u32 index);
/* The sender's QPN, given by the user, or ROCE_QPN_UNKNOWN. */
static __u32 roce_peer_qp(struct roce_env *env, const struct roce_peer *peer);
/* This CPU's memory for a packet on its way through the rules, in any state. */
static struct roce_passing *roce_passing_of(struct roce_env *env);
/* Tables that some rule needs (enum roce_rule_uses); constant in the kernel. */
static __u32 roce_uses(struct roce_env *env);

/*
 * The port and the frame in hand: act.h, impair.h, port.h.
 */

/* enum roce_feature; 0: streams are not followed; ROCE_KEY_SIDE or 0; network order. */
static __u32 roce_features(struct roce_env *env);
static __u32 roce_tracks(struct roce_env *env);
static __u32 roce_side(struct roce_env *env);
static __u16 roce_port_be(struct roce_env *env);
/* The frame's first buffer, and where its network layer starts there; `l3` is below 32. */
static __u8 *roce_frame_data(struct roce_frame *frame);
static __u8 *roce_frame_end(struct roce_frame *frame);
static __u8 *roce_frame_l3(struct roce_frame *frame, __u32 l3);
/* The length of all its buffers, without FCS; `linear` is that of the first. */
static __u32 roce_frame_length(struct roce_frame *frame, __u32 linear);
/* A byte anywhere in the frame. Not 0: it is not there. */
static int roce_frame_load(struct roce_frame *frame, __u32 offset, __u8 *byte);
static int roce_frame_store(struct roce_frame *frame, __u32 offset, __u8 byte);
/* Moves the frame's end by `delta`; 0 when done. Pointers into the frame are void after it. */
static int roce_frame_resize(struct roce_frame *frame, __s32 delta);

#pragma GCC diagnostic pop

#endif
