/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The environment of the datapath: everything that the headers in this directory require from the
 * file that includes them. The headers access no map, call no helper and read no clock; they call
 * these functions. The includer defines struct roce_env, struct roce_frame if it passes frames, and
 * the functions that its headers use: account.h uses all but those of rules, the frame and
 * following; port.h all of them.
 *
 * The kernel's environment is in bpf/env.bpf.h, bpf/follow.bpf.h and bpf/impair.bpf.h, the native
 * one in userspace/captures/native/native_datapath.cpp. The memory of the one in
 * tests/unit/memory_env.h is shared by several threads.
 */
#ifndef ROCE_ENV_H
#define ROCE_ENV_H

#include "types.h"

struct roce_env;   /* the environment's memory; in BPF the maps are globals, and env is NULL */
struct roce_frame; /* the current frame; struct xdp_md in BPF */

struct roce_aside;
struct roce_bucket;
struct roce_class_count;
struct roce_episode;
struct roce_event;
struct roce_finding;
struct roce_follow;
struct roce_job_pair;
struct roce_mirror;
struct roce_mirrored;
struct roce_opcode_count;
struct roce_packet;
struct roce_passing;
struct roce_peer;
struct roce_pfc;
struct roce_rule_count;
struct roce_rule_state;
struct roce_ruleset;
struct roce_scratch;
struct roce_shared;
struct roce_stream;
struct roce_timing;
struct roce_totals;

/* Few includers use all functions. A function that is used but not defined is an error. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

/*
 * Memory. Each function may return NULL at any call: for an index beyond the table and, as the BPF
 * verifier sees it, for any other. Table sizes are in config.h and rule.h.
 */

/* Shared by all CPUs: the stream table (NULL for an id beyond it), its index, its state. */
static struct roce_stream *roce_stream_at(struct roce_env *env, __u32 id);
static struct roce_bucket *roce_bucket_at(struct roce_env *env, __u32 index);
static struct roce_shared *roce_shared_of(struct roce_env *env);
/* Shared by all CPUs: tables of ROCE_HINTS and ROCE_ASIDES entries. */
static __u64 *roce_hint_at(struct roce_env *env, __u32 index);
static struct roce_aside *roce_aside_at(struct roce_env *env, __u32 index);
/* This CPU's counters: of each opcode (ROCE_OPCODE_COUNTS entries) and of the port. */
static struct roce_opcode_count *roce_opcode_count_at(struct roce_env *env, __u32 index);
static struct roce_totals *roce_totals_of(struct roce_env *env);
/* This CPU's counters of traffic classes (ROCE_CLASS_COUNTS entries). */
static struct roce_class_count *roce_class_count_at(struct roce_env *env, __u32 index);
/* Shared by all CPUs: whether a priority is paused (ROCE_PFC_COUNTS entries). */
static struct roce_pfc *roce_pfc_at(struct roce_env *env, __u32 priority);
/* This CPU's working memory, not initialised. */
static struct roce_scratch *roce_scratch_of(struct roce_env *env);

/* A stream's lock. While it is held, no function is called and no other lock is taken. */
static void roce_lock(struct roce_stream *s);
static void roce_unlock(struct roce_stream *s);

/* QP pairs: link.h. The link of any stream, 0 at first; a table of ROCE_PAIR_HINTS. */
static __u32 *roce_pair_link_at(struct roce_env *env, __u32 id);
static __u64 *roce_pair_hint_at(struct roce_env *env, __u32 index);
/*
 * The lock of a pair's record. Between enter and leave no other CPU has entered it; 0: it could not
 * be entered (counted).
 */
static int roce_pair_enter(struct roce_env *env, __u32 *lock);
static void roce_pair_leave(struct roce_env *env, __u32 *lock);
/*
 * Following: pair.h. The record of request stream `id`, made when it is not there (NULL: no room,
 * counted).
 */
static struct roce_follow *roce_follow_at(struct roce_env *env, __u32 id);
/* Give out what was found, or count it as lost; an answer whose requests are not known. */
static void roce_emit_episode(struct roce_env *env, const struct roce_episode *episode);
static void roce_emit_finding(struct roce_env *env, const struct roce_finding *finding);
static void roce_follow_unpaired(struct roce_env *env, const struct roce_packet *p);
/* Timing: timing.h. `kind` is of enum roce_latency, `bound` if it is an upper bound. */
static struct roce_timing *roce_timing_at(struct roce_env *env, __u32 id);
/* The times given with this record belong to another stream: resets them. */
static void roce_timing_forget(struct roce_env *env, struct roce_timing *t);
static void roce_emit_latency(struct roce_env *env, struct roce_timing *t, int kind, __u64 ns,
                              int bound);
static void roce_timing_unpaired(struct roce_env *env);
/* Whether falls of rates are looked for (fall.h): that takes the time of every packet. */
static int roce_falls(struct roce_env *env);

/*
 * Bursts: job.h. Of stream `id`, the number + 1 of its pair of hosts; a table of ROCE_JOB_PAIRS.
 */
static __u32 *roce_job_of_at(struct roce_env *env, __u32 id);
static struct roce_job_pair *roce_job_pair_at(struct roce_env *env, __u32 index);

/* One clock in nanoseconds, CLOCK_MONOTONIC in the kernel: coarse (seconds suffice) and exact. */
static __u64 roce_time(struct roce_env *env);
static __u64 roce_clock(struct roce_env *env);
/* Ticks of the kernel's timer, of 1 to 10 ms: reading them costs nothing. */
static __u64 roce_jiffies(struct roce_env *env);

/* Passes an event to its reader and adds time and CPU. Not 0: it is lost; the caller counts it. */
static int roce_emit(struct roce_env *env, const struct roce_event *event);

/* Constants of an attachment: see struct roce_config. */
static __u32 roce_bucket_count(struct roce_env *env);
static __u32 roce_stream_capacity(struct roce_env *env);
static __u64 roce_hash_seed(struct roce_env *env);
static __u64 roce_cnp_window(struct roce_env *env);
static __u32 roce_sides(struct roce_env *env);
static __u32 roce_quantum(struct roce_env *env);

/*
 * Rules: select.h, act.h, impair.h.
 */

/* The rules in force; the set does not change while a frame is processed. NULL: none. */
static const struct roce_ruleset *roce_rules_of(struct roce_env *env);
/* A rule's state, shared by all CPUs, and its counters on this CPU; `slot` < ROCE_RULE_SLOTS. */
static struct roce_rule_state *roce_rule_state_at(struct roce_env *env, __u32 slot);
static struct roce_rule_count *roce_rule_count_at(struct roce_env *env, __u32 slot);
/* A distance of the selectors `positions` and `distance`. 0: the rule has none at this index. */
static __u32 roce_rule_point(struct roce_env *env, __u32 slot, __u32 index);
/* Times of the last CNPs: ROCE_PACES words, shared by all CPUs. */
static __u64 *roce_pace_at(struct roce_env *env, __u32 index);
/* The sender's QPN as given by the user, or ROCE_QPN_UNKNOWN. */
static __u32 roce_peer_qp(struct roce_env *env, const struct roce_peer *peer);
/* This CPU's memory for a packet that rules are applied to, not initialised. */
static struct roce_passing *roce_passing_of(struct roce_env *env);
/* Tables that at least one rule needs (enum roce_rule_uses); constant in the kernel. */
static __u32 roce_uses(struct roce_env *env);

/*
 * Tunnels and mirrors: inner.h, mirror.h.
 */

/* Tunnels to take off: 1 << enum roce_tunnel; constant in the kernel. */
static __u32 roce_decap(struct roce_env *env);
/* Shared by all CPUs: mirror sessions (ROCE_MIRRORS); what is missing in stream `id`, and why. */
static struct roce_mirror *roce_mirror_at(struct roce_env *env, __u32 index);
static struct roce_mirrored *roce_mirrored_at(struct roce_env *env, __u32 id);

/* The port and the current frame: act.h, impair.h, port.h. */

/*
 * In order: enum roce_feature; 0 when streams are not tracked; ROCE_KEY_SIDE or 0; the UDP port in
 * network order.
 */
static __u32 roce_features(struct roce_env *env);
static __u32 roce_tracks(struct roce_env *env);
static __u32 roce_side(struct roce_env *env);
static __u16 roce_port_be(struct roce_env *env);
/* The frame's first buffer, and the start of its network layer at offset `l3`, below 32. */
static __u8 *roce_frame_data(struct roce_frame *frame);
static __u8 *roce_frame_end(struct roce_frame *frame);
static __u8 *roce_frame_l3(struct roce_frame *frame, __u32 l3);
/* The length in bytes of all buffers, without FCS; `linear` is the length of the first. */
static __u32 roce_frame_length(struct roce_frame *frame, __u32 linear);
/* Reads or writes a byte anywhere in the frame. Not 0: the frame has no such byte. */
static int roce_frame_load(struct roce_frame *frame, __u32 offset, __u8 *byte);
static int roce_frame_store(struct roce_frame *frame, __u32 offset, __u8 byte);
/* Moves the frame's end by `delta` bytes; 0 when done. Pointers into the frame become invalid. */
static int roce_frame_resize(struct roce_frame *frame, __s32 delta);

#pragma GCC diagnostic pop

#endif
