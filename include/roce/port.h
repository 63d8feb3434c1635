/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Processes a frame that enters a port: parse, count, track, apply the rules. The XDP program and
 * its native equivalent call roce_enter for each frame and turn its fate into a verdict.
 *
 * Most traffic is plain (roce_parse_plain) and keeps its packet in registers; any other frame goes
 * through roce_count_frame.
 */
#ifndef ROCE_PORT_H
#define ROCE_PORT_H

#include "follow_frame.h"
#include "impair.h"
#include "inner.h"

static ROCE_INLINE void roce_note(struct roce_noted *noted, const struct roce_packet *p, int class_,
                                  __u32 length) {
  roce_facts_fill(&noted->facts, p, length, roce_is_roce(class_), ROCE_NULL);
  noted->l3 = p->l3;
  noted->bth = p->bth;
  noted->end = p->end;
  noted->class_ = class_;
}

#define ROCE_TO_TRACK 8

/*
 * Parses any frame into scratch->packet, and counts it. Returns its class, with 1 << ROCE_TO_TRACK
 * added where its packet is to be tracked.
 */
ROCE_OUTLINE int roce_account_frame(struct roce_frame *frame, struct roce_env *env) {
  const __u8 *data = roce_frame_data(frame), *end = roce_frame_end(frame);
  __u32 length = roce_frame_length(frame, (__u32)(end - data));
  struct roce_scratch *scratch = roce_scratch_of(env);
  struct roce_packet *p;
  int class_;

  if (!scratch)
    return ROCE_CLASS_OTHER;
  p = &scratch->packet;
  __builtin_memset(p, 0, sizeof(*p));
  class_ = roce_parse(data, end, roce_port_be(env), p);
  class_ = roce_check_length(class_, length, p);
  p->key.qp_kind |= roce_side(env);
  return class_ | roce_account(env, class_, p, data, end, length, roce_tracks(env) != 0)
                      << ROCE_TO_TRACK;
}

/*
 * Counts and tracks any frame. With `noted`, also loads it for rules. 1 when done. Parsing is a
 * function of its own: the deepest stack is below this one.
 */
ROCE_OUTLINE int roce_count_frame(struct roce_frame *frame, struct roce_env *env,
                                  struct roce_noted *noted) {
  __u32 linear = (__u32)(roce_frame_end(frame) - roce_frame_data(frame));
  __u32 length = roce_frame_length(frame, linear), id = ROCE_NO_STREAM;
  struct roce_scratch *scratch = roce_scratch_of(env);
  int class_ = roce_account_frame(frame, env);

  if (!scratch)
    return 0;
  if (class_ >> ROCE_TO_TRACK) {
    roce_learn_mad(env, &scratch->packet);
    id = roce_track_any(env, &scratch->packet, length);
  }
  class_ &= (1 << ROCE_TO_TRACK) - 1;
  roce_job_packet(env, &scratch->packet, id);
  roce_note_tracked(env, &scratch->packet, id, 0, length);
  if (roce_features(env) & ROCE_FEATURE_RULES && noted) {
    struct roce_passing *passing = roce_passing_of(env);

    if (!passing)
      return 0;
    passing->packet = scratch->packet;
    passing->class_ = class_;
    passing->length = length;
    passing->linear = linear;
    passing->stream = id;
    passing->copied = 0;
    roce_note(noted, &scratch->packet, class_, length);
    noted->stream = id;
    noted->loaded = 1;
  }
  return 1;
}

/* 1 when the frame is plain; 0: the caller uses roce_count_frame. */
static ROCE_INLINE int roce_read_plain(struct roce_frame *frame, struct roce_env *env, int track,
                                       struct roce_packet *p, __u32 *length) {
  const __u8 *data = roce_frame_data(frame), *end = roce_frame_end(frame);
  __u32 linear = (__u32)(end - data);

  *length = linear;
  if (roce_parse_plain(data, end, roce_port_be(env), p) != ROCE_CLASS_V2)
    return 0;
  if (ROCE_UNLIKELY(p->end > linear)) {
    *length = roce_frame_length(frame, linear);
    if (p->end > *length)
      return 0;
  }
  if (track && ROCE_UNLIKELY(roce_is_gsi(p)))
    return 0;
  p->key.qp_kind |= roce_side(env);
  return 1;
}

/* Counts a plain frame, and no more: most fields of the packet are not used, nor their code. */
static ROCE_INLINE int roce_count_plain(struct roce_frame *frame, struct roce_env *env) {
  struct roce_packet p = {};
  __u32 length;

  if (roce_features(env) & ROCE_FEATURE_CLASSES) /* rare: keeps the stack frame small */
    return 0;
  if (!roce_read_plain(frame, env, 0, &p, &length))
    return 0;
  roce_count(env, ROCE_CLASS_V2, &p, length);
  return 1;
}

/*
 * Counts and tracks a plain frame; with rules, also notes what they need. 0: the caller uses
 * roce_count_frame. Inlined once: a call costs a quarter of all this.
 */
static ROCE_INLINE int roce_take_plain(struct roce_frame *frame, struct roce_env *env,
                                       struct roce_noted *noted) {
  struct roce_packet p = {};
  __u32 length, id = ROCE_NO_STREAM;

  if (!roce_read_plain(frame, env, 1, &p, &length))
    return 0;
  if (roce_features(env) & ROCE_FEATURE_RULES) {
    roce_note(noted, &p, ROCE_CLASS_V2, length);
    noted->loaded = 0;
  }
  roce_count(env, ROCE_CLASS_V2, &p, length);
  if (roce_features(env) & ROCE_FEATURE_CLASSES)
    roce_count_classes(env, 0, p.tos >> 2, p.vlan, length);
  if (roce_tracks(env))
    id = roce_track_to_follow(env, &p, 0, length);
  if (roce_features(env) & ROCE_FEATURE_RULES)
    noted->stream = id;
  return 1;
}

/* IPv4 without tags whose protocol is not UDP: a quick check; it is often a tunnel. */
static ROCE_INLINE int roce_is_not_udp(const __u8 *data, const __u8 *end) {
  const __u8 *protocol = data + ROCE_ETH_LEN + 9;

  return protocol + 1 > end || (roce_load16(data + 12) == roce_swap16(ROCE_ETHERTYPE_IPV4) &&
                                *protocol != ROCE_IPPROTO_UDP);
}

/* On a port that takes tunnels off: a plain packet is in none. 0: the caller looks for tunnels. */
static ROCE_SEPARATE int roce_count_outer_plain(struct roce_frame *frame, struct roce_env *env) {
  struct roce_packet p = {};
  __u32 length;

  if (roce_features(env) & ROCE_FEATURE_CLASSES ||
      !roce_read_plain(frame, env, roce_tracks(env) != 0, &p, &length))
    return 0;
  roce_count(env, ROCE_CLASS_V2, &p, length);
  if (roce_tracks(env))
    roce_marked(env, roce_track_to_follow(env, &p, 0, length), 0);
  return 1;
}

/* A frame on a port that takes tunnels off: there are no rules. */
static ROCE_INLINE void roce_enter_tunnel(struct roce_frame *frame, struct roce_env *env) {
  if ((roce_is_not_udp(roce_frame_data(frame), roce_frame_end(frame)) ||
       !roce_count_outer_plain(frame, env)) &&
      !roce_count_inner_plain(frame, env))
    roce_count_inner(frame, env);
}

/* Counts and tracks a frame; with rules, notes what they need. 1 when done. */
static ROCE_INLINE int roce_count_entered(struct roce_frame *frame, struct roce_env *env,
                                          struct roce_noted *noted) {
  int rules = (roce_features(env) & ROCE_FEATURE_RULES) != 0;

  if (!rules && roce_features(env) & ROCE_FEATURE_DECAP) {
    roce_enter_tunnel(frame, env);
    return 1;
  }
  if (!rules && !roce_tracks(env))
    return roce_count_plain(frame, env) || roce_count_frame(frame, env, ROCE_NULL);
  return roce_take_plain(frame, env, noted) || roce_count_frame(frame, env, noted);
}

/* Processes a frame that enters the port. Returns enum roce_fate. */
static ROCE_INLINE int roce_enter(struct roce_frame *frame, struct roce_env *env) {
  struct roce_noted *noted = ROCE_NULL;

  if (roce_features(env) & ROCE_FEATURE_RULES) {
    struct roce_passing *passing = roce_passing_of(env);

    if (!passing)
      return ROCE_GO_ON;
    noted = &passing->noted;
  }
  if (!roce_count_entered(frame, env, noted))
    return ROCE_GO_ON;
  if (roce_features(env) & (ROCE_FEATURE_FOLLOW | ROCE_FEATURE_TIME))
    roce_follow_frame(frame, env);
  return roce_features(env) & ROCE_FEATURE_RULES ? roce_meet_rules(frame, env, noted) : ROCE_GO_ON;
}

#endif
