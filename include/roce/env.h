/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The host of the datapath: everything that the headers of this folder ask of the file that
 * includes them. They touch no map, call no helper and read no clock; they call these functions.
 * The includer defines struct roce_env, struct roce_frame if it hands frames in, and those of the
 * functions that the headers it includes use: account.h all but the last two groups, impair.h all.
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
 * Memory. Each may be NULL, at any call: beyond its table, or, to BPF's verifier, anywhere. An
 * index is below the number of entries in config.h unless something else is said.
 */
/* Shared by all CPUs. */
static struct roce_bucket *roce_bucket_at(struct roce_env *env, __u32 index);
static struct roce_stream *roce_stream_at(struct roce_env *env, __u32 id); /* any id */
static struct roce_shared *roce_shared_of(struct roce_env *env);
static __u64 *roce_hint_at(struct roce_env *env, __u32 index);              /* of ROCE_HINTS */
static struct roce_aside *roce_aside_at(struct roce_env *env, __u32 index); /* of ROCE_ASIDES */
/* Of this CPU. */
static struct roce_opcode_count *roce_opcode_count_at(struct roce_env *env, __u32 index);
static struct roce_totals *roce_totals_of(struct roce_env *env);
static struct roce_scratch *roce_scratch_of(struct roce_env *env); /* contents undefined */

/* A stream's lock. No function is called while it is held, and no other lock is taken. */
static void roce_lock(struct roce_stream *s);
static void roce_unlock(struct roce_stream *s);

/* The clock, in nanoseconds from one origin (CLOCK_MONOTONIC in the kernel). */
static __u64 roce_time(struct roce_env *env);  /* coarse will do: 2^30 ns are one window */
static __u64 roce_clock(struct roce_env *env); /* exact */

/* Hands an event to its reader, adding time and CPU. Not 0: it was lost, and is counted as such. */
static int roce_emit(struct roce_env *env, const struct roce_event *event);

/* What is fixed while the program is attached (struct roce_config). */
static __u32 roce_bucket_count(struct roce_env *env);
static __u32 roce_stream_capacity(struct roce_env *env);
static __u64 roce_hash_seed(struct roce_env *env);
static __u64 roce_cnp_window(struct roce_env *env); /* nanoseconds */
static __u32 roce_sides(struct roce_env *env);      /* ROCE_KEY_SIDE: answers enter another port */

/* Rules: select.h, act.h, impair.h. Slots are below ROCE_RULE_SLOTS. */
static const struct roce_ruleset *roce_rules_of(struct roce_env *env); /* NULL: none */
static struct roce_rule_state *roce_rule_state_at(struct roce_env *env, __u32 slot); /* shared */
static struct roce_rule_count *roce_rule_count_at(struct roce_env *env,
                                                  __u32 slot);               /* of this CPU */
static __u32 roce_rule_point(struct roce_env *env, __u32 slot, __u32 index); /* 0: no such point */
static __u64 *roce_pace_at(struct roce_env *env, __u32 index); /* of ROCE_PACES, shared */
static __u32 roce_peer_qp(struct roce_env *env, const struct roce_peer *peer); /* or ..._UNKNOWN */
static struct roce_passing *roce_passing_of(struct roce_env *env); /* of this CPU, undefined */
static __u32 roce_uses(struct roce_env *env); /* enum roce_rule_uses: tables to look at */

/* The port and the frame in hand: act.h, impair.h. */
static __u32 roce_features(struct roce_env *env); /* enum roce_feature */
static __u16 roce_port_be(struct roce_env *env);  /* RoCEv2's UDP port, network order */
static __u8 *roce_frame_data(struct roce_frame *frame);
static __u8 *roce_frame_end(struct roce_frame *frame);          /* of its first buffer */
static __u8 *roce_frame_l3(struct roce_frame *frame, __u32 l3); /* data + l3, below 32 */
/* A byte anywhere in the frame. Not 0: it is not there. */
static int roce_frame_load(struct roce_frame *frame, __u32 offset, __u8 *byte);
static int roce_frame_store(struct roce_frame *frame, __u32 offset, __u8 byte);
/* Moves the frame's end; 0 when done. What was known of its bytes must be asked for again. */
static int roce_frame_resize(struct roce_frame *frame, __s32 delta);

#pragma GCC diagnostic pop

#endif
